"""Between rows and between tensors: distances, covariance, cross products, blocks, combinations."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from whygrad.base.broadcasting import broadcast_shapes
from whygrad.base.errors import warn
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional.arguments import check_tensors, not_implemented, read_each, read_int, read_tensor
from whygrad.functional.fresh import warn_once
from whygrad.functional.promotion import promote, result_dtype
from whygrad.functional.run import FUNCTIONS, public, rows
from whygrad.functional.solve import cross as linalg_cross
from whygrad.functional.wrong_arguments import checks_flags
from whygrad.ops.table import TABLE

# torch goes over to matrix products where one side has more rows than this.
FEW_ROWS = 25

COMPUTE_MODES = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": True,
                 "donot_use_mm_for_euclid_dist": False}


@public(method=False, autocast="float32")
def cdist(x1: Any, x2: Any, p: float = 2.0,
          compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The p-norm distance of each row of `x1` from each row of `x2`."""
    if compute_mode not in COMPUTE_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, x in (("X1", read_tensor("cdist", x1, "x1")), ("X2", read_tensor("cdist", x2, "x2", 2))):
        if x._array.dtype.kind not in "fV":
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype.scalar_name}")
        if x._array.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x._array.ndim}D")
    a, b = x1._array.shape, x2._array.shape
    if a[-1] != b[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {a[-1]} X2: {b[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if x1._array.dtype != x2._array.dtype and x1._array.size and x2._array.size:
        raise RuntimeError(f"expected scalar type {x1.dtype.scalar_name} but found {x2.dtype.scalar_name}")
    if x1._array.dtype.itemsize == 2:
        raise not_implemented("cdist", x1.dtype)
    by_products = COMPUTE_MODES[compute_mode]
    if by_products is None:
        by_products = a[-2] > FEW_ROWS or b[-2] > FEW_ROWS
    batch = broadcast_shapes(a[:-2], b[:-2])
    x1, x2 = (x if x._array.shape[:-2] == batch else rows.expand(x, shape=(*batch, *x._array.shape[-2:]))
              for x in (x1, x2))
    return apply(TABLE["cdist"], x1, x2, ord=p, by_products=by_products and p == 2)  # type: ignore[no-any-return]


@public(method=False)
def pdist(input: Any, p: float = 2) -> Tensor:
    """The p-norm distances of all pairs of different rows, in a line."""
    x = read_tensor("pdist", input)
    if x._array.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {x._array.ndim}D")
    if x._array.dtype.kind != "f":
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return apply(TABLE["pdist"], x, ord=p)  # type: ignore[no-any-return]


def _check_weights(name: str, weights: Any, observations: int, integral: bool) -> None:
    if weights._array.ndim > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
                           f"{weights._array.ndim} dimensions")
    if (weights._array.dtype.kind in "iu") != integral or weights._array.dtype.kind in "bc":
        raise RuntimeError(f"cov(): expected {name} to have {'integral' if integral else 'floating point'} dtype but got "
                           f"{name} with {weights.dtype.scalar_name} dtype")
    if weights._array.size != observations:
        raise RuntimeError(f"cov(): expected {name} to have the same numel as there are observations in the input but "
                           f"got {weights._array.size} != {observations}")
    if not (weights._numbers >= 0).all():
        raise RuntimeError(f"cov(): {name} cannot be negative")


@public()
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """The covariance matrix of variables (rows) over observations (columns)."""
    x: Any = read_tensor("cov", input)
    if x._array.ndim > 2:
        raise RuntimeError("cov(): expected input to have two or fewer dimensions but got an input with "
                           f"{x._array.ndim} dimensions")
    if x._array.dtype.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    if x._array.ndim < 2:
        x = x.reshape(1, -1)
    observations = x._array.shape[1]
    for name, weights, integral in (("fweights", fweights, True), ("aweights", aweights, False)):
        if weights is not None:
            _check_weights(name, weights, observations, integral)
    weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    total = observations if weights is None else weights.sum()
    if weights is not None and not total._numbers.all():
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = (x if weights is None else x * weights).sum(1) / total
    freedom = total - correction
    if weights is not None and aweights is not None and correction:
        freedom = total - correction * (weights * aweights).sum() / total
    if not bool(freedom > 0):
        warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.")
        freedom = freedom * 0
    x = x - mean.unsqueeze(1)
    return ((x @ (x if weights is None else x * weights).t().conj()) / freedom).squeeze()  # type: ignore[no-any-return]


@public()
def corrcoef(input: Any) -> Tensor:
    """The correlation coefficients of variables (rows) over observations (columns)."""
    if read_tensor("corrcoef", input)._array.ndim > 2:
        raise RuntimeError("corrcoef(): expected input to have two or fewer dimensions but got an input with "
                           f"{input._array.ndim} dimensions")
    c: Any = cov(input)
    if not c._array.ndim:
        return c / c  # type: ignore[no-any-return]
    variance = c.diag()
    if c._array.dtype.kind == "c":
        variance = FUNCTIONS["real"](variance)
    deviation = variance.sqrt()
    c = c / deviation.reshape(-1, 1) / deviation.reshape(1, -1)
    if c._array.dtype.kind == "c":
        return FUNCTIONS["complex"](*[FUNCTIONS[part](c).clip(-1, 1)  # type: ignore[no-any-return]
                                      for part in ("real", "imag")])
    return c.clip(-1, 1)  # type: ignore[no-any-return]


@public()
def cross(input: Any, other: Any, dim: int | None = None, *, out: Any = None) -> Tensor:
    """The cross product along a dim of length 3; the first such dim if none is given."""
    check_tensors("cross", input=input, other=other)
    if dim is None:
        warn_once("Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim "
                  "explicitly or simply use torch.linalg.cross.\nThe default value of dim will change to agree with "
                  "that of linalg.cross in a future release.")
        lengths = list(input._array.shape)
        if 3 not in lengths:
            raise RuntimeError("no dimension of size 3 in input")
        dim = lengths.index(3)

    return linalg_cross(input, other, dim=dim, out=out)


@public(method=False)
def block_diag(*tensors: Any) -> Tensor:
    """A matrix with the given ones along its diagonal, zeros elsewhere."""
    if not tensors:
        return wrap(np.zeros((1, 0), np.float32))
    read_each(tensors)
    for i, t in enumerate(tensors):
        if t._array.ndim > 2:
            raise RuntimeError("torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                               f"{i} has {t._array.ndim} dimensions")
    promoted = promote("block_diag", *tensors, dtype=result_dtype(*tensors))
    return apply(TABLE["block_diag"], *promoted)  # type: ignore[no-any-return]


@public(method=False)
@checks_flags
def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of `r` elements of a vector, a row for each."""
    x: Any = read_tensor("combinations", input)
    r = read_int("combinations", "r", 2, r)
    if x._array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(x._array.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if not r:
        return wrap(np.empty(0, x._array.dtype))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = np.fromiter(itertools.chain.from_iterable(choose(range(x._array.size), r)), np.int64).reshape(-1, r)
    return FUNCTIONS["stack"]([x[wrap(column)] for column in chosen.T], 1)  # type: ignore[no-any-return]
