"""torch.fft, stft and windows against torch: values, dtypes, first and second derivatives, node names, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from oracle import assert_same, check, same_error

import whygrad

rng = np.random.default_rng(8)
REAL = rng.normal(size=(3, 4, 5))
COMPLEX = REAL + 1j * rng.normal(size=REAL.shape)

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
MANY = [f"{name}{suffix}" for name in ONE for suffix in ("2", "n")]
ONLY_REAL = ("rfft", "ihfft")

ONE_DIM: list[dict[str, Any]] = [{}, {"n": 7}, {"n": 4}, {"n": 1}, {"n": 2}, {"dim": 1}, {"dim": 0, "n": 4}, {"norm": "ortho"},
                                 {"norm": "forward"}, {"norm": "backward", "n": 6}]
DIMS: list[dict[str, Any]] = [{}, {"s": (3, 6)}, {"s": (-1, 4)}, {"s": (4, -1)}, {"dim": (0, 1)}, {"dim": (2, 0), "s": (5, 4)},
                              {"dim": (-1,)}, {"norm": "ortho"}, {"norm": "forward"}, {"s": (2, 2), "dim": (1, 2)}]


def inputs(name: str) -> list[np.ndarray]:
    return [REAL] if name.startswith(ONLY_REAL) else [REAL, COMPLEX]


def transformed(name: str, options: dict[str, Any]) -> Any:
    return lambda lib, x: getattr(lib.fft, name)(x, **options)


@pytest.mark.parametrize("options", ONE_DIM, ids=str)
@pytest.mark.parametrize("name", ONE)
def test_one_dim(name: str, options: dict[str, Any]) -> None:
    for x in inputs(name):
        check(transformed(name, options), [x], rtol=1e-9)


@pytest.mark.parametrize("options", DIMS, ids=str)
@pytest.mark.parametrize("name", MANY)
def test_several_dims(name: str, options: dict[str, Any]) -> None:
    for x in inputs(name):
        check(transformed(name, options), [x], rtol=1e-9)


@pytest.mark.parametrize("name", [*ONE, *MANY])
def test_single_precision_and_integers(name: str) -> None:
    check(transformed(name, {}), [REAL.astype(np.float32)], rtol=1e-4, order=1)
    check(transformed(name, {}), [np.arange(12).reshape(3, 4)], rtol=1e-4)
    if not name.startswith(ONLY_REAL):
        check(transformed(name, {}), [COMPLEX.astype(np.complex64)], rtol=1e-4, order=1)


OTHERS: dict[str, Any] = {
    "fftshift": lambda lib, x: lib.fft.fftshift(x),
    "fftshift dim": lambda lib, x: lib.fft.fftshift(x, dim=1),
    "ifftshift": lambda lib, x: lib.fft.ifftshift(x),
    "ifftshift dims": lambda lib, x: lib.fft.ifftshift(x, dim=(0, -1)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_shifts(name: str) -> None:
    check(OTHERS[name], [REAL])
    check(OTHERS[name], [COMPLEX])


@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
def test_frequencies(n: int) -> None:
    for name in ("fftfreq", "rfftfreq"):
        for options in ({}, {"d": 0.5}, {"dtype": "float64"}):
            theirs, ours = [getattr(lib.fft, name)(n, **{k: getattr(lib, v) if k == "dtype" else v for k, v in options.items()})
                            for lib in (torch, whygrad)]
            assert_same(theirs, ours)


def given(lib: Any) -> dict[str, Any]:
    return {"half": lib.ones(4, 8).half(), "bfloat16": lib.ones(4, 8).bfloat16(), "a number": lib.tensor(1.0),
            "nothing": lib.ones(3, 0), "no tensor": 3.0, "complex": lib.ones(4, 4) + 0j}


@pytest.mark.parametrize("argument", list(given(torch)))
@pytest.mark.parametrize("name", [*ONE, *MANY])
def test_refused_tensors(name: str, argument: str) -> None:
    same_error(*[lambda lib=lib: getattr(lib.fft, name)(given(lib)[argument]) for lib in (torch, whygrad)])


@pytest.mark.parametrize("options", [{"n": 0}, {"n": -1}, {"dim": 9}, {"norm": "x"}], ids=str)
@pytest.mark.parametrize("name", ONE)
def test_refused_options(name: str, options: dict[str, Any]) -> None:
    same_error(*[lambda lib=lib: getattr(lib.fft, name)(lib.ones(4, 6), **options) for lib in (torch, whygrad)])


@pytest.mark.parametrize("options", [{"s": (0, 3)}, {"s": (-2, 3)}, {"s": (3,)}, {"s": (3, 3, 3)}, {"dim": (0, 0)}, {"dim": ()},
                                     {"dim": (9,)}, {"norm": "x"}], ids=str)
@pytest.mark.parametrize("name", MANY)
def test_refused_options_of_several_dims(name: str, options: dict[str, Any]) -> None:
    same_error(*[lambda lib=lib: getattr(lib.fft, name)(lib.ones(4, 6), **options) for lib in (torch, whygrad)])


def test_refused_frequencies() -> None:
    same_error(*[lambda lib=lib: lib.fft.fftfreq(5, dtype=lib.int64) for lib in (torch, whygrad)])
    same_error(*[lambda lib=lib: lib.fft.fftshift(lib.tensor(1.0)) for lib in (torch, whygrad)])


SIGNAL = rng.normal(size=(2, 40))
WINDOW = rng.uniform(0.5, 1.5, size=8)

STFT: dict[str, Any] = {
    "plain": lambda lib, x: lib.stft(x, 8, return_complex=True),
    "hop": lambda lib, x: lib.stft(x, 8, 3, return_complex=True),
    "win_length": lambda lib, x: lib.stft(x, 8, win_length=5, return_complex=True),
    "not centered": lambda lib, x: lib.stft(x, 8, center=False, return_complex=True),
    "constant padding": lambda lib, x: lib.stft(x, 8, pad_mode="constant", return_complex=True),
    "normalized": lambda lib, x: x.stft(8, normalized=True, return_complex=True),
    "two-sided": lambda lib, x: lib.stft(x, 8, onesided=False, return_complex=True),
    "real": lambda lib, x: lib.stft(x, 8, return_complex=False),
    "odd": lambda lib, x: lib.stft(x, 7, 2, return_complex=True),
    "one signal": lambda lib, x: lib.stft(x[0], 8, return_complex=True),
    "of complex": lambda lib, x: lib.stft(x + 0.5j, 8),
    "aligned": lambda lib, x: lib.stft(x, 8, center=False, align_to_window=True, return_complex=True),
}


@pytest.mark.parametrize("name", STFT)
def test_stft(name: str) -> None:
    check(STFT[name], [SIGNAL], check_node=False, rtol=1e-9)


def test_stft_with_a_window() -> None:
    check(lambda lib, x, w: lib.stft(x, 8, window=w, return_complex=True), [SIGNAL, WINDOW], check_node=False, rtol=1e-9)
    check(lambda lib, x, w: lib.stft(x, 12, 4, 8, window=w, return_complex=True), [SIGNAL, WINDOW], check_node=False, rtol=1e-9)


SPECTRUM = rng.normal(size=(2, 5, 9)) + 1j * rng.normal(size=(2, 5, 9))

ISTFT: dict[str, Any] = {
    "plain": lambda lib, x, w: lib.istft(x, 8),
    "window": lambda lib, x, w: lib.istft(x, 8, 2, window=w),
    "length": lambda lib, x, w: x.istft(8, 2, window=w, length=14),
    "long": lambda lib, x, w: lib.istft(x, 8, 2, window=w, length=50),
    "not centered": lambda lib, x, w: lib.istft(x, 8, 2, window=w, center=False),
    "normalized": lambda lib, x, w: lib.istft(x, 8, 2, window=w, normalized=True),
    "one signal": lambda lib, x, w: lib.istft(x[0], 8, 2, window=w),
    "two-sided": lambda lib, x, w: lib.istft(x, 5, 2, onesided=False),
    "complex": lambda lib, x, w: lib.istft(x, 5, 2, onesided=False, return_complex=True),
}


@pytest.mark.parametrize("name", ISTFT)
def test_istft(name: str) -> None:
    check(ISTFT[name], [SPECTRUM, WINDOW], check_node=False, rtol=1e-8)


SHORT_TIME_REFUSED: dict[str, Any] = {
    "return_complex": lambda lib, x: lib.stft(x, 8),
    "onesided": lambda lib, x: lib.stft(x + 0j, 8, onesided=True),
    "n_fft": lambda lib, x: lib.stft(x, 70, center=False, return_complex=True),
    "hop": lambda lib, x: lib.stft(x, 8, 0, return_complex=True),
    "window": lambda lib, x: lib.stft(x, 8, window=lib.ones(5, dtype=lib.float64), return_complex=True),
    "win_length": lambda lib, x: lib.stft(x, 8, win_length=20, return_complex=True),
    "dims": lambda lib, x: lib.stft(x[None], 8, return_complex=True),
    "whole": lambda lib, x: lib.stft(lib.ones(50, dtype=lib.int64), 8, center=False, return_complex=True),
    "align": lambda lib, x: lib.stft(x, 8, align_to_window=True, return_complex=True),
    "istft of reals": lambda lib, x: lib.istft(x, 8),
    "istft frequencies": lambda lib, x: lib.istft(x + 0j, 8),
    "istft hann": lambda lib, x: lib.istft(lib.ones(2, 5, 9) + 0j, 8, 2, window=lib.hann_window(8), center=False),
}


@pytest.mark.parametrize("name", SHORT_TIME_REFUSED)
def test_short_time_refusals(name: str) -> None:
    same_error(*[lambda lib=lib: SHORT_TIME_REFUSED[name](lib, lib.from_numpy(SIGNAL)) for lib in (torch, whygrad)])


WINDOWS: dict[str, Any] = {
    **{f"{name}_window": lambda lib, n, name=name, **options: getattr(lib, f"{name}_window")(n, **options)
       for name in ("hann", "hamming", "blackman", "bartlett", "kaiser")},
    "hamming options": lambda lib, n, **options: lib.hamming_window(n, False, 0.6, 0.3, **options),
    "kaiser options": lambda lib, n, **options: lib.kaiser_window(n, False, 5.0, **options),
    **{f"{name} {sym}": lambda lib, n, name=name, sym=sym, **options: getattr(lib.signal.windows, name)(n, sym=sym, **options)
       for name in ("bartlett", "blackman", "cosine", "exponential", "gaussian", "general_hamming", "hamming", "hann", "kaiser",
                    "nuttall") for sym in (True, False)},
    "general_cosine": lambda lib, n, **options: lib.signal.windows.general_cosine(n, a=[0.46, 0.23, 0.31], **options),
    "gaussian std": lambda lib, n, **options: lib.signal.windows.gaussian(n, std=0.7, **options),
    "exponential center": lambda lib, n, **options: lib.signal.windows.exponential(n, center=1, tau=2.0, sym=False, **options),
    "kaiser beta": lambda lib, n, **options: lib.signal.windows.kaiser(n, beta=3.0, **options),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name: str) -> None:
    for n in (0, 1, 2, 5, 8):
        assert_same(WINDOWS[name](torch, n), WINDOWS[name](whygrad, n), rtol=2e-6)
        assert_same(WINDOWS[name](torch, n, dtype=torch.float64), WINDOWS[name](whygrad, n, dtype=whygrad.float64), rtol=1e-12)
    for dtype in ("int64", "complex64"):
        same_error(*[lambda lib=lib: WINDOWS[name](lib, 5, dtype=getattr(lib, dtype)) for lib in (torch, whygrad)])
    same_error(*[lambda lib=lib: WINDOWS[name](lib, -1) for lib in (torch, whygrad)])
