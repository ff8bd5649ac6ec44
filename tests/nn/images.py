"""What the tests of convolution, pooling and resampling share."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import torch
from oracle import assert_same, outcome

import whygrad
import whygrad.nn

rng = np.random.default_rng(4)


def f(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape)


def f32(*shape: int) -> np.ndarray:
    return f(*shape).astype(np.float32)


def seen(m: Any, constructor: str, arrays: tuple[np.ndarray, ...]) -> list[Any]:
    """Everything that shows of one module: made from a seed, run forward and backward, copied."""
    m.manual_seed(3)
    layer = eval(f"m.nn.{constructor}", {"m": m})
    given = [m.from_numpy(a.copy()) for a in arrays]
    for t in given:
        if t.is_floating_point():
            t.requires_grad_()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        first = repr(layer)
        out = layer(*given)
        leaves = [t for t in (*given, *layer.parameters()) if t.requires_grad]
        total = sum([(t * t).sum() for t in (out if isinstance(out, tuple) else (out,)) if t.requires_grad])
        gradients = m.autograd.grad(total, leaves, allow_unused=True)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert repr(other) == repr(layer)
    messages = [str(w.message).partition(" (Triggered")[0] for w in caught]
    return [first, repr(layer), type(layer).__name__, list(layer.state_dict()), list(layer.state_dict().values()), out,
            gradients, messages]


def check_module(constructor: str, *arrays: np.ndarray) -> None:
    assert_same(seen(torch, constructor, arrays), seen(whygrad, constructor, arrays), rtol=1e-4)


def names(m: Any) -> dict[str, Any]:
    m.manual_seed(0)
    shapes = {"x": (2, 4, 8, 8), "x1": (2, 4, 8), "x3": (2, 4, 4, 4, 4)}
    return {"m": m, "F": m.nn.functional, "nn": m.nn, "o": m.ones, "w": m.randn(6, 4, 3, 3), "wt": m.randn(4, 6, 3, 3),
            **{name: m.randn(*shape, requires_grad=True) for name, shape in shapes.items()}}


def described(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [described(v) for v in value]
    return tuple(value.shape), str(value.dtype), value.stride()


def same_outcome(expression: str) -> None:
    """The same shape, dtype and strides; or the same error, class and first line."""
    theirs, ours = (outcome(lambda m=m: described(eval(expression, names(m)))) for m in (torch, whygrad))
    assert theirs == ours
