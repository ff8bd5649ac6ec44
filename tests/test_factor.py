"""Cholesky factors and triangular systems against torch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from oracle import check, outcome, same_error

import whygrad

rng = np.random.default_rng(3)


def positive(*shape: int) -> np.ndarray:
    a = rng.normal(size=shape)
    return a @ a.swapaxes(-1, -2) + 0.5 * np.eye(shape[-1])


def factor(*shape: int) -> np.ndarray:
    return rng.normal(size=shape) * 0.3 + np.eye(shape[-1])


CASES: dict[str, tuple[Any, list[np.ndarray]]] = {
    "cholesky": (lambda lib, a: lib.linalg.cholesky(a), [positive(3, 3)]),
    "cholesky batch": (lambda lib, a: lib.linalg.cholesky(a), [positive(2, 4, 3, 3)]),
    "cholesky upper": (lambda lib, a: lib.linalg.cholesky(a, upper=True) * 1, [positive(2, 3, 3)]),
    "cholesky_ex": (lambda lib, a: lib.linalg.cholesky_ex(a).L, [positive(2, 3, 3)]),
    "torch.cholesky": (lambda lib, a: lib.cholesky(a), [positive(3, 3)]),
    "solve lower": (lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=False), [factor(3, 3), rng.normal(size=(3, 2))]),
    "solve upper": (lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=True), [factor(2, 3, 3), rng.normal(size=(2, 3, 2))]),
    "solve right": (lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=True, left=False),
                    [factor(3, 3), rng.normal(size=(2, 3))]),
    "solve unit": (lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=False, unitriangular=True),
                   [factor(3, 3), rng.normal(size=(3, 2))]),
    "solve broadcast": (lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=False),
                        [factor(4, 1, 3, 3), rng.normal(size=(5, 3, 2))]),
    "cholesky_solve": (lambda lib, b, a: lib.cholesky_solve(b, a), [rng.normal(size=(3, 2)), factor(3, 3)]),
    "cholesky_solve upper": (lambda lib, b, a: b.cholesky_solve(a, upper=True), [rng.normal(size=(2, 3, 2)), factor(2, 3, 3)]),
    "cholesky_inverse": (lambda lib, a: lib.cholesky_inverse(a), [factor(3, 3)]),
    "cholesky_inverse upper": (lambda lib, a: lib.cholesky_inverse(a, upper=True), [factor(2, 3, 3)]),
    "logdet through the factor": (
        lambda lib, a: lib.linalg.cholesky(a).diagonal(dim1=-2, dim2=-1).log().sum(-1), [positive(2, 3, 3)]),
}


@pytest.mark.parametrize("name", CASES)
def test_value_and_derivatives(name: str) -> None:
    function, arrays = CASES[name]
    # torch reads both halves of the other triangle's gradient in its own order, so only the values need agree there.
    check(function, arrays, rtol=1e-8)


ERRORS: dict[str, Any] = {
    "not positive": lambda lib: lib.linalg.cholesky(-lib.eye(3)),
    "not positive later": lambda lib: lib.linalg.cholesky(lib.tensor([[1.0, 2.0], [2.0, 1.0]])),
    "not positive in a batch": lambda lib: lib.linalg.cholesky(lib.stack([lib.eye(2), -lib.eye(2)])),
    "not square": lambda lib: lib.linalg.cholesky(lib.ones(2, 3)),
    "vector": lambda lib: lib.linalg.cholesky(lib.ones(3)),
    "integers": lambda lib: lib.linalg.cholesky(lib.ones(3, 3, dtype=lib.int64)),
    "solve sizes": lambda lib: lib.linalg.solve_triangular(lib.ones(2, 2), lib.eye(3), upper=True),
    "solve not square": lambda lib: lib.linalg.solve_triangular(lib.ones(2, 3), lib.eye(3), upper=True),
    "cholesky_solve vector": lambda lib: lib.cholesky_solve(lib.ones(3), lib.eye(3)),
    "cholesky_solve sizes": lambda lib: lib.cholesky_solve(lib.eye(3), lib.eye(2)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    same_error(lambda: ERRORS[name](torch), lambda: ERRORS[name](whygrad))


def test_error_is_a_linalg_error() -> None:
    with pytest.raises(whygrad.linalg.LinAlgError):
        whygrad.linalg.cholesky(-whygrad.eye(2))
    assert issubclass(whygrad.linalg.LinAlgError, RuntimeError)


def test_singular_triangle_gives_infinities() -> None:
    a = np.array([[1.0, 0.0], [1.0, 0.0]])
    theirs = torch.linalg.solve_triangular(torch.from_numpy(a), torch.ones(2, 1, dtype=torch.float64) * 2, upper=False)
    ours = whygrad.linalg.solve_triangular(whygrad.from_numpy(a), whygrad.ones(2, 1, dtype=whygrad.float64) * 2, upper=False)
    np.testing.assert_array_equal(np.isfinite(ours.numpy()), np.isfinite(theirs.numpy()))


def test_info_of_cholesky_ex() -> None:
    a = np.stack([positive(3, 3), np.diag([1.0, -1.0, 1.0])])
    theirs, ours = torch.linalg.cholesky_ex(torch.from_numpy(a)), whygrad.linalg.cholesky_ex(whygrad.from_numpy(a))
    np.testing.assert_array_equal(ours.info.numpy(), theirs.info.numpy())
    np.testing.assert_allclose(ours.L[0].numpy(), theirs.L[0].numpy())


def test_the_old_name_warns() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert outcome(lambda: whygrad.cholesky(whygrad.eye(2)))[0] == "value"
        whygrad.cholesky(whygrad.eye(2))
    assert "deprecated" in str(caught[-1].message)
