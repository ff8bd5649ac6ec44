"""The end of the walk: what happens at a leaf when all its contributions are in.

Hooks are called, and the gradient gets into `.grad`: taken as it is, copied, added in place, or recorded.
"""

from __future__ import annotations

import sys
import threading
from sys import getrefcount
from typing import Any

import numpy as np

from whygrad.autograd import hooks
from whygrad.backends import tensor as xp
from whygrad.backends.numpy_convert import cast_array
from whygrad.base import acceleration
from whygrad.base.dtypes import FROM_NUMPY
from whygrad.base.forking import hold_while_forking
from whygrad.base.overlap import check_overlap
from whygrad.base.version import Swapped
from whygrad.core.engine import Backward
from whygrad.core.modes import grad_state, process_state
from whygrad.core.node import AccumulateGrad, Node
from whygrad.core.record import specialization_of
from whygrad.core.registered import registered
from whygrad.core.tensor import Tensor, wrap
from whygrad.core.write import perform
from whygrad.ops.table import TABLE
from whygrad.why import record as why

# Two backward passes may reach one leaf at the same time.
_accumulating = threading.Lock()
hold_while_forking(_accumulating)

add_into: Any = np.add  # (a, b, out)
acceleration.bind_ufunc_write(globals(), "add_into", "add", np.add)


def finish_leaf(this: Backward, node: AccumulateGrad, g: Any, captures: dict[Node, Any] | None, deposit_captured: bool,
                held: int) -> None:
    """Deposit the sum of all contributions to a leaf. The walk has `held` references to `g`; if there are more, it is shared."""
    leaf, more = node.leaf, node.extra
    if more is not None:
        this.node = node
        g = hooks.on_output(node, g, this.create_graph)
        held = 0  # what a hook returns may be its own
    if captures is not None:
        captures[node] = g
        if not deposit_captured:
            return
    if more is not None:
        g = hooks.before_node(node, g, this.create_graph)
    is_first, meta = leaf._grad is None, leaf._meta
    if g is not None:
        if why.watching is not None and why.watching.traces:
            why.watching.depositing(leaf, this, g)
            held = 0  # the watch has looked at it
        if this.create_graph:
            deposit_recorded(leaf, g)
        else:
            deposit(leaf, g, this.causes, held)
        meta.reached_by = this
    if meta.post_accumulate_hooks:
        hooks.after_accumulation(leaf)
    if more is not None:
        if is_first and isinstance(g, (np.ndarray, np.generic)) and g.base is None and leaf._grad is not None:
            g = leaf._grad._array  # torch has not copied it, so the hook sees what has been done to `.grad` meanwhile
        hooks.after_node(node, (), g, this.create_graph)


def accumulate(node: AccumulateGrad, g: Any) -> None:
    """Add a gradient to a leaf outside of any walk."""
    if grad_state.grad:
        deposit_recorded(node.leaf, g)
    else:
        deposit(node.leaf, g, Backward(False, node).causes, 0)


def grad_dtype(leaf: Tensor, g: Any) -> np.dtype:
    """The dtype in which a leaf wants its gradient: its own, or what `leaf.grad_dtype` says (None: as it comes)."""
    wanted = ... if leaf._meta is None else leaf._meta.grad_dtype
    return leaf._array.dtype if wanted is ... else g.dtype if wanted is None else wanted.numpy


def deposit(leaf: Tensor, g: Any, causes: why.Causes, held: int) -> None:
    """Add an array to `.grad`. If it has no more references than the walk has `held`, it becomes `.grad` as it is."""
    if not (leaf._indirect and leaf._view is None) and not leaf.requires_grad:
        return  # frozen since the forward
    array, meta = leaf._array, leaf._meta
    dtype = array.dtype if meta is None or meta.grad_dtype is ... else grad_dtype(leaf, g)
    if g.dtype is not dtype:
        g = cast_array(g, dtype)
    if g.shape != array.shape:
        if not isinstance(leaf._version_counter.value, Swapped):
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
                g = owned_copy(g, array) if process_state.grad_follows_leaf else g.copy("K")
            leaf._grad = grad = wrap(g) if g.__class__ is np.ndarray else g.tensor()
            grad._cause = causes
        elif _is_sparse(g) or _is_sparse(grad._array):
            _add_sparse(leaf, grad, g, causes)
        else:
            if grad._array.base is not None:  # the user's: it may be expanded
                check_overlap(grad._array, ())
            add_into(grad._array, g, grad._array)
            grad._version_counter.value += 1


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
    grad._version_counter.value += 1


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
    copy = wrap(np.empty_like(like, dtype=g._array.dtype))
    return perform(specialization_of(TABLE["copy"], "tt"), copy, 0, (copy, g), {})


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


registered.accumulation = sys.modules[__name__]
