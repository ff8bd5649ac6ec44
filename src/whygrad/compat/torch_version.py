"""torch.torch_version: a version as a string that is compared by its numbers, also with tuples."""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import eq, ge, gt, le, lt
from typing import Any

__all__ = ["TorchVersion"]

_PATTERN = re.compile(r"v?(\d+(?:\.\d+)*)(?:\.?(dev|a|b|rc|post)(\d*))?(?:\+([a-z0-9.]+))?", re.IGNORECASE)
_STAGES = ("dev", "a", "b", "rc", "", "post")


def _key(text: str) -> tuple[Any, ...] | None:
    """What versions are ordered by; None for text that is no version."""
    found = _PATTERN.fullmatch(text.strip())
    if found is None:
        return None
    release, stage, number, local = found.groups()
    numbers = [int(part) for part in release.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), _STAGES.index((stage or "").lower()), int(number or 0), local or ""


class TorchVersion(str):
    __slots__ = ()

    def _compare(self, other: Any, operator: Callable[[Any, Any], bool]) -> Any:
        if not isinstance(other, (str, tuple, list)):
            return NotImplemented
        text = other if isinstance(other, str) else ".".join(map(str, other))
        ours, theirs = _key(self), _key(text)
        return operator(str(self), text) if ours is None or theirs is None else operator(ours, theirs)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, lt)

    def __le__(self, other: Any) -> Any:
        return self._compare(other, le)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, gt)

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, ge)

    def __eq__(self, other: object) -> Any:
        return self._compare(other, eq)

    __hash__ = str.__hash__
