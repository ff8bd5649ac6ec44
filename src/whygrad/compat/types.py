"""torch.types: names for annotations, and the numbers of a traced program, of which there are none here."""

from __future__ import annotations

import os
from typing import IO, Any, TypeAlias

from whygrad.base.devices import device
from whygrad.base.dtypes import dtype
from whygrad.base.layouts import layout
from whygrad.core.tensor import Size, Tensor

__all__ = ["Device", "FileLike", "Number", "Storage"]


class SymInt:
    """An integer of a program that is being traced. Nothing is traced here, so there is never one."""


class SymFloat:
    """As SymInt."""


class SymBool:
    """As SymInt."""


Number: TypeAlias = int | float | bool
Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
Storage: TypeAlias = Any

_bool, _complex, _dtype, _device, _float, _int, _layout, _size = bool, complex, dtype, device, float, int, layout, Size
_TensorOrTensors = Tensor | tuple[Tensor, ...]
