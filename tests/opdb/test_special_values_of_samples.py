"""torch's samples of every operator with zeros, NaNs, infinities, huge and tiny numbers put into them: torch's results.

A sample of each operator with two kinds of numbers in every run; WHYGRAD_FULL=1 runs more samples, all kinds and dtypes.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from oracle import to_numpy
from sharing import tensors_in
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo

import whygrad

from .samples import ANY_OF_EQUALS, UNDEFINED, attempt, changed, our_variants, public_ops, samples_of
from .translate import Impossible, Missing, Translator

FULL = bool(os.environ.get("WHYGRAD_FULL"))
OPS = public_ops()
TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-8}
nan, inf = float("nan"), float("inf")

# Sums and products of huge numbers overflow or cancel as their order has it: only elementwise operators get them.
KINDS = {"zero": [0.0, -0.0], "nan": [nan], "inf": [inf, -inf], "one": [1.0, -1.0, 0.5, 2.0]}
ELEMENTWISE_KINDS = {"huge": [1e38, -1e38, 2e19], "tiny": [1.2e-38, 1e-42, -1e-42],
                     "all": [0.0, -0.0, nan, inf, -inf, 1e38, -1e38, 1e-42, 1.0, -1.0, 0.5]}

# What differs, by operator, and why.
KNOWN = {
    "the order of sums, or the steps of a library (MKL there, OpenBLAS and pocketfft here)": (
        "fft.", "stft", "istft", "linalg.", "geqrf", "qr", "svd", "svd_lowrank", "pca_lowrank", "lu", "lu_solve", "lu_unpack",
        "ormqr", "pinverse", "cholesky", "cholesky_inverse", "cholesky_solve", "matrix_exp", "triangular_solve", "logdet",
        "nn.functional.conv", "nn.functional.bilinear", "addmm", "addbmm", "baddbmm", "bmm", "matmul", "mm", "__rmatmul__",
        "einsum", "cross", "nn.functional.scaled_dot_product_attention", "nn.functional.multi_head_attention_forward"),
    "means by Welford's steps: after an infinity a NaN": (
        "var_mean", "std_mean", "native_layer_norm", "native_group_norm", "native_batch_norm", "nn.functional.group_norm",
        "nn.functional.layer_norm", "nn.functional.batch_norm", "nn.functional.instance_norm"),
    "vectors of instructions there: other NaNs than for a single element": (
        "nn.functional.gelu", "special.ndtr", "cdist"),
    "more exact here": ("polygamma", "special.polygamma", "special.bessel_", "special.airy_ai", "special.ndtri", "igamma",
                        "special.zeta", "signal.windows.blackman", "fmod", "remainder", "__rmod__"),
    "a polynomial of degree NaN, and products of huge numbers in its recurrence": (
        "special.hermite", "special.shifted", "special.chebyshev", "special.laguerre", "special.legendre"),
    "which of equal elements is meant": ("kthvalue", "mode"),
    "not there": ("chalf",),
    "rounded positions of the reflection of far coordinates": ("nn.functional.grid_sample", "grid_sampler"),
}
EXCEPTED = tuple(name for names in KNOWN.values() for name in names)


def put_in(t: torch.Tensor, values: list[float], rng: np.random.Generator) -> torch.Tensor:
    """A copy in which every fifth element is one of the values."""
    if not t.dtype.is_floating_point or not t.numel():
        return t.detach().clone()
    chosen = torch.from_numpy(np.asarray(rng.random(tuple(t.shape)) < 0.2))
    return torch.where(chosen, torch.from_numpy(np.asarray(rng.choice(values, tuple(t.shape)))).to(t.dtype), t.detach())


def same(theirs: np.ndarray, ours: np.ndarray, tolerance: float) -> bool:
    if theirs.dtype.kind == "c":
        return same(theirs.real, ours.real, tolerance) and same(theirs.imag, ours.imag, tolerance)
    if theirs.dtype.kind != "f":
        return np.array_equal(theirs, ours)
    size = min(1.0, np.abs(theirs[np.isfinite(theirs)]).max(initial=0.0))
    return bool(np.isclose(ours, theirs, rtol=tolerance, atol=max(tolerance * size, 1e-37), equal_nan=True).all())


def difference(name: str, dtype: torch.dtype, sample: Any, values: list[float], seed: int) -> str | None:
    variant, known, rng = our_variants(OPS[name])[0], {}, np.random.default_rng(seed)  # type: ignore[var-annotated]
    theirs = changed((sample.input, tuple(sample.args), dict(sample.kwargs)),
                     lambda t: put_in(t, values, rng) if isinstance(t, torch.Tensor) else t, known)
    try:
        ours = Translator()(theirs)
        here = variant.here()
    except (Missing, Impossible):
        return None
    results, errors = [], []
    for lib, function, (input, args, kwargs) in ((torch, variant.theirs, theirs), (whygrad, here, ours)):
        lib.manual_seed(3)
        with lib.no_grad():
            result, error = attempt(lambda: function(input, *args, **kwargs))
        results.append([to_numpy(t) for t in tensors_in(result)])
        errors.append(error)
    if errors != [None, None]:
        return None if None not in errors else f"{errors[0]!r}, here {errors[1]!r}"
    for i, (a, b) in enumerate(zip(*results, strict=True)):
        if a.shape != b.shape or not (same(a, b, TOLERANCE[dtype]) or (name in ANY_OF_EQUALS and a.dtype.kind == "i")):
            return f"result {i}: {a.ravel()[:8]}, here {b.ravel()[:8]}"
    return None


def differences(name: str) -> list[str]:
    op, found = OPS[name], []
    kinds = {**KINDS, **ELEMENTWISE_KINDS} if isinstance(op, (UnaryUfuncInfo, BinaryUfuncInfo)) else KINDS
    if not FULL:  # two of them, by the name of the operator
        start = sum(map(ord, name)) % len(kinds)
        kinds = dict([*kinds.items(), *kinds.items()][start:start + 2])
    for dtype in (torch.float32, torch.float64) if FULL else (torch.float32,):
        if dtype in op.supported_dtypes("cpu"):
            for i, sample in enumerate(samples_of(op, dtype, 5 if FULL else 1)):
                for k, (kind, values) in enumerate(kinds.items()):
                    text = difference(name, dtype, sample, values, 10 * i + k)
                    if text is not None:
                        found.append(f"{dtype} {i} {kind}: {text}")
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first_letters", ["_abc", "defg", "hijkl", "mn", "opqrs", "tuvwxyzTH"])
def test_as_torch(first_letters: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: found for name in OPS if name[0] in first_letters and not name.startswith(EXCEPTED)
                 and name not in UNDEFINED and (found := differences(name))}
    assert not found, found
