"""Corners where views, in-place writes, hooks, recording and inference mode meet: the same as torch in all that shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from oracle import outcome

import whygrad


def hook_keeps_its_own_tensor(T: Any) -> Any:
    kept = T.full((2,), 7.0)
    x = T.ones(2, requires_grad=True)
    x.register_hook(lambda g: kept)
    for _ in range(2):
        (x * 2).sum().backward()
    return kept


def gradient_added_to_an_expanded_one(T: Any) -> Any:
    x = T.ones(3, requires_grad=True)
    x.grad = T.zeros(1).expand(3)
    (x * T.tensor([1.0, 2.0, 3.0])).sum().backward()
    return x.grad


def gradient_added_to_a_part_of_memory(T: Any) -> Any:
    x = T.ones(3, requires_grad=True)
    memory = T.zeros(6)
    x.grad = memory[::2]
    (x * T.tensor([1.0, 2.0, 3.0])).sum().backward()
    return memory


def second_derivative_through_a_written_view(T: Any) -> Any:
    x = T.tensor([0.1, 0.2], requires_grad=True)
    b = x * 2
    b[1:].exp_()
    (g,) = T.autograd.grad((b**2).sum(), x, create_graph=True)
    return T.autograd.grad(g.sum(), x)[0]


def saved_value_changed_between_derivatives(T: Any) -> Any:
    x, v = T.ones(2, requires_grad=True), T.ones(2, requires_grad=True)
    c = T.tensor([2.0, 3.0])
    (g,) = T.autograd.grad(x * c, x, v, create_graph=True)
    c.add_(10)
    return T.autograd.grad(g.sum(), v)


def retained_view_of_a_written_base(T: Any) -> Any:
    x = T.ones(3, requires_grad=True)
    base = x * 2
    view = base[:2]
    view.retain_grad()
    base.mul_(5)
    (view * view).sum().backward()
    return view.grad


def invalid_view_can_be_read(T: Any) -> Any:
    base = T.ones(3, requires_grad=True) * 1
    with T.no_grad():
        view = base[:1]
    base.mul_(2)
    with T.no_grad():
        plus = view + 1
    return view.detach(), plus, repr(view)


def leaf_written_through_its_detached_twin(T: Any) -> Any:
    b, x = T.ones(2, requires_grad=True), T.ones(2, requires_grad=True)
    y = (x * x).sum()
    x.detach().copy_(b * 3)
    y.backward()


def view_of_an_inference_parameter(T: Any) -> Any:
    with T.inference_mode():
        m = T.nn.Linear(2, 2)
    return m.weight[0].shape, m(T.ones(1, 2)).shape


def inference_tensor_asked_for_gradients(T: Any) -> Any:
    with T.inference_mode():
        a = T.ones(2)
    a.requires_grad_()


def constants_into_expanded_memory(T: Any) -> Any:
    return T.ones(1).expand(3).zero_(), T.ones(1).expand(3).fill_(2)


def equal_sequence_numbers(T: Any) -> Any:
    x = T.ones(2, requires_grad=True)
    y, z = x * 2, x * 3
    y.grad_fn._set_sequence_nr(z.grad_fn._sequence_nr())
    (y + z).sum().backward()
    return x.grad


def outputs_used_one_by_one(T: Any) -> Any:
    x = T.ones(40, requires_grad=True)
    parts = x.unbind()
    total = parts[0] * 2
    for part in parts[1:]:
        total = total + part * part
    total.backward()
    return x.grad


CORNERS = [hook_keeps_its_own_tensor, gradient_added_to_an_expanded_one, gradient_added_to_a_part_of_memory,
           second_derivative_through_a_written_view, saved_value_changed_between_derivatives,
           retained_view_of_a_written_base, invalid_view_can_be_read, leaf_written_through_its_detached_twin,
           view_of_an_inference_parameter, inference_tensor_asked_for_gradients, constants_into_expanded_memory,
           equal_sequence_numbers, outputs_used_one_by_one]


@pytest.mark.parametrize("corner", CORNERS, ids=lambda f: f.__name__)
def test_corner(corner: Callable[[Any], Any]) -> None:
    theirs, ours = outcome(lambda: corner(torch)), outcome(lambda: corner(whygrad))
    assert (ours[0], str(ours[1])) == (theirs[0], str(theirs[1]))
