"""`import whygrad.for_torch as why`: recording inside of a program on real PyTorch, and questions."""

from __future__ import annotations

import gc
import io
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import whygrad
import whygrad.for_torch as why
from whygrad.for_torch import recording, tensor_facts
from whygrad.why import engine, record

SOURCE = Path(whygrad.__file__).parents[1]


class Net(nn.Module):
    """`fault` names what is wrong with it."""

    def __init__(self, fault: str = "") -> None:
        super().__init__()
        self.fault = fault
        self.a, self.b, self.drop = nn.Linear(4, 8), nn.Linear(8, 1), nn.Dropout(0.2)
        if fault == "unused":
            self.c = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.a(x)
        if self.fault == "detach":
            h = h.detach()
        elif self.fault == "copy":
            h = torch.tensor(h.tolist())
        elif self.fault == "zero":
            h = h * 0.0
        elif self.fault == "nan":
            h = torch.sqrt(h - h)
        elif self.fault == "no_grad":
            with torch.no_grad():
                return self.b(h)
        elif self.fault == "error":
            raise LookupError("of the program")
        return self.b(self.drop(torch.tanh(h)))


def data() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(16, 4), torch.randn(16, 1)


def train(net: nn.Module, steps: int = 3, optimizer: Any = None) -> list[float]:
    x, y = data()
    optimizer = optimizer or torch.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def everything_of_torch() -> dict[Any, Any]:
    """Every attribute of torch's modules and of their classes, the sizes of its tables of hooks, and the stack of modes."""
    found: dict[Any, Any] = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "torch" and isinstance(module, type(sys)):
            for key, value in list(vars(module).items()):
                found[name, key] = id(value), len(value) if "hooks" in key and isinstance(value, dict) else 0
                if issubclass(type(value), type) and str(value.__module__).startswith("torch"):
                    found.update({(name, key, own): id(x) for own, x in list(vars(value).items()) if own != "next_id"})
    found["modes"] = torch._C._len_torch_function_stack()
    found["threads"] = id(__import__("threading").Thread.run)
    return found


def state() -> tuple[Any, ...]:
    return engine.current, record.watching, record.search_limit


def categories(answers: Any) -> list[str]:
    return [answer.explanation.category for answer in answers]


FAULTS = [("", [], ""), ("detach", ["detach"], "h.detach()"), ("copy", ["value-copied-out"], "h.tolist()"),
          ("zero", ["zero-factor"], "h * 0.0"), ("nan", ["nan-derivative"], "torch.sqrt(h - h)")]


@pytest.mark.parametrize(("fault", "expected", "expression"), FAULTS)
def test_recording_three_times(fault: str, expected: list[str], expression: str) -> None:
    net = Net(fault)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    train(Net())  # what torch makes at the first use
    before, outside = everything_of_torch(), state()
    for _ in range(3):
        net.load_state_dict(Net(fault).state_dict())  # nan stays in the weights
        with why.watch(net, quiet=True) as watched:
            train(net, optimizer=optimizer)
        assert categories(watched.answers) == expected
        assert [answer.explanation.causes[0].expression for answer in watched.answers] == [expression] * len(expected)
        after = everything_of_torch()
        assert {key for key, value in before.items() if after.get(key) != value} == set()
        assert state() == outside
        assert "_usage" not in vars(optimizer)
        assert all(not vars(p) for p in net.parameters())


def test_on_and_off_three_times() -> None:
    train(Net())
    before, outside = everything_of_torch(), state()
    for _ in range(3):
        why.on()
        why.on()  # nothing more
        assert recording.is_on()
        train(Net("detach"), 6)
        answers = why.off()
        assert categories(answers) == ["detach"]
        assert answers[0].explanation.parameters == ["a.weight", "a.bias"]
        assert why.off() == []
        train(Net("detach"))  # nobody hears of it
        after = everything_of_torch()
        assert {key for key, value in before.items() if after.get(key) != value} == set()
        assert state() == outside


def test_an_earlier_recording_does_not_speak_for_a_later_one() -> None:
    net, (x, y) = Net(), data()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def loop(clears: bool) -> list[str]:
        why.on()
        for _ in range(4):
            if clears:
                optimizer.zero_grad()
            nn.functional.mse_loss(net(x), y).backward()
            optimizer.step()
        return categories(why.off())

    assert loop(False) == ["grad-accumulated"]
    optimizer.zero_grad()
    assert loop(True) == []
    optimizer.zero_grad()
    assert loop(False) == ["grad-accumulated"]


def test_a_gradient_of_an_earlier_recording_is_forgotten() -> None:
    net = Net()
    for fault, expected in [("", []), ("detach", ["detach"]), ("", [])]:
        net.fault = fault
        net.zero_grad()
        why.on()
        train(net, 6)
        assert categories(why.off()) == expected


def test_facts_do_not_pile_up() -> None:
    counts = []
    for _ in range(3):
        with why.watch(quiet=True):
            train(Net())
        gc.collect()
        counts.append(tensor_facts.count())
    assert counts[0] == counts[2], counts


def test_a_block_inside_of_a_recording() -> None:
    outer, inner = Net("detach"), Net("zero")
    why.on()
    train(outer, 6)
    with why.watch(inner, quiet=True) as watched:
        train(inner)
    assert recording.is_on()
    assert torch._C._len_torch_function_stack() == 1
    x, _ = data()
    outer(x).sum().backward()
    assert outer.a.weight.grad is None
    found = why.off()
    assert categories(watched.answers) == ["zero-factor"]
    assert set(categories(found)) == {"detach"}
    assert torch._C._len_torch_function_stack() == 0


def test_an_optimizer_that_was_made_before() -> None:
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with why.watch(net, quiet=True) as watched:
        train(net, 6, optimizer)
    assert watched.answers == []
    with why.watch(net, quiet=True) as watched:
        train(net, 6, torch.optim.SGD(net.a.parameters(), lr=0.1))  # the first one holds all
    assert watched.answers == []


def test_an_optimizer_that_rests() -> None:
    first, second, (x, _) = Net(), Net(), data()
    steps, rests = torch.optim.SGD(first.parameters(), lr=0.1), torch.optim.SGD(second.parameters(), lr=0.1)
    with why.watch(quiet=True):
        (first(x) * second(x)).sum().backward()
        steps.step()
        states = {row.state for row in why.explain(second)}
    assert states == {"flows"}  # not "not in any optimizer"
    del rests


def outcome(run: Callable[[], Any]) -> Any:
    """What a run gives or raises, the random numbers after it, and what it has warned of."""
    torch.manual_seed(3)
    random.seed(3)
    np.random.seed(3)
    try:
        result = run()
    except Exception as error:
        result = type(error), str(error)
    return result, torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist()


def trained_values(fault: str) -> Any:
    net = Net(fault)
    return train(net, 5), [p.tolist() for p in net.parameters()], list(net.state_dict())


def saved_bytes() -> bytes:
    net = Net()
    optimizer = torch.optim.Adam(net.parameters())
    train(net, 2, optimizer)
    buffer = io.BytesIO()
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("run", [
    *[lambda fault=fault: trained_values(fault) for fault in ("", "detach", "copy", "zero", "no_grad", "error", "unused")],
    saved_bytes,
    lambda: torch.ones(2).sum().backward(),
    lambda: torch.ones(2, requires_grad=True).numpy(),
    lambda: nn.Linear(2, 2)(torch.ones(3)),
    lambda: torch.optim.SGD([], lr=0.1),
])
def test_the_program_does_not_notice(run: Callable[[], Any]) -> None:
    plain = outcome(run)
    why.on()
    recorded = outcome(run)
    why.off()
    with why.watch(quiet=True):
        watched = outcome(run)
    assert recorded == plain
    assert watched == plain
    assert outcome(run) == plain


def test_questions() -> None:
    x, _ = data()
    net = Net("detach")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    why.on()
    net(x).sum().backward()
    told = why(net.a.weight)
    table = why.explain(net)
    why.off()
    del optimizer
    assert told.category == "detach"
    assert told.causes[0].expression == "h.detach()"
    assert [(row.name, row.state) for row in table] == [("a.weight", "None"), ("a.bias", "None"), ("b.weight", "flows"),
                                                        ("b.bias", "flows")]
    assert "h.detach()" in table._repr_html_()


def test_questions_use_torch_whatever_engine_is_current() -> None:
    w = whygrad.ones(2, requires_grad=True)
    assert whygrad.explain(w).category == "no-backward"
    assert why(torch.ones(2)).category == "never-required-grad"
    assert whygrad.explain(w).category == "no-backward"
    with pytest.raises(TypeError, match="takes a Tensor or a Module, not int"):
        why(3)
    assert why(w).category == "no-backward"  # of whygrad's own tensors too


def unrecorded(fault: str) -> tuple[Net, torch.Tensor]:
    net = Net(fault)
    return net, net(data()[0]).sum()


def test_a_tensor_of_whygrad_beside_an_error_of_torch() -> None:
    why.on()
    loss = nn.Linear(2, 1)(torch.ones(1, 2)).sum()
    loss.backward()
    with pytest.raises(RuntimeError):
        loss.backward()
    assert whygrad.explain(whygrad.tensor([1.0], requires_grad=True)).category == "no-backward"
    assert [answer.explanation.category for answer in why.off()] == ["graph-freed"]


def test_tensors_of_whygrad_are_explained_while_torch_is_recorded() -> None:
    """`explain` asks the engine that a tensor belongs to."""
    with why.watch(quiet=True):
        w = whygrad.tensor([1.0], requires_grad=True)
        hidden = w * 2
        hidden.sum().backward()
        layer = whygrad.nn.Linear(2, 1)
        told, table = whygrad.explain(hidden), whygrad.explain(layer)
        t = torch.ones(2, requires_grad=True)
        assert why.explain(t).category == "no-backward"
    assert told.category == "non-leaf-no-retain"
    assert [row.name for row in table] == ["weight", "bias"]


@pytest.mark.parametrize(("fault", "name", "backward", "give", "category"), [
    ("detach", "a.weight", True, False, "not-seen"),
    ("detach", "a.weight", True, True, "not-seen"),
    ("unused", "c.weight", True, True, "not-seen"),
    ("unused", "c.weight", False, True, "not-seen"),
    ("", "a.weight", True, False, "ok"),
    ("", "a.weight", False, False, "not-seen"),
])
def test_what_was_not_recorded_is_not_guessed(fault: str, name: str, backward: bool, give: bool, category: str) -> None:
    net, loss = unrecorded(fault)
    if backward:
        loss.backward(retain_graph=True)
    told = why.explain(dict(net.named_parameters())[name], loss if give else None)
    assert told.category == category
    assert "seen" in told.text
    assert "retain_grad" not in told.text


def test_a_forward_that_was_not_recorded() -> None:
    net, loss = unrecorded("detach")
    with why.watch(net, quiet=True) as watched:
        loss.backward()
    assert categories(watched.answers) == ["not-seen"]


def test_a_block_prints_its_answers() -> None:
    net = Net("unused")
    errors = io.StringIO()
    with redirect_stderr(errors), why.watch(net) as watched:
        train(net)
        assert watched.answers == []
    assert categories(watched.answers) == ["unused-in-loss"]
    assert "`c.weight` and `c.bias`: this leaf requires grad, but its .grad is None [unused-in-loss]" in errors.getvalue()
    quiet = io.StringIO()
    with redirect_stderr(quiet), why.watch(net, quiet=True):
        train(net)
    assert quiet.getvalue() == ""


def test_a_block_of_one_backward() -> None:
    x, _ = data()
    for fault, category in [("nan", "nan-derivative"), ("zero", "zero-factor"), ("detach", "detach"), ("", None)]:
        net = Net(fault)
        with why.watch(net, quiet=True) as watched:
            net(x).sum().backward()
        assert categories(watched.answers) == ([] if category is None else [category])


def test_parts_of_a_model_are_called() -> None:
    net, (x, y) = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 1)), data()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with why.watch(net, quiet=True) as watched:
        for _ in range(6):
            optimizer.zero_grad()
            nn.functional.mse_loss(net[1](net[0](x).detach()), y).backward()
            optimizer.step()
    [answer] = watched.answers
    assert answer.explanation.parameters == ["0.weight", "0.bias"]  # and not "weight", as the audit sees it


def test_a_block_that_raises() -> None:
    watched = why.watch(quiet=True)
    with pytest.raises(RuntimeError, match="does not require grad"), watched:
        train(Net("no_grad"))
    assert categories(watched.answers) == ["grad-mode-off"]
    assert torch._C._len_torch_function_stack() == 0
    with pytest.raises(TypeError, match=r"watch\(\) takes a torch.nn.Module, not Tensor"):
        why.watch(torch.ones(2))  # type: ignore[arg-type]


def test_answers_are_shown() -> None:
    with why.watch(quiet=True) as watched, pytest.raises(RuntimeError):
        torch.ones(2).sum().backward()
    page = watched.answers._repr_html_()
    assert page.startswith("<div>")
    assert "never-required-grad" in page
    assert str(watched.answers) == repr(watched.answers) == str(watched.answers[0])
    with why.watch(quiet=True) as watched:
        pass
    assert str(watched.answers) == "nothing to explain"
    assert watched.answers._repr_html_() == "<div>nothing to explain</div>"


def test_report(tmp_path: Path) -> None:
    recording._drawn = None
    with pytest.raises(RuntimeError, match=r"call on\(html=True\) first"):
        why.report(tmp_path / "x.html")
    why.on(html=True)
    train(Net("detach"), 6)
    why.report(tmp_path / "x.html")
    assert not recording.is_on()
    text = (tmp_path / "x.html").read_text()
    assert "h.detach()" in text
    assert "AddmmBackward0" in text or "addmm" in text
    why.on()
    with pytest.raises(RuntimeError, match=r"without html=True: call off\(\) first"):
        why.on(html=True)
    why.off()


def run_python(*arguments: str, code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    path = cwd / "program.py"
    path.write_text(code)
    return subprocess.run([sys.executable, *arguments, str(path)], cwd=cwd, capture_output=True, text=True, timeout=300,
                          env={"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}, check=False)


SCRIPT = """import torch
import whygrad.for_torch as why
why.on()
w = torch.ones(2, requires_grad=True)
y = (w * 2).detach()
v = torch.ones(2, requires_grad=True)
(y * v).sum().backward()
print(w.grad)
"""


@pytest.mark.parametrize("arguments", [(), ("-m", "whygrad", "run", "--engine", "torch")])
def test_two_lines_in_a_script(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = run_python(*arguments, code=SCRIPT, cwd=tmp_path)
    assert done.stdout == "None\n"
    assert done.returncode == 0
    assert done.stderr.count("whygrad [1 of 1] ") == 1, done.stderr
    assert "program.py:8: w.grad" in done.stderr
    assert "cause: " in done.stderr
    assert "(w * 2).detach()" in done.stderr


def test_where_torch_is_whygrad(tmp_path: Path) -> None:
    done = run_python("-m", "whygrad", "run", code=SCRIPT, cwd=tmp_path)
    assert done.returncode == 1
    assert "but here `import torch` gives whygrad" in done.stderr


def test_torch_is_loaded_when_it_is_needed(tmp_path: Path) -> None:
    code = ("import sys\nimport whygrad_pytest\nprint([n for n in ('numpy', 'whygrad', 'torch') if n in sys.modules])\n"
            "import whygrad.for_torch as why\nprint('torch' in sys.modules, callable(why), 'assert_trains' in dir(why))\n"
            "try:\n    why.missing\nexcept AttributeError as error:\n    print(error)\n")
    done = run_python(code=code, cwd=tmp_path)
    assert done.stdout.splitlines() == ["[]", "False True True", "module 'whygrad.for_torch' has no attribute 'missing'"], (
        done.stderr)
