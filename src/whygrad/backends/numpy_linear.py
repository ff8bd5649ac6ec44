"""Matrix products on NumPy arrays."""

from __future__ import annotations

import math
import operator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from whygrad.backends.fp_warnings import quiet
from whygrad.backends.numpy_reduction import FLOAT32, FLOAT64, is_half, sum_to
from whygrad.base import acceleration

# The broadcasting product of an outer product; replaced by a kernel once it is hot.
times: Any = np.multiply
acceleration.bind_elementwise(globals(), "times", "times", np.multiply, operator.mul, takes_vocabulary=False)


@quiet
def _product(a: Any, b: Any) -> Any:
    """`a @ b` in any dtype. Half precision goes through float32: NumPy has no fast product for it, and torch does the same."""
    if a.ndim == b.ndim == 3 and len(a) == len(b) > 1:
        if a.shape[2] == 1:
            return np.ascontiguousarray(times(a, b))
        if not b.strides[0] and a.size and a.dtype == b.dtype and not is_half(a.dtype):
            # The second factor is the same for the whole batch: one product of the stacked rows.
            return np.matmul(a.reshape(-1, a.shape[2]), b[0]).reshape(*a.shape[:2], b.shape[2])
    if is_half(a.dtype):
        return np.matmul(a.astype(np.float32), b.astype(np.float32), order="C").astype(a.dtype)
    return np.matmul(a, b, order="C")


def mm(a: Any, b: Any) -> Any:
    dtype = a.dtype
    if len(b) == 1 and a.ndim == b.ndim == 2:
        # An outer product: faster without BLAS, which would also turn -0.0 into 0.0.
        return times(a, b)
    # For matrices `dot` equals `matmul`, at half the cost for small ones.
    return a.dot(b) if dtype is FLOAT32 or dtype is FLOAT64 else _product(a, b)


mv = vm = dot = mm
bmm = matmul = _product


def outer(a: Any, b: Any) -> Any:
    return times(a[:, None], b)


def matmul_folded(a: Any, b: Any) -> Any:
    return mm(_flat(a), b).reshape(*a.shape[:-1], b.shape[1])


def linear_folded(x: Any, weight: Any, bias: Any) -> Any:
    return linear(_flat(x), weight, bias).reshape(*x.shape[:-1], len(weight))


def _flat(x: Any) -> Any:
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def linear(x: Any, weight: Any, bias: Any) -> Any:
    out = mm(x, weight.T)
    if bias is not None:
        out += bias
    return out


def transposed_product(a: Any, b: Any) -> Any:
    """`a.T @ b` of the stacked rows of both."""
    return mm(_flat(a).T, _flat(b))


def linear_backward(g: Any, x: Any, weight: Any, *, bias_shape: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """The gradients of input, weight and bias."""
    return matmul_folded(g, weight), transposed_product(g, x), g if g.shape == bias_shape else sum_to(g, shape=bias_shape)


@quiet
def addmm(c: Any, a: Any, b: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    out = mm(a, b)
    if not alpha:
        out[...] = 0  # NaNs of a and b do not propagate
    elif alpha != 1:
        out *= alpha
    if beta:
        out += c if beta == 1 else c * beta
    return out


class Plan(NamedTuple):
    """The transpositions that make a contraction a product (batch, rows, inner) x (batch, inner, columns), and back."""

    a_axes: tuple[int, ...]
    b_axes: tuple[int, ...]
    out_axes: tuple[int, ...]
    batch: int
    rows: int
    inner: int


@lru_cache(maxsize=256)
def _plan(a: tuple[int, ...], b: tuple[int, ...], out: tuple[int, ...]) -> Plan:
    batch = [label for label in out if label in a and label in b]
    rows = [label for label in out if label in a and label not in b]
    columns = [label for label in out if label in b and label not in a]
    inner = [label for label in a if label in b and label not in out]
    result = batch + rows + columns
    return Plan(tuple([a.index(label) for label in batch + rows + inner]),
                tuple([b.index(label) for label in batch + inner + columns]),
                tuple([result.index(label) for label in out]), len(batch), len(rows), len(inner))


@quiet
def contract(a: Any, b: Any, *, a_labels: Any, b_labels: Any, out_labels: Any, product: Any = _product) -> Any:
    plan = _plan(a_labels, b_labels, out_labels)
    a, b = a.transpose(plan.a_axes), b.transpose(plan.b_axes)
    batch = a.shape[:plan.batch]
    rows, columns = a.shape[plan.batch:plan.batch + plan.rows], b.shape[plan.batch + plan.inner:]
    if plan.inner:
        inner = math.prod(b.shape[plan.batch:plan.batch + plan.inner])
        out = product(a.reshape(*batch, math.prod(rows), inner), b.reshape(*batch, inner, math.prod(columns)))
        out = out.reshape(batch + rows + columns)
    else:
        out = times(a.reshape(a.shape + (1,) * len(columns)), b.reshape(batch + (1,) * len(rows) + columns))
    return out.transpose(plan.out_axes)
