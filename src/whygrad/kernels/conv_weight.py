"""The gradient of a convolution's weight, by its definition: products of images with gradients, summed over pixels.

Lanes are pixels here, too: each element of the weight is a sum over lanes in the end. Rows of gradients are laid out as the
vectors of pixels are, with zeros in the places that belong to no result. The batch is cut into chunks whose number depends
on the shape alone; they are added up in order, so threads make no difference.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from whygrad.kernels import conv_plan
from whygrad.kernels.conv_direct import Planned, Unit, packing
from whygrad.kernels.conv_plan import Axis
from whygrad.kernels.host import host
from whygrad.kernels.stages import SERIAL, Elsewhere, Part, Task, part, staged
from whygrad.kernels.tiles import dot_products, lane_sums, lanes_within, load_some, store_some
from whygrad.kernels.values import F32, I64, POINTER, Value

IMAGE, GRADIENT, UNUSED, WORKSPACE, RESULT = range(5)
# Floats that the sums of all chunks may have together, and the largest number of chunks.
CHUNK_FLOATS, CHUNKS = 1 << 20, 16


class WeightGradient(conv_plan.ByChunks):
    """The sums of a chunk are a matrix (filters, products)."""

    numbers = "products padded_products position_table"


def blocks(filters: int, products: int) -> tuple[int, int]:
    """Filters and products that are summed up together in registers: as many as possible, with the least left over."""
    most = conv_plan.accumulators()
    choices = [(a, b) for a in range(1, 7) for b in range(1, 13) if a * b <= most and a + b <= 14]

    def cost(choice: tuple[int, int]) -> float:
        a, b = choice
        # A step costs its products, or its loads if they take longer (those of images are not aligned).
        return -(-filters // a) * -(-products // b) * (max(a * b, a + 2 * b) + 1.0)

    return min(choices, key=cost)


@lru_cache(maxsize=512)
def weight_gradient(count: int, groups: int, channels: int, filters: int, down: Axis, across: Axis) -> Planned:
    lanes = host().lanes
    products = channels * len(down.taps) * len(across.taps)
    a, b = blocks(filters, products)
    padded_filters, padded_products = -(-filters // a) * a, -(-products // b) * b
    work = groups * filters * products * down.out * across.out
    # To add up lanes takes its time, so it should be done seldom.
    layout = conv_plan.lay_out(count, channels, down, across, work, times=4)
    images = conv_plan.of_images(count, groups, channels, filters, layout, down, across)
    size = groups * padded_filters * padded_products
    chunks, chunk_units = conv_plan.chunks_of(images["units"], min(CHUNKS, CHUNK_FLOATS // size))
    packed = channels * layout.plane * down.stride * across.stride
    serial = work * count < conv_plan.SERIAL_WORK
    places = [*conv_plan.offsets(layout, channels, down, across), *[0] * (padded_products - products)]
    plan = WeightGradient.of(
        **images,
        each=-(-(packed + padded_filters * layout.block * layout.image_step + layout.pitch + 4 * lanes) // lanes) * lanes,
        shared=-(-chunks * size // lanes) * lanes,
        chunks=chunks, chunks_serial=SERIAL if serial or chunks == 1 else 0,
        sums=groups * filters, sums_serial=SERIAL if chunks * size < 65536 else 0,
        chunk_units=chunk_units, products=products, padded_filters=padded_filters, padded_products=padded_products,
        gradients=packed, offset_table=places, position_table=layout.positions)
    return Planned(plan, compiled(a, b, conv_plan.step_of(across.stride)))


@lru_cache(maxsize=64)
def compiled(a: int, b: int, step: int) -> Any:
    functions = packing(step), _packing_gradients(), _adding_products(a, b)
    return staged("convolution_weight", "ffowf", WeightGradient, key=f"weight gradient {a} {b} {step}",
                  chunks=lambda f: _write_chunks(f, *functions), sums=Elsewhere("sums of chunks", WeightGradient, _write_sums))


def _write_chunks(f: Task, pack: str, pack_gradients: str, add_products: str) -> None:
    mine = f.workspace(WORKSPACE)
    gradients = f.pointer(F32, mine, f.field("gradients"))
    groups, channels = f.fields("groups channels")
    padded_filters, padded_products = f.fields("padded_filters padded_products")
    plane_step = f.field("plane") * f.field("stride_down") * f.field("stride_across")
    size = padded_filters * padded_products
    with f.loop(f.low, f.high) as chunk:
        sums = f.pointer(F32, f.array(WORKSPACE), chunk * groups * size)
        with f.loop(0, groups * size) as i:
            f.store(f.constant(0.0, F32), sums, i)
        first = chunk * f.field("chunk_units")
        with f.loop(first, f.smaller(first + f.field("chunk_units"), f.field("units"))) as number:
            unit = Unit(f, number)
            with f.loop(0, groups) as group:
                with f.loop(0, channels) as channel:
                    _clear_slack(f, unit, f.pointer(F32, mine, channel * plane_step))
                f.do(pack, f.plan, number, group, f.array(IMAGE), mine)
                f.do(pack_gradients, f.plan, number, group, f.array(GRADIENT), gradients)
                f.do(add_products, f.plan, unit.images * f.field("vectors"), mine, gradients,
                       f.pointer(F32, sums, group * size))


def _clear_slack(f: Task, unit: Unit, planes: Value) -> None:
    """Vectors look a little beyond the last image: a zero gradient times what is there must be zero."""
    phases = f.field("stride_down") * f.field("stride_across")
    with f.loop(0, phases) as phase, f.loop(0, f.field("pitch") + f.lanes, f.lanes) as j:
        f.store(f.zeros(F32, f.lanes), planes, phase * f.field("plane") + unit.images * f.field("image") + j)


@part("pack gradients", [I64, I64, POINTER, POINTER], conv_plan.OfImages)
def _packing_gradients(f: Part) -> None:
    """The name of pack(plan, unit, group, gradients, target): rows of all filters of a group, `row_step` apart, with zeros
    between and behind them."""
    number, group, gradients, target = f.given
    unit = Unit(f, number)
    filters, columns, row_step, image_step = f.fields("filters out_columns row_step image_step")
    with f.loop(0, filters) as filter_, f.loop(0, unit.images) as i:
        plane = ((unit.first_image + i) * f.field("groups") + group) * filters + filter_
        source = f.pointer(F32, gradients, (plane * f.field("out_rows") + unit.first_row) * columns)
        here = f.pointer(F32, target, (filter_ * f.field("block") + i) * image_step)
        f.store(f.zeros(F32, f.lanes), here, image_step - f.lanes)
        # The last row is not stored beyond the image: its vectors may be fewer than the others'.
        with f.loop(0, f.field("band_rows")) as row:
            count = f.choose(row < unit.rows, columns, 0)
            with f.loop(0, f.smaller(row_step, image_step - row * row_step), f.lanes) as j:
                at = row * row_step + j
                mask = lanes_within(f, j, count, f.lanes)
                room = lanes_within(f, at, image_step, f.lanes)
                value = load_some(f, source, f.choose(row < unit.rows, row, 0) * columns + j, mask)
                store_some(f, value, here, at, room)


@part("weight gradient products", [I64, POINTER, POINTER, POINTER], WeightGradient)
def _adding_products(f: Part, a: int, b: int) -> None:
    """The name of add(plan, count, images, gradients, sums): over `count` vectors of pixels, for all filters and products."""
    count, images, gradients, sums = f.given
    length = f.field("block") * f.field("image_step")
    width = f.field("padded_products")
    positions, table = f.table("position_table"), f.table("offset_table")
    with f.loop(0, width, b) as k, f.loop(0, f.field("padded_filters"), a) as p:
        left = [f.pointer(F32, gradients, (p + i) * length) for i in range(a)]
        right = [f.pointer(F32, images, f.load(I64, table, k + i)) for i in range(b)]
        found = dot_products(f, left, right, count, lambda step: (step * f.lanes, f.load(I64, positions, step)))
        for i, row in enumerate(found):
            for first in range(0, b, f.lanes):
                part = row[first:first + f.lanes]
                here = f.pointer(F32, sums, (p + i) * width + k + first)
                totals = lane_sums(f, part)
                if totals.lanes == 1:
                    f.store(f.load(F32, here) + totals, here)
                else:
                    mask = lanes_within(f, f.integer(0), f.integer(len(part)), totals.lanes)
                    store_some(f, load_some(f, here, 0, mask) + totals, here, 0, mask)


def _write_sums(f: Task) -> None:
    """Add up the chunks: one row (of one filter) after the other."""
    filters, products, width, chunks = f.fields("filters products padded_products chunks")
    size = f.field("groups") * f.field("padded_filters") * width
    with f.loop(f.low, f.high) as row:
        group, filter_ = row // filters, row % filters
        source = f.pointer(F32, f.array(WORKSPACE), (group * f.field("padded_filters") + filter_) * width)
        target = f.pointer(F32, f.array(RESULT), row * products)
        with f.loop(0, products, f.lanes) as j:
            mask = lanes_within(f, j, products, f.lanes)
            total = f.variable(f.zeros(F32, f.lanes))
            with f.loop(0, chunks) as chunk:
                total.add(load_some(f, source, chunk * size + j, mask))
            store_some(f, total.get(), target, j, mask)
