"""The machine code of products of float32 matrices: C = A B, or C = A B + D.

C is computed in tiles, of as many rows and vectors as there are registers for their sums: step by step along the inner
dimension, numbers of A, spread over the lanes, times vectors of B. Before that B is packed into panels, a tile wide, whose rows
follow one another, however B lies in memory; a transposed B is transposed back in registers. A is read where it lies.

The inner dimension is cut into blocks, so that packed panels stay in the cache. Where, depends on its length alone: so every
number of C is the sum of the same products in the same order, however C is cut into tiles and shared out to threads.

Rows that are left over by high tiles are done by lower ones. Tiles of a height are compiled when a product comes that needs them.
"""

from __future__ import annotations

import ctypes
from functools import cache, partial
from typing import Any

from whygrad.kernels.code import address_of, function_for_all
from whygrad.kernels.host import host
from whygrad.kernels.linker import symbols
from whygrad.kernels.tiles import half_transposed, lanes_within, load_some, prefetch, store_some
from whygrad.kernels.values import F32, I64, POINTER, VOID, Function, Value

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


class Tiles:
    """The tiles that are compiled: their addresses by height and width, and before them the sum of all heights."""

    def __init__(self) -> None:
        self.heights = [height for height in (8, 4, 2, 1) if height <= tile_rows()]  # each is half of the one before
        self._memory = (ctypes.c_int64 * (1 + len(self.heights) * VECTORS))()
        self._load = self.load
        for kept in (self._memory, self._load):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))  # also after this module is gone
        symbols.update(whygrad_tiles=ctypes.addressof(self._memory), whygrad_load_tiles=id(self._load))

    def require(self, f: Function, rows: Value) -> None:
        """In the entry of a product: load the tiles that `rows` rows are made up of, if they are not there yet."""
        needed = rows % tile_rows() | f.choose(rows >= tile_rows(), tile_rows(), f.integer(0))  # each height is a bit
        missing = needed & (f.load(I64, f.symbol("whygrad_tiles")) ^ -1)
        with f.when(missing.differs(0), likely=False):
            heights = f.call("PyLong_FromLongLong", POINTER, missing)
            done = f.call("PyObject_CallOneArg", POINTER, f.symbol("whygrad_load_tiles"), heights)
            f.call("Py_DecRef", VOID, heights)
            with f.when(done.equals(f.null), likely=False):
                f.give(f.null)
            f.call("Py_DecRef", VOID, done)

    def load(self, heights: int) -> None:
        for turn, height in enumerate(self.heights):
            if heights & height:
                for vectors in range(1, VECTORS + 1):
                    write = partial(_write_tile, rows=height, vectors=vectors)
                    self._memory[turn * VECTORS + vectors] = address_of(f"product: tile of {height} x {vectors}", write)
                self._memory[0] |= height


@cache
def tiles() -> Tiles:
    return Tiles()


@cache
def task() -> str:
    """What the task of all products is called."""
    tiles()
    pack, turn = function_for_all("product: pack", _write_pack), function_for_all("product: turn", _write_turn)
    lay_out = function_for_all("product: lay out", lambda module, name: _write_lay_out(module, name, pack, turn))
    return function_for_all("product: task", lambda module, name: _write_task(module, name, lay_out))


def _write_task(module: Any, name: str, lay_out: str) -> None:
    """void task(slots, low, high): do units `low` to `high`. A unit is a group of rows and a group of columns of a matrix."""
    f = Function(module, name, VOID, [POINTER, I64, I64])
    slots, low, high = f.arguments
    field = {word: f.load(POINTER if word in "abcd" else I64, slots, i) for i, word in enumerate(FIELDS)}
    product = _Product(f, field, lay_out)
    of_columns = _Parts(vectors_of(field["n"]), field["column_groups"])
    with f.loop(low, high) as unit:
        first_row = unit % field["row_groups"] * field["rows_each"]
        last_row = f.smaller(first_row + field["rows_each"], field["m"])
        matrix_and_columns = unit // field["row_groups"]
        a, b, c = _matrices(f, slots, field, matrix_and_columns // field["column_groups"])
        left, count = of_columns.part(matrix_and_columns % field["column_groups"])
        chunks = (count + (CHUNK - 1)) // CHUNK
        of_chunks = _Parts(count, chunks)
        with f.loop(0, chunks) as number:
            skip, chunk = of_chunks.part(number)
            product.write_chunk(a, b, c, (first_row, last_row), left + skip, chunk)
    f.give()


class _Parts:
    """range(n) in `parts` parts, at least one, whose lengths differ by at most one."""

    def __init__(self, n: Value, count: Value) -> None:
        self.each, self.longer = n // count, n % count

    def part(self, number: Value) -> tuple[Value, Value]:
        """Where it begins, and its length."""
        return number * self.each + number.f.smaller(number, self.longer), self.each + (number < self.longer).to(I64)


def _panels(vectors: Value) -> tuple[Value, _Parts]:
    """The number of panels for a number of vectors of columns, and the vectors of each."""
    count = (vectors + (VECTORS - 1)) // VECTORS
    return count, _Parts(vectors, count)


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

    def __init__(self, f: Function, field: dict[str, Value], lay_out: str) -> None:
        self.f = f
        self.field = field
        self.lay_out = lay_out
        self.packed = f.frame(F32, DEPTH * CHUNK * host().lanes)

    def write_chunk(self, a: Value, b: Value, c: Value, rows: tuple[Value, Value], left: Value, count: Value) -> None:
        """Some rows of C, and `count` vectors of its columns from `left` on."""
        f, field, lanes = self.f, self.field, host().lanes
        panels, of_panels = _panels(count)
        valid = f.smaller(field["n"] - left * lanes, count * lanes)
        as_it_lies = (rows[1] - rows[0] < PACK_FROM) & field["b_column"].equals(1) & valid.equals(count * lanes)
        has_d = field["d"].differs(f.null)
        with f.loop(0, field["depth"], field["block"]) as start:
            steps = f.smaller(field["depth"] - start, field["block"])
            here = f.pointer(F32, b, left * lanes * field["b_column"] + start * field["b_inner"])
            with f.when(~as_it_lies):
                f.call(self.lay_out, VOID, here, field["b_inner"], field["b_column"], steps, count, valid, self.packed)
            in_c = start > 0
            with_d = has_d & (start + field["block"] >= field["depth"])
            begin, last = f.variable(rows[0]), rows[1]
            with f.loop(0, len(tiles().heights)) as turn:
                height = f.integer(tile_rows()) >> turn
                first = begin.get()
                begin.add((last - first) & -height)
                with f.loop(first, begin.get(), height) as row, f.loop(0, panels) as panel:
                    v, wide = of_panels.part(panel)
                    skip, column = v * lanes, (left + v) * lanes
                    f.call_task(
                          f.load(POINTER, f.symbol("whygrad_tiles"), turn * VECTORS + wide),
                          f.pointer(F32, a, row * field["a_row"] + start * field["a_inner"]), field["a_row"], field["a_inner"],
                          f.choose(as_it_lies, f.pointer(F32, here, skip), f.pointer(F32, self.packed, skip * steps)),
                          f.choose(as_it_lies, field["b_inner"], wide * lanes), steps,
                          f.pointer(F32, c, row * field["n"] + column), field["n"],
                          f.smaller(valid - (v + wide - 1) * lanes, f.integer(lanes)),
                          f.pointer(F32, field["d"], row * field["d_row"] + column), field["d_row"],
                          in_c.to(I64) + with_d.to(I64), in_c.to(I64), f.choose(panel.equals(0), field["a_row"] * height, 0))


_TILE_ARGUMENTS = [POINTER, I64, I64, POINTER, I64, I64, POINTER, I64, I64, POINTER, I64, I64, I64, I64]


def _write_tile(module: Any, name: str, rows: int, vectors: int) -> None:
    """void tile(a, a_row, a_inner, b, b_step, steps, c, c_row, in_last, d, d_row, addends, in_c, ahead).

    The last vector has `in_last` numbers. What is added to the sums: nothing, C (if in_c) or D, or both. Meanwhile the rows of
    A that are `ahead` come into the cache, as does the memory of the result.
    """
    lanes = host().lanes
    f = Function(module, name, VOID, _TILE_ARGUMENTS)
    a, a_row, a_inner, b, b_step, steps, c, c_row, in_last, d, d_row, addends, in_c, ahead = f.arguments
    lefts = [f.pointer(F32, a, a_row * r) for r in range(rows)]
    sums = [[f.variable(f.zeros(F32, lanes)) for _ in range(vectors)] for _ in range(rows)]
    with f.loop(0, rows) as number:
        for v in range(vectors):
            prefetch(f, c, c_row * number + v * lanes, to_write=True)
    rows_in_turn = f.choose(a_inner.equals(1), rows - 1, f.integer(0))
    with f.loop(0, steps, running=True) as k:
        row = k & rows_in_turn
        prefetch(f, a, ahead + row * a_row + (k - row) * a_inner)
        panel = f.pointer(F32, b, k * b_step)
        right = [f.load(F32, panel, v * lanes, lanes) for v in range(vectors)]
        for r in range(rows):
            left = f.load(F32, lefts[r], k * a_inner).spread(lanes)
            for v in range(vectors):
                sums[r][v].set(f.fma(left, right[v], sums[r][v].get()))
    mask = lanes_within(f, f.integer(0), in_last, lanes)
    with f.loop(0, addends) as i:
        is_c = i.equals(0) & in_c.differs(0)
        base, row = f.choose(is_c, c, d), f.choose(is_c, c_row, d_row)
        for r in range(rows):
            here = f.pointer(F32, base, row * r)
            for v in range(vectors):
                at = v * lanes
                sums[r][v].add(f.load(F32, here, at, lanes) if v < vectors - 1 else load_some(f, here, at, mask))
    for r in range(rows):
        here = f.pointer(F32, c, c_row * r)
        for v in range(vectors):
            if v < vectors - 1:
                f.store(sums[r][v].get(), here, v * lanes)
            else:
                store_some(f, sums[r][v].get(), here, v * lanes, mask)
    f.give()


def _write_lay_out(module: Any, name: str, pack: str, turn: str) -> None:
    """void lay_out(b, b_inner, b_column, steps, count, valid, packed): `steps` rows of B, `count` vectors of columns, in panels.

    Columns from `valid` on do not exist; their contents in a panel do not matter.
    """
    lanes = host().lanes
    f = Function(module, name, VOID, [POINTER, I64, I64, I64, I64, I64, POINTER])
    b, b_inner, b_column, steps, count, valid, packed = f.arguments
    # For each vector of columns: where it begins among the packed panels, and how far apart its rows are.
    table = f.frame(I64, 2 * CHUNK)
    panels, of_panels = _panels(count)
    with f.loop(0, panels) as panel:
        first, wide = of_panels.part(panel)
        with f.loop(0, wide) as v:
            f.store((first * steps + v) * lanes, table, (first + v) * 2)
            f.store(wide * lanes, table, (first + v) * 2 + 1)
    squares = b_column.differs(1) & b_inner.equals(1) & (steps >= lanes)
    with f.either(squares) as (turned, straight):
        with turned:
            f.call(turn, VOID, b, b_column, steps, count, valid, table, packed)
        with straight:
            f.call(pack, VOID, b, b_inner, b_column, steps, count, valid, table, packed)
    f.give()


def _write_pack(module: Any, name: str) -> None:
    """void pack(b, b_inner, b_column, steps, count, valid, table, packed): wherever B's numbers are."""
    lanes = host().lanes
    f = Function(module, name, VOID, [POINTER, I64, I64, I64, I64, I64, POINTER, POINTER])
    b, b_inner, b_column, steps, count, valid, table, packed = f.arguments

    def by_rows() -> None:
        """Columns are neighbours: whole vectors are copied, row after row."""
        whole = valid // lanes
        with f.loop(0, steps) as k:
            source = f.pointer(F32, b, k * b_inner)
            with f.loop(0, whole) as v:
                place, width = _target(f, table, packed, v)
                prefetch(f, source, b_inner * 16 + v * lanes)
                f.store(f.load(F32, source, v * lanes, lanes), place, k * width)
        with f.when(whole < count):
            place, width = _target(f, table, packed, whole)
            mask = lanes_within(f, f.integer(0), valid - whole * lanes, lanes)
            with f.loop(0, steps) as k:
                f.store(load_some(f, b, k * b_inner + whole * lanes, mask), place, k * width)

    def one_by_one() -> None:
        with f.loop(0, count) as v:
            place, width = _target(f, table, packed, v)
            with f.loop(0, f.smaller(valid - v * lanes, f.integer(lanes))) as j, f.loop(0, steps) as k:
                f.store(f.load(F32, b, (v * lanes + j) * b_column + k * b_inner), place, k * width + j)

    with f.either(b_column.equals(1)) as (neighbours, apart):
        with neighbours:
            by_rows()
        with apart:
            one_by_one()
    f.give()


def _write_turn(module: Any, name: str) -> None:
    """void turn(b, b_column, steps, count, valid, table, packed): where neighbours are of one column.

    Squares are transposed in registers. The last one overlaps the one before.
    """
    lanes = host().lanes
    f = Function(module, name, VOID, [POINTER, I64, I64, I64, I64, POINTER, POINTER])
    b, b_column, steps, count, valid, table, packed = f.arguments
    with f.loop(0, count) as v:
        place, width = _target(f, table, packed, v)
        columns = [f.pointer(F32, b, f.smaller(v * lanes + i, valid - 1) * b_column) for i in range(lanes)]
        with f.loop(0, steps, lanes) as first:
            square = f.smaller(first, steps - lanes)
            for column in columns:
                prefetch(f, column, square + 2 * lanes)
            with f.loop(0, lanes, lanes // 2) as skip:
                k = square + skip
                for i, row in enumerate(half_transposed(f, [f.load(F32, column, k, lanes // 2) for column in columns])):
                    f.store(row, place, (k + i) * width)
    f.give()


def _target(f: Function, table: Value, packed: Value, v: Value) -> tuple[Value, Value]:
    """Where a vector of columns begins among the packed panels, and how far apart its rows are."""
    return f.pointer(F32, packed, f.load(I64, table, v * 2)), f.load(I64, table, v * 2 + 1)
