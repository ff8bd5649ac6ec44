"""All gradients of layer_norm in one call: first row by row that of the input, then column by column those of weight and bias.

A thread owns its rows, and then its columns, so the order of adding never changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy import ascontiguousarray

from whygrad.kernels.calls import Entry, data_of, python_function
from whygrad.kernels.code import address_of, function_for_all
from whygrad.kernels.host import host
from whygrad.kernels.normalize import trailing, write_input_gradient
from whygrad.kernels.rowwise import SERIAL_BELOW, Row
from whygrad.kernels.values import F32, F64, I32, I64, POINTER, VOID, Function, Value

# What the tasks are given.
G, X, WEIGHT, EPS, MEANS, SCALES, G_X, G_WEIGHT, G_BIAS, ROWS, COLUMNS = range(11)
# Vectors of columns that are added up side by side, and the rows before they join the total: long sums lose less that way.
STRIP, CHUNK = 4, 128


def layer_norm_backward(numpy: Callable[..., Any]) -> Callable[..., Any]:
    tasks = (function_for_all("layer_norm_backward: rows", _write_rows),
             function_for_all("layer_norm_backward: columns", _write_columns))
    address = address_of("layer_norm_backward", lambda module, name: _write(module, name, *tasks))
    kernel = python_function("layer_norm_backward", address)

    def run(g: Any, x: Any, weight: Any, *, axis: Any, eps: float) -> Any:
        columns = trailing(x, axis)
        found = kernel(ascontiguousarray(g), ascontiguousarray(x), weight, eps, columns) if columns else None
        return numpy(g, x, weight, axis=axis, eps=eps) if found is None else found

    return run


def _write(module: Any, name: str, by_row: str, by_column: str) -> None:
    entry = Entry(module, name, 5)
    f = entry.f
    g, x, weight = (entry.array(entry.argument(i), "f4") for i in range(3))
    eps, columns = entry.number(entry.argument(3)), entry.number(entry.argument(4)).to(I64)
    entry.same_shape(g, x)
    n = x.size()
    entry.require_shape((n > 0) & (columns > 0) & weight.size().equals(columns))
    rows = n // columns
    made = [entry.new_array("f4", like.ndim, like.shape) for like in (x, weight, weight)]
    kept = entry.new_array("f4", f.constant(1, I32), entry.slots([rows * 2]))
    means = data_of(f, kept)
    slots = entry.slots([g.data, x.data, weight.data, eps, means, f.pointer(F32, means, rows),
                         *[data_of(f, array) for array in made], rows, columns])
    entry.run(by_row, slots, rows, f.choose(n < SERIAL_BELOW, rows + 1, 0), 1)
    strips = (columns + (STRIP * host().lanes - 1)) // (STRIP * host().lanes)
    entry.run(by_column, slots, strips, f.choose(n < SERIAL_BELOW, strips + 1, 0), 1)
    f.call("Py_DecRef", VOID, kept)
    entry.give_all(made)


def _write_rows(module: Any, name: str) -> None:
    """task(slots, low, high): the rows from low to high of the input's gradient, and what is known of each."""
    f = Function(module, name, VOID, [POINTER, I64, I64])
    slots, low, high = f.arguments
    weight, means, scales = (f.load(POINTER, slots, i) for i in (WEIGHT, MEANS, SCALES))
    eps, columns = f.load(F64, slots, EPS).to(F32), f.load(I64, slots, COLUMNS)
    with f.loop(low, high) as i:
        g, x, g_x = (f.pointer(F32, f.load(POINTER, slots, array), i * columns) for array in (G, X, G_X))
        mean, scale = write_input_gradient(Row(f, columns, [g, x, weight, eps], [g_x]))
        f.store(mean, means, i)
        f.store(scale, scales, i)
    f.give()


def _write_columns(module: Any, name: str) -> None:
    """task(slots, low, high): the strips of columns from low to high of the gradients of weight and bias."""
    f = Function(module, name, VOID, [POINTER, I64, I64])
    slots, low, high = f.arguments
    lanes = host().lanes
    g, x, means, scales = (f.load(POINTER, slots, i) for i in (G, X, MEANS, SCALES))
    results = [f.load(POINTER, slots, i) for i in (G_WEIGHT, G_BIAS)]
    rows, columns = (f.load(I64, slots, i) for i in (ROWS, COLUMNS))

    def add_up(j: Value, widths: list[int]) -> None:
        """Columns from j on, in vectors of these widths."""
        totals = [[f.variable(f.zeros(F32, int(w))) for _ in results] for w in widths]
        with f.loop(0, rows, CHUNK) as start:
            parts = [[f.variable(f.zeros(F32, int(w))) for _ in results] for w in widths]
            with f.loop(start, f.smaller(start + CHUNK, rows)) as row:
                mean, scale = f.load(F32, means, row), f.load(F32, scales, row)
                for k, (w, (for_weight, for_bias)) in enumerate(zip(widths, parts, strict=True)):
                    place = row * columns + j + k * lanes
                    slope = f.load(F32, g, place, w)
                    for_bias.add(slope)
                    for_weight.add(slope * ((f.load(F32, x, place, w) - mean.spread(int(w))) * scale.spread(int(w))))
            for some, more in zip(totals, parts, strict=True):
                for total, part in zip(some, more, strict=True):
                    total.add(part.get())
        for k, (w, pair) in enumerate(zip(widths, totals, strict=True)):
            for total, result in zip(pair, results, strict=True):
                f.store(total.get(), result, j + k * lanes, w)

    with f.loop(low, high) as strip:
        first = strip * (STRIP * lanes)
        last = f.smaller(first + STRIP * lanes, columns)
        whole = first + (last - first) // (STRIP * lanes) * (STRIP * lanes)
        with f.when(first < whole):
            add_up(first, [lanes] * STRIP)
        vectors = whole + (last - whole) // lanes * lanes
        with f.loop(whole, vectors, lanes) as j:
            add_up(j, [lanes])
        f.rest(vectors, last, lanes, lambda j, width: add_up(j, [width]))
    f.give()
