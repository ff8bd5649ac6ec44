"""Arguments by name: torch's own names, and NumPy's where torch takes those too."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from oracle import assert_same, outcome

import whygrad

CALLS = """
t.softmax(x, axis=0); t.log_softmax(x, axis=-1); x.softmax(axis=1); t.unsqueeze(x, axis=0); x.unsqueeze(axis=-1)
x.unsqueeze(); t.gather(x, axis=1, index=i); x.gather(axis=0, index=i); x.gather(1); t.index_select(x, axis=0, index=i[0])
t.sort(x, axis=0); t.argsort(x, axis=0); t.topk(x, 1, axis=0); t.unbind(x, axis=1); t.chunk(x, 2, axis=1)
t.cat([x, x], axis=1); x.sum(axis=0, keepdims=True); t.stack([x, x], axis=1); x.amax(axis=0); t.squeeze(x, axis=0)
t.cumsum(x, axis=0); x.mean(axis=1); x.max(axis=1); x.argmax(axis=0); t.polar(abs=x, angle=x); t.complex(real=x, imag=x)
t.tensor_split(input=x, tensor_indices_or_sections=t.tensor(2)); x.clone().copy_(other=x + 1); x.clone().copy_(src=x)
x.clone().resize_(size=(3, 2)); t.nn.functional.one_hot(input=i)
t.sparse_csr_tensor(crow_indices=[0, 1, 1], col_indices=[1], values=[2.0]).to_dense(); t.linalg.cholesky(A=t.eye(2))
t.linalg.solve(A=t.eye(2), B=x); t.where(condition=x > 0, input=x, other=-x); t.swapaxes(x, axis0=0, axis1=1)
"""


@pytest.mark.parametrize("call", [call.strip() for line in CALLS.strip().splitlines() for call in line.split(";")])
def test_arguments_by_name(call: str) -> None:
    results: list[Any] = []
    for t in (torch, whygrad):
        x, i = t.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]), t.tensor([[0, 1, 1], [1, 0, 0]])
        results.append(outcome(lambda t=t, x=x, i=i: eval(call, {"t": t, "x": x, "i": i})))
    assert results[1][0] == results[0][0]
    if results[0][0] == "error":
        assert results[1][1][0] == results[0][1][0]
    else:
        assert_same(results[0][1], results[1][1])
