"""`out=` where there is more to it than in `with_out`: several results, or stricter rules."""

from __future__ import annotations

from typing import Any

from numpy.lib.array_utils import byte_bounds

from whygrad.base.dtypes import c_name
from whygrad.base.overlap import OVERLAP
from whygrad.core.tensor import Tensor
from whygrad.functional.arguments import wrong_type
from whygrad.functional.indexing import check_disjoint
from whygrad.functional.writes import with_out

# What torch says of a second `out` of another dtype, before it looks at the first.
_SECOND = {"histogram": "torch.histogram: input tensor and bin_edges tensor should have the same dtype, but got input {2} and "
                        "bin_edges {1} for dimension 0",
           "frexp": "torch.frexp() expects exponent to have int dtype but got {1}",
           "mode": "expected scalar type 'Long' but got '{0}' for indices output"}
# Functions whose results are refused with words of their own each.
_NAMES = {"linalg_eig": ("linalg_eig", "eigenvectors"), "geqrf": ("geqrf", "geqrf_tau")}


def with_outs(name: str, results: Any, outs: Any, *inputs: Any) -> Any:
    """Each result into its tensor of `outs`; the results themselves if there are none."""
    if outs is None:
        return results
    if not isinstance(outs, (tuple, list)):
        raise wrong_type(name, "out", None, "tuple of Tensors", outs)
    if name in _SECOND and len(outs) == 2 and isinstance(outs[1], Tensor) and outs[1].dtype is not results[1].dtype:
        raise RuntimeError(_SECOND[name].format(outs[1].dtype.scalar_name, c_name(outs[1].dtype), c_name(results[1].dtype)))
    names = _NAMES.get(name, (name,) * len(results))
    written = [with_out(each, result, out, *inputs) for each, result, out in zip(names, results, outs, strict=True)]
    return tuple(written) if type(results) is tuple else type(results)(*written)


def with_disjoint_out(name: str, result: Any, out: Any, *inputs: Any) -> Any:
    """`with_out` for functions that do not write into memory they read from."""
    if isinstance(out, Tensor):
        check_disjoint(out, inputs)
        if out._array.shape != result._array.shape:
            # torch makes `out` larger first, where it lies; then it may reach into what is read.
            start = out._array.__array_interface__["data"][0]
            end = start + result._array.size * out._array.itemsize
            for x in inputs:
                low, high = byte_bounds(x._array)
                if x._array.size and low < end and start < high:
                    raise RuntimeError(OVERLAP)
    return with_out(name, result, out, *inputs)
