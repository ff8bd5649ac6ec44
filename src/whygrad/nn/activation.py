"""Activation modules: each keeps the arguments of the function of the same name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import whygrad as torch
from whygrad.errors import user_stacklevel
from whygrad.nn import functional as F
from whygrad.nn import init
from whygrad.nn.made import REQUIRED, keep, module_of
from whygrad.nn.module import Module
from whygrad.parameter import Parameter

_whygrad_internal_ = True


def _show(self: Any, names: tuple[str, ...]) -> str:
    """`name=value` of each argument; `inplace` only if it is set."""
    shown = [f"{name}={getattr(self, name)!r}" for name in names if name != "inplace"]
    if getattr(self, "inplace", False):
        shown.append("inplace=True")
    return ", ".join(shown)


def _activation(name: str, function: Callable[..., Any], extra_repr: Callable[..., str] | None = None,
                passed: tuple[str, ...] | None = None, **parameters: Any) -> Any:
    names = tuple(parameters)
    return module_of(name, __name__, function, parameters, start=keep, passed=passed,
                     extra_repr=extra_repr or (lambda self: _show(self, names)))


ReLU = _activation("ReLU", F.relu, inplace=False)
ELU = _activation("ELU", F.elu, alpha=1.0, inplace=False)
CELU = _activation("CELU", F.celu, alpha=1.0, inplace=False)
SELU = _activation("SELU", F.selu, inplace=False)
SiLU = _activation("SiLU", F.silu, inplace=False)
Mish = _activation("Mish", F.mish, inplace=False)
LeakyReLU = _activation("LeakyReLU", F.leaky_relu, negative_slope=0.01, inplace=False)
Threshold = _activation("Threshold", F.threshold, threshold=REQUIRED, value=REQUIRED, inplace=False)
RReLU = _activation("RReLU", F.rrelu, lower=1 / 8, upper=1 / 3, inplace=False,
                    passed=("lower", "upper", "training", "inplace"))
GLU = _activation("GLU", F.glu, dim=-1)
GELU = _activation("GELU", F.gelu, approximate="none")
Softplus = _activation("Softplus", F.softplus, beta=1.0, threshold=20.0)
Softmax = _activation("Softmax", F.softmax, dim=None)
Softmin = _activation("Softmin", F.softmin, dim=None)
LogSoftmax = _activation("LogSoftmax", F.log_softmax, dim=None)
Sigmoid = _activation("Sigmoid", torch.sigmoid)
Tanh = _activation("Tanh", torch.tanh)
LogSigmoid = _activation("LogSigmoid", F.logsigmoid)
Softsign = _activation("Softsign", F.softsign)
Tanhshrink = _activation("Tanhshrink", F.tanhshrink)
Hardshrink = _activation("Hardshrink", F.hardshrink, lambda self: f"{self.lambd}", lambd=0.5)
Softshrink = _activation("Softshrink", F.softshrink, lambda self: f"{self.lambd}", lambd=0.5)
Hardsigmoid = _activation("Hardsigmoid", F.hardsigmoid, lambda self: "", inplace=False)
Hardswish = _activation("Hardswish", F.hardswish, lambda self: "", inplace=False)


class Hardtanh(Module):
    """x between two bounds."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False,
                 min_value: float | None = None, max_value: float | None = None) -> None:
        super().__init__()
        for old, value in (("min", min_value), ("max", max_value)):
            if value is not None:
                warnings.warn(f"keyword argument `{old}_value` is deprecated and renamed to `{old}_val`", FutureWarning,
                              stacklevel=user_stacklevel())
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
        return F.softmax(input, -3)


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
