"""Private functions of torch that programs use, and torch._VF."""

from __future__ import annotations

from typing import Any

import whygrad as torch
from whygrad.functional.run import FUNCTIONS


def _unique2(input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> tuple[Any, ...]:
    values, inverse, counts = FUNCTIONS["unique"](input, sorted=sorted, return_inverse=True, return_counts=True)
    return values, inverse if return_inverse else inverse[:0], counts if return_counts else counts[:0]


def _unique(input: Any, sorted: bool = True, return_inverse: bool = False) -> tuple[Any, ...]:
    return _unique2(input, sorted, return_inverse)[:2]


def _shape_as_tensor(input: Any) -> Any:
    return torch.tensor(list(input.shape))


def _cast_Long(input: Any, non_blocking: bool = False) -> Any:
    return input.long()


def _convert_indices_from_coo_to_csr(input: Any, size: int, *, out_int32: bool = False) -> Any:
    """Where each of `size` rows begins in a sorted list of row numbers."""
    return torch.searchsorted(input, torch.arange(size + 1), out_int32=out_int32)


def _convert_indices_from_csr_to_coo(crow_indices: Any, col_indices: Any, *, out_int32: bool = False,
                                     transpose: bool = False) -> Any:
    rows = torch.repeat_interleave(torch.arange(len(crow_indices) - 1), crow_indices.diff())
    found = torch.stack([col_indices, rows] if transpose else [rows, col_indices])
    return found.to(torch.int32 if out_int32 else torch.int64)


def _softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """The gradient of softmax, from its result."""
    product = grad_output * output
    return (product - output * product.sum(dim, keepdim=True)).to(input_dtype)


class _VariableFunctions:
    """torch._VF: torch's C++ functions. Recurrent modules call theirs through it, so that a patched one takes effect."""

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = getattr(torch, name)
        return found

    def __dir__(self) -> list[str]:
        return sorted(FUNCTIONS)

    @staticmethod
    def unique_dim(input: Any, dim: int, sorted: bool = True, return_inverse: bool = False,
                   return_counts: bool = False) -> tuple[Any, ...]:
        values, inverse, counts = FUNCTIONS["unique"](input, sorted=sorted, return_inverse=True, return_counts=True, dim=dim)
        return values, inverse if return_inverse else inverse[:0], counts if return_counts else counts[:0]


_VF = _VariableFunctions()
