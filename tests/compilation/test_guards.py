"""Guards: whatever a compiled function reads may change between two calls, and its result follows."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whygrad as torch

SCALE = 2.0
TABLE = {"a": [1.0, 2.0]}


def helper(x: Any) -> Any:
    return x * SCALE


class Config:
    depth = 2

    def __init__(self) -> None:
        self.rate = 0.5
        self.sizes = [1, 2]


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(3, 3)
        self.drop = torch.nn.Dropout(0.5)
        self.factor = 3.0
        self.register_buffer("offset", torch.ones(3))

    def forward(self, x: Any) -> Any:
        return self.drop(self.inner(x)) * self.factor + self.offset


def model_case(change: Callable[[Model], Any]) -> tuple[Callable[..., Any], Callable[[], Any]]:
    model = Model()
    return model, lambda: change(model)


def closure_case() -> tuple[Callable[..., Any], Callable[[], Any]]:
    held = 1.0

    def f(x: Any) -> Any:
        return x + held

    def change() -> None:
        nonlocal held
        held = 5.0

    return f, change


def config_case(change: Callable[[Config], Any]) -> tuple[Callable[..., Any], Callable[[], Any]]:
    config = Config()

    def f(x: Any) -> Any:
        for _ in range(config.depth):
            x = x * config.rate + config.sizes[0]
        return x

    return f, lambda: change(config)


def default_case() -> tuple[Callable[..., Any], Callable[[], Any]]:
    def f(x: Any, k: float = 2.0) -> Any:
        return x * k

    return f, lambda: setattr(f, "__defaults__", (7.0,))


def code_case() -> tuple[Callable[..., Any], Callable[[], Any]]:
    space = SimpleNamespace(function=lambda x: x + 1)
    return lambda x: space.function(x), lambda: setattr(space, "function", lambda x: x - 1)


def set_global(name: str, value: Any) -> Callable[[], Any]:
    return lambda: globals().__setitem__(name, value)


def replace_weight(model: Model) -> None:
    model.inner.weight = torch.nn.Parameter(torch.zeros(3, 3))


def data_of_weight(model: Model) -> None:
    model.inner.weight.data = torch.full((3, 3), 2.0)


def in_place(model: Model) -> None:
    with torch.no_grad():
        model.inner.weight.fill_(0.25)


def patched(owner: Any, name: str, f: Callable[[Any], Any]) -> tuple[Callable[..., Any], Callable[[], Any]]:
    """A function of this package is replaced, as programs do to their libraries."""
    RESTORE.append((owner, name, vars(owner)[name]))
    return f, lambda: setattr(owner, name, lambda *args: args[-1] * 7)


RESTORE: list[tuple[Any, str, Any]] = []

CASES: dict[str, Callable[[], tuple[Callable[..., Any], Callable[[], Any]]]] = {
    "global": lambda: (lambda x: helper(x), set_global("SCALE", 3.0)),
    "global function": lambda: (lambda x: helper(x), set_global("helper", lambda x: x - 1)),
    "global dict": lambda: (lambda x: x * TABLE["a"][1], lambda: TABLE["a"].__setitem__(1, -1.0)),
    "length of a list": lambda: (lambda x: sum([x * k for k in TABLE["a"]]), lambda: TABLE["a"].append(4.0)),
    "closure": closure_case,
    "default": default_case,
    "function in an attribute": code_case,
    "attribute of an object": lambda: config_case(lambda c: setattr(c, "rate", 0.25)),
    "list in an object": lambda: config_case(lambda c: c.sizes.__setitem__(0, 9)),
    "class attribute": lambda: config_case(lambda c: setattr(Config, "depth", 3)),
    "shadowed class attribute": lambda: config_case(lambda c: setattr(c, "depth", 1)),
    "zero of the other sign": lambda: config_case(lambda c: (setattr(c, "rate", -0.0), c.sizes.__setitem__(0, -0.0))),
    "training": lambda: model_case(lambda m: m.eval()),
    "training of a part": lambda: model_case(lambda m: m.drop.eval()),
    "attribute of a module": lambda: model_case(lambda m: setattr(m, "factor", -1.0)),
    "rate of a layer": lambda: model_case(lambda m: setattr(m.drop, "p", 0.1)),
    "buffer": lambda: model_case(lambda m: setattr(m, "offset", torch.zeros(3))),
    "buffer in place": lambda: model_case(lambda m: m.offset.zero_()),
    "parameter": lambda: model_case(replace_weight),
    "data of a parameter": lambda: model_case(data_of_weight),
    "parameter in place": lambda: model_case(in_place),
    "layer": lambda: model_case(lambda m: setattr(m, "inner", torch.nn.Identity())),
    "method": lambda: model_case(lambda m: setattr(m, "forward", lambda x: x)),
    "forward hook": lambda: model_case(lambda m: m.inner.register_forward_hook(lambda module, args, out: out * 2)),
    "requires_grad": lambda: model_case(lambda m: m.requires_grad_(False)),
    "function of torch": lambda: patched(torch.nn.functional, "relu", lambda x: torch.nn.functional.relu(x)),
    "method of tensors": lambda: patched(torch.Tensor, "abs", lambda x: x.abs() + 1),
    "forward of a layer": lambda: patched(torch.nn.Linear, "forward", torch.nn.Linear(3, 3)),
    "bias": lambda: model_case(lambda m: setattr(m.inner, "bias", None)),
}


@pytest.fixture(autouse=True)
def restored() -> Any:
    before = SCALE, helper
    yield
    globals().update(SCALE=before[0], helper=before[1], TABLE={"a": [1.0, 2.0]})
    Config.depth = 2
    while RESTORE:
        setattr(*RESTORE.pop())


def call(f: Callable[..., Any], x: Any) -> Any:
    torch.manual_seed(1)
    return f(x)


@pytest.mark.parametrize("name", CASES)
def test_result_follows(name: str) -> None:
    f, change = CASES[name]()
    compiled = torch.compile(f)
    x = torch.randn(4, 3)
    for _ in range(4):
        assert torch.equal(call(compiled, x), call(f, x))
    counts = compiled._compiled.calls
    assert counts["compiled"] == 2, torch.explain(compiled)
    change()
    for _ in range(4):
        expected, found = call(f, x), call(compiled, x)
        assert torch.equal(found, expected)
        assert found.requires_grad == expected.requires_grad
        assert torch.equal(torch.signbit(found), torch.signbit(expected))


X = torch.arange(12.0).reshape(3, 4)
ARGUMENTS: dict[str, list[Any]] = {
    "shape": [X, X[:2], X.reshape(-1), X[:0]],
    "strides": [X, X.t().contiguous().t(), torch.randn(3, 8)[:, ::2]],
    "dtype": [X, X.double(), X.int()],
    "requires_grad": [X, X.clone().requires_grad_(), X.clone().requires_grad_() * 1],
    "number": [2, 2.0, True, 3, 0.0, -0.0],
    "string": ["a", "b"],
    "list": [[X], [X, X], (X, X), {"a": X}],
    "none": [X, None],
}


def by_kind(x: Any) -> Any:
    if isinstance(x, dict):
        return x["a"] * 2
    if isinstance(x, (list, tuple)):
        return x[0] + len(x) if isinstance(x, list) else x[0] - len(x)
    if isinstance(x, str):
        return torch.ones(2) * len(x) if x == "a" else torch.zeros(2)
    if x is None:
        return torch.zeros(1)
    if isinstance(x, (bool, int, float)):
        return torch.ones(2) * x + isinstance(x, bool)
    return x.sum(0) * x.numel() / (1.0 + x.ndim)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(name: str) -> None:
    compiled = torch.compile(by_kind)
    for x in ARGUMENTS[name] * 3:
        expected, found = by_kind(x), compiled(x)
        assert torch.equal(expected, found)
        assert (expected.dtype, expected.requires_grad) == (found.dtype, found.requires_grad)
        assert torch.equal(torch.signbit(expected), torch.signbit(found))
    assert compiled._compiled.calls["compiled"]


def test_modes() -> None:
    w = torch.ones(2, requires_grad=True)
    f = torch.compile(lambda x: x * w + torch.zeros(2))
    for _ in range(3):
        assert f(torch.ones(2)).requires_grad
        with torch.no_grad():
            assert not f(torch.ones(2)).requires_grad
        with torch.inference_mode():
            assert f(torch.ones(2)).is_inference()
        torch.set_default_dtype(torch.float64)
        try:
            assert f(torch.ones(2, dtype=torch.float32)).dtype is torch.float64
        finally:
            torch.set_default_dtype(torch.float32)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert f(torch.ones(2)).dtype is torch.float32


def test_one_tensor_twice() -> None:
    def f(a: Any, b: Any) -> Any:
        a.add_(1)
        return a * b

    compiled = torch.compile(f)
    for _ in range(3):
        for same in (False, True):
            a = torch.ones(3)
            b = a if same else torch.ones(3)
            c = a.clone()
            assert torch.equal(compiled(a, b), f(c, c if same else torch.ones(3)))
            assert torch.equal(a, c)
            part = torch.ones(4)
            assert torch.equal(compiled(part[:3], part[1:]), f((other := torch.ones(4))[:3], other[1:]))


CHANGES = st.lists(st.sampled_from(["rate", "sizes", "depth", "weight", "train", "eval", "factor", "shape", "grad", "call"]),
                   min_size=6, max_size=20)


@settings(max_examples=12)
@given(CHANGES)
def test_any_sequence_of_changes(changes: list[str]) -> None:
    config, model = Config(), Model()

    def f(x: Any) -> Any:
        x = model(x)
        for i in range(config.depth):
            x = x * config.rate + config.sizes[i % 2]
        return x

    compiled, rows, grad = torch.compile(f), 2, False
    for number, change in enumerate(changes):
        if change == "rate":
            config.rate += 0.25
        elif change == "sizes":
            config.sizes[1] = number
        elif change == "depth":
            config.depth = number % 3
        elif change == "weight":
            in_place(model)
        elif change in ("train", "eval"):
            model.train(change == "train")
        elif change == "factor":
            model.factor = -model.factor
        elif change == "shape":
            rows += 1
        elif change == "grad":
            grad = not grad
        x = torch.randn(rows, 3, requires_grad=grad)
        for _ in range(2):
            a, b = call(f, x), call(compiled, x)
            assert torch.equal(a, b)
            if grad:
                assert torch.equal(*[torch.autograd.grad(out.sum(), x)[0] for out in (a, b)])
