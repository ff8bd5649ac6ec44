"""LBFGS against torch: the same path, the same number of evaluations, the same state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import whygrad
from whygrad import optim

PROBLEMS: dict[str, Any] = {
    "bowl": lambda x, y: (x * x).sum() + ((y - 3.0) * (y - 3.0) * 4.0).sum() + (x.sum() - y.sum()) ** 2,
    "valley": lambda x, y: ((y.sum() - x * x) * (y.sum() - x * x) * 10.0).sum() + ((1.0 - x) * (1.0 - x)).sum(),
}

OPTIONS: list[dict[str, Any]] = [
    {},
    {"lr": 0.3, "max_iter": 7},
    {"history_size": 3, "max_iter": 12},
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "history_size": 2, "max_iter": 30, "lr": 0.5},
    {"line_search_fn": "strong_wolfe", "max_eval": 5},
    {"tolerance_grad": 1e-1},
    {"tolerance_change": 1e-1, "line_search_fn": "strong_wolfe"},
]


def closure_for(problem: Any, optimizer: Any, x: Any, y: Any, losses: list[float]) -> Any:
    def closure() -> Any:
        optimizer.zero_grad()
        loss = problem(x, y)
        loss.backward()
        losses.append(loss.item())
        return loss

    return closure


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_same_path(problem: str, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    starts = [rng.standard_normal((2, 2)) * 0.5, rng.standard_normal(3)]
    runs = []
    for library in (torch, whygrad):
        x, y = [library.from_numpy(a.copy()).requires_grad_() for a in starts]
        optimizer = library.optim.LBFGS([x, y], **options)
        losses: list[float] = []
        returned = [optimizer.step(closure_for(PROBLEMS[problem], optimizer, x, y, losses)).item() for _ in range(3)]
        runs.append((losses, returned, optimizer.state[x]))
    (their_losses, their_returned, theirs), (our_losses, our_returned, ours) = runs
    np.testing.assert_allclose(our_losses, their_losses, rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(our_returned, their_returned, rtol=1e-6, atol=1e-10)
    assert set(theirs) == set(ours)
    assert theirs["func_evals"] == ours["func_evals"]
    assert theirs["n_iter"] == ours["n_iter"]
    assert len(theirs["old_dirs"]) == len(ours["old_dirs"])
    for name in ("d", "prev_flat_grad"):
        np.testing.assert_allclose(ours[name]._array, theirs[name].numpy(), rtol=1e-4, atol=1e-8)


def test_complex_and_missing_gradients() -> None:
    results = []
    for library in (torch, whygrad):
        x = library.from_numpy(np.array([1 + 2j, -1j])).requires_grad_()
        unused = library.from_numpy(np.array([5.0])).requires_grad_()
        optimizer = library.optim.LBFGS([x, unused], lr=0.4, max_iter=4)

        def closure() -> Any:
            x.grad = library.from_numpy(2 * (x.detach().numpy() - np.array([1j, 3.0])))
            return float((abs(x.detach().numpy() - np.array([1j, 3.0])) ** 2).sum())

        optimizer.step(closure)
        results.append((x.detach().numpy(), unused.detach().numpy()))
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_state_goes_on_after_loading() -> None:
    start = np.array([1.5, -0.7])
    x = whygrad.from_numpy(start.copy()).requires_grad_()
    y = whygrad.from_numpy(np.array([0.2])).requires_grad_()
    optimizer = optim.LBFGS([x, y], max_iter=3)
    losses: list[float] = []
    optimizer.step(closure_for(PROBLEMS["valley"], optimizer, x, y, losses))
    x2, y2 = [whygrad.from_numpy(t._array.copy()).requires_grad_() for t in (x, y)]
    resumed = optim.LBFGS([x2, y2], max_iter=3)
    resumed.load_state_dict(optimizer.state_dict())
    resumed_losses: list[float] = []
    losses.clear()
    optimizer.step(closure_for(PROBLEMS["valley"], optimizer, x, y, losses))
    resumed.step(closure_for(PROBLEMS["valley"], resumed, x2, y2, resumed_losses))
    assert losses == resumed_losses


@pytest.mark.parametrize("make", [
    lambda library, p: library.optim.LBFGS([{"params": [p]}, {"params": [p.clone().detach()]}]),
    lambda library, p: library.optim.LBFGS([p], lr=-1),
    lambda library, p: library.optim.LBFGS([p], line_search_fn="golden").step(lambda: (p * p).sum().backward() or 1.0),
], ids=["groups", "lr", "search"])
def test_errors(make: Any) -> None:
    texts = []
    for library in (torch, whygrad):
        with pytest.raises((ValueError, RuntimeError)) as caught:
            make(library, library.tensor([1.0], requires_grad=True))
        texts.append((caught.type, str(caught.value)))
    assert texts[0] == texts[1]
