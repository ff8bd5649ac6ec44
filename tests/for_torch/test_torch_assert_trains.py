"""`why.assert_trains(model, loss, batch)`: it fails with the cause, and changes nothing."""

from __future__ import annotations

import copy
import functools
import gc
import random
from typing import Any

import numpy as np
import pytest
import torch
from test_torch_api import Net, data, everything_of_torch, state
from torch import nn

import whygrad.for_torch as why
from whygrad.for_torch import recording, tensor_facts


def of_net(net: nn.Module, loss: Any = None, **options: Any) -> None:
    why.assert_trains(net, loss or nn.MSELoss(), data(), **options)


class Tied(nn.Module):
    """Takes keyword arguments, and returns what transformers' models do."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.out = nn.Embedding(7, 5), nn.Linear(5, 7, bias=False)
        self.out.weight = self.words.weight

    def forward(self, ids: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"loss": nn.functional.cross_entropy(self.out(self.words(ids)).flatten(0, 1), labels.flatten())}


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.norm, self.head = nn.LSTM(4, 6, num_layers=2, batch_first=True), nn.LayerNorm(6), nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out, _ = self.lstm(x)
        return self.head(self.norm(out[:, -1]))


class LowRank(nn.Module):
    """One factor is zero at first, so the other's gradient is zero in the first step."""

    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(4, 1).requires_grad_(False)
        self.a, self.b = nn.Parameter(torch.randn(2, 4)), nn.Parameter(torch.zeros(1, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + x @ self.a.T @ self.b.T


CONVOLUTIONS = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                             nn.Linear(4, 3))
CLASSES = torch.tensor([0, 1, 2, 1, 0, 2])
ENCODER = nn.Sequential(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), nn.Flatten(), nn.Linear(24, 3))


@pytest.mark.parametrize(("model", "loss", "batch", "options"), [
    (Net, nn.MSELoss(), data, {}),
    (Net, nn.MSELoss(), data, {"steps": 12}),
    (Net, nn.MSELoss(), data, {"optimizer": functools.partial(torch.optim.SGD, lr=0.1)}),
    (Net, lambda net: net(data()[0]).pow(2).mean(), None, {}),
    (Net, lambda out: out.pow(2).mean(), lambda: data()[0], {"steps": 1}),
    (Tied, lambda out: out["loss"], lambda: {"ids": torch.randint(7, (3, 4)), "labels": torch.randint(7, (3, 4))}, {}),
    (Recurrent, nn.CrossEntropyLoss(), lambda: (torch.randn(6, 5, 4), CLASSES), {}),
    (LowRank, nn.MSELoss(), data, {}),
    (lambda: CONVOLUTIONS, nn.CrossEntropyLoss(), lambda: (torch.randn(6, 1, 8, 8), CLASSES), {"steps": 8}),
    (lambda: ENCODER, nn.CrossEntropyLoss(), lambda: [torch.randn(6, 3, 8), CLASSES], {"steps": 8}),
])
def test_a_model_that_trains(model: Any, loss: Any, batch: Any, options: dict[str, Any]) -> None:
    why.assert_trains(model(), loss, None if batch is None else batch(), **options)


@pytest.mark.parametrize("is_on", [False, True])
@pytest.mark.parametrize(("fault", "category", "expression", "names"), [
    ("detach", "detach", "h.detach()", "`a.weight` and `a.bias`"),
    ("copy", "value-copied-out", "h.tolist()", "`a.weight` and `a.bias`"),
    ("zero", "zero-factor", "h * 0.0", "`a.weight`, `a.bias` and `b.weight`"),
    ("nan", "nan-derivative", "torch.sqrt(h - h)", "`a.weight` and `a.bias`"),
    ("unused", "unused-in-loss", "of_net(Net(fault))", "`c.weight` and `c.bias`"),
    ("no_grad", "grad-mode-off", "self.b(h)", "RuntimeError in a step"),
])
def test_a_model_that_does_not(fault: str, category: str, expression: str, names: str, is_on: bool) -> None:
    if is_on:
        why.on()
    try:
        with pytest.raises(AssertionError) as caught:
            why.assert_trains(Net(fault), nn.MSELoss(), data())
    finally:
        elsewhere = why.off()
    text = str(caught.value)
    assert text.startswith("Net does not train: ")
    assert f"[{category}]" in text
    assert names in text
    assert text.count(" fix: ") == 1
    if fault != "unused":
        assert f"    cause: {__file__.replace('assert_trains', 'api')}" in text
        assert expression in text
    assert elsewhere == []


def test_a_recording_hears_nothing_of_the_copies() -> None:
    net, before = Net(), tensor_facts.count()
    why.on()
    of_net(net)
    watch = recording._current.watch  # type: ignore[union-attr]
    assert watch.audit.optimizers == {}
    assert list(watch.reached) == []
    assert why.off() == []
    gc.collect()
    assert tensor_facts.count() <= before + 2  # the batch


@pytest.mark.parametrize(("options", "category"), [
    ({"optimizer": lambda parameters: torch.optim.SGD(parameters, lr=0.0)}, "learning-rate-zero"),
    ({"optimizer": lambda parameters: torch.optim.SGD(parameters, lr=1e-12)}, "update-too-small"),
    ({"optimizer": lambda parameters: torch.optim.SGD(parameters[:2], lr=0.1)}, "not-in-optimizer"),
])
def test_an_optimizer_that_does_not_train_it(options: Any, category: str) -> None:
    with pytest.raises(AssertionError, match=rf"\[{category}\]"):
        of_net(Net(), **options)


def test_an_optimizer_of_the_program() -> None:
    net = Net()
    optimizer = torch.optim.Adam(net.a.parameters(), lr=0.01)
    state_before = copy.deepcopy(optimizer.state_dict())
    with pytest.raises(AssertionError, match=r"`b.weight` and `b.bias`: .*\[not-in-optimizer\]"):
        of_net(net, optimizer=optimizer)
    assert optimizer.state_dict() == state_before
    of_net(net, optimizer=torch.optim.Adam(net.parameters(), lr=0.01))


def test_errors_of_the_program_stay() -> None:
    with pytest.raises(LookupError, match="of the program"):
        of_net(Net("error"))
    with pytest.raises(ValueError, match="steps must be at least 1, not 0"):
        of_net(Net(), steps=0)
    with pytest.raises(AssertionError, match="none of its parameters requires grad"):
        of_net(Net().requires_grad_(False))


@pytest.mark.parametrize("fault", ["", "detach", "no_grad", "error"])
def test_nothing_is_changed(fault: str) -> None:
    net = nn.Sequential(nn.BatchNorm1d(4), Net(fault))
    before = copy.deepcopy(net.state_dict())
    why.assert_trains(Net(), nn.MSELoss(), data())  # what torch makes at the first use
    torch_before, outside = everything_of_torch(), state()

    def loss(out: Any, target: Any) -> Any:
        random.random()
        np.random.rand()
        return nn.functional.mse_loss(out, target)

    batch = data()
    numbers = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    try:
        why.assert_trains(net, loss, batch)
    except (AssertionError, LookupError):
        assert fault
    else:
        assert not fault
    assert torch.equal(torch.get_rng_state(), numbers[0])
    assert (random.getstate(), np.random.get_state()[1].tolist()) == numbers[1:]
    assert all(torch.equal(value, net.state_dict()[name]) for name, value in before.items())
    assert all(p.grad is None for p in net.parameters())
    assert state() == outside
    after = everything_of_torch()
    assert {key for key, value in torch_before.items() if after.get(key) != value} == set()


@pytest.mark.parametrize(("fault", "recorded", "category"), [
    ("", True, ""), ("", False, ""), ("detach", True, "detach"), ("detach", False, "not-seen"),
    ("unused", True, "unused-in-loss"), ("unused", False, "not-seen"), ("zero", True, "not-seen"), ("nan", False, "not-seen"),
])
def test_a_loss_that_is_computed_already(fault: str, recorded: bool, category: str) -> None:
    if recorded:
        why.on()
    try:
        net, (x, y) = Net(fault), data()
        loss = nn.functional.mse_loss(net(x), y)
        if category:
            with pytest.raises(AssertionError, match=rf"\[{category}\]"):
                why.assert_trains(net, loss)
        else:
            why.assert_trains(net, loss)
        assert all(p.grad is None for p in net.parameters())
        loss.backward()  # the graph is still there
    finally:
        why.off()
