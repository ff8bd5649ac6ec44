"""CTC loss against torch: lengths of all kinds, impossible alignments, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from oracle import assert_same, check, same_error

import whygrad
import whygrad.nn

rng = np.random.default_rng(3)
STEPS, BATCH, CLASSES = 7, 3, 5
SCORES = rng.standard_normal((STEPS, BATCH, CLASSES))
TARGETS = np.array([[1, 2, 2], [3, 1, 4], [2, 2, 2]])

# input lengths, target lengths
LENGTHS = {
    "all": ((7, 7, 7), (3, 3, 3)),
    "shorter": ((7, 4, 5), (3, 1, 2)),
    "nothing to say": ((7, 7, 1), (0, 2, 0)),
    "too short to be aligned": ((7, 2, 4), (3, 3, 3)),
    "no steps": ((7, 0, 0), (3, 0, 2)),
}


@pytest.mark.parametrize("zero_infinity", [False, True])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_value_and_gradient(lengths: str, reduction: str, zero_infinity: bool) -> None:
    steps, labels = LENGTHS[lengths]
    packed = np.concatenate([row[:n] for row, n in zip(TARGETS, labels, strict=True)])
    for dtype in (np.float64, np.float32):
        for targets in (TARGETS, packed):
            for in_tensors in (False, True):
                def loss(m: Any, scores: Any, targets: Any = targets, in_tensors: bool = in_tensors) -> Any:
                    lengths = [m.tensor(n) for n in (steps, labels)] if in_tensors else (steps, labels)
                    return m.nn.functional.ctc_loss(scores.log_softmax(2), m.from_numpy(targets.copy()), *lengths,
                                                    reduction=reduction, zero_infinity=zero_infinity)

                check(loss, [SCORES.astype(dtype)], order=1)


def test_gradient_without_log_softmax() -> None:
    """torch's gradient takes for granted that the input is normalised."""
    scores = SCORES.copy()
    scores[2, :, 1] = -np.inf
    for lengths in LENGTHS.values():
        check(lambda m, x: m.nn.functional.ctc_loss(x, m.from_numpy(TARGETS.copy()), *lengths), [scores], order=1)


def test_one_sample() -> None:
    for reduction in ("none", "mean"):
        check(lambda m, x: m.nn.functional.ctc_loss(x.log_softmax(1), m.tensor([1, 2]), m.tensor(7), m.tensor(2),
                                                    reduction=reduction), [SCORES[:, 0]], order=1)


def test_torch_ctc_loss_does_not_reduce_by_default() -> None:
    def loss(m: Any) -> Any:
        return m.ctc_loss(m.from_numpy(SCORES.copy()), m.from_numpy(TARGETS.copy()), (7, 7, 7), (3, 3, 3))

    assert_same(loss(torch), loss(whygrad))


def test_no_second_derivative() -> None:
    def second(m: Any) -> Any:
        x = m.from_numpy(SCORES.copy()).requires_grad_()
        loss = m.nn.functional.ctc_loss(x, m.from_numpy(TARGETS.copy()), (7, 7, 7), (3, 3, 3))
        return m.autograd.grad(m.autograd.grad(loss, x, create_graph=True)[0].sum(), x)

    same_error(lambda: second(torch), lambda: second(whygrad))


ERRORS = [
    "x, t, (7, 7, 8), (3, 3, 3)", "x, t, (7, 7), (3, 3, 3)", "x, t, (7, 7, 7), (3, 3)", "x, t, (7, 7, 7), (3, 3, 4)",
    "x, t, (7, 7, -1), (3, 3, 3)", "x, t, (7, 7, 7), (3, -2, 3)", "x, t, (7, 7, 7), (3, 3, 3), blank=5",
    "x, t, (7, 7, 7), (3, 3, 3), -1", "x.half(), t, (7, 7, 7), (3, 3, 3)", "x.long(), t, (7, 7, 7), (3, 3, 3)",
    "x, t.reshape(-1), (7, 7, 7), (3, 3, 2)", "x, t, m.ones(3), m.tensor([3, 3, 3])",
    "x, t, m.tensor([7, 7, 7]), m.ones(3)", "x[:, :0], t[:0], (), ()", "x[None], t, (7, 7, 7), (3, 3, 3)",
    "x, t[:1], (7, 7, 7), (3, 3, 3)", "x, t[None], (7, 7, 7), (3, 3, 3)", "x, t, (7, 7, 7), (3, 3, 3), reduction='x'",
    "x[:, 0], m.tensor([1, 2, 3]), (7,), (2,)",
]
WRONG_TYPES = ["x, t, (7, 7, 7), m.tensor([3, 3, 3])", "x, t, 7, 3", "3, t, (7, 7, 7), (3, 3, 3)"]


@pytest.mark.parametrize("arguments", [*ERRORS, *WRONG_TYPES])
def test_errors(arguments: str) -> None:
    def call(m: Any) -> Any:
        names = {"m": m, "x": m.from_numpy(SCORES.copy()), "t": m.from_numpy(TARGETS.copy()), "f": m.nn.functional.ctc_loss}
        return eval(f"f({arguments})", names)

    same_error(lambda: call(torch), lambda: call(whygrad), text=arguments in ERRORS)


def test_a_label_that_does_not_exist() -> None:
    x = whygrad.from_numpy(SCORES.copy())
    with pytest.raises(RuntimeError, match="between 0 and 4"):
        whygrad.nn.functional.ctc_loss(x, whygrad.tensor([[9]] * 3), (7, 7, 7), (1, 1, 1))
