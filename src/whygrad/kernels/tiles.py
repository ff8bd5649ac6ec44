"""Pieces of which convolutions and poolings are made: masked and strided rows, and products in registers.

Everywhere the lanes of a vector are neighbouring pixels of one channel, so arrays are used as they lie (NCHW), any number of
channels will do, and weights are single numbers spread over the lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.kernels.values import F32, I32, VOID, Function, Some, Value

LINE = 16  # floats of a cache line


def lanes_within(f: Function, first: Value, count: Value, lanes: int) -> Value:
    """Which of the numbers first, first + 1, ... are at least 0 and below `count`."""
    numbers = f.lane_numbers(lanes) + first.to(I32).spread(lanes)
    return numbers.below(count.to(I32).spread(lanes))


def load_some(f: Function, base: Value, index: Any, mask: Value) -> Value:
    """float32 numbers from `index` on; 0 in lanes that are not wanted, whose memory is not touched."""
    return f.load(F32, base, index, Some(mask.lanes, mask))


def store_some(f: Function, value: Value, base: Value, index: Any, mask: Value) -> None:
    f.store(value, base, index, Some(mask.lanes, mask))


def prefetch(f: Function, base: Value, index: Value, to_write: bool = False) -> None:
    """What is read comes into the second level of the cache: columns far apart would push each other out of the first."""
    how = (1, 3, 1) if to_write else (0, 2, 1)
    f.call("llvm.prefetch.p0", VOID, f.pointer(F32, base, index), *[f.constant(n, I32) for n in how])


def evens(f: Function, a: Value, b: Value) -> Value:
    """Every second of the numbers in `a`, then in `b`."""
    return f.shuffle(a, b, list(range(0, 2 * a.lanes, 2)))


def odds(f: Function, a: Value, b: Value) -> Value:
    return f.shuffle(a, b, list(range(1, 2 * a.lanes, 2)))


def interleaved(f: Function, a: Value, b: Value) -> tuple[Value, Value]:
    """a0 b0 a1 b1 ... in two vectors: the inverse of `evens` and `odds`."""
    lanes = a.lanes
    order = [place for i in range(lanes) for place in (i, lanes + i)]
    return f.shuffle(a, b, order[:lanes]), f.shuffle(a, b, order[lanes:])


def transposed(f: Function, rows: list[Value]) -> list[Value]:
    """Squares side by side, as high as there are vectors: blocks across the diagonals change places, of 1, 2, 4 ... lanes."""
    lanes = rows[0].lanes
    rows = list(rows)
    apart = 1
    while apart < len(rows):
        low = [lane if not lane & apart else lanes + lane - apart for lane in range(lanes)]
        high = [lane + apart if not lane & apart else lanes + lane for lane in range(lanes)]
        for i in range(len(rows)):
            if not i & apart:
                a, b = rows[i], rows[i + apart]
                rows[i], rows[i + apart] = f.shuffle(a, b, low), f.shuffle(a, b, high)
        apart *= 2
    return rows


def half_transposed(f: Function, rows: list[Value]) -> list[Value]:
    """The transpose of half a square, whose rows are half vectors: half as many whole ones.

    It takes half as long to compile as a whole square, and is no slower: halves are put together while they are loaded.
    """
    lanes = len(rows)
    return transposed(f, [f.shuffle(a, b, list(range(lanes))) for a, b in zip(rows[:lanes // 2], rows[lanes // 2:], strict=True)])


def lane_sums(f: Function, vectors: list[Value]) -> Value:
    """The sum of each vector's lanes, as the lanes of one vector (whose further ones mean nothing).

    There are no more vectors than lanes. Halves are added up, of two vectors at a time: that takes far fewer steps than one
    vector after the other.
    """
    if len(vectors) == 1:
        return f.total(vectors[0])
    lanes = vectors[0].lanes
    vectors = list(vectors)
    while len(vectors) & (len(vectors) - 1):
        vectors.append(vectors[-1])
    group = lanes  # lanes that are partial sums of the same vector
    while group > 1:
        low = [lane for lane in range(lanes) if lane % group < group // 2]
        if len(vectors) > 1:
            low += [lane + lanes for lane in low]
        high = [lane + group // 2 for lane in low]
        pairs = list(zip(vectors[::2], vectors[1::2], strict=True)) if len(vectors) > 1 else [(vectors[0], vectors[0])]
        vectors = [f.shuffle(a, b, low) + f.shuffle(a, b, high) for a, b in pairs]
        lanes = vectors[0].lanes
        group //= 2
    return vectors[0]


def pack_image(f: Function, source: Value, height: Value, width: Value, top: Value, left: Value, target: Value, rows: Value,
               pitch: Value, plane: Value, stride: tuple[Value, Value], step: int) -> None:
    """Copy an image (one channel) from pixel (top, left) on into `rows` rows of `pitch`, with zeros beyond its border.

    If the stride is (sy, sx), it is taken apart into sy * sx images, `plane` apart, of every sy-th row and sx-th column:
    what a tap of the kernel meets in neighbouring places is then next to each other. `step` is the column stride if it is 1
    or 2, else 0. Rows are stored whole vectors at a time; what this spoils is written later, or slack behind a plane.
    """
    down, across = stride
    with f.loop(0, down) as phase, f.loop(0, rows) as row:
        y = top + phase + row * down
        inside = y.below(height)
        count = f.choose(inside, width, 0)
        line = f.pointer(F32, source, f.choose(inside, y, 0) * width)
        here = f.pointer(F32, target, phase * across * plane + row * pitch)
        if step == 1:
            with f.loop(0, pitch, f.lanes) as j:
                x = left + j
                f.store(load_some(f, line, x, lanes_within(f, x, count, f.lanes)), here, j)
        elif step == 2:
            with f.loop(0, pitch, f.lanes) as j:
                x = left + j * 2
                a, b = (load_some(f, line, at, lanes_within(f, at, count, f.lanes)) for at in (x, x + f.lanes))
                f.store(evens(f, a, b), here, j)
                f.store(odds(f, a, b), here, plane + j)
        else:
            with f.loop(0, across) as column, f.loop(0, pitch) as j:
                x = left + column + j * across
                there = x.below(count)
                value = f.load(F32, line, f.choose(there, x, 0))
                f.store(f.choose(there, value, 0.0), here, column * plane + j)


def copy_row(f: Function, source: Value, target: Value, count: Value, change: Callable[[Value], Value] | None = None) -> None:
    """`count` floats, of which no more are written."""
    whole = count // f.lanes * f.lanes
    with f.loop(0, whole, f.lanes) as j:
        value = f.load(F32, source, j, f.lanes)
        f.store(change(value) if change else value, target, j)
    with f.when(whole < count):
        mask = lanes_within(f, f.integer(0), count - whole, f.lanes)
        value = load_some(f, source, whole, mask)
        store_some(f, change(value) if change else value, target, whole, mask)


def spread_products(f: Function, weights: Value, pixels: list[Value], count: Value, filters: int, start: list[Value],
                    offset: Callable[[Value], Value]) -> list[list[Value]]:
    """The heart of a convolution: sum over k of weights[k, p] * (the vector at pixels[q] + offset(k)), for all p and q.

    `pixels` are addresses; the sums stay in registers and begin with `start[p]`.
    """
    sums = [[f.variable(start[p]) for _ in pixels] for p in range(filters)]
    with f.loop(0, count) as k:
        here = offset(k)
        vectors = [f.load(F32, base, here, f.lanes) for base in pixels]
        for p in range(filters):
            weight = f.load(F32, weights, k * filters + p).spread(f.lanes)
            for q, pixel in enumerate(vectors):
                sums[p][q].set(f.fma(weight, pixel, sums[p][q].get()))
    return [[total.get() for total in row] for row in sums]


def dot_products(f: Function, a: list[Value], b: list[Value], steps: Value, place: Callable[[Value], tuple[Value, Value]]
                 ) -> list[list[Value]]:
    """Sums over vectors: of (the vector of a[p]) * (the one of b[k]), for all p and k, each as one vector of partial sums.

    `place(step)` says where the vectors are: an index for all of `a`, and one for all of `b`.
    """
    sums = [[f.variable(f.zeros(F32, f.lanes)) for _ in b] for _ in a]
    with f.loop(0, steps) as step:
        in_a, in_b = place(step)
        left = [f.load(F32, base, in_a, f.lanes) for base in a]
        for k, base in enumerate(b):
            right = f.load(F32, base, in_b, f.lanes)
            for p, value in enumerate(left):
                sums[p][k].set(f.fma(value, right, sums[p][k].get()))
    return [[total.get() for total in row] for row in sums]
