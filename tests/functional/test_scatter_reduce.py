"""scatter_reduce, index_reduce, put and parts written into a whole, against torch."""

from __future__ import annotations

import pytest
from expressions import check_error, check_text, lines

PLACES = "torch.tensor([[0, 1, 0, 2], [1, 1, 1, 0], [2, 0, 2, 2]])"
REDUCED = [f"x.scatter_reduce({dim}, {PLACES}, y, '{reduce}', include_self={own})"
           for dim in (0, 1) for reduce in ("sum", "prod", "mean", "amax", "amin") for own in (True, False)]
REDUCED += [f"ties.scatter_reduce(1, {PLACES}, ties.flip(1), '{reduce}')" for reduce in ("amax", "amin")]
REDUCED += [f"x.index_reduce(1, torch.tensor([0, 2, 0, 0]), y, '{reduce}', include_self={own})"
            for reduce in ("prod", "mean", "amax", "amin") for own in (True, False)]
REDUCED += [f"(x * 1).scatter_reduce_(0, {PLACES}, y, '{reduce}')" for reduce in ("prod", "amax")]

ALIKE = """
s.scatter_reduce(0, torch.tensor(0), s * 2, 'prod')
i.scatter_reduce(0, torch.tensor([[0, 0, 0, 0]]), i, 'mean')
x.scatter_reduce(0, torch.tensor([[0, 1, 0, 1]]), y[:1], 'mean', include_self=False)
(x * 1).index_reduce_(0, torch.tensor([2, 2, 0]), y, 'mean')
x.put(torch.tensor([0, -1]), v[:2])
x.put(torch.tensor([[0], [0]]), v[:2], accumulate=True)
(x * 1).put_(torch.tensor([3, 5]), v[:2])
x.select_scatter(v[:3], 1, 0)
x.select_scatter(v[:4], 0, -1)
x.slice_scatter(y[:1], 0, 1, 2)
x.slice_scatter(y[:, :2], 1, 0, 4, 2)
x.slice_scatter(y, 0)
square.diagonal_scatter(v[:4])
square.diagonal_scatter(v[:3], 1)
cube.diagonal_scatter(v[:2].expand(3, 2), 0, 0, 2)
x.as_strided_scatter(v[:2], (2,), (3,), 1)
(x * 1).fill_diagonal_(7.0)
(x * 1).t().fill_diagonal_(2.0)
torch.zeros(7, 2).fill_diagonal_(3, wrap=True)
torch.zeros(3, 3, 3).fill_diagonal_(3)
"""

ERRORS = f"""
x.scatter_reduce(0, {PLACES}, y, 'most')
x.scatter_reduce(0, {PLACES}.float(), y, 'sum')
x.scatter_reduce(0, {PLACES}, single, 'sum')
x.scatter_reduce(4, {PLACES}, y, 'sum')
x.scatter_reduce(0, {PLACES} + 5, y, 'sum')
x.scatter_reduce(0, torch.tensor([0]), y, 'sum')
x.scatter_reduce(0, {PLACES}, y[:1], 'sum')
x.scatter_reduce(0, {PLACES}, y, 'sum', include_self=1)
b.scatter_reduce(0, torch.tensor([[0, 0]]), b, 'mean')
x.index_reduce(1, torch.tensor([0, 1, 2, 0]), y, 'sum')
x.index_reduce(1, torch.tensor([0.0, 1.0, 2.0, 0.0]), y, 'prod')
x.index_reduce(1, torch.tensor([0, 1]), y, 'prod')
x.index_reduce(1, torch.tensor([0, 1, 2, 9]), y, 'prod')
x.index_reduce(1, torch.tensor([[0, 1, 2, 0]]), y, 'prod')
x.index_reduce(1, torch.tensor([0, 1, 2, 0]), single, 'prod')
x.put(torch.tensor([0, 99]), v[:2])
x.put(torch.tensor([0.0, 1.0]), v[:2])
x.put(torch.tensor([0]), v[:2])
x.put(torch.tensor([0]), n[:1])
x.select_scatter(v[:1], 1, 0)
x.select_scatter(v[:3], 1, 7)
x.slice_scatter(y[:, :1], 1, 0, 4, 2)
x.slice_scatter(y, 0, step=0)
square.diagonal_scatter(v)
x.as_strided_scatter(v[:2], (2,), (3,), 100)
v.fill_diagonal_(1)
cube.fill_diagonal_(1)
"""


@pytest.mark.parametrize("text", [*REDUCED, *lines(ALIKE)])
def test_alike(text: str) -> None:
    check_text(text)


def test_several_zeros_in_a_product() -> None:
    """torch has no second derivative there."""
    check_text("zeros.scatter_reduce(1, torch.tensor([[0, 0, 1], [2, 2, 2]]), zeros, 'prod')", order=1)


@pytest.mark.parametrize("text", lines(ERRORS))
def test_errors(text: str) -> None:
    check_error(text)
