"""What cannot be compiled as a whole is divided: what comes before and after the statement in question is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import whygrad as torch

nn = torch.nn
LOG: list[Any] = []


class Trainer:
    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1)).double()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        self.count = 0

    def step(self, x: Any, i: int) -> Any:
        self.optimizer.zero_grad()
        loss = self.model(x).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        self.count += 1
        LOG.append(loss.item())
        return loss.detach()

    def returns_a_number(self, x: Any, i: int) -> float:
        self.optimizer.zero_grad()
        loss = self.model(x).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def epoch(self, x: Any, i: int) -> float:
        total = 0.0
        for part in x.split(2):
            self.optimizer.zero_grad()
            loss = self.model(part).pow(2).mean()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total

    def sometimes(self, x: Any, i: int) -> Any:
        self.optimizer.zero_grad()
        loss = self.model(x).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        if i % 10 == 0:
            LOG.append(loss.item())
        return loss.detach()

    def before_the_backward(self, x: Any, i: int) -> Any:
        self.optimizer.zero_grad()
        loss = self.model(x).pow(2).mean()
        LOG.append(loss.item())
        loss.backward()
        self.optimizer.step()
        return loss.detach()


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.count = nn.Linear(3, 3), nn.Linear(3, 3), 0

    def forward(self, x: Any, i: int) -> Any:
        h = self.first(x).tanh()
        self.count += 1
        return self.second(h).sin() * 2


class Stack(nn.Module):
    """The statement that is divided calls modules, which are compiled by themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.parts, self.last = nn.ModuleList([Counting() for _ in range(3)]), nn.Linear(3, 1)

    def forward(self, x: Any, i: int) -> Any:
        x = x * 2 + 1
        for part in self.parts:
            x = part(x, i)
        return self.last(x).sum()


def helped(x: Any, i: int) -> Any:
    return carried(x, i) * 2


def carried(x: Any, i: int) -> Any:
    h = x * 0
    for k in range(3):
        h = h * 0.5 + x
        LOG.append(k)
        h = h.tanh()
    return h


def carried_inside(x: Any, i: int) -> Any:
    out = []
    h = x * 0
    for _ in range(3):
        h = h * 0.5 + x
        LOG.append(h.sum().item())
        out.append(h)
    return out


def maybe_unbound(x: Any, i: int) -> Any:
    if i % 2:
        y = x * 2
    LOG.append(i)
    z = x + 1
    if i % 2:
        z = z + y
    return z


def seen_by_an_inner_function(x: Any, i: int) -> Any:
    y = x * 2
    inner = lambda: y + 1  # noqa: E731
    LOG.append(1)
    y = x * 3
    return inner() + y


def comprehensions(x: Any, i: int) -> Any:
    ys = [x * k for k in range(3)]
    LOG.append(len(ys))
    zs = sum([y.sin() for y in ys])
    k = zs * 2
    return [k, zs, ys[0] + 1]


def masks(x: Any, i: int) -> Any:
    h = (x * x).tanh() * 2
    chosen = h[h > 0.5]
    return (chosen * chosen).sum() + h.sum()


def views_across(x: Any, i: int) -> Any:
    y = x * 2
    v = y[0]
    LOG.append(1)
    v.add_(1)
    return y * 1


def in_a_block(x: Any, i: int) -> Any:
    with torch.no_grad():
        y = x * 2 + 1
        LOG.append(y.sum().item())
        z = y * x.sin()
    return y * x + z


def early_return(x: Any, i: int) -> Any:
    y = x.sin() * 2
    if y.sum() > 0:
        return y + 1
    z = y.cos() * 3
    return z - 1


def deleted(x: Any, i: int) -> Any:
    y = x.sin() * 2
    z = y.cos() + 1
    del y
    LOG.append(1)
    return z * 2 + z.exp()


def raises(x: Any, i: int) -> Any:
    y = x.sin() * 2
    LOG.append(y.sum().item())
    if i % 5 == 4:
        y = y.view(7, -1)
    return y.sum(0) * 2


def random_numbers(x: Any, i: int) -> Any:
    y = nn.functional.dropout(x, 0.5) * 2
    LOG.append(y.sum().item())
    return nn.functional.dropout(y, 0.5) + torch.rand(3)


# Each with the parts that run compiled: none where it stays in one piece.
CASES: dict[str, tuple[Callable[[], Callable[..., Any]], bool]] = {
    **{name: (lambda name=name: getattr(Trainer(), name), True)
       for name in ("step", "returns_a_number", "epoch", "sometimes", "before_the_backward")},
    "module": (lambda: Counting().double(), True), "modules": (lambda: Stack().double(), True),
    "function that is called": (lambda: helped, True), "carried": (lambda: carried, True),
    "carried inside": (lambda: carried_inside, True), "maybe unbound": (lambda: maybe_unbound, False),
    "inner function": (lambda: seen_by_an_inner_function, False), "comprehensions": (lambda: comprehensions, True),
    "masks": (lambda: masks, True), "views": (lambda: views_across, False), "block": (lambda: in_a_block, True),
    "early return": (lambda: early_return, True), "del": (lambda: deleted, True), "raises": (lambda: raises, True),
    "random": (lambda: random_numbers, True)}


def compiled_calls(compiled: Any) -> int:
    parts = [] if compiled.divided is None else [*compiled.divided.parts, *compiled.divided.called.known.values()]
    return compiled.calls["compiled"] + sum(map(compiled_calls, parts))


def trace(f: Callable[..., Any], original: Any) -> list[Any]:
    found: list[Any] = []
    LOG.clear()
    torch.manual_seed(1)
    for i in range(60):
        x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
        try:
            result = f(x, i)
        except RuntimeError as error:
            result = str(error)
        tensors = [t for t in (result if type(result) is list else [result]) if isinstance(t, torch.Tensor)]
        grad = [t for t in tensors if t.requires_grad]
        if grad:
            found += torch.autograd.grad([t.sum() for t in grad], x)
        found += tensors or [result]
    owner = getattr(original, "__self__", original)
    model = getattr(owner, "model", owner)
    return [*found, list(LOG), getattr(owner, "count", None), *(model.parameters() if isinstance(model, nn.Module) else ())]


@pytest.mark.parametrize("name", CASES)
def test_divided(name: str) -> None:
    make, is_divided = CASES[name]
    torch.manual_seed(0)
    eager = make()
    expected = trace(eager, eager)
    torch.manual_seed(0)
    original = make()
    compiled = torch.compile(original)
    found = trace(compiled, original)
    for a, b in zip(expected, found, strict=True):
        if isinstance(a, torch.Tensor):
            torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)
        elif isinstance(a, list):
            assert a == pytest.approx(b)
        else:
            assert a == (pytest.approx(b) if isinstance(a, float) else b)
    assert (compiled_calls(compiled._compiled) > 10) is is_divided, torch.explain(compiled)
    if is_divided:
        assert "parts:" in torch.explain(compiled)


def test_what_a_divided_function_reads_may_change() -> None:
    factor = 1.0

    def f(x: Any, k: float = 2.0) -> Any:
        y = x * factor * k
        LOG.append(1)
        return y * factor + k

    compiled = torch.compile(f)
    for i in range(30):
        factor = i // 10 + 1.0
        if i == 20:
            f.__defaults__ = (5.0,)
        assert torch.equal(compiled(torch.ones(2)), f(torch.ones(2)))


def test_hooks_and_another_forward_of_a_divided_module() -> None:
    model = Counting()
    compiled = torch.compile(model)
    x = torch.ones(2, 3)
    for i in range(12):
        compiled(x, i)
    before = compiled_calls(compiled._compiled)
    assert before > 4, torch.explain(compiled)
    handle = model.register_forward_hook(lambda module, args, out: out * 3)
    assert torch.equal(compiled(x, 0), model(x, 0))
    handle.remove()
    model.forward = lambda x, i: x * 0  # type: ignore[method-assign]
    assert torch.equal(compiled(x, 0), torch.zeros(2, 3))
    assert model.count == 14
