"""Every row of the table, by its samples: its batching rule against one element at a time, its forward mode against its rules."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from batches import Batch, choices, gradients, quietly
from row_checks import Application, Sample, as_list, random_like
from row_samples import SAMPLES

from whygrad.autograd.batching import looped, rule_for
from whygrad.autograd.batching.families import refused
from whygrad.autograd.dual import DualLevel
from whygrad.core.door import entered
from whygrad.core.record import apply
from whygrad.core.tensor import wrap
from whygrad.ops.table import TABLE, NoGrad

# Applied to one element after the other, as torch does for most of them.
LOOPED = {
    "bincount", "ctc_loss", "ctc_loss_backward", "embedding_bag", "embedding_bag_backward", "embedding_bag_weights_backward",
    "histogram", "multi_margin_loss",
    "multi_margin_loss_backward", "multilabel_margin_loss", "multilabel_margin_loss_backward", "pack_padded_sequence",
    "pack_padded_sequence_backward", "pad_packed_sequence",
}
# The shape of the result depends on numbers.
REFUSED = {"nonzero", "unique", "unique_dim", "unique_consecutive"}

# Samples that cannot be varied, and why.
LEFT_OUT = {
    ("batch_norm", 6): "the statistics in the sample are those of its first element",
    ("median", 3): "of several equal elements, the batch has its gradient in one of them",
    ("nanmedian", 3): "of several equal elements, the batch has its gradient in one of them",
}

CASES = [pytest.param(name, i, id=f"{name}-{i}") for name, samples in SAMPLES.items() for i in range(len(samples))]


def test_which_rows_have_a_batching_rule() -> None:
    assert {name for name, row in TABLE.items() if rule_for(row) is looped} == LOOPED
    assert {name for name, row in TABLE.items() if rule_for(row) is refused} == REFUSED


def test_a_row_without_a_rule_says_so() -> None:
    sample = SAMPLES["multilabel_margin_loss"][0]
    with pytest.warns(UserWarning, match="not yet implemented the batching rule for aten::multilabel_margin_loss"):
        Batch(TABLE["multilabel_margin_loss"], sample, [True, True]).together()


def refuses_masks(name: str, sample: Sample, chosen: list[bool]) -> bool:
    return name in REFUSED or (name in ("masked_select", "masked_select_backward") and chosen[1])


@pytest.mark.parametrize(("name", "number"), CASES)
def test_batch(name: str, number: int) -> None:
    row, sample = TABLE[name], SAMPLES[name][number]
    if (name, number) in LEFT_OUT:
        pytest.skip(LEFT_OUT[name, number])
    for chosen in choices(sample):
        if not any(chosen):
            continue
        batch = Batch(row, sample, chosen)
        if refuses_masks(name, sample, chosen):
            with pytest.raises(RuntimeError, match=r"dynamic shape|differently shaped"):
                batch.together()
            continue
        expected, found = quietly(batch.one_by_one), quietly(batch.together)
        for a, b in zip(expected, found, strict=True):
            assert a.dtype is b.dtype
            np.testing.assert_allclose(b._array, a._array, rtol=1e-7, atol=1e-9)
        if not sample.fails:
            compare_gradients(batch, expected, found)


def compare_gradients(batch: Batch, expected: list[Any], found: list[Any]) -> None:
    try:
        wanted = quietly(lambda: gradients(expected, batch.tensors))
    except RuntimeError:
        return  # no derivative for these gradients: the phase of an eigenvector
    ours = quietly(lambda: gradients(found, batch.tensors)) or [None] * len(wanted)
    for a, b in zip(wanted, ours, strict=True):
        if a is None or b is None:
            assert a is None or not a._array.any()
            assert b is None or not b._array.any()
        else:
            np.testing.assert_allclose(b._array, a._array, rtol=1e-6, atol=1e-8)


# Rows whose rule is not the transpose of their derivative, because torch's is not.
UNLIKE = {"as_strided_scatter": "the rule is the wrong way round", "embedding": "a padding row learns nothing"}


@pytest.mark.parametrize(("name", "number"), CASES)
def test_forward_mode(name: str, number: int) -> None:
    """For all directions t and weights w: w · J t = t · Jᵀ w. The rules themselves are checked by finite differences."""
    row, sample = TABLE[name], SAMPLES[name][number]
    tracked = sample.tracked(row)
    if not tracked or sample.fails or sample.second_fails or name in UNLIKE:
        return
    applied = Application(row, sample)
    weights = applied.weights()
    pulled = dict(zip(applied.tracked, applied.gradients(weights), strict=True))
    for moving in [tracked, *([[i] for i in tracked] if len(tracked) > 1 else [])]:
        directions = {i: random_like(applied.tensors[i]._array.shape, applied.tensors[i]._array.dtype, 50 + i) for i in moving}
        tangents = pushed(name, sample, directions)
        left = sum([float(np.sum(w * tangents[i]._array).real) for i, w in zip(applied.chosen, weights, strict=True)
                    if tangents[i] is not None])
        right = sum([float(np.sum(np.asarray(pulled[i]) * directions[i]).real) for i in moving if pulled[i] is not None])
        np.testing.assert_allclose(left, right, rtol=1e-6, atol=1e-8)


def pushed(name: str, sample: Sample, directions: dict[int, np.ndarray]) -> list[Any]:
    row, level = TABLE[name], DualLevel()
    with entered(level), np.errstate(all="ignore"):
        inputs = [wrap(x) if isinstance(x, np.ndarray) else x for x in sample.arrays()]
        for i, direction in directions.items():
            level.attach(inputs[i], wrap(direction))
        results = as_list(row, apply(row, *inputs, **sample.statics))
        tangents = [level.tangent(t) for t in results]
    declared = row.outputs if row.outputs != "list" else (None,) * len(results)
    for out, tangent, kind in zip(results, tangents, declared, strict=True):
        if tangent is not None:
            assert not isinstance(kind, NoGrad)
            assert (tangent.dtype, tangent.shape) == (out.dtype, out.shape)
    return tangents


def test_linear_rows_are_linear() -> None:
    """f(s + t) = f(s) + f(t) in what a row says it is linear in."""
    for name, row in TABLE.items():
        for sample in SAMPLES[name]:
            for group in row.linear:
                check_linear(name, sample, group)


def check_linear(name: str, sample: Sample, group: tuple[str, ...]) -> None:
    row = TABLE[name]
    names = [row.inputs[0]] * len(sample.inputs) if row.variadic else row.inputs
    moved = [i for i, argument in enumerate(names) if argument in group]
    if not all(isinstance(sample.inputs[i], np.ndarray) and sample.inputs[i].dtype.kind in "fc" for i in moved):
        return

    def value(factor: float, seed: int) -> list[np.ndarray]:
        arrays = sample.arrays()
        for i in moved:
            shift = random_like(arrays[i].shape, arrays[i].dtype, seed)
            arrays[i] = np.asarray(arrays[i] * factor + (shift if seed else 0), arrays[i].dtype)
        arrays = [None if argument == "bias" else x for argument, x in zip(names, arrays, strict=True)]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = apply(row, *[wrap(x) if isinstance(x, np.ndarray) else x for x in arrays], **sample.statics)
        return [np.asarray(t._array) for t in as_list(row, results)]

    for both, one, other in zip(value(1, 1), value(1, 0), value(0, 1), strict=True):
        if both.dtype.kind in "fc" and np.isfinite(both).all():
            rtol = 1e-3 if both.dtype.itemsize < 8 else 1e-9
            np.testing.assert_allclose(both, one + other, rtol=rtol, atol=rtol, err_msg=f"{name} is not linear in {group}")
