"""Memory: graphs go without the cycle collector, saved values go with backward, loops do not grow."""

from __future__ import annotations

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import whygrad as torch


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def step(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    h = (x @ w).relu()
    v = h[1:].reshape(-1)
    buffer = torch.zeros(3, 3)
    buffer[0] = v[:3]
    out = (v.sum() * 2 + buffer.mean() + h.split(2)[0].sum()).tanh()
    out.backward()
    return out


def test_a_graph_leaves_no_cycles(no_collector: None) -> None:
    w = torch.ones(3, 3, requires_grad=True)
    x = torch.ones(4, 3)
    step(w, x)
    w.grad = None
    gc.collect()
    loss = step(w, x)
    node = weakref.ref(loss.grad_fn)
    del loss
    assert node() is None
    gc.collect()
    step(w, x)
    assert gc.collect() == 0


def test_backward_frees_what_it_saved(no_collector: None) -> None:
    x = torch.ones(1000, requires_grad=True)
    y = x * 2
    saved = weakref.ref(y._array)
    loss = (y * y).sum()
    del y
    assert saved() is not None
    loss.backward()
    assert saved() is None


def test_retain_graph_keeps_it(no_collector: None) -> None:
    x = torch.ones(10, requires_grad=True)
    y = x * 2
    saved = weakref.ref(y._array)
    loss = (y * y).sum()
    del y
    loss.backward(retain_graph=True)
    assert saved() is not None
    loss.backward()
    assert saved() is None


def test_detached_values_do_not_keep_the_graph(no_collector: None) -> None:
    x = torch.ones(10, requires_grad=True)
    loss = (x * 2).sum()
    node = weakref.ref(loss.grad_fn)
    kept = loss.detach()
    del loss
    assert node() is None
    assert kept.item() == 20


def growth(run, warm: int, count: int) -> int:
    """Bytes that `count` further calls leave behind. The first ones are enough for rows to be compiled."""
    for _ in range(warm):
        run()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(count):
        run()
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return after - before


def test_a_training_loop_does_not_grow() -> None:
    w = torch.ones(4, 4, requires_grad=True)
    x = torch.ones(2, 4)

    def run() -> None:
        loss = ((x @ w).relu() * 0.1).sum()
        loss.backward()
        with torch.no_grad():
            w.sub_(w.grad, alpha=0.001)
        w.grad = None

    assert growth(run, 400, 2000) < 10_000


def test_a_chain_without_history_does_not_grow() -> None:
    state = {"y": torch.ones(4, requires_grad=True).detach(), "w": torch.ones(4, requires_grad=True)}

    def run() -> None:
        with torch.no_grad():
            state["y"] = state["y"] * state["w"] + 0.0

    assert growth(run, 400, 5000) < 10_000


@pytest.mark.parametrize("length", [1_000_000])
def test_a_million_nodes(length: int) -> None:
    """Built, walked and freed without recursion."""
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(length):
        y = y + 1.0
    y.backward()
    assert x.grad is not None
    assert x.grad.item() == 1.0
    del y


def test_gradients_are_the_users_own() -> None:
    """Writing into one gradient must not change another, nor the gradient that was passed in."""
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    seed = torch.ones(3)
    (a + b).backward(seed)
    assert a.grad is not None
    assert b.grad is not None
    a.grad.mul_(5)
    np.testing.assert_array_equal(b.grad.numpy(), np.ones(3))
    np.testing.assert_array_equal(seed.numpy(), np.ones(3))
    e = torch.ones(1, requires_grad=True)
    e.expand(3).sum().backward()
    assert e.grad is not None
    e.grad.add_(1)
