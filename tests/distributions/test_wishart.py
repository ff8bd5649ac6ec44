"""The Wishart distribution against torch's, whose samples warn and cannot be differentiated where some are drawn again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from distribution_cases import covariance
from oracle import assert_same, outcome, pair

import whygrad

pytestmark = pytest.mark.filterwarnings("ignore:Singular sample detected", "ignore:Low df values")

ONE, TWO, VALUES = covariance(3, 3), covariance(2, 3, 3), covariance(5, 2, 3, 3)
DF = np.array([4.5, 7.0])

# (library, df, matrix of one, matrices of two) -> distribution
MADE: dict[str, Callable[..., Any]] = {
    "covariance": lambda lib, df, one, two: lib.distributions.Wishart(5.0, one),
    "precision": lambda lib, df, one, two: lib.distributions.Wishart(df, precision_matrix=two),
    "tril": lambda lib, df, one, two: lib.distributions.Wishart(df, scale_tril=lib.linalg.cholesky(one)),
    "expanded": lambda lib, df, one, two: lib.distributions.Wishart(df, two).expand((4, 2)),
    "low df": lambda lib, df, one, two: lib.distributions.Wishart(df - 2, one),
}


def both(name: str) -> tuple[Any, Any, list[Any], list[Any]]:
    pairs = [pair(array, requires_grad=True) for array in (DF, ONE, TWO)]
    theirs, ours = [a for a, _ in pairs], [b for _, b in pairs]
    return MADE[name](torch, *theirs), MADE[name](whygrad, *ours), theirs, ours


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("what", ["mean", "mode", "variance", "entropy", "log_prob", "precision_matrix", "covariance_matrix",
                                  "scale_tril"])
def test_values_and_gradients(name: str, what: str) -> None:
    theirs, ours, their_leaves, our_leaves = both(name)

    def ask(lib: Any, distribution: Any) -> Any:
        found = getattr(distribution, what)
        return found(lib.from_numpy(VALUES[:, None])) if what == "log_prob" else found() if callable(found) else found

    a, b = ask(torch, theirs), ask(whygrad, ours)
    assert_same(a, b, rtol=1e-8)
    a.sum().backward()
    b.sum().backward()
    for x, y in zip(their_leaves, our_leaves, strict=True):
        assert (x.grad is None) == (y.grad is None)
        if x.grad is not None:
            assert_same(x.grad, y.grad, rtol=1e-7)


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_same_seed_same_samples(name: str, shape: tuple[int, ...]) -> None:
    theirs, ours, _, _ = both(name)
    torch.manual_seed(0)
    whygrad.manual_seed(0)
    assert_same(theirs.rsample(shape), ours.rsample(shape), rtol=1e-8)
    assert torch.rand(1).item() == whygrad.rand(1).item()


def test_gradients_through_samples() -> None:
    theirs, ours, their_leaves, our_leaves = both("precision")
    for lib, distribution in ((torch, theirs), (whygrad, ours)):
        lib.manual_seed(0)
        distribution.rsample(max_try_correction=0).pow(2).sum().backward()
    assert_same(their_leaves[0].grad, our_leaves[0].grad, rtol=5e-3)  # torch's derivatives of gammas have three digits
    assert_same(their_leaves[2].grad, our_leaves[2].grad, rtol=1e-7)


def test_divergence() -> None:
    def divergence(lib: Any) -> Any:
        one, two = lib.from_numpy(ONE), lib.from_numpy(TWO[0])
        return lib.distributions.kl_divergence(lib.distributions.Wishart(5.0, one), lib.distributions.Wishart(6.0, two))

    assert_same(divergence(torch), divergence(whygrad), rtol=1e-8)


@pytest.mark.parametrize("call", [
    lambda lib, m: lib.distributions.Wishart(1.0, m), lambda lib, m: lib.distributions.Wishart(5.0),
    lambda lib, m: lib.distributions.Wishart(5.0, m, m), lambda lib, m: lib.distributions.Wishart(5.0, m[0]),
    lambda lib, m: lib.distributions.Wishart(5.0, -m), lambda lib, m: lib.distributions.Wishart(5.0, m).log_prob(-m)])
def test_errors(call: Callable[..., Any]) -> None:
    theirs, ours = outcome(lambda: call(torch, torch.from_numpy(ONE))), outcome(lambda: call(whygrad, whygrad.from_numpy(ONE)))
    assert theirs[0] == "error"
    assert theirs == ours
