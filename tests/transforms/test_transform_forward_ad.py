"""autograd.forward_ad: dual levels, tangents through views, writes and backward, against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.autograd.forward_ad
from both import agree

import whygrad
import whygrad.autograd.forward_ad

X = [0.3, -1.2, 0.7]
M = [[0.5, -0.3, 1.1], [0.2, 0.9, -0.4]]


def dual(t: Any, values: Any = X, **options: Any) -> Any:
    return t.autograd.forward_ad.make_dual(t.tensor(values, **options), t.tensor(values) * 2 + 1)


def tangent(t: Any, y: Any) -> Any:
    return t.autograd.forward_ad.unpack_dual(y).tangent


def level(function: Any) -> Any:
    """A function of (library, dual tensor), called inside a level; what it gives is unpacked there."""

    def expression(t: Any) -> Any:
        with t.autograd.forward_ad.dual_level():
            result = function(t, dual(t))
            if isinstance(result, t.Tensor):
                result = t.autograd.forward_ad.unpack_dual(result)
            return result

    return expression


def _write_slice(t: Any, x: Any) -> Any:
    y = t.zeros(3)
    part = y[1:]
    part.add_(x[1:])
    return y


def _views_of_written(t: Any, x: Any) -> Any:
    y = t.zeros(3)
    before = y[:2]
    y.copy_(x)
    return before


def _write_constant(t: Any, x: Any) -> Any:
    y = x.clone()
    y[0] = 5.0
    y[1:].mul_(3)
    return y


def _written_sum(t: Any, x: Any) -> Any:
    """The tangent of a sum may be that of a summand: who writes must not write into it."""
    y = x + 1
    y[1:].mul_(3)
    z = x + t.ones(2, 3)
    z.mul_(x)
    return t.autograd.forward_ad.unpack_dual(x), t.autograd.forward_ad.unpack_dual(y), t.autograd.forward_ad.unpack_dual(z)


def _write_into(place: Any) -> Any:
    """Of a matrix that moves itself, `place` writes x into a part; what is written is broadcast."""

    def written(t: Any, x: Any) -> Any:
        y = t.stack([x, x * 2, x.exp()])
        place(y, x)
        return y

    return written


def _zeroed(t: Any, x: Any) -> Any:
    y = x * 1
    y.zero_()
    return y


def _no_grad(t: Any, x: Any) -> Any:
    with t.no_grad():
        return x * x


def _inference(t: Any, x: Any) -> Any:
    with t.inference_mode():
        return x * x


def _switched_off(t: Any, x: Any) -> Any:
    with t.autograd.forward_ad._set_fwd_grad_enabled(False):
        return x * x


def _reverse_over_forward(t: Any, _: Any) -> Any:
    x = t.tensor(X, requires_grad=True)
    y = t.autograd.forward_ad.make_dual(x, t.tensor(X) * 2)
    tangent(t, (y.exp() * y).sum()).backward()
    return x.grad


def _forward_over_reverse(t: Any, _: Any) -> Any:
    x = t.tensor(X, requires_grad=True)
    y = t.autograd.forward_ad.make_dual(x, t.tensor(X) * 2)
    (gradient,) = t.autograd.grad((y.exp() * y).sum(), y, create_graph=True)
    return tangent(t, gradient)


DUAL = {
    "itself": lambda t, x: x,
    "product": lambda t, x: x * x + 1,
    "view": lambda t, x: x.view(3, 1)[1:].t(),
    "clone": lambda t, x: x.clone(),
    "detach": lambda t, x: x.detach(),
    "data": lambda t, x: x.data,
    "integers": lambda t, x: x.int(),
    "double": lambda t, x: x.double() * 2,
    "half": lambda t, x: x.half() * 2,
    "promoted": lambda t, x: x * t.tensor(2.0, dtype=t.float64),
    "promoted up": lambda t, x: x * t.tensor([2.0, 3.0, 4.0], dtype=t.float64),
    "comparison": lambda t, x: x > 0,
    "sort": lambda t, x: x.sort().values,
    "topk indices": lambda t, x: x.topk(2).indices,
    "split": lambda t, x: x.split(2)[1],
    "cat with a constant": lambda t, x: t.cat([x, t.ones(2)]),
    "stack": lambda t, x: t.stack([x, x * 2]),
    "where": lambda t, x: t.where(x > 0, x, 2.0),
    "index": lambda t, x: x[t.tensor([2, 0, 2])],
    "masked": lambda t, x: x[x > 0],
    "matmul": lambda t, x: t.tensor(M) @ x,
    "linear": lambda t, x: t.nn.functional.linear(x, t.tensor(M), t.ones(2)),
    "softmax": lambda t, x: x.softmax(0),
    "log_softmax": lambda t, x: x.log_softmax(0),
    "norm": lambda t, x: x.norm(),
    "cumprod": lambda t, x: x.cumprod(0),
    "max": lambda t, x: x.max(),
    "written slice": _write_slice,
    "views of what was written": _views_of_written,
    "written constant": _write_constant,
    "zeroed": _zeroed,
    "broadcast copy": lambda t, x: t.zeros(2, 3).copy_(x),
    "broadcast copy of doubles": lambda t, x: t.zeros(2, 3, dtype=t.float64).copy_(x),
    "filled": lambda t, x: t.zeros(4).fill_(x.sum()),
    "filled part": lambda t, x: t.zeros(2, 3)[0].fill_(x[1]),
    "column": _write_into(lambda y, x: y.__setitem__((slice(None), 1), x[0])),
    "column of a number": _write_into(lambda y, x: y.__setitem__((slice(None), 1), 3.0)),
    "own row": _write_into(lambda y, x: y.copy_(x[:1])),
    "own sum": _write_into(lambda y, x: y.fill_(x.sum())),
    "diagonal": _write_into(lambda y, x: y.diagonal().fill_(x[2])),
    "diagonal of a number": _write_into(lambda y, x: y.fill_diagonal_(3.0)),
    "transposed": _write_into(lambda y, x: y.transpose_(0, 1).copy_(x)),
    "filled with a number": _write_into(lambda y, x: y.fill_(3.0)),
    "logical_and_": _write_into(lambda y, x: y.logical_and_(x)),
    "logical_not_": _write_into(lambda y, x: y.logical_not_()),
    "eq_": _write_into(lambda y, x: y.eq_(x)),
    "written sum": _written_sum,
    "in place": lambda t, x: (x * 1).exp_().mul_(x),
    "no_grad": _no_grad,
    "inference mode": _inference,
    "switched off": _switched_off,
    "reverse over forward": _reverse_over_forward,
    "forward over reverse": _forward_over_reverse,
    "is a view": lambda t, x: (x._is_view(), x.requires_grad, x.is_leaf),
    "twice": lambda t, x: t.autograd.forward_ad.make_dual(x, x),
    "other shape": lambda t, x: t.autograd.forward_ad.make_dual(t.ones(3), t.ones(2)),
    "of integers": lambda t, x: t.autograd.forward_ad.make_dual(t.tensor([1]), t.tensor([1])),
    "nested": lambda t, x: t.autograd.forward_ad.enter_dual_level(),
    "other level": lambda t, x: t.autograd.forward_ad.exit_dual_level(level=3),
    "vmap inside": lambda t, x: t.func.vmap(lambda v: v * v)(x),
    "grad inside": lambda t, x: t.func.grad(lambda v: (v.exp() * v).sum())(x),
    "shown": lambda t, x: repr(x),
}


@pytest.mark.parametrize("name", DUAL)
def test_dual(name: str) -> None:
    agree(level(DUAL[name]), rtol=2e-5)


OUTSIDE = {
    "make": lambda t: dual(t),
    "exit": lambda t: t.autograd.forward_ad.exit_dual_level(),
    "unpack": lambda t: t.autograd.forward_ad.unpack_dual(t.tensor(X)),
    "unpack what was dual": lambda t: _left(t),
    "numbers of levels": lambda t: _numbers(t),
}


def _left(t: Any) -> Any:
    with t.autograd.forward_ad.dual_level():
        x = dual(t)
    return t.autograd.forward_ad.unpack_dual(x)


def _numbers(t: Any) -> Any:
    forward_ad = t.autograd.forward_ad
    number = forward_ad.enter_dual_level()
    x = forward_ad.make_dual(t.tensor(X), t.tensor(X), level=number)
    found = forward_ad.unpack_dual(x, level=number)
    forward_ad.exit_dual_level(level=number)
    return number, found, forward_ad._is_fwd_grad_enabled()


@pytest.mark.parametrize("name", OUTSIDE)
def test_outside_of_a_level(name: str) -> None:
    agree(OUTSIDE[name])


def test_a_level_costs_nothing_after_its_end() -> None:
    from whygrad.core.modes import grad_state, process_state

    with whygrad.autograd.forward_ad.dual_level():
        assert process_state.any_mode_active
        x = dual(whygrad)
    assert not process_state.any_mode_active
    assert grad_state.levels == ()
    assert not x._meta.tangents
    assert torch.autograd.forward_ad.unpack_dual(torch.ones(1)).tangent is None


@pytest.mark.parametrize("function", [lambda x: x**0.5, lambda x: x.log(), lambda x: (x - 1).atanh()])
@pytest.mark.filterwarnings("error")
def test_infinite_tangents_are_no_events(function: Any) -> None:
    x = whygrad.zeros(3)
    assert not whygrad.func.jvp(function, (x,), (x,))[1].isfinite().any()
    assert not whygrad.func.jacfwd(whygrad.func.jacfwd(function))(x).isfinite().all()


# gradients of many gradients at once

def test_batched_gradients() -> None:
    def expression(t: Any) -> Any:
        x = t.tensor(X, requires_grad=True)
        y = x.exp() * x.sum()
        return t.autograd.grad(y, x, t.eye(3), is_grads_batched=True)

    agree(expression, rtol=1e-5)


def test_batched_gradients_are_recorded() -> None:
    def expression(t: Any) -> Any:
        x = t.tensor(X, requires_grad=True)
        (rows,) = t.autograd.grad(x.exp() * x.sum(), x, t.eye(3), is_grads_batched=True, create_graph=True)
        return rows, t.autograd.grad(rows.pow(2).sum(), x)

    agree(expression, rtol=1e-4)


def test_batched_gradients_of_another_shape() -> None:
    agree(lambda t: t.autograd.grad(t.tensor(X, requires_grad=True) * 2, t.tensor(X, requires_grad=True), t.eye(2),
                                    is_grads_batched=True))
