"""What programs name around interception and control flow: torch.overrides, torch.cond, swapped tensors, skipped data."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import torch

import whygrad


def test_dispatch_below_the_functions_is_not_passed_over_in_silence() -> None:
    class Loud(whygrad.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return None

    with pytest.raises(NotImplementedError, match=r"Loud.__torch_dispatch__ is not available in whygrad"):
        Loud([1.0])


def test_cond() -> None:
    x = whygrad.tensor([1.0, 2.0], requires_grad=True)
    whygrad.cond(x.sum() > 0, whygrad.sin, whygrad.cos, (x,)).sum().backward()
    assert np.allclose(x.grad._array, np.cos([1, 2]))
    assert whygrad.cond(whygrad.tensor([False]), lambda: 1, lambda: 2) == 2
    with pytest.warns(UserWarning, match="Pred is a Python constant"):
        assert whygrad.cond(True, lambda: 1, lambda: 2) == 1


@pytest.mark.parametrize(("pred", "branch", "operands"), [
    ([True, False], abs, ()), (None, abs, ()), (True, 3, ()), (True, abs, (1,))])
def test_cond_refuses(pred: Any, branch: Any, operands: Any) -> None:
    texts = []
    for lib in (torch, whygrad):
        with pytest.raises(RuntimeError) as caught:
            lib.cond(pred if pred is None else lib.tensor(pred), branch, abs, operands)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def test_swapped_tensors() -> None:
    for lib in (torch, whygrad):
        a, b = lib.nn.Parameter(lib.ones(2)), lib.zeros(3)
        a.name_of_its_own = "a"
        lib.utils.swap_tensors(a, b)
        assert isinstance(b, lib.nn.Parameter)
        assert (type(a), a.requires_grad, b.requires_grad, tuple(a.shape)) == (lib.Tensor, False, True, (3,))
        assert b.name_of_its_own == "a"


def test_skipped_data() -> None:
    for lib in (torch, whygrad):
        full, empty = io.BytesIO(), io.BytesIO()
        lib.save({"w": lib.ones(3)}, full)
        with lib.serialization.skip_data():
            lib.save({"w": lib.ones(3)}, empty)
        empty.seek(0)
        assert lib.load(empty)["w"].tolist() == [0, 0, 0]
        full.seek(0)
        with lib.serialization.skip_data():
            assert tuple(lib.load(full)["w"].shape) == (3,)
        full.seek(0)
        assert lib.load(full, lib.serialization.default_restore_location)["w"].tolist() == [1, 1, 1]


def test_configured_alignment() -> None:
    from whygrad.utils.serialization import config

    config.save.storage_alignment = 4096
    try:
        file = io.BytesIO()
        whygrad.save(whygrad.full((2,), 7.0), file)
    finally:
        config.save.storage_alignment = 64
    assert file.getvalue().index(np.full(2, 7, np.float32).tobytes()) % 4096 == 0
    file.seek(0)
    assert torch.load(file).tolist() == [7, 7]
