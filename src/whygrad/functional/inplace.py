"""Rows written in place: check and promote the inputs, write the result into one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.base import dtypes
from whygrad.base.broadcasting import broadcast_shapes
from whygrad.base.overlap import check_overlap
from whygrad.core.modes import process_state
from whygrad.core.record import RowSpecialization, kinds_of, specialization_of, tracked_nodes
from whygrad.core.tensor import Tensor, wrap
from whygrad.core.write import bump, check_inplace, is_unwatched, perform, recorded_writes, take_causes
from whygrad.functional.promotion import Cast, promote, result_dtype
from whygrad.ops.table import TABLE

# From the common dtype of the inputs and the dtype of the target: the dtype to compute in, or an error.
ComputesIn = Callable[[dtypes.dtype, dtypes.dtype], dtypes.dtype]


def write(row_name: str, target: Tensor, *inputs: Any, computes_in: ComputesIn | None = None, promotes: bool = True,
          **statics: Any) -> Tensor:
    """Apply a row and write the result into `target`, which stands among the inputs.

    `computes_in` is for rows that do not take every dtype, or do not compute in the common dtype of their inputs; without
    `promotes` the inputs are in the right dtype already.
    """
    row = TABLE[row_name]
    spec = specialization_of(row, kinds_of(inputs))
    recorded = recorded_writes()
    if not row.broadcasts:
        if recorded is not None and is_unwatched(target) and _none_has_history(inputs):
            spec.compute([x._array if isinstance(x, Tensor) else x for x in inputs], target._array,
                         {**row.static_defaults, **statics}, next(i for i, x in enumerate(inputs) if x is target))
            bump(target)
            take_causes(target, inputs)
            return target
    elif computes_in is None and promotes and recorded is not None and spec.unwatched(recorded, *inputs, **statics):
        return target
    return write_watched(spec, target, inputs, {**row.static_defaults, **statics}, computes_in, promotes)


def writer(row_name: str, kinds: str) -> Callable[..., Tensor]:
    """`write` for a row and kinds of inputs that are known beforehand: `write(target, *others)`."""
    unwatched: Callable[..., bool] | None = None

    def write_known(target: Tensor, *others: Any) -> Tensor:
        nonlocal unwatched
        if unwatched is None:  # compiled when it is first needed
            unwatched = specialization_of(TABLE[row_name], kinds).unwatched
        recorded = recorded_writes() if process_state.writes else True
        if recorded is not None and unwatched(recorded, target, *others):
            return target
        return write_watched(specialization_of(TABLE[row_name], kinds), target, (target, *others), {})

    return write_known


def write_watched(spec: RowSpecialization, target: Tensor, inputs: tuple[Any, ...], statics: dict[str, Any],
                  computes_in: ComputesIn | None = None, promotes: bool = True) -> Tensor:
    """`write` where views, saved values or a history may depend on the memory: check, promote, and rewrite the history."""
    row = spec.row
    check_inplace(target, inputs)
    promoted: Any = inputs
    if row.broadcasts:
        # torch's order: memory, then shapes, then dtypes.
        check_overlap(target._array, inputs)
        check_shape(target._array, inputs)
        if promotes and (computes_in is not None or not _fits_as_it_is(target._array.dtype, inputs)):
            dtype = result_dtype(*inputs)
            if computes_in is not None:
                dtype = computes_in(dtype, target.dtype)
            else:
                check_castable(dtype, target.dtype)
            promoted = promote(row.name, *inputs, dtype=dtype)
            if dtype is not target.dtype:
                promoted = [_with_own_gradient_dtype(x) for x in promoted]
    position = 0 if inputs[0] is target else next((i for i, x in enumerate(inputs) if x is target), 0)
    return perform(spec, target, position, tuple(promoted), statics)


def _none_has_history(inputs: tuple[Any, ...]) -> bool:
    """Whether a node could not be recorded for them: plain tensors, integers, masks."""
    for x in inputs:
        if isinstance(x, Tensor) and (x._node is not None or x._indirect) and x._array.dtype.kind not in "biu":
            return False
    return True


def _fits_as_it_is(dtype: np.dtype, inputs: tuple[Any, ...]) -> bool:
    """Whether promotion would change nothing."""
    for x in inputs:
        if isinstance(x, Tensor):
            if x._array.dtype is not dtype:
                return False
        elif x is not None and not ((type(x) is float or type(x) is int) and dtype.kind in "fc"):
            return False
    return True


def _with_own_gradient_dtype(x: Any) -> Any:
    """Where the result is cast down to the target's dtype, so is the incoming gradient: cast it up again for `x`."""
    edge = tracked_nodes((x,))[0]
    if edge is None or isinstance(edge, Cast):
        return x
    result = wrap(x._array)
    result._lazy_version, result._cause = x._version_counter, x._cause
    result._node = Cast(edge, x._array.dtype)
    return result


def check_castable(result: dtypes.dtype, wanted: dtypes.dtype) -> None:
    if not dtypes.can_cast(result, wanted):
        raise RuntimeError(f"result type {result.scalar_name} can't be cast to the desired output type {wanted.scalar_name}")


def check_shape(array: np.ndarray, inputs: tuple[Any, ...]) -> None:
    shapes = [x._array.shape for x in inputs if isinstance(x, Tensor) and x._array.shape != array.shape]
    if not shapes:
        return
    broadcast = broadcast_shapes(array.shape, *shapes)
    if broadcast != array.shape:
        raise RuntimeError(f"output with shape {list(array.shape)} doesn't match the broadcast shape {list(broadcast)}")
