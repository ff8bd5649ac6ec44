"""Reductions, running totals, order and counts, distances."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from row_checks import Constant

from row_samples.making import NAN_IN_TORCH, Samples, case, imaginary, mask, real, some, unary, whole
from row_samples.shapes import PLAIN, TRANSPOSED
from whygrad.backends import raw

SAMPLES: dict[str, Samples] = {}

# reductions


def reductions(low: float = -2.0, **options: Any) -> Samples:
    """Over all axes, one, several, with the axes kept, and of nothing but one number."""
    return [case(real(2, 3, 2, low=low), axis=axis, keepdims=keep, **options)
            for axis, keep in ((None, False), ((1,), False), ((0, 2), False), ((0, 2), True))] + [
        case(real(low=low), axis=None, keepdims=False, **options)]


TIED = some([1.0, 3.0, 3.0], [2.0, 2.0, 2.0])
ZEROS = some([0.0, 2.0, -1.0], [0.0, 0.0, 3.0], [1.5, -2.0, 0.5])
SAMPLES |= {
    "sum_all": unary(numbers="real complex"), "mean_all": [case(real(2, 3)), case(real()), case(imaginary(2))],
    "sum": [*reductions(), case(real(0, 2), axis=(0,)), case(imaginary(2), axis=(0,))],
    "mean": [*reductions(), case(imaginary(2), axis=(0,))],
    "sum_to": [case(real(2, 3), shape=s) for s in ((3,), (2, 1), (1, 1), (), (2, 3))] + [case(real(0, 3), shape=(3,))],
    "nansum": [*reductions(), case(some(1.0, math.nan, 2.0), axis=(0,))],
    "var": [*reductions(correction=1)[:4], *reductions(correction=0)[:4],
            case(real(3), axis=(0,), keepdims=False, correction=0.5),
            case(real(1), axis=(0,), keepdims=False, correction=1, kink=True),
            case(real(1), axis=None, keepdims=False, correction=1, kink=True)],
    "std_complex": [case(imaginary(2, 3), axis=(1,), keepdims=False, correction=1),
                    case(imaginary(3), axis=None, keepdims=False, correction=0)],
    "var_complex": [case(imaginary(2, 3), axis=(1,), keepdims=False, correction=1),
                    case(imaginary(3), axis=None, keepdims=False, correction=0)],
    "std": [*reductions(correction=1)[:4], case(some(1.0, 1.0), axis=(0,), keepdims=False, correction=1, kink=True)],
    "var_mean": reductions(correction=1)[:4], "std_mean": reductions(correction=1)[:4],
    "shares": [case(TIED, TIED.max(axis=1, keepdims=True), axis=(1,), find_nan=False)],
    "logsumexp": [*reductions(), case(some(-math.inf, 1.0), axis=(0,), keepdims=False),
                  case(imaginary(3), axis=(0,), keepdims=False)],
    "prod": [*[s for s in reductions() if s.statics["axis"] is None or len(s.statics["axis"]) == 1],
             case(ZEROS, axis=(1,), keepdims=True), case(ZEROS[0]), case(imaginary(3))],
    "cumsum": [case(real(2, 3), axis=a, reverse=r) for a in (0, 1) for r in (False, True)] + [case(real(), axis=0)],
    "scan": [case(real(4, 2), real(4, 2, seed=1), axis=0, reverse=r)
             for r in (False, True)] + [case(real(1), real(1), axis=0, reverse=False)],
    "product_before": [case(x, axis=1, reverse=r) for x in (real(2, 3), ZEROS) for r in (False, True)],
    "cumprod": [case(real(2, 3), axis=1), case(ZEROS, axis=1), case(ZEROS, axis=0), case(real(), axis=0)],
    "product_of_others": [case(real(2, 3), axis=1), case(ZEROS, axis=1), case(ZEROS, axis=0)],
    "place": [case(real(2, 1), whole([2], [0]), axis=1, shape=(2, 3))],
    "pick": [case(real(2, 3), whole([2], [0]), axis=1)],
    "aminmax": [*reductions(), case(TIED, axis=(1,), kink=True)],
    "vector_norm": [sample for p in (2, 1, 0, 3, 0.5, 1.5, math.inf, -math.inf) for sample in reductions(ord=p)] + [
        case(some(0.0, 0.0), ord=p, kink=True) for p in (2, 1, 3, 0.5, 1.5, math.inf)] + [
        case(some(0.0, 2.0, -1.0), ord=2.5, **NAN_IN_TORCH)],
    "norm_along": [case(real(2, 3), ord=p, axis=(1,), keepdims=False) for p in (2, 1, 3)],
    "dist": [case(real(2, 3), real(3, seed=1), ord=p) for p in (2, 1, 3, 0, math.inf)] + [
        case(real(2), real(2, seed=1), ord=2)],
}
for _name in ("max", "min", "median", "nanmedian"):
    SAMPLES[_name] = [case(real(2, 3)), case(real(5)), case(real()), case(TIED, kink=True),
                      case(some(math.nan, 1.0, 2.0), kink=True)]
    SAMPLES[f"{_name}_along"] = [case(real(2, 3, 2), axis=a, keepdims=k) for a,
                                 k in ((0, False), (1, True), (2, False))] + [
        case(real(), axis=0, keepdims=False), case(TIED, axis=1, keepdims=False, kink=True)]
for _name in ("amax", "amin"):
    SAMPLES[_name] = [*reductions(), case(TIED, axis=(1,), kink=True)]
for _name in ("argmax", "argmin"):
    SAMPLES[_name] = [case(TIED, axis=a, keepdims=k) for a, k in ((None, False), (0, False), (1, True))] + [
        case(real(), axis=0, keepdims=False)]
for _name in ("all", "any", "count_nonzero"):
    SAMPLES[_name] = [case(ZEROS, axis=a, keepdims=False) for a in (None, (0,), (0, 1))] + [
        case(mask(1, 0), axis=None, keepdims=True)]

# order and counts

SAMPLES |= {
    "sort": [case(real(2, 3), axis=1, descending=d, stable=s) for d, s in ((False, None), (True, True))] + [
        case(TIED, axis=1, descending=True, stable=False, kink=True),
        case(real(), axis=0, descending=False, stable=None)],
    "topk": [case(real(2, 4), k=2, axis=1, largest=largest) for largest in (False, True)] + [
        case(real(2, 4), k=0, axis=1, largest=True)],
    "kthvalue": [case(real(2, 4), k=2, axis=1, keepdims=keep) for keep in (False, True)],
    "mode": [case(real(2, 4), axis=1, keepdims=keep) for keep in (False, True)] + [
        case(TIED, axis=1, keepdims=False, kink=True)],
    "unique": [case(TIED, fails=NotImplementedError)],
    "unique_dim": [case(TIED, axis=0, fails=NotImplementedError)],
    "unique_consecutive": [case(TIED, axis=1, fails=NotImplementedError),
                           case(TIED[0], axis=None, fails=NotImplementedError)],
    "bincount": [case(whole(0, 2, 2), real(3), length=4, fails=RuntimeError), case(whole(0, 2, 2), None, length=4)],
    "histogram": [case(real(4, 1), None, limits=(some(-2.0, 0.0, 2.0),), density=False, fails=RuntimeError)],
}

PLACED = whole([0, 0, 2], [1, 2, 1])
PUT_BACK = {"geometry": TRANSPOSED}


def as_torch_sees_it(x: Any, src: Any) -> Any:
    """The function that torch's gradient of as_strided_scatter belongs to."""
    return raw.as_strided_scatter(np.zeros_like(x), raw.as_strided(x, x_geometry=PLAIN, **PUT_BACK) + src, **PUT_BACK)


DISTANCES = (0, 1, 1.5, 2, 3, math.inf)
SAMPLES |= {
    "cummax": [case(real(2, 4), axis=1), case(real(3, 2), axis=0), case(real(), axis=0), case(TIED, axis=1, kink=True)],
    "cummin": [case(real(2, 4), axis=1), case(real(3, 2), axis=0), case(real(), axis=0), case(TIED, axis=1, kink=True)],
    "logcumsumexp": [case(real(2, 4), axis=1), case(real(3, 2), axis=0), case(real(), axis=0),
                     case(real(0, 2), axis=0)],
    "renorm": [case(real(3, 2, 2), ord=p, axis=(1, 2), maxnorm=2.5, tolerance=1e-5) for p in (1, 2, 3)],
    "cdist": [case(real(2, 3), real(3, 3, seed=1), ord=p) for p in DISTANCES] + [
        case(real(2, 2, 2), real(2, 3, 2), ord=2), case(real(2, 3), real(3, 3, seed=1), ord=2, by_products=True),
        case(real(2, 2), np.vstack([real(2, 2)[:1], real(1, 2)]), ord=2, kink=True)],
    "pdist": [case(real(3, 2), ord=p) for p in DISTANCES],
    "signs_towards": [case(real(2, 4), real(2, 3, seed=1), real(4, 3, seed=2)),
                      case(real(2, 2, 1), real(2, 2, 3, seed=1), real(2, 1, 3))],
    "signs_apart": [case(real(2, 3), real(2, 3, seed=1), real(4, 3, seed=2)),
                    case(real(2, 2, 3), real(2, 2, 3, seed=1), real(2, 1, 3))],
    "upper_triangle": [case(real(3, 3)), case(real(1, 1))],
    "one_triangle": [case(real(3), n=3)],
    "both_triangles": [case(real(3), n=3)],
    "block_diag": [case(real(2, 3), real(2), real(), real(1, 2)), case(real(2, 2), Constant(real(1, 1)))],
    "cross": [case(real(2, 3), real(2, 3, seed=1), axis=1), case(real(3, 1), real(3, 2), axis=0),
              case(imaginary(3), imaginary(3, seed=1), axis=0)],
    "scatter_reduce": [case(real(2, 3), PLACED, real(2, 3, seed=1), axis=1, reduce=how, include_self=own)
                       for how in ("sum", "prod", "mean", "amax", "amin") for own in (False, True)] + [
        case(TIED, PLACED, TIED, axis=1, reduce="amax", include_self=True, kink=True),
        case(ZEROS[:2], PLACED, ZEROS[1:], axis=1, reduce="prod", include_self=True, kink=True, second_fails=RuntimeError)],
    "flat_for_good": [case(real(2, 3), Constant(np.zeros((2, 3), bool)), function="scatter_reduce")],
    "put": [case(real(2, 3), whole([4, 0], [1, 5]), real(4), accumulate=a) for a in (False, True)] + [
        case(real(2, 3), whole(4, 4), real(2), accumulate=True)],
    "select_scatter": [case(real(2, 3), real(2), axis=1, index=2)],
    "slice_scatter": [case(real(2, 5), real(2, 2), axis=1, start=1, stop=5, step=2)],
    "diagonal_scatter": [case(real(3, 4), real(3), offset=1, axis1=0, axis2=1),
                         case(real(2, 3, 2), real(3, 2), offset=0, axis1=0, axis2=2)],
    "as_strided_scatter": [case(Constant(real(2, 3)), real(2, 2), **PUT_BACK),
                           case(real(2, 3), real(2, 2), like=as_torch_sees_it, **PUT_BACK)],
}
