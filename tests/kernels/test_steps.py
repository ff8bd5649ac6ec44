"""Steps of optimizers by kernels against the same steps by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import whygrad
from whygrad import kernels
from whygrad.kernels import host, steps

OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("Adam", {}), ("Adam", {"amsgrad": True, "weight_decay": 0.1}), ("AdamW", {"maximize": True}), ("Adamax", {}), ("NAdam", {}),
    ("RAdam", {}), ("Adagrad", {"lr_decay": 0.1}), ("Adadelta", {}), ("ASGD", {}), ("RMSprop", {"centered": True}),
    ("Rprop", {}), ("SGD", {}), ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
]


def parameters_after(name: str, options: dict[str, Any]) -> tuple[Any, int]:
    """After a few steps with changing learning rates; and how many kernels were asked for."""
    rng = np.random.default_rng(0)
    p = whygrad.tensor(rng.standard_normal((30, 7)).astype("f4"), requires_grad=True)
    optimizer = getattr(whygrad.optim, name)([p], lr=0.1, **options)
    before = host.counted[0]
    for lr in (0.1, 0.1, 0.05, 0.0, 0.2, 0.1):
        optimizer.param_groups[0]["lr"] = lr
        p.grad = whygrad.tensor(rng.standard_normal((30, 7)).astype("f4"))
        optimizer.step()
    return p.detach().numpy(), host.counted[0] - before


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
def test_like_numpy(name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "is_hot", lambda size: False)
    expected, _ = parameters_after(name, options)
    monkeypatch.setattr(kernels, "is_hot", lambda size: True)
    found, native = parameters_after(name, options)
    assert native >= 6
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-7)


def test_other_numbers_are_the_same_kernel() -> None:
    def update(xp: Any, numbers: Any, p: Any, g: Any) -> None:
        p -= numbers["lr"] * g

    first, second = (steps.make_step(update, {"lr": lr}, 2) for lr in (0.5, 0.25))
    assert first is not None
    assert second is not None
    assert first.function is second.function
    assert (first.values, second.values) == ([0.5], [0.25])


@pytest.mark.parametrize("update", [
    lambda xp, numbers, p, g: p.__setitem__(0, g), lambda xp, numbers, p, g: p.__iadd__(g.sum()),
    lambda xp, numbers, p, g: p if p > 0 else g, lambda xp, numbers, p, g: p.__iadd__(np.ones(3)),
], ids=["a part", "a sum", "a branch", "another array"])
def test_what_cannot_be_written_down(update: Any) -> None:
    assert steps.make_step(update, {}, 2) is None
