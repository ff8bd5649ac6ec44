"""`record` is the specification of the generated functions: both give the same result and the same node, on every sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from row_checks import Constant
from row_samples import SAMPLES

from whygrad.core.node import Node, row_node
from whygrad.core.record import compiled, kinds_of, record, specialization_of
from whygrad.core.tensor import Tensor, grad_fn, set_requires_grad, wrap
from whygrad.ops.table import TABLE


def leaves(inputs: tuple[Any, ...], tracked: int) -> tuple[Any, ...]:
    """The inputs as tensors; of those that can require grad, the ones whose bit is set in `tracked` do."""
    made, position = [], 0
    for x in inputs:
        if isinstance(x, Constant):
            made.append(wrap(x.array))
        elif isinstance(x, np.ndarray):
            t = wrap(x)
            if x.dtype.kind in "fc":
                set_requires_grad(t, bool(tracked >> position & 1))
                position += 1
            made.append(t)
        else:
            made.append(x)
    return tuple(made)


def edge(target: Any) -> Any:
    return id(target) if isinstance(target, Tensor) else type(row_node(target)[0]).__name__


def saved(node: Node) -> list[Any]:
    """What a node keeps, without the counters of what it does not need."""
    values = []
    for k in range(0, len(node.saved), 3):
        value, counter, version = node.saved[k:k + 3]
        shown = [np.array(x) for x in value] if isinstance(value, tuple) else None if value is None else np.array(value)
        watched = None if value is None or counter is None else version
        values.append((shown, watched))
    return values


def described(result: Any) -> list[Any]:
    """All that a recording leaves behind."""
    found = []
    for t in result if isinstance(result, (list, tuple)) else [result]:
        node, number = row_node(grad_fn(t))
        found.append([t._array, t._array.dtype, t._array.strides, t._version, t.requires_grad, number,
                      [cause.kind for cause in t._cause], None if t._view is None else (t._view.creation, len(t._view.steps))])
        if node is not None:
            cuts = None if node.cuts is None else [[cause.kind for cause in causes] for causes in node.cuts]
            found[-1] += [type(node), [edge(x) for x in node.edges], saved(node), node.static if type(node).layout.static else (),
                          node.shapes, cuts]
    return found


@pytest.mark.parametrize("name", SAMPLES)
def test_generated_and_plain_recording_agree(name: str) -> None:
    row = TABLE[name]
    for sample in SAMPLES[name]:
        statics = {**row.static_defaults, **sample.statics}
        floats = sum(isinstance(x, np.ndarray) and x.dtype.kind in "fc" for x in sample.inputs)
        for tracked in sorted({0, 1, 2**floats - 1, 2**floats - 2 if floats > 1 else 0}):
            inputs = leaves(sample.inputs, tracked)
            kinds = "v" if row.variadic else kinds_of(inputs)
            spec = specialization_of(row, kinds)
            fast = described(compiled(row, kinds)(*inputs, **sample.statics))
            plain = described(record(spec, inputs, statics))
            np.testing.assert_equal(fast, plain)


def test_rows_of_one_pattern_share_their_text() -> None:
    assert compiled(TABLE["exp"], "t").__code__ is compiled(TABLE["tanh"], "t").__code__


def test_gradient_functions_are_compiled_when_they_are_needed() -> None:
    x = wrap(np.ones(3))
    set_requires_grad(x, True)
    specialization_of(TABLE["cosh"], "t").gradients.clear()
    y = compiled(TABLE["cosh"], "t")(x)
    spec = type(y._node).layout
    assert spec.gradients == {}
    y.sum().backward()
    assert set(spec.gradients) == {"raw"}
