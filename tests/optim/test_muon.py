"""Muon computes in bfloat16: near torch's result, not equal to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import whygrad
from whygrad.optim.matrices import to_bfloat16

OPTIONS: list[dict[str, Any]] = [{}, {"nesterov": False, "weight_decay": 0.0}, {"adjust_lr_fn": "match_rms_adamw"},
                                 {"lr": 0.1, "momentum": 0.3, "ns_steps": 3}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("shape", [(4, 3), (3, 6), (5, 5)], ids=str)
def test_ten_steps(shape: tuple[int, int], options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    start = rng.standard_normal(shape).astype(np.float32)
    p, q = torch.tensor(start).requires_grad_(), whygrad.from_numpy(start.copy()).requires_grad_()
    a, b = torch.optim.Muon([p], **options), whygrad.optim.Muon([q], **options)
    assert repr(a) == repr(b)
    for _ in range(10):
        g = rng.standard_normal(shape).astype(np.float32)
        p.grad, q.grad = torch.tensor(g), whygrad.from_numpy(g)
        a.step()
        b.step()
    moved = np.abs(p.detach().numpy() - start).max()
    np.testing.assert_allclose(q._array, p.detach().numpy(), atol=0.02 * moved)
    np.testing.assert_allclose(b.state[q]["momentum_buffer"]._array, a.state[p]["momentum_buffer"].numpy(), rtol=1e-5)


def test_rounding_to_bfloat16() -> None:
    values = np.random.default_rng(1).standard_normal(1000).astype(np.float32)
    values[:3] = 0.0, 1.00390625, 1.01171875
    np.testing.assert_array_equal(to_bfloat16(values), torch.tensor(values).bfloat16().float().numpy())
