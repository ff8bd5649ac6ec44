"""Transforms inside transforms, against torch.func."""

from __future__ import annotations

from typing import Any

import pytest
from both import agree

X = [0.3, -1.2, 0.7]
M = [[0.5, -0.3, 1.1], [0.2, 0.9, -0.4]]


def smooth(x: Any) -> Any:
    return x.sin() * x.sum() + (x * x).exp() / 3


def scalar(x: Any) -> Any:
    return smooth(x).sum()


ORDERS = {
    "jacrev": lambda F, f: F.jacrev(f),
    "jacfwd": lambda F, f: F.jacfwd(f),
}


@pytest.mark.parametrize("first", ORDERS)
@pytest.mark.parametrize("second", ORDERS)
def test_second_derivatives(first: str, second: str) -> None:
    agree(lambda t: ORDERS[second](t.func, ORDERS[first](t.func, smooth))(t.tensor(X, dtype=t.float64)))


@pytest.mark.parametrize("first", ORDERS)
@pytest.mark.parametrize("second", ORDERS)
@pytest.mark.parametrize("third", ORDERS)
def test_third_derivatives(first: str, second: str, third: str) -> None:
    def expression(t: Any) -> Any:
        F = t.func
        return ORDERS[third](F, ORDERS[second](F, ORDERS[first](F, scalar)))(t.tensor(X, dtype=t.float64))

    agree(expression)


EXPRESSIONS = {
    "grad of grad of grad": lambda t: t.func.grad(t.func.grad(t.func.grad(lambda x: x**4 * x.exp())))(t.tensor(1.3)),
    "vmap of grad of grad": lambda t: t.func.vmap(t.func.grad(t.func.grad(lambda x: x.sin() * x)))(t.tensor(X)),
    "jvp of jvp": lambda t: t.func.jvp(lambda x: t.func.jvp(smooth, (x,), (x * x,))[1], (t.tensor(X),), (t.tensor(X) * 2,)),
    "jvp of grad": lambda t: t.func.jvp(t.func.grad(scalar), (t.tensor(X),), (t.tensor(X) * 2,)),
    "grad of jvp": lambda t: t.func.grad(lambda x: t.func.jvp(scalar, (x,), (x * x,))[1])(t.tensor(X)),
    "vmap of jvp": lambda t: t.func.vmap(lambda x, v: t.func.jvp(smooth, (x,), (v,)))(t.tensor(M), t.tensor(M) * 2),
    "vmap of jvp, shared primal": lambda t: t.func.vmap(lambda v: t.func.jvp(smooth, (t.tensor(X),), (v,)))(t.tensor(M)),
    "jvp of vmap": lambda t: t.func.jvp(t.func.vmap(smooth), (t.tensor(M),), (t.tensor(M) * 2,)),
    "vmap of vjp": lambda t: t.func.vmap(lambda x, v: t.func.vjp(smooth, x)[1](v))(t.tensor(M), t.tensor(M) * 2),
    "vjp of vmap": lambda t: t.func.vjp(t.func.vmap(smooth), t.tensor(M))[1](t.tensor(M) * 2),
    "grad of vmap": lambda t: t.func.grad(lambda w: t.func.vmap(lambda x: (w * x).sum().tanh())(t.tensor(M)).sum())(t.tensor(X)),
    "vmap of grad, shared argument": lambda t: t.func.vmap(t.func.grad(lambda w, x: (w * x).sum().tanh()), (None, 0))(
        t.tensor(X), t.tensor(M)),
    "vmap of vmap": lambda t: t.func.vmap(t.func.vmap(lambda a, b: a * b, (None, 0)), (0, None))(t.tensor(X), t.tensor(X)),
    "vmap of vmap of grad": lambda t: t.func.vmap(t.func.vmap(t.func.grad(lambda a, b: (a * b).sin()), (None, 0)), (0, None))(
        t.tensor(X), t.tensor(X)),
    "vmap of hessian": lambda t: t.func.vmap(t.func.hessian(scalar))(t.tensor(M)),
    "vmap of jacrev": lambda t: t.func.vmap(t.func.jacrev(smooth))(t.tensor(M)),
    "vmap of jacfwd": lambda t: t.func.vmap(t.func.jacfwd(smooth))(t.tensor(M)),
    "grad of vmap of grad": lambda t: t.func.grad(
        lambda w: t.func.vmap(t.func.grad(lambda x: (w * x).sum().tanh()))(t.tensor(M)).pow(2).sum())(t.tensor(X)),
    "jacrev of vmap of jvp": lambda t: t.func.jacrev(
        lambda w: t.func.vmap(lambda x: t.func.jvp(scalar, (x * w,), (x,))[1])(t.tensor(M)))(t.tensor(X)),
    "hessian of a matrix product": lambda t: t.func.hessian(
        lambda w: (t.tensor(M) @ w).log_softmax(-1)[:, 0].sum())(t.tensor(M).t() / 3),
    "jacfwd of jacfwd of softmax": lambda t: t.func.jacfwd(t.func.jacfwd(lambda w: (t.tensor(M) @ w).softmax(-1)))(
        t.tensor(M).t() / 3),
    "linearize": lambda t: t.func.linearize(smooth, t.tensor(X))[1](t.tensor(X) * 2),
    "jvp of norm at zero": lambda t: t.func.jvp(lambda x: x.norm(), (t.zeros(3),), (t.tensor(X),)),
    "in place inside grad": lambda t: t.func.grad(lambda x: x.clone().mul_(x).add_(1).exp_().sum())(t.tensor(X)),
    "in place inside vmap": lambda t: t.func.vmap(lambda x: x.clone().mul_(2).add_(x).exp_())(t.tensor(M)),
    "written slices inside vmap": lambda t: t.func.vmap(lambda x: _written(x))(t.tensor(M)),
    "written slices inside grad": lambda t: t.func.grad(lambda x: _written(x).pow(2).sum())(t.tensor(X)),
    "written slices inside jvp": lambda t: t.func.jvp(_written, (t.tensor(X),), (t.tensor(X) * 3,)),
    "written slices inside vmap of grad": lambda t: t.func.vmap(t.func.grad(lambda x: _written(x).pow(2).sum()))(t.tensor(M)),
    "jacrev of written slices": lambda t: t.func.jacrev(_written)(t.tensor(X)),
    "new tensors inside vmap": lambda t: t.func.vmap(lambda x: t.zeros_like(x).add_(x) + x.new_ones(3).mul_(x))(t.tensor(M)),
    "complex grad": lambda t: t.func.grad(lambda z: (z * z.conj()).real.sum() + (z * z).imag.sum())(
        t.tensor([1 + 2j, 0.5 - 1j])),
    "complex jvp": lambda t: t.func.jvp(lambda z: z.abs() + (z * z).real + z.angle(), (t.tensor([1 + 2j, 0.5 - 1j]),),
                                        (t.tensor([0.3 - 1j, 1 + 1j]),)),
    "complex vjp": lambda t: t.func.vjp(lambda z: z.exp() * z.conj(), t.tensor([1 + 2j]))[1](t.tensor([1 - 1j])),
}


def _written(x: Any) -> Any:
    y = x.clone()
    y[1:] = x[1:] * x[0]
    y[0] *= 2
    return y * x


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expression(name: str) -> None:
    agree(EXPRESSIONS[name], rtol=2e-5)


# One derivative must not see what belongs to another.
CONFUSIONS = {
    "grad in grad, captured": lambda t: t.func.grad(lambda x: x * t.func.grad(lambda y: x + y)(x))(t.tensor(2.0)),
    "grad in grad, product": lambda t: t.func.grad(lambda x: x * t.func.grad(lambda y: x * y)(t.tensor(3.0)))(t.tensor(2.0)),
    "jvp in jvp": lambda t: t.func.jvp(
        lambda x: x * t.func.jvp(lambda y: x + y, (t.tensor(1.0),), (t.tensor(1.0),))[1], (t.tensor(2.0),), (t.tensor(1.0),)),
    "grad in jvp": lambda t: t.func.jvp(
        lambda x: x * t.func.grad(lambda y: x * y * y)(t.tensor(3.0)), (t.tensor(2.0),), (t.tensor(1.0),)),
    "jvp in grad": lambda t: t.func.grad(
        lambda x: x * t.func.jvp(lambda y: x * y * y, (t.tensor(3.0),), (x,))[1])(t.tensor(2.0)),
    "constant inner function": lambda t: t.func.grad(lambda x: x * t.func.grad(lambda y: x)(t.tensor(3.0)))(t.tensor(2.0)),
    "no_grad inside": lambda t: t.func.grad(lambda x: _without(t, x))(t.tensor(2.0)),
    "no_grad around": lambda t: _around(t),
    "detach inside": lambda t: t.func.grad(lambda x: (x * x.detach()).sum())(t.tensor(X)),
    "detach inside jvp": lambda t: t.func.jvp(lambda x: x * x.detach(), (t.tensor(X),), (t.tensor(X),)),
    "no_grad inside jvp": lambda t: t.func.jvp(lambda x: _without(t, x), (t.tensor(2.0),), (t.tensor(1.0),)),
    "of a tensor with history": lambda t: t.func.grad(lambda x: (x**3).sum())(t.tensor(X, requires_grad=True)),
    "of a captured tensor with history": lambda t: _captured(t, t.tensor(X, requires_grad=True)),
    "value without history": lambda t: t.func.grad_and_value(lambda x: (x**3).sum())(t.tensor(X)),
    "vmap of a tensor with history": lambda t: t.func.vmap(lambda x: x * 2)(t.tensor(X, requires_grad=True)),
}


def _captured(t: Any, w: Any) -> Any:
    return t.func.grad(lambda x: (x * w).sum())(t.tensor(X))


def _without(t: Any, x: Any) -> Any:
    with t.no_grad():
        c = x * x
    return x - c


def _around(t: Any) -> Any:
    x = t.tensor(X, requires_grad=True)
    with t.no_grad():
        return t.func.grad(lambda x: (x**3).sum())(x)


@pytest.mark.parametrize("name", CONFUSIONS)
def test_levels_are_kept_apart(name: str) -> None:
    agree(CONFUSIONS[name], rtol=1e-5)


PRINTED = {
    "grad": lambda F, f, x: F.grad(f)(x),
    "vmap": lambda F, f, x: F.vmap(f)(x),
    "vmap, another dim": lambda F, f, x: F.vmap(f, 1)(x),
    "vjp": lambda F, f, x: F.vjp(f, x),
    "jvp": lambda F, f, x: F.jvp(f, (x,), (x,)),
    "grad of grad": lambda F, f, x: F.grad(lambda x: F.grad(f)(x).sum())(x),
    "vmap of grad": lambda F, f, x: F.vmap(F.grad(f))(x),
    "grad of vmap": lambda F, f, x: F.grad(lambda x: F.vmap(f)(x).sum())(x),
    "vmap of vmap": lambda F, f, x: F.vmap(F.vmap(f), 1)(x),
    "vmap of jvp": lambda F, f, x: F.vmap(lambda x: F.jvp(f, (x,), (x,))[1])(x),
    "jvp of jvp": lambda F, f, x: F.jvp(lambda x: F.jvp(f, (x,), (x,))[1], (x,), (x,)),
    "grad of jvp": lambda F, f, x: F.grad(lambda x: F.jvp(f, (x,), (x,))[1])(x),
    "outer variable": lambda F, f, x: F.grad(lambda a: F.grad(lambda b: f(a) * f(a * b))(a).sum())(x),
}


@pytest.mark.parametrize("name", PRINTED)
def test_how_tensors_are_printed(name: str) -> None:
    def expression(t: Any) -> Any:
        seen: list[str] = []

        def f(x: Any) -> Any:
            y = x * 2
            seen.extend([repr(x), repr(y)])
            return y.sum()

        PRINTED[name](t.func, f, t.tensor(M))
        return seen

    agree(expression)


@pytest.mark.parametrize("dims", [(0, 0), (1, 1), (-1, 1), (-1, -1), (0, 1), (None, None), (None, 0)])
def test_an_input_that_comes_out_is_the_one_that_was_given(dims: tuple[Any, Any]) -> None:
    def expression(t: Any) -> Any:
        x = t.tensor(M)
        mapped = t.func.vmap(lambda x, y: (x, x.contiguous(), x * 1), in_dims=(dims[0], 0), out_dims=(dims[1], dims[1], 0))
        return [found is x for found in mapped(x, x)]

    agree(expression)


MADE = {
    "new_zeros": lambda t, x: x.new_zeros(2, 3), "new_empty": lambda t, x: x.new_empty(2, 3),
    "new_full": lambda t, x: x.new_full((2,), 1.0), "new_empty_strided": lambda t, x: x.new_empty_strided((2, 3), (1, 2)),
    "zeros_like": lambda t, x: t.zeros_like(x), "empty_like": lambda t, x: t.empty_like(x),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("outer", [0, 1])
def test_where_the_batches_of_what_is_made_lie(name: str, outer: int) -> None:
    def expression(t: Any) -> Any:
        made = t.func.vmap(t.func.vmap(lambda x: MADE[name](t, x)), outer)(t.ones(4, 5))
        return tuple(made.shape), made.stride()

    agree(expression)
