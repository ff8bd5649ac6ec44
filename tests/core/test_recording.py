"""`record` is the specification of the functions that rows are compiled to: on every sample both record the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from row_checks import Sample, as_list
from row_samples import SAMPLES

import whygrad
from whygrad.base.version import Version
from whygrad.core.node import row_node
from whygrad.core.record import compiled, record, specialization_of
from whygrad.core.tensor import Tensor, grad_fn, wrap
from whygrad.ops.table import TABLE, Row


def tracked_sets(row: Row, sample: Sample) -> list[list[int]]:
    """All arguments that can require grad, each of them alone, and none."""
    tracked = sample.tracked(row)
    return [tracked, *([i] for i in tracked if len(tracked) > 1), []] if tracked else [[]]


def assert_equal(fast: Any, slow: Any, where: str) -> None:
    """The same values: of tensors, arrays, causes and whatever is kept in tuples and lists."""
    if isinstance(slow, Tensor):
        assert_equal(fast._array, slow._array, where)
    elif isinstance(slow, np.ndarray):
        assert isinstance(fast, np.ndarray), where
        assert (fast.shape, fast.dtype) == (slow.shape, slow.dtype), where
        # A kernel may have added up in another order.
        np.testing.assert_allclose(fast, slow, rtol=1e-6, atol=1e-9, err_msg=where)
    elif isinstance(slow, (tuple, list)):
        assert len(fast) == len(slow), f"{where}: {fast}, the plain way {slow}"
        for i, (a, b) in enumerate(zip(fast, slow, strict=True)):
            assert_equal(a, b, f"{where}[{i}]")
    elif isinstance(slow, Version):
        assert (type(fast), fast.value, fast.site) == (type(slow), slow.value, slow.site), where
    elif isinstance(slow, float) and slow != slow:
        assert fast != fast, where
    else:
        assert fast == slow, f"{where}: {fast}, the plain way {slow}"


def seen_of_causes(causes: Any) -> list[Any]:
    """All but the place, which is another line of this file."""
    return [(cause.kind, cause.detail, len(cause.behind)) for cause in causes]


def saved_by(node: Any) -> list[Any]:
    """Values with their version counters and versions. Of a value that is not needed the compiled functions keep a counter."""
    saved = node.saved or ()
    return [saved[i:i + 3] if saved[i] is not None else None for i in range(0, len(saved), 3)]


def options(row: Row, sample: Sample) -> dict[str, Any]:
    """All of them: the compiled functions know the defaults, whoever calls `record` has to give them."""
    return {**row.static_defaults, **sample.statics}


def assert_same_recording(fast: Tensor, slow: Tensor, where: str) -> None:
    assert_equal(fast, slow, f"{where} as values")
    assert fast.requires_grad == slow.requires_grad, where
    assert (fast._view is None) == (slow._view is None), where
    assert seen_of_causes(fast._cause) == seen_of_causes(slow._cause), where
    if not slow.requires_grad:
        return
    (a, port), (b, other_port) = row_node(grad_fn(fast)), row_node(grad_fn(slow))
    assert port == other_port, where
    assert type(a) is type(b), where
    assert len(a.edges) == len(b.edges), where
    assert all(x is y for x, y in zip(a.edges, b.edges, strict=True)), f"{where}: edges {a.edges}, the plain way {b.edges}"
    assert_equal(a.shapes, b.shapes, f"{where}: shapes")
    assert_equal(getattr(a, "static", ()), b.static, f"{where}: static")
    assert_equal(saved_by(a), saved_by(b), f"{where}: saved")
    # No argument without history is the same as arguments without history that have no cause.
    cuts = [[seen_of_causes(causes) for causes in node.cuts or ((),) * len(node.edges)] for node in (a, b)]
    assert cuts[0] == cuts[1], where


@pytest.mark.parametrize("name", SAMPLES)
def test_compiled_and_plain_recording_agree(name: str) -> None:
    row = TABLE[name]
    for number, sample in enumerate(SAMPLES[name]):
        for tracked in tracked_sets(row, sample):
            inputs = tuple([wrap(x) if isinstance(x, np.ndarray) else x for x in sample.arrays()])
            for i in tracked:
                inputs[i].requires_grad = True
            kinds = "v" if row.variadic else "".join(["t" if isinstance(x, Tensor) else "s" for x in inputs])
            found = []
            for run in (compiled(row, kinds), lambda *given, **statics: record(specialization_of(row, kinds), given, statics)):
                whygrad.manual_seed(0)
                with np.errstate(all="ignore"):
                    found.append(as_list(row, run(*inputs, **options(row, sample))))
            assert len(found[0]) == len(found[1])
            for i, (fast, slow) in enumerate(zip(*found, strict=True)):
                assert_same_recording(fast, slow, f"sample {number}, tracked {tracked}, result {i}")
