"""LRScheduler, the base class of all learning rate schedulers."""

from __future__ import annotations

import types
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from whygrad.base.errors import warn
from whygrad.core.tensor import Tensor
from whygrad.optim.optimizer import Optimizer
from whygrad.optim.options import to_scalar
from whygrad.why import record as why

Rates = list[Any]

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose.")

_HOW_TO = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
_STEP_OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure "
    f"to call `optimizer.step()` before `lr_scheduler.step()`. {_HOW_TO}")
_STEP_NOT_CALLED = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
    "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in "
    f"PyTorch skipping the first value of the learning rate schedule. {_HOW_TO}")


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value  # type: ignore[attr-defined]


def one_for_each_group(name: str, optimizer: Optimizer, param: Any) -> list[Any]:
    """One value per parameter group."""
    groups = len(optimizer.param_groups)
    if not isinstance(param, list | tuple):
        param = [param] * groups
    elif len(param) != groups:
        raise ValueError(f"{name} must have the same length as optimizer.param_groups. {name} has {len(param)} values, "
                         f"param_groups has {groups}.")
    return [_copy(value) for value in param]


def of_groups(optimizer: Optimizer, key: str) -> list[Any]:
    return [_copy(group[key]) for group in optimizer.param_groups]


def set_option(group: dict[str, Any], key: str, value: Any) -> None:
    if isinstance(group[key], Tensor):
        group[key].fill_(to_scalar(value))
    else:
        group[key] = value


def check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


class LRScheduler:
    """Base class of all schedulers: subclasses give `get_lr`."""

    _get_lr_called_within_step = False
    _is_initial = False
    _last_lr: Rates

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copy(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                               "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training "
                               "from a checkpoint but haven't properly loaded the optimizer state\n2. You're using "
                               "last_epoch >= 0 for a fresh training run (not recommended)")
        self.base_lrs: Rates = of_groups(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps_of(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        why.tell("scheduler_made", self)
        with flag(self, "_is_initial"):
            self.step()

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a `state_dict()`."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> Rates:
        """The learning rates in use, one for each group."""
        return self._last_lr

    def get_lr(self) -> Rates:
        """The learning rates of `self.last_epoch`; called by `step`."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Advance to the next epoch; call it after `optimizer.step()`."""
        why.tell("scheduler_stepped", self)
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warn(_STEP_OVERRIDDEN)
            elif not getattr(self.optimizer, "_opt_called", False):
                warn(_STEP_NOT_CALLED)
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with flag(self, "_get_lr_called_within_step"):
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = getattr(self, "_get_closed_form_lr", self.get_lr)()
        self._write(rates)

    def _write(self, rates: Rates) -> None:
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            set_option(group, "lr", lr)
        self._last_lr = of_groups(self.optimizer, "lr")

    def _check_called_by_step(self) -> None:
        if not self._get_lr_called_within_step:
            warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.")

    def _present(self) -> Rates:
        return of_groups(self.optimizer, "lr")

    def _times(self, factor: float) -> Rates:
        """The current learning rates, each multiplied by a factor."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]


@contextmanager
def flag(scheduler: LRScheduler, name: str) -> Iterator[None]:
    setattr(scheduler, name, True)
    try:
        yield
    finally:
        setattr(scheduler, name, False)


def _note_steps_of(optimizer: Optimizer) -> None:
    """Wrap `optimizer.step` so that a scheduler can see whether it has been called."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    reference = weakref.ref(optimizer)
    function = optimizer.step.__func__  # type: ignore[attr-defined]

    @wraps(function)
    def noted(*args: Any, **kwargs: Any) -> Any:
        self = reference()
        self._opt_called = True  # type: ignore[union-attr]
        return function(self, *args, **kwargs)

    noted._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = noted  # type: ignore[method-assign]


def attributes_of(function: Any) -> dict[str, Any] | None:
    """A plain function cannot be saved; a callable object is saved by its attributes."""
    return None if isinstance(function, types.FunctionType) else function.__dict__.copy()
