"""Resampling of images: interpolation, grid sampling, folding, and the shuffling of pixels and channels."""

from typing import NamedTuple

from whygrad.ops.table import along_axes, last_axes, op


class Interpolated(NamedTuple):
    """Interpolation along one axis, from `size` to `out` elements.

    `mode` is nearest, nearest-exact, linear, cubic; or linear-aa, cubic-aa, lanczos-aa, which antialias when shrinking; or
    nearest-by-scale, cubic-same, whose gradient torch computes as if `scale` were not given. `scale` is the factor given by
    the user, or None. `single`: positions are computed in float32.
    """

    size: int
    out: int
    mode: str
    align_corners: bool
    scale: float | None
    single: bool


@last_axes(kernel="resampling", linear="x", memory="channels",
           node=lambda kinds, statics: f"{statics['kind']}Backward0",
           x=lambda xp, g, axes, kind: xp.upsample_backward(g, axes=axes, kind=kind))
def upsample(xp, x, *, axes, kind): ...


@last_axes(kernel="resampling", linear="x",
           node=lambda kinds, statics: f"{statics['kind']}BackwardBackward0",
           x=lambda xp, g, axes, kind: xp.upsample(g, axes=axes, kind=kind))
def upsample_backward(xp, x, *, axes, kind): ...


class Sampling(NamedTuple):
    """The interpolation between pixels, and the padding beyond the edge of the image."""

    mode: str
    padding_mode: str
    align_corners: bool


# Grid sampling is linear in the image, so the row and its transpose are a pair. A derivative by the grid raises the order of
# one axis: the row then samples that derivative of the interpolated image. `order` is one for each axis; or a tuple of several
# orders, which are computed in one pass, and lie along an axis behind that of the channels.
def orders_of(order):
    return order if type(order[0]) is tuple else (order,)


def _grid_rule(xp, g, x, grid, order, sampling):
    """The gradient of the grid, whose coordinates have the image's last axis first."""
    orders, dims = orders_of(order), len(x.shape) - 2
    raised = tuple([tuple([n + (i == axis) for i, n in enumerate(each)]) for axis in reversed(range(dims)) for each in orders])
    slopes = xp.grid_sampler(x, grid, order=raised, sampling=sampling)
    summed: tuple[int, ...] = (1,)
    if orders is order:
        slopes, summed = xp.reshape(slopes, shape=(*slopes.shape[:2], dims, len(orders), *slopes.shape[3:])), (1, 2)
    by_axis = [xp.sum(g * xp.select(slopes, axis=2, index=i), axis=summed, keepdims=False) for i in range(dims)]
    return xp.stack(*by_axis, axis=dims + 1)


@op(batch="folded", kernel="sampling", linear="x",
    node=lambda kinds, statics: f"GridSampler{len(orders_of(statics['order'])[0])}DBackward0",
    x=lambda xp, g, x_shape, grid, order, sampling:
    xp.grid_sampler_backward(g, grid, shape=x_shape, order=order, sampling=sampling),
    grid=_grid_rule)
def grid_sampler(xp, x, grid, *, order, sampling): ...


@op(batch="folded", kernel="sampling", linear="y",
    node=lambda kinds, statics: f"GridSampler{len(orders_of(statics['order'])[0])}DBackwardBackward0",
    y=lambda xp, g, grid, order, sampling: xp.grid_sampler(g, grid, order=order, sampling=sampling),
    grid=lambda xp, g, y, grid, order, sampling: _grid_rule(xp, y, g, grid, order, sampling))
def grid_sampler_backward(xp, y, grid, *, shape, order, sampling): ...


@op(batch="folded", linear="theta", node="AffineGridGeneratorBackward0",
    theta=lambda xp, g, size, align_corners: xp.affine_grid_backward(g, size=size, align_corners=align_corners))
def affine_grid(xp, theta, *, size, align_corners):
    """The source coordinates, from -1 to 1, of each pixel of an image of spatial shape `size`."""


@op(batch="folded", linear="x", node="TransposeBackward0",
    x=lambda xp, g, size, align_corners: xp.affine_grid(g, size=size, align_corners=align_corners))
def affine_grid_backward(xp, x, *, size, align_corners): ...


@last_axes(linear="x",
           node="Im2ColBackward0",
           x=lambda xp, g, x_shape, kernel, window: xp.col2im(g, size=x_shape[-2:], kernel=kernel, window=window))
def im2col(xp, x, *, kernel, window):
    """The pixels of each window as a column, one column per window."""


@last_axes(linear="x",
           node="Col2ImBackward0",
           x=lambda xp, g, kernel, window: xp.im2col(g, kernel=kernel, window=window))
def col2im(xp, x, *, size, kernel, window): ...


@last_axes(linear="x", memory="channels",
           x=lambda xp, g, factor: xp.pixel_unshuffle(g, factor=factor))
def pixel_shuffle(xp, x, *, factor):
    """Rearrange channels to pixels: each group of `factor`² channels becomes one block of pixels."""
    *outer, channels, height, width = x.shape
    n = len(outer)
    blocks = xp.reshape(x, shape=(*outer, channels // factor**2, factor, factor, height, width))
    blocks = xp.clone(xp.permute(blocks, axes=(*range(n + 1), n + 3, n + 1, n + 4, n + 2)), order="C")
    return xp.reshape(blocks, shape=(*outer, channels // factor**2, height * factor, width * factor))


@last_axes(linear="x", memory="channels",
           x=lambda xp, g, factor: xp.pixel_shuffle(g, factor=factor))
def pixel_unshuffle(xp, x, *, factor):
    *outer, channels, height, width = x.shape
    n = len(outer)
    blocks = xp.reshape(x, shape=(*outer, channels, height // factor, factor, width // factor, factor))
    blocks = xp.clone(xp.permute(blocks, axes=(*range(n + 1), n + 2, n + 4, n + 1, n + 3)), order="C")
    return xp.reshape(blocks, shape=(*outer, channels * factor**2, height // factor, width // factor))


@along_axes(linear="x", memory="channels",
            x=lambda xp, g, axis, groups: xp.channel_shuffle(g, axis=axis, groups=g.shape[axis] // groups))
def channel_shuffle(xp, x, *, axis, groups):
    """Interleave the groups: the first channel of each group, then the second of each, ..."""
    shape = tuple(x.shape)
    split = xp.reshape(x, shape=(*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1:]))
    swapped = xp.clone(xp.transpose(split, axis0=axis, axis1=axis + 1), order="C")
    return xp.reshape(swapped, shape=shape)
