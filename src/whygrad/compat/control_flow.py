"""torch.cond, which exists for compiled programs. Here, as in eager torch, it is an `if`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.base.errors import warn
from whygrad.core.tensor import Tensor

CONSTANT = ("Pred is a Python constant. When used with torch.cond, it specializes on one of the branches. If you want torch.cond "
            "to preserve two branches, please make the predicate a boolean tensor or a SymBool.")


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: tuple[Any, ...] | list[Any] = ()) -> Any:
    """`true_fn(*operands)` if `pred`, a bool or a tensor of one bool, is true, else `false_fn(*operands)`."""
    if isinstance(pred, (bool, int, float)):
        warn(CONSTANT)
        return true_fn(*operands) if pred else false_fn(*operands)
    if not isinstance(pred, Tensor):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if pred._array.size != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or not _all_tensors(operands):
        raise RuntimeError("Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor "
                           f"leaves, but got {operands}.")
    return true_fn(*operands) if pred else false_fn(*operands)


def _all_tensors(value: Any) -> bool:
    if isinstance(value, (tuple, list, dict)):
        return all(_all_tensors(x) for x in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, Tensor)
