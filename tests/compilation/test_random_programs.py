"""Random programs of views, writes in place, detached values and derivatives: compiled and eager runs give the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import whygrad as torch

# On a list of matrices (4, 4): what a step reads, and what it appends or writes. Leaves that require grad are never written.
OPS: dict[str, Callable[[list[Any], int, int], Any]] = {
    "add": lambda v, i, j: v.append(v[i] + v[j]),
    "mul": lambda v, i, j: v.append(v[i] * v[j]),
    "tanh": lambda v, i, j: v.append(v[i].tanh()),
    "number": lambda v, i, j: v.append(2.0 - v[i] * 0.5),
    "relu": lambda v, i, j: v.append(torch.relu(v[i]) - v[j].sigmoid()),
    "matmul": lambda v, i, j: v.append(v[i] @ v[j] * 0.1),
    "transpose": lambda v, i, j: v.append(v[i].t()),
    "view": lambda v, i, j: v.append(v[i].reshape(2, 8).view(4, 4)),
    "rows": lambda v, i, j: v.append(torch.cat([v[i][2:], v[j][:2]])),
    "mean": lambda v, i, j: v.append(v[i] - v[j].mean(0, keepdim=True)),
    "softmax": lambda v, i, j: v.append(v[i].softmax(-1)),
    "row": lambda v, i, j: v.append(v[i] * v[j][1]),
    "detach": lambda v, i, j: v.append(v[i].detach()),
    "clone": lambda v, i, j: v.append(v[i].clone()),
    "where": lambda v, i, j: v.append(torch.where(v[i] > v[j], v[i], 0.5)),
    "zeros": lambda v, i, j: v.append(torch.zeros(4, 4)),
    "add_": lambda v, i, j: v[i].add_(v[j]),
    "mul_": lambda v, i, j: v[i].mul_(0.5),
    "copy_": lambda v, i, j: v[i].copy_(v[j] * 2),
    "row_": lambda v, i, j: v[i][1].add_(v[j][0]),
    "slice_": lambda v, i, j: v[i][:, 1:3].mul_(v[j][:, :2]),
    "set": lambda v, i, j: v[i].__setitem__((slice(0, 2), 0), v[j][2:, 1]),
    "number_": lambda v, i, j: v[i].__setitem__(3, 0.25),
    "zero_": lambda v, i, j: v[i].zero_(),
    "relu_": lambda v, i, j: v[i].relu_(),
}
PROGRAMS = st.lists(st.tuples(st.sampled_from(list(OPS)), st.integers(0, 30), st.integers(0, 30)), min_size=2, max_size=12)
ENDS = ("result", "step", "gradient", "both")


def run(program: list[tuple[str, int, int]], end: str, x: Any, w: Any, state: Any) -> Any:
    values = [x, w, state, x * 1.5]
    for name, i, j in program:
        OPS[name](values, i % len(values), j % len(values))
    out = values[-1] + values[0]
    if end == "result":
        return out, values[len(values) // 2] * 1.0
    loss = (out * out).sum()
    if end in ("gradient", "both"):
        (g,) = torch.autograd.grad(loss, w, create_graph=end == "both", allow_unused=True)
        if end == "gradient":
            return loss.detach(), g
        loss = loss + (0.0 if g is None else (g * g).sum())
    loss.backward()
    with torch.no_grad():
        w -= 0.01 * (w if w.grad is None else w.grad)
    return loss.detach()


def trace(f: Callable[..., Any], grad: bool) -> list[Any]:
    """What five calls give and leave behind, up to the first error."""
    found: list[Any] = []
    torch.manual_seed(0)
    w = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
    state = torch.randn(4, 4, dtype=torch.float64)
    for _ in range(5):
        x = torch.randn(4, 4, dtype=torch.float64, requires_grad=grad)
        try:
            result = f(x, w, state)
            flat = list(result) if type(result) is tuple else [result]
            found += [None if t is None else t.requires_grad for t in flat]
            tracked = [t for t in flat if t is not None and t.requires_grad]
            if tracked:
                inputs = [t for t in (x, w) if t.requires_grad]
                flat += torch.autograd.grad([t.sum() for t in tracked], inputs, allow_unused=True)
        except RuntimeError as error:
            found.append(str(error).split(",")[0])
            flat = []
        found += [None if t is None else t.detach().clone() for t in (*flat, x, w, x._grad, w._grad, state)]
        found += [x._version, w._version, state._version]
        w.grad = None
    return found


COUNTS = {"compiled": 0, "eager": 0}


@settings(max_examples=60)
@given(PROGRAMS, st.sampled_from(ENDS), st.booleans())
def test_random_programs(program: list[tuple[str, int, int]], end: str, grad: bool) -> None:
    torch.set_default_dtype(torch.float64)
    try:
        def f(x: Any, w: Any, state: Any) -> Any:
            return run(program, end, x, w, state)

        compiled = torch.compile(f)
        expected, found = trace(f, grad), trace(compiled, grad)
        for name, count in compiled._compiled.calls.items():
            COUNTS[name] += count
    finally:
        torch.set_default_dtype(torch.float32)
    assert len(expected) == len(found)
    for a, b in zip(expected, found, strict=True):
        if isinstance(a, torch.Tensor):
            torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)
        else:
            assert a == b


def test_many_of_them_are_compiled() -> None:
    test_random_programs()
    assert COUNTS["compiled"] > COUNTS["eager"] / 10
