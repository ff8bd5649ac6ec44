"""Embedding bags: arguments and checks around their row."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.base import dtypes
from whygrad.base.errors import warn
from whygrad.base.index_width import int64, intp
from whygrad.base.on_demand import on_demand
from whygrad.core.record import apply
from whygrad.core.tensor import wrap
from whygrad.functional.run import made_under_transforms, nn_function
from whygrad.nn.functional.regularization import renormalize
from whygrad.ops.table import TABLE


@nn_function()
@made_under_transforms("looped")
def embedding_bag(input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2,
                  scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                  per_sample_weights: Any = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> Any:
    """The sum, mean or maximum of the rows of `weight` that each bag names.

    The bags are the rows of a 2-dim `input`, or begin at `offsets` in a 1-dim one.
    """
    if weight.dtype is dtypes.int64 and input.is_floating_point():
        warn("Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` "
             "is deprecated, and should now be `embedding_bag(input, weight, ...)`.")
        weight, input = input, weight
    input, offsets, per_sample_weights, include_last_offset = _flatten_bags(
        input, weight, offsets, per_sample_weights, include_last_offset)
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        renormalize(weight, input._array, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for "
                                  f"mode='sum' (got mode='{mode}'). Please open a feature request on GitHub.")
    _check_types(input, weight, offsets, per_sample_weights)
    ends = _ends(offsets._array, input._array.size, include_last_offset)
    if include_last_offset and len(ends) and (mode == "max" or padding_idx is not None or weight.dtype is dtypes.float64):
        ends = np.append(ends[:-1], input._array.size)  # torch's general kernel ignores the last offset, its fast ones do not
    index = input._array[:ends[-1]] if len(ends) else input._array[:0]
    _check_range(index, len(weight._array))
    bag = wrap(int64(np.repeat(np.arange(len(ends)), intp(np.diff(ends, prepend=0)))))
    if per_sample_weights is not None and len(index) < input._array.size:
        per_sample_weights = per_sample_weights[:len(index)]
    if sparse and weight.requires_grad:
        return _with_sparse_gradient(weight, index, bag, per_sample_weights, len(ends), mode,
                                     _padding(padding_idx, len(weight._array)))
    result, _ = apply(TABLE["embedding_bag"], weight, wrap(index), bag, per_sample_weights, bags=len(ends), mode=mode,
                      padding_idx=_padding(padding_idx, len(weight._array)), by_frequency=scale_grad_by_freq)
    return result


def _with_sparse_gradient(weight: Any, index: np.ndarray, bag: Any, weights: Any, bags: int, mode: str, padding_idx: int) -> Any:
    kept = np.flatnonzero(index != padding_idx)
    rows = on_demand.load_sparse().gathered.embedding(weight, wrap(index[kept]), padding_idx=-1)
    if weights is not None:
        rows = rows * weights[wrap(kept)].unsqueeze(1)
    bag = wrap(bag._array[kept])
    result = weight.new_zeros((bags, weight.shape[1])).index_add(0, bag, rows)
    if mode == "mean":
        result = result / wrap(np.bincount(intp(bag._array), minlength=bags).clip(1)[:, None].astype(weight._array.dtype))
    return result


def _flatten_bags(input: Any, weight: Any, offsets: Any, weights: Any, include_last_offset: bool) -> tuple[Any, Any, Any, bool]:
    """(1-dim indices, offsets, 1-dim weights, whether the last offset is the end)."""
    if weights is not None and input.shape != weights.shape:
        raise ValueError(f"embedding_bag: If per_sample_weights ({weights.shape}) is not None, then it must have the same "
                         f"shape as the input ({input.shape})")
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed "
                             f"length sequences. However, found offsets of type {type(offsets)}")
        if not input.shape[1]:
            raise RuntimeError("step must be nonzero")
        starts = np.arange(0, input._array.size, input.shape[1], dtype=input._array.dtype)
        return input.reshape(-1), wrap(starts), None if weights is None else weights.reshape(-1), False
    if input.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    return input, offsets, weights, include_last_offset


def _check_types(input: Any, weight: Any, offsets: Any, weights: Any) -> None:
    where = "(while checking arguments for embedding_bag)"
    for given in (input, offsets):
        if given.dtype not in (dtypes.int32, dtypes.int64):
            raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, "
                               f"Int; but got {given.type()} instead {where}")
    if not weight.is_floating_point():
        raise RuntimeError("Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, "
                           f"BFloat16, Float, Double; but got {weight.type()} instead {where}")
    if weights is not None and weights.dtype is not weight.dtype:
        raise RuntimeError("Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
                           f"'per_sample_weights'; but type {weight.type()} does not equal {weights.type()} {where}")


def _ends(offsets: np.ndarray, count: int, include_last_offset: bool) -> np.ndarray:
    """The end of each bag."""
    if include_last_offset and not len(offsets):
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if not len(offsets):
        return offsets
    if offsets[0] != 0:
        raise RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position "
                           f"0. However, got {offsets[0]}")
    if offsets[-1] > count:
        raise RuntimeError(f"offsets[-1] can not be greater than input's length {count} but got offsets[-1] of "
                           f"{offsets[-1]}")
    if (np.diff(offsets) < 0).any():
        raise RuntimeError("offsets must not descend")
    return offsets[1:] if include_last_offset else np.append(offsets[1:], count)


def _check_range(index: np.ndarray, rows: int) -> None:
    wrong = np.flatnonzero((index < 0) | (index >= rows))
    if len(wrong):
        raise RuntimeError("embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be "
                           f"{index[wrong[0]]}")


def _padding(padding_idx: int | None, rows: int) -> int:
    if padding_idx is None:
        return -1
    if not -rows <= padding_idx < rows:
        raise RuntimeError(f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got "
                           f"{padding_idx}")
    return padding_idx % rows
