"""Averages of weights over training, equal (SWA) or exponential (EMA), and the SWA learning rate schedule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

import numpy as np

from whygrad.autograd.grad_mode import no_grad
from whygrad.base.unsupported import absent_from
from whygrad.core.tensor import Tensor, wrap
from whygrad.nn.module import Module
from whygrad.nn.normalization import _BatchNorm
from whygrad.optim.optimizer import Optimizer
from whygrad.optim.options import as_number
from whygrad.optim.scheduler import LRScheduler, Rates, one_for_each_group

__getattr__ = absent_from("torch.optim.swa_utils")

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
           "update_bn"]

# Tensor; its methods are not known to type checkers.
Tensors = list[Any] | tuple[Any, ...]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """A function that updates a list of exponential averages with the current values."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: Tensors, current_param_list: Tensors, _: Any) -> None:
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(current, 1 - decay)
            else:
                average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """A function that updates a list of equal averages of `num_averaged` values with the current values."""

    @no_grad()
    def swa_update(averaged_param_list: Tensors, current_param_list: Tensors, num_averaged: Any) -> None:
        count = num_averaged + 1
        weight = as_number(1 / count)
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(current, weight)
            elif isinstance(count, Tensor):
                average.addcdiv_(current - average, count)
            else:
                average.add_(current - average, alpha=weight)

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """A function that returns the next exponential average of one tensor."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[..., Any]:
    """A function that returns the next equal average of one tensor."""

    @no_grad()
    def swa_update(averaged_param: Any, current_param: Any, num_averaged: Any) -> Any:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model that holds the average of its parameters."""

    n_averaged: Any

    def __init__(self, model: Module, device: Any = None, avg_fn: Callable[..., Any] | None = None,
                 multi_avg_fn: Callable[..., None] | None = None, use_buffers: bool = False) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", wrap(np.array(0)))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def _values_of(self, net: Module) -> list[Any]:
        values: list[Any] = [*net.parameters(), *(net.buffers() if self.use_buffers else ())]
        return [t.detach() for t in values]

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Update the averages with the current parameters of `model`."""
        averaged, current = [self._values_of(net) for net in (self.module, model)]
        if self.n_averaged._array == 0:
            for a, b in zip(averaged, current, strict=False):
                a.copy_(b)  # type: ignore[attr-defined]
        elif self.multi_avg_fn is not None:
            for dtype in dict.fromkeys([a.dtype for a in averaged]):
                alike = [(a, b) for a, b in zip(averaged, current, strict=False) if a.dtype is dtype]
                self.multi_avg_fn([a for a, _ in alike], [b for _, b in alike], self.n_averaged)
        else:
            average = self.avg_fn or get_swa_avg_fn()
            for a, b in zip(averaged, current, strict=True):
                a.copy_(average(a, b, self.n_averaged))  # type: ignore[attr-defined]
        if not self.use_buffers:
            for mine, theirs in zip(self.module.buffers(), model.buffers(), strict=True):
                mine.copy_(theirs)  # type: ignore[attr-defined]
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the statistics of all batch norms with one pass over the data."""
    momenta = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        # None selects the cumulative average over all batches.
        module.momentum = None
    for batch in loader:
        inputs = batch[0] if isinstance(batch, list | tuple) else batch
        model(inputs if device is None else inputs.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneals the current rate to `swa_lr` in `anneal_epochs` epochs, then keeps it constant."""

    def __init__(self, optimizer: Optimizer, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos",
                 last_epoch: int = -1) -> None:
        for rate, group in zip(one_for_each_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _progress(self, step: float) -> float:
        """The weight of `swa_lr` in the rate at a step."""
        t = max(0, min(1, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> Rates:
        self._check_called_by_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._progress(step - 1), self._progress(step)
        rates = []
        for group in self.optimizer.param_groups:
            lr, swa_lr = group["lr"], group["swa_lr"]
            # The initial rate, recovered from the annealed one.
            start = swa_lr if before == 1 else (lr - before * swa_lr) / (1 - before)
            rates.append(swa_lr * now + start * (1 - now))
        return rates
