"""The entry of all elementwise kernels: one function reads the arguments, broadcasts and allocates for every formula.

A formula (see pointwise.py) is a loop over elements that lie one after the other. Here arrays of any layout are brought
before it: axes that can be walked as one are joined, the rest is walked row by row, in the order in which torch lays out
the result. A row of an argument is passed as it lies; or, if it is one number, as a short piece filled with it, which the
formula reads again and again; or, if it lies scattered, as a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from whygrad.kernels import host
from whygrad.kernels.calls import Entry, data_of, python_function
from whygrad.kernels.code import address_of, function_for_all
from whygrad.kernels.values import F32, F64, I1, I8, I16, I32, I64, POINTER, VOID, Function, Value

MOST = 16  # arguments
AXES = 8
# Elements of a piece that is filled with one number: as many as a formula reads in one turn.
FILLED = 64
# Elements of a scattered row that are copied at a time.
COPIED = 256
# The two fastest axes are walked as one row if the first is shorter than this.
SHORT = 32
BUFFER = COPIED * 8  # bytes

# Parameters of the entry; three for each argument follow: its kind, dtype, and size in bytes.
FORMULA, COUNT, DOUBLE, RESULT, OUT_DTYPE, OUT_SIZE, SERIAL_BELOW, REFERENCES, KINDS = range(9)
# Where the result goes: into a new array, or into one that is given as a last argument.
NEW, GIVEN = range(2)
# Kinds of arguments: an array or a number, a boolean array, None, an array, a number that is float32 whatever the arrays are.
ANY, MASK, NOTHING, ARRAY, NUMBER = range(5)

# The slots of a formula: where each argument lies, the result last, and whether it moves on (-1) or stays (0).
OUT = MOST
STEPS = OUT + 1
# What the walk over rows has besides. Axes are counted from the fastest one: the first, or the first two, make a row of
# length ROW, and the others begin with OUTER.
RUN = STEPS + MOST
OPERANDS, NDIM, LIMIT, TOTAL, ROW, OUTER, SHAPE = range(RUN + 1, RUN + 8)
SIZES = SHAPE + AXES
HOW = SIZES + MOST + 1
STRIDES = HOW + MOST
SLOTS = STRIDES + (MOST + 1) * AXES
# How a row of an argument is passed.
STRAIGHT, ONE, COPY = range(3)


def elementwise_function(name: str, formula: int, arguments: list[tuple[int, Any]], out: Any, fallback: Any, *, result: int = NEW,
                         serial_below: int = 0, references: int = 0) -> Callable[..., Any]:
    """A Python function that applies the formula at an address.

    `arguments` are kinds and dtypes, `out` is the dtype of the result. What does not fit goes to `fallback`, of which the
    first is for other kinds of arguments and the second for other shapes. If the first argument has no more than so many
    `references`, nobody will read it again, and the result may be written over it.
    """
    return python_function(name, _entry(), fallback, parameters(formula, arguments, out, result, serial_below, references))


def parameters(formula: int, arguments: list[tuple[int, Any]], out: Any, result: int, serial_below: int,
          references: int = 0) -> list[int]:
    made = [formula, len(arguments), any(dtype is host.FLOAT64 for _, dtype in arguments), result, id(out) if out else 0,
            out.itemsize if out else 0, serial_below, references]
    for kind, dtype in arguments:
        made += [kind, id(dtype) if dtype is not None else 0, 4 if dtype is None else dtype.itemsize]
    return made


@cache
def _entry() -> int:
    sort = function_for_all("elementwise: sort axes", _write_sort)
    bring = function_for_all("elementwise: bring", _write_bring)
    prepare = function_for_all("elementwise: prepare", lambda module, name: _write_prepare(module, name, sort))
    walk = function_for_all("elementwise: walk", lambda module, name: _write_walk(module, name, bring))
    return address_of("elementwise", lambda module, name: _write_entry(module, name, prepare, walk))


def _write_entry(module: Any, name: str, prepare: str, walk: str) -> None:
    entry = Entry(module, name, None)
    f = entry.f
    count, result = entry.parameter(COUNT), entry.parameter(RESULT)
    given = result.equals(GIVEN)
    entry.require(entry.count.equals(count + given.to(I64)))
    slots = f.frame(I64, SLOTS)
    first, plain = read_arguments(entry, count, slots)

    formula = entry.parameter(FORMULA, POINTER)
    serial_below = entry.parameter(SERIAL_BELOW)
    with f.when(plain):
        n = _size(f, first)
        made = f.variable(f.null)
        with f.either(given) as (old, fresh):
            with old:
                made.set(_given(entry, count, first, n, slots))
            with fresh, f.either(_is_free(entry, first)) as (free, used):
                with free:
                    f.call("Py_IncRef", VOID, entry.argument(0))
                    made.set(entry.argument(0))
                with used:
                    made.set(entry.new_array(entry.parameter(OUT_DTYPE, POINTER), _ndim(f, first), _shape(f, first)))
        f.store(data_of(f, made.get()), slots, OUT)
        entry.run(formula, slots, n, serial_below, FILLED)
        entry.give(made.get())
    entry.require_shape(result.equals(NEW))
    shape, strides, ndim = f.frame(I64, AXES), f.frame(I64, AXES), f.frame(I64, 1)
    failed = f.call(prepare, I64, entry.pointer_to_parameters(), entry.arguments, slots, shape, strides, ndim)
    entry.require_shape(failed.equals(0))
    n = f.load(I64, slots, TOTAL)
    # NumPy's own strides where they are the same.
    usual = f.load(I64, strides).equals(-1) | n.equals(0)
    broadcast = entry.new_array(entry.parameter(OUT_DTYPE, POINTER), f.load(I64, ndim).to(I32), shape,
                                f.choose(usual, f.null, strides))
    f.store(data_of(f, broadcast), slots, OUT)
    f.store(formula, slots, RUN)
    entry.run(walk, slots, n, serial_below, FILLED)
    entry.give(broadcast)


def read_arguments(entry: Entry, count: Value, slots: Value) -> tuple[Value, Value]:
    """Fill the slots of a formula; gives the first array, and whether all arrays are of its shape and in one piece."""
    f = entry.f
    pieces = f.frame(I64, MOST * FILLED)
    first = f.variable(f.null)
    plain, numeric = f.variable(f.integer(1)), f.variable(f.integer(0))
    with f.loop(0, count) as k:
        argument = entry.argument(k)
        kind = entry.parameter(k * 3 + KINDS)
        is_array = entry.same(f.load(POINTER, argument, host.TYPE // 8), "numpy_array_type")
        with f.either(is_array) as (array, other):
            with array:
                entry.require(f.load(POINTER, argument, host.DTYPE // 8).equals(entry.parameter(k * 3 + KINDS + 1, POINTER)))
                flags = f.load(I32, argument, host.FLAGS // 4)
                entry.require_shape((flags & host.ALIGNED).differs(0))
                f.store(data_of(f, argument), slots, k)
                f.store(f.integer(-1), slots, k + STEPS)
                numeric.set(numeric.get() | (kind.equals(ANY) | kind.equals(ARRAY)).to(I64))
                with f.either(first.get().equals(f.null)) as (is_first, is_next):
                    with is_first:
                        first.set(argument)
                    with is_next:
                        plain.set(plain.get() & _same_shape(f, first.get(), argument))
                plain.set(plain.get() & (flags & 1).to(I64))
            with other:
                is_none = entry.same(argument, "_Py_NoneStruct")
                with f.either(is_none) as (nothing, number):
                    with nothing:
                        entry.require(kind.equals(NOTHING))
                        f.store(pieces, slots, k)  # never read
                        f.store(f.integer(0), slots, k + STEPS)
                    with number:
                        entry.require(kind.equals(ANY) | kind.equals(NUMBER))
                        value = entry.number(argument)
                        piece = f.pointer(F64, pieces, k * FILLED)
                        with f.either(entry.parameter(DOUBLE).differs(0) & kind.equals(ANY)) as (double, single):
                            with double:
                                fill(f, value, piece)
                            with single:
                                fill(f, value.to(F32), piece)
                        f.store(piece, slots, k)
                        f.store(f.integer(0), slots, k + STEPS)
    # An array of numbers must be there: it is what gives the result its dtype.
    entry.require(numeric.get().differs(0))
    return first.get(), plain.get().differs(0)


def _is_free(entry: Entry, first: Value) -> Value:
    """May the first argument be overwritten? If it is an array in one piece that owns its memory, of the result's dtype."""
    f = entry.f
    argument = entry.argument(0)
    wanted = host.WRITEABLE | host.OWNS_DATA
    return (argument.equals(first) & (f.load(I32, argument).to(I64) <= entry.parameter(REFERENCES))
            & (f.load(I32, argument, host.FLAGS // 4) & wanted).equals(wanted)
            & f.load(POINTER, argument, host.DTYPE // 8).equals(entry.parameter(OUT_DTYPE, POINTER)))


def _given(entry: Entry, count: Value, first: Value, n: Value, slots: Value) -> Value:
    """The array to write to. It may be one of the arguments, but not a part of one."""
    f = entry.f
    given = entry.argument(count)
    entry.require(entry.same(f.load(POINTER, given, host.TYPE // 8), "numpy_array_type"))
    entry.require(f.load(POINTER, given, host.DTYPE // 8).equals(entry.parameter(OUT_DTYPE, POINTER)))
    wanted = host.CONTIGUOUS_AND_ALIGNED | host.WRITEABLE
    entry.require_shape((f.load(I32, given, host.FLAGS // 4) & wanted).equals(wanted))
    entry.require_shape(_same_shape(f, first, given).differs(0))
    start = data_of(f, given).as_integer()
    stop = start + n * entry.parameter(OUT_SIZE)
    with f.loop(0, count) as k:
        place = f.load(I64, slots, k)
        length = n * entry.parameter(k * 3 + KINDS + 2)
        apart = (place + length <= start) | (place >= stop) | f.load(I64, slots, k + STEPS).equals(0)
        entry.require_shape(apart | place.equals(start))
    f.call("Py_IncRef", VOID, given)
    return given


def _write_prepare(module: Any, name: str, sort: str) -> None:
    """prepare(parameters, arguments, slots, shape, strides, ndim): broadcast, and lay out the walk; 0 if it can be done.

    The result's shape is written, and its strides, of which the first is -1 if they are the usual ones.
    """
    f = Function(module, name, I64, [POINTER] * 6)
    parameters, arguments, slots, shape, out_strides, out_ndim = f.arguments
    numpy_type = f.symbol("numpy_array_type")
    count = f.load(I64, parameters, COUNT)
    strides, order = f.frame(I64, (MOST + 1) * AXES), f.frame(I64, AXES)

    def arrays(body: Callable[[Value, Value], None]) -> None:
        with f.loop(0, count) as k:
            argument = f.load(POINTER, arguments, k)
            with f.when(f.load(POINTER, argument, host.TYPE // 8).equals(numpy_type)):
                body(k, argument)

    def operands() -> Any:
        """The arguments, then the result."""
        return f.loop(0, count + 1)

    def number(i: Value) -> Value:
        return f.choose(i.equals(count), f.integer(OUT), i)

    def give_up_if(condition: Value) -> None:
        with f.when(condition, likely=False):
            f.give(f.integer(1))

    most = f.variable(f.integer(0))
    arrays(lambda k, x: most.set(f.larger(most.get(), _ndim(f, x).to(I64))))
    ndim = most.get()
    give_up_if(ndim > AXES)
    f.store(ndim, out_ndim)
    with f.loop(0, ndim) as axis:
        f.store(f.integer(1), shape, axis)
    differ = f.variable(f.constant(0, I1))

    def broadcast(k: Value, x: Value) -> None:
        own = _ndim(f, x).to(I64)
        with f.loop(0, own) as axis:
            length, so_far = f.load(I64, _shape(f, x), axis), f.load(I64, shape, ndim - own + axis)
            differ.set(differ.get() | (length.differs(1) & so_far.differs(1) & length.differs(so_far)))
            f.store(f.choose(so_far.equals(1), length, so_far), shape, ndim - own + axis)

    arrays(broadcast)
    give_up_if(differ.get())
    with operands() as i:
        with f.loop(0, ndim) as axis:
            f.store(f.integer(0), strides, number(i) * AXES + axis)
        size = f.load(I64, parameters, f.choose(i.equals(count), f.integer(OUT_SIZE), i * 3 + (KINDS + 2)))
        f.store(size, slots, number(i) + SIZES)

    def take_strides(k: Value, x: Value) -> None:
        own = _ndim(f, x).to(I64)
        with f.loop(0, own) as axis:
            expanded = f.load(I64, _shape(f, x), axis).equals(1) & f.load(I64, shape, ndim - own + axis).differs(1)
            stride = f.load(I64, f.load(POINTER, x, host.STRIDES // 8), axis)
            f.store(f.choose(expanded, 0, stride), strides, k * AXES + ndim - own + axis)

    arrays(take_strides)
    f.call(sort, VOID, count, ndim, shape, strides, order)

    usual = f.variable(f.constant(1, I1))
    step = f.variable(f.load(I64, parameters, OUT_SIZE))
    last = f.variable(f.integer(-1))
    with f.loop(0, ndim) as i:
        axis = f.load(I64, order, ndim - 1 - i)
        length = f.load(I64, shape, axis)
        usual.set(usual.get() & axis.equals(ndim - 1 - i))
        f.store(step.get(), strides, axis + OUT * AXES)
        f.store(step.get(), out_strides, axis)
        step.set(step.get() * length)
        with f.when(length.differs(1)):
            joins = f.variable(last.get() >= 0)
            before = f.load(I64, slots, last.get() + SHAPE)
            with operands() as j:
                moved = f.load(I64, slots, number(j) * AXES + last.get() + STRIDES) * before
                joins.set(joins.get() & moved.equals(f.load(I64, strides, number(j) * AXES + axis)))
            with f.either(joins.get()) as (join, add):
                with join:
                    f.store(before * length, slots, last.get() + SHAPE)
                with add:
                    last.add(f.integer(1))
                    f.store(length, slots, last.get() + SHAPE)
                    with operands() as j:
                        f.store(f.load(I64, strides, number(j) * AXES + axis), slots, number(j) * AXES + last.get() + STRIDES)
    with f.when(last.get() < 0):  # one element
        last.set(f.integer(0))
        f.store(f.integer(1), slots, SHAPE)
        with operands() as j:
            f.store(f.load(I64, slots, number(j) + SIZES), slots, number(j) * AXES + STRIDES)
    with f.when(usual.get()):
        f.store(f.integer(-1), out_strides)

    total, limit = f.variable(f.integer(1)), f.variable(f.integer(1 << 62))
    with f.loop(0, last.get() + 1) as axis:
        total.set(total.get() * f.load(I64, slots, axis + SHAPE))
    length = f.load(I64, slots, SHAPE)
    both = (length < SHORT) & (last.get() > 0)
    with f.loop(0, count) as k:
        first, second = f.load(I64, slots, k * AXES + STRIDES), f.load(I64, slots, k * AXES + STRIDES + 1)
        straight = first.equals(f.load(I64, slots, k + SIZES)) & (~both | second.equals(first * length))
        one = first.equals(0) & (~both | second.equals(0))
        f.store(f.choose(straight, f.integer(STRAIGHT), f.choose(one, f.integer(ONE), COPY)), slots, k + HOW)
        limit.set(f.choose(straight | one, limit.get(), COPIED))
    row = f.choose(both, length * f.load(I64, slots, SHAPE + 1), length)
    for place, value in ((TOTAL, total.get()), (LIMIT, limit.get()), (NDIM, last.get() + 1), (OPERANDS, count), (ROW, row),
                         (OUTER, both.to(I64) + 1)):
        f.store(value, slots, place)
    f.give(f.integer(0))


def _write_sort(module: Any, name: str) -> None:
    """sort(count, ndim, shape, strides, order): the axes from the slowest to the fastest, torch's way, told in
    backends/memory_order.py."""
    f = Function(module, name, VOID, [I64, I64, POINTER, POINTER, POINTER])
    count, ndim, shape, strides, order = f.arguments
    with f.loop(0, ndim) as axis:
        f.store(axis, order, axis)
    with f.loop(1, ndim) as turn:
        start = ndim - 1 - turn
        place, going = f.variable(start), f.variable(f.integer(1))
        with f.loop(start + 1, ndim) as other, f.when(going.get().differs(0)):
            inner, outer = f.load(I64, order, other), f.load(I64, order, place.get())
            verdict = f.variable(f.integer(0))
            with f.loop(0, count) as k, f.when(verdict.get().equals(0)):
                small, large = (f.magnitude(f.load(I64, strides, k * AXES + axis)) for axis in (inner, outer))
                by_stride = (small > large).to(I64) - (small < large).to(I64)
                by_length = (f.load(I64, shape, inner) > f.load(I64, shape, outer)).to(I64)
                verdict.set(f.choose(small.equals(0) | large.equals(0), 0, f.choose(small.equals(large), by_length, by_stride)))
            going.set((verdict.get() >= 0).to(I64))
            with f.when(verdict.get() > 0):
                f.store(outer, order, other)
                f.store(inner, order, place.get())
                place.set(other)
    f.give()


def _write_walk(module: Any, name: str, bring: str) -> None:
    """walk(slots, low, high): the elements from low to high, in the order of the result, row by row."""
    f = Function(module, name, VOID, [POINTER, I64, I64])
    slots, low, high = f.arguments
    with f.when(low >= high):
        f.give()
    count, ndim, outer, row, limit = (f.load(I64, slots, place) for place in (OPERANDS, NDIM, OUTER, ROW, LIMIT))
    length = f.load(I64, slots, SHAPE)
    formula = f.load(POINTER, slots, RUN)
    mine, places, filled, at = (f.frame(I64, n) for n in (RUN, MOST + 1, MOST + 1, AXES))
    buffers = f.frame(I64, MOST * BUFFER // 8)

    def number(i: Value) -> Value:
        return f.choose(i.equals(count), f.integer(OUT), i)

    def stride(operand: Any, axis: Any) -> Value:
        return f.load(I64, slots, operand * AXES + axis + STRIDES)

    def move(axis: Value, steps: Value) -> None:
        """The start of the row."""
        with f.loop(0, count + 1) as i:
            operand = number(i)
            f.store(f.load(I64, places, operand) + stride(operand, axis) * steps, places, operand)

    with f.loop(0, count + 1) as i:
        f.store(f.load(I64, slots, number(i)), places, number(i))
        f.store(f.integer(0), filled, i)
    here, rest = f.variable(low % row), f.variable(low // row)
    with f.loop(outer, ndim) as axis:
        size = f.load(I64, slots, axis + SHAPE)
        f.store(rest.get() % size, at, axis)
        move(axis, rest.get() % size)
        rest.set(rest.get() // size)

    done = f.variable(low)
    with f.repeat_while(lambda: done.get() < high):
        n = f.smaller(f.smaller(row - here.get(), high - done.get()), limit)
        turns, column = here.get() // length, here.get() % length
        with f.loop(0, count) as k:
            how, size = f.load(I64, slots, k + HOW), f.load(I64, slots, k + SIZES)
            start = f.load(POINTER, places, k)
            with f.when(how.equals(STRAIGHT)):
                f.store(f.pointer(I8, start, here.get() * size), mine, k)
                f.store(f.integer(-1), mine, k + STEPS)
            with f.when(how.differs(STRAIGHT)):
                buffer = f.pointer(I8, buffers, k * BUFFER)
                f.store(buffer, mine, k)
                f.store(how.equals(ONE).to(I64) - 1, mine, k + STEPS)
                with f.when(how.equals(COPY) | start.as_integer().differs(f.load(I64, filled, k))):
                    f.store(start, filled, k)
                    step, jump = stride(k, 0), f.choose(outer.equals(1), 0, stride(k, 1))
                    f.call(bring, VOID, how, size, f.pointer(I8, start, column * step + turns * jump), step, jump - step * length,
                           length, column, buffer, n)
        f.store(f.pointer(I8, f.load(POINTER, places, OUT), here.get() * f.load(I64, slots, OUT + SIZES)), mine, OUT)
        f.call_task(formula, mine, f.integer(0), n)
        done.add(n)
        here.add(n)
        with f.when(here.get().equals(row)):
            here.set(f.integer(0))
            turning, going = f.variable(outer), f.variable(f.integer(1))
            with f.repeat_while(lambda: (turning.get() < ndim) & going.get().differs(0)):
                axis = turning.get()
                move(axis, f.integer(1))
                reached, size = f.load(I64, at, axis) + 1, f.load(I64, slots, axis + SHAPE)
                going.set(reached.equals(size).to(I64))
                f.store(f.choose(reached.equals(size), 0, reached), at, axis)
                with f.when(going.get().differs(0)):
                    move(axis, -size)
                    turning.add(f.integer(1))
    f.give()


def _write_bring(module: Any, name: str) -> None:
    """bring(how, size, source, step, back, length, column, buffer, n): copy elements of `size` bytes into the buffer: one
    of them n times, or n scattered ones."""
    f = Function(module, name, VOID, [I64, I64, POINTER, I64, I64, I64, I64, POINTER, I64])
    how, size, source, step, back, length, column, buffer, n = f.arguments
    for bytes_, kind in ((1, I8), (2, I16), (4, I32), (8, I64)):
        with f.when(size.equals(bytes_)), f.either(how.equals(ONE)) as (one, scattered):
            with one:
                fill(f, f.load(kind, source), buffer)
            with scattered:
                _gather(f, kind, source, step, back, length, column, buffer, n)
    f.give()


def fill(f: Function, value: Value, piece: Value) -> None:
    """FILLED times the same."""
    bytes_ = {I8: 1, I16: 2, I32: 4, F32: 4, I64: 8, F64: 8}[value.kind]
    wide = value.spread(64 // bytes_)
    for i in range(FILLED * bytes_ // 64):
        f.store(wide, piece, i * (64 // bytes_))


def _gather(f: Function, kind: Any, source: Value, step: Value, back: Value, length: Value, column: Value, buffer: Value,
            n: Value) -> None:
    """Copy n elements, `step` bytes apart; after `length` of them go `back` to the start of the next line."""
    place, left, copied = f.variable(source), f.variable(length - column), f.variable(f.integer(0))
    with f.repeat_while(lambda: copied.get() < n):
        stop = f.smaller(copied.get() + left.get(), n)
        begin = f.variable(place.get())
        with f.loop(copied.get(), stop) as i:
            f.store(f.load(kind, begin.get()), buffer, i)
            begin.set(f.pointer(I8, begin.get(), step))
        place.set(f.pointer(I8, begin.get(), back))
        copied.set(stop)
        left.set(length)


def _ndim(f: Function, array: Value) -> Value:
    return f.load(I32, array, host.NDIM // 4)


def _shape(f: Function, array: Value) -> Value:
    return f.load(POINTER, array, host.SHAPE // 8)


def _size(f: Function, array: Value) -> Value:
    n = f.variable(f.integer(1))
    with f.loop(0, _ndim(f, array).to(I64)) as axis:
        n.set(n.get() * f.load(I64, _shape(f, array), axis))
    return n.get()


def _same_shape(f: Function, a: Value, b: Value) -> Value:
    """1 if it is so, else 0."""
    same = f.variable(_ndim(f, a).equals(_ndim(f, b)).to(I64))
    with f.loop(0, _ndim(f, a).to(I64) * same.get()) as axis:
        same.set(same.get() & f.load(I64, _shape(f, a), axis).equals(f.load(I64, _shape(f, b), axis)).to(I64))
    return same.get()
