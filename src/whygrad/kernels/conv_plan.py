"""What a convolution does, worked out for one shape: which pixels each tap of the kernel meets, and how the work is cut up.

All of them are correlations: out[y, x] = sum over taps of weight * image[y * stride + dy, x * stride + dx]. A transposed one
with a stride is several of them, one for each place that pixels of the result can have between the strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from whygrad.kernels.host import host
from whygrad.kernels.stages import Plan

# Floats of image that a thread works on at a time: they should stay in its own cache.
IMAGE_FLOATS = 1 << 16
# Vectors of pixels in a unit of work: with fewer, several images are taken together.
VECTORS = 24
# Units that there are at least, for several threads to have something, if a unit has this many multiplications.
UNITS, UNIT_WORK = 8, 1 << 19
# Multiplications below which one thread does all.
SERIAL_WORK = 1 << 18


class Tap(NamedTuple):
    """Along one axis: how far from the stride's place the pixel is, and which element of the kernel it meets."""

    shift: int
    element: int


class Axis(NamedTuple):
    """Along one axis of the image: `size` pixels in, `out` pixels out."""

    size: int
    out: int
    stride: int
    taps: tuple[Tap, ...]
    # Where the results go: every `apart`-th pixel from `first` on, of an axis of `full`.
    first: int
    apart: int
    full: int


def forward_axis(size: int, kernel: int, out: int, stride: int, padding: int, dilation: int) -> Axis:
    return Axis(size, out, stride, tuple([Tap(k * dilation - padding, k) for k in range(kernel)]), 0, 1, out)


def transposed_axes(size: int, kernel: int, out: int, stride: int, padding: int, dilation: int) -> list[Axis]:
    """`size` pixels of the incoming gradient, `out` pixels of the image."""
    axes = []
    for phase in range(min(stride, out)):
        # Pixel i of the image was met by tap k at place (i + padding - k * dilation) / stride, if that is a whole number.
        taps = [Tap((phase + padding - k * dilation) // stride, k) for k in reversed(range(kernel))
                if (phase + padding - k * dilation) % stride == 0]
        axes.append(Axis(size, -(-(out - phase) // stride), 1, tuple(taps), phase, stride, out))
    return axes


class Layout(NamedTuple):
    """How images lie in a thread's workspace, and by which vectors of pixels the results are covered."""

    block: int  # images in a unit
    band_rows: int  # rows of the result in a unit
    bands: int
    rows: int  # of a packed image
    pitch: int
    image: int  # floats from one packed image to the next
    plane: int  # from one phase of the stride, or channel, to the next
    vectors: int  # for each image
    row_step: int  # floats from a row of results to the next, and from an image
    image_step: int
    positions: tuple[int, ...]  # where in a plane each vector begins
    top: int  # the first pixel that any tap meets
    left: int


class OfImages(Plan):
    """What every plan of a convolution has: the images and their layout, and what is done with them."""

    # channels: of one group
    numbers = ("groups channels filters images block bands band_rows out_rows out_columns height width stride_down stride_across "
               "top left rows pitch image plane vectors row_step image_step units offset_table")


class ByPanels(OfImages):
    """Two stages: the weights are laid out in panels, each of a block of filters, then come the units of images."""

    # blocks: of filters; weight_filter: strides of the weight; results: where in the workspace they begin
    numbers = "panels panels_serial units_serial blocks weight_filter weight_channel weight_group results element_table"


class ByChunks(OfImages):
    """Two stages: units are summed up in chunks, then the sums of all chunks are added up."""

    # sums: rows to be added up in the end; padded_filters: to whole blocks; gradients: where in the workspace they begin
    numbers = "chunks chunks_serial chunk_units sums sums_serial padded_filters gradients"


def of_images(count: int, groups: int, channels: int, filters: int, layout: Layout, down: Axis, across: Axis) -> dict[str, int]:
    layout_fields = {name: getattr(layout, name) for name in Layout._fields if name in OfImages.names}
    return {"groups": groups, "channels": channels, "filters": filters, "images": count, **layout_fields, "out_rows": down.out,
            "out_columns": across.out, "height": down.size, "width": across.size, "stride_down": down.stride,
            "stride_across": across.stride, "units": -(-count // layout.block) * layout.bands}


def reach(axis: Axis) -> tuple[int, int]:
    """Smallest and largest shift."""
    shifts = [tap.shift for tap in axis.taps] or [0]
    return min(shifts), max(shifts)


def lay_out(count: int, channels: int, down: Axis, across: Axis, work: int, *, dense: int = 0,
            times: int = 1) -> Layout:
    """`work`: multiplications for one image. `dense`: how many results a unit may have, if they lie close together; if they do
    not, units are `times` larger than usual."""
    lanes = host().lanes
    (top, bottom), (left, right) = reach(down), reach(across)
    more_rows, more_columns = (bottom - top) // down.stride, (right - left) // across.stride
    pitch = across.out + more_columns
    phases = down.stride * across.stride

    def floats(rows: int) -> int:
        return channels * phases * (rows + more_rows) * pitch

    run = -(-across.out // lanes)

    def flat(rows: int) -> int:
        """Vectors that cover rows one after the other, with the places between them."""
        return -(-((rows - 1) * pitch + across.out) // lanes)

    def cost(rows: int) -> float:
        """Vectors in all, and a little for packing."""
        bands, rest = divmod(down.out, rows)
        if dense:
            vectors = bands * -(-rows * across.out // lanes) + -(-rest * across.out // lanes)
        else:
            vectors = (bands + (rest > 0)) * min(flat(rows), rows * run)
        return vectors + 0.1 * (bands + (rest > 0)) * (rows + more_rows) * run

    def fits(rows: int) -> bool:
        if dense:
            return rows == 1 or rows * across.out <= dense
        return rows <= 4 or floats(rows) <= times * IMAGE_FLOATS

    most = down.out
    wanted = min(UNITS // max(count, 1), work // UNIT_WORK)
    if wanted > 1:
        most = max(2, -(-down.out // wanted))
    band_rows = min(filter(fits, range(1, most + 1)), key=cost)
    rows = band_rows + more_rows
    if dense:
        starts, row_step = [], across.out
    elif flat(band_rows) <= band_rows * run:
        starts, row_step = [i * lanes for i in range(flat(band_rows))], pitch
    else:
        starts, row_step = [row * pitch + i * lanes for row in range(band_rows) for i in range(run)], run * lanes
    bands = max(1, -(-down.out // band_rows))
    block = 1
    if bands == 1:
        if dense:
            room = dense // (band_rows * across.out)
        else:
            room = min(-(-times * VECTORS // len(starts)), times * IMAGE_FLOATS // floats(band_rows))
        block = max(1, min(room, count // UNITS))
    image = rows * pitch
    # Behind a plane: what is stored of a last row beyond its end, and what vectors read beyond it.
    plane = _rounded(block * image + pitch + 2 * lanes, lanes)
    positions = [i * image + start for i in range(block) for start in starts]
    image_step = band_rows * row_step if dense else len(starts) * lanes
    return Layout(block, band_rows, bands, rows, pitch, image, plane, len(starts), row_step, image_step, tuple(positions), top,
                  left)


def _rounded(n: int, to: int) -> int:
    return -(-n // to) * to


def offsets(layout: Layout, channels: int, down: Axis, across: Axis) -> list[int]:
    """Where a tap's pixel is, relative to a vector's position: for each channel, row and column of taps."""
    places = []
    for tap in down.taps:
        row, phase_down = divmod(tap.shift - layout.top, down.stride)
        for other in across.taps:
            column, phase_across = divmod(other.shift - layout.left, across.stride)
            phase = phase_down * across.stride + phase_across
            places.append(phase * layout.plane + row * layout.pitch + column)
    step = layout.plane * down.stride * across.stride
    return [channel * step + place for channel in range(channels) for place in places]


def elements(down: Axis, across: Axis, kernel_width: int) -> list[int]:
    """Which elements of the kernel the taps are, in the order of `offsets`."""
    return [a.element * kernel_width + b.element for a in down.taps for b in across.taps]


def register_block(filters: int, most: int, registers: int) -> tuple[int, int]:
    """The numbers of filters, and of vectors of pixels for each of them, that are summed up at a time."""
    together = -(-filters // -(-filters // most))
    return together, max(1, min(registers // together, 6))


def accumulators() -> int:
    """Registers for sums; the rest holds what is multiplied."""
    return 24 if host().lanes == 16 else 12


def step_of(stride: int) -> int:
    """The column strides for which packing is written out."""
    return stride if stride <= 2 else 0


def chunks_of(units: int, most: int) -> tuple[int, int]:
    """How many chunks, and units in each: a power of two, if possible, which threads can share evenly."""
    chunks = 1
    while chunks * 2 <= min(units, most):
        chunks *= 2
    each = -(-units // chunks)
    return -(-units // each), each


def sizes(shape: Sequence[int]) -> tuple[int, int]:
    """Height and width; a row of pixels is an image of one row."""
    return (1, shape[0]) if len(shape) == 1 else (shape[0], shape[1])


def axes_of(window: Any, image: Sequence[int], kernel: Sequence[int], out: Sequence[int]) -> list[tuple[int, ...]]:
    """(size, kernel, out, stride, padding, dilation) for two axes."""
    both = list(zip(image, kernel, out, window.stride, window.padding, window.dilation, strict=True))
    return both if len(both) == 2 else [(1, 1, 1, 1, 0, 1), *both]
