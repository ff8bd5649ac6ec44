"""sort, topk, kthvalue, mode and quantiles against torch: values, nodes, two derivatives, errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from expressions import check_error, check_text, lines
from oracle import assert_same, pair

import whygrad

ALIKE = """
torch.sort(x)
x.sort(0, True)
torch.sort(x, stable=True, dim=0, descending=True)
x.sort(stable=False)
s.sort()
torch.sort(holes, descending=True)
torch.sort(i, dim=0, descending=True, stable=True)
torch.sort(torch.arange(3000) * 7919 % 503 - 100, descending=True, stable=True)
torch.sort(torch.arange(3000).reshape(60, 50) * 7919 % 503 - 2**40, dim=0, stable=True)
ties.sort(dim=1, stable=True)
ties.sort(dim=1, descending=True, stable=True)
torch.argsort(x, dim=0)
x.argsort(descending=True)
torch.msort(cube)
x.topk(2)
x.topk(4)
x.topk(0)
torch.topk(cube, 2, dim=1, largest=False)
torch.topk(x, k=1, sorted=False)
s.topk(1)
holes.topk(1, 0)
x.kthvalue(2)
x.kthvalue(1, 0, True)
s.kthvalue(1)
x.mode()
ties.mode(1)
ties.mode(0, keepdim=True)
s.mode()
i.mode()
b.mode()
"""

QUANTILES = """
x.quantile(0.3)
x.quantile(0.5, dim=0)
x.quantile(torch.tensor([0.1, 0.9], dtype=x.dtype), dim=1, keepdim=True)
torch.quantile(cube, 0.25, dim=1, interpolation='midpoint')
torch.quantile(cube, 0.25, keepdim=True, interpolation='nearest')
torch.quantile(x, 0.4, dim=-1, interpolation='lower')
torch.quantile(x, 0.4, dim=-1, interpolation='higher')
torch.nanquantile(holes, 0.5)
torch.nanquantile(holes, 0.5, dim=1)
torch.quantile(holes, 0.5, dim=0)
s.quantile(0.3)
"""

ERRORS = """
x.sort(5)
x.argsort(True)
z.sort()
x.topk(5)
x.topk(-1)
z.topk(1)
b.topk(1)
x.kthvalue(9)
x.kthvalue(0, 0)
b.kthvalue(1)
torch.zeros(2, 0).mode()
torch.zeros(0).kthvalue(1)
x.quantile(2.0)
x.quantile(0.5, interpolation='x')
x.quantile(torch.tensor([[0.5]]))
x.quantile(torch.tensor([0.5], dtype=torch.float32))
x.quantile(torch.tensor([1.5], dtype=x.dtype))
i.quantile(0.5)
torch.zeros(0).quantile(0.5)
x.quantile('a')
torch.kthvalue(v, 1, out=(v, torch.tensor(0)))
"""


@pytest.mark.parametrize("text", lines(ALIKE))
def test_alike(text: str) -> None:
    check_text(text)


@pytest.mark.parametrize("text", lines(QUANTILES))
def test_quantiles(text: str) -> None:
    check_text(text)


@pytest.mark.parametrize("text", lines(ERRORS))
def test_errors(text: str) -> None:
    check_error(text)


def test_results_have_names_and_fit_into_out() -> None:
    theirs, ours = pair(np.array([3.0, 1.0, 2.0], np.float32))
    assert repr(ours.sort()) == repr(theirs.sort())
    assert repr(ours.topk(2)) == repr(theirs.topk(2))
    for lib, x in ((torch, theirs), (whygrad, ours)):
        values, indices = lib.empty(3), lib.empty(3, dtype=lib.int64)
        lib.sort(x, out=(values, indices))
        assert values.tolist() == [1.0, 2.0, 3.0]
        assert indices.tolist() == [1, 2, 0]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16"])
@pytest.mark.parametrize("descending", [False, True])
def test_dtypes(dtype: str, descending: bool) -> None:
    theirs, ours = pair(np.array([[2, 0, 1, 1], [1, 1, 0, 3]]).astype(dtype))
    assert_same(theirs.sort(stable=True, descending=descending), ours.sort(stable=True, descending=descending))


def test_many_elements() -> None:
    theirs, ours = pair(np.random.default_rng(0).normal(size=(50, 1000)).astype(np.float32))
    for k in (1, 7, 999):
        assert_same(theirs.topk(k), ours.topk(k))
        assert_same(theirs.topk(k, largest=False), ours.topk(k, largest=False))
        assert_same(theirs.kthvalue(k), ours.kthvalue(k))


@pytest.mark.parametrize("kind", ["f4", "i4", "f8", "i8"])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("descending", [False, True])
def test_larger_arrays(kind, axis, descending):
    array = np.random.default_rng(0).integers(-20, 20, (40, 37)).astype(kind)
    if kind[0] == "f":
        array[3, :4], array[7, 2], array[8, 5], array[:, 9] = -0.0, np.nan, -np.inf, 0.0
    ours, theirs = whygrad.tensor(array), torch.tensor(array)
    for x, y in ((ours, theirs), (ours.T.contiguous().T, theirs.T.contiguous().T), (ours[::2], theirs[::2])):
        for a, b in zip(whygrad.sort(x, stable=True, dim=axis, descending=descending),
                        torch.sort(y, stable=True, dim=axis, descending=descending), strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
            assert a.stride() == b.stride()
        np.testing.assert_array_equal(x.mode(axis).values.numpy(), y.mode(axis).values.numpy())
