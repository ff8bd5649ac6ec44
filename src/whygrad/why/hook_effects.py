"""The effect of a hook: how the gradient it returned differs from its argument."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np

from whygrad.why.engine import array_of, is_tensor, shape_of
from whygrad.why.record import Reference


class HookEffect(NamedTuple):
    """A hook's name, and what it did to the gradient in words."""

    name: str
    how: str
    # True if some elements were set to zero and the others kept: this freezes a part of a tensor, usually on purpose.
    masks: bool
    # True if all elements were set to zero.
    wipes: bool


def registration_key(hook: Any) -> Any:
    """A key for hooks registered at one site, which does not keep the hook alive."""
    hook = user_hook(hook)
    return getattr(hook, "__code__", None) or getattr(getattr(hook, "__func__", None), "__code__", None) or type(hook)


class Closure(NamedTuple):
    """A variable of the surrounding function that a hook uses, and the tensor it was bound to when the hook was registered."""

    hook: weakref.ref[Any]
    code: Any
    name: str
    cell: Any
    content: weakref.ref[Any]

    def is_rebound(self) -> bool:
        try:
            return self.content() is not self.cell.cell_contents
        except ValueError:  # it was deleted
            return False


def closures_of(hook: Any) -> list[Closure]:
    found = []
    for name, cell in zip(getattr(getattr(hook, "__code__", None), "co_freevars", ()), getattr(hook, "__closure__", None) or (),
                          strict=False):
        try:
            content = cell.cell_contents
        except ValueError:  # not bound yet
            continue
        if is_tensor(content):
            found.append(Closure(weakref.ref(hook), hook.__code__, name, cell, Reference(content)))
    return found


def user_hook(hook: Any) -> Any:
    """The user's hook inside the wrapper that nn.Module registers for it."""
    border = getattr(hook, "__self__", None)
    if border is not None and type(border).__name__ == "BackwardBorder":
        own = [*border.hooks, *border.pre_hooks]
        return own[-1] if own else hook
    return getattr(hook, "hook", hook)


def describe_effect(hook: Any, before: Any, after: Any) -> HookEffect | None:
    """The effect of a hook; None if it returned the same gradient, or clipped or repaired it."""
    pairs = list(zip(before, after, strict=False)) if isinstance(after, tuple) else [(before, after)]
    for old, new in pairs:
        if not isinstance(old, np.ndarray) or not is_tensor(new) or old.shape != shape_of(new):
            continue
        value = array_of(new)
        if np.array_equal(old, value, equal_nan=True) or _is_repaired(old, value):
            continue
        if _is_clipped(user_hook(hook), old, value) or _is_clipped_by_norm(user_hook(hook), old, value):
            continue
        return HookEffect(_name(user_hook(hook)), _how(old, value), _is_masked(old, value), not value.any())
    return None


def _is_clipped(hook: Any, old: np.ndarray, new: np.ndarray) -> bool:
    """True if the gradient was clipped to [-bound, bound], which is done on purpose."""
    bound = float(np.abs(new).max()) if new.size else 0.0
    if not np.ptp(np.abs(old)) and not _names(hook) & {"clamp", "clamp_", "clip", "clip_"}:
        return False  # all elements have the same magnitude: it may as well be a factor
    return bound > 0 and np.allclose(np.clip(old, -bound, bound), new) and float(np.abs(old).max()) > bound


def _is_masked(old: np.ndarray, new: np.ndarray) -> bool:
    return bool(new.any()) and np.array_equal(new[new != 0], old[new != 0])


def _is_repaired(old: np.ndarray, new: np.ndarray) -> bool:
    """True if only nan and infinite elements were replaced."""
    fine = np.isfinite(old)
    return not fine.all() and bool(fine.any()) and np.array_equal(old[fine], new[fine])


def _is_clipped_by_norm(hook: Any, old: np.ndarray, new: np.ndarray) -> bool:
    """True if a hook that computes a norm scaled the gradient down."""
    size = float(np.linalg.norm(old))
    share = float(np.linalg.norm(new)) / size if size else 1.0
    return "norm" in _names(hook) and 0 < share < 1 and np.allclose(old * share, new)


def _names(hook: Any) -> set[str]:
    """Names that the hook's code uses."""
    return set(getattr(getattr(hook, "__code__", None), "co_names", ()))


def _name(hook: Any) -> str:
    name = getattr(hook, "__name__", type(hook).__name__)
    return "(a lambda)" if name == "<lambda>" else f"`{name}`"


def _how(old: np.ndarray, new: np.ndarray) -> str:
    if not new.any():
        return "set the gradient to zero"
    if _is_masked(old, new):
        return f"set {np.count_nonzero((new == 0) & (old != 0))} of {new.size} elements of the gradient to zero"
    if (old == old.flat[0]).all() and (new == new.flat[0]).all():  # an added constant and a factor look alike here
        return f"changed the gradient from {old.flat[0]:.4g} to {new.flat[0]:.4g}"
    ratio = new[old != 0] / old[old != 0]
    if ratio.size and np.allclose(ratio, ratio.flat[0]) and not new[old == 0].any():
        return f"multiplied the gradient by {float(np.real(ratio.flat[0])):.4g}"
    return "changed the gradient"
