"""Evenly spaced numbers, rounded as torch rounds them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import quiet
from whygrad.base import dtypes
from whygrad.base.errors import warn
from whygrad.base.overlap import check_overlap
from whygrad.core.tensor import Tensor
from whygrad.functional import arguments
from whygrad.functional.fresh import allocate, deliver, dtype_for, fresh, warn_once
from whygrad.functional.promotion import cast_values
from whygrad.functional.run import public

INCONSISTENT = "upper bound and lower bound inconsistent with step sign"
DEPRECATED_RANGE = ("torch.range is deprecated and will be removed in a future release because its behavior is "
                    "inconsistent with Python's range builtin. Instead, use torch.arange, which produces values "
                    "in [start, end).")
OUT_RESIZED = ("The number of elements in the out tensor of shape {} is {} which does not match the computed number of "
               "elements {}. Note that this may occur as a result of rounding error. The out tensor will be resized to "
               "a tensor of shape ({},).")

FLOAT32 = np.dtype(np.float32)

# torch computes these in vectors of 32 bytes, and each vector starts from a rounded value.
_VECTOR_BYTES = 32
_WIDER: dict[str, Any] = {"float64": np.longdouble, "complex64": np.complex128, "complex128": np.clongdouble}


def _delivered(name: str, array: np.ndarray, out: Any, requires_grad: bool) -> Tensor:
    """An `out` with as many elements keeps its shape."""
    if isinstance(out, Tensor) and name != "range":
        check_overlap(out._array, ())
    if isinstance(out, Tensor) and out._array.size == array.size:
        array = array.reshape(out._array.shape)
    return deliver(name, array, out, requires_grad)


@public(method=False)
def arange(*args: Any, start: Any = None, end: Any = None, step: Any = None, out: Any = None, dtype: Any = None,
           layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """The numbers from `start` (0) up to and without `end`, in steps of `step` (1)."""
    if len(args) == 1 and type(args[0]) is int and 0 <= args[0] < 2**31 and (
            start is end is step is out is dtype is layout is None and not pin_memory):
        if device is not None:
            arguments.check_place("arange", None, device, False)
        return fresh(np.arange(args[0], dtype=np.int64), requires_grad)
    given = dict(zip(("start", "end", "step") if len(args) > 1 or end is not None else ("end",), args, strict=False))
    given |= {name: value for name, value in (("start", start), ("end", end), ("step", step)) if value is not None}
    alone = "start" not in given and step is not None
    if len(args) > 3 or "end" not in given or alone or (len(args) == 1 and start is not None):
        raise arguments.invalid_combination("arange", *args)
    numbers = {name: arguments.read_number("arange", name, i, value) for i, (name, value) in enumerate(given.items(), 1)}
    first, last, by = numbers.get("start", 0), numbers["end"], numbers.get("step", 1)
    whole = all(isinstance(x, int) for x in (first, last, by))
    default = dtypes.int64 if whole else dtypes.get_default_dtype()
    wanted = arguments.read_dtype("arange", dtype_for(out, dtype, default), dtypes.float32)
    arguments.check_place("arange", layout, device, pin_memory)
    first, last, by, count = _steps("arange", first, last, by, wanted)
    if out is not None and isinstance(out, Tensor) and out._array.size not in (0, count):
        shape = list(out._array.shape)
        warn_once(OUT_RESIZED.format(shape, out._array.size, count, count))
    return _delivered("arange", _spaced(first, by, count, wanted), out, requires_grad)


@public(method=False, name="range")
def range_(start: Any, end: Any, step: Any = 1, *, out: Any = None, dtype: Any = None, layout: Any = None,
           device: Any = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """As arange, but `end` belongs to it. Deprecated by torch."""
    warn(DEPRECATED_RANGE)
    wanted = arguments.read_dtype("range", dtype_for(out, dtype, dtypes.get_default_dtype()), dtypes.float32)
    arguments.check_place("range", layout, device, pin_memory)
    given = (("start", start), ("end", end), ("step", step))
    first, last, by = [arguments.read_number("range", name, i, value) for i, (name, value) in enumerate(given, 1)]
    first, _, by, count = _steps("range", first, last, by, wanted)
    return _delivered("range", _spaced(first, by, count, wanted), out, requires_grad)


def _steps(name: str, start: Any, end: Any, step: Any, dtype: dtypes.dtype) -> tuple[Any, Any, Any, int]:
    """The bounds as numbers of the dtype's kind, and how many numbers there are."""
    if dtype.category not in (1, 2):
        raise arguments.not_implemented(f"{name}_cpu", dtype)
    if any(isinstance(x, complex) for x in (start, end, step)):
        raise RuntimeError("value cannot be converted to type double without overflow")
    if step == 0 or step != step:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (step > 0 and end < start) or (step < 0 and end > start):
        raise RuntimeError(INCONSISTENT)
    if dtype is dtypes.int64:
        start, end, step = int(start), int(end), int(step)
        if any(not -arguments.INT64_LIMIT <= x < arguments.INT64_LIMIT for x in (start, end, step)):
            raise RuntimeError("value cannot be converted to type int64_t without overflow")
        if step == 0:
            raise ValueError("step must be nonzero")
        count = -((start - end) // step) if name == "arange" else (end - start) // step + 1
    else:
        if math.isinf(step):
            return start, end, 0, int(name == "range")
        span = (float(end) - float(start)) / float(step)
        count = math.ceil(span) if name == "arange" else math.floor(span) + 1
    return start, end, step, max(count, 0)


@quiet
def _spaced(start: Any, step: Any, count: int, dtype: dtypes.dtype) -> np.ndarray:
    kind = dtype.numpy
    if dtype.category == 1:
        index = allocate(lambda sizes, dtype: np.arange(*sizes, dtype=dtype), (count,), np.dtype(np.int64))
        return cast_values(int(start) + int(step) * index, kind)
    if kind is FLOAT32 and start == int(start) and step == int(step) and abs(start) + abs(step) * count < 2**24:
        # Whole numbers that are exact, whatever is rounded when.
        found = np.arange(count, dtype=FLOAT32)
        return found if step == 1 and start == 0 else found * np.float32(step) + np.float32(start)
    # A fused multiply-add: computed wider, rounded once. The last elements, which fill no two vectors, have no start
    # of their own.
    wide = _WIDER.get(kind.name, np.float64)
    index = allocate(lambda sizes, dtype: np.arange(*sizes, dtype=dtype), (count,), np.dtype(np.int64))
    exact = cast_values(wide(start) + wide(step) * index, kind)
    lanes = _VECTOR_BYTES // kind.itemsize
    in_vectors = count - count % (2 * lanes)
    if in_vectors:
        starts = exact[:in_vectors:lanes, None].astype(wide)
        exact[:in_vectors] = cast_values(starts + wide(step) * np.arange(lanes), kind).reshape(-1)
    return exact


@public(method=False)
def linspace(start: Any, end: Any, steps: int, *, out: Any = None, dtype: Any = None, layout: Any = None,
             device: Any = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """`steps` evenly spaced numbers from `start` to `end`, both included."""
    first, last, wanted = _bounds("linspace", start, end, steps, out, dtype)
    arguments.check_place("linspace", layout, device, pin_memory)
    return _delivered("linspace", _between(first, last, int(steps), wanted.numpy), out, requires_grad)


@public(method=False)
def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, out: Any = None, dtype: Any = None,
             layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """`base` to the power of `steps` evenly spaced numbers from `start` to `end`."""
    first, last, wanted = _bounds("logspace", start, end, steps, out, dtype)
    arguments.check_place("logspace", layout, device, pin_memory)
    kind = wanted.numpy
    if kind.kind in "iu":
        first, last = int(first), int(last)
    exponents = _between(first, last, int(steps), kind if kind.kind in "fcV" else np.dtype(np.float64))
    if not isinstance(base, (int, float)):
        raise arguments.invalid_combination("logspace", start, end, steps, base)
    powers = quiet(np.power)(exponents.dtype.type(base), exponents)
    return _delivered("logspace", cast_values(powers, kind), out, requires_grad)


def _bounds(name: str, start: Any, end: Any, steps: Any, out: Any, dtype: Any) -> tuple[Any, Any, dtypes.dtype]:
    for bound in (start, end):
        if isinstance(bound, Tensor) and bound._array.ndim:
            dims = [x._array.ndim if isinstance(x, Tensor) else 0 for x in (start, end)]
            both = isinstance(start, Tensor) and isinstance(end, Tensor)
            got = [f"{side} with {n} dimension(s)" for side, n, x in zip(("start", "end"), dims, (start, end), strict=True)
                   if both or isinstance(x, Tensor)]
            raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {' and '.join(got)}.")
    if not arguments.is_integer(steps):
        raise arguments.invalid_combination(name, start, end, steps)
    arguments.read_int(name, "steps", 3, steps)
    try:
        first, last = [x._array.item() if isinstance(x, Tensor) else arguments.read_number(name, "start", 1, x)
                       for x in (start, end)]
    except TypeError:
        raise arguments.invalid_combination(name, start, end, steps) from None
    is_complex = isinstance(first, complex) or isinstance(last, complex)
    inferred = dtypes.get_default_complex_dtype() if is_complex else dtypes.get_default_dtype()
    wanted = arguments.read_dtype(name, dtype_for(out, dtype, inferred), dtypes.float32)
    if is_complex and not wanted.is_complex:
        raise RuntimeError(f"torch.{name}(): inferred dtype c10::complex<float> can't be safely cast to passed dtype "
                           f"{wanted.scalar_name}")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if wanted is dtypes.bool_:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    return first, last, wanted


@quiet
def _between(start: Any, end: Any, steps: int, kind: np.dtype[Any]) -> np.ndarray:
    """Counted from the start in the first half and from the end in the second; each number is rounded once."""
    if kind is FLOAT32 and steps > 1 and abs(start) < 2.0**100 and abs(end) < 2.0**100:
        return _singles_between(np.float32(start), np.float32(end), steps)
    work = np.dtype(np.float64) if kind.kind in "iu" else kind
    if kind.kind in "iu":
        start, end = int(start), int(end)
    first, last = np.array(start).astype(work), np.array(end).astype(work)
    if steps == 1:
        return first.reshape(1).astype(kind)
    wide = _WIDER.get(work.name, np.float64)
    step = ((last - first) / np.array(max(steps - 1, 1)).astype(work)).astype(wide)
    index = np.arange(steps)
    half = steps // 2
    result = np.empty(steps, kind)
    result[:half] = cast_values((first.astype(wide) + step * index[:half]).astype(work), kind)
    result[half:] = cast_values((last.astype(wide) - step * (steps - 1 - index[half:])).astype(work), kind)
    return result


def _singles_between(first: np.float32, last: np.float32, steps: int) -> np.ndarray:
    """The same in the usual dtype, in less time."""
    step, half = float((last - first) / np.float32(steps - 1)), steps // 2
    result = np.empty(steps, FLOAT32)
    result[:half] = np.arange(half) * step + float(first)
    result[half:] = float(last) - np.arange(steps - 1 - half, -1, -1) * step
    return result
