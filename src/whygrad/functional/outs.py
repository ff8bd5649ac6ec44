"""`out=` where there is more to it than in `with_out`: several results, or stricter rules."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from whygrad import dtypes
from whygrad._inplace import OVERLAP, check_castable, with_out
from whygrad._tensor import Tensor
from whygrad.functional.arguments import wrong_type
from whygrad.functional.c_names import c_name
from whygrad.functional.indexing import check_disjoint

_whygrad_internal_ = True

# What torch says of an `out` whose dtype is not that of the result, by the functions that do not cast to it.
_REFUSALS = {
    "Expected out tensor to have dtype {c_result}, but got {c_out} instead":
        "addmm addmv aminmax argmax argmin baddbmm bmm diag gather index_add index_copy linalg_vector_norm log_softmax "
        "matmul mm mv scatter scatter_add softmax sort tril triu",
    "Found dtype {out} but expected {result}":
        "abs bitwise_not ceil clamp clamp_max clamp_min floor frac neg round sgn sign trunc",
    "Expected the dtype for input and out to match, but got {result} for input's dtype and {out} for out's dtype.":
        "amax amin",
    "result dtype {out} does not match input dtype {result}": "dot vdot",
    "{name}(): self and result must have the same scalar type": "index_select masked_select",
    "{name}(): self and out expected to have the same dtype, but got self.dtype = {result} and out.dtype = {out}": "take",
    "tensordot: Expected the output tensor to have dtype {result}, but got an output tensor with dtype {out}":
        "inner tensordot",
    "multi_dot(): expected out tensor to have dtype {c_result} but got {c_out}": "linalg_multi_dot",
    "Expected object of scalar type {result} but got scalar type {out} for argument 'out'": "complex polar",
    "{name} does not support non-boolean outputs.": "isneginf isposinf signbit",
    "{name} expects {result} tensor out, got: {out}": "multinomial",
    "{name}: dtype of out: {out} should be same as input: {result}": "nan_to_num",
    "{name}: Expected out tensor to have scalar type {result} but got scalar type{out}": "nonzero",
}
_TEXTS = {name: text for text, names in _REFUSALS.items() for name in names.split()}


def check_out_dtype(name: str, result: dtypes.dtype, out: dtypes.dtype) -> None:
    """For a result that is not of the dtype of `out`."""
    text = _TEXTS.get(name)
    if text is not None:
        raise RuntimeError(text.format(name=name, result=result.scalar_name, out=out.scalar_name,
                                       c_result=c_name(result), c_out=c_name(out)))
    if name in ("cat", "stack") and not dtypes.can_cast(result, out):
        raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {out.scalar_name}")
    check_castable(result, out)


def with_outs(name: str, results: Any, outs: Any, *inputs: Any) -> Any:
    """Each result into its tensor of `outs`; the results themselves if there are none."""
    if outs is None:
        return results
    if not isinstance(outs, (tuple, list)):
        raise wrong_type(name, "out", None, "tuple of Tensors", outs)
    return type(results)(*[with_out(name, result, out, *inputs) for result, out in zip(results, outs, strict=True)])


def _check_disjoint_resized(out: np.ndarray, size: int, inputs: Any) -> None:
    """torch makes `out` larger first, where it lies; then it may reach into what is read."""
    start = out.__array_interface__["data"][0]
    end = start + size * out.itemsize
    for x in inputs:
        low, high = byte_bounds(x._array)
        if x._array.size and low < end and start < high:
            raise RuntimeError(OVERLAP)


def with_disjoint_out(name: str, result: Any, out: Any, *inputs: Any) -> Any:
    """`with_out` for functions that do not write into memory they read from."""
    if isinstance(out, Tensor):
        check_disjoint(out, inputs)
        if out._array.shape != result._array.shape:
            _check_disjoint_resized(out._array, result._array.size, inputs)
    return with_out(name, result, out, *inputs)
