"""What cannot be compiled stays eager, says why, and gives the right results."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whygrad as torch
from whygrad.compilation.exc import Unsupported

LOG: list[Any] = []
STATE = {"count": 0}
WEIGHTS = np.ones((100, 100), np.float32)


def by_value(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x - 1


def counting(x: Any) -> Any:
    STATE["count"] += 1
    return x * STATE["count"]


def global_written(x: Any) -> Any:
    global LAST
    LAST = x
    return x + 1


def hooked(x: Any) -> Any:
    y = (x * x).sum(0)
    y.register_hook(lambda g: g * 2)
    return y


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


@torch.compiler.disable
def never(x: Any) -> Any:
    return x + 1


def printed(x: Any) -> Any:
    print("seen")
    return x + 1


def doubled_until(x: Any) -> Any:
    while float(x.detach().abs().max()) < 100:
        x = x * 2
    return x


CASES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "branch on a value": (by_value, "Tensor.__bool__"),
    "item": (lambda x: x * x.mean().item(), "Tensor.item"),
    "tolist": (lambda x: torch.tensor(x[0].tolist()), "Tensor.tolist"),
    "numpy": (lambda x: torch.from_numpy(x.detach().numpy() * 2), "numpy"),
    "loop on a value": (doubled_until, "Tensor.__float__"),
    "mask": (lambda x: x[x > 0], "values are read"),
    "nonzero": (lambda x: (x > 0).nonzero(), "nonzero"),
    "unique": (lambda x: torch.unique(x), "unique"),
    "print": (printed, "print"),
    "random": (lambda x: x * random.random(), "random"),
    "NumPy's random": (lambda x: x * float(np.random.rand()), "random numbers"),
    "time": (lambda x: x * (time.time() > 0), "time"),
    "list outside": (lambda x: LOG.append(x.shape[0]) or x + 1, "LOG"),
    "dict outside": (counting, "STATE"),
    "global": (global_written, "writes the global LAST"),
    "NumPy array outside": (lambda x: x + WEIGHTS.shape[0], "WEIGHTS"),
    "hook": (hooked, "register_hook"),
    "disabled": (never, "torch.compiler.disable"),
    "seed": (lambda x: x * (torch.manual_seed(0) is None) + torch.rand(1), "manual_seed"),
    "part of an argument": (lambda x: x[0], "shares memory"),
    "object": (lambda x: (x + 1, object()), "object"),
    "custom Function": (lambda x: Twice.apply(x), "Twice"),
    "bfloat16": (lambda x: x.bfloat16() * 2, "bfloat16"),
    "conjugated view": (lambda x: torch.fft.rfft(x).conj().abs(), "subclass"),
    "argument transposed": (lambda x: x.detach().t_() + 1, "transposed in place"),
}


@pytest.mark.parametrize("name", CASES)
def test_stays_eager(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    f, reason = CASES[name]
    compiled = torch.compile(f)
    for seed in range(20):
        torch.manual_seed(seed)
        x = torch.randn(5, 4, requires_grad=True)
        results = []
        for function in (f, compiled):
            STATE["count"] = seed
            random.seed(seed), np.random.seed(seed), torch.manual_seed(seed)
            results.append(function(x))
        for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in results], strict=True):
            assert not isinstance(a, torch.Tensor) or torch.allclose(a, b, atol=1e-6)
    assert compiled._compiled.calls["compiled"] == 0
    assert reason in torch.explain(compiled)


def test_fullgraph_raises_with_the_reason_and_the_line() -> None:
    compiled = torch.compile(by_value, fullgraph=True)
    line = by_value.__code__.co_firstlineno + 1
    with pytest.raises(Unsupported, match=rf"by_value cannot be compiled as a whole: .*test_breaks.py:{line}: Tensor.__bool__"):
        compiled(torch.ones(2))


def test_prints_every_time(capsys: pytest.CaptureFixture[str]) -> None:
    compiled = torch.compile(printed)
    for _ in range(5):
        compiled(torch.ones(2))
    assert capsys.readouterr().out == "seen\n" * 5


def test_an_error_of_the_function_is_raised_and_leaves_it_usable() -> None:
    def f(x: Any, fails: bool) -> Any:
        if fails:
            raise KeyError("here")
        return x + 1

    compiled = torch.compile(f)
    for _ in range(4):
        with pytest.raises(KeyError, match="here"):
            compiled(torch.ones(2), True)
        assert torch.equal(compiled(torch.ones(2), False), torch.full((2,), 2.0))
    assert compiled._compiled.calls["compiled"] == 2


def test_checks_of_values_are_repeated() -> None:
    table, rows = torch.randn(4, 2), torch.nn.Embedding(4, 2)
    for f in (lambda i: table.index_select(0, i) + 0, lambda i: table[i] + 0, lambda i: rows(i) * 2,
              lambda i: table.gather(0, i[:, None])):
        compiled = torch.compile(f)
        for _ in range(3):
            compiled(torch.tensor([0, 3]))
        assert compiled._compiled.calls["compiled"] == 1, torch.explain(compiled)
        with pytest.raises((IndexError, RuntimeError)):
            compiled(torch.tensor([0, 4]))
        assert torch.equal(compiled(torch.tensor([1, 2])), f(torch.tensor([1, 2])))
    loss = torch.compile(lambda x, y: torch.nn.functional.cross_entropy(x, y))
    for _ in range(3):
        loss(torch.randn(2, 3), torch.tensor([0, 2]))
    with pytest.raises(IndexError):
        loss(torch.randn(2, 3), torch.tensor([0, 3]))


def test_recompile_limit() -> None:
    compiled = torch.compile(lambda x: x + 1, recompile_limit=2)
    for n in (1, 2, 3, 4) * 3:
        assert compiled(torch.ones(n)).shape == (n,)
    assert len(compiled._compiled.programs) == 2
    assert "recompile_limit" in torch.explain(compiled)


def test_many_shapes() -> None:
    compiled = torch.compile(lambda x, k: (x * k).tanh())
    for n in list(range(1, 61)) * 3:
        x = torch.randn(n, dtype=torch.float64)
        assert torch.equal(compiled(x, 2), (x * 2).tanh())
    assert len(compiled._compiled.programs) == 60
    assert compiled._compiled.calls["compiled"] == 60
    for k in list(range(3, 20)) * 3:
        assert torch.equal(compiled(x, k), (x * k).tanh())
    assert len(compiled._compiled.programs) == 60


def test_options() -> None:
    for mode in (None, "default", "reduce-overhead", "max-autotune"):
        assert torch.equal(torch.compile(lambda x: x + 1, mode=mode, dynamic=True)(torch.ones(1)), torch.full((1,), 2.0))
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast"):
        torch.compile(by_value, mode="fast")
    with pytest.raises(RuntimeError, match="Invalid backend: 'nowhere'"):
        torch.compile(by_value, backend="nowhere")
    with pytest.raises(NotImplementedError, match="backend"):
        torch.compile(by_value, backend=lambda graph, inputs: graph)
    assert torch.compile(by_value, disable=True) is by_value
    assert torch.compile(by_value, backend="eager") is by_value


def test_logs(capsys: pytest.CaptureFixture[str]) -> None:
    torch._logging.set_logs(graph_breaks=True, recompiles=True, guards=True, output_code=True)
    try:
        compiled = torch.compile(lambda x: x + 1)
        for n in (1, 1, 2, 2):
            compiled(torch.ones(n))
        torch.compile(by_value)(torch.ones(2))
    finally:
        torch._logging.set_logs()
    told = capsys.readouterr().err
    for text in ("[graph_breaks] by_value: ", "Tensor.__bool__", "another program is needed: shape, strides, dtype", "[guards]",
                 "def forward("):
        assert text in told
    torch.compile(by_value)(torch.ones(2))
    assert not capsys.readouterr().err


def test_stances() -> None:
    compiled = torch.compile(lambda x: x + 1)
    with torch.compiler.set_stance("force_eager"):
        for _ in range(4):
            compiled(torch.ones(1))
    assert compiled._compiled.calls["compiled"] == 0
    for _ in range(3):
        compiled(torch.ones(1))
    with torch.compiler.set_stance("fail_on_recompile"):
        compiled(torch.ones(1))
        with pytest.raises(RuntimeError, match="Detected recompile"):
            compiled(torch.ones(2))
    with pytest.raises(RuntimeError, match=r"invalid torch\.compile stance 'none'"):
        torch.compiler.set_stance("none")
    with torch._dynamo.config.patch(recompile_limit=1):
        for n in (1, 2, 3) * 3:
            compiled(torch.ones(n))
    assert len(compiled._compiled.programs) == 1
    with pytest.raises(AssertionError, match="A callable function is expected"):
        torch.compile(3)


def test_is_compiling_and_reset() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen[:] = [torch.compiler.is_compiling()]
        return x + 1

    compiled = torch.compile(f)
    compiled(torch.ones(1))
    assert seen == [True]
    assert not torch.compiler.is_compiling()
    g = torch.compile(functools.partial(torch.add, torch.ones(2)))
    for _ in range(3):
        g(torch.ones(2))
    assert g._compiled.calls["compiled"] == 1
    torch.compiler.reset()
    assert not g._compiled.programs
    for _ in range(3):
        g(torch.ones(2))
    assert g._compiled.calls["compiled"] == 1


def test_dynamo_explains() -> None:
    dynamo = torch._dynamo
    found = dynamo.explain(lambda x: x * 2 + 1)(torch.ones(2))
    assert (found.graph_count, found.graph_break_count) == (1, 0)
    found = dynamo.explain(by_value)(torch.ones(2))
    assert (found.graph_count, len(found.break_reasons)) == (0, 1)
    assert "Tensor.__bool__" in str(found)

    def broken(x: Any) -> Any:
        dynamo.graph_break()
        return x

    assert "graph_break" in str(dynamo.explain(broken)(torch.ones(2)))
