"""Interpolation, grid sampling, im2col and col2im, and the shuffling of pixels and channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from whygrad.base import dtypes
from whygrad.base.errors import warn
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor
from whygrad.functional.arguments import check_kinds, invalid_combination, is_integer, not_implemented, read_int, read_tensor
from whygrad.functional.run import nn_function
from whygrad.nn import functional as F
from whygrad.ops.conv import Window
from whygrad.ops.resample import Interpolated, Sampling
from whygrad.ops.table import TABLE

__all__ = ["affine_grid", "channel_shuffle", "fold", "grid_sample", "interpolate", "pixel_shuffle", "pixel_unshuffle", "unfold",
           "upsample", "upsample_bilinear", "upsample_nearest"]

Sizes = tuple[int, ...]
AXES = ("D", "H", "W")
# mode -> (interpolation along each axis, torch's name, the ranks of the input)
SMOOTH_MODES = {"linear": ("linear", "Linear", (3,)), "bilinear": ("linear", "Bilinear", (4,)),
                "trilinear": ("linear", "Trilinear", (5,)), "bicubic": ("cubic", "Bicubic", (4,))}
MODES = {"nearest": ("nearest", "Nearest", (3, 4, 5)), "nearest-exact": ("nearest-exact", "NearestExact", (3, 4, 5)),
         **SMOOTH_MODES}
ANTIALIASED = {"bilinear": ("linear-aa", "UpsampleBilinear2DAa"), "bicubic": ("cubic-aa", "UpsampleBicubic2DAa"),
               "lanczos": ("lanczos-aa", "UpsampleLanczos2DAa")}


def _sizes(input: Tensor, size: Any, scale_factor: Any) -> tuple[Any, Any]:
    """(output size, None) or (None, scale factors), one number for each spatial dim."""
    spatial = input._array.shape[2:]
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if not isinstance(size, (list, tuple)):
            return [size] * len(spatial), None
        if len(size) != len(spatial):
            raise ValueError("Input and output must have the same number of spatial dimensions, but got input with "
                             f"spatial dimensions of {list(spatial)} and output size of {size}. Please provide input "
                             "tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format.")
        if not all(is_integer(n) for n in size):
            raise TypeError("expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], "
                            f"but got size with types {[type(n) for n in size]}")
        return size, None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if not isinstance(scale_factor, (list, tuple)):
        return None, [scale_factor] * len(spatial)
    if len(scale_factor) != len(spatial):
        raise ValueError("Input and scale_factor must have the same number of spatial dimensions, but got input with "
                         f"spatial dimensions of {list(spatial)} and scale_factor of shape {scale_factor}. Please "
                         "provide input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format.")
    return None, scale_factor


@nn_function()
def interpolate(input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
                antialias: bool = False) -> Any:
    """The image at another size."""
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | "
                             "bicubic | trilinear")
    elif align_corners is None:
        align_corners = False
    out, factors = _sizes(input, size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    spatial = input._array.shape[2:]
    if factors is not None and (recompute_scale_factor or mode == "area"):
        out, factors = [int(n * factor) for n, factor in zip(spatial, factors, strict=True)], None
    ndim = input._array.ndim
    if antialias and not (mode in ANTIALIASED and ndim == 4):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D "
                         "tensor as input")
    if mode == "area" and ndim in (3, 4, 5):
        return getattr(F, f"adaptive_avg_pool{ndim - 2}d")(input, out)
    if mode == "lanczos" and ndim == 4:
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
    elif mode not in MODES or ndim not in MODES[mode][2]:
        raise _wrong_mode(mode, ndim)
    kind = f"Upsample{MODES[mode][1]}{ndim - 2}D" if not antialias else ANTIALIASED[mode][1]
    along = ANTIALIASED[mode][0] if antialias else MODES[mode][0]
    if out is None:
        sizes = [n * factor for n, factor in zip(spatial, factors, strict=True)]
        if not all(abs(n) < 2**63 for n in sizes):
            raise RuntimeError("value cannot be converted to type int64_t without overflow")
        out = [math.floor(n) for n in sizes]
    elif not all(is_integer(n) for n in out):
        raise invalid_combination(f"upsample_{mode}{ndim - 2}d", input, out, None)
    return _upsample(input, tuple([int(n) for n in out]), factors, along, bool(align_corners), kind)


def _wrong_mode(mode: str, ndim: int) -> NotImplementedError:
    if mode in ("linear", "bilinear", "trilinear") and ndim in (3, 4, 5):
        return NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {SMOOTH_MODES[mode][2][0]}D input")
    return NotImplementedError(f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: "
                               f"nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})")


def _upsample(input: Tensor, out: Sizes, factors: Sequence[float] | None, mode: str, align_corners: bool, kind: str) -> Any:
    shape = input._array.shape
    spatial = shape[2:]
    if min(*spatial, *out) < 1:
        before, after = (", ".join(f"{axis}: {n}" for axis, n in zip(AXES[-len(out):], sizes, strict=True))
                         for sizes in (spatial, out))
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input ({before}) "
                           f"{'and ' if len(out) == 1 else ''}output ({after})")
    if 0 in shape[1:]:
        raise RuntimeError(f"Non-empty {len(shape)}D data tensor expected but got a tensor with sizes {list(shape)}")
    dtype = input._array.dtype
    if dtype.kind not in "fV" and not (input.dtype is dtypes.uint8 and (mode.startswith("nearest") or len(out) == 2)):
        kernel = f"compute_indices_weights_{mode.partition('-')[0]}"
        if len(out) == 2 and not mode.startswith("cubic"):
            kernel = f"upsample_{'nearest' if mode.startswith('nearest') else 'bilinear'}2d_channels_last"
        raise not_implemented(kernel, input.dtype)
    single = dtype.itemsize < 8 and (dtype.kind in "fV" or mode.startswith("nearest"))
    if mode == "nearest" and len(out) != 2:
        mode = "nearest-by-scale"
    if mode == "cubic" and out == spatial:
        mode = "cubic-same"
    scales = [None] * len(out) if factors is None else [float(factor) for factor in factors]
    axes = tuple([Interpolated(n, m, mode, align_corners, scale, single)
                  for n, m, scale in zip(spatial, out, scales, strict=True)])
    return apply(TABLE["upsample"], input, axes=axes, kind=kind)


def _deprecated(name: str) -> None:
    warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.")


@nn_function()
def upsample(input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
             align_corners: bool | None = None) -> Any:
    """The old name of `interpolate`."""
    _deprecated("upsample")
    return F.interpolate(input, size, scale_factor, mode, align_corners)


@nn_function()
def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """`interpolate` with mode="nearest"."""
    _deprecated("upsample_nearest")
    return F.interpolate(input, size, scale_factor, mode="nearest")


@nn_function()
def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """`interpolate` with mode="bilinear" and align_corners=True."""
    _deprecated("upsample_bilinear")
    return F.interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _default_corners(align_corners: bool | None) -> bool:
    if align_corners is None:
        warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
             "Please specify align_corners=True if the old behavior is desired. See the documentation of "
             "grid_sample for details.")
        return False
    return align_corners


@nn_function(autocast="float32")
def grid_sample(input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Any:
    """The image sampled at the points of a grid, with coordinates from -1 to 1."""
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError("nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but "
                         f"got: '{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError("nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
                         f"but got: '{padding_mode}'")
    align_corners = _default_corners(align_corners)
    read_tensor("grid_sampler", input)
    read_tensor("grid_sampler", grid, "grid", 2)
    _check_grid(input, grid, mode)
    return apply(TABLE["grid_sampler"], input, grid, order=(0,) * (input.ndim - 2),
                 sampling=Sampling(mode, padding_mode, align_corners))


def _check_grid(input: Tensor, grid: Tensor, mode: str) -> None:
    shape, points = list(input._array.shape), list(grid._array.shape)
    sizes = f"input with sizes {shape} and grid with sizes {points}"
    dims = len(shape) - 2
    if shape[0] != points[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got {sizes}")
    known = len(points) in (4, 5) or len(shape) in (4, 5)
    same_dims = len(shape) == len(points)
    if points[-1] != dims:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {dims} in last dimension, but got grid with "
                           f"sizes {points}")
    if not (same_dims and known):
        expected = 4 if len(shape) == 4 else 5
        raise RuntimeError(f"grid_sampler(): expected {expected}D input and grid with same number of dimensions, but got "
                           f"{sizes}")
    for i in range(2, len(shape)):
        if shape[i] == 0:
            raise RuntimeError("grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
                               f"sizes {shape} with dimension {i} being empty")
    if mode == "bicubic" and dims == 3:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input.dtype is not grid.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.scalar_name} but found {grid.dtype.scalar_name}")
    if not input.dtype.is_floating_point:
        raise not_implemented(f"grid_sampler_{dims}d_cpu_kernel_impl", input.dtype)


@nn_function()
def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Any:
    """The grid for `grid_sample` that transforms an image by the affine matrices `theta`."""
    align_corners = _default_corners(align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
                                  f"respectively. Got size {size}.")
    dims = len(size) - 2
    if tuple(theta.shape[-2:]) != (dims, dims + 1) or theta.ndim != 3:
        raise ValueError(f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. "
                         f"Got {theta.shape}.")
    if align_corners and min(size[2:]) == 1:
        warn("Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. "
             "This is not an intended use case of affine_grid. See the documentation of affine_grid for "
             "details.")
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if theta.shape[0] != size[0]:
        raise RuntimeError("Expected size for first two dimensions of batch2 tensor to be: "
                           f"[{size[0]}, {dims + 1}] but got: [{theta.shape[0]}, {dims + 1}].")
    return apply(TABLE["affine_grid"], theta, size=tuple(size[2:]), align_corners=align_corners)


def _check_image(function: str, argument: str, input: Any, factor: Any) -> int:
    read_tensor(function, input)
    factor = read_int(function, argument, 2, factor)
    if input._array.ndim < 3:
        raise RuntimeError(f"{function} expects input to have at least 3 dimensions, but got input with "
                           f"{input._array.ndim} dimension(s)")
    if factor <= 0:
        raise RuntimeError(f"{function} expects a positive {argument}, but got {factor}")
    return factor


@nn_function()
def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """Channels rearranged into pixels: an image `upscale_factor` times as high and wide."""
    factor = _check_image("pixel_shuffle", "upscale_factor", input, upscale_factor)
    channels = input._array.shape[-3]
    if channels % factor**2:
        raise RuntimeError("pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                           f"upscale_factor, but input.size(-3)={channels} is not divisible by {factor**2}")
    return apply(TABLE["pixel_shuffle"], input, factor=factor)


@nn_function()
def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """Pixels rearranged into channels: the inverse of `pixel_shuffle`."""
    factor = _check_image("pixel_unshuffle", "downscale_factor", input, downscale_factor)
    for i, name in ((-2, "height"), (-1, "width")):
        if input._array.shape[i] % factor:
            raise RuntimeError(f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({i})="
                               f"{input._array.shape[i]} is not divisible by {factor}")
    return apply(TABLE["pixel_unshuffle"], input, factor=factor)


@nn_function()
def channel_shuffle(input: Any, groups: int) -> Any:
    """The channels in another order: the first of each group, then the second of each, and so on."""
    read_tensor("channel_shuffle", input)
    groups = read_int("channel_shuffle", "groups", 2, groups)
    shape = input._array.shape
    if len(shape) < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if shape[1] % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} groups.")
    return apply(TABLE["channel_shuffle"], input, axis=1, groups=groups)


def _pairs(function: str, options: dict[str, Any]) -> list[Sizes]:
    found = []
    for position, (name, value) in enumerate(options.items(), 2):
        pair = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
        for i, n in enumerate(pair):
            if not is_integer(n):
                raise TypeError(f"{function}(): argument '{name}' (position {position}) must be tuple of ints, but "
                                f"found element of type {type(n).__name__} at pos {i}")
        found.append(pair)
    for name, pair in zip(options, found, strict=True):
        if len(pair) != 2:
            raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(pair)}")
    return found


def _check_window(kernel: Sizes, window: Window) -> None:
    for name, short, values, low in (("kernel size", "kernel", kernel, 1), ("stride", "stride", window.stride, 1),
                                     ("dilation", "dilation", window.dilation, 1), ("padding", "pad", window.padding, 0)):
        if min(values) < low:
            bound = "greater than zero" if low else "non-negative"
            raise RuntimeError(f"{name} should be {bound}, but got {short}_height: {values[0]} {short}_width: {values[1]}")


def _blocks(size: Sequence[int], kernel: Sizes, window: Window) -> Sizes:
    return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in
                  zip(size, kernel, window.stride, window.padding, window.dilation, strict=True)])


@nn_function()
def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """The windows of an image as columns."""
    read_tensor("im2col", input)
    options = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    kernel, dilation, padding, stride = _pairs("im2col", options)
    window = Window(stride, padding, dilation, 1)
    _check_window(kernel, window)
    shape = input._array.shape
    if len(shape) < 3:
        raise IndexError(f"Dimension out of range (expected to be in range of [-{len(shape)}, {len(shape) - 1}], but got 2)")
    if len(shape) not in (3, 4) or 0 in shape[-3:]:
        raise RuntimeError("Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
                           f"dimensions for input, but got: {list(shape)}")
    blocks = _blocks(shape[-2:], kernel, window)
    if min(blocks) < 1:
        raise RuntimeError(f"Given input with spatial size {shape[-2:]}, kernel_size={kernel}, dilation={dilation}, "
                           f"padding={padding}, calculated shape of the array of sliding blocks as {blocks}, but its "
                           "components must be at least one.")
    check_kinds("im2col_out_cpu", input, "bfVc")
    return apply(TABLE["im2col"], input, kernel=kernel, window=window)


@nn_function()
def fold(input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Columns added up as windows of an image: the transpose of `unfold`."""
    read_tensor("col2im", input)
    options = {"output_size": output_size, "kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    size, kernel, dilation, padding, stride = _pairs("col2im", options)
    window = Window(stride, padding, dilation, 1)
    _check_window(kernel, window)
    shape = input._array.shape
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError("Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
                           f"dimensions for input, but got: {list(shape)}")
    rows, columns = shape[-2:]
    if rows % math.prod(kernel):
        raise RuntimeError("Expected size of input's dimension 1 to be divisible by the product of kernel_size, but "
                           f"got input.size(1)={rows} and kernel_size={kernel}.")
    given = f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, "
    blocks = _blocks(size, kernel, window)
    if math.prod(blocks) != columns:
        raise RuntimeError(f"{given}expected size of input's dimension 2 to match the calculated number of sliding "
                           f"blocks {blocks[0]} * {blocks[1]} = {math.prod(blocks)}, but got input.size(2)={columns}.")
    if min(blocks) < 1:
        raise RuntimeError(f"{given}calculated shape of the array of sliding blocks as {blocks}, which is too small "
                           "(non-positive)")
    check_kinds("col2im_out_cpu", input, "bfVc")
    return apply(TABLE["col2im"], input, size=size, kernel=kernel, window=window)
