"""unique, histograms, bincount and searching against torch: values and errors; gradients where torch refuses them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from expressions import ARRAYS, check_error, check_text, lines
from oracle import assert_same, pair, same_error

import whygrad

ALIKE = """
torch.unique(i)
torch.unique(i, return_inverse=True)
i.unique(return_inverse=True, return_counts=True)
i.unique(sorted=False, return_counts=True)
torch.unique(torch.arange(3000) * 7919 % 5003 - 100, return_inverse=True, return_counts=True)
torch.unique(torch.tensor([2**62, -5, -2**63, 2**62]), return_inverse=True, return_counts=True)
torch.unique(torch.tensor([-128, 127, 3, -128], dtype=torch.int8), return_inverse=True, return_counts=True)
torch.unique(torch.zeros(0, dtype=torch.long), return_inverse=True, return_counts=True)
torch.unique(i, dim=0, return_inverse=True, return_counts=True)
torch.unique(i, dim=1)
torch.unique(ties.detach(), return_counts=True)
torch.unique(holes.detach(), return_counts=True)
torch.unique(holes.detach(), dim=0, return_inverse=True)
torch.unique(b, return_counts=True)
torch.unique(torch.zeros(0, 3), dim=0)
torch.unique_consecutive(n)
torch.unique_consecutive(i, return_inverse=True, return_counts=True)
torch.unique_consecutive(ties.detach(), dim=1, return_counts=True)
torch.unique_consecutive(holes.detach(), return_counts=True)
torch.bincount(n)
n.bincount(minlength=8)
torch.bincount(n, weights=w.detach())
torch.bincount(n, weights=n)
torch.bincount(n, weights=w.detach().float())
torch.bincount(torch.zeros(0, dtype=torch.int64), minlength=2)
torch.histc(x, 5)
torch.histc(x.float(), bins=4, min=-1, max=1)
torch.histc(x, 4, min=-1, max=1)
torch.histc(torch.tensor([2.0, 2.0]), 3)
torch.histc(torch.zeros(0), 3)
torch.histogram(x.detach(), 3)
torch.histogram(x.detach(), 3, range=(-1.0, 1.0), density=True)
torch.histogram(x.detach(), torch.tensor([-1.0, 0.0, 0.5, 1.0], dtype=x.dtype))
torch.histogram(v.detach(), 4, weight=w.detach())
torch.histogram(v.detach(), 4, weight=w.detach(), density=True)
torch.histogram(torch.zeros(0), 3)
torch.histogramdd(cube.detach().reshape(-1, 2), 3).hist
torch.histogramdd(cube.detach().reshape(-1, 3), [2, 3, 4], density=True).bin_edges
torch.searchsorted(torch.tensor([1, 3, 5, 7]), i)
torch.searchsorted(torch.tensor([1, 3, 5, 7]), 3, right=True)
torch.searchsorted(torch.tensor([1.0, 3.0]), torch.tensor([[2.0, 5.0]]), out_int32=True)
torch.searchsorted(x.sort(1).values.detach(), y.detach(), side='right')
torch.searchsorted(cube.sort(2).values.detach(), cube.detach()[..., :2])
torch.searchsorted(v, w, sorter=v.argsort())
torch.searchsorted(torch.tensor([1.0, 2.0, math.nan]), torch.tensor([math.nan, 1.5]))
torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0], dtype=x.dtype))
torch.bucketize(i, torch.tensor([0.5, 2.0]), right=True, out_int32=True)
torch.bucketize(2, torch.tensor([1, 2, 3]))
"""

ERRORS = """
torch.unique(z)
torch.unique(torch.zeros(3, 0), dim=0)
torch.unique(i, dim=4)
torch.bincount(i)
torch.bincount(v)
torch.bincount(n - 3)
torch.bincount(n, minlength=-1)
torch.bincount(n, w[:2])
torch.histc(x, 0)
torch.histc(x, 3, 2, 1)
torch.histc(x, 3, 0, math.inf)
torch.histc(i, 3)
torch.histogram(x, 0)
torch.histogram(x, 3, range=(3.0, 1.0))
torch.histogram(x, 3, range=(0.0, math.inf))
torch.histogram(x, 3, range=(0.0, 1.0, 2.0))
torch.histogram(x, torch.tensor([0.0, 1.0], dtype=torch.float32))
torch.histogram(x, torch.tensor([[0.0, 1.0]], dtype=x.dtype))
torch.histogram(v, 3, weight=w[:2])
torch.histogram(i, 3)
torch.histogramdd(x, [2, 3])
torch.histogramdd(v, 2)
torch.histogramdd(x[:, :2], 2, range=[0.0, 1.0])
torch.searchsorted(x, v)
torch.searchsorted(s, v)
torch.searchsorted(x, 3.0)
torch.searchsorted(v, w, side='middle')
torch.searchsorted(v, w, side='left', right=True)
torch.searchsorted(v, w, sorter=torch.tensor([0, 1]))
torch.searchsorted(v, w, sorter=torch.tensor([0, 1, 2, 3, 9]))
torch.searchsorted(v, w, sorter=w)
torch.searchsorted(z, z)
torch.searchsorted([1.0, 2.0], v)
torch.bucketize(v, x)
torch.bucketize(b, b[0])
"""


@pytest.mark.parametrize("text", lines(ALIKE))
def test_alike(text: str) -> None:
    check_text(text, order=0, rtol=1e-6 if "float" in text else None)


@pytest.mark.parametrize("text", lines(ERRORS))
def test_errors(text: str) -> None:
    check_error(text)


@pytest.mark.parametrize("call", [
    lambda lib, x: lib.unique(x), lambda lib, x: lib.unique(x, dim=0), lambda lib, x: lib.unique_consecutive(x),
    lambda lib, x: lib.histogram(x, 3).hist, lambda lib, x: lib.bincount(lib.arange(12), x.reshape(-1))])
def test_gradients_that_torch_refuses(call: object) -> None:
    theirs, ours = pair(ARRAYS["x"], requires_grad=True)
    a, b = call(torch, theirs), call(whygrad, ours)  # type: ignore[operator]
    assert_same(a, b)
    assert type(a.grad_fn).__name__ == type(b.grad_fn).__name__
    same_error(lambda: a.sum().backward(), lambda: b.sum().backward())


def test_named_results() -> None:
    theirs, ours = pair(np.array([1.0, 2.0, 4.0], np.float32))
    assert repr(torch.histogram(theirs, 2)) == repr(whygrad.histogram(ours, 2))
