"""torch's type promotion, applied before a row runs: a row never sees mixed dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends import tensor as xp
from whygrad.backends.numpy_convert import cast_array, cast_values
from whygrad.base import dtypes
from whygrad.core.modes import grad_state, process_state
from whygrad.core.node import Node, next_sequence_number
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor, source, wrap
from whygrad.functional.outside_rows import outside_rows
from whygrad.ops.table import TABLE


class Cast(Node):
    """Brings the gradient of a promoted argument back to the argument's own dtype."""

    __slots__ = ("dtype",)
    visible = False
    takes_sparse = True

    def __init__(self, edge: Node, dtype: np.dtype) -> None:
        self.edges = (edge,)
        self.saved = ()
        self.shapes = self.cuts = self.extra = None
        self.seq = next_sequence_number()
        self.site_code, self.lasti = edge.site_code, edge.lasti
        self.dtype = dtype

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        return (cast_array(g, self.dtype),)

    def graph(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        origin = g._array.dtype
        return (g if origin == self.dtype else xp.to_copy(g, dtype=self.dtype, origin=origin),)


def result_dtype(*inputs: Any) -> dtypes.dtype:
    """The dtype torch computes in for these tensors and Python numbers."""
    if len(inputs) == 2 and type(inputs[0]) is Tensor:
        a, b = inputs
        whole = type(b) is int and -2**31 < b < 2**31
        if (whole or type(b) is float) and a._array.ndim and a._array.dtype.kind in ("iuf" if whole else "f"):
            return a.dtype  # a number of no higher category changes nothing
    return dtypes.result_dtype([(x.dtype, x._array.ndim) if isinstance(x, Tensor) else x for x in inputs
                                if x is not None])


def promote(name: str, *inputs: Any, dtype: dtypes.dtype | None = None) -> list[Any]:
    """The arguments in their common dtype (or in `dtype`). Numbers stay numbers, in the dtype's kind."""
    if dtype is None:
        dtype = result_dtype(*inputs)
    wanted = dtype.numpy
    return [cast(x, wanted) if isinstance(x, Tensor) else x if x is None else as_number(x, dtype, name)
            for x in inputs]


_cast_values = outside_rows(cast_values)


def cast(t: Tensor, wanted: np.dtype) -> Tensor:
    """`t` in another dtype, invisibly: its gradient is cast back on the way to `t`."""
    array = t._array
    if array.dtype is wanted or array.dtype == wanted:
        return t
    if process_state.any_mode_active and grad_state.levels:
        row = TABLE["to_copy" if wanted.kind in "fcV" else "to_whole"]
        return apply(row, t, dtype=wanted, origin=t._array.dtype)  # type: ignore[no-any-return]
    result = wrap(_cast_values(array, wanted))
    result._lazy_version = t._version_counter
    result._cause = t._cause
    if not process_state.any_mode_active or (grad_state.grad and not grad_state.inference):
        edge = source(t) if t._node is None and t._indirect else t._node
        if edge is not None and wanted.kind in "fcV":
            result._node = Cast(edge, array.dtype)
    return result


def rounded_number(value: Any, dtype: dtypes.dtype, name: str) -> Any:
    """A number rounded to a half dtype, for statics: rules compute with them, on Tensors too, so it stays a Python number."""
    number = as_number(value, dtype, name)
    return float(number) if isinstance(number, np.generic) else number


def as_number(value: Any, dtype: dtypes.dtype, name: str) -> Any:
    """A Python number that NumPy will treat as one of `dtype`."""
    if dtype is dtypes.bfloat16:
        return dtype.numpy.type(value)  # NumPy would go on in float32
    if dtype is dtypes.float16:
        return float(np.float16(value))
    if dtype.is_floating_point or dtype.is_complex:
        return value
    if dtype.category == 0:
        return bool(value)
    if type(value) is int and 0 <= value <= 127:
        return value  # one of every integer dtype
    info = np.iinfo(dtype.numpy)
    value = int(value)
    if not info.min <= value <= info.max:
        value = int(np.array(value & ((1 << info.bits) - 1), dtype=f"u{info.bits // 8}").astype(dtype.numpy))
    return value
