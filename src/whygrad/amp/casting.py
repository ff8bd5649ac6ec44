"""What torch's functions do under autocast on the CPU: first bring their arguments into the dtype that fits them.

What fits a function stands where it is declared (`public(autocast=...)`): "lower", autocast's dtype; "float32"; or "widest",
float32 if one of the arguments is, else autocast's dtype. An op whose arguments were cast is itself without autocast, so what
it consists of is left alone.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from typing import Any

from whygrad.autograd.grad_mode import enable_grad
from whygrad.base import door, dtypes
from whygrad.base.autocast_state import state
from whygrad.base.door import Next, Policy, Spec
from whygrad.core.modes import inherited
from whygrad.core.tensor import Tensor
from whygrad.ops.table import TABLE

inherited.append(state)


def switch(device: str, enabled: bool) -> None:
    if enabled is (device in state.enabled):
        return
    (state.enabled.add if enabled else state.enabled.discard)(device)
    if device == "cpu":
        state.user = _User() if enabled else None
        state.refresh()


def is_eligible(t: Any) -> bool:
    return isinstance(t, Tensor) and t.dtype.is_floating_point and t.dtype is not dtypes.float64


def in_dtype(t: Any, wanted: dtypes.dtype) -> Any:
    """`t` in that dtype, if autocast may touch it. A weight is cast once in a block."""
    if not is_eligible(t) or t.dtype is wanted:
        return t
    is_weight = (state.cache_enabled and wanted is state.current and t.dtype is dtypes.float32 and t.requires_grad and t.is_leaf
                 and t._view is None)
    if not is_weight:
        return t.to(wanted)
    known = state.cache.get(id(t))
    if known is None:
        with enable_grad():
            known = state.cache[id(t)] = t, t.to(wanted)
    return known[1]


def _each(values: Any) -> Iterator[Any]:
    """The arguments, and those inside of a list."""
    for value in values:
        if type(value) in (tuple, list):
            yield from value
        else:
            yield value


def _widest(args: tuple[Any, ...], kwargs: dict[str, Any], lower: dtypes.dtype) -> dtypes.dtype:
    for t in _each((*args, *kwargs.values())):
        if is_eligible(t) and t.dtype is dtypes.float32:
            return dtypes.float32
        if is_eligible(t) and t.dtype is not lower:
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return lower


def _cast(value: Any, wanted: dtypes.dtype) -> Any:
    if type(value) in (tuple, list) and any(isinstance(t, Tensor) for t in value):
        return [in_dtype(t, wanted) for t in value]
    return in_dtype(value, wanted)


def _given(spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name, defaults included."""
    defaults = dict(zip(reversed(spec.parameters), reversed(spec.plain.__defaults__ or ()), strict=False))
    return defaults | dict(zip(spec.parameters, args, strict=False)) | kwargs


class Autocast:
    """Stands at the door while autocast is on in any thread."""

    place = "autocast"

    def wants(self, spec: Spec) -> bool:
        return spec.autocast is not None

    def handle(self, spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any], next: Next) -> Any:
        current, policy = state.current, spec.autocast
        if current is None or kwargs.get("out") is not None:
            return next(args, kwargs)
        if isinstance(policy, Policy):
            if not policy.concerns(_given(spec, args, kwargs)):
                return next(args, kwargs)
            policy = policy.name
        if policy == "recurrent layer":
            _, cell, *given = args
            if cell != "lstm" or given[3] is not None or has_projection(given[2]):
                return _step_by_step()(cell, *given)
            args = (TABLE["mkldnn_rnn_layer"], cell, *given)  # torch's kernel for a whole layer is a product
            policy = "lower"
        wanted = current if policy == "lower" else dtypes.float32 if policy == "float32" else _widest(args, kwargs, current)
        args = tuple([_cast(x, wanted) for x in args])
        kwargs = {key: _cast(x, wanted) for key, x in kwargs.items()}
        state.current = None
        try:
            return next(args, kwargs)
        finally:
            state.current = current


def has_projection(params: Any) -> bool:
    return len(params) in (3, 5)


def _step_by_step() -> Any:
    from whygrad.amp.recurrent import run_layer  # it is made of functions of nn, which not every program with autocast loads

    return run_layer


_autocast = Autocast()
_counting = threading.Lock()
_users = 0


class _User:
    """Keeps autocast at the door while it lives: no longer than its thread, even if that ends inside of autocast."""

    def __init__(self) -> None:
        _count(1)
        weakref.finalize(self, _count, -1).atexit = False


def _count(more: int) -> None:
    global _users
    with _counting:
        _users += more
        if _users == max(more, 0):
            (door.add if _users else door.remove)(_autocast)
