"""torch.fft, and the short-time transforms made of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.base import dtypes
from whygrad.core.tensor import Tensor
from whygrad.functional.arguments import check_place, read_dtype, read_tensor
from whygrad.functional.dims import normalize_dim
from whygrad.functional.fresh import fresh
from whygrad.functional.promotion import cast
from whygrad.functional.run import FUNCTIONS, fft_function, rows, with_out

# name -> (what it maps: complex numbers "c" or real ones "r"; whether it is the forward transform)
FAMILY = {"fft": ("c2c", True), "ifft": ("c2c", False), "rfft": ("r2c", True), "irfft": ("c2r", False),
          "hfft": ("c2r", True), "ihfft": ("r2c", False)}

_NORMS = {True: {None: "none", "backward": "none", "ortho": "root", "forward": "n"},
          False: {None: "n", "backward": "n", "ortho": "root", "forward": "none"}}


def read_norm(norm: Any, forward: bool) -> str:
    if norm not in _NORMS[forward]:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return _NORMS[forward][norm]


def as_floating(x: Tensor) -> Tensor:
    """Integers in the default dtype; half precision is refused."""
    if x.dtype.category < 2:
        return cast(x, dtypes.get_default_dtype().numpy)
    if x.dtype.itemsize == 2:
        raise RuntimeError(f"Unsupported dtype {x.dtype.scalar_name}")
    return x


def as_complex(x: Tensor) -> Tensor:
    return cast(x, x.dtype.to_complex().numpy)


def conjugate(x: Tensor) -> Tensor:
    return FUNCTIONS["conj"](x)


def read_fft_dim(dim: int, ndim: int) -> int:
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return normalize_dim(dim, ndim)


def check_points(n: int) -> None:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")


def resized(x: Tensor, sizes: dict[int, int]) -> Tensor:
    """Cut off, or filled up with zeros, to these sizes of some axes."""
    shape = x._array.shape
    pads = tuple([(0, max(sizes.get(axis, n) - n, 0)) for axis, n in enumerate(shape)])
    for axis, size in sizes.items():
        if size < shape[axis]:
            x = rows.slice(x, axis=axis, start=0, stop=size, step=1)
    return rows.constant_pad(x, pads=pads, value=0) if any(after for _, after in pads) else x


def transform(name: str, x: Tensor, axes: tuple[int, ...], norm: str, size: int) -> Tensor:
    """One of the family, of a tensor that has its sizes already; `size` is that of a real result's last axis."""
    kind, forward = FAMILY[name]
    if kind == "c2c":
        return rows.fft_c2c(as_complex(x), axes=axes, norm=norm, inverse=not forward)
    others, last = axes[:-1], axes[-1:]
    if kind == "r2c":
        if forward:
            return rows.fft_r2c(x, axes=axes, norm=norm, onesided=True)
        spectrum = conjugate(rows.fft_r2c(x, axes=last, norm=norm, onesided=True))
        return rows.fft_c2c(spectrum, axes=others, norm=norm, inverse=True) if others else spectrum
    x = as_complex(x)
    if not forward:
        return rows.fft_c2r(x, axes=axes, norm=norm, size=size)
    if others:
        x = rows.fft_c2c(x, axes=others, norm=norm, inverse=False)
    return rows.fft_c2r(conjugate(x), axes=last, norm=norm, size=size)


def along_one_dim(name: str) -> Callable[..., Tensor]:
    kind, forward = FAMILY[name]

    def transformed(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *,
                    out: Any = None) -> Tensor:
        read_tensor(f"fft_{name}", input)
        if kind == "r2c" and input.dtype.is_complex:
            raise RuntimeError(f"{name} expects a real input tensor, but got {input.dtype.scalar_name}")
        x = as_floating(input)
        axis = read_fft_dim(dim, x._array.ndim)
        mode = read_norm(norm, forward)
        length = x._array.shape[axis]
        if n is None:
            n = 2 * (length - 1) if kind == "c2r" else length
        check_points(n)
        if kind == "c2r":
            x = resized(x, {axis: n // 2 + 1})
        elif n != length:
            x = resized(x, {axis: n})
        if kind == "c2c" and not x.dtype.is_complex:
            result = rows.fft_r2c(x, axes=(axis,), norm=mode, onesided=False)
            result = result if forward else conjugate(result)
        else:
            result = transform(name, x, (axis,), mode, n)
        return with_out(f"fft_{name}", result, out, input)

    return transformed


def read_dims_and_sizes(x: Tensor, s: Any, dim: Any) -> tuple[tuple[int, ...], list[int]]:
    """The axes and how many points each has; -1 for as many as there are."""
    shape = x._array.shape
    ndim = len(shape)
    if dim is not None:
        axes = tuple([read_fft_dim(d, ndim) for d in ((dim,) if isinstance(dim, int) else dim)])
        if len(set(axes)) < len(axes):
            raise RuntimeError("FFT dims must be unique")
    if s is not None:
        s = [s] if isinstance(s, int) else list(s)
        if dim is not None and len(s) != len(axes):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
        if len(s) > ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions.")
        if dim is None:
            axes = tuple(range(ndim - len(s), ndim))
    elif dim is None:
        axes = tuple(range(ndim))
    sizes = [shape[axis] for axis in axes]
    if s is not None:
        sizes = [given if n == -1 else n for given, n in zip(sizes, s, strict=True)]
    for n in sizes:
        check_points(n)
    return axes, sizes


def along_dims(name: str, suffix: str) -> Callable[..., Tensor]:
    kind, forward = FAMILY[name]
    full_name = f"fft_{name}{suffix}"

    def transformed(input: Tensor, s: Any = None, dim: Any = (-2, -1) if suffix == "2" else None,
                    norm: str | None = None, *, out: Any = None) -> Tensor:
        read_tensor(full_name, input)
        if kind == "r2c" and input.dtype.is_complex:
            raise RuntimeError(f"{name}n expects a real-valued input tensor, but got {input.dtype.scalar_name}" if forward else
                               f"Only supports floating-point dtypes, but found: {input.dtype.scalar_name}")
        x = as_floating(input)
        axes, sizes = read_dims_and_sizes(x, s, dim)
        if kind != "c2c" and not axes:
            raise RuntimeError(f"{name}n must transform at least one axis")
        mode = read_norm(norm, forward)
        size = sizes[-1] if sizes else 0
        if kind == "c2r":
            if s is None or (s if isinstance(s, int) else s[-1]) == -1:
                size = 2 * (x._array.shape[axes[-1]] - 1)
                check_points(size)
            sizes[-1] = size // 2 + 1
        x = resized(x, dict(zip(axes, sizes, strict=True)))
        return with_out(full_name, transform(name, x, axes, mode, size), out, input)

    return transformed


def _declare(name: str, function: Callable[..., Tensor], doc: str) -> None:
    in_float32 = None if name in ("hfft2", "hfftn", "ihfft2", "ihfftn") else "float32"
    globals()[name] = fft_function(name=name, doc=doc, autocast=in_float32)(function)


_DOCS = {"fft": "The discrete Fourier transform", "ifft": "The inverse of the discrete Fourier transform",
         "rfft": "The Fourier transform of real numbers, without the frequencies that mirror others",
         "irfft": "Back from what `rfft` gives to real numbers",
         "hfft": "The Fourier transform of a Hermitian-symmetric signal, given as its half; real numbers",
         "ihfft": "The inverse of `hfft`: half of a Hermitian-symmetric signal"}

for _name, _doc in _DOCS.items():
    _declare(_name, along_one_dim(_name), f"{_doc}, along one dim.")
    _declare(f"{_name}2", along_dims(_name, "2"), f"{_doc}, along two dims.")
    _declare(f"{_name}n", along_dims(_name, "n"), f"{_doc}, along several dims.")

NAMES = [f"{name}{suffix}" for name in FAMILY for suffix in ("", "2", "n")]


@fft_function()
def fftfreq(n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
            requires_grad: bool = False) -> Tensor:
    """The frequencies of what `fft` gives for `n` points at distance `d`."""
    order = np.arange(n)
    return _frequencies("fftfreq", np.where(order < (n + 1) // 2, order, order - n), n, d, out, dtype, layout, device,
                        requires_grad)


@fft_function()
def rfftfreq(n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """The frequencies of what `rfft` gives for `n` points at distance `d`."""
    return _frequencies("rfftfreq", np.arange(n // 2 + 1), n, d, out, dtype, layout, device, requires_grad)


def _frequencies(name: str, order: np.ndarray, n: int, d: float, out: Any, dtype: Any, layout: Any, device: Any,
                 requires_grad: bool) -> Tensor:
    default = out.dtype if isinstance(out, Tensor) else dtypes.get_default_dtype()
    wanted = read_dtype(f"fft_{name}", dtype, default)
    if wanted.category < 2:
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    check_place(f"fft_{name}", layout, device, None)
    with np.errstate(all="ignore"):
        values = order.astype(wanted.numpy) * wanted.numpy.type(1.0 / (n * d) if n * d else math.inf)
    return with_out(f"fft_{name}", fresh(values, requires_grad), out)


@fft_function()
def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The frequency 0 moved to the middle."""
    return _shifted("fft_fftshift", input, dim, lambda n: n // 2)


@fft_function()
def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The frequency 0 moved back to the beginning."""
    return _shifted("fft_ifftshift", input, dim, lambda n: (n + 1) // 2)


def _shifted(function: str, input: Any, dim: Any, shift: Callable[[int], int]) -> Tensor:
    shape = read_tensor(function, input)._array.shape
    dims = range(len(shape)) if dim is None else (dim,) if isinstance(dim, int) else dim
    axes = [read_fft_dim(d, len(shape)) for d in dims]
    return FUNCTIONS["roll"](input, [shift(shape[axis]) for axis in axes], axes)


