"""Learning rates over 60 epochs, closed forms, checkpoints, messages: against torch."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from oracle import outcome_and_warnings

import whygrad
from whygrad.optim import lr_scheduler

LIBRARIES = (torch, whygrad)


class Warmup:
    """A callable with state of its own: schedulers save it by its attributes."""

    def __init__(self, length: float) -> None:
        self.length = length

    def __call__(self, epoch: int) -> float:
        return min(1.0, (epoch + 1) / self.length)


SIMPLE: dict[str, tuple[str, dict[str, Any]]] = {
    "lambda": ("LambdaLR", {"lr_lambda": lambda epoch: 0.95**epoch}),
    "lambdas": ("LambdaLR", {"lr_lambda": [lambda epoch: 0.9**epoch, Warmup(10.0)]}),
    "multiplicative": ("MultiplicativeLR", {"lr_lambda": lambda epoch: 0.95}),
    "multiplicatives": ("MultiplicativeLR", {"lr_lambda": [lambda epoch: 0.95, Warmup(3.0)]}),
    "step": ("StepLR", {"step_size": 7, "gamma": 0.5}),
    "multistep": ("MultiStepLR", {"milestones": [5, 20, 20, 31], "gamma": 0.3}),
    "constant": ("ConstantLR", {"factor": 0.25, "total_iters": 9}),
    "linear": ("LinearLR", {"start_factor": 0.1, "end_factor": 0.7, "total_iters": 13}),
    "linear default": ("LinearLR", {}),
    "exponential": ("ExponentialLR", {"gamma": 0.93}),
    "polynomial": ("PolynomialLR", {"total_iters": 40, "power": 2.5}),
    "cosine": ("CosineAnnealingLR", {"T_max": 17, "eta_min": 0.01}),
    "cyclic": ("CyclicLR", {"base_lr": 0.01, "max_lr": [0.1, 0.3], "step_size_up": 7, "step_size_down": 11}),
    "cyclic triangular2": ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 5, "mode": "triangular2"}),
    "cyclic exp_range": ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 5, "mode": "exp_range",
                                      "gamma": 0.97}),
    "cyclic own": ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 5, "scale_fn": lambda x: 1 / (5.0 + x),
                                "scale_mode": "iterations", "cycle_momentum": False}),
    "cyclic object": ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 5, "scale_fn": Warmup(4.0)}),
    "restarts": ("CosineAnnealingWarmRestarts", {"T_0": 7, "T_mult": 2, "eta_min": 0.001}),
    "restarts even": ("CosineAnnealingWarmRestarts", {"T_0": 9}),
    "one cycle": ("OneCycleLR", {"max_lr": [0.5, 0.2], "total_steps": 61}),
    "one cycle linear": ("OneCycleLR", {"max_lr": 0.5, "epochs": 7, "steps_per_epoch": 9, "anneal_strategy": "linear",
                                        "pct_start": 0.4, "div_factor": 10.0, "final_div_factor": 100.0}),
    "one cycle three phases": ("OneCycleLR", {"max_lr": 0.5, "total_steps": 61, "three_phase": True,
                                              "cycle_momentum": False}),
    "swa": ("SWALR", {"swa_lr": 0.02, "anneal_epochs": 15}),
    "swa linear": ("SWALR", {"swa_lr": [0.02, 0.3], "anneal_epochs": 15, "anneal_strategy": "linear"}),
    "swa at once": ("SWALR", {"swa_lr": 0.02, "anneal_epochs": 0}),
}


def make_optimizer(library: Any, name: str = "SGD", **options: Any) -> Any:
    params = [library.tensor([1.0], requires_grad=True) for _ in range(2)]
    options = {"lr": 0.1, **({"momentum": 0.9} if name == "SGD" else {}), **options}
    return getattr(library.optim, name)([{"params": params[:1]}, {"params": params[1:], "lr": 0.05}], **options)


def make(library: Any, case: str, optimizer: Any, **more: Any) -> Any:
    name, options = SIMPLE[case]
    module = library.optim.swa_utils if name == "SWALR" else library.optim.lr_scheduler
    return getattr(module, name)(optimizer, **copy.deepcopy(options), **more)


def combined(library: Any, case: str) -> tuple[Any, Any]:
    s = library.optim.lr_scheduler
    opt = make_optimizer(library)
    build = {
        "sequential": lambda: s.SequentialLR(
            opt, [s.ConstantLR(opt, 0.1, 10), s.ExponentialLR(opt, 0.9)], milestones=[12]),
        "warmup and cosine": lambda: s.SequentialLR(
            opt, [s.LinearLR(opt, 0.01, total_iters=10), s.CosineAnnealingLR(opt, T_max=50)], milestones=[10]),
        "three": lambda: s.SequentialLR(
            opt, [s.LinearLR(opt, 0.1), s.StepLR(opt, 4, 0.7), s.PolynomialLR(opt, 20)], milestones=[6, 25]),
        "at once": lambda: s.SequentialLR(opt, [s.LinearLR(opt, 0.1), s.StepLR(opt, 4, 0.7)], milestones=[0]),
        "restarts after warmup": lambda: s.SequentialLR(
            opt, [s.LinearLR(opt, 0.1, total_iters=5), s.CosineAnnealingWarmRestarts(opt, 10)], milestones=[5]),
        "chained": lambda: s.ChainedScheduler([s.ConstantLR(opt, 0.1, 10), s.ExponentialLR(opt, 0.9)]),
        "chained three": lambda: s.ChainedScheduler(
            [s.LinearLR(opt, 0.2, total_iters=8), s.MultiStepLR(opt, [5, 9], 0.5), s.CosineAnnealingLR(opt, 30)], opt),
        "one after another": lambda: [s.LinearLR(opt, 0.2, total_iters=8), s.StepLR(opt, 5, 0.5)],
    }
    return opt, build[case]()


COMBINED = ["sequential", "warmup and cosine", "three", "at once", "restarts after warmup", "chained", "chained three",
            "one after another"]


def trace(optimizer: Any, scheduler: Any, epochs: int) -> list[list[float]]:
    """The options that schedulers change, epoch by epoch."""
    schedulers = scheduler if isinstance(scheduler, list) else [scheduler]
    rows = []
    for _ in range(epochs):
        rows.append([float(value) for group in optimizer.param_groups
                     for value in (group["lr"], group.get("momentum", 0), *group.get("betas", ()))])
        assert schedulers[-1].get_last_lr() == [group["lr"] for group in optimizer.param_groups]
        optimizer.step()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for each in schedulers:
                each.step()
    return rows


def comparable(state: Any) -> Any:
    """A state dict without what cannot be compared: partial functions and the like."""
    if isinstance(state, dict):
        return {key: comparable(value) for key, value in state.items() if key != "anneal_func"}
    return [comparable(x) for x in state] if isinstance(state, list | tuple) else state


@pytest.mark.parametrize("case", SIMPLE)
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_sixty_epochs(case: str, optimizer: str) -> None:
    rows, states = [], []
    for library in LIBRARIES:
        opt = make_optimizer(library, optimizer)
        scheduler = make(library, case, opt)
        rows.append(trace(opt, scheduler, 60))
        states.append(comparable(scheduler.state_dict()))
    np.testing.assert_allclose(rows[1], rows[0], rtol=1e-12, atol=1e-15)
    assert_states_equal(*states)


def assert_states_equal(a: Any, b: Any) -> None:
    if isinstance(a, dict):
        assert set(a) == set(b)
        for key in a:
            assert_states_equal(a[key], b[key])
    elif isinstance(a, list):
        for x, y in zip(a, b, strict=True):
            assert_states_equal(x, y)
    elif isinstance(a, float):
        assert a == pytest.approx(b, rel=1e-12)
    else:
        assert a == b


@pytest.mark.parametrize("case", COMBINED)
def test_combined(case: str) -> None:
    rows, states = [], []
    for library in LIBRARIES:
        opt, scheduler = combined(library, case)
        rows.append(trace(opt, scheduler, 60))
        if not isinstance(scheduler, list):
            states.append(comparable(scheduler.state_dict()))
    np.testing.assert_allclose(rows[1], rows[0], rtol=1e-12, atol=1e-15)
    if states:
        assert_states_equal(*states)


@pytest.mark.parametrize("case", SIMPLE)
def test_jumping_to_an_epoch(case: str) -> None:
    rows = []
    for library in LIBRARIES:
        opt = make_optimizer(library)
        scheduler = make(library, case, opt)
        opt.step()
        row = []
        for epoch in (3, 11, 12, 40, 5):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                scheduler.step(epoch)
            row.append((list(scheduler.get_last_lr()), [str(w.message) for w in caught]))
        rows.append(row)
    assert [w for _, w in rows[0]] == [w for _, w in rows[1]]
    np.testing.assert_allclose([r for r, _ in rows[1]], [r for r, _ in rows[0]], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("case", [*SIMPLE, *COMBINED[:-1]])
@pytest.mark.parametrize("direction", ["torch to whygrad", "whygrad to torch"])
def test_checkpoints_cross(case: str, direction: str) -> None:
    rows = []
    home, abroad = LIBRARIES if direction == "torch to whygrad" else LIBRARIES[::-1]

    def build(library: Any) -> tuple[Any, Any]:
        if case in COMBINED:
            return combined(library, case)
        opt = make_optimizer(library)
        return opt, make(library, case, opt)

    opt, scheduler = build(home)
    trace(opt, scheduler, 20)
    other_opt, other = build(abroad)
    other.load_state_dict(copy.deepcopy(scheduler.state_dict()))
    for mine, theirs in zip(opt.param_groups, other_opt.param_groups, strict=True):
        theirs.update({key: value for key, value in mine.items() if key != "params"})
    rows = [trace(opt, scheduler, 20), trace(other_opt, other, 20)]
    np.testing.assert_allclose(rows[1], rows[0], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("case", SIMPLE)
def test_resuming_with_last_epoch(case: str) -> None:
    results = []
    for library in LIBRARIES:
        opt = make_optimizer(library)
        trace(opt, make(library, case, opt), 10)
        try:
            results.append(trace(opt, make(library, case, opt, last_epoch=9), 20))
        except Exception as error:
            results.append([[type(error).__name__]])
    if isinstance(results[0][0][0], str):
        assert results[0] == results[1]
    else:
        np.testing.assert_allclose(results[1], results[0], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("options", [
    {}, {"mode": "max", "threshold": 0.01}, {"threshold_mode": "abs", "threshold": 0.05},
    {"mode": "max", "threshold_mode": "abs", "threshold": 0.05}, {"patience": 2, "cooldown": 3, "factor": 0.5},
    {"patience": 1, "min_lr": [0.01, 0.02]}, {"patience": 1, "min_lr": 0.03, "eps": 1e-3},
], ids=str)
def test_plateau(options: dict[str, Any]) -> None:
    values = np.random.default_rng(0).standard_normal(60).cumsum() / 3 + np.linspace(5, 1, 60)
    rows, states = [], []
    for library in LIBRARIES:
        opt = make_optimizer(library)
        scheduler = library.optim.lr_scheduler.ReduceLROnPlateau(opt, **options)
        for value in values:
            scheduler.step(library.tensor(value))
            rows.append(list(scheduler.get_last_lr()))
        states.append(scheduler.state_dict())
        scheduler.load_state_dict(states[-1])
    np.testing.assert_allclose(rows[60:], rows[:60], rtol=1e-12)
    assert_states_equal(*states)


def test_plateau_after_a_group_was_added() -> None:
    texts = []
    for library in LIBRARIES:
        opt = make_optimizer(library)
        fixed = library.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0, min_lr=[0.0, 0.0])
        free = library.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0)
        opt.add_param_group({"params": [library.tensor([1.0], requires_grad=True)]})
        free.step(1.0)
        free.step(2.0)
        fixed.step(1.0)
        with pytest.raises(RuntimeError) as caught:
            fixed.step(2.0)
        texts.append((str(caught.value), free.get_last_lr()))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("case", ["step", "lambda", "cosine", "exponential", "cyclic", "one cycle", "restarts"])
def test_tensor_rates(case: str) -> None:
    rows = []
    for library in LIBRARIES:
        lr = library.tensor(0.1)
        groups = [{"params": [library.tensor([1.0], requires_grad=True)]} for _ in range(2)]
        opt = library.optim.SGD(groups, lr=lr, momentum=0.9)
        scheduler = make(library, case, opt)
        for _ in range(12):
            rows.append([float(x) for x in scheduler.get_last_lr()])
            opt.step()
            scheduler.step()
        assert opt.param_groups[0]["lr"] is lr
    np.testing.assert_allclose(rows[12:], rows[:12], rtol=1e-5)


def seen(call: Any, library: Any) -> Any:
    (kind, result), warned = outcome_and_warnings(lambda: call(library))
    return kind, result if kind == "error" else None, warned


def schedule(name: str, *args: Any, steps: int = 0, opt: dict[str, Any] | None = None, **options: Any) -> Any:
    def call(library: Any) -> None:
        scheduler = getattr(library.optim.lr_scheduler, name)(make_optimizer(library, **(opt or {})), *args, **options)
        for _ in range(steps):
            scheduler.step()

    return call


def two(build: Any) -> Any:
    return lambda library: build(library.optim.lr_scheduler, make_optimizer(library), make_optimizer(library))


def overridden(library: Any) -> None:
    opt = make_optimizer(library)
    scheduler = library.optim.lr_scheduler.StepLR(opt, 3)
    opt.step = lambda: None
    scheduler.step()


OUTCOMES: dict[str, Any] = {
    "scheduler first": schedule("StepLR", 3, steps=3),
    "step overridden": overridden,
    "get_lr by hand": two(lambda s, a, b: s.StepLR(a, 3).get_lr()),
    "swa get_lr by hand": lambda t: t.optim.swa_utils.SWALR(make_optimizer(t), 0.1).get_lr(),
    "no optimizer": lambda t: t.optim.lr_scheduler.StepLR(3, 3),
    "no optimizer for plateau": lambda t: t.optim.lr_scheduler.ReduceLROnPlateau(3),
    "no optimizer for cyclic": lambda t: t.optim.lr_scheduler.CyclicLR(3, 0.1, 0.2),
    "no optimizer for one cycle": lambda t: t.optim.lr_scheduler.OneCycleLR(3, 0.1, 10),
    "resume without initial_lr": schedule("StepLR", 3, last_epoch=4),
    "base class": schedule("LRScheduler"),
    "lambda count": schedule("LambdaLR", [abs]),
    "multiplicative lambda": schedule("MultiplicativeLR", 3),
    "constant": schedule("ConstantLR", 1.5),
    "linear start": schedule("LinearLR", 0.0),
    "linear end": schedule("LinearLR", 0.5, 2.0),
    "restarts T_0": schedule("CosineAnnealingWarmRestarts", 0),
    "restarts T_mult": schedule("CosineAnnealingWarmRestarts", 3, 1.5),
    "restarts eta_min": schedule("CosineAnnealingWarmRestarts", 3, 1, "low"),
    "restarts negative": two(lambda s, a, b: s.CosineAnnealingWarmRestarts(a, 3).step(-2)),
    "plateau factor": schedule("ReduceLROnPlateau", factor=1.0),
    "plateau mode": schedule("ReduceLROnPlateau", "best"),
    "plateau threshold": schedule("ReduceLROnPlateau", threshold_mode="x"),
    "plateau min_lr": schedule("ReduceLROnPlateau", min_lr=[0.1]),
    "plateau epoch": two(lambda s, a, b: s.ReduceLROnPlateau(a).step(1.0, 3)),
    "cyclic mode": schedule("CyclicLR", 0.1, 0.2, mode="square"),
    "cyclic momentum": schedule("CyclicLR", 0.1, 0.2, opt={"name": "Adagrad"}),
    "cyclic count": schedule("CyclicLR", 0.1, [0.2, 0.3, 0.4]),
    "one cycle nothing": schedule("OneCycleLR", 0.1),
    "one cycle steps": schedule("OneCycleLR", 0.1, -3),
    "one cycle epochs": schedule("OneCycleLR", 0.1, epochs=-1, steps_per_epoch=3),
    "one cycle steps_per_epoch": schedule("OneCycleLR", 0.1, epochs=1, steps_per_epoch=3.0),
    "one cycle pct": schedule("OneCycleLR", 0.1, 10, pct_start=1),
    "one cycle strategy": schedule("OneCycleLR", 0.1, 10, anneal_strategy="exp"),
    "one cycle momentum": schedule("OneCycleLR", 0.1, 10, opt={"name": "Adagrad"}),
    "one cycle too far": schedule("OneCycleLR", 0.1, 10, steps=11),
    "sequential none": two(lambda s, a, b: s.SequentialLR(a, [], [])),
    "sequential milestones": two(lambda s, a, b: s.SequentialLR(a, [s.StepLR(a, 3)], [4])),
    "sequential plateau": two(lambda s, a, b: s.SequentialLR(a, [s.ReduceLROnPlateau(a)], [])),
    "sequential other": two(lambda s, a, b: s.SequentialLR(a, [s.StepLR(a, 3), s.StepLR(b, 3)], [4])),
    "sequential number": two(lambda s, a, b: s.SequentialLR(a, [3], [])),
    "sequential in sequential": two(lambda s, a, b: s.SequentialLR(
        a, [s.LinearLR(a), s.SequentialLR(a, [s.StepLR(a, 3), s.StepLR(a, 3)], [4])], [1]).step()),
    "chained none": two(lambda s, a, b: s.ChainedScheduler([])),
    "chained plateau": two(lambda s, a, b: s.ChainedScheduler([s.ReduceLROnPlateau(a)])),
    "chained other": two(lambda s, a, b: s.ChainedScheduler([s.StepLR(a, 3), s.StepLR(b, 3)])),
    "swa strategy": lambda t: t.optim.swa_utils.SWALR(make_optimizer(t), 0.1, anneal_strategy="exp"),
    "swa epochs": lambda t: t.optim.swa_utils.SWALR(make_optimizer(t), 0.1, anneal_epochs=-1),
}


@pytest.mark.parametrize("case", OUTCOMES)
def test_same_errors_and_warnings(case: str) -> None:
    assert seen(OUTCOMES[case], whygrad) == seen(OUTCOMES[case], torch)


def test_warnings_point_at_the_users_line() -> None:
    scheduler = lr_scheduler.StepLR(make_optimizer(whygrad), 3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scheduler.step()
    assert caught[0].filename == __file__
