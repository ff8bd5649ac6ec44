"""Sums over all elements, in one pass over memory: of a loss that is a formula, of squares, or of the elements themselves.

They are added up in pieces of a fixed length, and the sums of the pieces one after the other, in float64: so the result
follows from the number of elements alone, not from which thread worked on which piece.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.kernels import elementwise
from whygrad.kernels.calls import Array, Entry, data_of, python_function
from whygrad.kernels.code import address_of
from whygrad.kernels.values import F32, F64, I32, I64, POINTER, VOID

PIECE = 4096


def total_function(name: str, formula: int, arguments: list[tuple[int, Any]], out: Any, fallback: Any, *, mean: bool,
                   serial_below: int) -> Callable[..., Any]:
    """A Python function that gives the sum of a formula over arrays of one shape, or its mean, as an array of no axes.

    The formula at that address writes sums of pieces; for the rest see `elementwise_function`.
    """
    return python_function(name, address_of("totals", _write_entry), fallback,
                           elementwise.parameters(formula, arguments, out, int(mean), serial_below))


def _write_entry(module: Any, name: str) -> None:
    entry = Entry(module, name, None)
    f = entry.f
    count = entry.parameter(elementwise.COUNT)
    entry.require(entry.count.equals(count))
    slots = f.frame(I64, elementwise.RUN)
    first, plain = elementwise.read_arguments(entry, count, slots)
    entry.require_shape(plain)
    n = Array(f, first).size()
    pieces = (n + (PIECE - 1)) // PIECE
    shape = entry.slots([pieces])
    sums = entry.new_array("f8", f.constant(1, I32), shape)
    f.store(data_of(f, sums), slots, elementwise.OUT)
    entry.run(entry.parameter(elementwise.FORMULA, POINTER), slots, n, entry.parameter(elementwise.SERIAL_BELOW), PIECE)
    total = f.variable(f.constant(0.0, F64))
    with f.loop(0, pieces) as i:
        total.add(f.load(F64, data_of(f, sums), i))
    f.call("Py_DecRef", VOID, sums)
    made = entry.new_array(entry.parameter(elementwise.OUT_DTYPE, POINTER), f.constant(0, I32), shape)
    with f.either(entry.parameter(elementwise.DOUBLE).differs(0)) as cases:
        for case, element in zip(cases, (F64, F32), strict=True):
            with case:
                value = total.get().to(element)  # as torch, which divides a sum that was rounded
                f.store(f.choose(entry.parameter(elementwise.RESULT).differs(0), value / n.to(element), value), data_of(f, made))
    entry.give(made)
