"""Kernels over matrices whose widths are multiples of one number, such as the gates of a recurrent cell; written in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.kernels.calls import Entry, python_function
from whygrad.kernels.code import address_of
from whygrad.kernels.host import host
from whygrad.kernels.pool import pool
from whygrad.kernels.values import F32, I64, POINTER, VOID, Function, Value

_whygrad_internal_ = True

ALONE_BELOW = 8192


class Blocks:
    """One row: `load(i, part, j, width)` reads from part `part` of argument `i`, `store` writes there."""

    def __init__(self, f: Function, rows: list[Value], size: Value) -> None:
        self.f = f
        self.rows = rows
        self.size = size

    def load(self, i: int, part: int, j: Value, width: int) -> Value:
        return self.f.load(F32, self.rows[i], self.size * part + j, width)

    def store(self, value: Value, i: int, part: int, j: Value) -> None:
        self.f.store(value, self.rows[i], self.size * part + j)


Body = Callable[[Blocks, Value, int], None]


def block_kernel(name: str, widths: tuple[int, ...], written: frozenset[int], body: Body) -> Callable[..., Any]:
    """A function of float32 matrices, argument i of `widths[i] * size` columns, and `size`.

    `body(blocks, j, width)` treats `width` columns from j on of each part of a row. Gives None, or NotImplemented if the
    arguments are others.
    """
    pool()
    address = address_of(f"blocks {name} {widths}", lambda module, symbol: _write(module, symbol, widths, written, body))

    def declined(*args: Any) -> Any:
        return NotImplemented

    return python_function(name, address, (declined, declined))


def _write(module: Any, name: str, widths: tuple[int, ...], written: frozenset[int], body: Body) -> None:
    lanes = host().lanes
    f = Function(module, f"{name}_task", VOID, [POINTER, I64, I64], internal=True)
    slots, low, high = f.arguments
    starts = [f.load(POINTER, slots, i) for i in range(len(widths))]
    size = f.load(I64, slots, len(widths))
    whole = size // lanes * lanes
    with f.loop(low, high) as row:
        blocks = Blocks(f, [f.pointer(F32, start, row * size * width) for start, width in zip(starts, widths, strict=True)], size)
        with f.loop(0, whole, lanes) as j:
            body(blocks, j, lanes)
        with f.loop(whole, size) as j:
            body(blocks, j, 1)
    f.b.ret_void()

    entry = Entry(module, name, len(widths) + 1)
    e = entry.f
    wanted = entry.number(entry.argument(len(widths))).to(I64)
    entry.require(wanted > 0)
    values = []
    rows = None
    for i, width in enumerate(widths):
        array = entry.array(entry.argument(i), "f4", i in written)
        n = array.size()
        if rows is None:
            rows = n // (wanted * width)
        entry.require_shape(n.equals(rows * wanted * width))
        values.append(array.data)
    assert rows is not None
    entry.run(f.function, entry.slots([*values, wanted]), rows, (e.integer(ALONE_BELOW) + wanted - 1) // wanted, 4)
    nothing = entry.object("_Py_NoneStruct")
    e.call("Py_IncRef", VOID, nothing)
    entry.give(nothing)
