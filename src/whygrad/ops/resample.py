"""Images at another size or place: interpolation, sampling on a grid, folding, and the shuffling of pixels and channels."""

from typing import NamedTuple

from whygrad.ops.table import op


class Interpolated(NamedTuple):
    """What interpolation does along one axis: from `size` to `out` elements.

    `mode` is nearest, nearest-exact, linear, cubic, or one of linear-aa, cubic-aa and lanczos-aa, which smooth before they
    shrink. `scale` is the factor that the user gave, or None. `single`: positions are computed in float32.
    """

    size: int
    out: int
    mode: str
    align_corners: bool
    scale: float | None
    single: bool


@op(node=lambda kinds, statics: f"{statics['kind']}Backward0",
    x=lambda xp, g, axes, kind: xp.upsample_backward(g, axes=axes, kind=kind))
def upsample(xp, x, *, axes, kind):
    return xp.upsample(x, axes=axes, kind=kind)


@op(node=lambda kinds, statics: f"{statics['kind']}BackwardBackward0",
    x=lambda xp, g, axes, kind: xp.upsample(g, axes=axes, kind=kind))
def upsample_backward(xp, x, *, axes, kind):
    return xp.upsample_backward(x, axes=axes, kind=kind)


class Sampling(NamedTuple):
    """How numbers are read between pixels, and beyond the edge of the image."""

    mode: str
    padding_mode: str
    align_corners: bool


@op(node=lambda kinds, statics: f"GridSampler{statics['dims']}DBackward0",
    x=lambda xp, g, x_shape, grid, dims, sampling:
    xp.grid_sampler_input(g, grid, shape=x_shape, dims=dims, sampling=sampling),
    grid=lambda xp, g, x, grid, dims, sampling: xp.grid_sampler_grid(g, x, grid, dims=dims, sampling=sampling))
def grid_sampler(xp, x, grid, *, dims, sampling):
    return xp.grid_sampler(x, grid, dims=dims, sampling=sampling)


def _underivable(g, dims):
    raise RuntimeError(f"derivative for aten::grid_sampler_{dims}d_backward is not implemented")


# torch has no second derivative of sampling, and neither have we. Rules are renamed when declared, so each is its own.
def _no_second():
    return lambda g, dims: _underivable(g, dims)


@op(node="NotImplemented", y=_no_second(), grid=_no_second())
def grid_sampler_input(xp, y, grid, *, shape, dims, sampling):
    return xp.grid_sampler_input(y, grid, shape=shape, dims=dims, sampling=sampling)


@op(node="NotImplemented", y=_no_second(), x=_no_second(), grid=_no_second())
def grid_sampler_grid(xp, y, x, grid, *, dims, sampling):
    return xp.grid_sampler_grid(y, x, grid, dims=dims, sampling=sampling)


@op(node="AffineGridGeneratorBackward0",
    theta=lambda xp, g, size, align_corners: xp.affine_grid_backward(g, size=size, align_corners=align_corners))
def affine_grid(xp, theta, *, size, align_corners):
    """Where each pixel of an image of spatial shape `size` comes from, in coordinates from -1 to 1."""
    return xp.affine_grid(theta, size=size, align_corners=align_corners)


@op(node="TransposeBackward0",
    x=lambda xp, g, size, align_corners: xp.affine_grid(g, size=size, align_corners=align_corners))
def affine_grid_backward(xp, x, *, size, align_corners):
    return xp.affine_grid_backward(x, size=size, align_corners=align_corners)


@op(node="Im2ColBackward0",
    x=lambda xp, g, x_shape, kernel, window: xp.col2im(g, size=x_shape[-2:], kernel=kernel, window=window))
def im2col(xp, x, *, kernel, window):
    """The pixels of each window below each other, one column for each window."""
    return xp.im2col(x, kernel=kernel, window=window)


@op(node="Col2ImBackward0",
    x=lambda xp, g, kernel, window: xp.im2col(g, kernel=kernel, window=window))
def col2im(xp, x, *, size, kernel, window):
    return xp.col2im(x, size=size, kernel=kernel, window=window)


@op(x=lambda xp, g, factor: xp.pixel_unshuffle(g, factor=factor))
def pixel_shuffle(xp, x, *, factor):
    """Channels become pixels: each group of `factor`² channels is one block of pixels."""
    *outer, channels, height, width = x.shape
    n = len(outer)
    blocks = xp.reshape(x, shape=(*outer, channels // factor**2, factor, factor, height, width))
    blocks = xp.permute(blocks, axes=(*range(n + 1), n + 3, n + 1, n + 4, n + 2))
    return xp.reshape(blocks, shape=(*outer, channels // factor**2, height * factor, width * factor))


@op(x=lambda xp, g, factor: xp.pixel_shuffle(g, factor=factor))
def pixel_unshuffle(xp, x, *, factor):
    *outer, channels, height, width = x.shape
    n = len(outer)
    blocks = xp.reshape(x, shape=(*outer, channels, height // factor, factor, width // factor, factor))
    blocks = xp.permute(blocks, axes=(*range(n + 1), n + 2, n + 4, n + 1, n + 3))
    return xp.reshape(blocks, shape=(*outer, channels * factor**2, height // factor, width // factor))


@op(x=lambda xp, g, axis, groups: xp.channel_shuffle(g, axis=axis, groups=g.shape[axis] // groups))
def channel_shuffle(xp, x, *, axis, groups):
    """The first channel of each group, then the second of each, ..."""
    shape = tuple(x.shape)
    split = xp.reshape(x, shape=(*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1:]))
    swapped = xp.transpose(split, axis0=axis, axis1=axis + 1)
    return xp.reshape(swapped, shape=shape)
