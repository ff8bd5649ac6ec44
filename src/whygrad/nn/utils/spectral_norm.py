"""Spectral normalisation by a forward pre-hook; `parametrizations.spectral_norm` supersedes it."""

from __future__ import annotations

from typing import Any

import whygrad as torch
from whygrad.autograd.grad_mode import no_grad
from whygrad.functional.parameter import Parameter
from whygrad.nn import functional as F
from whygrad.nn.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from whygrad.nn.lazy import UninitializedParameter
from whygrad.nn.module import Module


def default_dim(module: Module) -> int:
    """The output dim of a weight."""
    return 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0


def as_matrix(weight: Any, dim: int) -> Any:
    """`weight` with `dim` first and all others flattened."""
    if dim != 0:
        weight = weight.permute(dim, *[d for d in range(weight.dim()) if d != dim])
    return weight.reshape(weight.size(0), -1)


class SpectralNorm:
    """The hook: divides the weight by its largest singular value, estimated by power iteration."""

    _version: int = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Any) -> Any:
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Any:
        weight, u, v = [getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v")]
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    F.normalize(torch.mv(matrix.t(), u), dim=0, eps=self.eps, out=v)
                    F.normalize(torch.mv(matrix, v), dim=0, eps=self.eps, out=u)
                # Copies, because the next forward overwrites the buffers and backward needs the current values.
                u, v = u.clone(), v.clone()
        return weight / torch.dot(u, torch.mv(matrix, v))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight: Any = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError("The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run "
                             "the dummy forward before applying spectral normalization")
        with no_grad():
            sizes = hook.reshape_weight_to_matrix(weight).size()
            u, v = [F.normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps) for n in sizes]
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        # A plain attribute, not a parameter, because other hooks may read it before the first forward.
        setattr(module, name, weight.data)
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook

    def remove(self, module: Module) -> None:
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for name in (self.name, f"{self.name}_u", f"{self.name}_v", f"{self.name}_orig"):
            delattr(module, name)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


class SpectralNormLoadStateDictPreHook:
    """Rejects checkpoints from before torch 1.0, which lack `v`."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], strict: bool,
                 missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str]) -> None:
        key = prefix + self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(f"{self.fn.name}.version")
        if version is not None or (all(f"{key}{part}" in state_dict for part in ("_orig", "_u", "_v"))
                                   and key not in state_dict):
            return
        missing = [f"{key}{part}" for part in ("_orig", "", "_u") if f"{key}{part}" not in state_dict]
        if not missing:
            raise NotImplementedError("spectral_norm: a state_dict from before torch 1.0 cannot be loaded")
        if strict:
            missing_keys.extend(missing)


class SpectralNormStateDictHook:
    """Writes the version of the format into the metadata."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Module, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any]) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = f"{self.fn.name}.version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Any:
    """Divide a parameter by its largest singular value before each forward."""
    SpectralNorm.apply(module, name, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Make the weight a plain parameter again."""
    hooks = module._forward_pre_hooks
    for key, hook in hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del hooks[key]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for registry in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        for key, hook in list(registry.items()):
            if isinstance(hook, (SpectralNormStateDictHook, SpectralNormLoadStateDictPreHook)) and hook.fn.name == name:
                del registry[key]
    return module
