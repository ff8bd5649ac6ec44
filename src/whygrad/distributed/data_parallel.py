"""DistributedDataParallel: one copy of a model in each rank, whose gradients are averaged in every backward."""

from __future__ import annotations

import contextlib
import itertools
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from whygrad.base.on_demand import on_demand
from whygrad.base.pytree import tree_leaves
from whygrad.core.modes import grad_state
from whygrad.core.tensor import Tensor, wrap
from whygrad.distributed import collectives, objects
from whygrad.distributed.algorithms.ddp_comm_hooks import BUILTIN_HOOKS
from whygrad.distributed.algorithms.join import Join, Joinable, JoinHook
from whygrad.distributed.errors import NOT_INITIALIZED
from whygrad.distributed.groups import the_group
from whygrad.distributed.reduce_op import RedOpType
from whygrad.distributed.reducer import Reducer
from whygrad.nn.lazy import Uninitialized
from whygrad.nn.module import Module

__all__ = ["DistributedDataParallel"]

BROADCAST_BYTES = 1 << 22  # parameters and buffers are broadcast together up to this size


class _Flags(NamedTuple):
    """What the ranks tell each other in a step within `join`: the largest of each of these numbers holds for all."""

    reduces: int  # gradients are averaged
    has_buffers: int  # buffers are broadcast
    rebuilds: int  # buckets are made anew
    rank: int  # of those that do the step, plus 1


class _JoinHook(JoinHook):
    def __init__(self, model: DistributedDataParallel, divide_by_initial_world_size: bool) -> None:
        self.model, self.divides_by_all = model, divide_by_initial_world_size

    def main_hook(self) -> None:
        model = self.model
        flags = model._flags_of_all(_Flags(0, 0, 0, 0))
        if flags.has_buffers:
            model._broadcast(model._buffers_to_sync(), flags.rank - 1)
        if flags.reduces:
            model.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        """All get the model of a rank that has done all steps."""
        model = self.model
        source = model._flags_of_all(_Flags(0, 0, 0, model.process_group.rank() + 1 if is_last_joiner else 0)).rank - 1
        model._broadcast(list(model.module.parameters()), source)
        model._broadcast(model._buffers_to_sync(), source)


class DistributedDataParallel(Module, Joinable):
    """Wraps `module`, whose parameters are made equal to those of rank 0; calls it, and averages gradients over the ranks."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0,
                 broadcast_buffers: bool | None = None, init_sync: bool = True, process_group: Any = None,
                 bucket_cap_mb: float | None = None, find_unused_parameters: bool = False, check_reduction: bool = False,
                 gradient_as_bucket_view: bool = False, static_graph: bool = False, **unsupported: Any) -> None:
        super().__init__()
        for name, value in unsupported.items():
            if value:
                raise NotImplementedError(f"DistributedDataParallel({name}=...)")
        group = the_group(process_group)
        if group is None:
            raise RuntimeError(NOT_INITIALIZED)
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = [(name, p) for name, p in module.named_parameters() if name not in ignored]
        if any(isinstance(p, Uninitialized) for _, p in named):
            raise RuntimeError("Modules with uninitialized parameters can't be used with `DistributedDataParallel`. Run a dummy "
                               "forward pass to correctly initialize the modules")
        trained = [(name, p) for name, p in named if p.requires_grad]
        if not trained:
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                               "gradient.")
        if device_ids or output_device is not None:
            raise ValueError("DistributedDataParallel device_ids and output_device arguments only work with single-device/"
                             f"multiple-device GPU modules or CPU modules, but got device_ids {device_ids}, output_device "
                             f"{output_device}, and module parameters {{device(type='cpu')}}.")
        self.module = module
        self.process_group = group
        self.device_ids: Any = None
        self.output_device: Any = None
        self.dim = dim
        self.broadcast_buffers = True if broadcast_buffers is None else broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        self.device, self.device_type = trained[0][1].device, "cpu"
        self.is_multi_device_module = False
        self.parameters_to_ignore = ignored
        self._names = [name for name, _ in trained]
        self._ignored_buffers = ignored
        self._check_same_model([p for _, p in trained])
        if init_sync:
            self._broadcast([p for _, p in named])
            self._broadcast(self._buffers_to_sync())
        self.bucket_bytes_cap = int((25.0 if bucket_cap_mb is None else bucket_cap_mb) * (1 << 20))
        self.reducer = Reducer([p for _, p in trained], group, self.bucket_bytes_cap, as_view=gradient_as_bucket_view,
                               is_static=static_graph)

    def _check_same_model(self, parameters: list[Any]) -> None:
        """All ranks must have parameters of the same shapes, strides and dtypes."""
        group = self.process_group
        own = [(tuple(p.shape), p.stride(), str(p.dtype)) for p in parameters]
        everywhere: list[Any] = [None] * group.size()
        objects.all_gather_object(everywhere, own, group)
        for other, described in enumerate(everywhere):
            if len(described) != len(own):
                raise RuntimeError(f"DDP expects same model across all ranks, but Rank {group.rank()} has {len(own)} params, "
                                   f"while rank {other} has inconsistent {len(described)} params.")
            for i, (mine, theirs) in enumerate(zip(own, described, strict=True)):
                for what, a, b in zip(("sizes", "strides", "dtype"), mine, theirs, strict=True):
                    if a != b:
                        raise RuntimeError(f"[{group.rank()}]: params[{i}] in this process with sizes {list(mine[0])} appears "
                                           f"not to match {what} of the same param in process {other}.")

    def _buffers_to_sync(self) -> list[Any]:
        return [b for name, b in self.module.named_buffers() if name not in self._ignored_buffers]

    def _broadcast(self, tensors: list[Any], source: int = 0) -> None:
        """Give all ranks the values that one rank has for these tensors, many in one message."""
        for _, same in itertools.groupby(tensors, lambda t: t._array.dtype):
            waiting = list(same)
            while waiting:
                size = 0
                part: list[np.ndarray] = []
                while waiting and (not part or size + waiting[0]._array.nbytes <= BROADCAST_BYTES):
                    size += waiting[0]._array.nbytes
                    part.append(waiting.pop(0)._array)
                flat = np.concatenate([array.reshape(-1) for array in part])
                collectives.broadcast(wrap(flat), group=self.process_group, group_src=source)
                begin = 0
                for array in part:
                    array[...] = flat[begin:begin + array.size].reshape(array.shape)
                    begin += array.size

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        is_synchronized = grad_state.grad and self.require_backward_grad_sync
        if is_synchronized:
            self._refuse_unfinished()
        buffers_come_from = 0
        has_buffers = self.broadcast_buffers and self.require_backward_grad_sync and self.training
        if self.join_context is not None:
            buffers_come_from = self._tell_who_has_joined(self.join_context, _Flags(
                is_synchronized, has_buffers, self.reducer.knows_order(), self.process_group.rank() + 1))
        if has_buffers:
            self._broadcast(self._buffers_to_sync(), buffers_come_from)
        output = self.module(*inputs, **kwargs)
        if is_synchronized:
            searches = self.find_unused_parameters and not self.static_graph
            tensors = [leaf for leaf in tree_leaves(output) if isinstance(leaf, Tensor)] if searches else None
            self.reducer.prepare(tensors)
        return output

    def _refuse_unfinished(self) -> None:
        missing = self.reducer.unfinished()
        if not missing:
            return
        rank = self.process_group.rank()
        error = RuntimeError(
            "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that "
            "your module has parameters that were not used in producing loss. You can enable unused parameter detection by "
            "passing the keyword argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by \n"
            "making sure all `forward` function outputs participate in calculating loss. \n"
            f"Parameter indices which did not receive grad for rank {rank}: {' '.join(map(str, missing))}")
        for number in missing:
            p = self.reducer.parameters[number]
            said = on_demand.explain(p).text if p._grad is None else "the one it has is older."  # that backward was interrupted
            error.add_note(f"`{self._names[number]}` got no gradient in rank {rank}: {said}")
        raise error

    # Ranks with fewer batches.

    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True,
             throw_on_early_termination: bool = False) -> Join:
        """In this context a rank that has no more batches answers the collectives of those that still train.

        Gradients are divided by the number of all ranks, or else by that of the ranks that still train.
        """
        return Join([self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        return _JoinHook(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        return self.device

    @property
    def join_process_group(self) -> Any:
        return self.process_group

    def _tell_who_has_joined(self, context: Join, flags: _Flags) -> int:
        """A step begins. The rank from which buffers come: one that has not joined."""
        active = Join.notify_join_context(self)
        hook = next(hook for hook in context.hooks if isinstance(hook, _JoinHook) and hook.model is self)
        self.reducer.divisor = self.process_group.size() if hook.divides_by_all or active is None else active
        return self._flags_of_all(flags).rank - 1

    def _flags_of_all(self, own: _Flags) -> _Flags:
        """What all ranks say together; if they say so, buckets are made anew."""
        largest = np.array(own, np.int64)
        collectives.all_reduce(wrap(largest), RedOpType.MAX, self.process_group)
        flags = _Flags(*largest.tolist())
        if flags.rebuilds:
            self.reducer.rebuild(flags.rank - 1)
        return flags

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """In this context gradients accumulate in each rank; they are averaged in the first backward after it."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        """Let `hook(state, bucket)` reduce the gradients; it gives a future of the flat result."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.reducer.hook = lambda bucket: hook(state, bucket)

    def _register_builtin_comm_hook(self, comm_hook_type: Any) -> None:
        self.register_comm_hook(self.process_group, BUILTIN_HOOKS[comm_hook_type.name])

    def _set_static_graph(self) -> None:
        if self.static_graph:
            warnings.warn("You've set static_graph to be True, no need to set it again.", stacklevel=2)
        self.static_graph = self.reducer.is_static = True

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, params_and_buffers_to_ignore: Any) -> None:
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        return {"world_size": self.process_group.size(), "rank": self.process_group.rank(),
                "module_name": type(self.module).__name__,
                "backend_name": self.process_group.name(), "find_unused_parameters": int(self.find_unused_parameters),
                "gradient_as_bucket_view": int(self.gradient_as_bucket_view), "static_graph": int(self.static_graph),
                "bucket_sizes": ", ".join(str(sum(p._array.nbytes for p in b.parameters)) for b in self.reducer.buckets),
                "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "N/A")}

    def __getstate__(self) -> Any:
        raise RuntimeError("a DistributedDataParallel belongs to its process group: save its `module`, or its state_dict()")
