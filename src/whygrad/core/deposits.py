"""How a gradient gets into a leaf's `.grad`: taken as it is, copied, added in place, or recorded."""

from __future__ import annotations

import threading
from sys import getrefcount
from typing import Any

import numpy as np

from whygrad import kernels
from whygrad.autograd.grad_mode import enforce_grad_layout_policy
from whygrad.backends import tensor as xp
from whygrad.base.dtypes import FROM_NUMPY
from whygrad.base.forking import hold_while_forking
from whygrad.core.node import cast_array
from whygrad.core.tensor import Swapped, Tensor, wrap
from whygrad.why import record as why

# Two backward passes may reach one leaf at the same time.
_accumulating = threading.Lock()
hold_while_forking(_accumulating)

add_into: Any = np.add  # (a, b, out)
if kernels.enabled:
    kernels.warm_into("add", np.add).put(globals(), "add_into")


def grad_dtype(leaf: Tensor, g: Any) -> np.dtype:
    """The dtype in which a leaf wants its gradient: its own, or what `leaf.grad_dtype` says (None: as it comes)."""
    wanted = ... if leaf._meta is None else leaf._meta.grad_dtype
    return leaf._array.dtype if wanted is ... else g.dtype if wanted is None else wanted.numpy


def deposit(leaf: Tensor, g: Any, causes: why.Causes, held: int) -> None:
    """Add an array to `.grad`. If it has no more references than the walk has `held`, it becomes `.grad` as it is."""
    if not (leaf._lookup and leaf._view is None) and not leaf.requires_grad:
        return  # frozen since the forward
    array, meta = leaf._array, leaf._meta
    dtype = array.dtype if meta is None or meta.grad_dtype is ... else grad_dtype(leaf, g)
    if g.dtype is not dtype:
        g = cast_array(g, dtype)
    if g.shape != array.shape:
        if not isinstance(leaf._counter[0], Swapped):
            raise RuntimeError(f"internal error: gradient of shape {g.shape} for a leaf of shape {array.shape}")
        array = g  # since the forward, `leaf.data = ...` has changed the shape
    if array.dtype.kind == "c":
        g = np.conj(g)
    with _accumulating:
        grad = leaf._grad
        if grad is None:
            ours = (type(g) is np.ndarray is type(array) and getrefcount(g) <= held and g.base is None
                    and g.strides == array.strides)
            if not ours:
                g = owned_copy(g, array) if enforce_grad_layout_policy.enabled else g.copy("K")
            leaf._grad = grad = wrap(g) if g.__class__ is np.ndarray else g.tensor()
            grad._cause = causes
        elif _is_sparse(g) or _is_sparse(grad._array):
            _add_sparse(leaf, grad, g, causes)
        else:
            if grad._array.base is not None:  # the user's: it may be expanded
                from whygrad.core.write import check_overlap
                check_overlap(grad._array, ())
            add_into(grad._array, g, grad._array)
            grad._counter[0] += 1


def _add_sparse(leaf: Tensor, grad: Tensor, g: Any, causes: why.Causes) -> None:
    """Add gradients at least one of which is sparse: into what is there, unless a sparse one becomes dense."""
    total = grad._array + g
    if total.__class__ is not grad._array.__class__:
        leaf._grad = wrap(total) if total.__class__ is np.ndarray else total.tensor()
        leaf._grad._cause = causes
        return
    if total.__class__ is np.ndarray:
        grad._array[...] = total
    else:
        grad._array = total
    grad._counter[0] += 1


def deposit_recorded(leaf: Tensor, g: Tensor) -> None:
    """Add a gradient that is part of the graph."""
    if not leaf.requires_grad:
        return
    dtype = grad_dtype(leaf, g._array)
    if g._array.dtype != dtype:
        g = g.to(FROM_NUMPY[dtype])  # type: ignore[attr-defined]
    if leaf._array.dtype.kind == "c":
        g = xp.conj(g)
    with _accumulating:
        grad = leaf._grad
        if grad is None:
            leaf._grad = _recorded_copy(g, leaf._array)
        else:
            leaf._grad = g + grad if _is_sparse(grad._array) else grad + g  # type: ignore[operator]


def _recorded_copy(g: Tensor, like: np.ndarray) -> Tensor:
    """The gradient as a tensor of its own, still part of the graph; torch's node for it is CopyBackwards."""
    if _is_sparse(g._array) or _is_sparse(like):
        return g
    if not g.requires_grad:
        return wrap(owned_copy(g._array, like))
    from whygrad.core.write import copy_

    return copy_(wrap(np.empty_like(like, dtype=g._array.dtype)), g)


def _is_sparse(array: Any) -> bool:
    return array.__class__ is not np.ndarray and not isinstance(array, np.generic)


def owned_copy(g: Any, like: Any) -> Any:
    """A fresh array with the values of `g`, laid out as `like` if that is dense, else row-major."""
    if _is_sparse(g) or _is_sparse(like):
        return g.copy()
    result = np.empty_like(like, dtype=np.asarray(g).dtype)
    if 0 in like.strides and like.size > 1:
        result = np.empty(like.shape, result.dtype)
    result[...] = g
    return result
