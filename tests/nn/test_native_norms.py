"""Normalisations against torch: those that return their statistics, and batch_norm of odd shapes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from oracle import assert_same, check, outcome, same_error

import whygrad

rng = np.random.default_rng(3)


def f(*shape: int) -> np.ndarray:
    return rng.uniform(-2, 2, shape)


def tracked(lib: Any, x: Any, w: Any, b: Any, training: bool) -> Any:
    mean, var = lib.zeros(4, dtype=x.dtype), lib.ones(4, dtype=x.dtype)
    return *lib.native_batch_norm(x, w, b, mean, var, training, 0.3, 1e-5), mean, var


CASES: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
    "batch_norm": (lambda lib, x: lib.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5), [f(3, 4)]),
    "batch_norm affine": (lambda lib, x, w, b: tracked(lib, x, w, b, True), [f(3, 4, 2), f(4), f(4)]),
    "batch_norm eval": (lambda lib, x, w, b: tracked(lib, x, w, b, False), [f(3, 4, 2), f(4), f(4)]),
    "layer_norm": (lambda lib, x: lib.native_layer_norm(x, (4,), None, None, 1e-5), [f(3, 4)]),
    "layer_norm affine": (lambda lib, x, w, b: lib.native_layer_norm(x, (4, 2), w, b, 1e-5), [f(3, 4, 2), f(4, 2), f(4, 2)]),
    "layer_norm no elements": (lambda lib, x: lib.native_layer_norm(x, (4,), None, None, 1e-5), [f(0, 4)]),
    "group_norm": (lambda lib, x: lib.native_group_norm(x, None, None, 3, 4, 2, 2, 1e-5), [f(3, 4, 2)]),
    "group_norm affine": (lambda lib, x, w, b: lib.native_group_norm(x, w, b, 3, 4, 6, 2, 1e-5), [f(3, 4, 2, 3), f(4), f(4)]),
    "group_norm no elements": (lambda lib, x: lib.native_group_norm(x, None, None, 0, 4, 2, 2, 1e-5), [f(0, 4, 2)]),
    # torch counts the gradients of the statistics where it has both.
    **{f"group_norm results {places}": (
        lambda lib, x, places=places: tuple(lib.native_group_norm(x, None, None, 3, 4, 2, 2, 1e-5)[i] for i in places),
        [f(3, 4, 2)]) for places in ((0, 1), (0, 2), (1, 2))},
}


@pytest.mark.parametrize("name", CASES)
def test_against_torch(name: str) -> None:
    function, arrays = CASES[name]
    check(function, arrays)


def test_other_sizes() -> None:
    """Only the number of elements has to fit."""
    check(lambda lib, x: lib.native_group_norm(x, None, None, 4, 2, 3, 2, 1e-5), [f(2, 4, 3)], check_node=False)
    check(lambda lib, x: lib.native_group_norm(x, None, None, 2, 4, 3, 2, 1e-5), [f(24)], check_node=False)


@pytest.mark.parametrize("parameters", ["same", "float32"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype: str, parameters: str) -> None:
    x, w = f(3, 4, 2), f(4, 2)

    def results(lib: Any) -> list[Any]:
        narrow = lib.tensor(x).to(getattr(lib, dtype))
        weight = lib.tensor(w).to(getattr(lib, dtype) if parameters == "same" else lib.float32)
        scale, shift = weight.mT.contiguous()
        return [lib.native_batch_norm(narrow, scale, shift, None, None, True, 0.1, 1e-5),
                lib.native_layer_norm(narrow, (4, 2), weight, None, 1e-5),
                lib.native_group_norm(narrow, scale, shift, 3, 4, 2, 2, 1e-5)]

    assert_same(results(torch), results(whygrad))


REFUSED: dict[str, Callable[[Any], Any]] = {
    "one statistic": lambda lib: lib.native_batch_norm(lib.ones(2, 3), None, None, lib.ones(3), None, True, 0.1, 1e-5),
    "no elements": lambda lib: lib.native_batch_norm(lib.ones(0, 3), None, None, None, None, True, 0.1, 1e-5),
    "a vector": lambda lib: lib.native_batch_norm(lib.ones(3), None, None, None, None, True, 0.1, 1e-5),
    "integers": lambda lib: lib.native_batch_norm(lib.ones(2, 3, dtype=lib.int64), None, None, None, None, True, 0.1, 1e-5),
    "normalized_shape": lambda lib: lib.native_layer_norm(lib.ones(2, 3), (2,), None, None, 1e-5),
    "layer_norm of integers": lambda lib: lib.native_layer_norm(lib.ones(2, 3, dtype=lib.int64), (3,), None, None, 1e-5),
    "groups": lambda lib: lib.native_group_norm(lib.ones(2, 4, 3), None, None, 2, 4, 3, 3, 1e-5),
    "elements": lambda lib: lib.native_group_norm(lib.ones(2, 4, 3), None, None, 2, 4, 4, 2, 1e-5),
    "weights": lambda lib: lib.native_group_norm(lib.ones(2, 4, 3), lib.ones(3), None, 2, 4, 3, 2, 1e-5),
    **{f"group_norm of {dtype}": lambda lib, dtype=dtype: lib.nn.functional.group_norm(
        lib.ones(2, 4, 3, dtype=getattr(lib, dtype)), 2) for dtype in ("int64", "bool", "complex64")},
    **{f"batch_norm of {dtype}": lambda lib, dtype=dtype: lib.nn.functional.batch_norm(
        lib.ones(2, 4, 3, dtype=getattr(lib, dtype)), None, None, training=True) for dtype in ("int64", "bool", "complex64")},
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    same_error(lambda: REFUSED[name](torch), lambda: REFUSED[name](whygrad))


SHAPES = [(0,), (1,), (3,), (2, 3), (0, 3), (2, 0), (1, 3), (2, 3, 0), (0, 3, 2), (2, 0, 4), (2, 3, 4), (2, 3, 1, 2, 1, 2)]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_batch_norm_of_odd_shapes(shape: tuple[int, ...], training: bool) -> None:
    """With statistics and parameters of all sizes: what fits is computed, and the rest refused in the same words."""
    for statistics, parameters in itertools.product([None, 0, 1, 3], [None, 0, 1, 3]):
        def call(lib: Any, statistics: int | None = statistics, parameters: int | None = parameters) -> Any:
            x = lib.arange(float(math.prod(shape))).reshape(shape).requires_grad_()
            mean, var = (None, None) if statistics is None else (lib.zeros(statistics), lib.ones(statistics))
            weight, bias = (None, None) if parameters is None else (lib.ones(parameters), lib.zeros(parameters))
            y = lib.nn.functional.batch_norm(x, mean, var, weight, bias, training)
            return y.detach(), mean, var, lib.autograd.grad(y.sum(), x)[0]

        theirs, ours = [outcome(lambda lib=lib: call(lib)) for lib in (torch, whygrad)]
        if theirs[0] == "value" == ours[0]:
            assert_same(theirs[1], ours[1], f"{statistics} {parameters}", rtol=1e-4)
        else:
            assert theirs == ours
