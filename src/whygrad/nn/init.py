"""Initialisation of parameters, in place and unrecorded. The same seed gives torch's numbers."""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import whygrad as torch
from whygrad.autograd.grad_mode import no_grad
from whygrad.base.errors import warn
from whygrad.base.unsupported import absent_from
from whygrad.core.write import bump

__getattr__ = absent_from("torch.nn.init")

LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid")


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The recommended gain for a nonlinearity; `param` is leaky_relu's negative slope."""
    if nonlinearity in LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope ** 2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _no_grad_uniform_(tensor: Any, a: float, b: float, generator: Any = None) -> Any:
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def _no_grad_normal_(tensor: Any, mean: float, std: float, generator: Any = None) -> Any:
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def _overridable(fill: Callable[..., Any]) -> Callable[..., Any]:
    """One of the four functions here that modes and classes of the user's may override: torch passes them names only."""
    parameters = inspect.signature(fill)

    @functools.wraps(fill)
    def filled(*args: Any, **kwargs: Any) -> Any:
        tensor = args[0] if args else kwargs.get("tensor")
        # Before overrides is loaded there are no modes.
        if (not isinstance(tensor, torch.Tensor) or "whygrad.overrides" in sys.modules) and (
                torch.overrides.has_torch_function((tensor,))):
            given = parameters.bind(*args, **kwargs)
            given.apply_defaults()
            return torch.overrides.handle_torch_function(filled, (tensor,), **given.arguments)
        return fill(*args, **kwargs)

    return filled


@_overridable
def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Fill with numbers from U(a, b)."""
    return _no_grad_uniform_(tensor, a, b, generator)


@_overridable
def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Fill with numbers from N(mean, std²)."""
    return _no_grad_normal_(tensor, mean, std, generator)


@_overridable
def constant_(tensor: Any, val: float) -> Any:
    """Fill with one value."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Any) -> Any:
    with no_grad():
        return tensor.fill_(1.0)


def zeros_(tensor: Any) -> Any:
    with no_grad():
        return tensor.zero_()


def eye_(tensor: Any) -> Any:
    """The identity, as far as the shape allows."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    tensor._array[...] = np.eye(*tensor.shape)
    bump(tensor)
    return tensor


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """A convolution kernel that passes on as many channels as it can."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    channels = tensor.shape[0]
    if channels % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = channels // groups
    passed_on = np.arange(min(per_group, tensor.shape[1]))
    centre = tuple([n // 2 for n in tensor.shape[2:]])
    tensor._array[...] = 0
    for group in range(groups):
        tensor._array[(group * per_group + passed_on, passed_on, *centre)] = 1
    bump(tensor)
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Any) -> tuple[int, int]:
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    receptive_field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * receptive_field, tensor.shape[0] * receptive_field


def _calculate_correct_fan(tensor: Any, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def _xavier_std(tensor: Any, gain: float) -> float:
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return gain * math.sqrt(2.0 / float(fan_in + fan_out))


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Glorot's: U(-a, a) with a = gain·√(6 / (fan_in + fan_out))."""
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return _no_grad_uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Glorot's: N(0, std²) with std = gain·√(2 / (fan_in + fan_out))."""
    return _no_grad_normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _kaiming_std(tensor: Any, a: float, mode: str, nonlinearity: str) -> float | None:
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@_overridable
def kaiming_uniform_(tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     generator: Any = None) -> Any:
    """He's: U(-bound, bound) with bound = gain·√(3 / fan)."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return _no_grad_uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                    generator: Any = None) -> Any:
    """He's: N(0, std²) with std = gain / √fan."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else _no_grad_normal_(tensor, 0, std, generator)


def trunc_normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
                  generator: Any = None) -> Any:
    """N(mean, std²) truncated to [a, b]: samples outside are redrawn."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
             "incorrect.")
    with no_grad():
        if _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std) > 0.3:
            _redraw_outside(tensor, mean, std, a, b, generator)
        else:
            _reject_uniform(tensor, mean, std, a, b, generator)
    return tensor


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _redraw_outside(tensor: Any, mean: float, std: float, a: float, b: float, generator: Any) -> None:
    low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
    result = tensor.normal_(mean, std, generator=generator)
    while True:
        outside = (result < low) | (result > high)
        if not outside.any():
            break
        result = torch.where(outside, _empty_like(result).normal_(mean, std, generator=generator), result)
    if result is not tensor:
        tensor.copy_(result)


def _reject_uniform(tensor: Any, mean: float, std: float, a: float, b: float, generator: Any) -> None:
    """For a small mass in [a, b]: rejection sampling of uniform candidates, by the density there."""
    log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    candidates, heights = _empty_like(tensor), _empty_like(tensor)
    result, pending = tensor, None
    while pending is None or pending.any():
        where = torch.where
        if pending is None:
            tensor.uniform_(a, b, generator=generator)
            candidates.copy_(tensor)
        else:
            candidates.uniform_(a, b, generator=generator)
            result = where(pending, candidates, result)
        candidates.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(log_peak)
        rejected = heights.uniform_(generator=generator).log_().gt(candidates)
        pending = rejected if pending is None else where(pending, rejected, pending)
    if result is not tensor:
        tensor.copy_(result)


def _empty_like(tensor: Any) -> Any:
    return torch.empty_like(tensor)


def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """A (semi-)orthogonal matrix, from the QR decomposition of a normal one."""
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor._array.size == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor._array.size // rows
    drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)._array
    q, r = np.linalg.qr(drawn.T if rows < columns else drawn)
    q = q * np.sign(np.diag(r))  # makes the decomposition, and so the distribution, unique
    tensor._array[...] = (q.T if rows < columns else q).reshape(tensor.shape) * gain
    bump(tensor)
    return tensor


def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """N(0, std²) with a fraction `sparsity` of each column set to zero."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    _no_grad_normal_(tensor, 0, std, generator)
    for column in range(columns):
        tensor._array[torch.randperm(rows)._array[:zeros], column] = 0
    return tensor


def _deprecated(function: Callable[..., Any]) -> Callable[..., Any]:
    """The deprecated name without the underscore."""
    new = function.__name__
    old = new[:-1]

    @functools.wraps(function)
    def warning(*args: Any, **kwargs: Any) -> Any:
        warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning)
        return function(*args, **kwargs)

    warning.__name__ = warning.__qualname__ = old
    return warning


for _function in (uniform_, normal_, constant_, eye_, dirac_, xavier_uniform_, xavier_normal_, kaiming_uniform_,
                  kaiming_normal_, orthogonal_, sparse_):
    globals()[_function.__name__[:-1]] = _deprecated(_function)
