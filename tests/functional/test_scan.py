"""Running extremes, differences, trapezoids, numerical gradients and renorm against torch."""

from __future__ import annotations

import pytest
from expressions import check_error, check_text, lines

ALIKE = """
x.cummax(1)
torch.cummin(cube, 0)
ties.cummax(1)
ties.cummin(0)
holes.cummax(1)
holes.cummin(0)
s.cummax(0)
i.cummax(0)
b.cummax(0)
torch.logcumsumexp(x, 0)
torch.logcumsumexp(s, 0)
torch.logcumsumexp(z, 1)
x.diff()
x.diff(2, 0)
x.diff(0)
x.diff(n=9)
x.diff(prepend=y[:, :2], append=y)
b.diff()
torch.trapezoid(x)
torch.trapezoid(x, dx=0.5, dim=0)
torch.trapezoid(x, y)
torch.trapezoid(x, w[:4])
torch.trapezoid(cube, x[:, :1], dim=1)
torch.trapz(x, dx=2)
torch.trapz(y, x)
torch.cumulative_trapezoid(x)
torch.cumulative_trapezoid(x, y, dim=0)
torch.cumulative_trapezoid(i, dx=2)
torch.gradient(x)
torch.gradient(x, spacing=2.0, dim=1)
torch.gradient(x, spacing=[0.5, 2.0])
torch.gradient(v, spacing=(w.cumsum(0).detach(),))
torch.gradient(v, spacing=(w.cumsum(0).detach(),), edge_order=2)
torch.gradient(x, dim=(1, 0), edge_order=2)
torch.gradient(i)
x.renorm(2, 0, 1.0)
cube.renorm(1, 1, 0.5)
x.renorm(3, 1, 0.1)
x.renorm(math.inf, 0, 1)
"""

ERRORS = """
x.cummax(7)
z.cummax(0)
torch.logcumsumexp(i, 0)
torch.logcumsumexp(x, 3)
s.diff()
x.diff(-1)
x.diff(append=v)
x.diff(append=y[:1])
torch.trapezoid(x, v)
torch.trapezoid(b)
torch.trapezoid(s)
torch.cumulative_trapezoid(s)
torch.cumulative_trapezoid(b)
torch.trapezoid(x, x, dx=2)
torch.gradient(x, edge_order=3)
torch.gradient(x[:, :1], dim=1)
torch.gradient(x, dim=5)
torch.gradient(x, dim=(1, 1))
torch.gradient(x, spacing=[1.0, 2.0, 3.0])
torch.gradient(torch.tensor([1, 2], dtype=torch.uint8))
x.renorm(2, 5, 1.0)
x.renorm(-1, 0, 1.0)
x.renorm(2, 0, -1.0)
v.renorm(2, 0, 1.0)
i.renorm(2, 0, 1.0)
x.renorm(2j, 0, 1.0)
"""


@pytest.mark.parametrize("text", lines(ALIKE))
def test_alike(text: str) -> None:
    check_text(text)


@pytest.mark.parametrize("text", lines(ERRORS))
def test_errors(text: str) -> None:
    check_error(text)


def test_far_apart() -> None:
    check_text("torch.logcumsumexp(100 * x, 1)", rtol=1e-7)  # what is 0 here, torch has with seven digits of the largest


def test_renorm_of_complex_numbers() -> None:
    check_text("z.renorm(2, 0, 1.0)", node=False)


def test_renorm_in_place() -> None:
    check_text("(x * 1).renorm_(2, 0, 1.0)")
