"""torch._utils: private functions that libraries use, of lists of tensors and of devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import whygrad as torch
from whygrad.base.devices import known_device
from whygrad.base.dtypes import dtype
from whygrad.base.unsupported import absent_from
from whygrad.compat import cpu
from whygrad.core.tensor import Tensor
from whygrad.io.rebuilding import rebuild_parameter as _rebuild_parameter
from whygrad.io.rebuilding import rebuild_tensor as _rebuild_tensor
from whygrad.io.rebuilding import rebuild_tensor_v2 as _rebuild_tensor_v2

__all__ = ["_element_size", "_flatten_dense_tensors", "_get_all_device_indices", "_get_available_device_type",
           "_get_device_index", "_get_device_module", "_rebuild_parameter", "_rebuild_tensor", "_rebuild_tensor_v2",
           "_take_tensors", "_unflatten_dense_tensors", "get_device_module"]

__getattr__ = absent_from("torch._utils")


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements, one tensor after the other."""
    return torch.cat([t.contiguous().view(-1) for t in tensors])  # type: ignore[attr-defined,no-any-return]


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of `flat`, of the shapes of these tensors."""
    parts = flat.split([t.numel() for t in tensors])  # type: ignore[attr-defined]
    return tuple([part.view(t.shape) for part, t in zip(parts, tensors, strict=True)])  # type: ignore[attr-defined]


def _take_tensors(tensors: Sequence[Tensor], size_limit: int) -> Any:
    """Groups of tensors of one type, of at most so many bytes each if there are several in it."""
    groups: dict[str, list[Tensor]] = {}
    sizes: dict[str, int] = {}
    for t in tensors:
        kind, size = t.type(), t._array.nbytes  # type: ignore[attr-defined]
        if kind in groups and sizes[kind] + size > size_limit:
            yield groups.pop(kind)
            sizes.pop(kind)
        groups.setdefault(kind, []).append(t)
        sizes[kind] = sizes.get(kind, 0) + size
    yield from groups.values()


def _element_size(dtype: dtype) -> int:
    return dtype.itemsize


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """-1, the index of the CPU, where that is allowed."""
    if isinstance(device, str):
        device = known_device(device)
    if isinstance(device, int):
        return device
    if getattr(device, "type", None) == "cpu" and not allow_cpu:
        raise ValueError(f"Expected a non cpu device, but got: {device}")
    if device is None and not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return -1


def _get_available_device_type() -> None:
    """None: there is only the CPU."""


def _get_all_device_indices() -> list[int]:
    return []


def _get_device_module(device_type: str) -> Any:
    if device_type != "cpu":
        raise RuntimeError(f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'.")
    return cpu


def get_device_module(device: Any = None) -> Any:
    """The module of a device's functions: torch.cpu."""
    return _get_device_module(known_device("cpu" if device is None else device).type)
