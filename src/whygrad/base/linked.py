"""Chains of tuples, each of which begins with the one before it or None: adding to one costs the same however long it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# Of a view, see core/tensor.py.
Steps = tuple[Any, Any, dict[str, Any], int | None, tuple[int, ...]]


def in_order(last: tuple[Any, ...] | None) -> Sequence[tuple[Any, ...]]:
    """The tuples of a chain, the first of them first."""
    if last is not None and last[0] is None:
        return (last,)
    found = []
    while last is not None:
        found.append(last)
        last = last[0]
    found.reverse()
    return found
