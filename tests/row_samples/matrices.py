"""Products and factors of matrices, and Fourier transforms."""

from __future__ import annotations

import numpy as np

from row_samples.making import Samples, case, imaginary, real, some, whole

SAMPLES: dict[str, Samples] = {}

# products of matrices

LABELS = {"a_labels": (0, 1), "b_labels": (1, 2), "out_labels": (0, 2)}
SAMPLES |= {
    "mm": [case(real(2, 3), real(3, 2)), case(real(2, 1), real(1, 3)), case(real(2, 0), real(0, 3)),
           case(imaginary(2, 2), imaginary(2, 1))],
    "bmm": [case(real(2, 2, 3), real(2, 3, 1)), case(imaginary(1, 2, 2), imaginary(1, 2, 1))],
    "mv": [case(real(2, 3), real(3)), case(real(2, 1), real(1)), case(real(1, 2), real(2)),
           case(imaginary(2, 2), imaginary(2))],
    "vm": [case(real(2), real(2, 3)), case(real(1), real(1, 2)), case(imaginary(2), imaginary(2, 2))],
    "dot": [case(real(3), real(3, seed=1)), case(real(1), real(1, seed=1)), case(real(0), real(0)),
            case(imaginary(2), imaginary(2, seed=1))],
    "vdot": [case(real(3), real(3, seed=1)), case(imaginary(2), imaginary(2, seed=1))],
    "outer": [case(real(2), real(3)), case(imaginary(2), imaginary(2, seed=1))],
    "matmul": [case(real(2, 2, 3), real(3, 2)), case(real(2, 1, 2, 3), real(2, 3, 2)), case(real(2, 3), real(2, 3, 1))],
    "matmul_folded": [case(real(2, 2, 3), real(3, 2)), case(real(2, 2, 1), real(1, 2))],
    "matmul_vector": [case(real(2, 2, 3), real(3)), case(real(2, 2, 1), real(1))],
    "linear": [case(real(2, 3), real(2, 3, seed=1), real(2)), case(real(2, 3), real(2, 3, seed=1), None),
               case(real(2, 1), real(3, 1), real(3))],
    "linear_folded": [case(real(2, 2, 3), real(2, 3, seed=1), b)
                      for b in (real(2), None)] + [case(real(3), real(2, 3), real(2))],
    "addmm": [case(c, real(2, 3), real(3, 2), beta=0.5, alpha=2.0)
              for c in (real(2, 2), real(2), real(2, 1), real())] + [
        case(real(2, 2), real(2, 3), real(3, 2)), case(real(2, 2), real(2, 1), real(1, 2), beta=0)],
    "addmv": [case(real(2), real(2, 3), real(3), beta=0.5, alpha=2.0), case(real(), real(2, 3), real(3)),
              case(real(2), real(2, 1), real(1))],
    "addr": [case(real(2, 3), real(2), real(3), beta=0.5, alpha=2.0), case(real(3), real(2), real(3, seed=1), beta=0)],
    "baddbmm": [case(real(2, 2, 1), real(2, 2, 3), real(2, 3, 1), beta=0.5, alpha=2.0),
                case(real(1), real(2, 2, 3), real(2, 3, 1))],
    "addbmm": [case(real(2, 1), real(2, 2, 3), real(2, 3, 1), beta=0.5, alpha=2.0)],
    "contract": [case(real(2, 3), real(3, 2), **LABELS),
                 case(real(2, 3), real(2, 2), a_labels=(0, 1), b_labels=(0, 2), out_labels=(2, 0, 1)),
                 case(real(2, 2, 3), real(3, 2, 2), a_labels=(0, 1, 2), b_labels=(2, 0, 3), out_labels=(3, 0, 1)),
                 case(imaginary(2, 2), imaginary(2, 1), **LABELS)],
    "trace": [case(real(3, 3)), case(real(2, 3))],
    "trilinear": [case(real(2, 2), real(3, 2, 2), real(2, 2, seed=1), spec="ni,oij,nj->no")],
}

# factors of matrices


def symmetric(a: np.ndarray) -> np.ndarray:
    return (a + a.swapaxes(-1, -2)) / 2


def hermitian(a: np.ndarray) -> np.ndarray:
    return (a + a.conj().swapaxes(-1, -2)) / 2


def lower_factor(a: np.ndarray) -> np.ndarray:
    """A Cholesky factor: LAPACK takes it for granted that its diagonal is real."""
    return np.tril(a, -1) + np.eye(a.shape[-1]) * a.real


def upper_factor(a: np.ndarray) -> np.ndarray:
    return np.triu(a, 1) + np.eye(a.shape[-1]) * a.real


SYMMETRIC, HERMITIAN = {"within": {0: symmetric}}, {"within": {0: hermitian}}
LOWER = np.tril(real(3, 3)) + 3 * np.eye(3)
LOWER_COMPLEX = np.tril(imaginary(2, 2), -1) + 2 * np.eye(2)
MIXED = real(3, 3) + 4 * np.eye(3)
DEFINITE, DEFINITE_COMPLEX = symmetric(real(2, 3, 3)) + 5 * np.eye(3), hermitian(imaginary(2, 2)) + 5 * np.eye(2)
MATRICES = [real(3, 3), real(2, 2, 2), real(2, 3), real(3, 2), imaginary(2, 2)]
SQUARE = [case(a) for a in MATRICES if a.shape[-1] == a.shape[-2]]
EXCHANGES = whole(2, 3, 3).astype(np.int32)
SINGULAR = some([1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.5, -1.0, 2.0])
VALUES_ONLY = {"results": (0,)}
TOLERANCES = {"atol": None, "rtol": None, "hermitian": False}
SAMPLES |= {
    "cholesky_ex": [case(DEFINITE, upper=upper, node="LinalgCholeskyExBackward0", **SYMMETRIC)
                    for upper in (False, True)] + [
        case(DEFINITE_COMPLEX, upper=upper, node="CholeskyBackward0", **HERMITIAN) for upper in (False, True)],
    "solve_triangular": [
        *(case(MIXED, real(3, 2) if left else real(2, 3), upper=upper, left=left, unit=unit)
          for upper in (False, True) for left in (False, True) for unit in (False, True)),
        case(np.stack([MIXED, MIXED.T]), real(3, 2), upper=True, left=True, unit=False),
        case(MIXED, real(2, 3, 1), upper=False, left=True, unit=False),
        case(LOWER_COMPLEX, imaginary(2, 1), upper=False, left=True, unit=False)],
    "cholesky_solve": [case(b, (factor.conj().T if upper else factor), upper=upper,
                            within={1: np.triu if upper else np.tril})
                       for b, factor in ((real(3, 2), LOWER), (real(2, 3, 1), LOWER), (imaginary(2, 1), LOWER_COMPLEX))
                       for upper in (False, True)],
    "cholesky_inverse": [case(factor.conj().swapaxes(-1, -2) if upper else factor, upper=upper,
                              within={0: upper_factor if upper else lower_factor})
                         for factor in (LOWER, np.stack([LOWER, LOWER + np.eye(3)]), LOWER_COMPLEX)
                         for upper in (False, True)],
    "lu": [case(a) for a in MATRICES],
    "lu_factor_ex": [case(a) for a in MATRICES],
    "lu_unpack": [case(a, EXCHANGES[:min(a.shape)], data=True, pivots=True)
                  for a in (real(3, 3), real(3, 4), real(4, 3), imaginary(3, 3))],
    "lu_solve": [case(MIXED, EXCHANGES, real(3, 2) if left else real(2, 3), left=left, flip=flip, conjugate=False)
                 for left in (False, True) for flip in (False, True)] + [
        case(MIXED + 1j, EXCHANGES, imaginary(3, 1), left=True, flip=True, conjugate=True),
        case(MIXED, EXCHANGES, real(2, 3, 1), left=True, flip=False, conjugate=False)],
    "qr": [case(a, mode="reduced") for a in MATRICES] + [case(real(2, 2), mode="complete"),
                                                         case(real(2, 2), mode="r", fails=RuntimeError),
                                                         case(real(3, 2), mode="complete", fails=RuntimeError)],
    "householder_product": [case(real(3, 2), real(2)), case(real(3, 3), real(2)), case(real(2, 2, 2), real(2, 2)),
                            case(imaginary(2, 2), imaginary(2))],
    "ormqr": [case(real(3, 2), real(2), real(3, 4), left=True, transpose=False),
              case(real(2, 3), real(2), real(4, 2), left=False, transpose=False),
              case(real(2, 3, 3), real(2, 2), real(2, 3, 1), left=True, transpose=True),
              case(imaginary(3, 2), imaginary(2), imaginary(2, 3), left=False, transpose=True)],
    "geqrf": [case(real(3, 2), fails=NotImplementedError)],
    "ldl_factor_ex": [case(symmetric(real(2, 3, 3)), hermitian=False, fails=RuntimeError),
                      case(DEFINITE_COMPLEX, hermitian=True, fails=RuntimeError)],
    "ldl_solve": [case(LOWER, whole(1, 2, 3).astype(np.int32), real(3, 2), hermitian=False, fails=RuntimeError)],
    "inv_ex": SQUARE,
    "solve_ex": [case(MIXED, real(3, 2) if left else real(2, 3), left=left, vector=False) for left in (False, True)] + [
        case(MIXED, real(3), left=True, vector=True), case(np.stack([MIXED, MIXED.T]), real(3, 1), left=True,
                                                           vector=False),
        case(imaginary(2, 2), imaginary(2, 1), left=True, vector=False)],
    "det": [*SQUARE, case(SINGULAR)],
    "cofactors": SQUARE,
    "cofactors_change": [case(s.inputs[0], s.inputs[0][..., ::-1].copy()) for s in SQUARE],
    "slogdet": SQUARE,
    "pinv": [case(a, **TOLERANCES) for a in MATRICES] + [
        case(symmetric(real(3, 3)), atol=None, rtol=None, hermitian=True, **SYMMETRIC)],
    "lstsq": [case(a, real(len(a), 2), rcond=None, driver="gelsd") for a in (real(3, 2), real(2, 2), real(2, 3))] + [
        case(imaginary(3, 2), imaginary(3, 1), rcond=None, driver="gelsy")],
    "matrix_exp": [*SQUARE, case(real(2, 2, low=-9, high=9))],
    "svd": [case(a, full=False) for a in MATRICES[:-1]] + [case(real(2, 2), full=True),
                                                           case(imaginary(2, 3), full=False, results=(1,))],
    "svdvals": [case(a) for a in MATRICES],
    "eigh": [case(symmetric(real(3, 3)), lower=lower, **SYMMETRIC) for lower in (False, True)] + [
        case(DEFINITE_COMPLEX, lower=True, **HERMITIAN, **VALUES_ONLY),
        case(symmetric(real(2, 2, 2)), lower=True, **SYMMETRIC)],
    "eigvalsh": [case(symmetric(real(3, 3)), lower=lower, **SYMMETRIC) for lower in (False, True)] + [
        case(DEFINITE_COMPLEX, lower=True, **HERMITIAN)],
    "eig": [case(imaginary(3, 3), real=False, **VALUES_ONLY), case(imaginary(2, 2, 2), real=False, **VALUES_ONLY)],
    "eigvals": [case(imaginary(3, 3), real=False), case(imaginary(2, 2, 2), real=False)],
    "no_phase": [case(imaginary(3).real + 0j, None, message="the phase"), case(real(3) + 0j, real(3) + 0j, message="the phase")],
}

# Fourier transforms

DIVIDED = ("none", "root", "n")
SAMPLES |= {
    "fft_c2c": [case(imaginary(2, 3), axes=(1,), norm=norm, inverse=back) for norm in DIVIDED
                for back in (False, True)] + [
        case(imaginary(2, 3), axes=(0, 1), norm="none", inverse=False),
        case(imaginary(2), axes=(), norm="none", inverse=False)],
    "fft_r2c": [case(real(2, n), axes=axes, norm=norm, onesided=half) for n, axes,
                norm in ((4, (1,), "none"), (5, (1,), "root"), (4, (0, 1), "n"))
                for half in (False, True)],
    "fft_c2r": [case(imaginary(2, 3), axes=axes, norm=norm, size=n) for n, axes,
                norm in ((4, (1,), "none"), (5, (1,), "root"), (4, (0, 1), "n"))],
    "scale_inside": [case(imaginary(2, 3), axis=1, size=n, factor=0.5) for n in (4, 5)],
}
