"""Modules as functions: calls with other parameters and buffers, or with the stacked ones of many modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.functional.run import FUNCTIONS
from whygrad.nn.utils.stateless import _functional_call


def functional_call(module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: dict[str, Any] | None = None, *,
                    tie_weights: bool = True, strict: bool = False) -> Any:
    """`module(*args, **kwargs)` with parameters and buffers replaced by those in a dict, or in several dicts, by name."""
    if isinstance(parameter_and_buffer_dicts, dict):
        given = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        if not all(isinstance(part, dict) for part in parameter_and_buffer_dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        names = [name for part in parameter_and_buffer_dicts for name in part]
        repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given = {name: tensor for part in parameter_and_buffer_dicts for name, tensor in part.items()}
    else:
        raise ValueError("Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
                         f"{type(parameter_and_buffer_dicts)}")
    return _functional_call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The stacked parameters of several modules of one class, and their stacked buffers."""
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({bool(model.training) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    found = []
    for name in ("named_parameters", "named_buffers"):
        states = [dict(getattr(model, name)()) for model in models]
        found.append({key: _stacked([state[key] for state in states], key) for key in states[0]})
    return found[0], found[1]


def _stacked(tensors: list[Tensor], name: str) -> Tensor:
    tracked = {t.requires_grad for t in tensors}
    if len(tracked) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    result: Tensor = FUNCTIONS["stack"](tensors)
    return result.detach().requires_grad_() if tracked == {True} else result  # type: ignore[attr-defined,no-any-return]


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Remove the running statistics of all batch norms in `root`: vmap cannot write to them."""
    for module in root.modules():
        if getattr(module, "is_batch_norm", False) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
