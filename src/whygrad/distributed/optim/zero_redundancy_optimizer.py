"""ZeroRedundancyOptimizer: each rank keeps the state of some parameters, updates those, and broadcasts them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.distributed import collectives, objects
from whygrad.distributed.algorithms.join import Joinable, JoinHook
from whygrad.distributed.errors import NOT_INITIALIZED
from whygrad.distributed.groups import the_group
from whygrad.optim.optimizer import Optimizer


class _JoinHook(JoinHook):
    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self.optimizer = optimizer

    def main_hook(self) -> None:
        self.optimizer.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer of `optimizer_class` in each rank, for the parameters of that rank; together they are one for all."""

    def __init__(self, params: Any, optimizer_class: type[Optimizer], process_group: Any = None,
                 parameters_as_bucket_view: bool = False, overlap_with_ddp: bool = False, **defaults: Any) -> None:
        if overlap_with_ddp:
            raise NotImplementedError("ZeroRedundancyOptimizer(overlap_with_ddp=True)")
        group = the_group(process_group)
        if group is None:
            raise RuntimeError(NOT_INITIALIZED)
        self.process_group = group
        self._optimizer_class, self._optimizer_defaults = optimizer_class, defaults
        self.optim: Optimizer | None = None
        self._consolidated: dict[int, Any] | None = None
        super().__init__(params, defaults)
        self._share_out()

    def _share_out(self) -> None:
        """Give each parameter to the rank that has least so far, the largest first."""
        numbered = [p for group in self.param_groups for p in group["params"]]
        self._numbers = {id(p): i for i, p in enumerate(numbered)}
        sizes = [0] * self.process_group.size()
        self.owners = [0] * len(numbered)
        for i in sorted(range(len(numbered)), key=lambda i: numbered[i].numel(), reverse=True):
            self.owners[i] = sizes.index(min(sizes))
            sizes[self.owners[i]] += numbered[i].numel()
        self._parameters = numbered
        rank = self.process_group.rank()
        own = [{**group, "params": [p for p in group["params"] if self.owners[self._numbers[id(p)]] == rank]}
               for group in self.param_groups]
        # Groups without a parameter of this rank stay, so that they correspond to `param_groups`.
        self.optim = self._optimizer_class(own, **self._optimizer_defaults) if any(group["params"] for group in own) else None
        for outer in self.param_groups:
            for name, value in (self.optim.defaults if self.optim else {}).items():
                outer.setdefault(name, value)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        return _JoinHook(self)

    @property
    def join_device(self) -> Any:
        return self._parameters[0].device

    @property
    def join_process_group(self) -> Any:
        return self.process_group

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        if self.optim is not None:
            self._share_out()

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Update this rank's parameters, and take over those that the other ranks have updated."""
        loss = None
        if self.optim is not None:
            for inner, outer in zip(self.optim.param_groups, self.param_groups, strict=True):
                inner.update({name: value for name, value in outer.items() if name != "params"})
            loss = self.optim.step(closure, **kwargs) if closure is not None else self.optim.step(**kwargs)
        elif closure is not None:
            loss = closure()
        works = [collectives.broadcast(p.detach(), group=self.process_group, group_src=owner, async_op=True)
                 for p, owner in zip(self._parameters, self.owners, strict=True)]
        for work in works:
            work.wait()
        return loss

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Bring the states of all parameters to rank `to`, for `state_dict`."""
        own = {} if self.optim is None else {self._numbers[id(p)]: state for p, state in self.optim.state.items()}
        everywhere: list[Any] = [None] * self.process_group.size()
        objects.all_gather_object(everywhere, own, self.process_group)
        is_here = self.process_group.rank() == to
        self._consolidated = {number: state for part in everywhere for number, state in part.items()} if is_here else None

    def state_dict(self) -> dict[str, Any]:
        """The state of all parameters, as the optimizer of one process has it."""
        if self._consolidated is None:
            raise RuntimeError(f"Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to="
                               f"{self.process_group.rank()})` on all ranks beforehand if you meant to save the global state.")
        return {**super().state_dict(), "state": dict(sorted(self._consolidated.items()))}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take from the state of all parameters what this rank keeps."""
        super().load_state_dict({**state_dict, "state": {}})
        if self.optim is None:
            return
        rank = self.process_group.rank()
        own = [i for i, owner in enumerate(self.owners) if owner == rank]
        place = {id(p): i for i, p in enumerate(p for group in self.optim.param_groups for p in group["params"])}
        inner = self.optim.state_dict()
        state = {place[id(self._parameters[i])]: state_dict["state"][i] for i in own if i in state_dict["state"]}
        self.optim.load_state_dict({**inner, "state": state})
