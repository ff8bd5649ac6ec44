"""Special functions against torch: values, derivatives, node names, errors; and torch.special's names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from oracle import check, same_error

import whygrad
from whygrad.backends import raw

rng = np.random.default_rng(5)
ANYWHERE = np.concatenate([rng.uniform(-6, 6, 20), rng.uniform(0, 1e3, 5), rng.uniform(0, 1e-3, 3)])
POSITIVE = np.concatenate([rng.uniform(0, 4, 20), rng.uniform(4, 1e3, 5), rng.uniform(0, 1e-3, 3), [1.0, 2.0]])
INSIDE = np.concatenate([rng.uniform(-1, 1, 20), [0.0, 0.999999, -0.999999]])

FUNCTIONS: dict[str, tuple[Any, list[np.ndarray]]] = {
    "lgamma": (lambda lib, x: lib.lgamma(x), [ANYWHERE]),
    "lgamma of positive": (lambda lib, x: x.lgamma(), [POSITIVE]),
    "digamma": (lambda lib, x: lib.digamma(x), [ANYWHERE]),
    "polygamma 1": (lambda lib, x: lib.polygamma(1, x), [POSITIVE]),
    "polygamma 3": (lambda lib, x: x.polygamma(3), [POSITIVE + 0.1]),
    "mvlgamma": (lambda lib, x: lib.mvlgamma(x, 3), [POSITIVE + 1.1]),
    "erfinv": (lambda lib, x: lib.erfinv(x), [INSIDE]),
    "i0": (lambda lib, x: lib.i0(x), [ANYWHERE[:20]]),
    "i0e": (lambda lib, x: lib.special.i0e(x), [ANYWHERE]),
    "i1": (lambda lib, x: lib.special.i1(x), [ANYWHERE[:20]]),
    "i1e": (lambda lib, x: lib.special.i1e(x), [ANYWHERE]),
    "entr": (lambda lib, x: lib.special.entr(x), [POSITIVE]),
    "ndtr": (lambda lib, x: lib.special.ndtr(x), [ANYWHERE[:20]]),
    "ndtri": (lambda lib, x: lib.special.ndtri(x), [np.concatenate([rng.uniform(0, 1, 20), [1e-9, 1 - 1e-9]])]),
    "log_ndtr": (lambda lib, x: lib.special.log_ndtr(x), [np.linspace(-30, 8, 40)]),
    "erfcx": (lambda lib, x: lib.special.erfcx(x), [np.linspace(-3, 30, 40)]),
    "zeta of a number": (lambda lib, q: lib.special.zeta(2.5, q), [POSITIVE + 0.1]),
    "xlog1py": (lambda lib, x, y: lib.special.xlog1py(x, y), [ANYWHERE, POSITIVE[:28]]),
    "gammainc": (lambda lib, x: lib.special.gammainc(lib.full_like(x, 2.3).detach(), x), [POSITIVE[:20] + 0.1]),
    "gammaincc": (lambda lib, x: lib.special.gammaincc(lib.full_like(x, 2.3).detach(), x), [POSITIVE[:20] + 0.1]),
    "igamma": (lambda lib, x: lib.igamma(lib.full_like(x, 12.0).detach(), x), [POSITIVE[:20] + 3]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_value_and_derivatives(name: str, dtype: str) -> None:
    function, arrays = FUNCTIONS[name]
    double = dtype == "float64"
    # torch's own single precision is a few units off where large terms cancel.
    check(function, [a.astype(dtype) for a in arrays], order=2 if double else 1, rtol=1e-9 if double else 2e-3)


@pytest.mark.parametrize("name", ["lgamma", "digamma", "erfinv", "i0"])
def test_at_the_edges(name: str) -> None:
    x = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -3.0, np.inf, -np.inf, np.nan, 1e-300, 1e300])
    theirs = getattr(torch, name)(torch.from_numpy(x)).numpy()
    ours = getattr(whygrad, name)(whygrad.from_numpy(x)).numpy()
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_double_precision_is_kept_near_the_zeros_of_lgamma() -> None:
    near = np.concatenate([1 + np.logspace(-12, -1, 30), 2 - np.logspace(-12, -1, 30)])
    np.testing.assert_allclose(raw.lgamma(near), torch.lgamma(torch.from_numpy(near)).numpy(), rtol=1e-13)


ERRORS: dict[str, Any] = {
    "lgamma of complex": lambda lib: lib.lgamma(lib.tensor([1 + 1j])),
    "digamma of complex": lambda lib: lib.digamma(lib.tensor([1 + 1j])),
    "erfinv of a number": lambda lib: lib.erfinv(0.5),
    "polygamma negative": lambda lib: lib.polygamma(-1, lib.ones(2)),
    "polygamma of a fraction": lambda lib: lib.polygamma(1.5, lib.ones(2)),
    "mvlgamma": lambda lib: lib.mvlgamma(lib.ones(2), 0),
    "gammainc of a number": lambda lib: lib.special.gammainc(lib.ones(2), 2.0),
    "derivative of gammainc": lambda lib: lib.special.gammainc(lib.ones(2, requires_grad=True), lib.ones(2)).sum().backward(),
    "derivative of zeta": lambda lib: lib.special.zeta(lib.full((2,), 2.0, requires_grad=True), lib.ones(2)).sum().backward(),
    "entr of complex": lambda lib: lib.special.entr(lib.tensor([1 + 1j])),
    "gamma of integers": lambda lib: lib._standard_gamma(lib.tensor([1])),
    "lgamma of integers": lambda lib: lib.lgamma(lib.tensor([1, 2])),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    same_error(lambda: ERRORS[name](torch), lambda: ERRORS[name](whygrad))


def test_in_place() -> None:
    x = np.array([0.3, 1.7])
    for name in ("lgamma_", "digamma_", "erfinv_"):
        theirs, ours = torch.from_numpy(x / 2), whygrad.from_numpy(x / 2)
        getattr(theirs, name)()
        getattr(ours, name)()
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-12)


def test_special_has_torchs_names() -> None:
    for name in whygrad.special.__all__:
        assert hasattr(torch.special, name), name


class TestImplicitDerivatives:
    """torch's own are good to 1e-3 between its expansions, ours throughout."""

    def test_gamma(self) -> None:
        alpha = np.exp(rng.uniform(-4, 7, 500))
        x = rng.gamma(alpha) + 1e-30
        ours = raw.standard_gamma_grad(alpha, x)
        theirs = torch._standard_gamma_grad(torch.from_numpy(alpha), torch.from_numpy(x)).numpy()
        np.testing.assert_allclose(ours, theirs, rtol=3e-3)
        assert np.median(abs(ours / theirs - 1)) < 1e-4

    def test_gamma_by_finite_differences(self) -> None:
        alpha = np.exp(rng.uniform(-1, 5, 200))
        x = np.clip(rng.gamma(alpha), alpha / 3, 3 * alpha)
        step = 1e-5 * alpha
        slope = (raw.gammainc(alpha + step, x) - raw.gammainc(alpha - step, x)) / (2 * step)
        density = np.exp((alpha - 1) * np.log(x) - x - raw.lgamma(alpha))
        usable = density > 1e-3
        np.testing.assert_allclose(raw.standard_gamma_grad(alpha, x)[usable], (-slope / density)[usable], rtol=1e-5)

    def test_dirichlet(self) -> None:
        alpha, beta = np.exp(rng.uniform(-3, 5, (2, 500)))
        x = rng.beta(alpha, beta).clip(1e-12, 1 - 1e-12)
        ours = raw.dirichlet_grad(x, alpha, alpha + beta)
        theirs = torch._dirichlet_grad(*map(torch.from_numpy, (x, alpha, alpha + beta))).numpy()
        np.testing.assert_allclose(ours, theirs, rtol=4e-3)
        assert np.median(abs(ours / theirs - 1)) < 1e-6
