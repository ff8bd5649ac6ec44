"""functorch's older way of calling modules as functions, whose parameters and buffers are tuples."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.func.modules import functional_call, stack_module_state
from whygrad.nn.module import Module


class FunctionalModuleWithBuffers(Module):
    """The function that `make_functional_with_buffers` returns: `f(params, buffers, *args, **kwargs)`."""

    def __init__(self, stateless_model: Module, param_names: tuple[str, ...], buffer_names: tuple[str, ...]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = param_names
        self.buffer_names = buffer_names

    def forward(self, params: Iterable[Tensor], buffers: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        state = dict(zip((*self.param_names, *self.buffer_names), (*params, *buffers), strict=False))
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(Module):
    """The function that `make_functional` returns: `f(params, *args, **kwargs)`."""

    def __init__(self, stateless_model: Module, param_names: tuple[str, ...]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = param_names

    def forward(self, params: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        return functional_call(self.stateless_model, dict(zip(self.param_names, params, strict=False)), args, kwargs)


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """A function of the parameters, and copies of the model's parameters."""
    if any(True for _ in model.buffers()):
        raise RuntimeError("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.")
    whole, params, _ = make_functional_with_buffers(model, disable_autograd_tracking)
    return FunctionalModule(whole.stateless_model, whole.param_names), params


def make_functional_with_buffers(model: Module, disable_autograd_tracking: bool = False) -> tuple[
        FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A function of the parameters and buffers, and copies of the model's."""
    model = copy.deepcopy(model)
    params, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    if disable_autograd_tracking:
        model.requires_grad_(False)
    return (FunctionalModuleWithBuffers(model, tuple(params), tuple(buffers)), tuple(params.values()), tuple(buffers.values()))


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[
        FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A function of one of the models, and the stacked parameters and buffers of all of them, to be mapped over by vmap."""
    try:
        params, buffers = stack_module_state(models)
    except RuntimeError as error:
        raise RuntimeError(str(error).replace("stack_module_state", "combine_state_for_ensemble")) from None
    function, _, _ = make_functional_with_buffers(models[0])
    return function, _detached(params), _detached(buffers)


def _detached(state: dict[str, Any]) -> tuple[Tensor, ...]:
    return tuple([tensor.detach() for tensor in state.values()])
