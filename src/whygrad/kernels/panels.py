"""Panels: matrices in a workspace whose rows are two vectors wide. Products with them, and transposing into and out of them.

These are functions of machine code, compiled once, that kernels call; what differs between calls (sizes, strides) are arguments.
"""

from __future__ import annotations

from typing import Any

from whygrad.kernels.code import function_for_all
from whygrad.kernels.host import host
from whygrad.kernels.tiles import lanes_within, load_some, store_some, transposed
from whygrad.kernels.values import F32, I64, POINTER, VOID, Function, Value


def panel_width() -> int:
    return 2 * host().lanes


# What functions are called. To be asked for before a kernel that calls them is loaded.

def multiplying(*, partial: bool) -> str:
    key = "panel partial product" if partial else "panel product"
    return function_for_all(key, lambda module, name: _write_product(module, name, partial))


def transposing() -> str:
    return function_for_all("panel turn", _write_turn)


def _write_product(module: Any, name: str, partial: bool) -> None:
    """product(m, k, a, a_row, a_step, b, b_row, c, c_row, keep, columns): c = a @ b, or c += a @ b if `keep`.

    `a` is m by k numbers, `a_row` apart down and `a_step` apart across; `b` is k rows of a panel, `c` m rows of one. If
    `partial`, `b` and `c` are parts of arrays, with any number of `columns`.
    """
    lanes, width = host().lanes, panel_width()
    f = Function(module, name, VOID, [I64, I64, POINTER, I64, I64, POINTER, I64, POINTER, I64, I64, I64])
    m, k, a, a_row, a_step, b, b_row, c, c_row, keep, columns = f.arguments
    halves = [0, lanes]

    def load(base: Value, start: Value, masks: list[Value]) -> list[Value]:
        if partial:
            return [load_some(f, base, start + half, mask) for half, mask in zip(halves, masks, strict=True)]
        return [f.load(F32, base, start + half, lanes) for half in halves]

    def store(values: list[Value], base: Value, start: Value, masks: list[Value]) -> None:
        for i, (half, value) in enumerate(zip(halves, values, strict=True)):
            if partial:
                store_some(f, value, base, start + half, masks[i])
            else:
                f.store(value, base, start + half)

    def tile(b: Value, c: Value, masks: list[Value], first: Value, rows: int) -> None:
        """Rows first to first + rows of c, summed up in registers."""
        starts = [f.pointer(F32, a, (first + i) * a_row) for i in range(rows)]
        sums = [[f.variable(f.zeros(F32, lanes)) for _ in halves] for _ in range(rows)]
        with f.loop(0, k) as step:
            across = load(b, step * b_row, masks)
            for start, row in zip(starts, sums, strict=True):
                number = f.load(F32, start, step * a_step).spread(lanes)
                for total, vector in zip(row, across, strict=True):
                    total.set(f.fma(number, vector, total.get()))
        with f.when(keep.differs(0)):
            for i, row in enumerate(sums):
                for total, vector in zip(row, load(c, (first + i) * c_row, masks), strict=True):
                    total.add(vector)
        for i, row in enumerate(sums):
            store([total.get() for total in row], c, (first + i) * c_row, masks)

    together = 8 if lanes == 16 else 4
    whole = m // together * together
    with f.loop(0, columns if partial else width, width) as column:
        of_panel = (f.pointer(F32, b, column), f.pointer(F32, c, column),
                    [lanes_within(f, column + half, columns, lanes) for half in halves] if partial else [])
        with f.loop(0, whole, together) as first:
            tile(*of_panel, first, together)
        with f.loop(whole, m) as first:
            tile(*of_panel, first, 1)
    f.give()


def _write_turn(module: Any, name: str) -> None:
    """turn(source, source_row, rows, columns, target, target_row, count, factor): the transpose, times `factor`.

    `source` has `rows` rows of `columns` numbers, `target` gets `columns` rows of `count`: those beyond `rows` repeat the last.
    """
    lanes = min(host().lanes, 8)  # squares of 16 take as long, and much longer to compile
    f = Function(module, name, VOID, [POINTER, I64, I64, I64, POINTER, I64, I64, F32])
    source, source_row, rows, columns, target, target_row, count, factor = f.arguments
    wide = factor.spread(lanes)
    with f.loop(0, count, lanes) as i, f.loop(0, columns, lanes) as j:
        across = lanes_within(f, j, columns, lanes)
        square = [load_some(f, source, f.smaller(i + lane, rows - 1) * source_row + j, across) * wide for lane in range(lanes)]
        for lane, vector in enumerate(transposed(f, square)):
            room = f.choose(j + lane < columns, count, 0)
            store_some(f, vector, target, (j + lane) * target_row + i, lanes_within(f, i, room, lanes))
    f.give()
