"""Texts such as `torch.sort(x, 1)`, run on torch and on whygrad with the same arrays under the same names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from oracle import check, outcome, pair

import whygrad

rng = np.random.default_rng(11)

ARRAYS: dict[str, np.ndarray] = {
    "x": rng.normal(size=(3, 4)),
    "y": rng.normal(size=(3, 4)),
    "cube": rng.normal(size=(2, 3, 4)),
    "v": rng.normal(size=5),
    "w": rng.uniform(0.5, 2.0, size=5),
    "s": np.array(1.7),
    "square": rng.normal(size=(4, 4)),
    "ties": np.array([[1.0, 3.0, 3.0, 2.0], [0.0, 0.0, 0.0, 1.0], [2.0, 1.0, 2.0, 1.0]]),
    "holes": np.array([[1.0, math.nan, 2.0], [math.nan, 5.0, 4.0]]),
    "zeros": np.array([[1.5, 0.0, 2.0], [0.0, -1.0, 0.0]]),
    "z": rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3)),
    "single": rng.normal(size=(3, 4)).astype(np.float32),
    "i": np.array([[3, 1, 2, 3], [0, 0, 5, 1], [2, 2, 2, 7]]),
    "n": np.array([4, 1, 1, 0, 2]),
    "b": np.array([[True, False], [True, True]]),
}


def lines(text: str) -> list[str]:
    return [line for line in text.strip().splitlines() if line]


def names_in(text: str) -> list[str]:
    return [name for name in ARRAYS if name in compile(text, "", "eval").co_names]


def run(text: str, lib: Any, tensors: dict[str, Any]) -> Any:
    return eval(text, {"torch": lib, "math": math, "F": lib.nn.functional, **tensors})


def check_text(text: str, order: int = 2, node: bool = True, rtol: float | None = None) -> None:
    """Same values, node, first and second derivatives."""
    names = names_in(text)
    check(lambda lib, *tensors: run(text, lib, dict(zip(names, tensors, strict=True))), [ARRAYS[n] for n in names],
          order=order, check_node=node, rtol=rtol)


def check_error(text: str, words: bool = True) -> None:
    """Both raise the same class, and the same first line if `words`."""
    results = []
    for side, lib in enumerate((torch, whygrad)):
        tensors = {name: pair(ARRAYS[name])[side] for name in names_in(text)}
        results.append(outcome(lambda lib=lib, tensors=tensors: run(text, lib, tensors)))
    (kind, theirs), (our_kind, ours) = results
    assert kind == our_kind == "error", f"torch: {kind} {theirs}, here: {our_kind} {ours}"
    assert theirs[0] == ours[0], f"torch raises {theirs}, we raise {ours}"
    if words:
        assert theirs[1] == ours[1]
