"""torch.autograd.graph: looking at nodes and edges, hooks over several tensors, and what is saved for backward."""

from __future__ import annotations

import functools
import threading
from abc import ABCMeta
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from whygrad.autograd.hooks import RemovableHandle, register_hook
from whygrad.autograd.mutation import allow_mutation_on_saved_tensors
from whygrad.autograd.saved_hooks import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from whygrad.base import dtypes
from whygrad.base.unsupported import absent_from
from whygrad.core import engine
from whygrad.core.node import NodeInterface, port_of, row_node, shown
from whygrad.core.tensor import Tensor, source
from whygrad.core.write import bump

__all__ = ["GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
           "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks"]
__getattr__ = absent_from("torch.autograd.graph")


class _NodeMeta(ABCMeta):
    def __subclasscheck__(cls, subclass: type) -> bool:
        if cls is not Node:
            return super().__subclasscheck__(subclass)
        return subclass is Node or issubclass(subclass, NodeInterface)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, NodeInterface) if cls is Node else super().__instancecheck__(instance)


class Node(metaclass=_NodeMeta):
    """What every node of the graph is an instance of, without inheriting from it."""


class GradientEdge(NamedTuple):
    """One output of one node: may stand for a tensor in `grad` and `backward`."""

    node: Any
    output_nr: int
    # Keeps the graph alive where the node alone does not: a custom Function's ctx does not own its place in the graph.
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge through which gradients reach this tensor as it is now."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    target = source(tensor)
    node, number = row_node(target)
    node.output = tensor._array.shape, tensor._array.dtype
    return GradientEdge(shown(node), number, None if target is shown(node) else target)


def target_of_edge(edge: GradientEdge) -> Any:
    """Where in the graph an edge leads: a node, or the port of one."""
    node = edge.node._itself()
    return port_of(node, edge.output_nr) if type(node.shapes) is list else node


def output_metadata(edge: GradientEdge) -> tuple[tuple[int, ...], dtypes.dtype]:
    found = edge.node._input_metadata[edge.output_nr]
    return tuple(found.shape), found.dtype


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count an in-place write that happened behind our back."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        bump(t)


class MultiHandle(RemovableHandle):
    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., None], *,
                             mode: str = "all") -> RemovableHandle:
    """Call `fn` once per backward: with the gradients of all `tensors` when the last is in, or with the first one."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    make = _when_all if mode == "all" else _when_any
    return MultiHandle(tuple([register_hook(t, hook) for t, hook in make(tensors, fn)]))


def _when_any(tensors: Sequence[Tensor], fn: Callable[..., None]) -> list[tuple[Tensor, Callable[..., None]]]:
    called: set[int] = set()
    lock = threading.Lock()

    @functools.wraps(fn)
    def hook(grad: Tensor) -> None:
        number = engine.current().number
        with lock:
            if number in called:
                return
            called.add(number)
        fn(grad)

    return [(t, hook) for t in tensors if t.requires_grad]


def _when_all(tensors: Sequence[Tensor], fn: Callable[..., None]) -> list[tuple[Tensor, Callable[..., None]]]:
    targets = [source(t) for t in tensors]
    # For each backward under way: the gradients so far, and how many are still expected.
    waiting: dict[int, tuple[list[Tensor | None], list[int]]] = {}
    lock = threading.Lock()

    def hook_at(position: int) -> Callable[[Tensor], None]:
        def hook(grad: Tensor) -> None:
            this = engine.current()
            with lock:
                if this.number not in waiting:
                    waiting[this.number] = ([None] * len(targets), [sum([this.reaches(t) for t in targets])])
                grads, left = waiting[this.number]
                grads[position] = grad
                left[0] -= 1
                done = left[0] == 0
                if done:
                    del waiting[this.number]
            if done:
                fn(grads)

        return hook

    return [(t, hook_at(i)) for i, t in enumerate(tensors)]
