"""In-place writes into views: the base's history is rewritten, and other views find their way back to it."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from whygrad.autograd.grad_mode import enable_grad
from whygrad.backends import raw, tensor
from whygrad.base import errors
from whygrad.base.linked import Steps, in_order
from whygrad.core.modes import process_state
from whygrad.core.node import Node, next_sequence_number
from whygrad.core.registered import registered
from whygrad.core.tensor import TURNING, Tensor, source, wrap
from whygrad.functional.conj_neg import turning
from whygrad.functional.writes import copy_
from whygrad.why import record as why

# Views between complex and real numbers.
CROSSING = frozenset({"imag", "real", "view_as_complex", "view_as_real"})


def replay(x: Any, steps: Steps | None, vocabulary: Any) -> Any:
    """The same view of another array (or Tensor) that has the base's shape and layout."""
    for _, row, statics, index, _ in in_order(steps):
        x = getattr(vocabulary, row.name)(x, **statics)
        if index is not None:
            x = x[index]
    return x


def history_of_view(view: Any) -> Any:
    """A new node that leads from a view to its base as it is now; the node of the same view, taken anew, if that is wanted."""
    if process_state.replay_views:
        with enable_grad():
            return replay(view.base, view.steps, tensor)._view.node
    return _kind_of(view.steps)(source(view.base), view.steps)


def gradient_of_steps(steps: Steps | None, g: Any, vocabulary: Any) -> Any:
    """Bring the gradient of a view back to its base, through the rules of its steps."""
    while steps is not None:
        steps, row, statics, index, shape = steps
        if index is not None:
            g = _among_zeros(row, statics, index, shape, g)
        name = row.inputs[0]
        rule = row.rules[name]
        known = {"g": g, "xp": vocabulary, f"{name}_shape": shape, **statics}
        g = rule.function(*[known[parameter] for parameter in rule.names])
    return g


def _among_zeros(row: Any, statics: dict[str, Any], index: int, shape: tuple[int, ...], g: Any) -> list[Any]:
    """The gradients of all outputs of a row like `split`, when only one of them has one."""
    outputs = getattr(raw, row.name)(np.broadcast_to(np.zeros((), np.bool_), shape), **statics)
    zeros: list[Any] = [np.zeros(x.shape, g._array.dtype if isinstance(g, Tensor) else g.dtype) for x in outputs]
    if isinstance(g, Tensor):
        zeros = [wrap(x) for x in zeros]
    zeros[index] = g
    return zeros


class AsStrided(Node):
    """Leads from the current value of a base to one of its views, after the base was changed through another tensor.

    The gradient is brought back through the rules of the view's own steps, last step first.
    """

    __slots__ = ("steps",)

    def __init__(self, edge: Any, steps: Any) -> None:
        self.edges = (edge,)
        self.saved = ()
        self.shapes = self.cuts = self.extra = None
        self.seq = next_sequence_number()
        self.site_code, self.lasti = why.site(4)  # below `grad_fn`, which is called from inside
        self.steps = steps

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        return (gradient_of_steps(self.steps, g, raw),)

    def graph(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        return (gradient_of_steps(self.steps, g, tensor),)


AsStrided.__name__ = AsStrided.__qualname__ = "AsStridedBackward0"


@functools.cache
def _called(node: str) -> type[AsStrided]:
    return type(node, (AsStrided,), {"__slots__": ()})


def _kind_of(steps: Any) -> type[AsStrided]:
    """torch makes a view anew by its last function, and not as a strided one, if strides cannot say what that one does."""
    last = steps[1]
    return _called(last.node) if last.name in TURNING or last.name.startswith("view_as_") else AsStrided


class CopySlices(Node):
    """The base's node after an in-place write into one of its views.

    `write` is the node of the write itself. Its gradient replaces the slice in the base's gradient; the rest passes.
    """

    __slots__ = ("crosses", "position", "steps", "strides", "turns", "write")

    def __init__(self, base_edge: Any, base: np.ndarray, steps: Steps, write: Node, position: int) -> None:
        self.edges = (base_edge, *write.edges[:position], *write.edges[position + 1:])
        self.shapes = self.cuts = self.extra = None
        self.seq = next_sequence_number()
        self.site_code, self.lasti = write.site
        self.steps = steps
        # None if the base is row-major.
        self.strides = None if base.flags.c_contiguous else base.strides
        self.write: Node | None = write
        self.position = position
        # True if the view shows a complex base as real numbers, or the other way round.
        self.crosses = False
        # True if it conjugates or negates: the view is turned when it is read, its base is not.
        self.turns = False
        before: Steps | None = steps
        while before is not None:
            name = before[1].name
            if name in CROSSING:
                self.crosses = True
            elif name in TURNING:
                self.turns = True
            before = before[0]

    @property
    def saved(self) -> Any:
        # Never empty while it is usable: the write itself counts as saved, so a second backward fails.
        return () if self.write is None else self.write.saved or (None,)

    @saved.setter
    def saved(self, value: None) -> None:
        # Freed. The write's node itself may live on: a recorded gradient leads to its output.
        self.write = None

    def _write_edges(self, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        others = edges[1:]
        return (*others[:self.position], edges[0], *others[self.position:])

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.write is None:
            raise errors.graph_freed(self)
        result = laid_out_as(g, self.strides)
        # Inside the graph complex gradients are conjugated; shown as two real numbers they must not be.
        turn = np.conj if self.crosses else _same
        read = turning(self.steps) or _same if self.turns else _same
        result = turn(result)
        part = replay(result, self.steps, raw)
        grads = self.write.raw(turn(read(part.copy())), self._write_edges(edges))
        old = grads[self.position]
        if edges[0] is not None:
            part[...] = 0 if old is None else read(turn(old))
        return (turn(result), *grads[:self.position], *grads[self.position + 1:])

    def graph(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.write is None:
            raise errors.graph_freed(self)
        turn = tensor.conj if self.crosses else _same
        g = turn(g)
        if type(g._array) is np.ndarray:
            result = copy_(wrap(laid_out_as(g._array, self.strides)), g)
        else:
            result = _batch_laid_out_as(g, self.strides)
        part = replay(result, self.steps, tensor)
        grads = self.write.graph(turn(part.clone()), self._write_edges(edges))
        old = grads[self.position]
        if edges[0] is not None:
            part.copy_(turn(old)) if old is not None else part.zero_()
        return (turn(result), *grads[:self.position], *grads[self.position + 1:])


def _same(x: Any) -> Any:
    return x


def _batch_laid_out_as(g: Tensor, strides: tuple[int, ...] | None) -> Any:
    """`laid_out_as` for a tensor that stands for a batch."""
    xp = tensor
    if strides is None:
        return xp.clone(g, order="C")
    order = tuple(sorted(range(len(strides)), key=lambda axis: -strides[axis]))
    return xp.permute(xp.clone(xp.permute(g, axes=order), order="C"), axes=tuple(np.argsort(order).tolist()))


def laid_out_as(g: np.ndarray, strides: tuple[int, ...] | None) -> np.ndarray:
    """A copy of `g` whose axes lie in memory in the order of `strides`, so that views of the base are views of it."""
    if strides is None:
        return np.array(g, order="C")
    order = sorted(range(g.ndim), key=lambda axis: -strides[axis])
    result = np.empty([g.shape[axis] for axis in order], g.dtype).transpose(np.argsort(order))
    result[...] = g
    return result


registered.views = sys.modules[__name__]
