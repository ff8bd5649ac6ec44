"""State dicts with the names of the model's parameters, with and without DistributedDataParallel around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from whygrad.base.pytree import tree_map
from whygrad.core.tensor import Tensor
from whygrad.distributed.groups import get_rank, is_initialized
from whygrad.distributed.objects import broadcast_object_list
from whygrad.distributed.tensor.sharded import DTensor, own_rows


def _own_name(name: str) -> str:
    return name.removeprefix("module.")


def _inner(model: Any) -> Any:
    """The model in a DistributedDataParallel."""
    from whygrad.distributed.data_parallel import DistributedDataParallel

    return model.module if isinstance(model, DistributedDataParallel) else model


@dataclass
class StateDictOptions:
    """`full_state_dict`: whole tensors instead of those that `fully_shard` has split, with `cpu_offload` in rank 0 only;
    `broadcast_from_rank0`: what is loaded is what rank 0 gives."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"

    def __post_init__(self) -> None:
        for name in ("ignore_frozen_params", "flatten_optimizer_state_dict"):
            if getattr(self, name):
                raise NotImplementedError(f"StateDictOptions({name}=True)")


def _as_wanted(states: Any, options: StateDictOptions | None) -> Any:
    """State dicts with whole tensors, if they are wanted."""
    if options is None or not options.full_state_dict:
        return states

    whole = tree_map(lambda value: value.full_tensor() if isinstance(value, DTensor) else value, states)
    return {} if options.cpu_offload and is_initialized() and get_rank() else whole


def _given(states: Any, options: StateDictOptions | None) -> Any:
    """What is to be loaded in this rank."""
    if options is None or not options.broadcast_from_rank0:
        return states
    common = [states]
    broadcast_object_list(common, 0)
    return common[0]


def get_model_state_dict(model: Any, *, submodules: Any = None, options: StateDictOptions | None = None) -> dict[str, Any]:
    if submodules is not None:
        raise NotImplementedError("get_model_state_dict(submodules=...)")
    return _as_wanted(dict(_inner(model).state_dict()), options)  # type: ignore[no-any-return]


def set_model_state_dict(model: Any, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None) -> Any:
    states = {_own_name(name): value for name, value in _given(model_state_dict, options).items()}
    return _inner(model).load_state_dict(states, strict=options is None or options.strict)


def _names(model: Any) -> dict[int, str]:
    return {id(p): name for name, p in _inner(model).named_parameters()}


def _split_as(p: Any, state: dict[str, Any]) -> dict[str, Any]:
    """The state of a parameter; what is split as it is are DTensors."""
    if not isinstance(p, DTensor):
        return dict(state)
    return {key: DTensor.over(value._array, p._rows)
            if isinstance(value, Tensor) and value._array.ndim and value._array.shape == p._array.shape else value
            for key, value in state.items()}


def _of_this_rank(p: Any, state: dict[str, Any]) -> dict[str, Any]:
    """The state as the optimizer of this rank keeps it."""
    if not isinstance(p, DTensor):
        return state
    found = {key: own_rows(value, p._rows) for key, value in state.items()}
    return {key: value.to_local() if isinstance(value, DTensor) else value for key, value in found.items()}


def get_optimizer_state_dict(model: Any, optimizers: Any, *, submodules: Any = None,
                             options: StateDictOptions | None = None) -> dict[str, Any]:
    """The optimizers' states by name of parameter. A state that the first step will make is made here."""
    names, state, groups = _names(model), {}, []
    for optimizer in optimizers if isinstance(optimizers, (list, tuple)) else [optimizers]:
        _begin(optimizer)
        own = [p for group in optimizer.param_groups for p in group["params"]]
        state.update({names[id(p)]: _split_as(p, optimizer.state[p]) for p in own})
        groups += [{**group, "params": [names[id(p)] for p in group["params"]]} for group in optimizer.param_groups]
    return _as_wanted({"state": state, "param_groups": groups}, options)  # type: ignore[no-any-return]


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


def set_optimizer_state_dict(model: Any, optimizers: Any, optim_state_dict: dict[str, Any], *,
                             options: StateDictOptions | None = None) -> None:
    names = _names(model)
    optim_state_dict = _given(optim_state_dict, options)
    groups = list(optim_state_dict["param_groups"])
    for optimizer in optimizers if isinstance(optimizers, (list, tuple)) else [optimizers]:
        plain = optimizer.state_dict()
        numbers = [number for group in plain["param_groups"] for number in group["params"]]
        own = [p for group in optimizer.param_groups for p in group["params"]]
        states = {number: _of_this_rank(p, optim_state_dict["state"][names[id(p)]])
                  for number, p in zip(numbers, own, strict=True) if optim_state_dict["state"].get(names[id(p)])}
        loaded = [{**groups.pop(0), "params": group["params"]} for group in plain["param_groups"]]
        optimizer.load_state_dict({"state": states, "param_groups": loaded})


def get_state_dict(model: Any, optimizers: Any, *, submodules: Any = None,
                   options: StateDictOptions | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    return (get_model_state_dict(model, submodules=submodules, options=options),
            get_optimizer_state_dict(model, optimizers, options=options))


def set_state_dict(model: Any, optimizers: Any, *, model_state_dict: dict[str, Any], optim_state_dict: dict[str, Any],
                   options: StateDictOptions | None = None) -> Any:
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)
