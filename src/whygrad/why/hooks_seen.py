"""What a hook did to the gradient it was given."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whygrad.core.tensor import Tensor


class Change(NamedTuple):
    hook: Any
    name: str
    how: str
    # Some elements were set to zero and the others left alone: that freezes a part of a tensor, and is hardly an oversight.
    masks: bool
    # All of it was set to zero: whoever wants that has no need of a hook.
    wipes: bool


def registration_key(hook: Any) -> Any:
    """What tells hooks apart that were registered at different places; it keeps none of them alive."""
    hook = the_users(hook)
    return getattr(hook, "__code__", None) or getattr(getattr(hook, "__func__", None), "__code__", None) or type(hook)


def the_users(hook: Any) -> Any:
    """The user's hook behind what modules register in its name."""
    border = getattr(hook, "__self__", None)
    if border is not None and type(border).__name__ == "BackwardBorder":
        own = [*border.hooks, *border.pre_hooks]
        return own[-1] if own else hook
    return getattr(hook, "hook", hook)


def describe_change(hook: Any, before: Any, after: Any) -> Change | None:
    """In words, if the hook gave another gradient than it got; None if it only looked, or clipped."""
    pairs = list(zip(before, after, strict=False)) if isinstance(after, tuple) else [(before, after)]
    for old, new in pairs:
        if not isinstance(old, np.ndarray) or not isinstance(new, Tensor) or old.shape != new._array.shape:
            continue
        value = new._array
        if np.array_equal(old, value, equal_nan=True) or _is_repaired(old, value):
            continue
        if _is_clipped(the_users(hook), old, value) or _is_clipped_by_norm(the_users(hook), old, value):
            continue
        return Change(the_users(hook), _name(the_users(hook)), _how(old, value), _is_masked(old, value), not value.any())
    return None


def _is_clipped(hook: Any, old: np.ndarray, new: np.ndarray) -> bool:
    """Cut off at a bound on both sides: clipping, which is done on purpose."""
    bound = float(np.abs(new).max()) if new.size else 0.0
    if not np.ptp(np.abs(old)) and not _names(hook) & {"clamp", "clamp_", "clip", "clip_"}:
        return False  # all alike: it may as well be a factor
    return bound > 0 and np.allclose(np.clip(old, -bound, bound), new) and float(np.abs(old).max()) > bound


def _is_masked(old: np.ndarray, new: np.ndarray) -> bool:
    return bool(new.any()) and np.array_equal(new[new != 0], old[new != 0])


def _is_repaired(old: np.ndarray, new: np.ndarray) -> bool:
    """Only what was nan or infinite is another."""
    fine = np.isfinite(old)
    return not fine.all() and bool(fine.any()) and np.array_equal(old[fine], new[fine])


def _is_clipped_by_norm(hook: Any, old: np.ndarray, new: np.ndarray) -> bool:
    """Made shorter by a hook that asks for the norm."""
    size = float(np.linalg.norm(old))
    share = float(np.linalg.norm(new)) / size if size else 1.0
    return "norm" in _names(hook) and 0 < share < 1 and np.allclose(old * share, new)


def _names(hook: Any) -> set[str]:
    """What a hook calls."""
    return set(getattr(getattr(hook, "__code__", None), "co_names", ()))


def _name(hook: Any) -> str:
    name = getattr(hook, "__name__", type(hook).__name__)
    return "(a lambda)" if name == "<lambda>" else f"`{name}`"


def _how(old: np.ndarray, new: np.ndarray) -> str:
    if not new.any():
        return "set the gradient to zero"
    if _is_masked(old, new):
        return f"set {np.count_nonzero((new == 0) & (old != 0))} of {new.size} elements of the gradient to zero"
    if (old == old.flat[0]).all() and (new == new.flat[0]).all():  # whether by adding or multiplying cannot be told
        return f"changed the gradient from {old.flat[0]:.4g} to {new.flat[0]:.4g}"
    ratio = new[old != 0] / old[old != 0]
    if ratio.size and np.allclose(ratio, ratio.flat[0]) and not new[old == 0].any():
        return f"multiplied the gradient by {float(np.real(ratio.flat[0])):.4g}"
    return "changed the gradient"
