"""Ufuncs that write in place: around those that NumPy gets wrong on strided views.

From NumPy 2.1 to 2.4 at least, `np.negative(v, out=v)` reads the wrong elements if those of `v` lie 16 bytes apart (4-byte
dtypes) or 64 bytes apart (8-byte dtypes): a constant of its strided SIMD loop. All other ufuncs that rows use are right there
(tests/core/test_strided_writes.py compares each with a loop). A NumPy that was not examined is examined when a ufunc is
first written in place: 1 to 5 ms for each ufunc.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

EXAMINED = {"2.1", "2.2", "2.3", "2.4"}  # NumPy versions in which only np.negative is wrong
DTYPES = "?bBhHiIlLefdFD"
STEPS = range(1, 18)
LENGTH = 9  # two vectors of AVX-512 doubles, and a rest


def in_place(ufunc: np.ufunc) -> Callable[..., Any]:
    """A function that is called as `ufunc(*arrays, out=arrays[i])`, and right for all strides."""
    known = ".".join(np.__version__.split(".")[:2]) in EXAMINED
    if ufunc is not np.negative if known else is_right_in_place(ufunc):
        return ufunc

    def through_copy(*arrays: Any, out: np.ndarray) -> None:
        if len(arrays) == 1 and out.flags.forc:
            ufunc(*arrays, out=out)
        else:
            out[...] = ufunc(*arrays)

    return through_copy


def is_right_in_place(ufunc: np.ufunc) -> bool:
    """Whether the ufunc computes the same in place, over the steps and dtypes there are, as from copies."""
    for char in [types[0] for types in ufunc.types if types[0] in DTYPES and len(set(types) - set("->")) == 1]:
        for step in STEPS:
            memory = (np.arange(step * LENGTH) % 5 + 1).astype(char)
            expected = memory.copy()
            others = [np.arange(1, LENGTH + 1).astype(char)] * (ufunc.nin - 1)
            with np.errstate(all="ignore"):
                expected[::step] = ufunc(memory[::step].copy(), *others)
                ufunc(memory[::step], *others, out=memory[::step])
            if not np.array_equal(memory, expected, equal_nan=char in "efdFD"):
                return False
    return True
