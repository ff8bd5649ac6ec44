"""Distances and similarities between rows."""

from __future__ import annotations

from typing import Any

from whygrad.base.dtypes import get_default_dtype
from whygrad.core.modes import grad_state, refresh
from whygrad.core.record import apply
from whygrad.functional.arguments import check_tensors, read_flag, read_float, read_int
from whygrad.functional.dims import normalize_dim
from whygrad.functional.promotion import result_dtype
from whygrad.functional.run import FUNCTIONS, public
from whygrad.ops.table import TABLE


@public(method=False)
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between `x1` and `x2` along `dim`."""
    check_tensors("cosine_similarity", x1=x1, x2=x2)
    dim = read_int("cosine_similarity", "dim", 3, dim)
    eps = read_float("cosine_similarity", "eps", 4, eps)
    dtype = result_dtype(x1, x2)
    if not dtype.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {dtype.scalar_name}")
    x1, x2 = (x if x.dtype.is_floating_point else x.to(dtype) for x in (x1, x2))
    if x1.shape != x2.shape:
        x1, x2 = FUNCTIONS["broadcast_tensors"](x1, x2)
    if not eps >= 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    axis = (normalize_dim(dim, x1.ndim),) if x1.ndim else ()
    units = []
    for x in (x1, x2):
        length = apply(TABLE["vector_norm"], x, ord=2, axis=axis, keepdims=True).clone()
        # In place, as under no_grad: the gradient is that of the unclamped length.
        before, grad_state.grad = grad_state.grad, False
        refresh()
        try:
            length.clamp_(min=eps)
        finally:
            grad_state.grad = before
            refresh()
        units.append(x / length)
    return (units[0] * units[1]).sum(dim)


@public(method=False)
def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The p-norm of the difference along the last dim; `eps` is added to the difference."""
    check_tensors("pairwise_distance", x1=x1, x2=x2)
    p, eps = read_float("pairwise_distance", "p", 3, p), read_float("pairwise_distance", "eps", 4, eps)
    read_flag("pairwise_distance", "keepdim", 5, keepdim)
    difference = x1 - x2
    if difference.dtype.category < 2:
        difference = difference.to(get_default_dtype())
    difference = apply(TABLE["add_number"], difference, value=eps)
    if difference.dtype.is_complex:
        difference = FUNCTIONS["abs"](difference)
    return apply(TABLE["norm_along"], difference, ord=p, axis=(difference.ndim - 1,) if difference.ndim else (),
                 keepdims=keepdim)
