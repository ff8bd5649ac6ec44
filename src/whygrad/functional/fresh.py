"""How every new tensor begins: memory for it, no history, and the place where it was made."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.base import devices, dtypes, errors, layouts
from whygrad.base.errors import warn
from whygrad.base.version import InferenceVersion
from whygrad.core.modes import grad_state, process_state
from whygrad.core.tensor import Tensor, set_requires_grad, wrap
from whygrad.core.write import bump
from whygrad.functional.arguments import check_flag, check_sizes, wrong_type
from whygrad.functional.determinism import determinism, fill_uninitialized
from whygrad.why import record as why

NOT_DIFFERENTIABLE = "Only Tensors of floating point and complex dtype can require gradients"

_warned: set[str] = set()


class Repeats:
    """torch.set_warn_always: whether what is said once is said every time."""

    always = False


def allocate(make: Callable[..., np.ndarray], sizes: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """`make(sizes, dtype)`, where make is np.empty or the like; torch's words if a size is negative, or memory not enough."""
    try:
        made = make(sizes, dtype)
        return fill_uninitialized(made) if make is np.empty and determinism.enabled else made
    except MemoryError as error:
        raise errors.out_of_memory(error) from None
    except ValueError:
        check_sizes(sizes)
        if 0 in sizes:
            raise RuntimeError("Stride calculation overflowed") from None
        size = math.prod(sizes) * dtype.itemsize
        if size < 2**63:  # it is too large for a platform of 32 bits alone
            raise errors.cannot_allocate(size) from None
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(sizes)}") from None


def fresh(array: np.ndarray, requires_grad: bool = False, causes: why.Causes = (), function: str = "tensor") -> Tensor:
    """A new tensor over `array`. `causes` say why it has no history, if there is more to say than where it was made."""
    result = wrap(array)
    if process_state.any_mode_active and grad_state.inference:
        result._lazy_version = InferenceVersion(grad_state.off_site)
    result._cause = causes or why.created(3)
    if requires_grad is not False:
        check_flag(function, "requires_grad", requires_grad)
        if array.dtype.kind not in "fcV":
            raise errors.noted(RuntimeError(NOT_DIFFERENTIABLE), "integers_require_grad", dtypes.FROM_NUMPY.get(array.dtype))
        result._indirect = True
    return result


def in_usual_order(result: Tensor) -> Tensor:
    """For results of rows that keep channels last, where torch's kernel does not."""
    if type(result._array) is np.ndarray and not result._array.flags.c_contiguous:
        result._array = np.ascontiguousarray(result._array)
    return result


def dtype_for(out: Any, dtype: Any, default: dtypes.dtype) -> Any:
    """Of a factory: the dtype asked for, else that of `out=`, else the default."""
    if dtype is None:
        return out.dtype if isinstance(out, Tensor) else default
    return dtype


def check_out(function: str, out: Any, dtype: dtypes.dtype) -> None:
    """Of a factory: whether `out=` can take the result."""
    if out is None:
        return
    if not isinstance(out, Tensor):
        raise wrong_type(function, "out", None, "Tensor", out)
    if dtype is not out.dtype:
        raise RuntimeError(f"dtype {dtype.scalar_name} does not match dtype of out parameter ({out.dtype.scalar_name})")
    if grad_state.grad and out.requires_grad:
        raise RuntimeError(f"aten::{function}(): functions with out=... arguments don't support automatic "
                           "differentiation, but one of the arguments requires grad.")


def check_out_place(out: Any, layout: Any, device: Any) -> None:
    """Of a factory: whether `out=` lies where it is asked for."""
    if not isinstance(out, Tensor):
        return
    if layout is not None and layout is not layouts.strided:
        name = str(layout).removeprefix("torch.sparse_").capitalize() if layout is not layouts.sparse_coo else "Sparse"
        raise RuntimeError(f"layout {name} does not match layout of out parameter (Strided)")
    if device is not None and (kind := devices.device(device).type) != out.device.type:
        raise RuntimeError(f"device type {kind} does not match device type of out parameter ({out.device.type})")


def deliver(function: str, array: np.ndarray, out: Any, requires_grad: bool) -> Tensor:
    """The end of a factory: a new tensor, or `out` resized and overwritten."""
    if out is None:
        return fresh(array, requires_grad, function=function)
    check_out(function, out, dtypes.FROM_NUMPY[array.dtype])
    if out._array.shape == array.shape:
        out._array[...] = array
    else:
        out._array = array
    bump(out)
    if requires_grad:
        set_requires_grad(out, True)
    return out


def warn_once(message: str) -> None:
    """For what torch says only the first time in a program."""
    if message not in _warned or Repeats.always:
        _warned.add(message)
        warn(message)
