"""torch._foreach_* against torch: results, what is written in place, gradients, errors."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from oracle import assert_same, outcome

import whygrad

NAMES = [name for name in dir(torch) if name.startswith("_foreach_") and name != "_foreach_powsum"]

# What stands beside the list x, by op: expressions of the library m and of two further lists, y and z.
ARGUMENTS = {
    "abs acos asin atan ceil clone cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 max neg norm reciprocal "
    "round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc zero": ["x"],
    "add sub": ["x, y", "x, 2.0", "x, [1.0, 2.0]", "x, y, alpha=3"],
    "mul div": ["x, y", "x, 2.0", "x, [1.0, 2.0]", "x, m.tensor(2.0)"],
    "maximum minimum clamp_min clamp_max": ["x, y", "x, 0.5", "x, [0.3, 0.6]"],
    "addcmul addcdiv": ["x, y, z", "x, y, z, value=2.0", "x, y, z, [1.0, 2.0]", "x, y, z, m.tensor([1.0, 2.0])"],
    "lerp": ["x, y, z", "x, y, 0.3", "x, y, [0.1, 0.9]"],
    "pow": ["x, y", "x, 2.0", "x, [2.0, 3.0]"],
    "copy": ["x, y"],
    "mm": ["[t.reshape(-1, 1) for t in x], [t.reshape(1, -1) for t in y]"],
}
OTHERS = {name: calls for names, calls in ARGUMENTS.items() for name in names.split()}
CALLS = [f"{name}({arguments})" for name in NAMES
         for arguments in OTHERS[name.removeprefix("_foreach_").removesuffix("_")]]
CALLS += ["_foreach_pow(2.0, x)", "_foreach_norm(x, ord=1)", "_foreach_norm(x, float('inf'), dtype=m.float64)"]
WRONG = ["_foreach_add(x, y[:1])", "_foreach_add([], [])", "_foreach_sqrt([])", "_foreach_add(x, [1.0])",
         "_foreach_exp(x[0])", "_foreach_addcdiv(x, y, z[:1])"]


# torch cannot differentiate these.
UNDIFFERENTIABLE = ("_foreach_zero_", "_foreach_copy_", "m.tensor([1.0, 2.0])", "imum_", "imum(x, [")


def run(lib: Any, call: str, *, grad: bool = False) -> tuple[Any, list[Any], list[Any]]:
    """The result of a call, the list x after it, and the leaves behind all lists."""
    leaves = [lib.tensor(values, requires_grad=grad) for values in (
        [0.2, 0.8], [[0.4], [0.6], [0.9]], [0.3, 0.9], [[0.5], [0.7], [0.2]], [0.4, 0.1], [[0.6], [0.8], [0.3]])]
    lists = {name: [t * 1 for t in leaves[2 * i:2 * i + 2]] for i, name in enumerate("xyz")}
    return eval(f"m.{call}", {"m": lib, **lists}), lists["x"], leaves


@pytest.mark.parametrize("call", CALLS)
def test_values(call: str) -> None:
    (theirs, their_x, _), (ours, our_x, _) = run(torch, call), run(whygrad, call)
    assert type(theirs) is type(ours)
    assert_same(theirs, ours)
    assert_same(their_x, our_x)


@pytest.mark.parametrize("call", [call for call in CALLS if not any(word in call for word in UNDIFFERENTIABLE)])
def test_gradients(call: str) -> None:
    def gradients(lib: Any) -> list[Any]:
        result, _, leaves = run(lib, call, grad=True)
        return list(lib.autograd.grad(sum(t.pow(2).sum() for t in result), leaves, allow_unused=True))

    assert_same(gradients(torch), gradients(whygrad))


@pytest.mark.parametrize("call", WRONG)
def test_errors(call: str) -> None:
    theirs, ours = outcome(lambda: run(torch, call)), outcome(lambda: run(whygrad, call))
    assert theirs[0] == "error"
    assert theirs == ours


def test_all_are_there() -> None:
    assert all(hasattr(whygrad, name) for name in NAMES)
    with pytest.raises(AttributeError):
        _ = whygrad._foreach_nonsense
