"""The code of pooling: vectors of neighbouring results where the windows lie one or two apart, single ones elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from whygrad.kernels.host import host
from whygrad.kernels.stages import Plan, Task, kernel_of_units, staged
from whygrad.kernels.tiles import evens, interleaved, lanes_within, load_some, store_some
from whygrad.kernels.values import F32, I32, I64, Value


class OfPlanes(Plan):
    numbers = "planes planes_serial"


class Places(OfPlanes):
    # places: in a plane
    numbers = "pixels places"


class OfWindows(OfPlanes):
    numbers = "height width out_rows out_columns"


class Windows(OfWindows):
    numbers = "kernel_down kernel_across stride_down stride_across padding_down padding_across dilation_down dilation_across"


class Bounds(OfWindows):
    # row_bounds: tables: first and last element of each window
    numbers = "row_bounds column_bounds"


@cache
def maxima(step: int, with_places: bool) -> Any:
    """`step`: the distance of windows, if it is 1 or 2, else 0. Arrays: images, places if wanted, maxima."""
    return staged(f"max_pool {step} {with_places}", "fif" if with_places else "ff", Windows,
                  planes=lambda f: _write_maxima(f, step, with_places))


def _write_maxima(f: Task, step: int, with_places: bool) -> None:
    """As torch has it: the first of equal ones, the last NaN, and padding is less than anything."""
    lanes = host().lanes if step else 1
    height, width, rows, columns = f.fields("height width out_rows out_columns")
    images, maxima = f.array(0), f.array(2 if with_places else 1)
    across, dilation = f.fields("stride_across dilation_across")
    with f.loop(f.low, f.high) as plane:
        image = f.pointer(F32, images, plane * height * width)
        with f.loop(0, rows) as row, f.loop(0, columns, lanes) as column:
            best = f.variable(f.constant(-math.inf, F32, lanes))
            place = f.variable(f.constant(-1, I32, lanes))
            with f.loop(0, f.field("kernel_down")) as tap:
                y = row * f.field("stride_down") + tap * f.field("dilation_down") - f.field("padding_down")
                with f.when(_below(f, y, height)):
                    line = f.pointer(F32, image, y * width)
                    with f.loop(0, f.field("kernel_across")) as other:
                        x = column * across + other * dilation - f.field("padding_across")
                        value, numbers, there = _neighbours(f, line, x, width, step)
                        better = there & ((value > best.get()) | value.differs(value) | (place.get() < 0))
                        best.set(f.choose(better, value, best.get()))
                        place.set(f.choose(better, numbers + (y * width).to(I32).spread(lanes), place.get()))
            at = (plane * rows + row) * columns + column
            if lanes == 1:
                f.store(best.get(), maxima, at)
                if with_places:
                    f.store(place.get().to(I64), f.array(1), at)
            else:
                mask = lanes_within(f, f.integer(0), columns - column, lanes)
                store_some(f, best.get(), maxima, at, mask)
                if with_places:
                    store_some(f, place.get().to(I64), f.array(1), at, mask)


def _neighbours(f: Task, line: Value, x: Value, width: Value, step: int) -> tuple[Value, Value, Value]:
    """Pixels x, x + step, ... of a line: their values, their numbers, and which of them exist."""
    if not step:
        there = _below(f, x, width)
        return f.load(F32, line, f.choose(there, x, 0)), x.to(I32), there
    numbers = f.lane_numbers(f.lanes) * step + x.to(I32).spread(f.lanes)
    there = numbers.below(width.to(I32).spread(f.lanes))
    if step == 1:
        return load_some(f, line, x, there), numbers, there
    a, b = (load_some(f, line, at, lanes_within(f, at, width, f.lanes)) for at in (x, x + f.lanes))
    return evens(f, a, b), numbers, there


@kernel_of_units("pool_scatter", "fiif", Places, "planes")
def scatter(f: Task) -> None:
    """Arrays: numbers, their places, a flag for a place outside, images."""
    pixels, count = f.fields("pixels places")
    with f.loop(f.low, f.high) as plane:
        numbers, places = f.pointer(F32, f.array(0), plane * count), f.pointer(I64, f.array(1), plane * count)
        image = f.pointer(F32, f.array(3), plane * pixels)
        _clear(f, image, pixels)
        with f.loop(0, count) as i:
            place = f.load(I64, places, i)
            with f.either(_below(f, place, pixels), likely=True) as (right, wrong):
                with right:
                    f.store(f.load(F32, image, place) + f.load(F32, numbers, i), image, place)
                with wrong:
                    f.store(f.integer(1), f.array(2))


def _clear(f: Task, target: Value, count: Value) -> None:
    _each_vector(f, count, lambda j, mask: store_some(f, f.zeros(F32, mask.lanes), target, j, mask))


def _each_vector(f: Task, count: Value, body: Callable[[Value, Value], None]) -> None:
    """body(index, which lanes are below `count`)"""
    with f.loop(0, count, f.lanes) as j:
        body(j, lanes_within(f, j, count, f.lanes))


@kernel_of_units("avg_pool", "fff", Windows, "planes")
def means(f: Task, step: int) -> None:
    """As `maxima`. Arrays: images, what to divide each sum by, means."""
    height, width, rows, columns = f.fields("height width out_rows out_columns")
    with f.loop(f.low, f.high) as plane, f.loop(0, rows) as row, f.loop(0, columns, f.lanes) as column:
        image = f.pointer(F32, f.array(0), plane * height * width)
        total = f.variable(f.zeros(F32, f.lanes))
        with f.loop(0, f.field("kernel_down")) as tap:
            y = row * f.field("stride_down") + tap - f.field("padding_down")
            with f.when(_below(f, y, height)), f.loop(0, f.field("kernel_across")) as other:
                x = column * step + other - f.field("padding_across")
                total.add(_neighbours(f, f.pointer(F32, image, y * width), x, width, step)[0])
        mask = lanes_within(f, column, columns, f.lanes)
        by = load_some(f, f.array(1), row * columns + column, mask)
        store_some(f, total.get() / by, f.array(2), (plane * rows + row) * columns + column, mask)


@kernel_of_units("avg_pool_backward", "ffwf", Windows, "planes")
def spread_means(f: Task, step: int) -> None:
    """The way back: each pixel is the sum of the shares of all windows that have it. Arrays: gradients, what to divide each
    by, workspace, images."""
    shares = f.workspace(2)
    height, width, rows, columns = f.fields("height width out_rows out_columns")
    down, padding_down, padding = f.fields("stride_down padding_down padding_across")
    with f.loop(f.low, f.high) as plane:
        _divide(f, f.pointer(F32, f.array(0), plane * rows * columns), f.array(1), shares, rows * columns)
        with f.loop(0, height) as y, f.loop(0, width, step * f.lanes) as x:
            totals = [f.variable(f.zeros(F32, f.lanes)) for _ in range(step)]
            # Window i has pixel y as its tap y + padding - i * stride.
            with f.loop((y + padding_down) % down, f.field("kernel_down"), down) as tap:
                row = (y + padding_down - tap) / down
                with f.when(_below(f, row, rows)):
                    for phase, total in enumerate(totals):
                        place = x + phase + padding
                        with f.loop(place % step, f.field("kernel_across"), step) as other:
                            column = (place - other) / step
                            total.add(load_some(f, shares, row * columns + column, lanes_within(f, column, columns, f.lanes)))
            target = f.pointer(F32, f.array(3), (plane * height + y) * width + x)
            found = [total.get() for total in totals]
            for part, value in enumerate(interleaved(f, *found) if step == 2 else found):
                store_some(f, value, target, part * f.lanes, lanes_within(f, x + part * f.lanes, width, f.lanes))


def _below(f: Task, i: Value, n: Value) -> Value:
    """0 <= i < n"""
    return i.below(n)


def _divide(f: Task, source: Value, by: Value, target: Value, count: Value) -> None:
    _each_vector(f, count, lambda j, mask: store_some(
        f, load_some(f, source, j, mask) / load_some(f, by, j, mask), target, j, mask))


@kernel_of_units("avg_pool of any windows", "ffwf", Bounds, "planes")
def uneven_means(f: Task) -> None:
    """For windows of any kind. Arrays: images, what to divide each sum by, workspace, means.

    Lines are added up first, then the columns of what they give.
    """
    line = f.workspace(2)
    height, width, rows, columns = f.fields("height width out_rows out_columns")
    row_bounds, column_bounds = f.table("row_bounds"), f.table("column_bounds")
    with f.loop(f.low, f.high) as plane, f.loop(0, rows) as row:
        image = f.pointer(F32, f.array(0), plane * height * width)
        target = f.pointer(F32, f.array(3), (plane * rows + row) * columns)
        first, last = _bounds(f, row_bounds, row)

        def add_lines(j: Value, mask: Value, image: Value = image, first: Value = first, last: Value = last) -> None:
            total = f.variable(f.zeros(F32, mask.lanes))
            with f.loop(first, last) as y:
                total.add(load_some(f, image, y * width + j, mask))
            f.store(total.get(), line, j)

        _each_vector(f, width, add_lines)
        with f.loop(0, columns) as column:
            total = f.variable(f.constant(0.0, F32))
            with f.loop(*_bounds(f, column_bounds, column)) as x:
                total.add(f.load(F32, line, x))
            f.store(total.get(), target, column)
        _divide(f, target, f.pointer(F32, f.array(1), row * columns), target, columns)


def _bounds(f: Task, table: Value, number: Value) -> tuple[Value, Value]:
    return f.load(I64, table, number * 2), f.load(I64, table, number * 2 + 1)


@kernel_of_units("avg_pool_backward of any windows", "ffwf", Bounds, "planes")
def spread_uneven_means(f: Task, apart: bool) -> None:
    """`apart`: each pixel lies in exactly one window. Arrays: gradients, what to divide each by, workspace, images."""
    line = f.workspace(2)
    height, width, rows, columns = f.fields("height width out_rows out_columns")
    row_bounds, column_bounds = f.table("row_bounds"), f.table("column_bounds")
    with f.loop(f.low, f.high) as plane:
        image = f.pointer(F32, f.array(3), plane * height * width)
        if not apart:
            _clear(f, image, height * width)
        with f.loop(0, rows) as row:
            if not apart:
                _clear(f, line, width)
            source = f.pointer(F32, f.array(0), (plane * rows + row) * columns)
            with f.loop(0, columns) as column:
                share = f.load(F32, source, column) / f.load(F32, f.array(1), row * columns + column)
                with f.loop(*_bounds(f, column_bounds, column)) as x:
                    f.store(share if apart else f.load(F32, line, x) + share, line, x)
            with f.loop(*_bounds(f, row_bounds, row)) as y:
                target = f.pointer(F32, image, y * width)

                def add(j: Value, mask: Value, target: Value = target) -> None:
                    value = load_some(f, line, j, mask)
                    store_some(f, value if apart else load_some(f, target, j, mask) + value, target, j, mask)

                _each_vector(f, width, add)
