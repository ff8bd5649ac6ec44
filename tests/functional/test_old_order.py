"""Signatures of before torch 1.5, which torch still takes, with one warning for all of them."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from interpreters import on_both
from oracle import assert_same, outcome

import whygrad

CALLS = [
    "x.add(2, y)", "x.add_(2, y)", "torch.add(x, 2, y)", "x.sub(2, y)", "x.sub_(-2, y)", "torch.sub(x, 2, y)",
    "x.addcmul(2, y, z)", "x.addcmul_(2, y, z)", "torch.addcmul(x, 2, y, z)", "x.addcdiv(2, y, z)", "x.addcdiv_(-0.5, y, z)",
    "torch.addcdiv(x, 2, y, z)", "torch.addmm(2, x, 3, y, z)", "torch.addmm(2, x, y, z)", "x.addmm(2, 3, y, z)",
    "x.addmm(2, y, z)", "x.addmm_(2, 3, y, z)", "torch.addmv(2, v, 3, y, v)", "v.addmv(2, y, v)", "v.addmv_(2, 3, y, v.clone())",
    "torch.addr(2, x, 3, v, v)", "x.addr(2, v, v)", "x.addr_(2, 3, v, v)", "torch.addbmm(2, x, 3, b, b)", "x.addbmm(2, b, b)",
    "x.addbmm_(2, 3, b, b)", "torch.baddbmm(2, b, 3, b, b)", "b.baddbmm(2, b, b)", "b.baddbmm_(2, 3, b.clone(), b.clone())"]
WRONG = ["x.add(y, 2)", "x.addcmul(y, z, 2)", "x.add_(y, y)"]


def run(lib: Any, call: str) -> Any:
    x, y, z = (lib.arange(4.0).reshape(2, 2) + i for i in range(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(call, {"torch": lib, "x": x, "y": y, "z": z, "v": lib.ones(2), "b": lib.ones(3, 2, 2)})


@pytest.mark.parametrize("call", CALLS)
def test_values(call: str) -> None:
    assert_same(run(torch, call), run(whygrad, call))


@pytest.mark.parametrize("call", WRONG)
def test_errors(call: str) -> None:
    theirs = outcome(lambda: run(torch, call))
    assert theirs[0] == "error"
    assert theirs == outcome(lambda: run(whygrad, call))


def test_one_warning() -> None:
    program = ("import warnings, torch\nwith warnings.catch_warnings(record=True) as caught:\n"
               "    warnings.simplefilter('always')\n    x = torch.ones(2)\n    x.addcmul_(2, x, x)\n    x.add(2, x)\n"
               "print([str(w.message).partition(' (Triggered')[0] for w in caught])")
    said = on_both(program)
    assert said[0] == said[1]
    assert "addcmul_(Number value, Tensor tensor1, Tensor tensor2)" in said[0]
