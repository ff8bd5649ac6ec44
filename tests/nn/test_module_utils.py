"""torch.nn.modules.utils against torch."""

from __future__ import annotations

import torch
from torch.nn.modules import utils as theirs

import whygrad
from whygrad.nn.modules import utils as ours


def test_tuples() -> None:
    for name in ("_single", "_pair", "_triple", "_quadruple"):
        for value in (3, (1, 2), [4], "same"):
            assert getattr(ours, name)(value) == getattr(theirs, name)(value)
    assert ours._ntuple(5)(0) == theirs._ntuple(5)(0)
    assert ours._reverse_repeat_tuple((1, 2), 2) == theirs._reverse_repeat_tuple((1, 2), 2)
    assert whygrad.nn.functional._pair is ours._pair


def test_prefix_of_a_state_dict() -> None:
    for lib, utils in ((torch, theirs), (whygrad, ours)):
        wrapped = lib.nn.Sequential()
        wrapped.module = lib.nn.Linear(2, 3)
        state = wrapped.state_dict()
        utils.consume_prefix_in_state_dict_if_present(state, "module.")
        assert sorted(state) == ["bias", "weight"]
        lib.nn.Linear(2, 3).load_state_dict(state)
