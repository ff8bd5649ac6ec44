"""A gradient that nobody else can see may be overwritten by the rule that reads it last; one that somebody sees may not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import whygrad

SIZE = 10_000  # large enough to be compiled at once
VALUES = np.linspace(-2, 2, SIZE, dtype=np.float32)
Result = Any


def shared_by_a_sum(T: Any, x: Any) -> Result:
    """`add` gives both of its arguments one and the same array."""
    (x.sigmoid() + x.tanh()).exp().sum().backward()
    return [x.grad]


def shared_by_many(T: Any, x: Any) -> Result:
    a, b, c = x.sin(), x.exp(), x.tanh()
    ((a + b) + (c + a).sigmoid()).tanh().sum().backward()
    return [x.grad]


def given_by_the_user(T: Any, x: Any) -> Result:
    g = T.full_like(x, 3.0).detach()
    x.exp().sigmoid().backward(g)
    return [x.grad, g]


def given_and_forgotten(T: Any, x: Any) -> Result:
    x.exp().sigmoid().backward(T.from_numpy(VALUES))
    return [x.grad, T.from_numpy(VALUES)]


def kept_by_hooks(T: Any, x: Any) -> Result:
    kept: list[Any] = []
    y = x.exp()
    z = y.sigmoid()
    y.register_hook(kept.append)
    z.register_hook(lambda g: kept.append(g))
    z.grad_fn.register_hook(lambda inputs, outputs: kept.extend([*inputs, *outputs]))
    z.tanh().sum().backward()
    return [x.grad, *kept]


def replaced_by_hooks(T: Any, x: Any) -> Result:
    kept: list[Any] = []
    z = x.exp()
    z.register_hook(lambda g: g * 2)
    z.grad_fn.register_hook(lambda inputs, outputs: kept.extend([*inputs, *outputs]))
    z.sigmoid().sum().backward()
    return [x.grad, *kept]


def retained(T: Any, x: Any) -> Result:
    y = x.exp()
    z = y.sigmoid()
    y.retain_grad(), z.retain_grad()
    z.tanh().square().sum().backward()
    return [x.grad, y.grad, z.grad]


def asked_for(T: Any, x: Any) -> Result:
    y = x.exp()
    z = y.sigmoid()
    return T.autograd.grad(z.tanh().square().sum(), [z, y, x])


def twice(T: Any, x: Any) -> Result:
    y = x.exp().sigmoid().tanh()
    y.sum().backward(retain_graph=True)
    first = x.grad.clone()
    y.sum().backward()
    return [first, x.grad]


def seen_by_a_function(T: Any, x: Any) -> Result:
    kept: list[Any] = []

    class Keeps(T.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            kept.append(g)
            return g

    Keeps.apply(x.exp()).sigmoid().sum().backward()
    return [x.grad, *kept]


CASES: list[Callable[..., Result]] = [shared_by_a_sum, shared_by_many, given_by_the_user, given_and_forgotten, kept_by_hooks,
                                      replaced_by_hooks, retained, asked_for, twice, seen_by_a_function]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_only_what_nobody_sees(case: Callable[..., Result]) -> None:
    case(whygrad, whygrad.tensor(VALUES, requires_grad=True))  # the first time everything is compiled
    theirs, ours = ([y.detach().numpy() for y in case(T, T.tensor(VALUES, requires_grad=True))] for T in (torch, whygrad))
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python does not count every reference any more")
def test_it_does_happen() -> None:
    """The gradient that reaches the beginning of a chain is in the array in which it left the end."""
    places: list[int] = []

    class Looks(whygrad.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            places.append(g.data_ptr())
            return g

    x = whygrad.tensor(VALUES, requires_grad=True)
    for _ in range(2):  # the first time everything is compiled
        Looks.apply(Looks.apply(x * 1).exp().sigmoid().neg()).tanh().sum().backward()
    assert places[2] == places[3]
