"""Convolution by its definition: for each filter and vector of pixels, the sum over all taps and channels, in registers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from whygrad.kernels import conv_plan
from whygrad.kernels.conv_plan import Axis
from whygrad.kernels.host import host
from whygrad.kernels.stages import SERIAL, Elsewhere, OfPlan, Part, Task, part, staged, workspace
from whygrad.kernels.tiles import copy_row, pack_image, spread_products
from whygrad.kernels.values import F32, I64, POINTER, Value

IMAGE, WEIGHT, BIAS, WORKSPACE, RESULT = range(5)


class Direct(conv_plan.ByPanels):
    """A panel is a block's biases, then its weights by tap."""

    # products: to sum up: channels * taps; result_first: where in a channel of the result, and how far apart
    numbers = "products taps result_first result_row result_column result_plane position_table"


class Weights(NamedTuple):
    """How the weight's array is read: strides of filter, channel and group, and the width of its kernel."""

    filter: int
    channel: int
    group: int
    width: int


class Planned(NamedTuple):
    plan: Any
    run: Any

    def __call__(self, image: Any, weight: Any, bias: Any, result: Any) -> Any:
        return self.run(self.plan, image, weight, bias, workspace(self.plan), result)


@lru_cache(maxsize=512)
def direct(count: int, groups: int, channels: int, filters: int, down: Axis, across: Axis, weights: Weights) -> Planned:
    """Made for one shape. `channels` and `filters` are those of one group."""
    lanes = host().lanes
    together, vectors = conv_plan.register_block(filters, 8 if lanes == 16 else 4, conv_plan.accumulators())
    taps = len(down.taps) * len(across.taps)
    products = channels * taps
    work = groups * filters * products * down.out * across.out
    layout = conv_plan.lay_out(count, channels, down, across, work)
    blocks = -(-filters // together)
    panel = together * (1 + products)
    packed = channels * layout.plane * down.stride * across.stride
    images = conv_plan.of_images(count, groups, channels, filters, layout, down, across)
    serial = work * count < conv_plan.SERIAL_WORK or images["units"] == 1
    plan = Direct.of(
        **images,
        # Vectors may read beyond the last plane: what is there does not matter, if there is something.
        each=-(-(packed + together * layout.block * layout.image_step + layout.pitch + 4 * lanes) // lanes) * lanes,
        shared=-(-groups * blocks * panel // lanes) * lanes,
        panels=groups * blocks, panels_serial=SERIAL if serial or groups * blocks * panel < 16384 else 0,
        units_serial=SERIAL if serial else 0, blocks=blocks, products=products, taps=taps, results=packed,
        weight_filter=weights.filter, weight_channel=weights.channel, weight_group=weights.group,
        result_first=down.first * across.full + across.first, result_row=down.apart * across.full, result_column=across.apart,
        result_plane=down.full * across.full, element_table=conv_plan.elements(down, across, weights.width),
        offset_table=conv_plan.offsets(layout, channels, down, across), position_table=layout.positions)
    return Planned(plan, compiled(together, vectors, conv_plan.step_of(across.stride), across.apart == 1))


@lru_cache(maxsize=64)
def compiled(together: int, vectors: int, step: int, dense: bool) -> Any:
    functions = packing(step), _summing(together, vectors), _summing(together, 1), _finishing(dense)
    return staged("convolution", "ffowf", Direct, key=f"direct convolution {together} {vectors} {step} {dense}",
                  panels=Elsewhere(f"panels of weights {together}", Direct, lambda f: write_panels(f, together)),
                  units=lambda f: _write_units(f, together, vectors, *functions))


def write_panels(f: Task, together: int) -> None:
    """Lay out the weights in the order in which they are used; filters that are missing in the last block are zeros."""
    weight, bias, target = f.array(WEIGHT), f.array(BIAS), f.array(WORKSPACE)
    blocks, filters, products, taps = f.fields("blocks filters products taps")
    table = f.table("element_table")
    has_bias = bias.differs(f.null)
    with f.loop(f.low, f.high) as panel:
        group, block = panel // blocks, panel % blocks
        here = f.pointer(F32, target, panel * (products + 1) * together)
        from_group = f.pointer(F32, weight, group * f.field("weight_group"))
        with f.loop(0, together) as p:
            number = block * together + p
            there = number < filters
            start = f.variable(f.constant(0.0, F32))
            with f.when(there & has_bias):
                start.set(f.load(F32, bias, group * filters + number))
            f.store(start.get(), here, p)
            source = f.pointer(F32, from_group, f.choose(there, number, 0) * f.field("weight_filter"))
            with f.loop(0, f.field("channels")) as channel:
                from_channel = f.pointer(F32, source, channel * f.field("weight_channel"))
                to_channel = f.pointer(F32, here, (channel * taps + 1) * together + p)
                with f.loop(0, taps) as tap:
                    value = f.load(F32, from_channel, f.load(I64, table, tap))
                    f.store(f.choose(there, value, 0.0), to_channel, tap * together)


class Unit:
    """Some images of the batch, and a band of their rows: what is worked on at a time."""

    def __init__(self, f: OfPlan, number: Value) -> None:
        bands, block = f.fields("bands block")
        self.first_image = number // bands * block
        self.images = f.smaller(f.field("images") - self.first_image, block)
        self.first_row = number % bands * f.field("band_rows")
        self.rows = f.smaller(f.field("out_rows") - self.first_row, f.field("band_rows"))


@part("pack images", [I64, I64, POINTER, POINTER], conv_plan.OfImages)
def packing(f: Part, step: int) -> None:
    """The name of pack(plan, unit, group, images, target), for all channels of a group and images of a unit."""
    number, group, source, target = f.given
    unit = Unit(f, number)
    channels, height, width, plane = f.fields("channels height width plane")
    stride = f.field("stride_down"), f.field("stride_across")
    with f.loop(0, channels) as channel, f.loop(0, unit.images) as i:
        image = ((unit.first_image + i) * f.field("groups") + group) * channels + channel
        here = f.pointer(F32, target, channel * plane * stride[0] * stride[1] + i * f.field("image"))
        pack_image(f, f.pointer(F32, source, image * height * width), height, width,
                   unit.first_row * stride[0] + f.field("top"), f.field("left"), here, f.field("rows"), f.field("pitch"),
                   plane, stride, step)


@part("convolution sums", [I64, I64, POINTER, POINTER, POINTER], Direct)
def _summing(f: Part, together: int, vectors: int) -> None:
    """The name of sum(plan, from, until, panel, images, results): `together` filters, for `vectors` vectors of pixels."""
    first, last, panel, images, results = f.given
    offset_table, positions = f.table("offset_table"), f.table("position_table")
    length = f.field("block") * f.field("image_step")
    weights = f.pointer(F32, panel, together)
    with f.loop(first, last, vectors) as v:
        bases = [f.pointer(F32, images, f.load(I64, positions, v + i)) for i in range(vectors)]
        start = [f.load(F32, panel, p).spread(f.lanes) for p in range(together)]
        sums = spread_products(f, weights, bases, f.field("products"), together, start,
                               lambda k: f.load(I64, offset_table, k))
        for p, row in enumerate(sums):
            for i, total in enumerate(row):
                f.store(total, results, length * p + (v + i) * f.lanes)


def _write_units(f: Task, together: int, vectors: int, pack: str, several: str, one: str, finish: str) -> None:
    mine = f.workspace(WORKSPACE)
    results = f.pointer(F32, mine, f.field("results"))
    groups, blocks, products = f.fields("groups blocks products")
    with f.loop(f.low, f.high) as number:
        unit = Unit(f, number)
        with f.loop(0, groups) as group:
            f.do(pack, f.plan, number, group, f.array(IMAGE), mine)
            covered = unit.images * f.field("vectors")
            with f.loop(0, blocks) as block:
                panel = f.pointer(F32, f.array(WORKSPACE), (group * blocks + block) * (products + 1) * together)
                whole = covered // vectors * vectors
                f.do(several, f.plan, f.integer(0), whole, panel, mine, results)
                f.do(one, f.plan, whole, covered, panel, mine, results)
                f.do(finish, f.plan, number, group, block, f.integer(together), results, f.array(RESULT))


@part("finish convolution", [I64, I64, I64, I64, POINTER, POINTER], Direct)
def _finishing(f: Part, dense: bool) -> None:
    """The name of finish(plan, unit, group, block, together, results, target): rows to where they belong, without the places
    between and behind them."""
    number, group, block, together, results, target = f.given
    unit = Unit(f, number)
    filters = f.field("filters")
    row_step, column_step = f.fields("result_row result_column")
    length = f.field("block") * f.field("image_step")
    with f.loop(0, f.smaller(filters - block * together, together)) as p, f.loop(0, unit.images) as i:
        plane = ((unit.first_image + i) * f.field("groups") + group) * filters + block * together + p
        here = f.pointer(F32, target, plane * f.field("result_plane") + f.field("result_first") + unit.first_row * row_step)
        source = f.pointer(F32, results, p * length + i * f.field("image_step"))
        with f.loop(0, unit.rows) as row:
            from_row = f.pointer(F32, source, row * f.field("row_step"))
            to_row = f.pointer(F32, here, row * row_step)
            if dense:
                copy_row(f, from_row, to_row, f.field("out_columns"))
            else:
                with f.loop(0, f.field("out_columns")) as column:
                    f.store(f.load(F32, from_row, column), to_row, column * column_step)
