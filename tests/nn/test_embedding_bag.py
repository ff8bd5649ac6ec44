"""Embedding bags against torch: the function, its gradients and errors, and the module."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from oracle import assert_same, check, same_error

import whygrad
import whygrad.nn

rng = np.random.default_rng(6)
TABLE = rng.standard_normal((6, 3))
INDEX = np.array([0, 1, 2, 5, 1, 1])
OFFSETS = np.array([0, 2, 2, 5])
WEIGHTS = rng.uniform(0.5, 1.5, 6)

OPTIONS = ["", "padding_idx=1", "padding_idx=-1", "scale_grad_by_freq=True", "scale_grad_by_freq=True, padding_idx=0",
           "include_last_offset=True",
           "max_norm=1.0, norm_type=1.5"]


def bags(m: Any, table: Any, arguments: str, index: np.ndarray = INDEX, **names: Any) -> Any:
    return eval(f"f(index, table, {arguments})", {
        "f": m.nn.functional.embedding_bag, "index": m.from_numpy(index.copy()), "table": table,
        "offsets": m.from_numpy(np.append(OFFSETS, len(INDEX)) if "last" in arguments else OFFSETS.copy()), **names})


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("options", OPTIONS)
def test_value_and_gradient(options: str, mode: str) -> None:
    if mode == "max" and "freq" in options:
        return
    for dtype in (np.float64, np.float32):
        def function(m: Any, table: Any) -> Any:
            return bags(m, table * 1 if "norm" in options else table, f"offsets, mode='{mode}', {options}")

        check(function, [TABLE.astype(dtype)], order=1)
        if "last" not in options:
            check(lambda m, table: bags(m, table * 1, f"mode='{mode}', {options}", INDEX.reshape(2, 3)),
                  [TABLE.astype(dtype)], order=1)


@pytest.mark.parametrize(("mode", "options"), [("max", ""), ("mean", "padding_idx=1"), ("sum", "padding_idx=0"), ("sum", "")])
def test_indices_beyond_the_last_offset(mode: str, options: str) -> None:
    """They belong to the last bag, but for torch's fast kernels, which do not take float64."""
    for last in (2, 3):
        check(lambda m, table: bags(m, table, f"offsets.new_tensor([0, 2, {last}]), mode='{mode}', include_last_offset=True, "
                                              f"{options}"), [TABLE], order=1)


@pytest.mark.parametrize("options", ["", "padding_idx=1", "scale_grad_by_freq=True"])
def test_weights_for_each_index(options: str) -> None:
    weighted = f"mode='sum', per_sample_weights=w, {options}"
    for offsets in ("offsets", "include_last_offset=True, offsets=offsets"):
        check(lambda m, table, weights: bags(m, table, f"{offsets}, {weighted}", w=weights), [TABLE, WEIGHTS], order=1)
    check(lambda m, table, weights: bags(m, table, weighted, INDEX.reshape(3, 2), w=weights),
          [TABLE, WEIGHTS.reshape(3, 2)], order=1, check_node=False)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_empty(mode: str) -> None:
    for index in (INDEX[:0], INDEX[:0].reshape(0, 3)):
        offsets = "offsets * 0, " if index.ndim == 1 else ""
        check(lambda m, table: bags(m, table, f"{offsets}mode='{mode}'", index), [TABLE], order=1)


def test_equal_rows_share_no_maximum() -> None:
    check(lambda m, table: bags(m, table, "offsets, mode='max'"), [np.ones((6, 2))], order=1)


@pytest.mark.parametrize("wanted", [0, 1])
def test_no_second_derivative(wanted: int) -> None:
    def second(m: Any) -> Any:
        table, weights = (m.from_numpy(a.copy()).requires_grad_() for a in (TABLE, WEIGHTS))
        out = bags(m, table, "offsets, mode='sum', per_sample_weights=w", w=weights)
        first = m.autograd.grad(out, (table, weights), m.ones_like(out).requires_grad_(), create_graph=True)
        return m.autograd.grad(first[wanted].sum(), (weights, table)[wanted])

    same_error(lambda: second(torch), lambda: second(whygrad))


ERRORS = [
    "", "offsets.float()", "offsets[None]", "offsets + 1", "offsets * 9", "offsets, mode='x'",
    "offsets[:0], include_last_offset=True", "offsets, padding_idx=9", "offsets, padding_idx=-9",
    "offsets, per_sample_weights=table[:, 0]", "offsets, per_sample_weights=table[:, 0].float(), mode='sum'",
    "offsets, per_sample_weights=table[:3, 0], mode='sum'", "offsets, scale_grad_by_freq=True, mode='max'",
    "offsets, sparse=True, mode='max'",
]


@pytest.mark.parametrize("arguments", ERRORS)
def test_errors(arguments: str) -> None:
    same_error(*[lambda m=m: bags(m, m.from_numpy(TABLE.copy()), arguments) for m in (torch, whygrad)])


@pytest.mark.parametrize("expression", [
    "f(i[None], w, i)", "f(i[None, None], w)", "f(i.float(), w, i)", "f(i, w[0], i)", "f(i, w.long(), i)", "f(i - 3, w, i)",
    "f(i[:0].reshape(3, 0), w)", "f(w, i, i)",
])
def test_wrong_tensors(expression: str) -> None:
    def call(m: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return eval(expression, {"f": m.nn.functional.embedding_bag, "i": m.arange(3), "w": m.from_numpy(TABLE.copy())})

    same_error(lambda: call(torch), lambda: call(whygrad), text=expression != "f(i[None], w, i)")


@pytest.mark.parametrize("constructor", [
    "(6, 3)", "(6, 3, mode='max', padding_idx=-2)", "(6, 3, 1.0, 1, True, 'sum')", "(6, 3, padding_idx=0)",
    "(6, 3, dtype=m.float64, include_last_offset=True)", ".from_pretrained(m.ones(6, 2), mode='sum')",
    ".from_pretrained(m.ones(6, 2), freeze=False)", "(6, 3, padding_idx=6)", "(6, 3, padding_idx=-7)",
    ".from_pretrained(m.ones(6))",
])
def test_module(constructor: str) -> None:
    def life(m: Any) -> Any:
        m.manual_seed(1)
        layer = eval(f"m.nn.EmbeddingBag{constructor}", {"m": m})
        offsets = np.append(OFFSETS, len(INDEX)) if layer.include_last_offset else OFFSETS.copy()
        out = layer(m.from_numpy(INDEX.copy()), m.from_numpy(offsets))
        gradients = m.autograd.grad(out.sum(), layer.weight) if out.requires_grad else None
        return [repr(layer), list(layer.state_dict().items()), out, gradients]

    if constructor in ("(6, 3, padding_idx=6)", "(6, 3, padding_idx=-7)", ".from_pretrained(m.ones(6))"):
        same_error(lambda: life(torch), lambda: life(whygrad))
    else:
        assert_same(life(torch), life(whygrad))
