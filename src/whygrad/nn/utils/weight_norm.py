"""Weight normalisation by a forward pre-hook; `parametrizations.weight_norm` supersedes it."""

from __future__ import annotations

from typing import Any

from whygrad.base.errors import warn
from whygrad.core.record import apply
from whygrad.functional.parameter import Parameter
from whygrad.nn.lazy import UninitializedParameter
from whygrad.nn.module import Module
from whygrad.ops.table import TABLE


def norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Any:
    """The norm over all dims but `dim`, which is kept; over all dims if `dim` is -1."""
    if dim == -1:
        return v.norm(pow)
    last = v.dim() - 1
    if dim == 0:
        return v.contiguous().view(v.size(0), -1).norm(pow, 1).view(v.size(0), *[1] * last)
    if dim == last:
        return v.contiguous().view(-1, v.size(last)).norm(pow, 0).view(*[1] * last, v.size(last))
    return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)


def _weight_norm(v: Any, g: Any, dim: int = 0) -> Any:
    """`v` rescaled to the norms `g` along `dim`."""
    if dim in (0, v.dim() - 1):
        return apply(TABLE["weight_norm_interface"], v, g, axis=dim)
    return v * (g / norm_except_dim(v, 2, dim))


class WeightNorm:
    """The hook: computes the weight before each forward."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        return _weight_norm(getattr(module, f"{self.name}_v"), getattr(module, f"{self.name}_g"), self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        warn("`torch.nn.utils.weight_norm` is deprecated in favor of "
             "`torch.nn.utils.parametrizations.weight_norm`.", FutureWarning)
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError("The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the "
                             "dummy forward before applying weight normalization")
        del module._parameters[name]
        module.register_parameter(f"{name}_g", Parameter(norm_except_dim(weight, 2, hook.dim).data))
        module.register_parameter(f"{name}_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"]
        del module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Split a parameter into lengths (`name_g`) and directions (`name_v`)."""
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Make the weight a parameter again."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
