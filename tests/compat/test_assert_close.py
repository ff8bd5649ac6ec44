"""torch.testing.assert_close: same verdict and same message as torch's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.testing

import whygrad
import whygrad.testing

CASES: list[Callable[[Any, Any], Any]] = [
    lambda t, close: close(t.tensor([1.0, 2.0, 3.0]), t.tensor([1.0, 2.0, 4.0])),
    lambda t, close: close(t.tensor([1.0, 2.0]), t.tensor([1.0, 2.0])),
    lambda t, close: close(t.tensor([1, 2]), t.tensor([1, 3])),
    lambda t, close: close(t.tensor([1.0]), t.tensor([1.0], dtype=t.float64)),
    lambda t, close: close(t.tensor([1.0]), t.tensor([1.0], dtype=t.float64), check_dtype=False),
    lambda t, close: close(t.tensor([1.0]), t.tensor([1.0, 2.0])),
    lambda t, close: close(1, 2),
    lambda t, close: close(1.0, 1.1),
    lambda t, close: close(1.0, 1),
    lambda t, close: close(1 + 1j, 1 + 2j),
    lambda t, close: close(math.nan, math.nan),
    lambda t, close: close(True, False),
    lambda t, close: close([t.tensor(1.0)], [t.tensor(2.0)]),
    lambda t, close: close([[t.tensor(1.0)], 2], [[t.tensor(1.0)], 3]),
    lambda t, close: close({"a": 1}, {"a": 2}),
    lambda t, close: close({"a": 1}, {"b": 1}),
    lambda t, close: close({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}),
    lambda t, close: close([1, 2], [1]),
    lambda t, close: close(t.tensor(1.0), t.tensor(2.0)),
    lambda t, close: close(t.tensor([math.nan]), t.tensor([math.nan])),
    lambda t, close: close(t.tensor([math.nan]), t.tensor([math.nan]), equal_nan=True),
    lambda t, close: close(t.tensor([1.0, math.inf]), t.tensor([1.0, -math.inf])),
    lambda t, close: close(t.tensor([math.inf]), t.tensor([math.inf])),
    lambda t, close: close(np.array([1.0]), np.array([2.0])),
    lambda t, close: close(np.float32(1), np.float32(2)),
    lambda t, close: close(t.tensor([True]), t.tensor([False])),
    lambda t, close: close("a", "b"),
    lambda t, close: close(None, None),
    lambda t, close: close(None, 1),
    lambda t, close: close(t.tensor([1.0]), t.tensor([1.1]), rtol=0.2, atol=0),
    lambda t, close: close(t.tensor([1.0]), t.tensor([1.1]), rtol=0.2),
    lambda t, close: close(t.tensor([1.0]), t.tensor([3.0]), msg="hello"),
    lambda t, close: close(t.tensor([1.0]), t.tensor([3.0]), msg=lambda m: "H " + m),
    lambda t, close: close(t.ones(2, requires_grad=True), t.nn.Parameter(t.ones(2))),
    lambda t, close: close(t.ones(2, 3), t.ones(3, 2).t(), check_stride=True),
    lambda t, close: close(t.ones(2, 3), t.ones(3, 2).t()),
    lambda t, close: close(t.tensor([1 + 1j]), t.tensor([1 + 2j])),
    lambda t, close: close(t.tensor([1.0], dtype=t.bfloat16), t.tensor([2.0], dtype=t.bfloat16)),
    lambda t, close: close(t.tensor([1.0]), t.tensor([1.0 + 1e-6]), rtol=0, atol=0),
    lambda t, close: close(t.tensor([]), t.tensor([])),
    lambda t, close: close(t.tensor([[1.0, 2.0], [3.0, 4.0]]), t.tensor([[1.0, 2.0], [9.0, 4.0]]), rtol=0, atol=0),
    lambda t, close: close(t.tensor([5]), t.tensor([7]), rtol=0, atol=1),
    lambda t, close: close(t.tensor([255], dtype=t.uint8), t.tensor([1], dtype=t.uint8)),
]


@pytest.mark.parametrize("case", CASES)
def test_same_verdict_and_message(case: Callable[[Any, Any], Any]) -> None:
    outcomes = []
    for side in (torch, whygrad):
        try:
            outcomes.append(case(side, side.testing.assert_close))
        except Exception as error:
            outcomes.append((type(error), str(error)))
    assert outcomes[0] == outcomes[1]
