"""The numbers of torch's tensors as NumPy arrays: without a copy where they are on the CPU."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch
from torch import Tensor

# Types that NumPy lacks, the integers of their size, and how they are read.
FOREIGN = {torch.bfloat16: (torch.int16, np.dtype(ml_dtypes.bfloat16))}
KINDS = {"u": (torch.uint8, torch.uint16, torch.uint32, torch.uint64)}


def array_of(t: Any) -> np.ndarray:
    """The numbers of a tensor; of a sparse one those that it stores. An array is returned as it is."""
    if not isinstance(t, Tensor):
        return np.asarray(t)
    with torch._C.DisableTorchFunction():
        if t.requires_grad:
            t = t.detach()
        try:
            # What is on the CPU, and of a type that NumPy has. `t.numpy()` would keep the program from resizing its memory.
            return np.from_dlpack(t)
        except (TypeError, RuntimeError, BufferError, ValueError):
            return _converted(t)


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
    return not (has_own_dispatch(type(t)) or t.is_meta or t.is_nested or torch._C._functorch.is_functorch_wrapped_tensor(t))


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
