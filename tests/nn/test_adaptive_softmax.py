"""AdaptiveLogSoftmaxWithLoss against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from oracle import assert_same, same_error

import whygrad
import whygrad.nn


def made(m: Any, arguments: str) -> Any:
    m.manual_seed(4)
    return eval(f"m.nn.AdaptiveLogSoftmaxWithLoss({arguments})", {"m": m})


@pytest.mark.parametrize("arguments", ["16, 20, [5, 10]", "16, 20, (4, 10, 15), 2.0, True", "16, 20, [5], dtype=m.float64"])
@pytest.mark.parametrize("targets", [[0, 6, 19, 3, 12], [0, 1, 2], [17, 11], [7]])
def test_module(arguments: str, targets: list[int]) -> None:
    def life(m: Any) -> Any:
        layer = made(m, arguments)
        x = m.randn(len(targets), 16, dtype=layer.head.weight.dtype, requires_grad=True)
        output, loss = layer(x, m.tensor(targets))
        gradients = m.autograd.grad(loss, [x, *layer.parameters()], allow_unused=True)
        alone = layer(x[0], m.tensor(targets[0]))
        return [repr(layer), list(layer.state_dict().items()), output, loss, gradients, alone.output, alone.loss,
                layer.log_prob(x), layer.predict(x), layer.predict(10 * x), type(alone).__name__]

    assert_same(life(torch), life(whygrad), rtol=1e-5)


@pytest.mark.parametrize("arguments", ["16, 20, []", "16, 20, [5, 5]", "16, 20, [10, 5]", "16, 20, [0, 5]", "16, 20, [20]",
                                       "16, 20, [1.5]"])
def test_wrong_cutoffs(arguments: str) -> None:
    same_error(lambda: made(torch, arguments), lambda: made(whygrad, arguments))


@pytest.mark.parametrize("call", ["m.ones(2, 16), m.tensor([1])", "m.ones(1, 1, 16), m.tensor([1])", "m.ones(1, 16), m.tensor(1)",
                                  "m.ones(1, 16), m.tensor([[1]])", "m.ones(1, 16), m.tensor([20])"])
def test_wrong_inputs(call: str) -> None:
    same_error(*[lambda m=m: eval(f"layer({call})", {"m": m, "layer": made(m, "16, 20, [5]")}) for m in (torch, whygrad)])
