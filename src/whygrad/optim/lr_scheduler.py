"""Learning rate schedulers: each says how the `lr` of every parameter group moves from one epoch to the next.

Most have two forms, as in torch: `get_lr` goes on from the present `lr` (so that schedulers can be combined), and
`_get_closed_form_lr`, used by the deprecated `step(epoch)` and by SequentialLR, computes it from the epoch alone.
"""

from __future__ import annotations

import math
import types
import warnings
import weakref
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

from whygrad import errors
from whygrad._tensor import Tensor
from whygrad.optim.optimizer import Optimizer, to_scalar

_whygrad_internal_ = True

Rates = list[Any]

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed form is used "
    "instead of the new chainable form, where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose.")

_HOW_TO = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
_STEP_OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure to call "
    f"`optimizer.step()` before `lr_scheduler.step()`. {_HOW_TO}")
_STEP_NOT_CALLED = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in the "
    "opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the "
    f"first value of the learning rate schedule. {_HOW_TO}")


def _warn(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=errors.user_stacklevel())


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def _format_param(name: str, optimizer: Optimizer, param: Any) -> list[Any]:
    """One value for each parameter group."""
    groups = len(optimizer.param_groups)
    if not isinstance(param, list | tuple):
        param = [param] * groups
    elif len(param) != groups:
        raise ValueError(f"{name} must have the same length as optimizer.param_groups. {name} has {len(param)} values, "
                         f"param_groups has {groups}.")
    return [_copy(value) for value in param]


def _of_groups(optimizer: Optimizer, key: str) -> list[Any]:
    return [_copy(group[key]) for group in optimizer.param_groups]


def _set(group: dict[str, Any], key: str, value: Any) -> None:
    if isinstance(group[key], Tensor):
        group[key].fill_(to_scalar(value))
    else:
        group[key] = value


def _check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


class LRScheduler:
    """Base class of all schedulers: subclasses give `get_lr`."""

    _get_lr_called_within_step = False
    _is_initial = False
    _last_lr: Rates

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copy(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                               "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a "
                               "checkpoint but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 "
                               "for a fresh training run (not recommended)")
        self.base_lrs: Rates = _of_groups(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps_of(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        with _flag(self, "_is_initial"):
            self.step()

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a `state_dict()`."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> Rates:
        """The learning rates in use, one for each group."""
        return self._last_lr

    def get_lr(self) -> Rates:
        """The learning rates of `self.last_epoch`; called by `step`."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch; call it after `optimizer.step()`."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                _warn(_STEP_OVERRIDDEN)
            elif not getattr(self.optimizer, "_opt_called", False):
                _warn(_STEP_NOT_CALLED)
        self._step_count += 1
        if epoch is not None:
            _warn(EPOCH_DEPRECATION_WARNING)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with _flag(self, "_get_lr_called_within_step"):
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = getattr(self, "_get_closed_form_lr", self.get_lr)()
        self._write(rates)

    def _write(self, rates: Rates) -> None:
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            _set(group, "lr", lr)
        self._last_lr = _of_groups(self.optimizer, "lr")

    def _check_called_by_step(self) -> None:
        if not self._get_lr_called_within_step:
            _warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.")

    def _present(self) -> Rates:
        return _of_groups(self.optimizer, "lr")

    def _times(self, factor: float) -> Rates:
        """The present rates, each multiplied."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]


_LRScheduler = LRScheduler


@contextmanager
def _flag(scheduler: LRScheduler, name: str) -> Iterator[None]:
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


def _attributes_of(function: Any) -> dict[str, Any] | None:
    """A plain function cannot be saved; a callable object is saved by its attributes."""
    return None if isinstance(function, types.FunctionType) else function.__dict__.copy()


class LambdaLR(LRScheduler):
    """The initial rate times `lr_lambda(epoch)`."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        if not isinstance(lr_lambda, list | tuple):
            lr_lambda = [lr_lambda] * groups
        elif len(lr_lambda) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
        self.lr_lambdas: list[Callable[[int], float]] = list(lr_lambda)
        self._check_lambdas()
        super().__init__(optimizer, last_epoch)

    def _check_lambdas(self) -> None:
        """LambdaLR finds out when it calls them."""

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "lr_lambdas": [_attributes_of(function) for function in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=False):
            if attributes is not None:
                function.__dict__.update(attributes)

    def get_lr(self) -> Rates:
        self._check_called_by_step()
        return [base_lr * function(self.last_epoch)
                for function, base_lr in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(LambdaLR):
    """The present rate times `lr_lambda(epoch)`."""

    def _check_lambdas(self) -> None:
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")

    def get_lr(self) -> Rates:
        self._check_called_by_step()
        if self._is_initial:
            return self._present()
        return [group["lr"] * function(self.last_epoch)
                for function, group in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)]


class StepLR(LRScheduler):
    """Times `gamma` every `step_size` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        self._check_called_by_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._present()
        return self._times(self.gamma)

    def _get_closed_form_lr(self) -> Rates:
        return [base_lr * self.gamma ** (self.last_epoch // self.step_size) for base_lr in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Times `gamma` at each milestone."""

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        self._check_called_by_step()
        if self.last_epoch not in self.milestones:
            return self._present()
        return self._times(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> Rates:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base_lr * self.gamma**passed for base_lr in self.base_lrs]


class ConstantLR(LRScheduler):
    """Times `factor` for the first `total_iters` epochs."""

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        self._check_called_by_step()
        if self.last_epoch == 0:
            return self._times(self.factor)
        if self.last_epoch != self.total_iters:
            return self._present()
        return self._times(1.0 / self.factor)

    def _get_closed_form_lr(self) -> Rates:
        factor = self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)
        return [base_lr * factor for base_lr in self.base_lrs]


class LinearLR(LRScheduler):
    """A straight line from `start_factor` to `end_factor` in `total_iters` epochs."""

    def __init__(self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
                 last_epoch: int = -1) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        self._check_called_by_step()
        if self.last_epoch == 0:
            return self._times(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._present()
        rise = self.end_factor - self.start_factor
        return self._times(1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))

    def _get_closed_form_lr(self) -> Rates:
        rise = self.end_factor - self.start_factor
        factor = self.start_factor + rise * min(self.total_iters, self.last_epoch) / self.total_iters
        return [base_lr * factor for base_lr in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Times `gamma` every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        self._check_called_by_step()
        return self._present() if self._is_initial else self._times(self.gamma)

    def _get_closed_form_lr(self) -> Rates:
        return [base_lr * self.gamma**self.last_epoch for base_lr in self.base_lrs]


class PolynomialLR(LRScheduler):
    """To zero in `total_iters` epochs, as `(1 - epoch / total_iters) ** power`."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        self._check_called_by_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._present()
        left, left_before = [1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1)]
        return self._times((left / left_before) ** self.power)

    def _get_closed_form_lr(self) -> Rates:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base_lr * left**self.power for base_lr in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Half a cosine down to `eta_min` in `T_max` epochs, and back up."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        self._check_called_by_step()
        groups = self.optimizer.param_groups
        if self._is_initial:
            return self._present()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [group["lr"] + (base_lr - self.eta_min) * rise
                    for base_lr, group in zip(self.base_lrs, groups, strict=True)]
        now, before = [1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1)]
        return [now / before * (group["lr"] - self.eta_min) + self.eta_min for group in groups]

    def _get_closed_form_lr(self) -> Rates:
        return [self.eta_min + (base_lr - self.eta_min) * (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
                for base_lr in self.base_lrs]


class _Combined(LRScheduler):
    """What schedulers made of schedulers share."""

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
                raise ValueError(f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                                 f"specified when calling `step`, but got one at index {i} in the given schedulers sequence.")
            if optimizer != scheduler.optimizer:
                raise ValueError(f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                                 f"{type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is different from "
                                 f"{type(optimizer).__name__}.")
        return optimizer

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=False):
            scheduler.load_state_dict(state)


class SequentialLR(_Combined):
    """One scheduler after the other: the next one takes over at each milestone."""

    def __init__(self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1) -> None:
        self._check_schedulers(optimizer, schedulers, "")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError("Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                             f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to "
                             f"be equal to {len(milestones)}")
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # The schedulers have each taken a first step already: undo it, and let only the first one take it.
        for group in optimizer.param_groups:
            _set(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take the first step of every scheduler below back."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for inner in scheduler._schedulers:
                self.recursive_undo(inner)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Go on to the next epoch."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """All schedulers at once, each going on from where the one before left the rate."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self.optimizer = self._check_schedulers(optimizer, schedulers, " to be chained")
        self._schedulers = schedulers
        self._last_lr = self._present()

    def step(self) -> None:  # type: ignore[override]
        """Go on to the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._present()


class ReduceLROnPlateau(LRScheduler):
    """Times `factor` when a measured value has not improved for `patience` epochs."""

    def __init__(self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
                 threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0, min_lr: Any = 0,
                 eps: float = 1e-8) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.factor = factor
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, list | tuple):
            if len(min_lr) != groups:
                raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
            self.default_min_lr = None
            self.min_lrs = list(min_lr)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * groups
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._present()
        self._init_is_better(mode, threshold, threshold_mode)
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Look at the value of this epoch."""
        current = float(metrics)
        if epoch is not None:
            _warn(EPOCH_DEPRECATION_WARNING)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._present()

    def _reduce_lr(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                                   f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group "
                                   "being added to the optimizer. Please modify the `min_lrs` field to match the length of the "
                                   "`optimizer` param groups.")
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, min_lr in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, min_lr)
            if old - new > self.eps:
                _set(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        return self.cooldown_counter > 0

    def _is_better(self, value: float, best: float) -> bool:
        if self.mode == "min":
            return value < (best * (1.0 - self.threshold) if self.threshold_mode == "rel" else best - self.threshold)
        return value > (best * (self.threshold + 1.0) if self.threshold_mode == "rel" else best + self.threshold)

    def _init_is_better(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in {"min", "max"}:
            raise ValueError("mode " + mode + " is unknown!")
        if threshold_mode not in {"rel", "abs"}:
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        self._init_is_better(self.mode, self.threshold, self.threshold_mode)


class _WithMomentum(LRScheduler):
    """What schedulers share that move the momentum (or the first beta) against the rate."""

    cycle_momentum: bool
    use_beta1: bool

    def _start_momentum(self, optimizer: Optimizer, base_momentum: Any, max_momentum: Any, fresh: bool) -> tuple[Any, Any]:
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        lowest = _format_param("base_momentum", optimizer, base_momentum)
        highest = _format_param("max_momentum", optimizer, max_momentum)
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
    """Up from `base_lr` to `max_lr` and down again, over and over."""

    def __init__(self, optimizer: Optimizer, base_lr: Any, max_lr: Any, step_size_up: int = 2000,
                 step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
                 scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle", cycle_momentum: bool = True,
                 base_momentum: float = 0.8, max_momentum: float = 0.9, last_epoch: int = -1) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = _format_param("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                _set(group, "lr", lr)
        self.max_lrs = _format_param("max_lr", optimizer, max_lr)
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
        """The height of the cycle at cycle or iteration `x`."""
        return (self._scale_fn_custom or self._scale_fn_ref)(x)

    def get_lr(self) -> Rates:
        self._check_called_by_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        at = cycle if self.scale_mode == "cycle" else self.last_epoch
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True):
                self._set_momentum(group, high - (high - low) * height * self.scale_fn(at))
        return [low + (high - low) * height * self.scale_fn(at)
                for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        custom = state["_scale_fn_custom"]
        state["_scale_fn_custom"] = None if custom is None else _attributes_of(custom)
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


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine down to `eta_min`, again and again; each time `T_mult` times as long."""

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, float | int):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Rates:
        self._check_called_by_step()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base_lr - self.eta_min) * height / 2 for base_lr in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:  # type: ignore[override]
        """Go on to the next epoch, or to any point between two epochs."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur = self.T_cur + 1
            if self.T_cur >= self.T_i:
                self.T_cur = self.T_cur % self.T_i
                self.T_i = self.T_i * self.T_mult
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        with _flag(self, "_get_lr_called_within_step"):
            self._write(self.get_lr())

    def _go_to(self, epoch: float) -> None:
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i = self.T_0
            self.T_cur = epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**restarts


class OneCycleLR(_WithMomentum):
    """Up to `max_lr` once, then down to almost nothing, in `total_steps` steps."""

    def __init__(self, optimizer: Optimizer, max_lr: Any, total_steps: int | None = None, epochs: int | None = None,
                 steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = "cos",
                 cycle_momentum: bool = True, base_momentum: Any = 0.85, max_momentum: Any = 0.95, div_factor: float = 25.0,
                 final_div_factor: float = 1e4, three_phase: bool = False, last_epoch: int = -1) -> None:
        _check_optimizer(optimizer)
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
        max_lrs = _format_param("max_lr", optimizer, max_lr)
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
            raise ValueError(f"Tried to step {self.last_epoch} times. The specified number of total steps is {self.total_steps}")
        start = 0.0
        for phase in self._schedule_phases:
            if self.last_epoch <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        fraction = (self.last_epoch - start) / (phase["end_step"] - start)
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            for group in groups:
                self._set_momentum(group, self._anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], fraction))
        return [self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], fraction) for group in groups]
