"""Distances, covariance, cross products, blocks and combinations against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from expressions import check_error, check_text, lines
from oracle import check

ALIKE = """
torch.cdist(x, y, 0)
torch.cdist(x, y, 0.5)
torch.cdist(x, y, 1)
torch.cdist(x, y)
torch.cdist(x, y, 3)
torch.cdist(x, y, math.inf)
torch.cdist(ties, ties)
torch.cdist(cube, x)
torch.cdist(x[:0], y)
torch.cdist(x[:, :0], y[:, :0])
torch.cdist(x, y, compute_mode='donot_use_mm_for_euclid_dist')
F.pdist(x)
torch.pdist(x, 1)
torch.pdist(ties, 0.5)
torch.pdist(x, 0)
torch.pdist(x, math.inf)
torch.pdist(x[:1])
torch.cov(x)
torch.cov(v)
torch.cov(i)
torch.cov(z)
x.cov(correction=0, fweights=n[:4], aweights=w[:4])
torch.cov(x[:, :1])
torch.corrcoef(x)
torch.corrcoef(v)
torch.corrcoef(z)
torch.cross(cube.transpose(1, 2), cube.transpose(1, 2) * 2 + 1)
torch.cross(cube, cube.flip(1), dim=1)
x.cross(y, dim=0)
torch.block_diag(x, v, s, y[:1])
torch.block_diag(i, x)
torch.block_diag()
torch.combinations(v)
torch.combinations(v, 3)
torch.combinations(v, 2, with_replacement=True)
torch.combinations(v, 0)
torch.combinations(v[:2], 3)
"""

ERRORS = """
torch.cdist(v, x)
torch.cdist(x, y[:, :2])
torch.cdist(i, i)
torch.cdist(x, y, -1)
torch.cdist(x, y, compute_mode='quickly')
torch.cdist(x, single)
torch.pdist(v)
torch.pdist(x, -1)
torch.pdist(i)
torch.cov(b)
torch.cov(cube)
torch.cov(x, fweights=w[:4])
torch.cov(x, aweights=n[:4])
torch.cov(x, aweights=w)
torch.cov(x, fweights=-n[:4])
torch.corrcoef(cube)
torch.cross(v, v)
torch.cross(x, y, dim=1)
torch.block_diag(cube)
torch.combinations(x)
torch.combinations(v, -1)
"""


@pytest.mark.parametrize("text", lines(ALIKE))
def test_alike(text: str) -> None:
    # torch has no second derivative of these distances.
    check_text(text, order=1 if "dist" in text else 2)


@pytest.mark.parametrize("text", lines(ERRORS))
def test_errors(text: str) -> None:
    check_error(text)


def test_many_rows_by_products() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
    check(lambda lib, a, b: lib.cdist(a, b), [a, b], check_node=False)


def test_second_derivative_of_distances() -> None:
    """Which torch has only where it goes by products: the direct way gives the same."""
    rng = np.random.default_rng(4)
    modes = {True: "use_mm_for_euclid_dist", False: "donot_use_mm_for_euclid_dist"}
    check(lambda lib, a, b: lib.cdist(a, b, compute_mode=modes[lib is torch]),
          [rng.normal(size=(4, 3)), rng.normal(size=(5, 3))], check_node=False)
