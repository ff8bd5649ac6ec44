"""Every row, compiled: the program of a sample is right for other values too, and so is its backward."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from row_checks import as_list
from row_samples import SAMPLES

import whygrad as torch
from whygrad.core.record import apply
from whygrad.core.tensor import wrap
from whygrad.ops.table import TABLE

COMPILED = {"rows": 0, "samples": 0}


def arguments(sample: Any, tracked: list[int], factor: float) -> list[Any]:
    found = []
    for i, x in enumerate(sample.arrays()):
        if isinstance(x, np.ndarray):
            x = wrap((x * factor).astype(x.dtype) if i in tracked else x.copy("K"))
            x.requires_grad = i in tracked
        found.append(x)
    return found


def outcome(f: Any, inputs: list[Any], tracked: list[int]) -> list[Any]:
    """The results and the gradients; or the class of the error."""
    try:
        with np.errstate(all="ignore"):
            results = f(*inputs)
            outs = [t for t in results if t.requires_grad]
            if not outs:
                return results
            return [*results, *torch.autograd.grad(outs, [inputs[i] for i in tracked], [torch.ones_like(t) for t in outs],
                                                   allow_unused=True)]
    except Exception as error:
        return [type(error)]


@pytest.mark.parametrize("name", SAMPLES)
def test_row(name: str) -> None:
    row = TABLE[name]
    for sample in SAMPLES[name][:2]:
        tracked = sample.tracked(row)

        def f(*inputs: Any, row: Any = row, sample: Any = sample) -> Any:
            return as_list(row, apply(row, *inputs, **sample.statics))

        compiled = torch.compile(f)
        for _ in range(2):
            outcome(compiled, arguments(sample, tracked, 1.0), tracked)
        expected = outcome(f, arguments(sample, tracked, 0.9), tracked)
        found = outcome(compiled, arguments(sample, tracked, 0.9), tracked)
        COMPILED["samples"] += 1
        COMPILED["rows"] += compiled._compiled.calls["compiled"]
        assert len(expected) == len(found)
        for a, b in zip(expected, found, strict=True):
            if isinstance(a, torch.Tensor):
                assert a.requires_grad == b.requires_grad
                assert np.array_equal(a._array, b._array, equal_nan=a._array.dtype.kind in "fc"), torch.explain(compiled)
            else:
                assert a is b


def test_most_rows_were_compiled() -> None:
    if COMPILED["samples"] > 300:
        assert COMPILED["rows"] > 0.5 * COMPILED["samples"], COMPILED
