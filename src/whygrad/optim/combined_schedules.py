"""Schedulers composed of other schedulers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from whygrad.optim.optimizer import Optimizer
from whygrad.optim.plateau import ReduceLROnPlateau
from whygrad.optim.scheduler import LRScheduler, set_option
from whygrad.why import record as why


class _Combined(LRScheduler):
    """Base of schedulers composed of schedulers."""

    _schedulers: Sequence[LRScheduler]

    def _check_schedulers(self, optimizer: Optimizer | None, schedulers: Sequence[Any], doing: str) -> Optimizer:
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} expects at least one scheduler{doing}, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional "
                                 f"kwargs to be specified when calling `step`, but got one at index {i} in the given "
                                 "schedulers sequence.")
            if optimizer != scheduler.optimizer:
                raise ValueError(f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                                 f"{type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is "
                                 f"different from {type(optimizer).__name__}.")
        return optimizer

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=False):
            scheduler.load_state_dict(state)


class SequentialLR(_Combined):
    """Runs schedulers in sequence, switching to the next at each milestone."""

    def __init__(self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int],
                 last_epoch: int = -1) -> None:
        self._check_schedulers(optimizer, schedulers, "")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError("Sequential Schedulers expects number of schedulers provided to be one more than the "
                             f"number of milestone points, but got number of schedulers {len(schedulers)} and the "
                             f"number of milestones to be equal to {len(milestones)}")
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Each scheduler has made its initial step already: undo all, then repeat it for the first scheduler only.
        for group in optimizer.param_groups:
            set_option(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Undo the initial step of every nested scheduler."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for inner in scheduler._schedulers:
                self.recursive_undo(inner)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Go on to the next epoch."""
        why.tell("scheduler_stepped", self)
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """Runs all schedulers in every step, each on the learning rate that the previous one set."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self.optimizer = self._check_schedulers(optimizer, schedulers, " to be chained")
        self._schedulers = schedulers
        self._last_lr = self._present()

    def step(self) -> None:  # type: ignore[override]
        """Go on to the next epoch."""
        why.tell("scheduler_stepped", self)
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._present()
