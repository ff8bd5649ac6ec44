"""Five of the programs of tests/libraries on PyTorch and on whygrad. `make test` installs what they need, in pinned versions."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "libraries"
sys.path.insert(0, str(FOLDER))

from compare import ON_TORCH, SOURCE, first_difference, run  # noqa: E402

INSTALLED = Path(sys.prefix) / "libraries" / "site-packages"
PATH = Path(f"{SOURCE}{os.pathsep}{INSTALLED}")
# program -> the package that it is about
FIVE = {"einops": "", "gpytorch": "gpytorch", "lightning": "lightning", "torchvision": "torchvision",
        "transformers_bert": "transformers"}


@pytest.mark.parametrize("name", FIVE)
def test_library(name: str) -> None:
    if not (INSTALLED / FIVE[name]).exists():
        pytest.skip(f"{FIVE[name] or name} is not installed in {INSTALLED}: make test does it, where packages can be had")
    program = FOLDER / "programs" / f"use_{name}.py"
    expected = run([sys.executable, "-c", ON_TORCH, str(program)], PATH)
    found = run([sys.executable, "-m", "whygrad", "run", "--engine", "whygrad", str(program)], PATH)
    assert (expected.error, found.error) == ("", "")
    assert expected.printed
    assert first_difference(found.printed, expected.printed) == ""
    assert found.explained == []
