"""The gradient of a 3x3 kernel that moves in single steps, by Winograd's F(2x2, 3x3) the other way round.

A tile's share is G'[(A g A') * (B' d B)]G, with g the 2x2 gradients of the tile and d its 4x4 patch of the image. In the middle
there is one matrix product for each of the 16 places, summed over tiles; lanes are filters in it, so gradients are transposed
when they are packed. Chunks are as in conv_weight.py, and what is not finite is computed by definition as in winograd.py.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from whygrad.kernels import winograd
from whygrad.kernels.conv_direct import Unit, packing
from whygrad.kernels.conv_plan import SERIAL_WORK, Axis, ByChunks, accumulators, chunks_of, lay_out, of_images, offsets
from whygrad.kernels.conv_weight import GRADIENT, IMAGE, WORKSPACE, weight_gradient
from whygrad.kernels.host import host
from whygrad.kernels.stages import SERIAL, Elsewhere, Part, Task, part, staged
from whygrad.kernels.tiles import half_transposed, lanes_within, load_some
from whygrad.kernels.values import F32, I64, POINTER


class WinogradWeight(ByChunks):
    """Its pixels out are tiles. The sums of a chunk are [group][place][channel][filter]."""

    # tiles: of a unit, to whole vectors and one more; patches: where in the workspace they begin; gradient_rows: of pixels
    numbers = "padded_channels tiles patches transformed unit_tiles gradient_rows gradient_columns"


def blocks(channels: int, filter_vectors: int) -> tuple[int, int]:
    """Channels and vectors of filters that are summed up together."""
    across = -(-filter_vectors // -(-filter_vectors // 4))
    most = min(12, accumulators() // across)
    return -(-channels // -(-channels // most)), across


@lru_cache(maxsize=512)
def winograd_weight(count: int, groups: int, channels: int, filters: int, down: Axis, across: Axis) -> winograd.Planned:
    lanes = host().lanes

    def by_definition(*arrays: Any) -> Any:
        return weight_gradient(count, groups, channels, filters, down, across)(*arrays)

    filter_vectors = -(-filters // lanes)
    a, b = blocks(channels, filter_vectors)
    padded_channels = -(-channels // a) * a
    padded_filters = -(-filter_vectors // b) * b * lanes
    tiles_down, tiles_across = winograd.of_tiles(down), winograd.of_tiles(across)
    work = groups * filters * channels * tiles_down.out * tiles_across.out * winograd.PLACES
    layout = lay_out(count, channels, tiles_down, tiles_across, work,
                     dense=winograd.tiles_at_a_time(channels + padded_filters))
    images = of_images(count, groups, channels, filters, layout, tiles_down, tiles_across)
    size = groups * winograd.PLACES * padded_channels * padded_filters
    chunks, chunk_units = chunks_of(images["units"], 8 if size <= 1 << 18 else 4 if size <= 1 << 20 else 2)
    packed = -(-(channels * layout.plane * 4 + layout.pitch + 2 * lanes) // lanes) * lanes
    unit_tiles = layout.block * layout.image_step
    tiles = winograd.room_for(unit_tiles)
    patches = winograd.PLACES * padded_channels * tiles
    gradients = (layout.block * layout.band_rows * 4 * tiles_across.out + lanes) * padded_filters
    serial = work * count < SERIAL_WORK or chunks == 1
    plan = WinogradWeight.of(
        **images,
        each=packed + patches + gradients + winograd.PLACES * unit_tiles * padded_filters, shared=chunks * size,
        chunks=chunks, chunks_serial=SERIAL if serial else 0, sums=groups * channels, sums_serial=SERIAL if serial else 0,
        chunk_units=chunk_units, padded_channels=padded_channels, padded_filters=padded_filters, tiles=tiles,
        patches=packed, gradients=packed + patches, transformed=packed + patches + gradients, unit_tiles=unit_tiles,
        gradient_rows=down.out, gradient_columns=across.out,
        offset_table=offsets(layout, 1, tiles_down, tiles_across))
    return winograd.Planned(plan, compiled(a, b, padded_filters == filters), by_definition)


@lru_cache(maxsize=64)
def compiled(a: int, b: int, whole: bool) -> Any:
    """`whole`: the filters are whole vectors."""
    functions = packing(2), winograd.transforming(), _packing_gradients(whole), _transforming_gradients(), _adding_products(a, b)
    return staged("convolution_weight", "ffowif", WinogradWeight, key=f"winograd weight gradient {a} {b} {whole}",
                  chunks=lambda f: _write_chunks(f, *functions),
                  sums=Elsewhere("winograd sums of chunks", WinogradWeight, _write_sums))


def _write_chunks(f: Task, pack: str, transform: str, pack_gradients: str, transform_gradients: str,
                  add_products: str) -> None:
    mine = f.workspace(WORKSPACE)
    patches, gradients, tiles = (f.pointer(F32, mine, f.field(name)) for name in ("patches", "gradients", "transformed"))
    groups = f.field("groups")
    size = f.field("padded_channels") * f.field("padded_filters") * winograd.PLACES
    with f.loop(f.low, f.high) as chunk:
        sums = f.pointer(F32, f.array(WORKSPACE), chunk * groups * size)
        with f.loop(0, groups * size, f.lanes) as i:
            f.store(f.zeros(F32, f.lanes), sums, i)
        first = chunk * f.field("chunk_units")
        with f.loop(first, f.smaller(first + f.field("chunk_units"), f.field("units"))) as number:
            unit = Unit(f, number)
            with f.loop(0, groups) as group:
                f.do(pack, f.plan, number, group, f.array(IMAGE), mine)
                f.do(transform, f.plan, number, mine, patches, f.field("tiles"),
                       f.field("padded_channels") * f.field("tiles"))
                f.do(pack_gradients, f.plan, number, group, f.array(GRADIENT), gradients)
                rows = unit.images * unit.rows
                f.do(transform_gradients, f.plan, rows, gradients, tiles)
                f.do(add_products, f.plan, rows * f.field("out_columns"), patches, tiles,
                       f.pointer(F32, sums, group * size))


@part("winograd pack gradients", [I64, I64, POINTER, POINTER], WinogradWeight)
def _packing_gradients(f: Part, whole: bool) -> None:
    """The name of pack(plan, unit, group, gradients, target): [image][row][column][filter], to even numbers of rows and columns,
    with zeros where there is none."""
    unit_number, group, gradients, target = f.given
    unit = Unit(f, unit_number)
    filters, padded, rows, columns = f.fields("filters padded_filters gradient_rows gradient_columns")
    across = f.field("out_columns") * 2
    pixels = rows * columns
    with f.loop(0, unit.images) as i, f.loop(0, unit.rows * 2) as row:
        y = unit.first_row * 2 + row
        inside = y < rows
        source = f.pointer(F32, gradients, ((unit.first_image + i) * f.field("groups") + group) * filters * pixels
                           + f.choose(inside, y, 0) * columns)
        here = f.pointer(F32, target, (i * f.field("band_rows") * 2 + row) * across * padded)
        with f.loop(0, padded, f.lanes) as first, f.loop(0, across, f.lanes // 2) as x:
            mask = lanes_within(f, x, f.choose(inside, columns, 0), f.lanes // 2)
            lines = []
            for lane in range(f.lanes):
                number = first + lane
                if not whole:  # filters beyond the last one are never looked at again
                    number = f.choose(number < filters, number, 0)
                lines.append(load_some(f, source, number * pixels + x, mask))
            # What is written beyond a row is written again with the next one.
            for lane, line in enumerate(half_transposed(f, lines)):
                f.store(line, here, (x + lane) * padded + first)


@part("winograd transform gradients", [I64, POINTER, POINTER], WinogradWeight)
def _transforming_gradients(f: Part) -> None:
    """The name of transform(plan, rows, gradients, tiles), tiles being [place][tile][filter]."""
    rows, gradients, tiles = f.given
    padded, across = f.fields("padded_filters out_columns")
    line = across * padded * 2
    spread = [list(row) for row in zip(*winograd.A, strict=True)]
    with f.loop(0, rows) as row:
        source = f.pointer(F32, gradients, row * 2 * line)
        with f.loop(0, across) as column, f.loop(0, padded, f.lanes) as number:
            at = column * 2 * padded + number
            tile = [[f.load(F32, source, at + line * y + padded * x, f.lanes) for x in range(2)] for y in range(2)]
            target = f.pointer(F32, tiles, (row * across + column) * padded + number)
            for place, value in enumerate(value for part in winograd.both_sides(spread, tile) for value in part):
                f.store(value, target, f.field("unit_tiles") * padded * place)


@part("winograd weight gradient products", [I64, POINTER, POINTER, POINTER], WinogradWeight)
def _adding_products(f: Part, a: int, b: int) -> None:
    """The name of add(plan, count, patches, tiles, sums): for each place, over `count` tiles,
    sums[channel, filter] += patch[channel, tile] * gradient[tile, filter]."""
    count, patches, tiles, sums = f.given
    channels, padded, width = f.fields("padded_channels padded_filters tiles")
    with f.loop(0, winograd.PLACES) as place, f.loop(0, channels, a) as channel:
        rows = [f.pointer(F32, patches, (place * channels + channel + i) * width) for i in range(a)]
        with f.loop(0, padded, b * f.lanes) as number:
            gradients = f.pointer(F32, tiles, place * f.field("unit_tiles") * padded + number)
            target = f.pointer(F32, sums, (place * channels + channel) * padded + number)
            totals = [[f.variable(f.load(F32, target, padded * i + j * f.lanes, f.lanes)) for j in range(b)] for i in range(a)]
            with f.loop(0, count) as tile:
                vectors = [f.load(F32, gradients, tile * padded + j * f.lanes, f.lanes) for j in range(b)]
                for i, row in enumerate(rows):
                    patch = f.load(F32, row, tile).spread(f.lanes)
                    for j, vector in enumerate(vectors):
                        totals[i][j].set(f.fma(patch, vector, totals[i][j].get()))
            for i, row_totals in enumerate(totals):
                for j, total in enumerate(row_totals):
                    f.store(total.get(), target, padded * i + j * f.lanes)


def _write_sums(f: Task) -> None:
    """Add up the chunks and transform back, one channel after the other."""
    channels, filters, padded, chunks = f.fields("channels filters padded_filters chunks")
    step = f.field("padded_channels") * padded
    size = f.field("groups") * step * winograd.PLACES
    back = [list(row) for row in zip(*winograd.G, strict=True)]
    kernels = f.workspace(WORKSPACE)
    trace = f.variable(f.zeros(F32, f.lanes))
    with f.loop(f.low, f.high) as row:
        group, channel = row // channels, row % channels
        with f.loop(0, padded, f.lanes) as number:
            source = f.pointer(F32, f.array(WORKSPACE), group * step * winograd.PLACES + channel * padded + number)
            totals = [f.variable(f.zeros(F32, f.lanes)) for _ in range(winograd.PLACES)]
            with f.loop(0, chunks) as chunk:
                for place, total in enumerate(totals):
                    total.add(f.load(F32, source, chunk * size + step * place, f.lanes))
            found = [total.get() for total in totals]
            kernel = winograd.both_sides(back, [found[0:4], found[4:8], found[8:12], found[12:16]])
            for tap, value in enumerate(value for line in kernel for value in line):
                trace.set(f.fma(value, 0.0, trace.get()))
                f.store(value, kernels, tap * f.lanes)
            with f.loop(0, f.smaller(filters - number, f.integer(f.lanes))) as lane:
                target = f.pointer(F32, f.array(winograd.RESULT), ((group * filters + number + lane) * channels + channel) * 9)
                for tap in range(9):
                    f.store(f.load(F32, kernels, lane + tap * f.lanes), target, tap)
    with f.when(f.total(trace.get()).differs(0.0)):
        f.store(f.integer(1), f.array(winograd.FLAG))
