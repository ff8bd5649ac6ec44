"""How a row is applied to a batch: the kinds of rules that whole families of rows share.

A rule is `rule(level, row, inputs, statics)`. Most apply the same row to the wholes behind the inputs, whose first axis
is the batch, after moving what the row says about axes and shapes by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.autograd.batched import BatchedTensor, BatchLevel, spread
from whygrad.backends import raw
from whygrad.backends import tensor as xp
from whygrad.base.errors import warn
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor
from whygrad.ops.table import TABLE, NoGrad, Row

BatchRule = Callable[[BatchLevel, Row, tuple[Any, ...], dict[str, Any]], Any]


def wholes_of(level: BatchLevel, inputs: tuple[Any, ...]) -> list[Any]:
    """The wholes of all inputs: those without a batch are spread over one."""
    opened, has_batch = level.opened(inputs)
    return [spread(x, level.size) if isinstance(x, Tensor) and not has else x
            for x, has in zip(opened, has_batch, strict=True)]


def with_axes(x: Tensor, ndim: int) -> Tensor:
    """A whole whose elements have `ndim` axes, new ones of length 1 in front."""
    shape = x._array.shape
    missing = ndim + 1 - len(shape)
    return xp.reshape(x, shape=(shape[0], *(1,) * missing, *shape[1:])) if missing > 0 else x  # type: ignore[no-any-return]


def aligned(level: BatchLevel, inputs: tuple[Any, ...]) -> list[Any]:
    """What lies behind the inputs, such that it broadcasts as the elements do."""
    opened, has_batch = level.opened(inputs)
    ndim = max([x._array.ndim for x in inputs if isinstance(x, Tensor)])
    return [with_axes(x, ndim) if has else x for x, has in zip(opened, has_batch, strict=True)]


def elementwise(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """Broadcasting does it all."""
    return level.closed(apply(row, *aligned(level, inputs), **statics))


def moved(axis: Any, ndim: int) -> Any:
    """Where axes of an element (None: all) lie in the whole."""
    if axis is None:
        return tuple(range(1, ndim + 1))
    return axis + 1 if isinstance(axis, int) else tuple([a + 1 for a in axis])


def moved_statics(statics: dict[str, Any], level: BatchLevel, ndim: int) -> dict[str, Any]:
    """The statics for a batch: axes and shapes have the same names in all rows."""
    result = dict(statics)
    for name, value in statics.items():
        if name in ("axis", "axes", "axis0", "axis1", "axis2", "batch_axis"):
            result[name] = moved(value, ndim)
        elif name == "shape":
            result[name] = (level.size, *value)
    return result


def without_unknown(shape: tuple[int, ...], x: Tensor) -> tuple[int, ...]:
    """A shape for the elements of `x`, whose -1 is found: in a batch of no elements it could be anything."""
    if -1 not in shape:
        return shape
    others = math.prod([n for n in shape if n != -1])
    return tuple([math.prod(x._array.shape) // others if n == -1 else n for n in shape])


def shifted(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """The same row, one axis further on. All inputs have the batch."""
    ndim = next(x._array.ndim for x in inputs if isinstance(x, Tensor))
    if not statics.get("shape", ndim) and any(isinstance(statics.get(name), int) for name in ("axis", "axis0")):
        return along_number(level, row, inputs, statics)
    if not level.size and statics.get("shape"):
        statics = {**statics, "shape": without_unknown(statics["shape"], inputs[0])}
    return level.closed(apply(row, *wholes_of(level, inputs), **moved_statics(statics, level, ndim)))


def along_number(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """Along the axis that torch lets a number have: as vectors of one element."""
    zeros = [np.zeros(x._array.shape, x._array.dtype) if isinstance(x, Tensor) else x for x in inputs]
    expected = getattr(raw, row.name)(*zeros, **statics)
    if "shape" in statics:
        statics = {**statics, "shape": (1,)}

    def definition(xp: Any, *inputs: Any) -> Any:
        vectors = [xp.reshape(x, shape=(1,)) if isinstance(x, Tensor) and not x._array.ndim else x for x in inputs]
        results = apply(row, *vectors, **statics)
        if isinstance(results, Tensor):
            return xp.reshape(results, shape=np.shape(expected))
        return [xp.reshape(t, shape=np.shape(out)) for t, out in zip(results, expected, strict=True)]

    return _closed_in(level, row, level.inside(definition, xp, *inputs))


def over_all(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """A row over all elements, if its axis is None: by the row along one axis of the flattened elements."""
    if statics.get("axis") is not None:
        return shifted(level, row, inputs, statics)
    along = getattr(xp, TABLE.get(f"{row.name}_along", row).name)

    def definition(xp: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
        found = along(xp.reshape(x, shape=(-1,)), axis=(0,) if row.name == "prod" else 0, keepdims=False)
        found = found if isinstance(found, Tensor) else found[0]
        return xp.reshape(found, shape=(1,) * x._array.ndim) if keepdims else found

    return by(definition)(level, row, inputs, statics)


def shifted_with(**changes: Callable[..., Any]) -> BatchRule:
    """As `shifted`, for a row that has more to say: `name=change(value, shape of the first element)`."""

    def rule(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
        shape = inputs[0]._array.shape
        changed = moved_statics(statics, level, len(shape))
        for name, change in changes.items():
            changed[name] = change(statics[name], shape)
        return level.closed(apply(row, *wholes_of(level, inputs), **changed))

    return rule


def leading(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """The same row, which takes any leading axes: the batch is one more."""
    if "shape" in statics:
        statics = {**statics, "shape": (level.size, *statics["shape"])}
    return level.closed(apply(row, *wholes_of(level, inputs), **statics))


def broadcast_shifted(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """As `shifted`, for inputs of different rank that broadcast."""
    ndim = max([x._array.ndim for x in inputs if isinstance(x, Tensor)])
    wholes = [with_axes(x, ndim) if isinstance(x, Tensor) else x for x in wholes_of(level, inputs)]
    return level.closed(apply(row, *wholes, **moved_statics(statics, level, ndim)))


def defined(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """By the row's own definition in terms of other rows."""
    return _closed_in(level, row, level.inside(row.forward, xp, *inputs, **statics))


def by(definition: Callable[..., Any]) -> BatchRule:
    """By another definition in terms of other rows: `definition(xp, *inputs, **statics)`, on single elements."""

    def rule(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
        return _closed_in(level, row, level.inside(definition, xp, *inputs, **{**row.static_defaults, **statics}))

    return rule


def _closed_in(level: BatchLevel, row: Row, results: Any) -> Any:
    """Results of a definition, as those of the row: all with a batch, and without a gradient where the row has none."""

    def close(t: Any, declared: Any = None) -> Any:
        if not (isinstance(t, BatchedTensor) and t._level is level):
            t = level.closed(spread(t, level.size))
        return level.closed(t._whole.detach()) if isinstance(declared, NoGrad) else t

    if isinstance(results, Tensor):
        return close(results)
    return [None if t is None else close(t, row.outputs[i]) for i, t in enumerate(results)]


def looped(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """One element after the other, for want of a rule."""
    warn(f"There is a performance drop because we have not yet implemented the batching rule for aten::{row.name}. Please "
         "file us an issue on GitHub so that we can prioritize its implementation.")
    opened, has_batch = level.opened(inputs)
    results = [apply(row, *[xp.select(x, axis=0, index=i) if has else x
                            for x, has in zip(opened, has_batch, strict=True)], **statics) for i in range(level.size)]
    if isinstance(results[0], Tensor):
        return level.closed(xp.stack(*results, axis=0))
    return level.closed([xp.stack(*column, axis=0) for column in zip(*results, strict=True)])


def refused(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """The results would have different shapes."""
    name = {"unique": "_unique2"}.get(row.name, row.name)
    raise level.dynamic_shape(name)


def more_elements(what: str) -> str:
    return (f"vmap: {what}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
            "elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. "
            f"Please try to use out-of-place operators instead of {what}. If said operator is being called inside the PyTorch "
            "framework, please file a bug report instead.")
