"""A fixed part of the fuzzing: the same seed and so many cases of each kind, about a minute in all.

`WHYGRAD_FUZZ=10` runs ten times as many.
"""

from __future__ import annotations

import os

import pytest

from .leaks import ALLOWED, WARM_UP, measured
from .running import find, kinds

SEED = 16
COUNTS = {"files": 1500, "kernels": 40, "kills": 0, "metadata": 150, "statements": 150, "texts": 300, "trainings": 60}
TIMES = int(os.environ.get("WHYGRAD_FUZZ", "1"))
KINDS = kinds()


@pytest.mark.parametrize("name", [name for name in KINDS if COUNTS.get(name, 20)])  # kills: tests/io/test_killed_save.py
def test_random_cases(name: str) -> None:
    findings = [finding for n in range(COUNTS.get(name, 20) * TIMES) if (finding := find(KINDS[name], SEED, n)) is not None]
    assert not findings, "\n".join(map(str, findings[:5]))


def test_no_leak() -> None:
    sizes = measured(5000)
    assert sizes[-1] - sizes[WARM_UP] < ALLOWED
