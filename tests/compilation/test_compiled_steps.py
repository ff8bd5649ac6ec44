"""Whole training steps: compiled and eager runs of the same program end with the same numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import interpreters
import pytest

import whygrad as torch
from benchmarks.steps import STEPS

SMALL = {"pointwise": (5000,)}
NAMES = [name for name in STEPS if not name.startswith("wide")]  # which is another one, only larger


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:  # kernels for float32 begin to be used at some call, and round differently
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def train(name: str, compiled: bool) -> tuple[list, object]:
    torch.manual_seed(0)
    step, arguments, tensors = STEPS[name](torch, *SMALL.get(name, ()))
    step = torch.compile(step) if compiled else step
    found = [step(*arguments()).detach() for _ in range(5)]
    return [*found, *[t.detach() for t in tensors]], step


@pytest.mark.parametrize("name", NAMES)
def test_compiled_training_is_eager_training(name: str) -> None:
    expected, _ = train(name, False)
    found, step = train(name, True)
    for a, b in zip(expected, found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-12)
    assert step._compiled.calls["compiled"] == 3, torch.explain(step)


PROGRAM = """
import whygrad as torch
from benchmarks.steps import STEPS
for name, make in STEPS.items():
    if name.startswith("wide"):
        continue
    ends = []
    for compiled in (False, True):
        torch.manual_seed(0)
        step, arguments, tensors = make(torch, *{"pointwise": (5000,)}.get(name, ()))
        step = torch.compile(step) if compiled else step
        found = [step(*arguments()) for _ in range(4)] + tensors
        ends.append([t.detach().numpy().tobytes() for t in found])
    print(name, ends[0] == ends[1])
"""


def test_bit_for_bit_without_kernels() -> None:
    path = f"{interpreters.SOURCE}{os.pathsep}{Path(__file__).parent}"
    environment = {**os.environ, "WHYGRAD_KERNELS": "0", "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, text=True, capture_output=True, check=True)
    assert done.stdout == "".join(f"{name} True\n" for name in NAMES)
