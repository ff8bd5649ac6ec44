"""Random smooth programs: derivatives in both directions, of all orders, and batches agree with each other and with torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.func
from hypothesis import given, settings
from hypothesis import strategies as st

import whygrad
import whygrad.func

# torch loads its own rules for forward mode with a deprecated function.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")

SIZE = 4
MATRIX = np.random.default_rng(5).normal(size=(SIZE, SIZE)) / 2

# From vectors of SIZE numbers to such vectors; `t` is the library.
UNARY: dict[str, Callable[[Any, Any], Any]] = {
    "sin": lambda t, x: x.sin(),
    "tanh": lambda t, x: x.tanh(),
    "sigmoid": lambda t, x: x.sigmoid(),
    "exp": lambda t, x: (x / 3).exp(),
    "square": lambda t, x: x * x / 2,
    "softplus": lambda t, x: t.nn.functional.softplus(x),
    "gelu": lambda t, x: t.nn.functional.gelu(x),
    "inverse": lambda t, x: 1 / (2 + x * x),
    "sum": lambda t, x: x + x.sum(),
    "mean": lambda t, x: x - x.mean(),
    "norm": lambda t, x: x / (1 + x.norm()),
    "softmax": lambda t, x: x.softmax(0) * 3,
    "log_softmax": lambda t, x: x.log_softmax(0),
    "logsumexp": lambda t, x: x - x.logsumexp(0),
    "cumsum": lambda t, x: x.cumsum(0) / 2,
    "flip": lambda t, x: x.flip(0),
    "matrix": lambda t, x: t.tensor(MATRIX) @ x,
    "linear": lambda t, x: t.nn.functional.linear(x.unsqueeze(0), t.tensor(MATRIX)).squeeze(0),
    "outer": lambda t, x: t.outer(x, x.cos()).sum(0),
    "reshaped": lambda t, x: (x.view(2, 2) @ x.view(2, 2).t()).reshape(4),
    "slices": lambda t, x: t.cat([x[2:] * x[:2], x[::2].sin()]),
    "index": lambda t, x: x[t.tensor([3, 0, 0, 2])],
    "stacked": lambda t, x: t.stack([x, x.sin()]).prod(0),
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, (SIZE,)),
    "written": lambda t, x: _written(x),
    "clamped": lambda t, x: t.logaddexp(x, -x),
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b / 2,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / (1.5 + b * b),
}


def _written(x: Any) -> Any:
    y = x.clone()
    y[1:3] = x[:2] * x[2:]
    y[0].mul_(2)
    return y


Step = tuple[str, int, int]
steps = st.lists(st.tuples(st.sampled_from([*UNARY, *BINARY]), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=5)
values = st.lists(st.floats(-1.5, 1.5, width=32), min_size=SIZE, max_size=SIZE).map(np.array)
batches = st.lists(values, min_size=2, max_size=3).map(np.stack)


def program(t: Any, steps: list[Step]) -> Callable[[Any], Any]:
    """Each step takes one or two of the latest values; the last value is the result."""

    def run(x: Any) -> Any:
        known = [x]
        for name, i, j in steps:
            a, b = known[-1 - i % len(known)], known[-1 - j % len(known)]
            known.append(UNARY[name](t, a) if name in UNARY else BINARY[name](a, b))
        return known[-1]

    return run


def numeric(f: Callable[[Any], Any], x: np.ndarray, step: float = 1e-5) -> np.ndarray:
    columns = []
    for i in range(x.size):
        moved = np.eye(x.size)[i] * step
        ends = [f(whygrad.tensor(x + sign * moved))._array for sign in (1, -1)]
        columns.append((ends[0] - ends[1]) / (2 * step))
    return np.stack(columns, -1)


def same(ours: Any, expected: Any, rtol: float = 1e-8) -> None:
    # torch's lazy zeros have no memory unless it is forced.
    ours, expected = (x.detach().numpy(force=True) if hasattr(x, "detach") else x for x in (ours, expected))
    scale = 1 + np.abs(expected).max(initial=0)
    np.testing.assert_allclose(ours, expected, rtol=rtol, atol=rtol * scale)


@settings(max_examples=60)
@given(steps, values)
def test_jacobians_agree(steps: list[Step], x: np.ndarray) -> None:
    f = program(whygrad, steps)
    forward, reverse = whygrad.func.jacfwd(f)(whygrad.tensor(x)), whygrad.func.jacrev(f)(whygrad.tensor(x))
    same(forward, reverse)
    same(forward, numeric(f, x), rtol=1e-5)
    same(forward, torch.func.jacrev(program(torch, steps))(torch.tensor(x)))


@settings(max_examples=40)
@given(steps, values)
def test_hessians_are_symmetric(steps: list[Step], x: np.ndarray) -> None:
    hessian = whygrad.func.hessian(lambda x: program(whygrad, steps)(x).sum())(whygrad.tensor(x))
    same(hessian, hessian.t())
    same(hessian, torch.func.hessian(lambda x: program(torch, steps)(x).sum())(torch.tensor(x)), rtol=1e-7)
    F = whygrad.func
    for other in (F.jacrev(F.jacrev(lambda x: program(whygrad, steps)(x).sum())),
                  F.jacfwd(F.jacfwd(lambda x: program(whygrad, steps)(x).sum()))):
        same(other(whygrad.tensor(x)), hessian, rtol=1e-7)


@settings(max_examples=60)
@given(steps, batches)
def test_vmap_is_a_stack_of_elements(steps: list[Step], x: np.ndarray) -> None:
    f = program(whygrad, steps)
    together, apart = whygrad.tensor(x, requires_grad=True), whygrad.tensor(x, requires_grad=True)
    batch, stack = whygrad.func.vmap(f)(together), whygrad.stack([f(row) for row in apart])
    same(batch, stack)
    weights = whygrad.tensor(np.linspace(0.5, 1.5, x.size).reshape(x.shape))
    for y in (batch, stack):
        (y * weights).sum().backward()
    same(together.grad, apart.grad)
    rows = whygrad.func.vmap(whygrad.func.grad(lambda x: f(x).sum()))(whygrad.tensor(x))
    same(rows, whygrad.stack([whygrad.func.grad(lambda x: f(x).sum())(row) for row in whygrad.tensor(x)]))


@settings(max_examples=25)
@given(steps, values, st.lists(st.sampled_from(["jacfwd", "jacrev"]), min_size=2, max_size=2))
def test_third_derivatives(steps: list[Step], x: np.ndarray, order: list[str]) -> None:
    def derivative(t: Any) -> Any:
        f = t.func.grad(lambda x: program(t, steps)(x).sum())
        for name in order:
            f = getattr(t.func, name)(f)
        return f(t.tensor(x))

    same(derivative(whygrad), derivative(torch), rtol=1e-6)


@settings(max_examples=25)
@given(steps, values)
def test_linearize_is_jvp(steps: list[Step], x: np.ndarray) -> None:
    f = program(whygrad, steps)
    output, push = whygrad.func.linearize(f, whygrad.tensor(x))
    for direction in np.eye(SIZE)[:2]:
        value, change = whygrad.func.jvp(f, (whygrad.tensor(x),), (whygrad.tensor(direction),))
        same(output, value)
        same(push(whygrad.tensor(direction)), change)
