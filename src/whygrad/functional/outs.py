"""`out=` where there is more to it than in `with_out`: several results, or stricter rules."""

from __future__ import annotations

from typing import Any

from whygrad._inplace import with_out
from whygrad._tensor import Tensor
from whygrad.functional.c_names import c_name
from whygrad.functional.indexing import check_disjoint

_whygrad_internal_ = True


def with_outs(name: str, results: Any, outs: Any, *inputs: Any) -> Any:
    """Each result into its tensor of `outs`; the results themselves if there are none."""
    if outs is None:
        return results
    if not isinstance(outs, (tuple, list)):
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(outs).__name__}")
    return type(results)(*[with_out(name, result, out, *inputs) for result, out in zip(results, outs, strict=True)])


def with_disjoint_out(name: str, result: Any, out: Any, *inputs: Any) -> Any:
    """`with_out` for functions that do not write into memory they read from."""
    if isinstance(out, Tensor):
        check_disjoint(out, inputs)
    return with_out(name, result, out, *inputs)


def check_out_dtype(result: Any, out: Any) -> None:
    """For functions that do not cast their result."""
    if isinstance(out, Tensor) and out.dtype is not result.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {c_name(result.dtype)}, but got {c_name(out.dtype)} "
                           "instead")
