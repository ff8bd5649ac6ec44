"""Activation modules: each stores the arguments of the function of the same name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import whygrad as torch
from whygrad.base.errors import warn
from whygrad.functional.parameter import Parameter
from whygrad.nn import functional as F
from whygrad.nn import init
from whygrad.nn.from_function import REQUIRED, module_class, store
from whygrad.nn.module import Module

__all__ = ["CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid",
           "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid", "Softmax", "Softmax2d", "Softmin",
           "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold"]


def _show(self: Any, names: tuple[str, ...]) -> str:
    """`name=value` of each argument; `inplace` only if it is set."""
    shown = [f"{name}={getattr(self, name)!r}" for name in names if name != "inplace"]
    if getattr(self, "inplace", False):
        shown.append("inplace=True")
    return ", ".join(shown)


def _activation(name: str, function: Callable[..., Any], forward: Callable[..., Any],
                extra_repr: Callable[..., str] | None = None, **parameters: Any) -> Any:
    names = tuple(parameters)
    return module_class(name, __name__, function, forward, parameters, start=store,
                        extra_repr=extra_repr or (lambda self: _show(self, names)))


# The function, the call that `forward` makes of it, and the constructor's parameters.
ReLU = _activation("ReLU", F.relu, lambda self, input: F.relu(input, inplace=self.inplace), inplace=False)
ELU = _activation("ELU", F.elu, lambda self, input: F.elu(input, self.alpha, self.inplace), alpha=1.0, inplace=False)
CELU = _activation("CELU", F.celu, lambda self, input: F.celu(input, self.alpha, self.inplace), alpha=1.0, inplace=False)
SELU = _activation("SELU", F.selu, lambda self, input: F.selu(input, self.inplace), inplace=False)
SiLU = _activation("SiLU", F.silu, lambda self, input: F.silu(input, inplace=self.inplace), inplace=False)
Mish = _activation("Mish", F.mish, lambda self, input: F.mish(input, inplace=self.inplace), inplace=False)
LeakyReLU = _activation("LeakyReLU", F.leaky_relu, lambda self, input: F.leaky_relu(input, self.negative_slope, self.inplace),
                        negative_slope=0.01, inplace=False)
Threshold = _activation("Threshold", F.threshold,
                        lambda self, input: F.threshold(input, self.threshold, self.value, self.inplace),
                        threshold=REQUIRED, value=REQUIRED, inplace=False)
RReLU = _activation("RReLU", F.rrelu,
                    lambda self, input: F.rrelu(input, self.lower, self.upper, self.training, self.inplace),
                    lower=1 / 8, upper=1 / 3, inplace=False)
GLU = _activation("GLU", F.glu, lambda self, input: F.glu(input, self.dim), dim=-1)
GELU = _activation("GELU", F.gelu, lambda self, input: F.gelu(input, approximate=self.approximate), approximate="none")
Softplus = _activation("Softplus", F.softplus, lambda self, input: F.softplus(input, self.beta, self.threshold),
                       beta=1.0, threshold=20.0)
Softmax = _activation("Softmax", F.softmax, lambda self, input: F.softmax(input, self.dim, _stacklevel=5), dim=None)
Softmin = _activation("Softmin", F.softmin, lambda self, input: F.softmin(input, self.dim, _stacklevel=5), dim=None)
LogSoftmax = _activation("LogSoftmax", F.log_softmax, lambda self, input: F.log_softmax(input, self.dim, _stacklevel=5),
                         dim=None)
Sigmoid = _activation("Sigmoid", torch.sigmoid, lambda self, input: torch.sigmoid(input))  # type: ignore[misc]
Tanh = _activation("Tanh", torch.tanh, lambda self, input: torch.tanh(input))  # type: ignore[misc]
LogSigmoid = _activation("LogSigmoid", F.logsigmoid, lambda self, input: F.logsigmoid(input))
Softsign = _activation("Softsign", F.softsign, lambda self, input: F.softsign(input))
Tanhshrink = _activation("Tanhshrink", F.tanhshrink, lambda self, input: F.tanhshrink(input))
Hardshrink = _activation("Hardshrink", F.hardshrink, lambda self, input: F.hardshrink(input, self.lambd),
                         lambda self: f"{self.lambd}", lambd=0.5)
Softshrink = _activation("Softshrink", F.softshrink, lambda self, input: F.softshrink(input, self.lambd),
                         lambda self: f"{self.lambd}", lambd=0.5)
Hardsigmoid = _activation("Hardsigmoid", F.hardsigmoid, lambda self, input: F.hardsigmoid(input, self.inplace),
                          lambda self: "", inplace=False)
Hardswish = _activation("Hardswish", F.hardswish, lambda self, input: F.hardswish(input, self.inplace),
                        lambda self: "", inplace=False)


class Hardtanh(Module):
    """x between two bounds."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False,
                 min_value: float | None = None, max_value: float | None = None) -> None:
        super().__init__()
        for old, value in (("min", min_value), ("max", max_value)):
            if value is not None:
                warn(f"keyword argument `{old}_value` is deprecated and renamed to `{old}_val`", FutureWarning)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Any) -> Any:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return _show(self, ("min_val", "max_val", "inplace"))


class ReLU6(Hardtanh):
    """x between 0 and 6."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return _show(self, ("inplace",))


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Any) -> Any:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class PReLU(Module):
    """Leaky ReLU with a learned slope, or one for each channel."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(torch.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.constant_(self.weight, self.init)

    def forward(self, input: Any) -> Any:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
