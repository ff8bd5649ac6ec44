"""Cyclic schedules, which vary the momentum inversely to the learning rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from whygrad.optim.optimizer import Optimizer
from whygrad.optim.scheduler import LRScheduler, Rates, attributes_of, check_optimizer, one_for_each_group, set_option


class _WithMomentum(LRScheduler):
    """Base of schedulers that vary the momentum (or the first beta) inversely to the learning rate."""

    cycle_momentum: bool
    use_beta1: bool

    def _start_momentum(self, optimizer: Optimizer, base_momentum: Any, max_momentum: Any,
                        fresh: bool) -> tuple[list[Any], list[Any]]:
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        lowest = one_for_each_group("base_momentum", optimizer, base_momentum)
        highest = one_for_each_group("max_momentum", optimizer, max_momentum)
        if fresh:
            for low, high, group in zip(lowest, highest, optimizer.param_groups, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"] = high
                group["base_momentum"] = low
        return lowest, highest

    def _set_momentum(self, group: dict[str, Any], momentum: Any) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_WithMomentum):
    """Cycles between `base_lr` and `max_lr`."""

    def __init__(self, optimizer: Optimizer, base_lr: Any, max_lr: Any, step_size_up: int = 2000,
                 step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
                 scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle",
                 cycle_momentum: bool = True, base_momentum: float = 0.8, max_momentum: float = 0.9,
                 last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = one_for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_option(group, "lr", lr)
        self.max_lrs = one_for_each_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (float(step_size_down) if step_size_down is not None else up)
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._start_momentum(optimizer, base_momentum, max_momentum,
                                                                           fresh=last_epoch == -1)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _init_scale_fn(self) -> None:
        if self._scale_fn_custom is not None:
            return
        known: dict[str, tuple[Callable[[float], float], str]] = {
            "triangular": (_no_scaling, "cycle"),
            "triangular2": (_halved_each_cycle, "cycle"),
            "exp_range": (partial(pow, self.gamma), "iterations"),
        }
        self._scale_fn_ref, self.scale_mode = known[self.mode]

    def scale_fn(self, x: float) -> float:
        """The amplitude at cycle or iteration `x`."""
        return (self._scale_fn_custom or self._scale_fn_ref)(x)

    def get_lr(self) -> Rates:
        self._check_called_by_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        at = cycle if self.scale_mode == "cycle" else self.last_epoch
        if self.cycle_momentum:
            limits = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, limits, strict=True):
                self._set_momentum(group, high - (high - low) * height * self.scale_fn(at))
        return [low + (high - low) * height * self.scale_fn(at)
                for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        custom = state["_scale_fn_custom"]
        state["_scale_fn_custom"] = None if custom is None else attributes_of(custom)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        attributes = state_dict.pop("_scale_fn_custom")
        super().load_state_dict(state_dict)
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)
        self._init_scale_fn()


def _no_scaling(x: float) -> float:
    return 1.0


def _halved_each_cycle(x: float) -> float:
    return 1 / 2.0 ** (x - 1)


class OneCycleLR(_WithMomentum):
    """One cycle: up to `max_lr`, then down to a small fraction of it, in `total_steps` steps."""

    def __init__(self, optimizer: Optimizer, max_lr: Any, total_steps: int | None = None, epochs: int | None = None,
                 steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = "cos",
                 cycle_momentum: bool = True, base_momentum: Any = 0.85, max_momentum: Any = 0.95,
                 div_factor: float = 25.0, final_div_factor: float = 1e4, three_phase: bool = False,
                 last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if total_steps is not None:
            if total_steps <= 0 or not isinstance(total_steps, int):
                raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
            self.total_steps = total_steps
        elif epochs is not None and steps_per_epoch is not None:
            for name, value in (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
                if not isinstance(value, int) or value <= 0:
                    raise ValueError(f"Expected positive integer {name}, but got {value}")
            self.total_steps = epochs * steps_per_epoch
        else:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")

        rise = float(pct_start * self.total_steps) - 1
        fall = float(2 * pct_start * self.total_steps) - 2
        end = self.total_steps - 1
        if three_phase:
            phases = [(rise, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
                      (fall, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                      (end, "initial_lr", "min_lr", "max_momentum", "max_momentum")]
        else:
            phases = [(rise, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
                      (end, "max_lr", "min_lr", "base_momentum", "max_momentum")]
        names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        self._schedule_phases: list[dict[str, Any]] = [dict(zip(names, phase, strict=True)) for phase in phases]

        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        max_lrs = one_for_each_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for highest, group in zip(max_lrs, optimizer.param_groups, strict=True):
                group["initial_lr"] = highest / div_factor
                group["max_lr"] = highest
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momentum(optimizer, base_momentum, max_momentum, fresh=last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def _anneal(self, start: Any, end: Any, fraction: float) -> Any:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * fraction) + 1)
        return (end - start) * fraction + start

    def get_lr(self) -> Rates:
        self._check_called_by_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(f"Tried to step {self.last_epoch} times. The specified number of total steps is "
                             f"{self.total_steps}")
        start = 0.0
        for phase in self._schedule_phases:
            if self.last_epoch <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        fraction = (self.last_epoch - start) / (phase["end_step"] - start)
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            for group in groups:
                momentum = self._anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], fraction)
                self._set_momentum(group, momentum)
        return [self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], fraction) for group in groups]
