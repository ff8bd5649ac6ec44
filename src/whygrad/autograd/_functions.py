"""Old and private parts of torch.autograd that torch's own tests use."""

from __future__ import annotations

from typing import Any

from whygrad.autograd.function import Function
from whygrad.core.node import Node, next_sequence_number
from whygrad.core.tensor import Size, Tensor, source, wrap
from whygrad.why import record as why


class Resize(Function):
    """The same elements in another shape of as many."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, sizes: tuple[int, ...]) -> Tensor:
        count = Size(sizes).numel()
        if tensor._array.size != count:
            raise RuntimeError(f"requested resize to {'x'.join(map(str, sizes))} ({count} elements in total), but the given "
                               f"tensor has a size of {'x'.join(map(str, tensor.shape))} ({tensor._array.size} elements). "
                               "autograd's resize can only change the shape of a given tensor, while preserving the number "
                               "of elements. ")
        ctx.input_sizes = tensor.shape
        result: Tensor = tensor.contiguous().view(*sizes)  # type: ignore[attr-defined]
        return result

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g.contiguous().view(ctx.input_sizes), None  # type: ignore[attr-defined]


def _calculate_shape(output: Tensor, grad: Tensor, is_grads_batched: bool) -> tuple[Size, Size]:
    """The shapes that must be the same."""
    return output.shape, grad.shape if not is_grads_batched else Size(grad.shape[1:])


class UndefinedGradBackward(Node):
    """Returns undefined gradients, whatever it receives."""

    __slots__ = ()

    def __init__(self, edge: Any) -> None:
        self.edges = (edge,)
        self.saved = ()
        self.shapes = self.cuts = self.extra = None
        self.seq = next_sequence_number()
        self.site_code, self.lasti = why.site()

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        return (None,)

    graph = raw


class UndefinedGrad:
    """`UndefinedGrad()(t)`: the values of `t`, for which backward returns an undefined gradient."""

    def __call__(self, tensor: Tensor) -> Tensor:
        result = wrap(tensor._array.copy())
        edge = source(tensor)
        if edge is not None:
            result._node = UndefinedGradBackward(edge)
        return result
