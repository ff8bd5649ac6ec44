"""The machine code of products of float32 matrices: C = A B, or C = A B + D.

C is computed in tiles, of as many rows and vectors as there are registers for their sums: step by step along the inner
dimension, numbers of A, spread over the lanes, times vectors of B. Before that B is packed into panels, a tile wide, whose rows
follow one another, however B lies in memory; a transposed one is turned in squares of registers. A is read where it lies.

The inner dimension is cut into blocks, so that packed panels stay in the cache. Where, depends on its length alone: so every
number of C is the sum of the same products in the same order, however C is cut into tiles and shared out to threads.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from whygrad.kernels.host import host
from whygrad.kernels.tiles import lanes_within, load_some, smaller, store_some, transposed
from whygrad.kernels.values import F32, I32, I64, POINTER, VOID, Function, Value

_whygrad_internal_ = True

# The vectors of a tile. Times its rows they are 24 sums for 32 registers, or 12 for 16.
VECTORS = 3
# The longest block of the inner dimension, and the vectors of columns that are packed at once: 288 KB with the widest vectors.
DEPTH = 384
CHUNK = 12
# With fewer rows to multiply, packing does not pay.
PACK_FROM = 17

# The arguments of the task. For each leading axis follow its length, and the strides of a and b along it.
FIELDS = ("a", "b", "c", "d", "a_row", "a_inner", "b_inner", "b_column", "d_row", "m", "n", "depth", "block",
          "row_groups", "rows_each", "column_groups", "axes")
AXIS_FIELDS = 3
MOST_AXES = 4


def tile_rows() -> int:
    return 8 if host().registers == 32 else 4


def vectors_of(n: Value) -> Value:
    return (n + (host().lanes - 1)) // host().lanes


def write_task(module: Any, name: str) -> None:
    """void task(slots, low, high): do units `low` to `high`. A unit is a group of rows and a group of columns of a matrix."""
    heights = [8, 4, 2, 1] if tile_rows() == 8 else [4, 2, 1]
    tiles = {rows: [_write_tile(module, f"{name}_{rows}x{vectors}", rows, vectors) for vectors in range(1, VECTORS + 1)]
             for rows in heights}
    pack = _write_pack(module, f"{name}_pack")
    f = Function(module, name, VOID, [POINTER, I64, I64])
    slots, low, high = f.arguments
    field = {word: f.load(POINTER if word in "abcd" else I64, slots, i) for i, word in enumerate(FIELDS)}
    product = _Product(f, field, tiles, pack)
    with f.loop(low, high) as unit:
        first_row = unit % field["row_groups"] * field["rows_each"]
        last_row = smaller(f, first_row + field["rows_each"], field["m"])
        matrix_and_columns = unit // field["row_groups"]
        a, b, c = _matrices(f, slots, field, matrix_and_columns // field["column_groups"])
        left, count = _part(vectors_of(field["n"]), field["column_groups"], matrix_and_columns % field["column_groups"])
        chunks = (count + (CHUNK - 1)) // CHUNK
        with f.loop(0, chunks) as number:
            skip, chunk = _part(count, chunks, number)
            product.write_chunk(a, b, c, (first_row, last_row), left + skip, chunk)
    f.b.ret_void()


def _part(n: Value, parts: Value, number: Value) -> tuple[Value, Value]:
    """Where a part of range(n) begins, and its length, if all are about equal."""
    first = number * n // parts
    return first, (number + 1) * n // parts - first


def _matrices(f: Function, slots: Value, field: dict[str, Value], number: Value) -> list[Value]:
    """Where matrix `number` of A, B and C begins."""
    rest = f.variable(number)
    places = [f.variable(f.integer(0)) for _ in range(2)]
    with f.loop(0, field["axes"]) as axis:
        at = axis * AXIS_FIELDS + len(FIELDS)
        length = f.load(I64, slots, at)
        for i, place in enumerate(places, 1):
            place.add(rest.get() % length * f.load(I64, slots, at + i))
        rest.set(rest.get() // length)
    offsets = [*[place.get() for place in places], number * field["m"] * field["n"]]
    return [f.pointer(F32, field[word], offset) for word, offset in zip("abc", offsets, strict=True)]


class _Product:
    """What is known of the product while its task is written."""

    def __init__(self, f: Function, field: dict[str, Value], tiles: dict[int, list[Any]], pack: Any) -> None:
        self.f = f
        self.field = field
        self.tiles = tiles
        self.pack = pack
        self.packed = _buffer(f, F32, DEPTH * CHUNK * host().lanes)
        self.table = _buffer(f, I64, 2 * CHUNK)

    def write_chunk(self, a: Value, b: Value, c: Value, rows: tuple[Value, Value], left: Value, count: Value) -> None:
        """Some rows of C, and `count` vectors of its columns from `left` on."""
        f, field, lanes = self.f, self.field, host().lanes
        panels = (count + (VECTORS - 1)) // VECTORS
        valid = smaller(f, field["n"] - left * lanes, count * lanes)
        as_it_lies = (rows[1] - rows[0] < PACK_FROM) & field["b_column"].equals(1) & valid.equals(count * lanes)
        has_d = Value(f, f.b.icmp_unsigned("!=", field["d"].v, ir.Constant(POINTER, None)))
        with f.loop(0, field["depth"], field["block"]) as start:
            steps = smaller(f, field["depth"] - start, field["block"])
            here = f.pointer(F32, b, left * lanes * field["b_column"] + start * field["b_inner"])
            with f.when(~as_it_lies):
                self._lay_out(count, panels, steps)
                _call(f, self.pack, here, field["b_inner"], field["b_column"], steps, count, valid, self.table, self.packed)
            in_c = start > 0
            with_d = has_d & (start + field["block"] >= field["depth"])
            begin, last = rows
            for height, tiles in self.tiles.items():  # what is left over by high tiles is done by lower ones
                end = begin + (last - begin) // height * height
                with f.loop(begin, end, height) as row, f.loop(0, panels) as panel:
                    v, wide = _part(count, panels, panel)
                    skip, column = v * lanes, (left + v) * lanes
                    _call(f, _by_width(f, wide, tiles),
                          f.pointer(F32, a, row * field["a_row"] + start * field["a_inner"]), field["a_row"], field["a_inner"],
                          _either(f, as_it_lies, f.pointer(F32, here, skip), f.pointer(F32, self.packed, skip * steps)),
                          f.choose(as_it_lies, field["b_inner"], wide * lanes), steps,
                          f.pointer(F32, c, row * field["n"] + column), field["n"],
                          smaller(f, valid - (v + wide - 1) * lanes, f.integer(lanes)),
                          f.pointer(F32, field["d"], row * field["d_row"] + column), field["d_row"],
                          in_c.to(I64) + with_d.to(I64), in_c.to(I64), f.choose(panel.equals(0), field["a_row"] * height, 0))
                begin = end

    def _lay_out(self, count: Value, panels: Value, steps: Value) -> None:
        """For each vector of columns: where it begins among the packed panels, and how far apart its rows are."""
        f, lanes = self.f, host().lanes
        with f.loop(0, panels) as panel:
            first, wide = _part(count, panels, panel)
            with f.loop(0, wide) as v:
                f.store((first * steps + v) * lanes, self.table, (first + v) * 2)
                f.store(wide * lanes, self.table, (first + v) * 2 + 1)


def _call(f: Function, function: Any, *arguments: Value) -> None:
    f.b.call(function, [argument.v for argument in arguments])


def _either(f: Function, condition: Value, a: Value, b: Value) -> Value:
    """One of two pointers."""
    return Value(f, f.b.select(condition.v, a.v, b.v))


def _by_width(f: Function, wide: Value, functions: list[Any]) -> Any:
    chosen = functions[-1]
    for vectors, function in enumerate(functions[:-1], 1):
        chosen = f.b.select(wide.equals(vectors).v, function, chosen)
    return chosen


def _prefetch(f: Function, base: Value, index: Value, to_write: bool = False) -> None:
    """What is read comes into the second level of the cache: columns far apart would push each other out of the first."""
    how = (1, 3, 1) if to_write else (0, 2, 1)
    f.call("llvm.prefetch.p0", VOID, f.pointer(F32, base, index), *[ir.Constant(I32, n) for n in how])


def _buffer(f: Function, element: Any, count: int) -> Value:
    with f.b.goto_entry_block():
        place = f.b.alloca(ir.ArrayType(element, count))
        place.align = 64
        return Value(f, f.b.bitcast(place, POINTER))


def _write_tile(module: Any, name: str, rows: int, vectors: int) -> Any:
    """void tile(a, a_row, a_inner, b, b_step, steps, c, c_row, in_last, d, d_row, addends, in_c, ahead).

    The last vector has `in_last` numbers. What is added to the sums: nothing, C (if in_c) or D, or both. Meanwhile the rows of
    A that are `ahead` come into the cache, as does the memory of the result.
    """
    lanes = host().lanes
    f = Function(module, name, VOID, [POINTER, I64, I64, POINTER, I64, I64, POINTER, I64, I64, POINTER, I64, I64, I64, I64],
                 internal=True)
    a, a_row, a_inner, b, b_step, steps, c, c_row, in_last, d, d_row, addends, in_c, ahead = f.arguments
    lefts = [f.pointer(F32, a, a_row * r) for r in range(rows)]
    sums = [[f.variable(f.zeros(F32, lanes)) for _ in range(vectors)] for _ in range(rows)]
    for r in range(rows):
        for v in range(vectors):
            _prefetch(f, c, c_row * r + v * lanes, to_write=True)
    rows_in_turn = f.choose(a_inner.equals(1), rows - 1, f.integer(0))
    with f.loop(0, steps) as k:
        row = k & rows_in_turn
        _prefetch(f, a, ahead + row * a_row + (k - row) * a_inner)
        right = [f.load(F32, b, k * b_step + v * lanes, lanes) for v in range(vectors)]
        for r in range(rows):
            left = f.load(F32, lefts[r], k * a_inner).spread(lanes)
            for v in range(vectors):
                sums[r][v].set(f.fma(left, right[v], sums[r][v].get()))
    mask = lanes_within(f, f.integer(0), in_last, lanes)
    with f.loop(0, addends) as i:
        is_c = i.equals(0) & in_c.differs(0)
        base, row = _either(f, is_c, c, d), f.choose(is_c, c_row, d_row)
        for r in range(rows):
            for v in range(vectors):
                at = row * r + v * lanes
                sums[r][v].add(f.load(F32, base, at, lanes) if v < vectors - 1 else load_some(f, base, at, mask))
    for r in range(rows):
        for v in range(vectors):
            at = c_row * r + v * lanes
            if v < vectors - 1:
                f.store(sums[r][v].get(), c, at)
            else:
                store_some(f, sums[r][v].get(), c, at, mask)
    f.b.ret_void()
    return f.function


def _write_pack(module: Any, name: str) -> Any:
    """void pack(b, b_inner, b_column, steps, count, valid, table, packed): `steps` rows of B, `count` vectors of columns.

    Columns from `valid` on do not exist; what stands there in a panel does not matter.
    """
    lanes = host().lanes
    f = Function(module, name, VOID, [POINTER, I64, I64, I64, I64, I64, POINTER, POINTER], internal=True)
    b, b_inner, b_column, steps, count, valid, table, packed = f.arguments

    def target(v: Value) -> tuple[Value, Value]:
        return f.pointer(F32, packed, f.load(I64, table, v * 2)), f.load(I64, table, v * 2 + 1)

    def by_rows() -> None:
        """Columns are neighbours: whole vectors are copied, row after row."""
        whole = valid // lanes
        with f.loop(0, steps) as k:
            source = f.pointer(F32, b, k * b_inner)
            with f.loop(0, whole) as v:
                place, width = target(v)
                _prefetch(f, source, b_inner * 16 + v * lanes)
                f.store(f.load(F32, source, v * lanes, lanes), place, k * width)
        with f.when(whole < count):
            place, width = target(whole)
            mask = lanes_within(f, f.integer(0), valid - whole * lanes, lanes)
            with f.loop(0, steps) as k:
                f.store(load_some(f, b, k * b_inner + whole * lanes, mask), place, k * width)

    def turned() -> None:
        """Rows are neighbours: squares are transposed in registers. The last one overlaps the one before."""
        with f.loop(0, count) as v:
            place, width = target(v)
            columns = [f.pointer(F32, b, smaller(f, v * lanes + i, valid - 1) * b_column) for i in range(lanes)]
            with f.loop(0, steps, lanes) as first:
                k = smaller(f, first, steps - lanes)
                for column in columns:
                    _prefetch(f, column, k + 2 * lanes)
                for i, row in enumerate(transposed(f, [f.load(F32, column, k, lanes) for column in columns])):
                    f.store(row, place, (k + i) * width)

    def one_by_one() -> None:
        with f.loop(0, count) as v:
            place, width = target(v)
            with f.loop(0, smaller(f, valid - v * lanes, f.integer(lanes))) as j, f.loop(0, steps) as k:
                f.store(f.load(F32, b, (v * lanes + j) * b_column + k * b_inner), place, k * width + j)

    with f.b.if_else(b_column.equals(1).v) as (neighbours, apart):
        with neighbours:
            by_rows()
        with apart, f.b.if_else((b_inner.equals(1) & (steps >= lanes)).v) as (rows, neither):
            with rows:
                turned()
            with neither:
                one_by_one()
    f.b.ret_void()
    return f.function
