"""The questions the project began from, and their neighbours: the answer names the cause, the line and the fix."""

from __future__ import annotations

import gc
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import whygrad as torch
from whygrad import explain


def output_of_an_op() -> Any:
    x = torch.randn(3)
    w = torch.randn(3, requires_grad=True)
    output = x * w  # HERE
    output.sum().backward()
    return output


def plain_leaf() -> Any:
    a = torch.tensor([1.0, 2.0])  # HERE
    b = torch.tensor([3.0, 4.0], requires_grad=True)
    (a * b).mean().backward()
    return a


def assigned_gradient() -> Any:
    a = torch.tensor([1.0, 2.0])
    a.grad = torch.tensor([5.0, 6.0])  # HERE
    return a


def frozen_after_backward() -> Any:
    w = torch.ones(2, requires_grad=True)
    (w * 2).sum().backward()
    w.requires_grad_(False)  # HERE
    return w


def detached_on_the_way() -> Any:
    x = torch.randn(3, requires_grad=True)
    b = torch.randn(3, requires_grad=True)
    middle = (x * 2).detach()  # HERE
    loss = (middle + b).sum()
    loss.backward()
    gc.collect()
    return x, loss


def under_no_grad() -> Any:
    w = torch.randn(3, requires_grad=True)
    with torch.no_grad():
        return w * 2  # HERE


def rounded_to_integers() -> Any:
    w = torch.randn(3, requires_grad=True)
    return w.argmax()  # HERE


def copied_out() -> Any:
    w = torch.tensor(2.0, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.tensor(w * 3)  # HERE


def not_in_the_loss() -> Any:
    used = torch.ones(2, requires_grad=True)
    unused = torch.ones(2, requires_grad=True)
    loss = (used * 2).sum()
    loss.backward()
    return unused, loss


def gradient_of_a_plain_pass() -> Any:
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward()  # HERE
    return x.grad * 1


def cleared() -> Any:
    w = torch.ones(2, requires_grad=True)
    loss = (w * 2).sum()
    loss.backward()
    w.grad = None  # HERE
    return w, loss


CASES: list[tuple[Callable[[], Any], str, list[str]]] = [
    (output_of_an_op, "non-leaf-no-retain", ["not a leaf", "retain_grad"]),
    (plain_leaf, "never-required-grad", ["requires_grad=True"]),
    (assigned_gradient, "grad-assigned", ["assigned by hand", "never collects"]),
    (frozen_after_backward, "stale-grad-after-freeze", ["left over", "zero_grad"]),
    (detached_on_the_way, "detach", ["cut", "detach"]),
    (under_no_grad, "grad-mode-off", ["no_grad"]),
    (rounded_to_integers, "non-differentiable-op", ["no derivative"]),
    (copied_out, "value-copied-out", ["plain numbers"]),
    (not_in_the_loss, "unused-in-loss", ["does not depend"]),
    (gradient_of_a_plain_pass, "no-create-graph", ["create_graph=True"]),
    (cleared, "grad-cleared", ["cleared"]),
]


def line_of(function: Callable[[], Any]) -> int | None:
    lines, first = inspect.getsourcelines(function)
    marked = [first + i for i, line in enumerate(lines) if "# HERE" in line]
    return marked[0] if marked else None


@pytest.mark.parametrize(("program", "category", "words"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_cause_line_and_fix(program: Callable[[], Any], category: str, words: list[str]) -> None:
    given = program()
    t, loss = given if isinstance(given, tuple) else (given, None)
    answer = explain(t, loss=loss) if loss is not None else t.why()
    assert answer.category == category, str(answer)
    line = line_of(program)
    if line is not None:
        assert line in [cause.line for cause in answer.causes], str(answer)
        assert all(cause.file == __file__ for cause in answer.causes)
    text = str(answer).lower()
    for word in words:
        assert word.lower() in text, text
    assert answer.fix
    assert set(answer.to_dict()) == {"symptom", "headline", "category", "text", "fix", "causes", "path", "edit"}
    assert "<b>" in answer._repr_html_()


def test_the_expression_is_exact() -> None:
    answer = output_of_an_op().why()
    assert answer.causes[0].expression == "x * w"
    assert answer.causes[0].function == "output_of_an_op"


def test_nothing_wrong() -> None:
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward()
    assert x.why().category == "ok"


def error_of(call: Callable[[], Any]) -> Exception:
    with pytest.raises(RuntimeError) as caught:
        call()
    return caught.value


def second_backward() -> None:
    x = torch.ones(2, requires_grad=True)
    loss = (x * x).sum()
    loss.backward()  # HERE
    loss.backward()


def overwritten() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y.add_(1)  # HERE
    y.sum().backward()


def non_scalar() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2  # HERE
    y.backward()


def wrong_gradient_shape() -> None:
    x = torch.ones(2, requires_grad=True)
    (x * 2).sum().backward(torch.ones(3))


def leaf_in_place() -> None:
    torch.ones(2, requires_grad=True).add_(1)


def nothing_requires_grad() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x.detach()  # HERE
    y.sum().backward()


def unused() -> None:
    x = torch.ones(2, requires_grad=True)
    torch.autograd.grad((x * 2).sum(), torch.ones(1, requires_grad=True))


@pytest.mark.parametrize(("program", "words"), [
    (second_backward, ["freed by the backward", "retain_graph"]),
    (overwritten, ["modified in place", "saved"]),
    (non_scalar, ["Jacobian", "gradient="]),
    (wrong_gradient_shape, ["never broadcast"]),
    (leaf_in_place, ["no_grad"]),
    (nothing_requires_grad, ["detach"]),
    (unused, ["allow_unused"]),
], ids=lambda x: getattr(x, "__name__", ""))
def test_errors_carry_a_note(program: Callable[[], None], words: list[str]) -> None:
    error = error_of(program)
    note = "\n".join(error.__notes__)
    assert note.startswith("why: ")
    for word in words:
        assert word in note
    line = line_of(program)
    if line is not None:
        assert f":{line}" in note or f"line {line}" in note, note
