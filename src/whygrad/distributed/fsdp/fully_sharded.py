"""fully_shard: each rank keeps its rows of the parameters, of their gradients and so of the optimizer's state.

Before a module's forward its parameters are gathered from all ranks, after it the rows take their place again. The graph keeps
the whole weights that the backward needs, which are not gathered a second time. When the gradients of all parameters of a module
have come, they are summed over the ranks, and each keeps its rows (reduce-scatter), while the backward goes on.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from whygrad.core import engine
from whygrad.core.modes import grad_state
from whygrad.core.tensor import wrap
from whygrad.distributed import collectives
from whygrad.distributed.device_mesh import DeviceMesh, init_device_mesh
from whygrad.distributed.groups import get_world_size
from whygrad.distributed.reduce_op import RedOpType, reduction
from whygrad.distributed.tensor.sharded import DTensor, Rows, gathered
from whygrad.functional.parameter import Parameter
from whygrad.nn.module import Module

Place = tuple[Module, str]


class _IsSharded(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Module) and "_fsdp_shards" in instance.__dict__


class FSDPModule(metaclass=_IsSharded):
    """`isinstance(module, FSDPModule)`: whether `fully_shard` was applied to it. Its functions are attributes of the module."""


class _Shards:
    """The parameters of one module that are gathered and reduced together."""

    def __init__(self, places: list[list[Place]], mesh: DeviceMesh) -> None:
        self.places = places  # of each parameter: where it is used, several times if it is shared
        self.mesh = mesh
        self.parameters = [self._split(module._parameters[name]) for (module, name), *_ in places]
        self.reshard()
        self.is_synchronized = True
        self._started: list[tuple[list[int], Any, np.ndarray]] = []  # numbers of parameters, what to wait for, the sums
        self.calls = 0  # forwards whose gradients are to come
        self.gradients: dict[int, np.ndarray] = {}
        self.arrivals = 0

    def _split(self, p: Any) -> DTensor:
        if p._array.ndim == 0:
            raise ValueError("fully_shard doesn't support scalar parameters. Change them to 1D tensors with numel equal to 1.")
        rows = Rows(p._array.shape, self.mesh)
        own = DTensor.over(rows.of(self.mesh.get_local_rank(), p._array).copy(), rows, p.requires_grad)
        own._is_param = True  # type: ignore[attr-defined]
        return own

    def _put(self, tensors: list[Any]) -> None:
        for places, tensor in zip(self.places, tensors, strict=True):
            for module, name in places:
                module._parameters[name] = tensor

    def reshard(self) -> None:
        """The rows are the module's parameters."""
        self._put(list(self.parameters))

    def unshard(self) -> None:
        """The whole tensors are, until `reshard`."""
        whole: list[Any] = list(self.parameters)
        by_dtype = sorted(range(len(whole)), key=lambda i: str(whole[i]._array.dtype))
        for _, same in itertools.groupby(by_dtype, key=lambda i: str(whole[i]._array.dtype)):
            numbers = list(same)
            for i, array in zip(numbers, gathered([self.parameters[i] for i in numbers]), strict=True):
                whole[i] = Parameter(wrap(array), self.parameters[i]._indirect)
                if grad_state.grad and whole[i]._indirect:
                    whole[i].register_post_accumulate_grad_hook(self._hook_of(i))
        self.calls += grad_state.grad
        self._put(whole)

    def _hook_of(self, number: int) -> Callable[[Any], None]:
        def is_complete(p: Any) -> None:
            gradient, p._grad = p._grad._array, None
            if self.arrivals == 0:
                engine.current().callbacks.append(self.finish)
            if number in self.gradients:
                self.gradients[number] = self.gradients[number] + gradient
            else:
                self.gradients[number] = gradient
            self.arrivals += 1
            if self.is_synchronized and self.arrivals == self.calls * sum(p._indirect for p in self.parameters):
                self._start()

        return is_complete

    def _start(self) -> None:
        """Sum the gradients that have come over the ranks."""
        gradients, self.gradients = self.gradients, {}
        group, ranks = self.mesh.get_group(), range(self.mesh.size())
        for _, same in itertools.groupby(sorted(gradients, key=lambda i: str(gradients[i].dtype)),
                                         key=lambda i: str(gradients[i].dtype)):
            numbers = list(same)
            split = [self.parameters[i]._rows for i in numbers]
            counts = [sum(rows.size(rank) for rows in split) for rank in ranks]
            sent = np.concatenate([rows.of(rank, gradients[i]).reshape(-1) for rank in ranks
                                   for i, rows in zip(numbers, split, strict=True)])
            total = np.empty(counts[group.rank()], sent.dtype)
            how = reduction(RedOpType.SUM, sent.dtype)
            start = partial(group.comm.Ireduce_scatter, how.memory(sent), how.memory(total), counts, how.operation)
            call = "reduce_scatter", how.words, sent.size
            self._started.append((numbers, collectives.begin(group, call, start, [], None, (sent, total)), total))

    def finish(self) -> None:
        """The backward is over: the averages become the gradients of the rows."""
        self.arrivals = 0
        if not self.is_synchronized:
            return
        self.calls = 0
        if self.gradients:
            self._start()
        started, self._started = self._started, []
        for numbers, work, total in started:
            work.wait()
            total /= total.dtype.type(self.mesh.size())
            begin = 0
            for p in [self.parameters[i] for i in numbers]:
                average = total[begin:begin + p._array.size].reshape(p._array.shape)
                begin += p._array.size
                if p._grad is None:
                    p._grad = DTensor.over(average, p._rows)
                else:
                    p._grad._array[...] += average


def _places_of(module: Module) -> list[list[Place]]:
    """The parameters of a module, but for those of modules in it that are sharded already."""
    found: dict[int, list[Place]] = {}
    waiting = [module]
    while waiting:
        inner = waiting.pop()
        for name, p in inner._parameters.items():
            if p is not None and not isinstance(p, DTensor):
                found.setdefault(id(p), []).append((inner, name))
        waiting += [child for child in inner._modules.values() if child is not None and not isinstance(child, FSDPModule)]
    return list(found.values())


def fully_shard(module: Module, *, mesh: DeviceMesh | None = None, reshard_after_forward: Any = None,
                mp_policy: Any = None, offload_policy: Any = None, ignored_params: Any = None, shard_placement_fn: Any = None,
                **options: Any) -> Module:
    """Split the parameters of `module` over the ranks of a mesh, but for those that are split already. The module is the same
    object, with the same names of parameters. `reshard_after_forward` changes nothing: see the head of this file."""
    unsupported = {"mp_policy": mp_policy, "offload_policy": offload_policy, "ignored_params": ignored_params,
                   "shard_placement_fn": shard_placement_fn, **options}
    for name, value in unsupported.items():
        if value is not None:
            raise NotImplementedError(f"fully_shard({name}=...)")
    if not isinstance(module, Module):
        raise NotImplementedError(f"fully_shard of a {type(module).__name__}: give it one module at a time")
    if isinstance(module, FSDPModule):
        raise AssertionError(f"fully_shard was applied to this {type(module).__name__} before")
    mesh = init_device_mesh("cpu", (get_world_size(),)) if mesh is None else mesh
    if mesh.ndim != 1:
        raise NotImplementedError("fully_shard on a mesh of several dimensions")
    shards = _Shards(_places_of(module), mesh)
    module.__dict__.update(_fsdp_shards=shards, unshard=shards.unshard, reshard=shards.reshard)
    module.__dict__["set_requires_gradient_sync"] = lambda requires_gradient_sync, *, recurse=True: _set_synchronized(
        module, requires_gradient_sync, recurse)
    module.register_forward_pre_hook(lambda module, args: shards.unshard(), prepend=True)
    module.register_forward_hook(lambda module, args, output: shards.reshard(), always_call=True)
    return module


def _set_synchronized(module: Module, is_synchronized: bool, recurse: bool) -> None:
    for inner in module.modules() if recurse else [module]:
        if isinstance(inner, FSDPModule):
            inner._fsdp_shards.is_synchronized = is_synchronized
