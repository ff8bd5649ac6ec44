"""State dicts with the names of the model's parameters, with and without DistributedDataParallel around it."""

from __future__ import annotations

from typing import Any


def _own_name(name: str) -> str:
    return name.removeprefix("module.")


def _inner(model: Any) -> Any:
    """The model in a DistributedDataParallel."""
    from whygrad.distributed.data_parallel import DistributedDataParallel

    return model.module if isinstance(model, DistributedDataParallel) else model


def get_model_state_dict(model: Any, **options: Any) -> dict[str, Any]:
    return _inner(model).state_dict()  # type: ignore[no-any-return]


def set_model_state_dict(model: Any, model_state_dict: dict[str, Any], *, options: Any = None) -> Any:
    return _inner(model).load_state_dict({_own_name(name): value for name, value in model_state_dict.items()})


def _names(model: Any) -> dict[int, str]:
    return {id(p): name for name, p in _inner(model).named_parameters()}


def get_optimizer_state_dict(model: Any, optimizers: Any, **options: Any) -> dict[str, Any]:
    """The optimizers' states by name of parameter. A state that the first step will make is made here."""
    names, state, groups = _names(model), {}, []
    for optimizer in optimizers if isinstance(optimizers, (list, tuple)) else [optimizers]:
        _begin(optimizer)
        state.update({names[id(p)]: dict(optimizer.state[p]) for group in optimizer.param_groups for p in group["params"]})
        groups += [{**group, "params": [names[id(p)] for p in group["params"]]} for group in optimizer.param_groups]
    return {"state": state, "param_groups": groups}


def _begin(optimizer: Any) -> None:
    """Let an optimizer that has no state take a step that changes nothing."""
    if optimizer.state:
        return
    parameters = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    if any(p.grad is not None for p in parameters):
        return
    rates = [group["lr"] for group in optimizer.param_groups]
    for p in parameters:
        p.grad = p.detach() * 0
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate
    optimizer.zero_grad()


def set_optimizer_state_dict(model: Any, optimizers: Any, optim_state_dict: dict[str, Any], *, options: Any = None) -> None:
    names = _names(model)
    groups = list(optim_state_dict["param_groups"])
    for optimizer in optimizers if isinstance(optimizers, (list, tuple)) else [optimizers]:
        plain = optimizer.state_dict()
        numbers = [number for group in plain["param_groups"] for number in group["params"]]
        own = [names[id(p)] for group in optimizer.param_groups for p in group["params"]]
        states = {number: optim_state_dict["state"][name] for number, name in zip(numbers, own, strict=True)
                  if optim_state_dict["state"].get(name)}
        loaded = [{**groups.pop(0), "params": group["params"]} for group in plain["param_groups"]]
        optimizer.load_state_dict({"state": states, "param_groups": loaded})


def get_state_dict(model: Any, optimizers: Any, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return get_model_state_dict(model), get_optimizer_state_dict(model, optimizers)


def set_state_dict(model: Any, optimizers: Any, *, model_state_dict: dict[str, Any], optim_state_dict: dict[str, Any],
                   options: Any = None) -> Any:
    set_optimizer_state_dict(model, optimizers, optim_state_dict)
    return set_model_state_dict(model, model_state_dict)
