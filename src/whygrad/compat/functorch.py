"""The package functorch: torch.func under its old names, which warn, and modules as functions of their parameters."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from whygrad import func
from whygrad.base.errors import warn
from whygrad.compat.version import __version__ as __version__
from whygrad.core.tensor import Tensor
from whygrad.functional.run import FUNCTIONS
from whygrad.nn.module import Module


def _deprecated(function: Callable[..., Any], replacement: str) -> Callable[..., Any]:
    """The function, which warns that `replacement` is to be used in its place."""
    @functools.wraps(function)
    def warning(*args: Any, **kwargs: Any) -> Any:
        warn("We've integrated functorch into PyTorch. As the final step of the integration, "
             f"`functorch.{function.__name__}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of "
             f"PyTorch >= 2.3. Please use `{replacement}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` "
             "migration guide for more details https://pytorch.org/docs/main/func.migrating.html", FutureWarning)
        return function(*args, **kwargs)

    return warning


class FunctionalModule(Module):
    """A module as a function: called with its parameters first."""

    def __init__(self, model: Module, names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model = copy.deepcopy(model)
        self.names = tuple(names)

    def forward(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        return func.functional_call(self.stateless_model, dict(zip(self.names, params, strict=True)), args, kwargs)


class FunctionalModuleWithBuffers(FunctionalModule):
    """The same, called with the parameters, then the buffers."""

    def forward(self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        return super().forward((*params, *buffers), *args, **kwargs)


def _values(tensors: Mapping[str, Any], disable_autograd_tracking: bool) -> tuple[Tensor, ...]:
    return tuple(t.detach() if disable_autograd_tracking else t for t in tensors.values())


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    if any(True for _ in model.buffers()):
        raise RuntimeError("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.")
    params = dict(copy.deepcopy(model).named_parameters())
    return FunctionalModule(model, [*params]), _values(params, disable_autograd_tracking)


def make_functional_with_buffers(model: Module, disable_autograd_tracking: bool = False) -> tuple[Any, ...]:
    copied = copy.deepcopy(model)
    params, buffers = dict(copied.named_parameters()), dict(copied.named_buffers())
    return (FunctionalModuleWithBuffers(model, [*params, *buffers]), _values(params, disable_autograd_tracking),
            tuple(buffers.values()))


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[Any, ...]:
    """The models' parameters and buffers, stacked; and the first model as a function of them."""
    if len(models) == 0:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    functions, params, buffers = zip(*[make_functional_with_buffers(m) for m in models], strict=True)

    def stacked(states: Sequence[Sequence[Tensor]]) -> tuple[Tensor, ...]:
        return tuple(FUNCTIONS["stack"](each).detach() for each in zip(*states, strict=True))

    return functions[0], stacked(params), stacked(buffers)


vmap = _deprecated(func.vmap, "torch.vmap")
grad, grad_and_value, vjp, jvp, jacrev, jacfwd, hessian, functionalize = (
    _deprecated(function, f"torch.func.{function.__name__}") for function in (
        func.grad, func.grad_and_value, func.vjp, func.jvp, func.jacrev, func.jacfwd, func.hessian, func.functionalize))
make_functional = _deprecated(make_functional, "torch.func.functional_call")
make_functional_with_buffers = _deprecated(make_functional_with_buffers, "torch.func.functional_call")
combine_state_for_ensemble = _deprecated(combine_state_for_ensemble, "torch.func.stack_module_state")
