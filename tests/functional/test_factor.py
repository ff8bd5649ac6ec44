"""torch.linalg and its relatives against torch: values, dtypes, first and second derivatives, node names, errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from oracle import assert_same, check, outcome, pair, same_error

import whygrad

rng = np.random.default_rng(5)


def normal(*shape: int) -> np.ndarray:
    return rng.normal(size=shape)


def regular(*shape: int) -> np.ndarray:
    """Square matrices far from singular, with different singular values and eigenvalues."""
    return normal(*shape) + np.diag(np.arange(2.0, 2.0 + shape[-1]))


def positive(*shape: int) -> np.ndarray:
    x = normal(*shape)
    return x @ x.swapaxes(-1, -2) + np.diag(np.arange(1.0, 1.0 + shape[-1]))


def triangle(*shape: int) -> np.ndarray:
    return np.tril(normal(*shape), -1) + np.diag(np.arange(1.0, 1.0 + shape[-1]))


def gaussian(make: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """The complex kind of one of the above."""

    def made(*shape: int) -> np.ndarray:
        if make is positive:
            x = normal(*shape) + 1j * normal(*shape)
            return x @ x.conj().swapaxes(-1, -2) + np.diag(np.arange(1.0, 1.0 + shape[-1]))
        skew = np.tril(normal(*shape), -1) if make is triangle else normal(*shape)
        return make(*shape) + 0.5j * skew

    return made


def hermitian(x: Any) -> Any:
    return (x + x.mH) / 2


A = [(regular, (3, 3))]
BATCH = [(regular, (2, 3, 3))]
TALL = [(normal, (4, 3))]
WIDE = [(normal, (2, 3, 4))]
P = [(positive, (3, 3))]
PB = [(positive, (2, 3, 3))]

# name -> (function, how to make each argument). The vectors of svd and eigh are known up to a sign: functions of them
# that do not see it are compared.
CASES: dict[str, tuple[Any, Any]] = {
    "inv": (lambda lib, a: lib.linalg.inv(a), A),
    "inv batch": (lambda lib, a: lib.linalg.inv(a), BATCH),
    "inverse": (lambda lib, a: a.inverse(), A),
    "inv_ex": (lambda lib, a: tuple(lib.linalg.inv_ex(a)), BATCH),
    "inv 0": (lambda lib, a: lib.linalg.inv(a), [(normal, (0, 0))]),
    "inv no batch": (lambda lib, a: lib.linalg.inv(a), [(regular, (0, 3, 3))]),
    "solve": (lambda lib, a, b: lib.linalg.solve(a, b), [*A, (normal, (3, 2))]),
    "solve vector": (lambda lib, a, b: lib.linalg.solve(a, b), [*A, (normal, (3,))]),
    "solve vectors": (lambda lib, a, b: lib.linalg.solve(a, b), [*BATCH, (normal, (2, 3))]),
    "solve one vector": (lambda lib, a, b: lib.linalg.solve(a, b), [*BATCH, (normal, (3,))]),
    "solve right": (lambda lib, a, b: lib.linalg.solve(a, b, left=False), [*BATCH, (normal, (2, 4, 3))]),
    "solve broadcast": (lambda lib, a, b: lib.linalg.solve(a, b), [*A, (normal, (5, 3, 2))]),
    "solve broadcast a": (lambda lib, a, b: lib.linalg.solve(a, b), [*BATCH, (normal, (3, 2))]),
    "solve_ex": (lambda lib, a, b: tuple(lib.linalg.solve_ex(a, b)), [*BATCH, (normal, (2, 3, 2))]),
    "det": (lambda lib, a: lib.det(a), A),
    "det batch": (lambda lib, a: lib.linalg.det(a), BATCH),
    "det 1": (lambda lib, a: a.det(), [(regular, (1, 1))]),
    "det 2": (lambda lib, a: a.det(), [(regular, (2, 2))]),
    "slogdet": (lambda lib, a: tuple(lib.linalg.slogdet(a)), BATCH),
    "torch.slogdet": (lambda lib, a: a.slogdet()[1], A),
    "logdet": (lambda lib, a: lib.logdet(a), PB),
    "cholesky": (lambda lib, a: lib.linalg.cholesky(a), P),
    "cholesky batch": (lambda lib, a: lib.linalg.cholesky(a), PB),
    "cholesky upper": (lambda lib, a: lib.linalg.cholesky(a, upper=True), PB),
    "cholesky_ex": (lambda lib, a: tuple(lib.linalg.cholesky_ex(a)), PB),
    "torch.cholesky": (lambda lib, a: lib.cholesky(a), P),
    "torch.cholesky upper": (lambda lib, a: a.cholesky(True), P),
    "cholesky_inverse": (lambda lib, a: lib.cholesky_inverse(a), [(triangle, (2, 3, 3))]),
    "cholesky_inverse upper": (lambda lib, a: lib.cholesky_inverse(a.mH, upper=True), [(triangle, (3, 3))]),
    "cholesky_solve": (lambda lib, b, a: lib.cholesky_solve(b, a), [(normal, (2, 3, 2)), (triangle, (2, 3, 3))]),
    "cholesky_solve broadcast": (lambda lib, b, a: b.cholesky_solve(a), [(normal, (2, 3, 2)), (triangle, (3, 3))]),
    "cholesky_solve upper": (lambda lib, b, a: b.cholesky_solve(a.mT, upper=True), [(normal, (3, 2)), (triangle, (3, 3))]),
    "solve_triangular": (lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=False),
                         [(triangle, (3, 3)), (normal, (3, 2))]),
    "solve_triangular upper": (lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=True), [*BATCH, (normal, (3, 2))]),
    "solve_triangular right": (lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=True, left=False),
                               [*A, (normal, (4, 2, 3))]),
    "solve_triangular unit": (lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=False, unitriangular=True),
                              [*A, (normal, (3, 2))]),
    "triangular_solve": (lambda lib, b, a: tuple(lib.triangular_solve(b, a)), [(normal, (3, 2)), *A]),
    "triangular_solve transpose": (lambda lib, b, a: lib.triangular_solve(b, a, transpose=True)[0], [(normal, (3, 2)), *A]),
    "lu square": (lambda lib, a: tuple(lib.linalg.lu(a)), BATCH),
    "lu tall": (lambda lib, a: tuple(lib.linalg.lu(a)), TALL),
    "lu wide": (lambda lib, a: tuple(lib.linalg.lu(a)), WIDE),
    "lu_factor": (lambda lib, a: tuple(lib.linalg.lu_factor(a)), BATCH),
    "lu_factor tall": (lambda lib, a: tuple(lib.linalg.lu_factor(a)), TALL),
    "lu_factor_ex wide": (lambda lib, a: tuple(lib.linalg.lu_factor_ex(a)), WIDE),
    "torch.lu": (lambda lib, a: tuple(lib.lu(a)), A),
    "torch.lu infos": (lambda lib, a: tuple(a.lu(get_infos=True)), A),
    "lu_unpack": (lambda lib, a: tuple(lib.lu_unpack(*lib.linalg.lu_factor(a))), BATCH),
    "lu_unpack tall": (lambda lib, a: tuple(lib.lu_unpack(*lib.linalg.lu_factor(a))), TALL),
    "lu_unpack wide": (lambda lib, a: tuple(lib.lu_unpack(*lib.linalg.lu_factor(a))), WIDE),
    "lu_solve": (lambda lib, a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b), [*BATCH, (normal, (2, 3, 2))]),
    "lu_solve right": (lambda lib, a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b, left=False),
                       [*A, (normal, (2, 3))]),
    "lu_solve adjoint": (lambda lib, a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b, adjoint=True),
                         [*A, (normal, (3, 2))]),
    "lu_solve right adjoint": (lambda lib, a, b: lib.linalg.lu_solve(*lib.linalg.lu_factor(a), b, left=False, adjoint=True),
                               [*A, (normal, (2, 3))]),
    "torch.lu_solve": (lambda lib, a, b: b.lu_solve(*lib.linalg.lu_factor(a)), [*A, (normal, (3, 2))]),
    "qr": (lambda lib, a: tuple(lib.linalg.qr(a)), BATCH),
    "qr tall": (lambda lib, a: tuple(lib.linalg.qr(a)), TALL),
    "qr tall, only R": (lambda lib, a: lib.linalg.qr(a).R, TALL),
    "qr tall, only Q": (lambda lib, a: lib.linalg.qr(a).Q, TALL),
    "qr wide": (lambda lib, a: tuple(lib.linalg.qr(a)), WIDE),
    "qr complete wide": (lambda lib, a: tuple(lib.linalg.qr(a, mode="complete")), WIDE),
    "torch.qr": (lambda lib, a: tuple(a.qr()), TALL),
    "svdvals": (lambda lib, a: lib.linalg.svdvals(a), BATCH),
    "svdvals tall": (lambda lib, a: lib.linalg.svdvals(a), TALL),
    "svd S": (lambda lib, a: lib.linalg.svd(a).S, WIDE),
    "svd tall U": (lambda lib, a: lib.linalg.svd(a, full_matrices=False).U.abs() ** 2, TALL),
    "svd wide Vh": (lambda lib, a: lib.linalg.svd(a, full_matrices=False).Vh.abs() ** 2, WIDE),
    "svd wide U": (lambda lib, a: lib.linalg.svd(a, full_matrices=False).U.abs() ** 2, WIDE),
    "svd product": (lambda lib, a: (lambda u, s, vh: (u * s.log().unsqueeze(-2)) @ vh)(*lib.linalg.svd(a)), BATCH),
    "svd full": (lambda lib, a: lib.linalg.svd(a).U[..., :3].abs() ** 2, TALL),
    "torch.svd": (lambda lib, a: (lambda u, s, v: (u * s.log().unsqueeze(-2)) @ v.mH)(*lib.svd(a)), TALL),
    "torch.svd values": (lambda lib, a: lib.svd(a, compute_uv=False).S, TALL),
    "eigvalsh": (lambda lib, a: lib.linalg.eigvalsh(a), PB),
    "eigvalsh upper": (lambda lib, a: lib.linalg.eigvalsh(a, UPLO="U"), BATCH),
    "eigh values": (lambda lib, a: lib.linalg.eigh(a).eigenvalues, P),
    "eigh vectors": (lambda lib, a: lib.linalg.eigh(hermitian(a)).eigenvectors.abs() ** 2, PB),
    "eigh function": (lambda lib, a: (lambda w, v: (v * w.sqrt().unsqueeze(-2)) @ v.mH)(*lib.linalg.eigh(a)), PB),
    "eigvals": (lambda lib, a: lib.linalg.eigvals(a), BATCH),
    "eig values": (lambda lib, a: lib.linalg.eig(a).eigenvalues, A),
    "eig function": (lambda lib, a: (lambda w, v: (v * w.log().unsqueeze(-2)) @ v.inverse())(*lib.linalg.eig(a)), A),
    "eig vectors": (lambda lib, a: lib.linalg.eig(a).eigenvectors.abs() ** 2, BATCH),
    "pinv": (lambda lib, a: lib.linalg.pinv(a), TALL),
    "pinv wide": (lambda lib, a: lib.linalg.pinv(a), WIDE),
    "pinv hermitian": (lambda lib, a: lib.linalg.pinv(a, hermitian=True), P),
    "pinverse": (lambda lib, a: a.pinverse(), TALL),
    "pinv tolerance": (lambda lib, a: lib.linalg.pinv(a, atol=0.1, rtol=0.01), BATCH),
    "matrix_exp": (lambda lib, a: lib.linalg.matrix_exp(a / 4), A),
    "matrix_exp large": (lambda lib, a: lib.matrix_exp(a), BATCH),
    **{f"matrix_power {n}": (lambda lib, a, n=n: lib.linalg.matrix_power(a, n), BATCH) for n in (0, 1, 2, 3, 5, 6, -1, -3)},
    "lstsq": (lambda lib, a, b: lib.linalg.lstsq(a, b).solution, [*TALL, (normal, (4, 2))]),
    "lstsq all": (lambda lib, a, b: tuple(lib.linalg.lstsq(a, b, driver="gelsd")), [*TALL, (normal, (4, 2))]),
    "lstsq gels": (lambda lib, a, b: tuple(lib.linalg.lstsq(a, b, driver="gels")), [(normal, (2, 4, 3)), (normal, (2, 4, 2))]),
    "lstsq wide": (lambda lib, a, b: lib.linalg.lstsq(a, b).solution, [*WIDE, (normal, (2, 3, 2))]),
    "lstsq vector": (lambda lib, a, b: lib.linalg.lstsq(a, b).solution, [*TALL, (normal, (4,))]),
    "tensorinv": (lambda lib, a: lib.linalg.tensorinv(a, ind=1), [(normal, (4, 2, 2))]),
    "tensorsolve": (lambda lib, a, b: lib.linalg.tensorsolve(a, b), [(normal, (2, 3, 6)), (normal, (2, 3))]),
    "tensorsolve dims": (lambda lib, a, b: lib.linalg.tensorsolve(a, b, dims=(0,)), [(normal, (6, 2, 3)), (normal, (2, 3))]),
    "householder_product": (lambda lib, a, t: lib.linalg.householder_product(a, t), [*TALL, (normal, (3,))]),
    "householder_product batch": (lambda lib, a, t: lib.orgqr(a, t), [(normal, (2, 4, 3)), (normal, (2, 2))]),
    "ormqr": (lambda lib, a, t, c: lib.ormqr(a, t, c), [*TALL, (normal, (3,)), (normal, (4, 2))]),
    "ormqr right transposed": (lambda lib, a, t, c: lib.ormqr(a, t, c, left=False, transpose=True),
                               [*TALL, (normal, (3,)), (normal, (2, 4))]),
    **{f"matrix_norm {p}": (lambda lib, a, p=p: lib.linalg.matrix_norm(a, p), WIDE)
       for p in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)},
    **{f"matrix_norm {p} dims": (lambda lib, a, p=p: lib.linalg.matrix_norm(a, p, dim=(1, 0), keepdim=True),
                                 [(normal, (3, 2, 4))]) for p in ("fro", "nuc", 1, 2, -math.inf)},
    **{f"matrix_norm {p} other dims": (lambda lib, a, p=p: lib.linalg.matrix_norm(a, p, dim=(0, 2)), [(normal, (3, 2, 4))])
       for p in ("nuc", 1, math.inf)},
    "norm": (lambda lib, a: lib.linalg.norm(a), WIDE),
    "norm 2": (lambda lib, a: lib.linalg.norm(a, 2), A),
    "norm nuc": (lambda lib, a: lib.linalg.norm(a, "nuc"), A),
    "norm dims": (lambda lib, a: lib.linalg.norm(a, 1, dim=(0, 1)), WIDE),
    "norm vector": (lambda lib, a: lib.linalg.norm(a, 3, dim=1), WIDE),
    "nuclear_norm": (lambda lib, a: lib.nuclear_norm(a), A),
    "torch.norm nuc": (lambda lib, a: lib.norm(a, "nuc"), A),
    **{f"cond {p}": (lambda lib, a, p=p: lib.linalg.cond(a, p), BATCH)
       for p in (None, 2, -2, 1, -1, "fro", "nuc", math.inf, -math.inf)},
    "cross": (lambda lib, a, b: lib.linalg.cross(a, b), [(normal, (2, 3)), (normal, (1, 3))]),
    "cross dim": (lambda lib, a, b: lib.linalg.cross(a, b, dim=0), [(normal, (3, 2)), (normal, (3, 2))]),
    "vander": (lambda lib, a: lib.linalg.vander(a), [(normal, (3,))]),
    "vander N": (lambda lib, a: lib.linalg.vander(a, N=5), [(normal, (2, 3))]),
    "diagonal": (lambda lib, a: lib.linalg.diagonal(a, offset=1), WIDE),
}

# Where torch builds its result by steps that we take at once, or the other way round, the last of them has another name.
OTHER_NODE = {"triangular_solve", "triangular_solve transpose", "lstsq vector", "ormqr", "ormqr right transposed",
              *(f"matrix_power {n}" for n in (2, 3, 5, 6, -3)), "tensorinv"}
# Up to which derivative torch goes, where that is not the second. (Of `cond` it overwrites what its derivative needs.)
ORDER = {f"cond {p}": 0 for p in (1, -1, "fro", math.inf, -math.inf)}


def order_of(name: str) -> int:
    return ORDER.get(name, 2)


@pytest.mark.parametrize("name", CASES)
def test_against_torch(name: str) -> None:
    function, arguments = CASES[name]
    check(function, [make(*shape) for make, shape in arguments], check_node=name not in OTHER_NODE, rtol=1e-7,
          order=order_of(name))


NOT_COMPLEX = {"inv 0", "inv no batch"}


@pytest.mark.parametrize("name", [name for name in CASES if name not in NOT_COMPLEX])
def test_complex(name: str) -> None:
    function, arguments = CASES[name]
    check(function, [gaussian(make)(*shape) for make, shape in arguments], check_node=False, rtol=1e-7,
          order=order_of(name))


@pytest.mark.parametrize("name", CASES)
def test_float32(name: str) -> None:
    function, arguments = CASES[name]
    check(function, [make(*shape).astype(np.float32) for make, shape in arguments], check_node=False, rtol=2e-3,
          order=min(1, order_of(name)))


def arguments_for_errors(lib: Any) -> dict[str, Any]:
    return {"zeros": lib.zeros(3, 3), "batch": lib.stack([lib.eye(3), lib.zeros(3, 3)]), "oblong": lib.ones(2, 3),
            "vector": lib.ones(3), "whole": lib.ones(3, 3, dtype=lib.int64), "half": lib.ones(3, 3).half(),
            "bfloat16": lib.ones(3, 3).bfloat16(), "a number": 3.0}


ONE_MATRIX = ["inv", "inv_ex", "det", "slogdet", "cholesky", "cholesky_ex", "qr", "svd", "svdvals", "eigh", "eigvalsh", "eig",
              "eigvals", "pinv", "matrix_exp", "matrix_rank", "lu", "lu_factor", "lu_factor_ex", "cond", "matrix_norm", "norm",
              "tensorinv", "diagonal", "vander"]


@pytest.mark.parametrize("argument", list(arguments_for_errors(torch)))
@pytest.mark.parametrize("name", ONE_MATRIX)
def test_refusals_of_one_matrix(name: str, argument: str) -> None:
    calls = [lambda lib=lib: getattr(lib.linalg, name)(arguments_for_errors(lib)[argument]) for lib in (torch, whygrad)]
    same_error(*calls)
    results = [outcome(call) for call in calls]
    if results[0][0] == "value":
        theirs, ours = [r if isinstance(r, tuple) else (r,) for _, r in results]
        assert [(str(t.dtype), tuple(t.shape)) for t in theirs] == [(str(t.dtype), tuple(t.shape)) for t in ours]


def two_for_errors(lib: Any) -> dict[str, tuple[Any, Any]]:
    eye, whole, half = lib.eye(3), lib.ones(3, 3, dtype=lib.int64), lib.ones(3, 3).half()
    return {"singular": (lib.zeros(3, 3), lib.ones(3, 1)), "oblong": (lib.ones(2, 3), lib.ones(3, 1)),
            "singular batch": (lib.stack([eye, lib.zeros(3, 3)]), lib.ones(2, 3, 1)),
            "sizes": (eye, lib.ones(4, 2)), "dtypes": (eye, lib.ones(3, 1).double()), "whole numbers": (whole, whole),
            "a vector": (lib.ones(3), lib.ones(3, 1)), "half": (half, half), "batches": (lib.ones(2, 3, 3), lib.ones(4, 3, 1))}


TWO_MATRICES: dict[str, Any] = {
    "solve": lambda lib, a, b: lib.linalg.solve(a, b),
    "solve left": lambda lib, a, b: lib.linalg.solve(a, b, left=False),
    "solve_ex": lambda lib, a, b: lib.linalg.solve_ex(a, b),
    "solve_ex check": lambda lib, a, b: lib.linalg.solve_ex(a, b, check_errors=True),
    "lstsq": lambda lib, a, b: lib.linalg.lstsq(a, b),
    "solve_triangular": lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=True),
    "cholesky_solve": lambda lib, a, b: lib.cholesky_solve(b, a),
    "triangular_solve": lambda lib, a, b: lib.triangular_solve(b, a),
    "lu_solve": lambda lib, a, b: lib.linalg.lu_solve(a, lib.ones(a.shape[:-1], dtype=lib.int32), b),
    "tensorsolve": lambda lib, a, b: lib.linalg.tensorsolve(a, b),
}


@pytest.mark.parametrize("argument", list(two_for_errors(torch)))
@pytest.mark.parametrize("name", TWO_MATRICES)
def test_refusals_of_two_matrices(name: str, argument: str) -> None:
    if (name, argument) in (("solve_triangular", "dtypes"), ("tensorsolve", "a vector")):
        pytest.skip("torch reads memory that it should not")
    same_error(*[lambda lib=lib: TWO_MATRICES[name](lib, *two_for_errors(lib)[argument]) for lib in (torch, whygrad)])


REFUSED: dict[str, Any] = {
    "matrix_power oblong": lambda lib: lib.linalg.matrix_power(lib.ones(2, 3), 2),
    "matrix_power fraction": lambda lib: lib.linalg.matrix_power(lib.eye(3), 2.5),
    "matrix_power singular": lambda lib: lib.linalg.matrix_power(lib.zeros(3, 3), -1),
    "inv_ex checked": lambda lib: lib.linalg.inv_ex(lib.zeros(3, 3), check_errors=True),
    "cholesky_ex checked": lambda lib: lib.linalg.cholesky_ex(-lib.eye(3), check_errors=True),
    "lu_factor_ex checked": lambda lib: lib.linalg.lu_factor_ex(lib.zeros(3, 3), check_errors=True),
    **{f"lu_solve pivots {pivots}": lambda lib, pivots=pivots: lib.linalg.lu_solve(
        lib.eye(3), lib.tensor(pivots, dtype=lib.int32), lib.ones(3, 1))
       for pivots in ([1, 9, 3], [0, 2, 3], [1, 2], [[1, 2, 3]])},
    **{f"lu_unpack pivots {pivots}": lambda lib, pivots=pivots: lib.lu_unpack(lib.eye(3), lib.tensor(pivots, dtype=lib.int32))
       for pivots in ([1, 9, 3], [0, 2, 3])},
    **{f"ldl_solve pivots {pivots}": lambda lib, pivots=pivots: lib.linalg.ldl_solve(
        lib.eye(3), lib.tensor(pivots), lib.ones(3, 1)) for pivots in ([1, 9, 3], [0, 2, 3], [-7, -7, 3])},
    "cholesky_inverse singular": lambda lib: lib.cholesky_inverse(lib.zeros(3, 3)),
    "cholesky_inverse singular batch": lambda lib: lib.cholesky_inverse(lib.stack([lib.eye(3), lib.eye(3) - 1]), upper=True),
    **{f"ormqr {name}": lambda lib, shapes=shapes, left=left: lib.ormqr(*[lib.ones(shape) for shape in shapes], left)
       for name, shapes, left in (
           ("vector", ((3,), (1,), (3, 3)), True), ("other a vector", ((3, 3), (3,), (3,)), True),
           ("sizes", ((4, 3), (3,), (3, 3)), True), ("sizes right", ((4, 3), (3,), (3, 3)), False),
           ("long tau", ((3, 3), (4,), (3, 3)), True), ("short tau", ((4, 3), (2,), (2, 4)), False),
           ("number as tau", ((3, 3), (), (3, 3)), True), ("dims of tau", ((2, 3, 3), (3,), (2, 3, 3)), True),
           ("dims of other", ((2, 3, 3), (2, 3), (3, 3)), True), ("batch of tau", ((2, 3, 3), (1, 3), (2, 3, 3)), True),
           ("batch of other", ((2, 3, 3), (2, 3), (1, 3, 3)), True))},
    **{f"ormqr dtypes {dtypes}": lambda lib, dtypes=dtypes: lib.ormqr(*[
        lib.ones(shape, dtype=getattr(lib, dtype)) for shape, dtype in zip(((3, 3), (3,), (3, 3)), dtypes, strict=True)])
       for dtypes in (("float32", "float64", "float32"), ("float32", "float32", "float64"), ("float16",) * 3, ("int64",) * 3)},
    "qr mode": lambda lib: lib.linalg.qr(lib.ones(2, 3), "foo"),
    "eigh UPLO": lambda lib: lib.linalg.eigh(lib.eye(3), "X"),
    "svd driver": lambda lib: lib.linalg.svd(lib.eye(3), driver="gesvd"),
    "lstsq driver": lambda lib: lib.linalg.lstsq(lib.eye(3), lib.eye(3), driver="x"),
    "lu without pivots": lambda lib: lib.linalg.lu(lib.eye(3), pivot=False),
    "matrix_norm 3": lambda lib: lib.linalg.matrix_norm(lib.eye(3), 3),
    "matrix_norm x": lambda lib: lib.linalg.matrix_norm(lib.eye(3), "x"),
    "matrix_norm one dim": lambda lib: lib.linalg.matrix_norm(lib.eye(3), dim=(0,)),
    "matrix_norm same dims": lambda lib: lib.linalg.matrix_norm(lib.eye(3), dim=(0, 0)),
    "norm fro of a vector": lambda lib: lib.linalg.norm(lib.eye(3), "fro", dim=0),
    "norm of 3 dims": lambda lib: lib.linalg.norm(lib.ones(2, 2, 2), 2),
    "norm over 3 dims": lambda lib: lib.linalg.norm(lib.ones(2, 2, 2), 2, dim=(0, 1, 2)),
    "norm nuc of a vector": lambda lib: lib.linalg.norm(lib.ones(3), "nuc"),
    "cond 3": lambda lib: lib.linalg.cond(lib.eye(3), 3),
    "cond nuc oblong": lambda lib: lib.linalg.cond(lib.ones(2, 3), "nuc"),
    "cond 1 oblong": lambda lib: lib.linalg.cond(lib.ones(2, 3), 1),
    "tensorinv ind": lambda lib: lib.linalg.tensorinv(lib.ones(4, 2, 2), ind=0),
    "tensorinv sizes": lambda lib: lib.linalg.tensorinv(lib.ones(4, 2, 3), ind=1),
    "householder wide": lambda lib: lib.linalg.householder_product(lib.ones(2, 3), lib.ones(2)),
    "householder tau": lambda lib: lib.linalg.householder_product(lib.ones(3, 2), lib.ones(3)),
    "householder vector": lambda lib: lib.linalg.householder_product(lib.ones(3), lib.ones(3)),
    "lu_unpack dtype": lambda lib: lib.lu_unpack(lib.eye(3), lib.ones(3)),
    "lu_solve dtype": lambda lib: lib.linalg.lu_solve(lib.eye(3), lib.ones(3), lib.ones(3, 1)),
    "logdet whole": lambda lib: lib.logdet(lib.ones(3, 3, dtype=lib.int64)),
    "logdet oblong": lambda lib: lib.logdet(lib.ones(2, 3)),
    "cholesky_inverse oblong": lambda lib: lib.cholesky_inverse(lib.ones(2, 3)),
    "cholesky negative": lambda lib: lib.linalg.cholesky(lib.stack([lib.eye(3), -lib.eye(3)])),
    "cholesky second minor": lambda lib: lib.linalg.cholesky(lib.tensor([[1.0, 2.0], [2.0, 1.0]])),
    "cholesky nan": lambda lib: lib.linalg.cholesky(lib.full((2, 2), math.nan)),
    "torch.cholesky": lambda lib: lib.cholesky(lib.zeros(3, 3)),
    "torch.cholesky vector": lambda lib: lib.cholesky(lib.ones(3)),
    "inverse": lambda lib: lib.inverse(lib.tensor([[1.0, 2.0], [2.0, 4.0]])),
    "svd nan": lambda lib: lib.linalg.svd(lib.full((2, 3, 3), math.nan)),
    "eig nan": lambda lib: lib.linalg.eig(lib.full((3, 3), math.nan)),
    "torch.svd vector": lambda lib: lib.svd(lib.ones(3)),
    "vander N": lambda lib: lib.linalg.vander(lib.ones(3), N=1),
    "vander number": lambda lib: lib.linalg.vander(lib.tensor(1.0)),
    "cross length": lambda lib: lib.linalg.cross(lib.ones(2), lib.ones(2)),
    "cross dims": lambda lib: lib.linalg.cross(lib.ones(2, 3), lib.ones(3)),
    "cross sizes": lambda lib: lib.linalg.cross(lib.ones(2, 3), lib.ones(5, 3)),
    "qr r backward": lambda lib: lib.linalg.qr(lib.eye(3).requires_grad_(), "r").R.sum().backward(),
    "qr complete backward": lambda lib: lib.linalg.qr(lib.ones(3, 2).requires_grad_(), "complete").R.sum().backward(),
    "eigh phase": lambda lib: lib.linalg.eigh((lib.eye(2) + lib.tensor([[1, 2j], [-2j, 3]])).requires_grad_())[1]
    .sum().abs().backward(),
    "out with grad": lambda lib: lib.linalg.inv(lib.eye(3).requires_grad_(), out=lib.empty(0)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    same_error(*[lambda lib=lib: REFUSED[name](lib) for lib in (torch, whygrad)])


def test_the_error_is_one_to_catch() -> None:
    with pytest.raises(whygrad.linalg.LinAlgError) as caught:
        whygrad.linalg.inv(whygrad.zeros(2, 2))
    assert isinstance(caught.value, RuntimeError)


SINGULAR = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [5.0, 7.0, 9.0]])


@pytest.mark.parametrize("matrix", [SINGULAR, np.zeros((2, 2)), np.zeros((3, 3)), np.ones((3, 3)), np.diag([1.0, 0.0, 2.0])])
def test_det_of_singular_matrices(matrix: np.ndarray) -> None:
    """The gradient is the matrix of cofactors, which a determinant of smaller matrices gives; the second likewise."""
    a = whygrad.tensor(matrix, requires_grad=True)
    (first,) = whygrad.autograd.grad(a.det(), a, create_graph=True)
    size = len(matrix)
    cofactors = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            minor = np.delete(np.delete(matrix, i, 0), j, 1)
            cofactors[i, j] = (-1) ** (i + j) * np.linalg.det(minor)
    np.testing.assert_allclose(first.detach().numpy(), cofactors, atol=1e-12)
    weights = normal(size, size)
    (second,) = whygrad.autograd.grad((first * whygrad.tensor(weights)).sum(), a)
    step = 1e-5
    numeric = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            changes = []
            for sign in (1, -1):
                moved = matrix.copy()
                moved[i, j] += sign * step
                b = whygrad.tensor(moved, requires_grad=True)
                b.det().backward()
                changes.append((b.grad.numpy() * weights).sum())
            numeric[i, j] = (changes[0] - changes[1]) / (2 * step)
    np.testing.assert_allclose(second.numpy(), numeric, atol=1e-6)


def test_third_derivative_of_det() -> None:
    check(lambda lib, a: lib.det(a), [regular(2, 3, 3)], order=3, rtol=1e-7)


@pytest.mark.parametrize("name", ["svdvals", "svd S", "eigvalsh", "eigh values", "matrix_norm nuc"])
def test_equal_values_have_a_gradient(name: str) -> None:
    """Where singular values or eigenvalues coincide, their vectors are not determined; a sum of values does not care."""
    function, _ = CASES[name]
    check(lambda lib, a: function(lib, a).sum(), [np.eye(3)], order=1, check_node=False)


def test_values_of_what_has_no_gradient() -> None:
    for name, arguments in {"matrix_rank": [regular(2, 3, 3)], "matrix_rank zeros": [np.zeros((3, 3))],
                            "matrix_rank one": [SINGULAR], "geqrf": [normal(2, 4, 3)]}.items():
        function = {"g": lambda lib, a: lib.geqrf(a), "m": lambda lib, a: lib.linalg.matrix_rank(a)}[name[0]]
        (theirs, ours), = [pair(a) for a in arguments]
        assert_same(function(torch, theirs), function(whygrad, ours))


def test_results_have_names() -> None:
    a = whygrad.tensor([[2.0, 0.0], [0.0, 1.0]])
    theirs = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    for call in (lambda lib, x: lib.linalg.slogdet(x), lambda lib, x: lib.slogdet(x), lambda lib, x: lib.linalg.inv_ex(x),
                 lambda lib, x: lib.linalg.lu_factor(x), lambda lib, x: lib.linalg.eigh(x)):
        assert repr(call(whygrad, a)) == repr(call(torch, theirs))


def test_out() -> None:
    a = whygrad.tensor([[2.0, 0.0], [0.0, 4.0]])
    out = whygrad.empty(0)
    assert whygrad.linalg.inv(a, out=out) is out
    assert out.tolist() == [[0.5, 0.0], [0.0, 0.25]]
    values, vectors = whygrad.empty(0), whygrad.empty(0)
    result = whygrad.linalg.eigh(a, out=(values, vectors))
    assert result.eigenvalues is values
    assert values.tolist() == [2.0, 4.0]


def test_large_factors() -> None:
    """Beyond the sizes that are done row by row."""
    a = normal(2, 150, 150)
    p, low, high = whygrad.linalg.lu(whygrad.tensor(a))
    np.testing.assert_allclose((p @ low @ high).numpy(), a, atol=1e-11)
    theirs = torch.linalg.lu(torch.from_numpy(a))
    np.testing.assert_array_equal(p.numpy(), theirs.P.numpy())
    lower = triangle(150, 150) * 0.1 + np.eye(150)
    x = whygrad.linalg.solve_triangular(whygrad.tensor(lower), whygrad.tensor(a), upper=False)
    np.testing.assert_allclose(lower @ x.numpy(), a, atol=1e-8)


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 12])
def test_ldl(size: int, hermitian: bool) -> None:
    """Indefinite, with zeros on the diagonal: blocks of one and of two."""
    for x in (normal(3, size, size), normal(3, size, size) + 1j * normal(3, size, size)):
        a = x + (x.conj() if hermitian else x).swapaxes(-1, -2)
        for i in range(0, size - 1, 3):
            a[..., i, i] = 0
        b = normal(3, size, 2).astype(a.dtype)
        (theirs, ours), (theirs_b, ours_b) = pair(a), pair(b)
        expected, factors = [lib.linalg.ldl_factor_ex(x, hermitian=hermitian) for lib, x in ((torch, theirs), (whygrad, ours))]
        assert_same(tuple(expected), tuple(factors), rtol=1e-8)
        solved = whygrad.linalg.ldl_solve(factors.LD, factors.pivots, ours_b, hermitian=hermitian)
        assert_same(torch.linalg.ldl_solve(expected.LD, expected.pivots, theirs_b, hermitian=hermitian), solved, rtol=1e-7)


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (2, 5, 5)])
def test_low_rank(shape: tuple[int, ...]) -> None:
    """The same seed gives the same random vectors, so the same approximation."""
    for name, options in {"svd_lowrank": {"q": 2}, "pca_lowrank": {"q": 3}}.items():
        def product(lib: Any, a: Any, name: str = name, options: dict[str, int] = options) -> Any:
            lib.manual_seed(3)
            u, s, v = getattr(lib, name)(a, **options)
            return (u * s.unsqueeze(-2)) @ v.mH

        check(product, [normal(*shape)], check_node=False, rtol=1e-6)


@pytest.mark.parametrize("name", ["symeig", "eig", "lstsq", "solve", "matrix_rank"])
def test_removed_functions_say_what_to_use(name: str) -> None:
    texts = []
    for lib in (torch, whygrad):
        with pytest.raises(RuntimeError) as caught:
            getattr(lib, name)(lib.eye(2), *[lib.eye(2)] * (name in ("lstsq", "solve")))
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("options", [{}, {"k": 2}, {"k": 2, "largest": False}, {"k": 3, "n": 4}], ids=str)
@pytest.mark.parametrize("with_b", [False, True])
def test_lobpcg(options: dict[str, Any], with_b: bool) -> None:
    def outcomes(t: Any) -> Any:
        t.manual_seed(0)
        root = t.randn(12, 12, dtype=t.float64)
        a = (root @ root.T + t.eye(12)).requires_grad_()
        b = t.diag(t.linspace(1, 2, 12, dtype=t.float64)) if with_b else None
        values, vectors = t.lobpcg(a, B=b, niter=200, tol=1e-10, **options)
        again = t.rand(1).item()
        vectors = vectors.detach() * vectors.detach()[0].sign()
        if with_b:
            return values.tolist(), vectors.flatten().tolist(), again
        return values.tolist(), vectors.flatten().tolist(), again, t.autograd.grad(values.sum(), a)[0].flatten().tolist()

    for ours, theirs in zip(outcomes(whygrad), outcomes(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_lobpcg_of_a_small_matrix() -> None:
    theirs, ours = (outcome(lambda: t.lobpcg(t.eye(5), k=2)) for t in (torch, whygrad))
    assert ours == theirs
