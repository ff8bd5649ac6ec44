"""Private names of torch that programs use: variants of unique, and torch._VF."""

from __future__ import annotations

from typing import Any

import whygrad as torch
from whygrad.functional.run import FUNCTIONS


def _unique2(input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> tuple[Any, ...]:
    values, inverse, counts = FUNCTIONS["unique"](input, sorted=sorted, return_inverse=True, return_counts=True)
    return values, inverse if return_inverse else inverse[:0], counts if return_counts else counts[:0]


def _unique(input: Any, sorted: bool = True, return_inverse: bool = False) -> tuple[Any, ...]:
    return _unique2(input, sorted, return_inverse)[:2]


class _VariableFunctions:
    """torch._VF: torch's C++ functions. Recurrent modules call theirs through it, so that a patched one takes effect."""

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = getattr(torch, name)
        return found

    @staticmethod
    def unique_dim(input: Any, dim: int, sorted: bool = True, return_inverse: bool = False,
                   return_counts: bool = False) -> tuple[Any, ...]:
        values, inverse, counts = FUNCTIONS["unique"](input, sorted=sorted, return_inverse=True, return_counts=True, dim=dim)
        return values, inverse if return_inverse else inverse[:0], counts if return_counts else counts[:0]


_VF = _VariableFunctions()
