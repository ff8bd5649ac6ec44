"""Pooling: maxima, means and norms of windows, and max unpooling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

import whygrad as torch
from whygrad.backends.memory_order import with_channels_as_in
from whygrad.base import dtypes
from whygrad.base.door import Policy
from whygrad.core.modes import grad_state
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor
from whygrad.functional.arguments import check_kinds, check_sizes, is_integer, read_tensor, wrong_type
from whygrad.functional.determinism import alert_not_deterministic
from whygrad.functional.fresh import in_usual_order
from whygrad.functional.run import nn_function, with_out
from whygrad.nn import functional as F
from whygrad.ops.pool import Adaptive, Kind, Sliding
from whygrad.ops.table import TABLE

__all__ = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
           "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d",
           "adaptive_max_pool3d_with_indices", "avg_pool1d", "avg_pool2d", "avg_pool3d", "fractional_max_pool2d",
           "fractional_max_pool2d_with_indices", "fractional_max_pool3d", "fractional_max_pool3d_with_indices", "lp_pool1d",
           "lp_pool2d", "lp_pool3d", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices",
           "max_pool3d", "max_pool3d_with_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d"]

Sizes = tuple[int, ...]
COUNT = {1: "one int", 2: "two ints", 3: "three ints"}
AXES = ("T", "H", "W")
LONG_AXES = {"T": "time", "H": "height", "W": "width"}


def _named(function: Any, name: str, doc: str, autocast: Any = None) -> Callable[..., Any]:
    """A function made by a factory, registered under its public name."""
    return nn_function(name=name, doc=doc, autocast=autocast)(function)


def _read(function: str, argument: str, position: int, value: Any) -> Sizes:
    """One number or a sequence of them, as a tuple."""
    if is_integer(value):
        return (int(value),)
    if not isinstance(value, (tuple, list)):
        raise wrong_type(function, argument, position, "tuple of ints", value)
    for i, n in enumerate(value):
        if not is_integer(n):
            kind = type(n).__name__
            raise TypeError(f"{function}(): argument '{argument}' (position {position}) must be tuple of ints, but "
                            f"found element of type {kind} at pos {i}")
    return tuple([int(n) for n in value])


def _windows(function: str, dims: int, options: dict[str, Any]) -> dict[str, Sizes]:
    """kernel_size, stride, padding and dilation, with one number for each spatial dim."""
    found: dict[str, Sizes] = {}
    for position, (name, value) in enumerate(options.items(), 2):
        if name == "stride" and value is None:
            value = ()
        sizes = _read(function, name, position, value)
        if name == "stride" and not sizes:
            sizes = found["kernel_size"]
        if len(sizes) not in (1, dims):
            if dims == 1:
                raise RuntimeError(f"{function}() argument '{name}' should contain one int (got {len(sizes)})")
            how = "be either" if name == "dilation" else "either be omitted," if name == "stride" else "either be"
            raise RuntimeError(f"{function}: {name} must {how} a single int, or a tuple of {COUNT[dims]}")
        found[name] = sizes if len(sizes) == dims else sizes * dims
    return found


def _out_size(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    if stride == 0:
        raise RuntimeError("stride should not be zero")
    if padding < 0:
        raise RuntimeError(f"pad must be non-negative, but got pad: {padding}")
    if padding > ((kernel - 1) * dilation + 1) // 2:
        raise RuntimeError("pad should be at most half of effective kernel size, but got "
                           f"pad={padding}, kernel_size={kernel} and dilation={dilation}")
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    out = (room + stride - 1 if ceil_mode else room) // stride + 1
    # The last window must begin inside the image or the padding before it.
    return out - 1 if ceil_mode and (out - 1) * stride >= size + padding else out


def _positive(name: str, letter: str, values: Sizes, dims: int) -> None:
    if min(values) <= 0:
        got = " ".join(f"{letter}{axis}: {n}" for axis, n in zip(AXES[-dims:], values, strict=True))
        raise RuntimeError(f"{name} should be greater than zero, but got {got}")


@lru_cache(maxsize=1024, typed=True)
def _axes(function: str, dims: int, shape: Sizes, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
          ceil_mode: bool) -> tuple[Sliding, ...]:
    """The sliding window along each spatial dim, after torch's checks; cached."""
    options = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
    average = function.startswith("avg")
    if average:
        del options["dilation"]
    sizes = _windows(function, dims, options)
    if dims == 2 and average and len(shape) < 3:
        raise IndexError(f"Dimension out of range (expected to be in range of [-{len(shape)}, {len(shape) - 1}], but got -3)")
    if len(shape) not in (dims + 1, dims + 2) and not (dims == 2 and average):
        raise RuntimeError(f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input")
    kernel, strides, pads = sizes["kernel_size"], sizes["stride"], sizes["padding"]
    dilations = sizes.get("dilation", (1,) * dims)
    axes = tuple([Sliding(n, k, s, p, d, _out_size(n, k, s, p, d, ceil_mode)) for n, k, s, p, d in
                  zip(shape[-dims:], kernel, strides, pads, dilations, strict=True)])
    _positive("kernel size", "k", kernel, dims)
    _positive("stride", "d", strides, dims)
    _positive("dilation", "dilation", dilations, dims)
    if dims == 3 and 0 in shape[-4:]:
        where = "avg_pool3d" if average else "max_pool3d_with_indices_out_cpu_template"
        raise RuntimeError(f"{where}(): Expected input's non-batch dimensions to have positive length, but input has a shape "
                           f"of {list(shape)} and non-batch dimension 0 has length zero!")
    if dims == 2 and (len(shape) not in (3, 4) or 0 in shape[-3:]):
        raise RuntimeError("Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:"
                           f"{list(shape)}")
    if dims == 3 and average and any(n + 2 * p < k for n, k, _, p, _, _ in axes):
        image, window = (" ".join(f"{letter}{axis}: {n}" for axis, n in zip(AXES, values, strict=True))
                         for letter, values in (("", shape[-3:]), ("k", kernel)))
        raise RuntimeError(f"input image ({image}) smaller than kernel size ({window})")
    if min([axis.out for axis in axes]) < 1:
        before, after = ("x".join(map(str, values)) for values in (shape[-dims - 1:], (shape[-dims - 1], *[a.out for a in axes])))
        raise RuntimeError(f"Given input size: ({before}). Calculated output size: ({after}). Output size is too small")
    return axes


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _wants_gradient(input: Tensor) -> bool:
    return (input.requires_grad and grad_state.grad and not grad_state.inference) or bool(grad_state.levels)


def _maxima(input: Tensor, axes: tuple[Any, ...], name: str, dims: int, return_indices: bool) -> Any:
    if not return_indices and not _wants_gradient(input):
        return apply(TABLE["max_pool_values"], input, axes=axes)
    values, indices = apply(TABLE["max_pool"], input, axes=axes, kind=Kind(name, dims))
    return (values, indices) if return_indices else values


def _max_pool(dims: int) -> Callable[..., Any]:
    name = f"max_pool{dims}d"

    def pool(input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
             return_indices: bool = False) -> Any:
        read_tensor(name, input)
        axes = _axes(name, dims, input._array.shape, _hashable(kernel_size), _hashable(stride), _hashable(padding),
                     _hashable(dilation), ceil_mode)
        check_kinds(name, input, "iufV")
        return _maxima(input, axes, f"MaxPool{dims}DWithIndices", dims, return_indices)

    in_float32 = Policy("float32", lambda given: not given.get("return_indices")) if dims == 3 else None
    return _named(pool, name, f"The maximum of each window over the last {dims} dims.", in_float32)


max_pool2d, max_pool3d = (_max_pool(dims) for dims in (2, 3))


@nn_function()
def max_pool1d(input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
               ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The maximum of each window along the last dim."""
    read_tensor("max_pool1d", input)
    _check_max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)
    sizes = _windows("max_pool1d", 1, {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation})
    two = {key: (0 if key == "padding" else 1, *value) for key, value in sizes.items()}
    found = max_pool2d(input.unsqueeze(-2), two["kernel_size"], two["stride"], two["padding"], two["dilation"], ceil_mode,
                       return_indices)
    if return_indices:
        return tuple([t.squeeze(-2) for t in found])
    return torch.squeeze(found if found.requires_grad else in_usual_order(found), -2)


def _check_max_pool1d(input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> None:
    shape = input._array.shape
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError("max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
                           f"input, but got:{list(shape)}")
    values: dict[str, int] = {}
    given = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
    for position, (name, value) in enumerate(given.items(), 2):
        sizes = _read("max_pool1d", name, position, () if value is None else value)
        if len(sizes) != 1 and not (name == "stride" and not sizes):
            raise RuntimeError(f"max_pool1d() {name} must be an int, list of ints or tuple of ints of size 1 but got "
                               f"size {len(sizes)}")
        values[name] = sizes[0] if sizes else values["kernel_size"]
    for name in ("kernel_size", "stride"):
        if values[name] <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {values[name]}")
    kernel, pad = values["kernel_size"], values["padding"]
    if pad < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {pad}")
    if pad > kernel // 2:
        raise RuntimeError("max_pool1d() padding should be at most half of kernel size, but got "
                           f"padding={pad} and kernel_size={kernel}")
    if values["dilation"] <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {values['dilation']}")
    out = _out_size(shape[-1], kernel, values["stride"], pad, values["dilation"], ceil_mode)
    if out <= 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {out}")
    if not _wants_gradient(input):
        check_kinds("max_pool1d_impl", input, "fV")


def _avg_pool(dims: int) -> Callable[..., Any]:
    name = f"avg_pool{dims}d"
    kind = Kind(f"AvgPool{dims}D", dims)

    def pool(input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
             count_include_pad: bool = True, divisor_override: int | None = None, *, out: Any = None) -> Any:
        read_tensor(name, input)
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        axes = _axes(name, dims, input._array.shape, _hashable(kernel_size), _hashable(stride), _hashable(padding), 1, ceil_mode)
        if input.dtype is not dtypes.int64:
            check_kinds(name, input, "fV")
        result = apply(TABLE["avg_pool"], input, axes=axes, count_pad=count_include_pad, divisor=divisor_override, kind=kind)
        return with_out(name, in_usual_order(result) if dims == 3 else result, out, input)

    return _named(pool, name, f"The mean of each window over the last {dims} dims.", "float32" if dims == 3 else None)


avg_pool2d, avg_pool3d = (_avg_pool(dims) for dims in (2, 3))


def _check_dims_1d(function: str, input: Tensor) -> None:
    if input._array.ndim not in (2, 3):
        raise RuntimeError(f"Expected 2 to 3 dimensions, but got {input._array.ndim}-dimensional tensor for argument "
                           f"#1 'self' (while checking arguments for {function})")


@nn_function()
def avg_pool1d(input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
               count_include_pad: bool = True) -> Any:
    """The mean of each window along the last dim."""
    read_tensor("avg_pool1d", input)
    _check_dims_1d("avg_pool1d", input)
    sizes = _windows("avg_pool1d", 1, {"kernel_size": kernel_size, "stride": stride, "padding": padding})
    return avg_pool2d(input.unsqueeze(-2), (1, *sizes["kernel_size"]), (1, *sizes["stride"]), (0, *sizes["padding"]),
                      ceil_mode, count_include_pad).squeeze(-2)


def _target(output_size: Any, input: Tensor, dims: int) -> Any:
    """The output size, with the input's own size where None is given."""
    if isinstance(output_size, int):
        return (output_size,) * dims
    shape = input._array.shape
    if len(shape) <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    return tuple([n if wanted is None else wanted
                  for wanted, n in zip(output_size, shape[len(shape) - len(output_size):], strict=True)])


def _check_adaptive(function: str, input: Tensor, dims: int, colon: str) -> None:
    shape = input._array.shape
    if len(shape) not in (dims + 1, dims + 2):
        raise RuntimeError(f"{function}(): Expected {dims + 1}D or {dims + 2}D tensor, but got{colon} {list(shape)}")
    first = len(shape) - dims if function == "adaptive_avg_pool2d" else 1
    for i in range(first, len(shape)):
        if shape[i] == 0:
            raise RuntimeError(f"{function}(): Expected input to have non-zero size for non-batch dimensions, but "
                               f"input has sizes {list(shape)} with dimension {i} being empty")


def _adaptive_axes(input: Tensor, size: Sizes) -> tuple[Adaptive, ...]:
    return tuple([Adaptive(n, out) for n, out in zip(input._array.shape[-len(size):], size, strict=True)])


def _adaptive_mean(function: str, input: Tensor, size: Sizes, dims: int) -> Any:
    if len(size) != dims:
        raise RuntimeError(f"{function}: output_size must be {dims}")
    if min(size) < 0:
        got = f"{size[0]}, " + ",".join(map(str, size[1:]))
        raise RuntimeError(f"{function}: elements of output_size must be greater than or equal to 0 but received {{{got}}}")
    if all(n == 1 for n in size):
        result = torch.mean(input, tuple(range(-dims, 0)), keepdim=True)
        if dims == 2 and type(result._array) is np.ndarray:
            result._array = with_channels_as_in(result._array, input._array)
        return result
    _check_adaptive(function, input, dims, "")
    check_kinds(function if dims == 2 else f"{function}_cpu", input, "fV")
    result = apply(TABLE["avg_pool"], input, axes=_adaptive_axes(input, size), count_pad=False, divisor=None,
                   kind=Kind(f"AdaptiveAvgPool{dims}D", dims))
    return in_usual_order(result) if dims == 3 else result


@nn_function()
def adaptive_avg_pool1d(input: Any, output_size: Any) -> Any:
    """The means of `output_size` windows that cover the last dim evenly."""
    read_tensor("adaptive_avg_pool1d", input)
    size = _adaptive_1d("adaptive_avg_pool1d", input, output_size)
    return _adaptive_mean("adaptive_avg_pool2d", input.unsqueeze(-2), (1, size), 2).squeeze(-2)


def _adaptive_1d(function: str, input: Tensor, output_size: Any) -> int:
    sizes = _read(function, "output_size", 2, output_size)
    _check_dims_1d(function, input)
    if len(sizes) != 1:
        raise RuntimeError(f"{function}() argument 'output_size' should contain one int (got {len(sizes)})")
    return sizes[0]


@nn_function()
def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """The means of windows that cover the last two dims evenly."""
    return _adaptive_mean("adaptive_avg_pool2d", read_tensor("adaptive_avg_pool2d", input), _target(output_size, input, 2), 2)


@nn_function(autocast="float32")
def adaptive_avg_pool3d(input: Any, output_size: Any) -> Any:
    """The means of windows that cover the last three dims evenly."""
    return _adaptive_mean("adaptive_avg_pool3d", read_tensor("adaptive_avg_pool3d", input), _target(output_size, input, 3), 3)


def _adaptive_maxima(function: str, input: Tensor, size: Sizes, dims: int) -> Any:
    _check_adaptive(function, input, dims, ":")
    if len(size) != dims:
        raise RuntimeError(f"{function}(): internal error: output_size.size() must be {dims}")
    check_sizes((*input._array.shape[:-dims], *size))
    check_kinds(function if dims == 2 else f"{function}_cpu", input, "fV")
    return _maxima(input, _adaptive_axes(input, size), f"AdaptiveMaxPool{dims}D", dims, True)


def _adaptive_max_pool(dims: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    name = f"adaptive_max_pool{dims}d"

    def with_indices(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        read_tensor(name, input)
        if dims > 1:
            return _adaptive_maxima(name, input, _target(output_size, input, dims), dims)
        size = _adaptive_1d(name, input, output_size)
        _check_adaptive(name, input, 1, ":")
        return tuple([t.squeeze(-2) for t in _adaptive_maxima("adaptive_max_pool2d", input.unsqueeze(-2), (1, size), 2)])

    def pool(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        if return_indices:
            return with_indices(input, output_size)
        return getattr(F, with_indices.__name__)(input, output_size)[0]

    in_float32 = "float32" if dims == 3 else None
    return (_named(pool, name, f"The maxima of windows that cover the last {dims} dims evenly.", in_float32),
            _named(with_indices, f"{name}_with_indices", f"`{name}`, and the indices of the maxima in the flattened image."))


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_max_pool(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_max_pool(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_max_pool(3)


def _lp_pool(dims: int) -> Callable[..., Any]:
    average, maximum = f"avg_pool{dims}d", f"max_pool{dims}d"

    def pool(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
        if norm_type == float("inf"):
            return getattr(F, maximum)(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        if norm_type == -float("inf"):
            return -getattr(F, maximum)(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        count = kernel_size ** dims if isinstance(kernel_size, int) else math.prod(kernel_size)
        powers = input.pow(norm_type)
        if stride is None:
            mean = getattr(F, average)(powers, kernel_size, padding=0, ceil_mode=ceil_mode)
        else:
            mean = getattr(F, average)(powers, kernel_size, stride, 0, ceil_mode)
        return (torch.sign(mean) * F.relu(torch.abs(mean))).mul(count).pow(1.0 / norm_type)

    return _named(pool, f"lp_pool{dims}d", f"The p-norm of each window over the last {dims} dims.")


lp_pool1d, lp_pool2d, lp_pool3d = (_lp_pool(dims) for dims in (1, 2, 3))


def _unpool_size(input: Tensor, kernel: Sizes, stride: Sizes, padding: Sizes, output_size: Any) -> Sizes:
    dims = len(kernel)
    default = [(n - 1) * s + k - 2 * p
               for n, k, s, p in zip(input._array.shape[-dims:], kernel, stride, padding, strict=True)]
    if output_size is None:
        return tuple(default)
    size: Sequence[int] = output_size
    if len(size) == dims + 2:
        size = size[2:]
    if len(size) != dims:
        raise ValueError(f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a "
                         f"length of '{len(size)}'")
    for d, (n, normal, step) in enumerate(zip(size, default, stride, strict=True)):
        if not normal - step < n < normal + step:
            raise ValueError(f'invalid output_size "{size}" (dim {d} must be between {normal - step} and {normal + step})')
    return tuple(size)


def _unpool(input: Tensor, indices: Tensor, size: Sizes, dims: int) -> Any:
    function = f"max_unpooling{dims}d"
    alert_not_deterministic(f"{function}_forward_out")
    shape = input._array.shape
    if len(shape) not in (dims + 1, dims + 2):
        raise RuntimeError(f"Input to {function} should be a {dims + 1}d or {dims + 2}d Tensor, but got a tensor with "
                           f"{len(shape)} dimensions.")
    if indices.dtype is not dtypes.int64:
        got = f" but got: {indices.dtype.scalar_name}" if dims == 2 else ""
        raise RuntimeError(f"elements in indices should be type int64{got}")
    if shape != indices._array.shape:
        raise RuntimeError(f"Expected shape of indices to be same as that of the input tensor ({list(shape)}) but got "
                           f"indices tensor with shape: {list(indices._array.shape)}")
    check_kinds(f"max_unpool{dims}d", input, "fV")
    wrong = indices._array[(indices._array < 0) | (indices._array >= math.prod(size))]
    if wrong.size:
        raise RuntimeError(f"Found an invalid max index: {wrong.flat[0]} (output volumes are of size "
                           f"{'x'.join(map(str, size))})")
    return apply(TABLE["max_unpool"], input, indices, shape=(*shape[:-dims], *size), kind=Kind(f"MaxUnpool{dims}D", dims))


def _max_unpool(dims: int) -> Callable[..., Any]:
    def unpool(input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
               output_size: Any = None) -> Any:
        options = {"kernel_size": kernel_size, "stride": stride, "padding": padding}
        sizes = _windows(f"max_unpool{dims}d", dims, options)
        size = _unpool_size(input, sizes["kernel_size"], sizes["stride"], sizes["padding"], output_size)
        if dims > 1:
            return _unpool(input, indices, size, dims)
        # torch unpools 1d inputs as images of width 1.
        return _unpool(input.unsqueeze(-1), indices.unsqueeze(-1), (*size, 1), 2).squeeze(-1)

    return _named(unpool, f"max_unpool{dims}d", f"Maxima put back where `max_pool{dims}d` found them, zeros elsewhere.",
                  "float32" if dims > 1 else None)


max_unpool1d, max_unpool2d, max_unpool3d = (_max_unpool(dims) for dims in (1, 2, 3))


def _fractional(dims: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    name = f"fractional_max_pool{dims}d"

    def with_indices(input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                     return_indices: bool = False, _random_samples: Any = None) -> Any:
        if output_size is None:
            if output_ratio is None:
                raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
            if dims == 2 and len(output_ratio) > 2:
                raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
            ratios = tuple(output_ratio) if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * dims
            output_size = [int(input.size(i - dims) * ratios[i]) for i in range(dims)]
        if _random_samples is None:
            batch = 1 if input.ndim == dims + 1 else input.size(0)
            _random_samples = torch.rand(batch, input.size(-dims - 1), dims, dtype=input.dtype)
        kernel, size = _fractional_sizes(name, dims, kernel_size=kernel_size, output_size=output_size)
        _check_fractional(name, input, kernel, size, _random_samples)
        samples = _random_samples if input.ndim == dims + 2 else _random_samples[0]
        values, indices = apply(TABLE["fractional_max_pool"], input, samples, kernel=kernel, size=size,
                                kind=Kind(f"FractionalMaxPool{dims}D", dims))
        return values, indices

    def pool(input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
             _random_samples: Any = None) -> Any:
        given = (input, kernel_size, output_size, output_ratio, return_indices, _random_samples)
        return with_indices(*given) if return_indices else getattr(F, with_indices.__name__)(*given)[0]

    return (_named(pool, name, f"The maximum of each of `output_size` windows over the last {dims} dims, at random positions.",
                   "float32"),
            _named(with_indices, f"{name}_with_indices", f"`{name}`, and the indices of the maxima in the flattened image."))


def _fractional_sizes(name: str, dims: int, **given: Any) -> list[Sizes]:
    """One number for each dim, from a number or from as many."""
    found = []
    for position, (argument, value) in enumerate(given.items(), 2):
        sizes = _read(name, argument, position, value)
        if isinstance(value, (tuple, list)) and len(sizes) != dims:
            words = "Ints" if dims == 2 else "three Ints"
            raise RuntimeError(f"{name}: {argument} must either be a single Int or tuple of {words}")
        found.append(sizes * dims if len(sizes) == 1 else sizes)
    return found


def _check_fractional(name: str, input: Tensor, kernel: Sizes, size: Sizes, samples: Tensor) -> None:
    dims = len(kernel)
    shape = input._array.shape
    where = name if dims == 2 else f"{name}_out"
    for i in range(1, len(shape)):
        if not shape[i]:
            raise RuntimeError(f"{where}(): Expected input to have non-zero size for non-batch dimensions, but got{list(shape)} "
                               f"with dimension {i} being empty.")
    for axis, n, out, k in zip(AXES[-dims:], shape[-dims:], size, kernel, strict=True):
        if out + k - 1 > n:
            raise RuntimeError(f"{where}(): pool {LONG_AXES[axis]} {k} too large relative to input {LONG_AXES[axis]} {n}")
    batch = shape[0] if len(shape) == dims + 2 else 1
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    if samples.shape[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != shape[-dims - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != dims:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {dims}; got {samples.shape[2]}.")


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional(3)


def _with_indices(pool: Callable[..., Any]) -> Callable[..., Any]:
    def with_indices(*args: Any, **kwargs: Any) -> Any:
        return pool(*args, **{**kwargs, "return_indices": True})

    return _named(with_indices, f"{pool.__name__}_with_indices",
                  f"`{pool.__name__}`, and the indices of the maxima in the flattened image.")


max_pool1d_with_indices = _with_indices(max_pool1d)
max_pool2d_with_indices = _with_indices(max_pool2d)
max_pool3d_with_indices = _with_indices(max_pool3d)
