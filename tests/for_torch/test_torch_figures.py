"""Figures of tensors on a device: here those of the CPU are treated as if they were on one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from whygrad.for_torch import figures  # noqa: E402
from whygrad.why import engine  # noqa: E402
from whygrad.why.audit import values  # noqa: E402
from whygrad.why.watch import Watch  # noqa: E402


@pytest.fixture(autouse=True)
def on_torch() -> Iterator[None]:
    before = engine.current
    engine.choose("torch")
    yield
    engine.current = before


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> None:
    move_away(monkeypatch)


def move_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_near(t: Any) -> bool:
        return not isinstance(t, torch.Tensor)

    monkeypatch.setattr("whygrad.for_torch.later.is_near", is_near)
    monkeypatch.setattr("whygrad.for_torch.engine.TorchEngine.is_near", staticmethod(is_near))


TENSORS = {
    "plain": torch.arange(6.0), "transposed": torch.arange(6.0).reshape(2, 3).T, "double": torch.ones(3, dtype=torch.float64),
    "half": torch.full((4,), 3.0, dtype=torch.float16), "brain": torch.full((4,), 3.0, dtype=torch.bfloat16),
    "zero": torch.zeros(3), "tiny": torch.full((3,), 1e-25), "huge": torch.full((3,), 1e25), "nan": torch.tensor([1, torch.nan]),
    "infinite": torch.tensor([1.0, torch.inf]), "empty": torch.zeros(0), "scalar": torch.tensor(2.0), "integer": torch.arange(4),
    "sparse": torch.eye(3).to_sparse(), "leaf": torch.ones(3, requires_grad=True),
}


@pytest.mark.usefixtures("far")
def test_norms_are_those_of_numpy() -> None:
    tensors = list(TENSORS.values())
    for found, t in zip(values.norms(tensors), tensors, strict=True):
        dense = (t.coalesce().values() if t.is_sparse else t).detach().double().numpy()
        assert found == pytest.approx(np.linalg.norm(dense.ravel()), nan_ok=True)


@pytest.mark.usefixtures("far")
def test_distances_and_samples() -> None:
    tensors = [TENSORS[name].clone() for name in ("plain", "transposed", "double", "half", "scalar")]
    copies = engine.copies_of(tensors)
    for t in tensors:
        t += 2
    assert values.distances(tensors, copies) == pytest.approx([2 * t.numel() ** 0.5 for t in tensors])
    long = torch.arange(1000.0)
    for found, t in zip(values.samples([*tensors, long]), [*tensors, long], strict=True):
        assert np.array_equal(found, values.sample(t))


@pytest.mark.parametrize("name", TENSORS)
def test_finite(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    near = values.is_finite(TENSORS[name])
    move_away(monkeypatch)
    assert values.is_finite(TENSORS[name]) == near == (name not in ("nan", "infinite"))


@pytest.mark.parametrize(("g", "state"), [
    (torch.ones(3), "fine"), (torch.zeros(3), "zero"), (torch.tensor([0, torch.nan]), "bad"), (torch.tensor([torch.inf]), "bad"),
    (torch.full((2,), 1e-30), "fine"), (torch.full((2,), 1e30), "fine"), (torch.full((2,), 1e-7, dtype=torch.half), "fine")])
def test_state_of_a_gradient(g: Any, state: str) -> None:
    assert figures.figures_of([g])[0].state == state


def dead(x: Any, w: Any) -> Any:
    return torch.relu(x @ w - 100).sum()


def partly_dead(x: Any, w: Any) -> Any:
    return torch.relu(x @ w).pow(2).sum()


def uniform(x: Any, w: Any) -> Any:
    return torch.softmax(x @ w, 1).sum()


def infinite(x: Any, w: Any) -> Any:
    return (x @ w).abs().sub((x @ w).abs()).sqrt().sum()


def cancelled(x: Any, w: Any) -> Any:
    return (x @ (w - w)).sum()


@pytest.mark.parametrize("loss", [dead, partly_dead, uniform, infinite, cancelled])
def test_same_trace_and_answer_as_on_the_cpu(loss: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def steps() -> tuple[list[Any], list[Any]]:
        torch.manual_seed(0)
        x, w = torch.randn(4, 3), torch.randn(3, 3, requires_grad=True)
        watch = Watch()
        watch.start()
        loss(x, w).backward()
        assert w.grad is not None
        (trace,) = watch.traces_latest_first()
        found = [(type(step.node).__name__, *step[2:]) for step in trace.steps]
        answers = watch.stop()
        assert watch.failures == []
        return found, [(answer.explanation.category, answer.explanation.text) for answer in answers]

    near = steps()
    move_away(monkeypatch)
    assert steps() == near
