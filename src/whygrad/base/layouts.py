"""torch.layout and torch.memory_format."""

from __future__ import annotations

from typing import Any


class _Named:
    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


class layout(_Named):
    """How the elements of a tensor are stored."""

    __slots__ = ()


class memory_format(_Named):
    """The order of a new tensor's elements in memory."""

    __slots__ = ()


strided, sparse_coo, jagged = layout("strided"), layout("sparse_coo"), layout("jagged")
sparse_csr, sparse_csc, sparse_bsr, sparse_bsc = (layout(f"sparse_{rows}") for rows in ("csr", "csc", "bsr", "bsc"))
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")

BY_NAME: dict[str, _Named] = {x._name: x for x in (
    strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, jagged,
    contiguous_format, preserve_format, channels_last, channels_last_3d)}


def check_layout(function: str, wanted: Any) -> None:
    if wanted is not None and wanted is not strided:
        if not isinstance(wanted, layout):
            raise TypeError(f"{function}(): argument 'layout' must be torch.layout, not {type(wanted).__name__}")
        raise NotImplementedError(f"{function}(): tensors are strided here; layout={wanted} is not supported")
