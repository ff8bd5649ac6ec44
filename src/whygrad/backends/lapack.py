"""LAPACK and BLAS routines of the library that NumPy is linked with, called by ctypes for each matrix of a batch.

NumPy's wheels bring OpenBLAS, which exports more than `numpy.linalg` uses. `without_lapack.py` has the same functions in plain
NumPy, for builds whose library does not export what is needed; `routines()` is the module to call.

Results are matrices stored column by column. Names are LAPACK's; `upper`, `left`, `unit` and `trans` are its options.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from whygrad.backends import without_lapack
from whygrad.backends.memory_order import in_columns
from whygrad.base.threads import openblas

Array = Any

# How libraries spell names: OpenBLAS of NumPy's wheels (64-bit integers) and of SciPy's (32-bit), other 64-bit builds, and
# everybody else; but on macOS the plain names are those of Accelerate's outdated LAPACK.
SPELLINGS = ("scipy_{}_64_", "scipy_{}_", "{}_64_", *(("{}_",) if sys.platform != "darwin" else ()))
PREFIXES = {"f": "s", "d": "d", "F": "c", "D": "z"}
BOTH = ("getrf", "getrs", "trsm", "sytrf", "sytrs", "geqrf", "potri", "potrs")
REAL, COMPLEX = (*BOTH, "orgqr", "ormqr"), (*BOTH, "hetrf", "hetrs", "ungqr", "unmqr")
NAMES = [p + name for ps, names in (("sd", REAL), ("cz", COMPLEX)) for p in ps for name in names]
BLOCK = 64  # the largest number of columns that the routines below work on at once, for which they need a workspace


SMALL = 8  # rows and columns of a small matrix
MANY = 16  # calls of LAPACK in the time in which plain NumPy treats one row or column of all matrices


class Library:
    """The routines of one library, and the width of its integers."""

    def __init__(self, handle: Any, spelling: str) -> None:
        self._handle, self._spelling = handle, spelling
        # The factors of a matrix of one element: a narrow `info` of 0 overwrites only one half of a wide -1.
        one, number, pivot, info = np.ones(1), np.ones(1, np.int64), np.zeros(1, np.int64), np.full(1, -1, np.int64)
        self._find("dgetrf", 6)(*[x.ctypes.data for x in (number, number, one, number, pivot, info)])
        self.integer = np.dtype(np.int32 if info[0] else np.int64)
        self.prepared = lru_cache(1024)(self._prepare)

    def _find(self, name: str, arguments: int) -> Callable[..., None]:
        routine = self._handle[self._spelling.format(name)]
        routine.restype, routine.argtypes = None, [ctypes.c_void_p] * arguments
        return routine  # type: ignore[no-any-return]

    def _prepare(self, name: str, dtype: str, arguments: tuple[Any, ...]) -> tuple[Callable[..., None], list[Any], list[int]]:
        """A routine, its arguments in memory, and the places of the arrays among them, which stand as None."""
        width = self.integer.itemsize
        values = [x.to_bytes(width, sys.byteorder) if isinstance(x, int) else x.encode() if isinstance(x, str) else x
                  for x in arguments]
        # Fortran passes the length of each string after all other arguments.
        values += [1 for x in arguments if isinstance(x, str)]
        return self._find(PREFIXES[dtype] + name, len(values)), values, [i for i, x in enumerate(values) if x is None]


@cache
def library() -> Any:
    """The library that NumPy uses, or None if it does not export all of the routines."""
    # A shared object's symbols include those of the libraries that it is linked with, except on Windows.
    for handle in (openblas(), ctypes.CDLL(np.linalg._umath_linalg.__file__)):  # type: ignore[attr-defined]
        for spelling in SPELLINGS:
            if handle is not None and all(hasattr(handle, spelling.format(name)) for name in NAMES):
                return Library(handle, spelling)
    return None


def routines(*operands: Array) -> Any:
    """The module with the functions below for such matrices: this one, or the one in plain NumPy."""
    return without_lapack if library() is None or are_many(operands) else sys.modules[__name__]


def are_many(operands: tuple[Array, ...]) -> bool:
    """Whether plain NumPy is faster: it takes a step for all matrices of a batch at once, where ctypes has to make many calls."""
    for x in operands:
        if x.ndim > 2 and x.shape[-1] <= SMALL >= x.shape[-2] and x.size > MANY * x.shape[-1] ** 2 * x.shape[-2]:
            return True
    return False


# An array object begins with a pointer to its data, after what all objects begin with. `x.ctypes.data` takes ten times longer.
_address, _DATA = ctypes.c_void_p.from_address, object.__basicsize__


def _addresses(x: Array, batch: tuple[int, ...]) -> list[int]:
    """Where the part of `x` for each matrix of the batch begins. `x` begins with the axes of the batch, or axes of length 1."""
    offsets = np.asarray(x.ctypes.data)
    for count, length, stride in zip(batch, x.shape, x.strides, strict=False):
        offsets = np.add.outer(offsets, np.arange(count) * (stride if length > 1 else 0))
    return offsets.ravel().tolist()


def _call(name: str, dtype: Any, batch: tuple[int, ...], arguments: tuple[Any, ...], *arrays: Array) -> None:
    """Call a routine for each matrix of a batch, with options (strings), sizes (integers), numbers (bytes), and None where
    one of the arrays is to be passed."""
    routine, values, places = library().prepared(name, dtype.char, arguments)
    values = values.copy()
    if not batch:
        for i, x in zip(places, arrays, strict=True):
            values[i] = _address(id(x) + _DATA).value
        routine(*values)
        return
    for addresses in zip(*[_addresses(x, batch) for x in arrays], strict=True):
        for i, address in zip(places, addresses, strict=True):
            values[i] = address
        routine(*values)


def _copy(x: Array, batch: tuple[int, ...], dtype: Any) -> Array:
    """A copy with the columns of each matrix in one piece, expanded to the batch."""
    if x.ndim == 2 and not batch:
        return x.astype(dtype, order="F")
    out = np.empty((*batch, x.shape[-1], x.shape[-2]), dtype).swapaxes(-1, -2)
    out[...] = x
    return out


def _readable(a: Array) -> Array:
    """`a`, or a copy of it, with the columns of each matrix in one piece."""
    return a if a.strides[-2:] == (a.itemsize, a.itemsize * a.shape[-2]) else in_columns(a)


def _operands(a: Array, b: Array) -> tuple[Array, Array, tuple[int, ...], Any]:
    """`a` to be read and a copy of `b` to be overwritten by the solution, both of the same batch and dtype."""
    dtype = a.dtype if a.dtype == b.dtype else np.result_type(a, b)
    a, batch = _readable(a.astype(dtype, copy=False)), a.shape[:-2]
    if batch != b.shape[:-2]:
        batch = np.broadcast_shapes(batch, b.shape[:-2])
        a = np.broadcast_to(a, (*batch, *a.shape[-2:]))
    return a, _copy(b, batch, dtype), batch, dtype


def _vectors(x: Array, batch: tuple[int, ...], dtype: Any) -> Array:
    """Vectors in one piece, expanded to the batch."""
    x = np.ascontiguousarray(x, dtype)
    return x if x.shape[:-1] == batch else np.broadcast_to(x, (*batch, x.shape[-1]))


def _integers(*shape: int) -> Array:
    return np.zeros(shape, library().integer)


def _workspace(size: int, batch: tuple[int, ...], dtype: Any) -> Array:
    return np.empty((1,) * len(batch) + (max(1, size),), dtype)


def getrf(a: Array) -> tuple[Array, Array, Array]:
    """Factors l u of the matrices with their rows exchanged; with which row each was; where u has its first zero, or 0."""
    *_, rows, columns = a.shape
    batch = a.shape[:-2]
    lu, pivots, info = _copy(a, batch, a.dtype), _integers(*batch, min(rows, columns)), _integers(*batch)
    _call("getrf", a.dtype, batch, (rows, columns, None, max(1, rows), None, None), lu, pivots, info)
    return lu, pivots.astype(np.int32), info.astype(np.int32)


def _solve(name: str, option: str, factors: Array, pivots: Array | None, b: Array) -> Array:
    """x with a x = b, for the factors of a, and the exchanges that they were made with, if any."""
    factors, x, batch, dtype = _operands(factors, b)
    size, columns = x.shape[-2:]
    lead = max(1, size)
    exchanges = () if pivots is None else (_vectors(pivots, batch, library().integer),)
    _call(name, dtype, batch, (option, size, columns, None, lead, *[None] * len(exchanges), None, lead, None),
          factors, *exchanges, x, _integers(*batch))
    return x


def getrs(lu: Array, pivots: Array, b: Array, *, trans: str) -> Array:
    """x with a x = b, for the factors of a; with a transposed for "T", with its adjoint for "C"."""
    return _solve("getrs", trans, lu, pivots, b)


@lru_cache
def _one(dtype: Any) -> bytes:
    return np.ones((), dtype).tobytes()


def trsm(a: Array, b: Array, *, upper: bool, left: bool, unit: bool) -> Array:
    """x with a x = b, or x a = b if not left; only one triangle of `a` is read."""
    trans, size = "N", a.shape[-1]
    if a.strides[-2:] == (size * a.itemsize, a.itemsize):  # its transpose can be read without a copy
        a, upper, trans = a.swapaxes(-1, -2), not upper, "T"
    a, x, batch, dtype = _operands(a, b)
    rows, columns = x.shape[-2:]
    _call("trsm", dtype, batch, ("L" if left else "R", "U" if upper else "L", trans, "U" if unit else "N", rows, columns,
                                 _one(dtype), None, max(1, size), None, max(1, rows)), a, x)
    return x


def potrs(factor: Array, b: Array, *, upper: bool) -> Array:
    """x with (l l') x = b, or with (u' u) x = b."""
    return _solve("potrs", "U" if upper else "L", factor, None, b)


def potri(factor: Array, *, upper: bool) -> tuple[Array, Array]:
    """One triangle of the inverse of l l' or u' u; and where the factor has its first zero, or 0."""
    size, batch = factor.shape[-1], factor.shape[:-2]
    inverse, info = _copy(factor, batch, factor.dtype), _integers(*batch)
    _call("potri", factor.dtype, batch, ("U" if upper else "L", size, None, max(1, size), None), inverse, info)
    return inverse, info.astype(np.int32)


def sytrf(a: Array, *, hermitian: bool) -> tuple[Array, Array, Array]:
    """Factors l d l' of the lower triangles, with blocks of one and two in d (Bunch and Kaufman); the exchanges; info."""
    size, batch = a.shape[-1], a.shape[:-2]
    ld, pivots, info = _copy(a, batch, a.dtype), _integers(*batch, size), _integers(*batch)
    work = _workspace(size * BLOCK, batch, a.dtype)
    _call("hetrf" if hermitian else "sytrf", a.dtype, batch,
          ("L", size, None, max(1, size), None, None, work.shape[-1], None), ld, pivots, work, info)
    return ld, pivots.astype(np.int32), info.astype(np.int32)


def sytrs(ld: Array, pivots: Array, b: Array, *, hermitian: bool) -> Array:
    """x with a x = b, for the factors of a."""
    return _solve("hetrs" if hermitian else "sytrs", "L", ld, pivots, b)


def geqrf(a: Array) -> tuple[Array, Array]:
    """r, with the vectors of the reflections below its diagonal, and the factors of the reflections."""
    *_, rows, columns = a.shape
    batch = a.shape[:-2]
    h, tau = _copy(a, batch, a.dtype), np.zeros((*batch, min(rows, columns)), a.dtype)
    work = _workspace(columns * BLOCK, batch, a.dtype)
    _call("geqrf", a.dtype, batch, (rows, columns, None, max(1, rows), None, None, work.shape[-1], None),
          h, tau, work, _integers(*batch))
    return h, tau


def orgqr(a: Array, tau: Array) -> Array:
    """The first columns of the product of the reflections."""
    *_, rows, columns = a.shape
    batch = np.broadcast_shapes(a.shape[:-2], tau.shape[:-1])
    q, work = _copy(a, batch, a.dtype), _workspace(columns * BLOCK, batch, a.dtype)
    _call("ungqr" if a.dtype.kind == "c" else "orgqr", a.dtype, batch,
          (rows, columns, tau.shape[-1], None, max(1, rows), None, None, work.shape[-1], None),
          q, _vectors(tau, batch, a.dtype), work, _integers(*batch))
    return q


def ormqr(a: Array, tau: Array, c: Array, *, left: bool, transpose: bool) -> Array:
    """The product of `c` and the square matrix of the reflections, or its adjoint."""
    name, trans = ("unmqr", "C") if a.dtype.kind == "c" else ("ormqr", "T")
    a, out, batch, dtype = _operands(a, c)
    rows, columns = out.shape[-2:]
    # Besides its columns a block of reflections needs a triangle of its own.
    work = _workspace(((columns if left else rows) + BLOCK + 1) * BLOCK, batch, dtype)
    _call(name, dtype, batch,
          ("L" if left else "R", trans if transpose else "N", rows, columns, tau.shape[-1], None, max(1, a.shape[-2]), None, None,
           max(1, rows), None, work.shape[-1], None), a, _vectors(tau, batch, dtype), out, work, _integers(*batch))
    return out
