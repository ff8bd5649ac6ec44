"""Fourier transforms of short stretches of a signal, and the way back."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.base.errors import warn
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional.arguments import read_tensor
from whygrad.functional.fourier import as_complex
from whygrad.functional.fresh import warn_once
from whygrad.functional.rearrange import pad
from whygrad.functional.run import FUNCTIONS, public, rows, run

NO_WINDOW = "A window was not provided. A rectangular window will be applied"
ASK_FOR_ONES = ("To suppress this warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, "
                "device=<device>)`.")


def _kind(x: Tensor) -> str:
    return f"CPU{x.dtype.scalar_name}Type" if x.dtype.is_complex else x.dtype.tensor_type


def _shown(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{_kind(value)}{{{list(value._array.shape)}}}"
    return str(int(value) if isinstance(value, bool) else value)


def _refusal(function: str, x: Tensor, options: dict[str, Any], reason: str) -> RuntimeError:
    """The call as torch prints it, and what is wrong with it."""
    shown = ", ".join([f"{name}={_shown(value)}" for name, value in options.items()])
    return RuntimeError(f"{function}({_kind(x)}{list(x._array.shape)}, {shown}) {reason}")


def _full_window(window: Tensor | None, win_length: int, n_fft: int, like: Tensor) -> Tensor | None:
    """The window in the middle of `n_fft` points; None if it would be all ones."""
    if win_length == n_fft:
        return window
    if window is None:
        window = wrap(np.ones(win_length, like.dtype.to_real().numpy))
    left = (n_fft - win_length) // 2
    return rows.constant_pad(window, pads=((left, n_fft - win_length - left),), value=0)


@public(autocast="float32")
def stft(input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
         window: Tensor | None = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
         onesided: bool | None = None, return_complex: bool | None = None, align_to_window: bool | None = None) -> Tensor:
    """The Fourier transforms of stretches of `n_fft` points, `hop_length` apart: (batch, frequencies, stretches)."""
    x = read_tensor("stft", input)
    if window is None:
        warn_once(f"{NO_WINDOW},which is known to cause spectral leakage. Other windows such as torch.hann_window or "
                  f"torch.hamming_window are recommended to reduce spectral leakage.{ASK_FOR_ONES}")
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center:
        ndim, shape = x._array.ndim, x._array.shape
        reshape = FUNCTIONS["reshape"]
        padded = pad(reshape(x, (*(1,) * (3 - ndim), *shape)), [n_fft // 2, n_fft // 2], pad_mode)
        x = reshape(padded, padded._array.shape[-ndim:])
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    options = {"n_fft": n_fft, "hop_length": hop_length, "win_length": win_length, "window": window, "normalized": normalized,
               "onesided": onesided, "return_complex": return_complex, "align_to_window": align_to_window}
    is_complex = x.dtype.is_complex or (window is not None and window.dtype.is_complex)
    if return_complex is None and not is_complex:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further require "
                           "that return_complex=True in a future PyTorch release.")
    if return_complex is False:
        warn_once("stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors "
                  "for all inputs, and return_complex=False will raise an error.\n"
                  "Note: you can still call torch.view_as_real on the complex output to recover the old return format.")
    if x.dtype.category < 2:
        raise _refusal("stft", x, options, ": expected a tensor of floating point or complex values")
    if x._array.ndim not in (1, 2):
        raise _refusal("stft", x, options, ": expected a 1D or 2D tensor")
    signal = x if x._array.ndim == 2 else rows.unsqueeze(x, axis=0)
    length = signal._array.shape[1]
    if not 0 < n_fft <= length:
        raise _refusal("stft", x, options, f": expected 0 < n_fft < {length}, but got n_fft={n_fft}")
    if hop_length <= 0:
        raise _refusal("stft", x, options, f": expected hop_length > 0, but got hop_length={hop_length}")
    if not 0 < win_length <= n_fft:
        raise _refusal("stft", x, options, f": expected 0 < win_length <= n_fft, but got win_length={win_length}")
    if window is not None and window._array.shape != (win_length,):
        raise _refusal("stft", x, options, f": expected a 1D window tensor of size equal to win_length={win_length}, but got "
                       f"window with size {list(window._array.shape)}")
    if onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if align_to_window:
        # The first stretch begins where its window does.
        left = (n_fft - win_length) // 2
        signal = rows.constant_pad(signal, pads=((0, 0), (left, left)), value=0)
    frames = rows.unfold(signal, axis=1, size=n_fft, step=hop_length)
    shape_window = _full_window(window, win_length, n_fft, x)
    if shape_window is not None:
        frames = run("mul", frames, shape_window)
    norm = "root" if normalized else "none"
    if is_complex:
        out = rows.fft_c2c(as_complex(frames), axes=(2,), norm=norm, inverse=False)
    else:
        out = rows.fft_r2c(frames, axes=(2,), norm=norm, onesided=onesided is not False)
    out = rows.transpose(out, axis0=1, axis1=2)
    if x._array.ndim == 1:
        out = rows.squeeze(out, axis=0)
    return out if return_complex or (return_complex is None and is_complex) else FUNCTIONS["view_as_real"](out)


@public()
def istft(input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
          window: Tensor | None = None, center: bool = True, normalized: bool = False, onesided: bool | None = None,
          length: int | None = None, return_complex: bool = False) -> Tensor:
    """The signal that `stft` came from, with overlapping stretches averaged as their windows say."""
    x = read_tensor("istft", input)
    if window is None:
        warn_once(f"{NO_WINDOW}.Please provide the same window used by stft to make the inversion lossless.{ASK_FOR_ONES}")
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    options = {"n_fft": n_fft, "hop_length": hop_length, "win_length": win_length, "window": window, "center": center,
               "normalized": normalized, "onesided": onesided, "length": length, "return_complex": return_complex}
    if not x.dtype.is_complex:
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with "
                           "return_complex=True.")
    if not x._array.size:
        raise _refusal("istft", x, options, ": input tensor cannot be empty.")
    if x._array.ndim not in (2, 3):
        raise _refusal("istft", x, options, ": expected a tensor with 2 or 3 dimensions, but got "
                       f"{x._array.ndim + 1} dimensions")
    frequencies, count = x._array.shape[-2:]
    onesided = frequencies != n_fft if onesided is None else onesided
    expected = n_fft // 2 + 1 if onesided else n_fft
    if frequencies != expected:
        which = "n_fft / 2 + 1" if onesided else "n_fft"
        raise _refusal("istft", x, options, ": expected the frequency dimension (3rd to the last) of the input tensor to match "
                       f"{which} when onesided={'True' if onesided else 'False'}, but got {frequencies}")
    if not 0 < hop_length <= win_length:
        raise _refusal("istft", x, options, ": expected 0 < hop_length <= win_length")
    if not 0 < win_length <= n_fft:
        raise _refusal("istft", x, options, ": expected 0 < win_length <= n_fft")
    if window is not None and window._array.shape != (win_length,):
        raise _refusal("istft", x, options, ": Invalid window shape. window has to be 1D and length of `win_length`")
    if onesided and return_complex:
        raise _refusal("istft", x, options, ": cannot have onesided output if window or input is complex")
    spectrum = x if x._array.ndim == 3 else rows.unsqueeze(x, axis=0)
    frames = rows.transpose(spectrum, axis0=1, axis1=2)
    norm = "root" if normalized else "n"
    if return_complex:
        frames = rows.fft_c2c(frames, axes=(2,), norm=norm, inverse=True)
    else:
        if not onesided:
            frames = rows.slice(frames, axis=2, start=0, stop=n_fft // 2 + 1, step=1)
        frames = rows.fft_c2r(frames, axes=(2,), norm=norm, size=n_fft)
    shape_window = _full_window(window, win_length, n_fft, x)
    if shape_window is None:
        shape_window = wrap(np.ones(n_fft, x.dtype.to_real().numpy))
    total = n_fft + hop_length * (count - 1)
    start = n_fft // 2 if center else 0
    end = total - start if length is None else start + length
    statics = {"axis": 1, "size": n_fft, "step": hop_length}
    signal = rows.unfold_backward(run("mul", frames, shape_window), shape=(frames._array.shape[0], total), **statics)
    squares = rows.expand(run("mul", shape_window, shape_window), shape=(1, count, n_fft))
    weight = rows.unfold_backward(squares, shape=(1, total), **statics)
    signal, weight = [rows.slice(t, axis=1, start=start, stop=min(end, total), step=1) for t in (signal, weight)]
    smallest = abs(weight._array).min(initial=np.inf)
    if not smallest > 1e-11:
        raise _refusal("istft", x, options, "window overlap add min: 1")
    signal = run("div", signal, weight)
    if x._array.ndim == 2:
        signal = rows.squeeze(signal, axis=0)
    if end > total:
        warn("The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
             "Please check your center, hop_length and other parameters.")
        pads = ((0, 0),) * (signal._array.ndim - 1) + ((0, end - total),)
        signal = rows.constant_pad(signal, pads=pads, value=0)
    return signal
