"""nn.init against torch: the same seed gives the same numbers."""

from __future__ import annotations

import contextlib
import math
import warnings
from typing import Any

import pytest
import torch
from oracle import assert_same, same_error

import whygrad
import whygrad.nn

SHAPES = [(3,), (2, 3), (5, 4), (40, 30), (3, 4, 2), (4, 2, 3, 3), (2, 2, 2, 2, 3)]
CALLS = [
    "uniform_(t)", "uniform_(t, -1, 3)", "normal_(t)", "normal_(t, 1.0, 0.1)", "constant_(t, 2.5)", "ones_(t)",
    "zeros_(t)", "eye_(t)", "dirac_(t)", "dirac_(t, 2)", "xavier_uniform_(t)", "xavier_uniform_(t, gain=2.0)",
    "xavier_normal_(t, 0.5)", "kaiming_uniform_(t)", "kaiming_uniform_(t, a=math.sqrt(5))",
    "kaiming_uniform_(t, mode='fan_out', nonlinearity='relu')", "kaiming_normal_(t)",
    "kaiming_normal_(t, mode='fan_out', nonlinearity='selu')", "trunc_normal_(t)",
    "trunc_normal_(t, 0.5, 2.0, -1.0, 1.0)", "trunc_normal_(t, 0.0, 1.0, 1.5, 2.0)",
    "trunc_normal_(t, 0.0, 1.0, 5.0, 6.0)", "orthogonal_(t)", "orthogonal_(t, gain=2.0)", "sparse_(t, 0.3)",
    "kaiming_uniform_(t, mode='q')", "kaiming_uniform_(t, nonlinearity='q')", "uniform(t)", "xavier_normal(t)",
    "normal_(t, generator=g)", "kaiming_normal_(t, generator=g)", "orthogonal_(t, generator=g)",
]


def run(m: Any, call: str, shape: tuple[int, ...], dtype: str) -> Any:
    m.manual_seed(11)
    t = m.nn.Parameter(m.empty(shape, dtype=getattr(m, dtype)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = eval(f"m.nn.init.{call}", {"m": m, "t": t, "g": m.Generator().manual_seed(4), "math": math})
    return [result is t, t, m.rand(1), [str(w.message) for w in caught]]


@pytest.mark.parametrize("call", CALLS)
def test_same_numbers(call: str) -> None:
    for shape in SHAPES:
        for dtype in ("float32", "float64"):
            try:
                theirs = run(torch, call, shape, dtype)
            except Exception:
                same_error(lambda: run(torch, call, shape, dtype), lambda: run(whygrad, call, shape, dtype))
            else:
                # QR in single precision differs in the last digits.
                tolerance = 1e-4 if dtype == "float32" else None
                assert_same(theirs, run(whygrad, call, shape, dtype), f"{call} {shape}", rtol=tolerance)


def test_nothing_to_initialise() -> None:
    for call in ("kaiming_uniform_(t)", "kaiming_normal_(t)", "orthogonal_(t)"):
        assert_same(run(torch, call, (0, 3), "float32"), run(whygrad, call, (0, 3), "float32"))


GAINS = ["'linear'", "'conv2d'", "'sigmoid'", "'tanh'", "'relu'", "'leaky_relu'", "'selu'", "'leaky_relu', 0.3",
         "'leaky_relu', True", "'leaky_relu', 'a'", "'nonsense'"]


@pytest.mark.parametrize("arguments", GAINS)
def test_calculate_gain(arguments: str) -> None:
    def gain(m: Any) -> Any:
        return eval(f"m.nn.init.calculate_gain({arguments})", {"m": m})

    same_error(lambda: gain(torch), lambda: gain(whygrad))
    with contextlib.suppress(ValueError):
        assert gain(torch) == gain(whygrad)
