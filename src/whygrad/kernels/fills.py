"""Large arrays of one number, of any dtype: all threads write the same 64 bytes again and again."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from whygrad.kernels import address
from whygrad.kernels.calls import Entry, python_function
from whygrad.kernels.code import address_of
from whygrad.kernels.pool import pool
from whygrad.kernels.values import I64, POINTER, VOID, Function

PIECE = 64  # bytes
ALONE_BELOW = (1 << 18) // PIECE


@cache
def _pieces() -> Callable[..., Any]:
    """run(address, address of a piece, how many pieces to write)"""

    def build(module: Any, name: str) -> None:
        f = Function(module, f"{name}_task", VOID, [POINTER, I64, I64], internal=True)
        slots, low, high = f.arguments
        target = f.load(POINTER, slots, 0)
        piece = f.load(I64, f.load(POINTER, slots, 1), 0, PIECE // 8)
        with f.loop(low, high) as i:
            f.store(piece, target, i * (PIECE // 8))
        f.b.ret_void()
        entry = Entry(module, name, 3)
        target, value, count = (entry.number(entry.argument(i)).to(I64) for i in range(3))
        entry.run(f.function, entry.slots([target, value]), count, ALONE_BELOW, 64)
        nothing = entry.object("_Py_NoneStruct")
        entry.f.call("Py_IncRef", VOID, nothing)
        entry.give(nothing)

    pool()
    return python_function("fill", address_of("fill", build), (_refuse, _refuse))


def _refuse(*args: Any) -> Any:
    raise TypeError(f"internal error: not made for {args}")


def fill(x: Any, value: Any) -> None:
    """`x.fill(value)` of an array in one piece."""
    piece = np.empty(PIECE // x.itemsize, x.dtype)
    piece.fill(value)
    count = x.nbytes // PIECE
    _pieces()(address(x), address(piece), count)
    x.reshape(-1)[count * len(piece):] = piece[0]
