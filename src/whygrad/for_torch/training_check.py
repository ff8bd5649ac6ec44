"""`assert_trains(model, loss, batch)`: for tests. A few steps on a copy of the model, and an AssertionError that says why."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from whygrad.for_torch.parameter_answers import Found, add_answers, explained, together
from whygrad.for_torch.recording import Recording, on_torch, paused
from whygrad.for_torch.tensor_facts import quietly
from whygrad.why.answers import Answers, Explanation
from whygrad.why.audit.finding import count_of
from whygrad.why.gradient_flow import gradient_state
from whygrad.why.rules.unwanted import not_in_optimizer_explanation

# What the check does itself: every step sees the same batch.
_OF_THE_CHECK = {"data-constant"}

WRONG = {"none": "gets no gradient", "zero": "gets gradients of zeros only", "bad": "gets a gradient that is not finite"}


def assert_trains(model: torch.nn.Module, loss: Callable[..., Tensor] | Tensor, batch: Any = None, *, steps: int = 3,
                  optimizer: Optimizer | Callable[..., Optimizer] | None = None) -> None:
    """Fail if a parameter of `model` that requires grad gets no gradient, only zeros, or one that is not finite, if it does not
    move, or if the audit finds something wrong. The error has cause, line and fix.

    `loss` is called as loss(model(inputs), target) if `batch` is (inputs, target), as loss(model(**batch)) if it is a mapping, as
    loss(model(batch)) if it is anything else, and as loss(model) without a batch. `optimizer` is one that holds parameters of the
    model, or what makes one from parameters; by default Adam. Steps run on copies: model, optimizer and the state of random
    numbers stay as they are. A loss that is computed already can be given too; then only its gradients are looked at.
    """
    if not _trainable(model):
        raise AssertionError(f"{type(model).__name__} does not train: none of its parameters requires grad")
    if isinstance(loss, Tensor):
        _check_loss(model, loss)
        return
    if steps < 1:
        raise ValueError(f"steps must be at least 1, not {steps}")
    with _same_random_numbers():
        with paused():  # a recording that is on is not to hear of the copies
            trained, held = copy.deepcopy((model, optimizer if isinstance(optimizer, Optimizer) else None))
            if held is None:
                make: Any = optimizer or torch.optim.Adam
                held = make(list(_trainable(trained).values()))
        _train(type(model).__name__, trained, lambda: _loss_of(trained, loss, batch), steps, held)


def _loss_of(model: Any, loss: Any, batch: Any) -> Any:
    if batch is None:
        return loss(model)
    if isinstance(batch, Mapping):
        return loss(model(**batch))
    if isinstance(batch, (tuple, list)):
        *inputs, target = batch
        return loss(model(*inputs), target)
    return loss(model(batch))


class _Check:
    """The gradients of each parameter over the steps."""

    def __init__(self, model: Any, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.parameters = _trainable(model)
        self._before = {name: p.detach().clone() for name, p in self.parameters.items()}
        self._states: dict[str, set[str]] = {name: set() for name in self.parameters}

    def note_gradients(self) -> bool:
        """False if one is not finite: the next step would spoil what shows where it comes from."""
        for name, p in self.parameters.items():
            self._states[name].add("none" if p.grad is None else gradient_state(p.grad))
        return not any("bad" in states for states in self._states.values())

    def found(self, is_finite: bool) -> list[Found]:
        """What is wrong, by parameter. If gradients are not finite, that is all there is to tell."""
        if not is_finite:
            return [(name, self._explained(name, p)) for name, p in self.parameters.items() if "bad" in self._states[name]]
        return [(name, self._explained(name, p)) for name, p in self.parameters.items()
                if _wrong_state(self._states[name]) or torch.equal(p.detach(), self._before[name])]

    def _explained(self, name: str, p: Any) -> Explanation:
        wrong = _wrong_state(self._states[name])
        if wrong:
            return explained(name, p) or _not_seen(name, wrong)
        group = next((group for group in self.optimizer.param_groups if any(p is q for q in group["params"])), None)
        if group is None:
            return not_in_optimizer_explanation(None, [], f"`{name}`")
        kind, is_zero = type(self.optimizer).__name__, group.get("lr") == 0
        why = "its learning rate is 0" if is_zero else "they are lost in rounding"
        return Explanation("it has a gradient, but does not move", "learning-rate-zero" if is_zero else "update-too-small",
                           f"`{name}` has a gradient, and the steps of {kind} leave it as it is: {why}.",
                           "use a larger learning rate.", symptom="no-update")


def _trainable(model: Any) -> dict[str, Any]:
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def _train(title: str, model: Any, compute: Callable[[], Any], steps: int, optimizer: Optimizer) -> None:
    check = _Check(model, optimizer)
    found: list[Found] = []
    recording = Recording().start()
    recording.watch.audit.modules.add_model(model)
    error: Exception | None = None
    done = 0
    try:
        for _ in range(steps):
            done += 1
            optimizer.zero_grad()
            compute().backward()
            with quietly():
                is_finite = check.note_gradients()
            if not is_finite:
                break
            optimizer.step()
        with quietly():
            found = check.found(is_finite)
            add_answers(recording.watch, found)
    except Exception as raised:
        error = raised
        recording.stop()
        if not recording.answers:
            raise
    finally:
        recording.stop()
    answers = Answers(answer for answer in recording.answers if not (answer.explanation.odd or answer.explanation.harmless)
                      and answer.explanation.category not in _OF_THE_CHECK)
    if error is not None:
        raise AssertionError(f"{title} does not train: {type(error).__name__} in a step\n\n{answers}") from error
    if answers or found:
        what = f"{len(found)} of {count_of(len(check.parameters), 'parameter')} after {count_of(done, 'step')}"
        raise AssertionError(f"{title} does not train: {what}\n\n{answers}")


def _wrong_state(states: set[str]) -> str:
    """What is wrong with a parameter's gradients over all steps; "" if nothing is."""
    if "bad" in states:
        return "bad"
    return "" if "fine" in states else "zero" if "zero" in states else "none"


def _not_seen(name: str, wrong: str, fix: str = "") -> Explanation:
    return Explanation(f"it {WRONG[wrong]}", "not-seen", f"`{name}` {WRONG[wrong]}; which line does that was not seen.", fix,
                       symptom={"bad": "nan"}.get(wrong, wrong))


def _check_loss(model: Any, loss: Tensor) -> None:
    """The gradients of a loss that is there. What its graph was made of is known only if that was recorded."""
    parameters = _trainable(model)
    with on_torch(), quietly():
        grads = torch.autograd.grad(loss, list(parameters.values()), torch.ones_like(loss), retain_graph=True, allow_unused=True)
        found: list[Found] = []
        for (name, p), g in zip(parameters.items(), grads, strict=True):
            wrong = _wrong_state({"none" if g is None else gradient_state(g)})
            if wrong:
                known = explained(name, p, loss) if wrong == "none" and p.grad is None else None
                found.append((name, known or _not_seen(name, wrong, "give the function that computes the loss instead of the "
                                                       "loss: it is then run under the watch.")))
    if found:
        what = f"{len(found)} of {count_of(len(parameters), 'parameter')}"
        raise AssertionError("\n\n".join([f"{type(model).__name__} does not train: {what}", *map(str, together(found))]))


@contextmanager
def _same_random_numbers() -> Iterator[None]:
    """Random numbers go on afterwards as if nothing had been drawn."""
    plain, numpy = random.getstate(), np.random.get_state()
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
    with torch.random.fork_rng(devices):
        try:
            yield
        finally:
            random.setstate(plain)
            np.random.set_state(numpy)
