"""torch.compile(model): the forward is a program, its backward one node in the graph of whoever calls it."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import sys
import threading
import weakref
from typing import Any, NamedTuple

import pytest

import whygrad as torch


def make() -> tuple[Any, Any]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2)).double()
    return model, torch.compile(model)


def ready(compiled: Any, *args: Any) -> None:
    for _ in range(3):
        compiled(*args)
    assert compiled._compiled.calls["compiled"] == 1, torch.explain(compiled)


def seeded(f: Any, *args: Any) -> Any:
    torch.manual_seed(3)
    return f(*args)


def test_gradients_of_any_order() -> None:
    model, compiled = make()
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    ready(compiled, x)
    inputs = [x, *model.parameters()]
    orders = []
    for f in (model, compiled):
        out = seeded(f, x)
        first = torch.autograd.grad((out ** 3).sum(), inputs, create_graph=True)
        second = torch.autograd.grad(sum((g ** 2).sum() for g in first), inputs, create_graph=True)
        third = torch.autograd.grad(sum((g ** 2).sum() for g in second), inputs)
        orders.append([out, *first, *second, *third])
    for a, b in zip(*orders, strict=True):
        torch.testing.assert_close(a, b)


def test_the_node_is_one_of_a_larger_graph() -> None:
    model, compiled = make()
    w = torch.randn(4, dtype=torch.float64, requires_grad=True)
    x = torch.randn(3, 4, dtype=torch.float64)
    ready(compiled, x * w)
    results = []
    for f in (model, compiled):
        model.zero_grad()
        w.grad = None
        (seeded(f, x * w).sin().sum() + w.sum()).backward()
        results.append([w.grad, *[p.grad for p in model.parameters()]])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b)
    assert type(compiled(x * w).grad_fn).__name__ == "CompiledFunctionBackward"


def test_several_results_of_which_some_are_used() -> None:
    def f(a: Any, b: Any) -> Any:
        return {"sum": a + b, "rest": (a * b, a.detach() * 2, 3)}

    compiled = torch.compile(f)
    a, b = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    ready(compiled, a, b)
    out = compiled(a, b)
    assert out["rest"][2] == 3
    assert not out["rest"][1].requires_grad
    (g,) = torch.autograd.grad(out["rest"][0].sum(), a, retain_graph=True)
    assert torch.equal(g, b)
    assert torch.equal(torch.autograd.grad(out["sum"].sum(), b)[0], torch.ones(3))


class Pair(NamedTuple):
    first: Any
    second: Any


LAYERS = torch.nn.GRU(4, 3, 2, batch_first=True, dropout=0.5).double()
COMPILED = {"complex": lambda x: (torch.fft.rfft(x).abs() ** 2).sum(-1), "turned in place": lambda x: (x * 2).t_() @ x,
            "complex product": lambda x: torch.view_as_real(torch.complex(x, x * 2).exp() * 1j).sum(-1),
            "layers with the batch first": lambda x: LAYERS(x[None])[0] * 2,
            "named tuple": lambda x: Pair(x * 2, Pair(x + 1, x).first).first}


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_as_a_whole(name: str) -> None:
    f = COMPILED[name]
    compiled = torch.compile(f, fullgraph=True)
    for i in range(5):
        x = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
        a, b = seeded(f, x), seeded(compiled, x)
        torch.testing.assert_close(a, b)
        torch.testing.assert_close(*[torch.autograd.grad((out ** 2).sum(), x)[0] for out in (a, b)])
        assert compiled._compiled.calls["compiled"] == max(0, i - 1)


def test_a_result_that_is_given_twice_is_one_tensor() -> None:
    def f(x: Any) -> Any:
        y = x + 1
        return y, [y, x]

    compiled = torch.compile(f)
    x = torch.ones(2)
    ready(compiled, x)
    a, (b, c) = compiled(x)
    assert a is b
    assert c is x


def test_errors_of_the_backward() -> None:
    model, compiled = make()
    x = torch.randn(3, 4, dtype=torch.float64)
    ready(compiled, x)
    out = compiled(x)
    out.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        out.sum().backward()
    out = compiled(x)
    with torch.no_grad():
        model[3].weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
    compiled(x).sum().backward(retain_graph=True)


def test_a_step_frees_its_graph() -> None:
    w = torch.ones(2, requires_grad=True)

    def step() -> Any:
        loss = (w * w).sum()
        loss.backward()
        return loss

    compiled = torch.compile(step)
    for _ in range(4):
        loss = compiled()
        assert loss.requires_grad
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()
    assert torch.equal(w.grad, torch.full((2,), 8.0))
    assert compiled._compiled.calls["compiled"] == 2, torch.explain(compiled)


def test_gradients_accumulate_and_belong_to_the_user() -> None:
    model, _ = make()
    x = torch.randn(3, 4, dtype=torch.float64)

    @torch.compile
    def step(x: Any) -> None:
        model(x).sum().backward()

    for _ in range(3):
        step(x)
    model.zero_grad()
    step(x)
    kept = model[0].bias.grad
    before = kept.clone()
    model.zero_grad()
    step(x)
    assert torch.equal(kept, before)
    second = model[0].bias.grad.clone()
    step(x)
    assert not torch.equal(model[0].bias.grad, second)


def test_module_around_a_module() -> None:
    model, compiled = make()
    assert isinstance(compiled, torch.nn.Module)
    assert list(compiled.state_dict()) == [f"_orig_mod.{name}" for name in model.state_dict()]
    compiled.eval()
    assert not model.training
    compiled.extra = 3
    assert model.extra == 3
    assert [type(m) for m in compiled.children()] == [type(model)]
    x = torch.ones(1, 4, dtype=torch.float64)
    assert torch.equal(copy.deepcopy(compiled)(x), model(x))


def test_hooks_of_the_module_around() -> None:
    heard = []
    _, compiled = make()
    compiled.register_forward_pre_hook(lambda *_: heard.append("before"))
    compiled.register_forward_hook(lambda *_: heard.append("after"))
    for _ in range(3):
        compiled(torch.ones(1, 4, dtype=torch.float64))
    assert heard == ["before", "after"] * 3
    compiled.extra = 1
    del compiled.extra
    assert not hasattr(compiled._orig_mod, "extra")
    assert len(compiled) == 4


def test_a_module_compiled_in_place() -> None:
    model, _ = make()
    names = list(model.state_dict())
    x = torch.randn(3, 4, dtype=torch.float64)
    expected = seeded(model, x)
    model.compile(dynamic=True)
    assert list(model.state_dict()) == names
    for _ in range(3):
        assert torch.equal(seeded(model, x), expected)
    assert model.forward.calls["compiled"] == 1
    twin = copy.deepcopy(model)
    with torch.no_grad():
        twin[3].weight.zero_()
    for _ in range(3):
        assert torch.equal(twin(x), model[3].bias.expand(3, 2))
        assert torch.equal(seeded(model, x), expected)


def test_recurrent_state_and_buffers() -> None:
    model = torch.nn.BatchNorm1d(3)
    twin = copy.deepcopy(model)
    compiled = torch.compile(model)
    for _ in range(5):
        x = torch.randn(8, 3)
        torch.testing.assert_close(compiled(x), twin(x))
    for a, b in zip(model.buffers(), twin.buffers(), strict=True):
        torch.testing.assert_close(a, b)
    assert compiled._compiled.calls["compiled"] == 3


def test_threads() -> None:
    model, compiled = make()
    model.eval()
    xs = [torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(4)]
    expected = [torch.autograd.grad(model(x).sum(), x)[0] for x in xs]
    wrong = []

    def work(x: Any, g: Any) -> None:
        for _ in range(50):
            if not torch.equal(torch.autograd.grad(compiled(x).sum(), x)[0], g):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(xs, expected, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_fork() -> None:
    model, compiled = make()
    model.eval()
    x = torch.randn(3, 4, dtype=torch.float64)
    ready(compiled, x)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if torch.equal(compiled(x), model(x)) and compiled._compiled.calls["compiled"] == 2 else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_ctrl_c_leaves_the_engine_usable() -> None:
    class Stop(KeyboardInterrupt):
        pass

    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    interrupts = False

    def hook(*_: Any) -> None:
        if interrupts:
            raise Stop

    optimizer.register_step_pre_hook(hook)

    def step() -> Any:
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    compiled = torch.compile(step)
    for _ in range(3):
        compiled()
    assert compiled._compiled.calls["compiled"] == 1, torch.explain(compiled)
    for _ in range(3):
        before = w.detach().clone()
        interrupts = True
        with pytest.raises(KeyboardInterrupt):
            compiled()
        assert torch.equal(w, before)
        interrupts = False
        compiled()
        torch.testing.assert_close(w.detach(), before * 0.8)


def test_explanations_name_the_line() -> None:
    w = torch.ones(2, requires_grad=True)

    def step() -> None:
        (w * w).sum().backward()

    compiled = torch.compile(step)
    for _ in range(4):
        compiled()
    assert f"line {step.__code__.co_firstlineno + 1}" in str(w.why())
    assert "1 programs, 2 compiled calls" in torch.explain(compiled)


def test_programs_keep_no_arguments() -> None:
    _, compiled = make()
    kept = []
    for _ in range(4):
        x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
        out = compiled(x)
        kept += [weakref.ref(x), weakref.ref(out)]
        del x, out
    gc.collect()
    assert compiled._compiled.calls["compiled"] == 2
    assert [r() for r in kept] == [None] * 8


def test_copies_and_pickles_compile_anew() -> None:
    model, compiled = make()
    model.eval()
    x = torch.randn(3, 4, dtype=torch.float64)
    ready(compiled, x)
    for twin in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert twin._orig_mod is not model
        with torch.no_grad():
            twin._orig_mod[3].weight.zero_()
        for _ in range(3):
            assert torch.equal(twin(x), model[3].bias.expand(3, 2))
        assert twin._compiled.calls["compiled"] == 1
    assert not torch.equal(compiled(x), model[3].bias.expand(3, 2))


def test_programs_run_under_a_profiler() -> None:
    model, compiled = make()
    x = torch.randn(3, 4, dtype=torch.float64)
    ready(compiled, x)
    seen = []
    sys.setprofile(lambda frame, event, arg: seen.append(event))
    try:
        compiled(x)
    finally:
        sys.setprofile(None)
    assert compiled._compiled.calls["compiled"] == 2
    assert seen
    assert model.training
