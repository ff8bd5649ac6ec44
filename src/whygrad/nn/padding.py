"""Padding modules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from whygrad.nn import functional as F
from whygrad.nn.from_function import for_dims
from whygrad.nn.module import Module

__all__ = ["CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
           "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
           "ZeroPad1d", "ZeroPad2d", "ZeroPad3d"]


class _Pad(Module):
    """Base of all paddings: (before, after) for each padded dim, last dim first."""

    dims: ClassVar[int]
    mode: ClassVar[str]

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = tuple(padding) if isinstance(padding, Iterable) else (padding,) * (2 * self.dims)

    def forward(self, input: Any) -> Any:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    """Pads with one number."""

    mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Any) -> Any:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


ConstantPad1d, ConstantPad2d, ConstantPad3d = for_dims(_ConstantPad)


class _ZeroPad(_ConstantPad):
    """Pads with zeros."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


ZeroPad1d, ZeroPad2d, ZeroPad3d = for_dims(_ZeroPad, kinds=(ConstantPad1d, ConstantPad2d, ConstantPad3d))


class _ReflectionPad(_Pad):
    """Pads with the input, mirrored at its edge."""

    mode = "reflect"


ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = for_dims(_ReflectionPad)


class _ReplicationPad(_Pad):
    """Pads with the element at the edge."""

    mode = "replicate"


ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = for_dims(_ReplicationPad)


class _CircularPad(_Pad):
    """Pads by wrapping around to the opposite edge."""

    mode = "circular"

    def forward(self, input: Any) -> Any:
        if input.ndim not in (self.dims + 1, self.dims + 2):
            raise ValueError(f"expected {self.dims + 1}D or {self.dims + 2}D input (got {input.ndim}D input)")
        return super().forward(input)


CircularPad1d, CircularPad2d, CircularPad3d = for_dims(_CircularPad)
