"""Old and private parts of torch.autograd that torch's own tests use."""

from __future__ import annotations

from typing import Any

from whygrad.autograd.function import Function
from whygrad.core.tensor import Size, Tensor


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
