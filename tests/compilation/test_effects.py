"""Effects on what is outside of a compiled function, and state of tensors and optimizers that it depends on."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import whygrad as torch

KEPT = SimpleNamespace(last=torch.zeros(3), all=[torch.zeros(3)])


def keeps(x: Any) -> Any:
    KEPT.last = x * 2
    return x + 1


def keeps_in_a_list(x: Any) -> Any:
    KEPT.all[0] = x * 2
    return x + 1


@pytest.mark.parametrize(("function", "kept"), [(keeps, lambda: KEPT.last), (keeps_in_a_list, lambda: KEPT.all[0])])
def test_tensors_that_are_kept(function: Callable[[Any], Any], kept: Callable[[], Any]) -> None:
    compiled = torch.compile(function)
    for i in range(20):
        compiled(torch.full((3,), float(i)))
        assert torch.equal(kept(), torch.full((3,), 2.0 * i))


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = torch.compile(lambda x: x * 2 if os.environ.get("DOUBLE") else x + 0)
    for value in ("", "1") * 10:
        monkeypatch.setenv("DOUBLE", value)
        assert compiled(torch.ones(1)).item() == (2 if value else 1)


def test_rate_of_an_optimizer() -> None:
    w = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=1.0)
    read = torch.compile(lambda x: x * optimizer.param_groups[0]["lr"])

    @torch.compile
    def step() -> None:
        optimizer.zero_grad()
        (w * 3).sum().backward()
        optimizer.step()

    for i in range(6):
        optimizer.param_groups[0]["lr"] = float(i)
        before = w.item()
        step()
        assert w.item() == pytest.approx(before - 3 * i)
        assert read(torch.ones(1)).item() == i
    assert step._compiled.calls["compiled"] == 4


def test_schedule() -> None:
    ends = []
    for compile in (lambda f: f, torch.compile):
        w = torch.ones(1, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=1.0, momentum=0.9)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

        def step() -> None:
            optimizer.zero_grad()
            (w * w).sum().backward()
            optimizer.step()
            schedule.step()

        step = compile(step)
        for _ in range(8):
            step()
        ends.append(w.item())
    assert ends[0] == ends[1]


def hooks() -> dict[str, Callable[[Any], Any]]:
    double = lambda g: g * 2  # noqa: E731

    def after(p: Any) -> None:
        p.grad.mul_(2)

    return {"hook": lambda m: m.weight.register_hook(double), "after accumulation": lambda m:
            m.weight.register_post_accumulate_grad_hook(after), "of all modules": lambda m:
            torch.nn.modules.module.register_module_forward_hook(lambda module, args, out: out * 2),
            "backward of a module": lambda m: m.register_full_backward_hook(lambda module, gi, go: (gi[0],))}


@pytest.mark.parametrize("name", hooks())
def test_hooks_that_come_later(name: str) -> None:
    model = torch.nn.Linear(2, 1)
    x = torch.ones(1, 2, requires_grad=True)

    def step() -> Any:
        model.zero_grad()
        model(x).sum().backward()
        return model.weight.grad.clone()

    compiled = torch.compile(step)
    for _ in range(4):
        compiled()
    assert compiled._compiled.calls["compiled"] == 2, torch.explain(compiled)
    handle = hooks()[name](model)
    try:
        assert torch.equal(compiled(), step())
        assert torch.equal(compiled(), step())
    finally:
        handle.remove()
    assert torch.equal(compiled(), torch.ones(1, 2))


def test_backward_into_a_graph_outside() -> None:
    w = torch.ones(2, requires_grad=True)
    compiled = torch.compile(lambda y: (y * y).sum().backward())
    for factor in (1.0, 2.0, 3.0, 4.0):
        w.grad = None
        compiled(w + 0 if factor == 1 else w * factor)
        assert torch.equal(w.grad, torch.full((2,), 2 * factor * factor))


def test_gradients_that_are_there_or_not() -> None:
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)

    def clip() -> Any:
        return torch.nn.utils.clip_grad_norm_([a, b], 1.0)

    def count() -> Any:
        return torch.ones(1) * sum(p.grad is not None for p in (a, b))

    for function in (clip, count):
        compiled = torch.compile(function)
        for i in range(24):
            a.grad = torch.ones(2) if i % 2 else None
            b.grad = torch.ones(2) * 2 if i % 3 else None
            kept = [None if p.grad is None else p.grad.clone() for p in (a, b)]
            expected = function()
            after = [None if p.grad is None else p.grad.clone() for p in (a, b)]
            a.grad, b.grad = kept
            assert torch.equal(compiled(), expected)
            for p, g in zip((a, b), after, strict=True):
                assert (p.grad is None and g is None) or torch.equal(p.grad, g)


def test_manual_descent() -> None:
    ends = []
    for compile in (lambda f: f, torch.compile):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 1).double()

        def step(x: Any) -> Any:
            loss = model(x).pow(2).mean()
            grads = torch.autograd.grad(loss, list(model.parameters()))
            with torch.no_grad():
                for p, g in zip(model.parameters(), grads, strict=True):
                    p -= 0.1 * g
            return loss.detach()

        step = compile(step)
        losses = [step(torch.randn(4, 3, dtype=torch.float64)).item() for _ in range(6)]
        ends.append([*losses, *[p.detach().clone() for p in model.parameters()], model.weight._version])
    assert step._compiled.calls["compiled"] == 4, torch.explain(step)
    for x, y in zip(*ends, strict=True):
        torch.testing.assert_close(x, y)


def test_results_in_one_memory() -> None:
    w = torch.ones(4, requires_grad=True)

    def f(x: Any) -> Any:
        h = (x * w).exp()
        return h.view(2, 2)

    compiled = torch.compile(f)
    for _ in range(4):
        out = compiled(torch.ones(4))
        with torch.no_grad():
            out.mul_(0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()


def test_random_numbers_are_those_of_eager_code() -> None:
    def f(x: Any) -> Any:
        return torch.nn.functional.dropout(x, 0.5) + torch.randn_like(x) + torch.rand(3)

    compiled = torch.compile(f)
    x = torch.ones(4, 3)
    torch.manual_seed(0)
    expected = [f(x) for _ in range(5)]
    torch.manual_seed(0)
    for a in expected:
        assert torch.equal(compiled(x), a)
    assert compiled._compiled.calls["compiled"] == 3, torch.explain(compiled)


def test_attributes_by_other_ways() -> None:
    def by_dict(x: Any) -> Any:
        KEPT.__dict__["count"] = KEPT.__dict__.get("count", 0) + 1
        return x + 1

    def by_object(x: Any) -> Any:
        object.__setattr__(KEPT, "count", KEPT.__dict__.get("count", 0) + 1)
        return x + 1

    def by_name(x: Any) -> Any:
        setattr(KEPT, "co" + "unt", getattr(KEPT, "co" + "unt", 0) + 1)
        return x + 1

    for function in (by_dict, by_object, by_name):
        vars(KEPT).pop("count", None)
        compiled = torch.compile(function)
        for _ in range(20):
            compiled(torch.ones(1))
        assert vars(KEPT)["count"] == 20, torch.explain(compiled)
