"""Bessel and Airy functions against exact values, and polynomials against torch.

torch's own J and Y are off by up to 1e-7 between 5 and 8; power series in exact fractions are not.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from expressions import check_error, check_text
from oracle import assert_same, pair

import whygrad

POINTS = [1e-8, 0.3, 1.0, 2.5, 5.4, 7.9, 12.0, 20.0, 24.9, 25.1, 31.0]


def exact_j(order: int, x: float) -> float:
    half = Fraction(x) / 2
    term = half ** order
    total = term
    for k in range(1, 120):
        term = -term * half * half / (k * (k + order))
        total += term
    return float(total)


@pytest.mark.parametrize("x", POINTS)
def test_bessel_j(x: float) -> None:
    for order, name in ((0, "bessel_j0"), (1, "bessel_j1")):
        ours = getattr(whygrad.special, name)(whygrad.tensor([x, -x], dtype=whygrad.float64)).tolist()
        sign = -1 if order else 1
        np.testing.assert_allclose(ours, [exact_j(order, x), sign * exact_j(order, x)], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("x", POINTS)
def test_bessel_y(x: float) -> None:
    """By the Wronskian: J1 Y0 - J0 Y1 = 2 / (pi x)."""
    y0, y1 = (getattr(whygrad.special, name)(whygrad.tensor(x, dtype=whygrad.float64)).item()
              for name in ("bessel_y0", "bessel_y1"))
    np.testing.assert_allclose(exact_j(1, x) * y0 - exact_j(0, x) * y1, 2 / (np.pi * x), rtol=1e-12)
    np.testing.assert_allclose(y0, torch.special.bessel_y0(torch.tensor(x, dtype=torch.float64)).item(), atol=1e-5)


@pytest.mark.parametrize("name", ["modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1",
                                  "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0"])
def test_others(name: str) -> None:
    theirs, ours = pair(np.array([1e-3, 0.4, 0.99, 1.01, 2.0, 7.5, 40.0, 600.0]))
    assert_same(getattr(torch.special, name)(theirs), getattr(whygrad.special, name)(ours), rtol=1e-12)


def test_airy() -> None:
    c1, c2 = Fraction(0.3550280538878172), Fraction(0.2588194037928068)
    for x in (-8.5, -2.3, -0.5, 0.0, 1.0, 1.99, 2.01, 4.0):
        f = term = Fraction(1)
        for k in range(1, 60):
            term = term * Fraction(x) ** 3 / ((3 * k - 1) * 3 * k)
            f += term
        g = term = Fraction(x)
        for k in range(1, 60):
            term = term * Fraction(x) ** 3 / (3 * k * (3 * k + 1))
            g += term
        ours = whygrad.special.airy_ai(whygrad.tensor(x, dtype=whygrad.float64)).item()
        np.testing.assert_allclose(ours, float(c1 * f - c2 * g), rtol=1e-9, atol=1e-13)


def test_ends_of_the_line() -> None:
    for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1"):
        theirs, ours = pair(np.array([0.0, np.inf, np.nan], np.float32))
        assert_same(getattr(torch.special, name)(theirs), getattr(whygrad.special, name)(ours))


POLYNOMIALS = ["chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
               "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
               "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_w"]


@pytest.mark.parametrize("name", POLYNOMIALS)
@pytest.mark.parametrize("n", ["3", "torch.tensor([0, 1, -2, 9])", "y", "torch.tensor(12.7)"])
def test_polynomials(name: str, n: str) -> None:
    check_text(f"torch.special.{name}(x, {n})", rtol=1e-9)


@pytest.mark.parametrize("text", ["torch.special.bessel_j0(z)", "torch.special.airy_ai(x.half())",
                                  "torch.special.chebyshev_polynomial_t(0.5, 3)"])
def test_errors(text: str) -> None:
    check_error(text)
