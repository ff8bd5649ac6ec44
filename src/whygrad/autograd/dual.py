"""Dual tensors: values with a tangent, the direction in which they move. One `DualLevel` is one forward-mode derivative.

A tensor's tangents are in `_meta.tangents`, by level. A row is applied to the values as usual; the tangent of its result
comes from its rules (push_forward.py).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from whygrad.autograd.batched import batched, has_batches_of, spread, with_batches_of
from whygrad.autograd.function_forward_mode import apply_dual
from whygrad.autograd.function_levels import TransformLevel
from whygrad.autograd.push_forward import push_forward
from whygrad.autograd.views import replay
from whygrad.backends import tensor as xp
from whygrad.backends.numpy_layout import storage
from whygrad.base.overlap import is_expanded, same_memory
from whygrad.core.modes import grad_state
from whygrad.core.node import Node
from whygrad.core.record import apply, kinds_of, specialization_of
from whygrad.core.tensor import Tensor, grad_fn, wrap
from whygrad.core.write import perform
from whygrad.functional.conj_neg import kind_of
from whygrad.ops.layout import inverse_permutation
from whygrad.ops.table import TABLE, NoGrad, Row

# Rows that leave nothing of their target: it moves as what is written into it does, which the write broadcasts.
OVERWRITING = frozenset({"copy", "fill", "overwrite"})


class DualLevel(TransformLevel):
    """One running forward-mode derivative."""

    def __init__(self) -> None:
        # By id, who has a tangent of this level, to take it off in the end.
        self.holders: dict[int, weakref.ref[Tensor]] = {}
        # Where the tangents with a history that users gave come in: a node that leads on to that history.
        self.gates: list[weakref.ref[Node]] = []
        # By id, tensors whose tangent may lie in the memory of another's, although they do not.
        self.borrowers: set[int] = set()

    def holds(self, t: Tensor) -> bool:
        meta = t._meta
        if meta is not None and meta.tangents and self in meta.tangents:
            return grad_state.forward_ad and not grad_state.inference
        return (t._view is not None or memory_behind(t) is not None) and self.tangent(t) is not None

    def tangent(self, t: Any) -> Tensor | None:
        """The tangent of `t`; that of a view may have come to it through its base."""
        if not isinstance(t, Tensor) or not grad_state.forward_ad or grad_state.inference:
            return None
        found: Tensor | None = None if t._meta is None or not t._meta.tangents else t._meta.tangents.get(self)
        if found is None and t._view is not None and self.holds(t._view.base):
            base = t._view.base
            found = self.tangent(base)
            if not same_memory(t._array, base._array):  # else it is all of its base, and has its tangent too
                found = replay(found, t._view.steps, xp)
            assert found is not None
            self.attach(t, found)
        elif found is None and (behind := memory_behind(t)) is not None and (whole := self._own_tangent(behind[0])) is not None:
            found = batched(replay(whole, behind[1], xp), t._level)  # type: ignore[attr-defined]
            self.attach(t, found)
        return found

    def _own_tangent(self, t: Tensor) -> Tensor | None:
        return None if t._meta is None or not t._meta.tangents else t._meta.tangents.get(self)

    def attach(self, t: Tensor, tangent: Tensor) -> None:
        meta = t.meta
        if meta.tangents is None:
            meta.tangents = {}
        meta.tangents[self] = tangent
        key, holders = id(t), self.holders
        holders[key] = weakref.ref(t, lambda _: holders.pop(key, None))

    def clear(self) -> None:
        """The level has ended: so have its tangents."""
        for reference in list(self.holders.values()):
            t = reference()
            if t is not None and t._meta is not None and t._meta.tangents:
                t._meta.tangents.pop(self, None)
        self.holders.clear()
        self.gates.clear()

    def through_gate(self, tangent: Tensor) -> Tensor:
        """A tangent with a history, behind a node of its own: see `closed`."""
        gated: Tensor = apply(TABLE["alias"], tangent)
        bottom: Any = gated
        while hasattr(bottom, "_whole"):
            bottom = bottom._whole
        node = grad_fn(bottom)
        assert node is not None
        self.gates.append(weakref.ref(node))
        gated.__dict__["_given_as"] = weakref.ref(tangent)
        return gated

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Inside, a walk does not go on into the histories of the tangents that users gave.

        The direction in which an input moves is a constant for the gradient that moves with it, wherever it comes from.
        """
        nodes = [node for gate in self.gates if (node := gate()) is not None]
        edges = [node.edges for node in nodes]
        for node in nodes:
            node.edges = (None,) * len(node.edges)
        try:
            yield
        finally:
            for node, ways in zip(nodes, edges, strict=True):
                node.edges = ways

    def run(self, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
        tangents = [self.tangent(x) for x in inputs]
        results = apply(row, *inputs, **statics)
        several = not isinstance(results, Tensor)
        outs = list(results) if several else [results]
        for out, tangent in zip(outs, push_forward(row, inputs, statics, outs, tangents), strict=True):
            if tangent is not None:
                self.attach(out, tangent)
                if not row.view and any(t is not None and np.may_share_memory(t._array, tangent._array) for t in tangents):
                    self.borrowers.add(id(out))
        return results

    def write(self, row: Row, target: Tensor, position: int, inputs: tuple[Any, ...], statics: dict[str, Any]) -> None:
        if all(isinstance(rule, NoGrad) for rule in row.rules.values()):  # as of logical_and_: who moves, moves on
            perform(specialization_of(row, kinds_of(inputs)), target, position, inputs, statics)
            return
        tangents = [self.tangent(x) for x in inputs]
        self._own(target if target._view is None else target._view.base)
        old = self.tangent(target)
        if row.name in OVERWRITING:
            source = tangents[1] if len(tangents) > 1 else None
            new = None if source is None else xp.expand(source, shape=target._array.shape)
        else:
            # The rules want the values from before the write.
            before = tuple([x.clone() if x is target or i == position else x for i, x in enumerate(inputs)])  # type: ignore[attr-defined]
            out = apply(row, *before, **statics)
            (new,) = push_forward(row, before, statics, [out], tangents)
        perform(specialization_of(row, kinds_of(inputs)), target, position, inputs, statics)
        if old is not None and new is None:
            old.zero_()  # type: ignore[attr-defined]
        elif old is not None and new is not None and has_batches_of(old, new):
            old.copy_(new)  # type: ignore[attr-defined]
        elif new is not None:
            self._replace(target, new)

    def _replace(self, target: Tensor, tangent: Tensor) -> None:
        """A tangent for a tensor that was written to, where there was none to write into; for its base, if it is a view."""
        view = target._view
        if (behind := memory_behind(target)) is not None:
            self._replace_in_whole(target, tangent, *behind)
            return
        if view is None:
            self.attach(target, tangent.clone())  # type: ignore[attr-defined]
            return
        base = view.base
        old = self.tangent(base)
        whole = with_batches_of(tangent, wrap(np.zeros_like(base._array)))
        if old is not None:
            whole = whole + old  # type: ignore[operator]
        replay(whole, view.steps, xp).copy_(tangent)
        self._forget_views(base)
        self.attach(base, whole)

    def _replace_in_whole(self, target: Any, tangent: Any, base: Tensor, steps: Any) -> None:
        """The same for one element of a batch: the memory that the batch lies in gets a tangent, for all that is seen of it."""
        level, old = target._level, self._own_tangent(base)
        whole = wrap(np.zeros_like(base._array)) if old is None else old.clone()  # type: ignore[attr-defined]
        replay(whole, steps, xp).copy_(tangent._whole if level.holds(tangent) else spread(tangent, level.size))
        self._forget_views(base)
        self.attach(base, whole)

    def _own(self, t: Tensor) -> None:
        """Before `t` is written to: see that its tangent is its own."""
        if id(t) in self.borrowers:
            self.borrowers.discard(id(t))
            tangent = self.tangent(t)
            if tangent is not None:
                self._forget_views(t)
                self.attach(t, tangent.clone())  # type: ignore[attr-defined]

    def _forget_views(self, base: Tensor) -> None:
        """Let the views of a tensor take their tangents from it again."""
        for reference in list(self.holders.values()):
            t = reference()
            if t is None or t._meta is None or not t._meta.tangents:
                continue
            behind = (t._view.base, t._view.steps) if t._view is not None else memory_behind(t)
            if behind is not None and behind[0] is base:
                t._meta.tangents.pop(self, None)

    def no_out(self, name: str) -> Exception:
        return NotImplementedError(f"Trying to use forward AD with {name}_out that does not support it because it is an out= "
                                   "function")

    apply_function = apply_dual


def memory_behind(t: Any) -> tuple[Tensor, Any] | None:
    """Of one element of a batch: the tensor in whose memory the batch lies, and the views that lead from it to the batch."""
    whole = getattr(t, "_whole", None)
    if whole is None or hasattr(whole, "_whole"):
        return None
    return (whole, None) if whole._view is None else (whole._view.base, whole._view.steps)


def _place(array: np.ndarray) -> tuple[int, int]:
    """Of which memory an array is a part: how large it is, and where the array begins."""
    owner, start = storage(array)
    return owner.nbytes, start


def tangent_like(primal: Tensor, tangent: Tensor) -> Tensor:
    """The tangent in the layout of its primal, so that views of one are views of the other."""
    if not primal._array.size:
        return tangent
    if kind_of(primal) is not kind_of(tangent):
        # A copy of the tangent that is conjugated and negated where its primal is: so are its views then.
        kind = kind_of(primal)
        tangent = xp.clone(xp.neg_view(tangent) if kind.negated else tangent)
        if kind.conjugated:
            tangent = xp.conj_view(xp.conj(tangent))
        return xp.neg_view(tangent) if kind.negated else tangent  # type: ignore[no-any-return]
    if tangent._array.strides == primal._array.strides or primal._array.size == 1:
        is_alike = type(tangent) is not Tensor or tangent.requires_grad or _place(primal._array) == _place(tangent._array)
        return tangent if is_alike else xp.clone(tangent, order="K")  # type: ignore[no-any-return]
    if is_expanded(primal._array):
        return tangent
    strides = primal._array.strides
    order = tuple(sorted(range(len(strides)), key=lambda axis: -strides[axis]))
    in_order = xp.clone(xp.permute(tangent, axes=order), order="C")
    return xp.permute(in_order, axes=inverse_permutation(order))  # type: ignore[no-any-return]
