"""torch._tensor_str: private functions with which libraries print their subclasses of Tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whygrad.base import printing
from whygrad.core.tensor import Tensor

__all__ = ["_add_suffixes", "_str_intern", "_tensor_str"]


def __getattr__(name: str) -> Any:
    """PRINT_OPTS is the current options."""
    if name != "PRINT_OPTS":
        raise AttributeError(f"module 'torch._tensor_str' has no attribute {name!r}")
    return printing.current_options()


def _tensor_str(self: Tensor, indent: int) -> str:
    """The values alone, after a text of `indent` columns."""
    return printing.body(self._array, indent)


def _add_suffixes(tensor_str: str, suffixes: Sequence[str], indent: int, force_newline: bool) -> str:
    return printing.append_notes(tensor_str, suffixes, indent, force_newline) + ")"


def _str_intern(inp: Tensor, *, tensor_contents: str | None = None) -> str:
    return inp.__repr__(tensor_contents=tensor_contents)  # type: ignore[call-arg]
