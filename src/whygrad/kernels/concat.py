"""Arrays one after the other along an axis (`cat`), or along a new one (`stack`); and a copy, which is one array by itself.

The result is made of pieces: for each position on the axes before the one of joining, a piece of each array. Threads share the
bytes of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.kernels import host
from whygrad.kernels.calls import Entry, data_of, python_function
from whygrad.kernels.code import address_of
from whygrad.kernels.transpose_copy import transposed_copy
from whygrad.kernels.values import I8, I32, I64, POINTER, VOID, Function, Value

MOST = 64  # arrays
AXES = 16
SERIAL_BELOW = 1 << 17  # bytes
GRAIN = 4096
MIN_SIZE = 32  # bytes of a piece: shorter ones are NumPy's, unless there are few
SIZES = {"f4": 4, "f8": 8, "i8": 8}

# The slots of the task: the result, the number of arrays, bytes of all pieces at one position; then the arrays, and the bytes of
# their pieces.
OUT, COUNT, PITCH, ARRAYS = range(4)
PIECES = ARRAYS + MOST


def cat(numpy: Callable[..., Any]) -> Callable[..., Any]:
    joined = _function("cat", numpy, along_new_axis=False)
    return lambda *xs, axis: joined(axis, *xs)


def stack(numpy: Callable[..., Any]) -> Callable[..., Any]:
    joined = _function("stack", numpy, along_new_axis=True)
    return lambda *xs, axis: joined(axis, *xs)


def clone(numpy: Callable[..., Any]) -> Callable[..., Any]:
    copied = _function("clone", lambda x, *, axis: numpy(x), along_new_axis=False)

    def run(x: Any, *, order: Any = "K") -> Any:
        if x.flags.c_contiguous and order in ("K", "C"):
            return copied(0, x)
        found = transposed_copy(x) if order == "C" else None
        return numpy(x, order=order) if found is None else found

    return run


def _function(name: str, numpy: Callable[..., Any], along_new_axis: bool) -> Callable[..., Any]:
    """A function of the axis and the arrays."""
    def fallback(axis: int, *xs: Any) -> Any:
        return numpy(*xs, axis=axis)

    return python_function(name, address_of("joins", _write), (fallback, fallback), [int(along_new_axis)])


def _write(module: Any, name: str) -> None:
    task = _write_task(module, f"{name}_task")
    entry = Entry(module, name, None)
    f = entry.f
    is_new = entry.parameter(0)
    count = entry.count - 1
    entry.require((count > 0) & (count <= MOST))
    axis = entry.number(entry.argument(0)).to(I64)
    first = entry.argument(1)
    entry.require(entry.same(f.load(POINTER, first, host.TYPE // 8), "numpy_array_type"))
    dtype = f.load(POINTER, first, host.DTYPE // 8)
    size = f.variable(f.integer(0))
    for code, bytes_ in SIZES.items():
        with f.when(entry.same(dtype, f"numpy_dtype_{code}")):
            size.set(f.integer(bytes_))
    entry.require(size.get().differs(0))
    ndim = f.load(I32, first, host.NDIM // 4).to(I64)
    entry.require_shape((axis >= 0) & (axis < ndim + is_new) & (ndim < AXES))
    shape = f.load(POINTER, first, host.SHAPE // 8)

    # What the axes after the one of joining make of one element on it.
    inner = f.variable(size.get())
    with f.loop(axis + 1 - is_new, ndim) as i:
        inner.set(inner.get() * f.load(I64, shape, i))
    outer = f.variable(f.integer(1))
    with f.loop(0, axis) as i:
        outer.set(outer.get() * f.load(I64, shape, i))

    slots, joined_shape = f.frame(I64, PIECES + MOST, 0), f.frame(I64, AXES, 0)
    length, pitch = f.variable(f.integer(0)), f.variable(f.integer(0))
    with f.loop(0, count) as k:
        x = entry.argument(k + 1)
        entry.require(entry.same(f.load(POINTER, x, host.TYPE // 8), "numpy_array_type"))
        entry.require(f.load(POINTER, x, host.DTYPE // 8).as_integer().equals(dtype.as_integer()))
        entry.require_shape((f.load(I32, x, host.FLAGS // 4) & 1).differs(0))
        entry.require_shape(f.load(I32, x, host.NDIM // 4).to(I64).equals(ndim))
        own = f.load(POINTER, x, host.SHAPE // 8)
        differs = f.variable(f.integer(0))
        with f.loop(0, ndim) as i:
            unlike = f.load(I64, own, i) ^ f.load(I64, shape, i)
            differs.set(differs.get() | f.choose(i.equals(axis) & is_new.equals(0), f.integer(0), unlike))
        entry.require_shape(differs.get().equals(0))
        elements = f.choose(is_new.equals(0), f.load(I64, own, axis), f.integer(1))
        length.add(elements)
        pitch.add(elements * inner.get())
        f.store(data_of(f, x), slots, k + ARRAYS)
        f.store(elements * inner.get(), slots, k + PIECES)

    total = outer.get() * pitch.get()
    entry.require_shape((total < GRAIN) | (pitch.get() >= count * MIN_SIZE))
    with f.loop(0, ndim + is_new) as i:
        place = i - f.choose(i > axis, is_new, f.integer(0))
        f.store(f.choose(i.equals(axis), length.get(), f.load(I64, shape, place)), joined_shape, i)
    made = entry.new_array(dtype, (ndim + is_new).to(I32), joined_shape)
    for slot, value in ((OUT, data_of(f, made)), (COUNT, count), (PITCH, pitch.get())):
        f.store(value, slots, slot)
    entry.run(task, slots, total, SERIAL_BELOW, GRAIN)
    entry.give(made)


def _write_task(module: Any, name: str) -> Any:
    """task(slots, low, high): these bytes of the result."""
    f = Function(module, name, VOID, [POINTER, I64, I64], internal=True)
    slots, low, high = f.arguments
    out, count, pitch = f.load(POINTER, slots, OUT), f.load(I64, slots, COUNT), f.load(I64, slots, PITCH)
    place, array, position = f.variable(low), f.variable(f.integer(0)), f.variable(f.integer(0))
    rest = f.variable(f.integer(0))  # how much of the present piece is another thread's
    with f.when(low < high):
        position.set(low // pitch)
        rest.set(low % pitch)
    with f.repeat_while(lambda: rest.get() > 0):
        piece = f.load(I64, slots, array.get() + PIECES)
        with f.either(rest.get() < piece) as (inside, beyond):
            with inside:
                _copy_piece(f, slots, out, array.get(), position.get(), rest.get(), place, high)
                rest.set(f.integer(0))
            with beyond:
                rest.set(rest.get() - piece)
        array.add(f.integer(1))
    with f.repeat_while(lambda: place.get() < high):
        ended = array.get() >= count
        position.add(ended.to(I64))
        array.set(f.choose(ended, f.integer(0), array.get()))
        _copy_piece(f, slots, out, array.get(), position.get(), f.integer(0), place, high)
        array.add(f.integer(1))
    f.give()
    return f.function


def _copy_piece(f: Function, slots: Value, out: Value, array: Value, position: Value, start: Value, place: Any,
                high: Value) -> None:
    """From `start` to the end of a piece, or to `high`."""
    piece = f.load(I64, slots, array + PIECES)
    source = f.pointer(I8, f.load(POINTER, slots, array + ARRAYS), position * piece + start)
    count = f.smaller(piece - start, high - place.get())
    f.call("memcpy", POINTER, f.pointer(I8, out, place.get()), source, count)
    place.add(count)
