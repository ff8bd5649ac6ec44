"""Parts and conjugates of complex numbers against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from expressions import check_error, check_text, lines
from oracle import assert_same, pair

import whygrad

ALIKE = """
z.real
z.imag
torch.real(z) * torch.imag(z)
torch.real(x)
z.angle()
torch.angle(x)
torch.angle(i)
torch.angle(torch.tensor([-1.0, 0.0, 1.0, math.nan]))
torch.angle(torch.tensor([0j, 1j]))
z.conj_physical()
(z * 1).conj_physical_()
z.resolve_conj() * 2
x.resolve_neg() * 2
z.abs() * z.angle()
"""


@pytest.mark.parametrize("text", lines(ALIKE))
def test_alike(text: str) -> None:
    check_text(text)


def test_parts_can_be_assigned() -> None:
    theirs, ours = pair(np.array([1 + 2j, 3 - 1j]))
    for t, lib in ((theirs, torch), (ours, whygrad)):
        t.real = lib.tensor([5.0, 6.0], dtype=lib.float64)
        t.imag = 4
        t.real[0] = 9  # a view
    assert_same(theirs, ours)


def test_real_tensors_are_their_own_real_part() -> None:
    x = whygrad.ones(2)
    assert x.real is x
    assert x.conj_physical() is x
    assert not x.is_conj()
    assert not x.is_neg()


@pytest.mark.parametrize("text", ["x.imag", "torch.imag(x)", "torch.real(3)"])
def test_errors(text: str) -> None:
    check_error(text)
