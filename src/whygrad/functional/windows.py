"""Windows for short-time transforms: torch.hann_window and its relatives, and torch.signal.windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from whygrad.base import dtypes
from whygrad.base.dtypes import c_name
from whygrad.base.layouts import strided
from whygrad.core.tensor import Tensor
from whygrad.functional.arguments import check_place, not_implemented, read_dtype, read_int
from whygrad.functional.fresh import fresh
from whygrad.functional.run import public

# Shapes. `count` points, and `last` is where the window would end: at the last point, or (periodic) one after it.

def cosines(count: int, last: int, a: Iterable[float]) -> np.ndarray:
    angle = 2 * np.pi * np.arange(count) / last
    return sum([(-1) ** i * weight * np.cos(i * angle) for i, weight in enumerate(a)], np.zeros(count))


def triangle(count: int, last: int) -> np.ndarray:
    return 1 - abs(2 * np.arange(count) / last - 1)


def bessel(count: int, last: int, beta: float) -> np.ndarray:
    place = 2 * np.arange(count) / last - 1
    return np.i0(beta * np.sqrt(np.maximum(1 - place * place, 0))) / np.i0(beta)


HANN, HAMMING, BLACKMAN = (0.5, 0.5), (0.54, 0.46), (0.42, 0.5, 0.08)
NUTTALL = (0.3635819, 0.4891775, 0.1365995, 0.0106411)


def _window(name: str, shape: Callable[..., np.ndarray], length: int, periodic: bool, dtype: Any, layout: Any, device: Any,
            pin_memory: bool, requires_grad: bool, *parameters: Any) -> Tensor:
    length = read_int(name, "window_length", 1, length)
    wanted = read_dtype(name, dtype, dtypes.get_default_dtype())
    if wanted.category < 2:
        raise RuntimeError(f"{name} expects floating point dtypes, got: TensorOptions(dtype={c_name(wanted)}, device=cpu, "
                           "layout=Strided (default), requires_grad=false (default), pinned_memory=false, "
                           "memory_format=(nullopt))")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    if wanted.is_complex:
        raise not_implemented("arange_cpu", wanted)
    check_place(name, layout, device, pin_memory)
    if length < 2:
        return fresh(np.ones(length, wanted.numpy), requires_grad)
    values = shape(length, length if periodic else length - 1, *parameters)
    return fresh(values.astype(wanted.numpy), requires_grad)


def _declare_plain(name: str, shape: Callable[..., np.ndarray], doc: str, *parameters: Any) -> None:
    def window(window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None,
               pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
        return _window(name, shape, window_length, periodic, dtype, layout, device, pin_memory, requires_grad, *parameters)

    public(method=False, name=name, doc=doc)(window)


_declare_plain("hann_window", cosines, "A raised cosine.", HANN)
_declare_plain("blackman_window", cosines, "A sum of three cosines.", BLACKMAN)
_declare_plain("bartlett_window", triangle, "A triangle.")


@public(method=False)
def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Any = None,
                   layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """A raised cosine that does not quite come down to zero."""
    return _window("hamming_window", cosines, window_length, periodic, dtype, layout, device, pin_memory, requires_grad,
                   (alpha, beta))


@public(method=False)
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None, layout: Any = None,
                  device: Any = None, pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """A Bessel function of a semicircle; the larger `beta`, the narrower."""
    return _window("kaiser_window", bessel, window_length, periodic, dtype, layout, device, pin_memory, requires_grad, beta)


# torch.signal.windows: symmetric unless told otherwise.

def _signal_window(name: str, M: int, sym: bool, dtype: Any, layout: Any, device: Any, requires_grad: bool,
                   values: Callable[[int], np.ndarray], one_is_one: bool = True) -> Tensor:
    wanted = read_dtype(name, dtype, dtypes.get_default_dtype())
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout not in (None, strided):
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if wanted not in (dtypes.float32, dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {wanted}")
    check_place(name, None, device, False)
    if M == 0 or (M == 1 and one_is_one):
        return fresh(np.ones(M, wanted.numpy), requires_grad)
    return fresh(values(M - 1 if sym or M == 1 else M).astype(wanted.numpy), requires_grad)


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, dtype: Any = None, layout: Any = None,
                   device: Any = None, requires_grad: bool = False) -> Tensor:
    """A sum of cosines with the weights `a`, of alternating signs."""
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    weights = list(a)
    if M > 1 and not weights:
        raise ValueError("Coefficients cannot be empty")
    return _signal_window("general_cosine", M, sym, dtype, layout, device, requires_grad,
                          lambda last: cosines(M, last, weights))


def blackman(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """A sum of three cosines."""
    return _signal_window("blackman", M, sym, dtype, layout, device, requires_grad, lambda last: cosines(M, last, BLACKMAN))


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, layout: Any = None,
                    device: Any = None, requires_grad: bool = False) -> Tensor:
    """A raised cosine with the weights `alpha` and `1 - alpha`."""
    return general_cosine(M, a=(alpha, 1 - alpha), sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)


def _cosine_window(name: str, weights: tuple[float, ...], doc: str) -> Callable[..., Tensor]:
    def window(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
               requires_grad: bool = False) -> Tensor:
        return general_cosine(M, a=weights, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = doc
    return window


hann = _cosine_window("hann", HANN, "A raised cosine.")
hamming = _cosine_window("hamming", HAMMING, "A raised cosine that does not quite come down to zero.")
nuttall = _cosine_window("nuttall", NUTTALL, "A sum of four cosines, by Nuttall.")


def bartlett(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """A triangle."""
    return _signal_window("bartlett", M, sym, dtype, layout, device, requires_grad, lambda last: triangle(M, last))


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
           requires_grad: bool = False) -> Tensor:
    """A Bessel function of a semicircle; the larger `beta`, the narrower."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _signal_window("kaiser", M, sym, dtype, layout, device, requires_grad, lambda last: bessel(M, last, beta))


def cosine(M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
           requires_grad: bool = False) -> Tensor:
    """Half a wave of the sine."""
    return _signal_window("cosine", M, sym, dtype, layout, device, requires_grad,
                          lambda last: np.sin(np.pi * (np.arange(M) + 0.5) / (last + 1)), one_is_one=False)


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """The bell curve."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _signal_window("gaussian", M, sym, dtype, layout, device, requires_grad,
                          lambda last: np.exp(-(((np.arange(M) - last / 2) / std) ** 2) / 2), one_is_one=False)


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None,
                layout: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Exponential decay to both sides of the center."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    return _signal_window("exponential", M, sym, dtype, layout, device, requires_grad,
                          lambda last: np.exp(-abs(np.arange(M) - (last / 2 if center is None else center)) / tau),
                          one_is_one=False)
