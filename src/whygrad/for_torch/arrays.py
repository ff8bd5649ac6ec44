"""The numbers of torch's tensors as NumPy arrays: without a copy where they are on the CPU."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch
from torch import Tensor

# Types that NumPy lacks, the integers of their size, and how they are read.
FOREIGN = {torch.bfloat16: (torch.int16, np.dtype(ml_dtypes.bfloat16))}
# Types that NumPy has as well.
PLAIN = frozenset({torch.float16, torch.float32, torch.float64, torch.complex64, torch.complex128, torch.bool, torch.uint8,
                   torch.int8, torch.int16, torch.int32, torch.int64})
STRIDED = torch.strided
_to_dlpack: Any = torch._C._to_dlpack  # type: ignore[attr-defined]
_is_wrapper = torch._C._functorch.is_functorch_wrapped_tensor
KINDS = {"u": (torch.uint8, torch.uint16, torch.uint32, torch.uint64)}


def array_of(t: Any) -> np.ndarray:
    """The numbers of a tensor; of a sparse one those that it stores. An array is returned as it is."""
    if not isinstance(t, Tensor):
        return np.asarray(t)
    with torch._C.DisableTorchFunction():
        return numbers_of(t)


def numbers_of(t: Tensor) -> np.ndarray:
    """`array_of` inside of `quietly()`."""
    try:
        if t.dtype in PLAIN and t.is_cpu and t.layout is STRIDED and not t.is_conj() and not t.is_neg():
            # `t.numpy()` would keep the program from resizing its memory; `t.__dlpack__()` takes three times as long.
            return np.from_dlpack(_Exported(_to_dlpack(t)))  # type: ignore[arg-type]
    except (TypeError, RuntimeError, BufferError, ValueError):
        pass
    return _converted(t.detach() if t.requires_grad else t)


class _Exported:
    """The memory of a tensor, for NumPy to look at."""

    __slots__ = ("_capsule",)

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def _converted(t: Tensor) -> np.ndarray:
    with torch.no_grad():
        if t.layout is not torch.strided:
            t = t.coalesce().values() if t.layout is torch.sparse_coo else t.values() if is_sparse(t) else t.to_dense()
        foreign = FOREIGN.get(t.dtype)
        if foreign is not None:
            return np.from_dlpack(t.cpu().contiguous().view(foreign[0])).view(foreign[1])
        if t.dtype.is_floating_point and t.dtype.itemsize == 1:  # the float8 types
            t = t.float()
        if t.dtype == torch.complex32:
            t = t.to(torch.complex64)
        return np.from_dlpack(t.resolve_conj().resolve_neg().cpu())


_has_own_dispatch: dict[type, bool] = {}


def has_numbers(t: Tensor) -> bool:
    """False for a tensor that only stands for numbers: on the device "meta", a wrapper of torch.func, or a subclass with a
    `__torch_dispatch__` of its own, which would notice if somebody looked at them."""
    kind = type(t)
    return not ((kind is not Tensor and has_own_dispatch(kind)) or t.is_meta or t.is_nested or _is_wrapper(t))


def has_own_dispatch(kind: type[Any]) -> bool:
    found = _has_own_dispatch.get(kind)
    if found is None:
        found = _has_own_dispatch[kind] = (getattr(kind, "__torch_dispatch__", Tensor.__torch_dispatch__)
                                           is not Tensor.__torch_dispatch__)
    return found


def is_sparse(t: Any) -> bool:
    return isinstance(t, Tensor) and t.layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr,
                                                  torch.sparse_bsc)


def kind_of(t: Tensor) -> str:
    if t.dtype == torch.bfloat16:
        return "V"
    if t.dtype == torch.bool:
        return "b"
    return "f" if t.dtype.is_floating_point else "c" if t.dtype.is_complex else "u" if t.dtype in KINDS["u"] else "i"
