"""set_num_threads reaches everything that computes with threads, whenever it is called."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Prints the number that is reported, that of the kernels' pool, and that of NumPy's OpenBLAS where it brings one.
REPORT = """
import whygrad
from whygrad.base.threads import openblas

def report():
    from whygrad.kernels.pool import pool
    print(whygrad.get_num_threads(), pool().threads(), openblas().scipy_openblas_get_num_threads64_() if openblas() else "")

"""


def printed(program: str, **environment: str) -> list[list[int]]:
    done = subprocess.run([sys.executable, "-c", REPORT + program], env={**os.environ, **environment}, capture_output=True,
                          text=True, check=True, timeout=120)
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


def test_set_num_threads() -> None:
    before, *later = printed("".join(f"whygrad.set_num_threads({count})\nreport()\n" for count in (3, 1, 2)))
    assert set(before) == {3}
    assert [set(line) for line in later] == [{1}, {2}]


@pytest.mark.parametrize("count", [1, 3])
def test_omp_num_threads(count: int) -> None:
    reported, pool, *_ = printed("report()", OMP_NUM_THREADS=str(count))[0]
    assert reported == pool == count
