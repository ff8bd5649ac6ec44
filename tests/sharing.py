"""Which tensors share memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import whygrad


def tensors_in(value: Any) -> list[Any]:
    if isinstance(value, (torch.Tensor, whygrad.Tensor)):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [t for part in parts for t in tensors_in(part)]


def address(t: Any) -> int:
    """Where the memory begins of which `t` is a view."""
    if isinstance(t, torch.Tensor):
        return t.untyped_storage().data_ptr()
    array = t._memory
    while hasattr(array.base, "__array_interface__"):
        array = array.base
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


def shared(results: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """For each result: the first input with the same memory and whether it is that tensor; or the first result before it."""
    found: list[Any] = []
    for i, result in enumerate(results):
        if not result.numel():
            found.append(None)
            continue
        same = [("input", k, x is result) for k, x in enumerate(inputs) if x.numel() and address(x) == address(result)]
        same += [("result", k) for k, x in enumerate(results[:i]) if x.numel() and address(x) == address(result)]  # type: ignore[misc]
        found.append(same[0] if same else None)
    return found
