"""segment_reduce: one number for each stretch of a dim."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whygrad.base.index_width import int64, intp
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional.arguments import read_tensor
from whygrad.functional.run import FUNCTIONS, public

# What a segment without elements gives.
_STARTS = {"sum": 0.0, "prod": 1.0, "mean": math.nan, "max": -math.inf, "min": math.inf}


@public(method=False)
def segment_reduce(data: Tensor, reduce: str, *, lengths: Any = None, indices: Any = None, offsets: Any = None, axis: int = 0,
                   unsafe: bool = False, initial: Any = None) -> Tensor:
    """"sum", "prod", "mean", "max" or "min" of stretches of `axis`, which is the last dim of `lengths` or `offsets`."""
    x: Any = read_tensor("segment_reduce", data, "data")
    reduce = {"amax": "max", "amin": "min"}.get(reduce, reduce)
    if reduce not in _STARTS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    given = offsets if lengths is None else lengths
    ends = np.asarray(read_tensor("segment_reduce", given, "lengths", 3)._array)
    counts = np.diff(ends) if lengths is None else ends
    if axis != ends.ndim - 1:
        raise RuntimeError("segment_reduce(): Expected axis to be the last dimension of " +
                           ("offsets" if lengths is None else "lengths") + f" but got {axis}.")
    if lengths is not None and not unsafe:
        if counts.size and counts.min() < 0:
            raise RuntimeError("segment_reduce(): lengths contains negative value!")
        if (counts.sum(-1) != x._array.shape[axis]).any():
            raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) "
                               "when !unsafe.")
    batch, n, rest = x._array.shape[:axis], x._array.shape[axis], x._array.shape[axis + 1:]
    rows, segments = math.prod(batch), counts.shape[-1]
    firsts = np.zeros(rows, np.int64) if lengths is not None else ends.reshape(rows, -1)[:, 0]
    where = np.concatenate([np.arange(first, first + c.sum()) + i * n for i, (first, c) in
                            enumerate(zip(firsts, counts.reshape(rows, segments), strict=True))] or [np.empty(0, np.int64)])
    owner = wrap(int64(np.repeat(np.arange(rows * segments), intp(counts.reshape(-1)))))
    taken = x.reshape(rows * n, *rest)[wrap(where.astype(np.int64))]
    start = _STARTS[reduce] if initial is None else initial
    how = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    empty = FUNCTIONS["full"]((rows * segments, *rest), 0.0 if how == "mean" else start, dtype=x.dtype)
    index = owner.reshape(-1, *[1] * len(rest)).expand(taken._array.shape)  # type: ignore[attr-defined]
    found = FUNCTIONS["scatter_reduce"](empty, 0, index, taken, "sum" if how == "mean" else how)
    if how == "mean":
        divisor = counts.reshape(-1, *[1] * len(rest)).astype(x._array.dtype)
        found = (found if initial is None else found + initial) / wrap(divisor)
    return found.reshape(*batch, segments, *rest)  # type: ignore[no-any-return]
