"""Custom Functions under forward mode, by their own `jvp`."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.autograd.function import Function
from whygrad.autograd.function_levels import apply_under_transforms
from whygrad.autograd.function_node import FunctionCtx
from whygrad.core.door import concerned, with_levels
from whygrad.core.tensor import Tensor, wrap

NOT_IN_PLACE = ("An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an "
                "input inplace, then the jvp function must modify the corresponding gradient inplace.")


class CtxProxy:
    """A proxy of a ctx: attributes other than those in `own` are read, written and deleted there."""

    def __init__(self, ctx: Any, **own: Any) -> None:
        self.__dict__.update(own, _ctx=ctx)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._ctx, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._ctx, name)


def with_saved(ctx: Any, saved: tuple[Any, ...]) -> CtxProxy:
    return CtxProxy(ctx, saved_tensors=saved)


def apply_dual(level: Any, function: type[Function], args: tuple[Any, ...]) -> Any:
    """Apply a Function in forward mode, by its `jvp`."""
    tangents = [level.tangent(a) for a in args]
    results, ctx = _with_ctx(function, args, tuple([t is not None for t in tangents]))
    given = [_zeros(a) if t is None and isinstance(a, Tensor) and ctx.materialize_grads and a._array.dtype.kind in "fc" else t
             for a, t in zip(args, tangents, strict=True)]
    versions = [None if t is None else t._version_counter.value for t in given]
    changes = function.jvp(with_saved(ctx, tuple(ctx.saved_for_forward or ())), *given)
    changes = changes if isinstance(changes, tuple) else (changes,)
    outs = results if isinstance(results, tuple) else (results,)
    if len(changes) != len(outs):
        raise RuntimeError(f"{function.__name__}.jvp returned an incorrect number of tangents (expected {len(outs)}, got "
                           f"{len(changes)})")
    dirty, fixed = getattr(ctx, "_marks", None) or ((False,) * len(outs),) * 2
    for i, (out, change) in enumerate(zip(outs, changes, strict=True)):
        if change is None:
            continue
        if fixed[i] or not isinstance(out, Tensor) or out._array.dtype.kind not in "fcV":
            raise RuntimeError(f"Function's jvp returned a gradient at position {i}, but  the corresponding forward output is "
                               "not a differentiable Tensor.You should return None at that position instead.")
        _check_memory(out, change, dirty[i], args, given, versions)
        level.attach(out, change)
    return results


def _check_memory(out: Tensor, change: Tensor, is_dirty: bool, args: tuple[Any, ...], tangents: list[Any],
                  versions: list[Any]) -> None:
    """Raise unless the jvp treats the tangent as the forward treats the input: written in place, or returned as a view."""
    if is_dirty:
        if not any(change is t and t._version_counter.value != before for t, before in zip(tangents, versions, strict=True)):
            raise RuntimeError(NOT_IN_PLACE)
        return
    position = None if out._view is None else next(
        (i for i, a in enumerate(args) if isinstance(a, Tensor) and _base_of(a) is _base_of(out)), None)
    if position is None:
        return
    if change._view is None:
        raise RuntimeError("A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a "
                           "view.")
    given = tangents[position]
    if given is not None and _base_of(change) is not _base_of(given):
        whose = "the given grad input." if given._view is None else "the same base as the given grad input."
        raise RuntimeError(f"A custom Function is returning a view but the jvp is not returning a view of {whose}")


def _base_of(t: Tensor) -> Tensor:
    return t if t._view is None else t._view.base


def _with_ctx(function: type[Function], args: tuple[Any, ...], needs_input_grad: tuple[bool, ...]) -> tuple[Any, Any]:
    """The results, and a ctx with the arguments of this level."""
    if concerned(args) is None:
        return with_levels((), function._recorded, args)  # type: ignore[no-any-return]
    results = apply_under_transforms(function, args)
    ctx = _OwnCtx()
    ctx.needs_input_grad = needs_input_grad
    function.setup_context(ctx, args, results)
    return results, ctx


class _OwnCtx(FunctionCtx):
    """A ctx that belongs to no node."""

    materialize_grads = True
    saved_for_forward: Any = None
    needs_input_grad: tuple[bool, ...] = ()


def _zeros(a: Tensor) -> Tensor:
    return wrap(np.zeros(a._array.shape, a._array.dtype))
