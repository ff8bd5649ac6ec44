"""torch.masked against torch; most of it is covered by torch's own samples in opdb."""

from __future__ import annotations

import pytest
from expressions import check_error, check_text, lines

MASK = "torch.tensor([[True, False, True, True], [False, False, False, False], [True, True, True, False]])"

REDUCTIONS = [f"torch.masked.{name}(x, {dim}, mask={MASK})" for dim in (0, 1) for name in (
    "sum", "prod", "amax", "amin", "mean", "median", "var", "std", "logsumexp", "cumsum", "cumprod", "argmax", "argmin",
    "softmax", "log_softmax", "softmin")]

ALIKE = f"""
torch.masked.sum(x)
torch.masked.sum(i, 1, keepdim=True, mask={MASK})
torch.masked.norm(x, 2.0, 1, mask={MASK})
torch.masked.norm(x, 1.0, (0, 1), mask={MASK})
torch.masked.normalize(x, 2.0, 1, mask={MASK})
torch.masked.logaddexp(x, y, input_mask={MASK}, other_mask=torch.tensor([True, False, True, True]))
torch.masked.var(x, 0, unbiased=False, mask={MASK})
torch.masked.mean(x, (0, 1), mask=torch.tensor([True, False, True, False]))
"""


@pytest.mark.parametrize("text", [*REDUCTIONS, *lines(ALIKE)])
def test_alike(text: str) -> None:
    # Where a slice is masked out entirely, second derivatives are NaN in their own ways.
    check_text(text, order=1)


@pytest.mark.parametrize("text", ["torch.masked.mean(i, 0)", "torch.masked.sum(x, 7)", f"torch.masked.sum(v, mask={MASK})"])
def test_errors(text: str) -> None:
    check_error(text)
