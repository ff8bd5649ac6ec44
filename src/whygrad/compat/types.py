"""torch.types: aliases for annotations, and the symbolic numbers of traced programs, which have no instances here."""

from __future__ import annotations

import os
from typing import IO, Any, TypeAlias

from whygrad.base.devices import device
from whygrad.base.dtypes import dtype
from whygrad.base.layouts import layout
from whygrad.core.tensor import Size, Tensor

__all__ = ["Device", "FileLike", "Number", "Storage"]


class SymInt:
    """torch.SymInt, a symbolic integer of a traced program. It has no instances here."""


class SymFloat:
    """torch.SymFloat, see SymInt."""


class SymBool:
    """torch.SymBool, see SymInt."""


Number: TypeAlias = int | float | bool
Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
Storage: TypeAlias = Any

_bool, _complex, _dtype, _device, _float, _int, _layout, _size = bool, complex, dtype, device, float, int, layout, Size
_TensorOrTensors = Tensor | tuple[Tensor, ...]
