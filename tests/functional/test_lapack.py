"""Factors and systems by each way there is: the LAPACK of NumPy's wheel, one with 32-bit integers, and plain NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from oracle import assert_same, check, pair
from test_factor import CASES as FACTOR_CASES
from test_factor import gaussian, normal, positive, triangle

import whygrad
from whygrad.backends import lapack


def narrow_library() -> lapack.Library:
    """torch's own LAPACK, whose integers have 32 bits."""
    handle = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    return lapack.Library(handle, "{}_")


@pytest.fixture(params=["wheel", "32 bits", "plain"])
def way(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "plain":
        monkeypatch.setattr(lapack, "library", lambda: None)
    elif request.param == "32 bits":
        narrow = narrow_library()
        assert narrow.integer == np.int32
        monkeypatch.setattr(lapack, "library", lambda: narrow)
    else:
        assert lapack.library().integer == np.int64
    return request.param


# The derivatives of these are made of the rows that call LAPACK, too.
NAMES = [name for name in FACTOR_CASES if name.removeprefix("torch.").startswith((
    "lu", "qr", "householder", "orgqr", "ormqr", "geqrf", "cholesky", "solve", "triangular_solve", "inv"))]


@pytest.mark.parametrize("name", NAMES)
def test_derivatives(name: str, way: str) -> None:
    function, arguments = FACTOR_CASES[name]
    check(function, [make(*shape) for make, shape in arguments], check_node=False, rtol=1e-7)
    if 0 not in arguments[0][1]:
        check(function, [gaussian(make)(*shape) for make, shape in arguments], check_node=False, rtol=1e-7)


def with_factors(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda lib, a, b: function(lib, lib.linalg.lu_factor(a), b)


def lu_solve(left: bool, adjoint: bool) -> Callable[..., Any]:
    return with_factors(lambda lib, factors, b: lib.linalg.lu_solve(*factors, b, left=left, adjoint=adjoint))


def ormqr(left: bool, transpose: bool) -> Callable[..., Any]:
    return lambda lib, a, c: lib.ormqr(*lib.geqrf(a), c, left=left, transpose=transpose)


# name -> (function, how each argument is made, from these many rows); sizes are beyond LAPACK's blocks, batches broadcast.
LARGE: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "lu_factor": (lambda lib, a: lib.linalg.lu_factor_ex(a), [(normal, (2, 90, 90))]),
    "lu_factor tall": (lambda lib, a: lib.linalg.lu_factor_ex(a), [(normal, (90, 40))]),
    "lu_factor wide": (lambda lib, a: lib.linalg.lu_factor_ex(a), [(normal, (3, 2, 40, 90))]),
    "lu_factor in columns": (lambda lib, a: lib.linalg.lu_factor_ex(a.mT), [(normal, (2, 40, 50))]),
    "lu_factor strided": (lambda lib, a: lib.linalg.lu_factor_ex(a[::2, 1::2, ::3]), [(normal, (4, 80, 90))]),
    **{f"lu_solve {left} {adjoint}": (lu_solve(left, adjoint), [(normal, (3, 80, 80)), (normal, (2, 1, 80, 80))])
       for left in (False, True) for adjoint in (False, True)},
    "lu_solve one": (lu_solve(True, True), [(normal, (80, 80)), (normal, (2, 80, 3))]),
    **{f"solve_triangular {upper} {left} {unit}": (
        lambda lib, a, b, options=(upper, left, unit): lib.linalg.solve_triangular(
            a, b, upper=options[0], left=options[1], unitriangular=options[2]), [(triangle, (2, 40, 40)), (normal, (40, 40))])
       for upper in (False, True) for left in (False, True) for unit in (False, True)},
    "solve_triangular strided": (lambda lib, a, b: lib.linalg.solve_triangular(a[:, ::2, ::2], b, upper=False),
                                 [(triangle, (2, 60, 60)), (normal, (3, 1, 30, 5))]),
    "solve_triangular in columns": (lambda lib, a, b: lib.linalg.solve_triangular(a.mT, b.mT, upper=True),
                                    [(triangle, (2, 30, 30)), (normal, (2, 4, 30))]),
    **{f"{name} {upper}": (function, [(triangle, (3, 40, 40))]) for upper in (False, True) for name, function in {
        "cholesky_inverse": lambda lib, a, upper=upper: lib.cholesky_inverse(a.mH if upper else a, upper=upper),
        "cholesky_solve": lambda lib, a, upper=upper: lib.cholesky_solve(a[0], a.mH if upper else a, upper=upper)}.items()},
    **{f"ldl {hermitian}": (lambda lib, a, hermitian=hermitian: lib.linalg.ldl_factor_ex(
        a + (a.mH if hermitian else a.mT), hermitian=hermitian), [(normal, (2, 90, 90))]) for hermitian in (False, True)},
    **{f"ldl_solve {hermitian}": (lambda lib, a, b, hermitian=hermitian: lib.linalg.ldl_solve(
        *lib.linalg.ldl_factor_ex(a + (a.mH if hermitian else a.mT), hermitian=hermitian)[:2], b, hermitian=hermitian),
        [(normal, (2, 90, 90)), (normal, (2, 90, 4))]) for hermitian in (False, True)},
    **{f"geqrf {shape}": (lambda lib, a: lib.geqrf(a), [(normal, shape)]) for shape in ((2, 90, 80), (70, 90))},
    **{f"qr {mode} {shape}": (lambda lib, a, mode=mode: tuple(lib.linalg.qr(a, mode)), [(normal, shape)])
       for mode in ("reduced", "complete", "r") for shape in ((2, 90, 80), (70, 90), (0, 3), (2, 3, 0))},
    "householder_product": (lambda lib, a: lib.linalg.householder_product(*lib.geqrf(a)), [(normal, (2, 90, 80))]),
    **{f"ormqr {left} {transpose} {shape}": (ormqr(left, transpose), [(normal, shape), (normal, (*shape[:-2], *c))])
       for left, transpose, c in ((True, False, (90, 8)), (True, True, (90, 8)), (False, False, (8, 90)), (False, True, (8, 90)))
       for shape in ((90, 70), (2, 90, 100))},
    **{f"empty {name}": (function, [(normal, (2, 0, 0)), (normal, (2, 0, 3))]) for name, function in {
        "lu_solve": lu_solve(True, True), "ldl_solve": lambda lib, a, b: lib.linalg.ldl_solve(*lib.linalg.ldl_factor(a), b),
        "cholesky_solve": lambda lib, a, b: lib.cholesky_solve(b, a), "ormqr": ormqr(True, False),
        "solve_triangular": lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=True)}.items()},
    **{f"no {name}": (function, [(normal, (0, 3, 3)), (normal, (0, 3, 2))]) for name, function in {
        "lu_solve": lu_solve(True, False), "ldl_solve": lambda lib, a, b: lib.linalg.ldl_solve(*lib.linalg.ldl_factor(a), b),
        "ormqr": ormqr(True, True)}.items()},
    **{f"many {name}": (function, [(positive, (20, 10, 3, 3)), (normal, (20, 10, 3, 3))]) for name, function in {
        "lu": lambda lib, a, b: lib.linalg.lu(b), "lu_factor": lambda lib, a, b: lib.linalg.lu_factor(b),
        **{f"lu_solve {left} {adjoint}": lu_solve(left, adjoint) for left in (False, True) for adjoint in (False, True)},
        "solve_triangular": lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=True),
        "cholesky_solve": lambda lib, a, b: lib.cholesky_solve(b, lib.linalg.cholesky(a)),
        "cholesky_inverse": lambda lib, a, b: lib.cholesky_inverse(lib.linalg.cholesky(a)),
        "ldl_solve": lambda lib, a, b: lib.linalg.ldl_solve(*lib.linalg.ldl_factor(a), b),
        **{f"qr {mode}": lambda lib, a, b, mode=mode: tuple(lib.linalg.qr(a, mode)) for mode in ("reduced", "complete", "r")},
        "householder_product": lambda lib, a, b: lib.linalg.householder_product(*lib.geqrf(a)),
        "ormqr": ormqr(True, True), "ormqr right": ormqr(False, False)}.items()},
    "solve": (lambda lib, a, b: lib.linalg.solve(a, b), [(positive, (2, 50, 50)), (normal, (50, 3))]),
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("name", LARGE)
def test_large(name: str, dtype: str, way: str) -> None:
    function, arguments = LARGE[name]
    rtol = 1e-2 if dtype in ("f4", "c8") else 1e-8
    made = [(gaussian(make) if dtype[0] == "c" else make)(*shape).astype(dtype) for make, shape in arguments]
    theirs, ours = zip(*[pair(x) for x in made], strict=True)
    assert_same(function(torch, *theirs), function(whygrad, *ours), rtol=rtol)


SINGULAR = [[1.0, 0, 0], [2.0, 0, 0], [3.0, 4.0, 5.0]]
RIGHT = [[1.0, 0], [2.0, 0], [3.0, 1.0]]
# Results with inf and nan, where a matrix has no inverse.
WITHOUT_INVERSE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "solve_triangular": lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=False),
    "solve_triangular upper": lambda lib, a, b: lib.linalg.solve_triangular(a.mT, b, upper=True),
    "solve_triangular right": lambda lib, a, b: lib.linalg.solve_triangular(a, b.mT, upper=False, left=False),
    "cholesky_solve": lambda lib, a, b: lib.cholesky_solve(b, a),
    "lu_factor_ex": lambda lib, a, b: lib.linalg.lu_factor_ex(a),
    "lu_solve": lambda lib, a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor_ex(a)[:2], b),
    "solve_ex": lambda lib, a, b: lib.linalg.solve_ex(a, b),
    "inv_ex": lambda lib, a, b: lib.linalg.inv_ex(a),
    "inv_ex of zeros": lambda lib, a, b: lib.linalg.inv_ex(0 * a),
    "ldl_factor_ex": lambda lib, a, b: lib.linalg.ldl_factor_ex(a),
    "ldl_factor_ex of zeros": lambda lib, a, b: lib.linalg.ldl_factor_ex(0 * a),
    "ldl_solve of zeros": lambda lib, a, b: lib.linalg.ldl_solve(*lib.linalg.ldl_factor_ex(0 * a)[:2], b),
}


@pytest.mark.parametrize("name", WITHOUT_INVERSE)
def test_without_inverse(name: str, way: str) -> None:
    theirs, ours = [WITHOUT_INVERSE[name](lib, lib.tensor(SINGULAR), lib.tensor(RIGHT)) for lib in (torch, whygrad)]
    assert_same(theirs, ours, rtol=1e-5)
