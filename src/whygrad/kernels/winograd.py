"""3x3 convolution in single steps by Winograd's F(2x2, 3x3): 16 products for a tile of 2x2 results instead of 36.

With d a 4x4 patch of the image and w the kernel, the tile is A'[(G w G') * (B' d B)]A: the sum over channels is done between,
by one matrix product for each of the 16 places. A patch of 4x4 at every second pixel is what a 4x4 kernel of stride 2 meets,
so images are packed as for that, and the lanes of a vector are neighbouring tiles.

Sums of pixels are multiplied here, so an infinite one spoils its whole tile. The results are looked at: if any is not
finite, the caller computes everything by definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from whygrad.kernels import conv_plan
from whygrad.kernels.conv_direct import BIAS, IMAGE, WEIGHT, WORKSPACE, Unit, Weights, direct, packing
from whygrad.kernels.conv_plan import Axis
from whygrad.kernels.host import host
from whygrad.kernels.stages import SERIAL, Elsewhere, Part, Task, part, staged, workspace
from whygrad.kernels.tiles import copy_row, interleaved, spread_products
from whygrad.kernels.values import F32, I64, POINTER, Value

FLAG, RESULT = 4, 5
PLACES = 16

Matrix = list[list[float]]

B: Matrix = [[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]]  # transposed: rows are what a result is made of
G: Matrix = [[1, 0, 0], [.5, .5, .5], [.5, -.5, .5], [0, 0, 1]]
A: Matrix = [[1, 1, 1, 0], [0, 1, -1, -1]]


def combination(weights: Sequence[float], values: Sequence[Value]) -> Value:
    """A sum of values by weights that are 1, 1/2 or 0, or the negatives."""
    parts: dict[float, Any] = {}
    for weight, value in sorted(zip(weights, values, strict=True), key=lambda pair: -pair[0]):
        if weight:
            part = parts.get(abs(weight))
            if part is None:
                parts[abs(weight)] = value if weight > 0 else -value
            else:
                parts[abs(weight)] = part + value if weight > 0 else part - value
    terms = [part if size == 1 else part * size for size, part in parts.items()]
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]


def both_sides(matrix: Sequence[Sequence[float]], values: Sequence[Sequence[Value]]) -> list[list[Value]]:
    """matrix @ values @ matrix.T"""
    columns = [[combination(row, column) for row in matrix] for column in zip(*values, strict=True)]
    return [[combination(row, line) for row in matrix] for line in zip(*columns, strict=True)]


class Winograd(conv_plan.ByPanels):
    # tiles: of a unit, to whole vectors and one more; patches: where in the workspace transformed patches and products begin;
    # result_rows: of pixels
    numbers = "tiles patches products result_rows result_columns"


class Planned(NamedTuple):
    plan: Any
    run: Any
    by_definition: Any

    def __call__(self, image: Any, weight: Any, bias: Any, result: Any) -> Any:
        flag = np.zeros(1, np.int64)
        self.run(self.plan, image, weight, bias, workspace(self.plan), flag, result)
        return self.by_definition(image, weight, bias, result) if flag[0] else result


def applies(channels: int, filters: int, down: Axis, across: Axis) -> bool:
    """Is it a 3x3 kernel in single steps, and are there enough channels to make up for the transformations?"""
    return channels >= 8 and filters >= 8 and all(
        axis.stride == axis.apart == 1 and len(axis.taps) == 3 and axis.taps[2].shift - axis.taps[0].shift == 2
        for axis in (down, across))


# Floats of transformed patches that a thread works on at a time, but neither too few nor too many tiles.
PATCH_FLOATS, FEWEST_TILES, MOST_TILES = 1 << 18, 64, 256


def tiles_at_a_time(channels: int) -> int:
    return min(max(FEWEST_TILES, PATCH_FLOATS // (PLACES * channels)), MOST_TILES)


def room_for(tiles: int) -> int:
    """Floats for a row of tiles: with what is stored of the last vector, and an odd number of vectors, because rows that are
    a power of two apart are slow."""
    lanes = host().lanes
    return (-(-tiles // lanes) + 1 | 1) * lanes


def of_tiles(axis: Axis) -> Axis:
    first = axis.taps[0].shift
    return Axis(axis.size, -(-axis.out // 2), 2, tuple([conv_plan.Tap(first + i, i) for i in range(4)]), 0, 1, axis.out)


@lru_cache(maxsize=512)
def winograd(count: int, groups: int, channels: int, filters: int, down: Axis, across: Axis, weights: Weights) -> Planned:
    def by_definition(*arrays: Any) -> Any:
        return direct(count, groups, channels, filters, down, across, weights)(*arrays)

    lanes = host().lanes
    together, vectors = conv_plan.register_block(filters, 8 if lanes == 16 else 4, conv_plan.accumulators())
    tiles_down, tiles_across = of_tiles(down), of_tiles(across)
    work = groups * filters * channels * tiles_down.out * tiles_across.out * PLACES
    layout = conv_plan.lay_out(count, channels, tiles_down, tiles_across, work, dense=tiles_at_a_time(channels))
    blocks = -(-filters // together)
    panel = together * PLACES * channels
    packed = channels * layout.plane * 4 + layout.pitch + 2 * lanes
    packed = -(-packed // lanes) * lanes
    tiles = room_for(layout.block * layout.image_step)
    patches = PLACES * channels * tiles
    products = PLACES * together * vectors * lanes
    results = 4 * filters * tiles
    images = conv_plan.of_images(count, groups, channels, filters, layout, tiles_down, tiles_across)
    serial = work * count < conv_plan.SERIAL_WORK or images["units"] == 1
    plan = Winograd.of(
        **images,
        each=packed + patches + products + results, shared=-(-groups * blocks * panel // lanes) * lanes,
        panels=groups * blocks, panels_serial=SERIAL if serial else 0, units_serial=SERIAL if serial else 0,
        blocks=blocks, tiles=tiles, patches=packed, products=packed + patches, results=packed + patches + products,
        weight_filter=weights.filter, weight_channel=weights.channel, weight_group=weights.group,
        result_rows=down.out, result_columns=across.out,
        element_table=conv_plan.elements(down, across, weights.width),
        offset_table=conv_plan.offsets(layout, 1, tiles_down, tiles_across))
    return Planned(plan, compiled(together, vectors), by_definition)


@lru_cache(maxsize=64)
def compiled(together: int, vectors: int) -> Any:
    functions = (packing(2), transforming(), _multiplying(together, vectors), _multiplying(together, 1),
                 _transforming_results(), _finishing())
    return staged("convolution", "ffowif", Winograd, key=f"winograd convolution {together} {vectors}",
                  panels=Elsewhere(f"winograd panels of weights {together}", Winograd, lambda f: _write_panels(f, together)),
                  units=lambda f: _write_units(f, together, vectors, *functions))


def _write_panels(f: Task, together: int) -> None:
    """Transform the weights: for each block of filters, place and channel. Lanes are filters here."""
    blocks, filters, channels = f.fields("blocks filters channels")
    table = f.table("element_table")
    taps = [f.load(I64, table, tap) for tap in range(9)]
    gathered = f.frame(F32, 9 * together)
    with f.loop(f.low, f.high) as panel:
        group, block = panel // blocks, panel % blocks
        target = f.pointer(F32, f.array(WORKSPACE), panel * (PLACES * together) * channels)
        source = f.pointer(F32, f.array(WEIGHT), group * f.field("weight_group"))
        with f.loop(0, channels) as channel:
            with f.loop(0, together) as p:
                number = f.smaller(block * together + p, filters - 1)
                base = f.pointer(F32, source, number * f.field("weight_filter") + channel * f.field("weight_channel"))
                for tap, element in enumerate(taps):
                    f.store(f.load(F32, base, element), gathered, p + tap * together)
            kernel = [f.load(F32, gathered, tap * together, together) for tap in range(9)]
            transformed = both_sides(G, [kernel[0:3], kernel[3:6], kernel[6:9]])
            for place, value in enumerate(value for line in transformed for value in line):
                f.store(value, target, (channels * place + channel) * together)


@part("winograd transform patches", [I64, POINTER, POINTER, I64, I64], conv_plan.OfImages)
def transforming(f: Part) -> None:
    """The name of transform(plan, unit, images, patches, width, step), for all channels of a unit's images.

    Patches become [place][channel][tile], places `step` apart, channels `width`. Rows of tiles lie close together: what the last
    vector of a row has too much is written again with the next row.
    """
    number, images, patches, width, step = f.given
    unit = Unit(f, number)
    table = f.table("offset_table")
    places = [f.load(I64, table, i) for i in range(PLACES)]
    columns = f.field("out_columns")
    with f.loop(0, f.field("channels")) as channel, f.loop(0, unit.images) as i, f.loop(0, unit.rows) as row:
        source = f.pointer(F32, images, channel * f.field("plane") * 4 + i * f.field("image") + row * f.field("pitch"))
        target = f.pointer(F32, patches, channel * width + (i * unit.rows + row) * columns)
        with f.loop(0, columns, f.lanes) as column:
            here = f.pointer(F32, source, column)
            patch = [f.load(F32, here, place, f.lanes) for place in places]
            transformed = both_sides(B, [patch[0:4], patch[4:8], patch[8:12], patch[12:16]])
            for place, value in enumerate(value for line in transformed for value in line):
                f.store(value, target, step * place + column)


def _write_units(f: Task, together: int, vectors: int, pack: str, transform: str, several: str, one: str, transform_results: str,
                 finish: str) -> None:
    mine = f.workspace(WORKSPACE)
    patches, products, results = (f.pointer(F32, mine, f.field(name)) for name in ("patches", "products", "results"))
    groups, channels, blocks = f.fields("groups channels blocks")
    filter_step = f.integer(vectors * f.lanes)
    with f.loop(f.low, f.high) as number:
        unit = Unit(f, number)
        with f.loop(0, groups) as group:
            f.do(pack, f.plan, number, group, f.array(IMAGE), mine)
            f.do(transform, f.plan, number, mine, patches, f.field("tiles"), channels * f.field("tiles"))
            covered = (unit.images * unit.rows * f.field("out_columns") + f.lanes - 1) // f.lanes
            with f.loop(0, covered, vectors) as v:
                count = f.smaller(covered - v, f.integer(vectors))
                with f.loop(0, blocks) as block:
                    panel = f.pointer(F32, f.array(WORKSPACE), (group * blocks + block) * (PLACES * together) * channels)
                    here = f.pointer(F32, patches, v * f.lanes)
                    with f.either(count.equals(vectors)) as (all_of_them, some):
                        with all_of_them:
                            f.do(several, f.plan, panel, here, products, filter_step)
                        with some, f.loop(0, count) as i:
                            f.do(one, f.plan, panel, f.pointer(F32, here, i * f.lanes),
                                   f.pointer(F32, products, i * f.lanes), filter_step)
                    f.do(transform_results, f.plan, products, filter_step, f.integer(together), block * together,
                           results, v, count)
            f.do(finish, f.plan, number, group, results, f.array(BIAS), f.array(RESULT), f.array(FLAG))


@part("winograd multiply", [POINTER, POINTER, POINTER, I64], Winograd)
def _multiplying(f: Part, together: int, vectors: int) -> None:
    """The name of multiply(plan, panel, patches, products, filter_step): sums over channels for each place and filter, of
    `vectors` vectors of tiles. Products are [place][filter][vector], filters `filter_step` apart."""
    panel, patches, products, filter_step = f.given
    channels, tiles = f.fields("channels tiles")
    with f.loop(0, PLACES) as place:
        here = f.pointer(F32, patches, channels * place * tiles)
        target = f.pointer(F32, products, place * together * filter_step)
        found = spread_products(f, f.pointer(F32, panel, channels * place * together),
                                [f.pointer(F32, here, i * f.lanes) for i in range(vectors)], channels, together,
                                [f.zeros(F32, f.lanes)] * together, lambda k: k * tiles)
        for p, row in enumerate(found):
            for i, total in enumerate(row):
                f.store(total, target, filter_step * p + i * f.lanes)


@part("winograd transform results", [POINTER, I64, I64, I64, POINTER, I64, I64], Winograd)
def _transforming_results(f: Part) -> None:
    """The name of transform(plan, products, filter_step, together, first filter, results, first vector, count): tiles of pixels.

    Upper and lower rows of tiles are kept apart: [filter][upper or lower][pixels].
    """
    products, filter_step, together, first, results, v, count = f.given
    length = f.field("tiles") * 2
    with f.loop(0, f.smaller(f.field("filters") - first, together)) as p, f.loop(0, count) as i:
        target = f.pointer(F32, results, (first + p) * 2 * length + (v + i) * (2 * f.lanes))
        source = f.pointer(F32, products, p * filter_step + i * f.lanes)
        found = [f.load(F32, source, together * filter_step * place, f.lanes) for place in range(PLACES)]
        tile = both_sides(A, [found[0:4], found[4:8], found[8:12], found[12:16]])
        for half, (left, right) in enumerate(tile):
            for part, value in enumerate(interleaved(f, left, right)):
                f.store(value, target, length * half + part * f.lanes)


@part("winograd finish", [I64, I64, POINTER, POINTER, POINTER, POINTER], Winograd)
def _finishing(f: Part) -> None:
    """The name of finish(plan, unit, group, results, bias, target, flag): rows of pixels to where they belong.

    Numbers that are not finite leave a trace.
    """
    unit_number, group, results, bias, target, flag = f.given
    unit = Unit(f, unit_number)
    filters, rows, columns = f.fields("filters result_rows result_columns")
    length = f.field("tiles") * 2
    has_bias = bias.differs(f.null)
    trace = f.variable(f.zeros(F32, f.lanes))
    first = unit.first_row * 2
    with f.loop(0, filters) as number:
        start = f.variable(f.constant(0.0, F32))
        with f.when(has_bias):
            start.set(f.load(F32, bias, group * filters + number))
        shift = start.get().spread(f.lanes)

        def finished(value: Value, shift: Value = shift) -> Value:
            trace.set(f.fma(value, 0.0, trace.get()))
            return value + shift

        with f.loop(0, unit.images) as i:
            plane = ((unit.first_image + i) * f.field("groups") + group) * filters + number
            here = f.pointer(F32, target, (plane * rows + first) * columns)
            with f.loop(0, f.smaller(unit.rows * 2, rows - first)) as row:
                place = (number * 2 + row % 2) * length + (i * unit.rows + row // 2) * f.field("out_columns") * 2
                copy_row(f, f.pointer(F32, results, place), f.pointer(F32, here, row * columns), columns, finished)
    with f.when(f.total(trace.get()).differs(0.0)):
        f.store(f.integer(1), flag)
