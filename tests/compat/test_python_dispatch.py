"""torch.utils._python_dispatch: modes that hear of every op, with the names and arguments of aten."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.utils._python_dispatch

import whygrad
import whygrad.compat.python_dispatch

MODES = {torch: torch.utils._python_dispatch, whygrad: whygrad.compat.python_dispatch}
# Factories, which apply no row, and ops with which torch lays memory out: rows need fewer.
NOT_COMPARED = {"detach", "view", "_unsafe_view", "lift_fresh", "expand", "permute", "unsqueeze", "ones_like", "t",
                "scalar_tensor", "zeros", "empty_like", "transpose", "ones", "arange", "empty"}


def heard(t: ModuleType, program: Callable[[Any], Any], facts: Callable[[Any], Any]) -> list[Any]:
    """What a mode hears of a program and its backward."""
    seen: list[Any] = []

    class Mode(MODES[t].TorchDispatchMode):  # type: ignore[name-defined, misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            if func._opname not in NOT_COMPARED:
                seen.append((str(func), func.name(), str(func.overloadpacket), facts(args)))
            return out

    t.manual_seed(0)
    with Mode():
        result = program(t)
        if result.requires_grad:
            result.sum().backward()
    return seen


def shapes(args: Any) -> Any:
    return [tuple(x.shape) for x in args if hasattr(x, "shape")]


def whole(args: Any) -> Any:
    return [tuple(x.shape) if hasattr(x, "shape") else x for x in args]


def x(t: Any) -> Any:
    return t.arange(24.0).reshape(2, 3, 4).requires_grad_()


# With all their arguments.
PRODUCTS: dict[str, Callable[[Any], Any]] = {
    "mm": lambda t: t.ones(4, 8) @ t.ones(8, 6), "bmm": lambda t: t.bmm(t.ones(2, 3, 4), t.ones(2, 4, 5)),
    "matmul": lambda t: t.ones(2, 5, 3, 4) @ t.ones(2, 5, 4, 5),
    "linear": lambda t: t.nn.functional.linear(t.ones(4, 8), t.ones(6, 8)),
    "linear with a bias": lambda t: t.nn.functional.linear(t.ones(2, 4, 8), t.ones(6, 8), t.ones(6)),
    "einsum": lambda t: t.einsum("bij,bkj->bik", t.ones(2, 3, 4), t.ones(2, 5, 4)),
    "conv2d": lambda t: t.nn.functional.conv2d(t.ones(2, 4, 8, 8), t.ones(6, 2, 3, 3), stride=2, padding=1, groups=2),
    "conv1d with a bias": lambda t: t.nn.functional.conv1d(t.ones(2, 4, 8), t.ones(6, 4, 3), t.ones(6), dilation=2),
    "transposed": lambda t: t.nn.functional.conv_transpose2d(t.ones(2, 4, 8, 8), t.ones(4, 2, 3, 3)),
}
# With the shapes of their tensors, forward and backward.
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "numbers": lambda t: x(t) * 2, "both": lambda t: (x(t) + t.ones(4)) * 2,
    "power": lambda t: t.ones(3) ** 2 + 2 ** t.ones(3),
    "from a number": lambda t: 2 - t.ones(3), "comparisons": lambda t: (t.ones(3) > 0) | (t.ones(3) == t.zeros(3)),
    "elementwise": lambda t: x(t).exp().relu(), "means": lambda t: t.ones(2, 3).mean(1).sum(),
    "in place": lambda t: t.ones(3).add_(1),
    "filled": lambda t: t.ones(3).clone().zero_().uniform_(), "indexing": lambda t: t.ones(2, 3, 4)[:, 1:, 0],
    "a mask": lambda t: t.where(t.ones(3) > 2, t.ones(3), t.zeros(3)), "softmax": lambda t: t.ones(3, 4).softmax(-1),
    "a layer": lambda t: t.nn.functional.gelu(t.nn.Linear(4, 2)(t.ones(3, 4))),
    "pooling": lambda t: t.nn.functional.max_pool2d(t.ones(1, 2, 4, 4), 2),
    "normalisation": lambda t: t.nn.functional.layer_norm(t.ones(3, 4), (4,), t.ones(4), t.ones(4)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str) -> None:
    assert heard(whygrad, PRODUCTS[name], whole) == heard(torch, PRODUCTS[name], whole)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    def without_inner_sums(t: Any) -> Any:  # how a gradient is summed to the shape of a bias
        return [(op, *facts) for op, *facts in heard(t, PROGRAMS[name], shapes) if op != "aten.sum.dim_IntList"]

    assert without_inner_sums(whygrad) == without_inner_sums(torch)


@pytest.mark.parametrize("t", [torch, whygrad], ids=["torch", "whygrad"])
def test_modes_in_modes(t: Any) -> None:
    seen: list[str] = []

    def mode(name: str) -> Any:
        class Mode(MODES[t].TorchDispatchMode):  # type: ignore[name-defined, misc]
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                seen.append(f"{name} {func.__name__}")
                args[0].abs()  # the modes outside hear of it
                return func(*args, **(kwargs or {}))
        return Mode()

    a = t.ones(2)
    with mode("outer"):
        with mode("inner"):
            a.exp()
        a.neg()
        with MODES[t]._disable_current_modes():
            a.sin()
    a.cos()
    assert sorted(seen) == ["inner exp.default", "outer abs.default", "outer exp.default", "outer neg.default"]
    assert {t.ops.aten.mm: 1}[t.ops.aten.mm] == 1
    assert t.ops.aten.add.Tensor != t.ops.aten.add.Scalar
    assert not MODES[t].is_traceable_wrapper_subclass(a)


def test_what_a_mode_cannot_do() -> None:
    def mode(dispatch: Any) -> Any:
        return type("Mode", (whygrad.compat.python_dispatch.TorchDispatchMode,), {"__torch_dispatch__": dispatch})()

    a = whygrad.ones(2)
    with pytest.raises(NotImplementedError, match="cannot replace results"), mode(lambda self, func, types, args, kwargs: a):
        a.exp()
    with (pytest.raises(NotImplementedError, match="cannot replace arguments"),
          mode(lambda self, func, types, args, kwargs: func(whygrad.zeros(2)))):
        a.exp()
    assert whygrad.compat.python_dispatch._get_current_dispatch_mode() is None
    assert a.exp().sum().item() > 5
