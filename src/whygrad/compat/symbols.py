"""torch.sym_int and its kin, of plain numbers: sizes are never symbolic here."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


def sym_int(a: Any) -> int:
    return int(a)


def sym_float(a: Any) -> float:
    return float(a)


def sym_not(a: Any) -> bool:
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """The larger number; a float if one of them is."""
    return _as_both(a, b, max(a, b))


def sym_min(a: Any, b: Any) -> Any:
    """The smaller number; a float if one of them is."""
    return _as_both(a, b, min(a, b))


def _as_both(a: Any, b: Any, result: Any) -> Any:
    return float(result) if isinstance(a, float) or isinstance(b, float) else result


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """`t` if `b`, else `f`: both of one type."""
    if not isinstance(b, bool):
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


def sym_sum(args: Iterable[Any]) -> Any:
    return sum(args)


def _sym_sqrt(a: Any) -> float:
    return math.sqrt(a)


sym_sqrt = _sym_sqrt
