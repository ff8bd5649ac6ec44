"""Clipping gradients, in place."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

import numpy as np

import whygrad as torch
from whygrad.autograd.grad_mode import no_grad
from whygrad.backends import raw
from whygrad.backends.fp_warnings import quiet
from whygrad.base import acceleration
from whygrad.base.errors import warn
from whygrad.core.tensor import Tensor, wrap
from whygrad.core.write import bump
from whygrad.functional.outside_rows import outside_rows
from whygrad.functional.run import public

Tensors = Tensor | Iterable[Tensor]

# Below this number of elements the call costs more than the arithmetic.
SMALL = 8192


mul_into: Any = quiet(np.multiply)  # (a, b, out)
acceleration.bind_ufunc_write(globals(), "mul_into", "mul", mul_into)


def _norm(array: np.ndarray, norm_type: float) -> Any:
    if norm_type == 2 and array.size < SMALL and array.dtype == np.float32 and array.flags.c_contiguous:
        flat = array.reshape(-1)
        return np.sqrt(flat.dot(flat))
    return raw.vector_norm(array, ord=norm_type)


def _listed(tensors: Tensors) -> list[Any]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _grads(parameters: list[Any]) -> list[Any]:
    return [p.grad for p in parameters if p.grad is not None]


@no_grad()
def get_total_norm(tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Tensor:
    """The norm of the concatenation of all tensors."""
    listed = _listed(tensors)
    norm_type = float(norm_type)
    if not listed:
        found: Tensor = torch.tensor(0.0)
        return found
    split = [t for t in listed if hasattr(type(t), "_norm_of_all_ranks")]  # tensors of which each rank has a part
    whole = [t._array for t in listed if not hasattr(type(t), "_norm_of_all_ranks")]
    if split:
        local = _total_norm(norm_type, *[t._array for t in split])
        whole.append(split[0]._norm_of_all_ranks(local, norm_type))
    total = _total_norm(norm_type, *whole)
    if error_if_nonfinite and not np.isfinite(total):
        raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it "
                           "cannot be clipped. To disable this error and scale the gradients by the non-finite norm "
                           "anyway, set `error_if_nonfinite=False`")
    return wrap(total)


@outside_rows
def _total_norm(norm_type: float, *arrays: np.ndarray) -> np.ndarray:
    return np.asarray(raw.vector_norm(np.asarray([_norm(x, norm_type) for x in arrays]), ord=norm_type))


@no_grad()
def clip_grads_with_norm_(parameters: Tensors, max_norm: float, total_norm: Any, foreach: bool | None = None) -> None:
    """Scale the gradients so that a total norm above `max_norm` becomes `max_norm`."""
    grads = _grads(_listed(parameters))
    if not grads:
        return
    _scale(float(max_norm), total_norm._array, *[grad._array for grad in grads])
    for grad in grads:
        bump(grad)


@outside_rows
def _scale(max_norm: float, total_norm: np.ndarray, *grads: np.ndarray) -> None:
    factor = np.asarray(np.minimum(max_norm / (total_norm + 1e-6), 1.0))
    for array in grads:
        mul_into(array, factor if factor.dtype == array.dtype else factor.astype(array.dtype), array)


@public(space="torch.nn.utils")
@no_grad()
def clip_grad_norm_(parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                    foreach: bool | None = None) -> Tensor:
    """Clip the total norm of all gradients; returns the norm before clipping."""
    listed = _listed(parameters)
    if isinstance(parameters, types.GeneratorType) and not listed:
        warn("`parameters` is an empty generator, no gradient clipping will "
             "occur.")
    total_norm = get_total_norm(_grads(listed), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total_norm, foreach)
    return total_norm


def clip_grad_norm(parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Tensor:
    """The old name of `clip_grad_norm_`."""
    warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.", FutureWarning)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@public(space="torch.nn.utils")
@no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clip every element of every gradient to [-clip_value, clip_value]."""
    clip_value = float(clip_value)
    for grad in _grads(_listed(parameters)):
        grad.clamp_min_(-clip_value).clamp_max_(clip_value)
