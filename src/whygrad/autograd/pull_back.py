"""Reverse mode under transforms: gradients through the graph below all levels.

`variable` creates the variables of a derivative: fresh leaves at the bottom, with a batch of their own for each active vmap,
so that the result is a gradient for each element and not their sum.

Gradients follow the graph's convention: conjugated, if complex.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from whygrad.autograd.accumulation import owned_copy
from whygrad.autograd.batched import BatchedTensor, BatchLevel, batched, spread
from whygrad.backends import tensor as xp
from whygrad.base.overlap import is_expanded
from whygrad.core import engine
from whygrad.core.door import Level, with_levels
from whygrad.core.modes import grad_state
from whygrad.core.node import DeadEnd
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor, source, wrap
from whygrad.ops.table import TABLE

Levels = tuple[Level, ...]
Gradients = list[Tensor | None]


def variable(x: Tensor, *, connected: bool = False) -> Tensor:
    """A tensor like `x` by which outputs can be differentiated. `connected`: it keeps its history, if it has one."""
    return _variable(x, grad_state.levels, connected)


def _variable(x: Tensor, levels: Levels, connected: bool) -> Tensor:
    if not levels:
        if connected and x.requires_grad:
            return with_levels((), apply, TABLE["alias"], x)  # type: ignore[no-any-return]
        result = wrap(x._array)
        result._lazy_version = x._version_counter
        result._indirect = True
        return result
    level: Any = levels[-1]
    below = levels[:-1]
    if isinstance(level, BatchLevel):
        whole = x._whole if isinstance(x, BatchedTensor) and level.holds(x) else with_levels(below, spread, x, level.size)
        return batched(_variable(whole, below, connected), level)
    result = _variable(x, below, connected)
    tangent = level.tangent(x)
    if tangent is not None:
        level.attach(result, tangent)
    return result


def pull_back(outputs: Sequence[Tensor], inputs: Sequence[Tensor], cotangents: Sequence[Tensor], *, records: bool,
              keep: bool = True) -> Gradients:
    """The gradients of `inputs`, created by `variable`; None for inputs that the outputs do not depend on."""
    keep = keep and bool(outputs)
    return _pull(list(outputs), list(inputs), list(cotangents), grad_state.levels, (), records, keep or bool(grad_state.levels))


def _pull(outputs: list[Tensor], inputs: list[Tensor], cotangents: list[Tensor], levels: Levels, kept: Levels, records: bool,
          keep: bool) -> Gradients:
    """`kept` are the levels to which only the cotangents belong: the walk through the graph carries their batches."""
    if not levels:
        return with_levels(kept, _walk, outputs, inputs, cotangents, records, keep)  # type: ignore[no-any-return]
    *outer, level = levels
    below = tuple(outer)
    if not level.is_batch:
        return _pull_dual(level, outputs, inputs, cotangents, below, kept, records)
    assert isinstance(level, BatchLevel)
    if not any(level.holds(x) for x in inputs):
        if any(level.holds(t) for t in outputs):
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        return _pull(outputs, inputs, cotangents, below, (level, *kept), records, keep)
    pairs = [(t, g) for t, g in zip(outputs, cotangents, strict=True) if level.holds(t)]
    wholes = with_levels(below, lambda: [_exposed(g, level) for _, g in pairs])
    found = _pull([t._whole for t, _ in pairs], [_whole_of(x) for x in inputs], wholes, below, kept, records, keep)  # type: ignore[attr-defined]
    return with_levels(below, lambda: [None if g is None else _hidden(g, level) for g in found])  # type: ignore[no-any-return]


def _whole_of(x: Tensor) -> Tensor:
    if not isinstance(x, BatchedTensor):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return x._whole


def _exposed(g: Tensor, level: BatchLevel) -> Tensor:
    """`g` with the batch of `level` as first axis; batches of inner levels stay wrapped."""
    if not isinstance(g, BatchedTensor):
        return spread(g, level.size)
    if level.holds(g):
        return g._whole
    return batched(xp.transpose(_exposed(g._whole, level), axis0=0, axis1=1), g._level)


def _hidden(g: Tensor, level: BatchLevel) -> Tensor:
    if isinstance(g, BatchedTensor) and g._level not in grad_state.levels:
        return batched(_hidden(xp.transpose(g._whole, axis0=0, axis1=1), level), g._level)
    return batched(g, level)


def _pull_dual(level: Any, outputs: list[Tensor], inputs: list[Tensor], cotangents: list[Tensor], below: Levels,
               kept: Levels, records: bool) -> Gradients:
    """Gradients have tangents too: by symmetry of second derivatives, the gradients of the outputs' tangents."""
    found = _pull(outputs, inputs, cotangents, below, kept, records, True)
    moving: list[tuple[Tensor, Tensor]] = []
    for t, g in zip(outputs, cotangents, strict=True):
        t_tangent, g_tangent = level.tangent(t), _tangent_within(level, g, kept)
        if t_tangent is not None:
            moving.append((t_tangent, g))
        if g_tangent is not None:
            moving.append((t, g_tangent))
    if not moving:
        return found
    with level.closed():
        tangents = _pull([t for t, _ in moving], inputs, [g for _, g in moving], below, kept, records, True)
    for i, tangent in enumerate(tangents):
        if tangent is None:
            continue
        still = found[i]
        if still is None:
            still = wrap(np.zeros(tangent._array.shape, tangent._array.dtype))
        found[i] = with_levels(below, _moving, level, still, tangent, kept)
    return found


def _tangent_within(level: Any, g: Tensor, kept: Levels) -> Tensor | None:
    """The tangent of a tensor that may be batched by levels inside `level`: that of its whole."""
    if not isinstance(g, BatchedTensor) or g._level not in kept:
        return level.tangent(g)
    tangent = _tangent_within(level, g._whole, kept)
    return None if tangent is None else batched(tangent, g._level)


def _moving(level: Any, g: Tensor, tangent: Tensor, kept: Levels) -> Tensor:
    """`g` with a tangent."""
    for inner in reversed(kept):
        assert isinstance(inner, BatchLevel)
        if inner.holds(g) or inner.holds(tangent):
            below = kept[:kept.index(inner)]
            g, tangent = (t._whole if isinstance(t, BatchedTensor) and inner.holds(t) else spread(t, inner.size)
                          for t in (g, tangent))
            return batched(_moving(level, g, tangent, below), inner)
    level.attach(g, tangent)
    return g


def _walk(outputs: list[Tensor], inputs: list[Tensor], cotangents: list[Tensor], records: bool, keep: bool) -> Gradients:
    """One walk through the graph, below all levels."""
    on_tensors = records or any(isinstance(g, BatchedTensor) for g in cotangents)
    roots = []
    for t, g in zip(outputs, cotangents, strict=True):
        target = source(t)
        if target is not None and not isinstance(target, DeadEnd):
            roots.append((target, g if on_tensors else g._array))
    targets = [source(x) for x in inputs]
    captures: dict[Any, Any] = dict.fromkeys(targets)
    if roots:
        engine.run(roots, keep=keep, create_graph=on_tensors, records=records, captures=captures)
    return [_as_tensor(captures[target], x) for target, x in zip(targets, inputs, strict=True)]


def _as_tensor(g: Any, x: Tensor) -> Tensor | None:
    if g is None or isinstance(g, Tensor):
        return g
    g = np.asarray(g)
    # References: `g` here, in the caller's dict, and the argument of getrefcount; of its memory, `g` and the argument.
    ours = g.flags.writeable and getrefcount(g) <= 3 and not is_expanded(g) and (
        g.base is None or getrefcount(g.base) <= 2)
    return wrap(g if ours else owned_copy(g, x._array))


def to_inside(g: Tensor) -> Tensor:
    """Convert between torch's convention for complex gradients and that of the graph, which is conjugated."""
    return xp.conj(g) if g._array.dtype.kind == "c" else g  # type: ignore[no-any-return]
