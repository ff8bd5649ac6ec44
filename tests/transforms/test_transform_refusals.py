"""What may not be done inside a function that is being transformed, and what may although it looks like it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from both import agree

X = [0.3, -1.2, 0.7]


def _writer(write: Callable[[Any, Any, Any], Any]) -> Callable[[Any], Callable[[Any], Any]]:
    """From how to write (torch, captured, x) the function of x that writes into a tensor of its surroundings."""

    def surroundings(t: Any) -> Callable[[Any], Any]:
        captured = t.zeros(3)

        def function(x: Any) -> Any:
            write(t, captured, x)
            return (x * captured).sum()

        return function

    return surroundings


WRITES = {
    "copy_": lambda t, c, x: c.copy_(x),
    "add_": lambda t, c, x: c.add_(1),
    "mul_ in no_grad": lambda t, c, x: t.no_grad()(lambda: c.mul_(2))(),
    "setitem of a number": lambda t, c, x: c.__setitem__(0, 1.0),
    "setitem of a tensor": lambda t, c, x: c.__setitem__(0, x[0]),
    "through a view": lambda t, c, x: c.view(-1).add_(1),
    "through detach": lambda t, c, x: c.detach().add_(1),
    "zero_": lambda t, c, x: c.zero_(),
    "t_": lambda t, c, x: c.t_(),
    "relu in place": lambda t, c, x: t.nn.functional.relu(c, inplace=True),
    "index_put_": lambda t, c, x: c.index_put_((t.tensor([0]),), x[:1]),
    "a copy": lambda t, c, x: c.clone().add_(x),
    "one's own": lambda t, c, x: t.zeros(3).add_(x)[0].mul_(2),
}
TRANSFORMS = {
    "grad": lambda t, f: t.func.grad(f)(t.tensor(X)),
    "grad_and_value": lambda t, f: t.func.grad_and_value(f)(t.tensor(X)),
    "vjp": lambda t, f: t.func.vjp(f, t.tensor(X))[0],
    "jvp": lambda t, f: t.func.jvp(f, (t.tensor(X),), (t.ones(3),)),
    "jacrev": lambda t, f: t.func.jacrev(f)(t.tensor(X)),
    "vmap of grad": lambda t, f: t.func.vmap(t.func.grad(f))(t.tensor([X, X])),
    "grad of vmap": lambda t, f: t.func.grad(lambda x: t.func.vmap(f)(x).sum())(t.tensor([X, X])),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("write", WRITES)
def test_writing_into_what_is_captured(write: str, transform: str) -> None:
    surroundings = _writer(WRITES[write])
    agree(lambda t: TRANSFORMS[transform](t, surroundings(t)))


def _model(t: Any) -> Any:
    return t.nn.Sequential(t.nn.BatchNorm1d(3))


def _in_a_list(t: Any) -> Any:
    kept = [t.zeros(3)]
    return t.func.grad(lambda x: (kept[0].add_(x) * x).sum())(t.tensor(X))


def _returned_closure(t: Any) -> Any:
    def make() -> Callable[[Any], Any]:
        kept = t.zeros(3)
        return lambda x: (kept.add_(x) * x).sum()

    return t.func.grad(make())(t.tensor(X))


def _nested_function(t: Any) -> Any:
    def function(x: Any) -> Any:
        own = t.zeros(3)

        def inner() -> Any:
            return own.add_(x)

        return (inner() * x).sum()

    return t.func.grad(function)(t.tensor(X))


def _outer_variable(t: Any) -> Any:
    """What the outer derivative may write to, the inner one may not."""

    def outer(x: Any) -> Any:
        own = t.zeros(3)
        own.add_(x)
        return t.func.grad(lambda y: (own.mul_(y) * y).sum())(x).sum()

    return t.func.grad(outer)(t.tensor(X))


def _hooks(t: Any, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def hooked(x: Any) -> Any:
        with t.autograd.graph.saved_tensors_hooks(lambda y: y, lambda y: y):
            return function(x)

    return hooked


def _without_recording(t: Any) -> Any:
    x = t.tensor(X, requires_grad=True)
    with t.no_grad():
        out, pull = t.func.vjp(lambda y: y**3, x)
    (g,) = pull(t.ones(3))
    return out, g, t.autograd.grad(g.sum(), x)


def _as_is(save: str) -> Callable[[Any], Any]:
    def program(t: Any) -> Any:
        class AsIs(t.autograd.Function):  # type: ignore[name-defined,misc]
            @staticmethod
            def forward(x: Any) -> Any:
                return x

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                getattr(ctx, save)(inputs[0])

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g

            @staticmethod
            def jvp(ctx: Any, tangent: Any) -> Any:
                return tangent.view_as(tangent)

        found = []
        for call in (lambda: t.func.grad(lambda x: AsIs.apply(x.clone()))(t.tensor(1.0)),
                     lambda: t.func.jvp(lambda x: AsIs.apply(x.clone()), (t.tensor(1.0),), (t.tensor(1.0),)),
                     lambda: AsIs.apply(t.tensor(1.0, requires_grad=True).clone())):
            try:
                found.append(call())
            except RuntimeError as error:
                found.append(str(error))
        return found

    return program


def _nested_dims(t: Any) -> Any:
    seen = []

    class Mapped(t.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(x: Any, ys: Any) -> Any:
            return x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, ys: Any) -> Any:
            seen.append((in_dims, type(ys).__name__))
            return (x, ys), in_dims

    return t.func.vmap(Mapped.apply)(t.tensor(X), [t.tensor(X), t.tensor(X)]), str(seen)


def _dynamic_backward(t: Any) -> Any:
    class Looks(t.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            g.nonzero()
            return g * 2

    return t.func.jacrev(Looks.apply, chunk_size=1)(t.tensor(X))


def _norm_modules(t: Any) -> Any:
    model = t.func.replace_all_batch_norm_modules_(_model(t))
    return str(model), list(model.state_dict()), model[0].track_running_stats


PROGRAMS = {
    "buffers of a captured module": lambda t: (lambda m: t.func.grad(lambda x: m(x.expand(4, 3)).sum())(t.tensor(X)))(_model(t)),
    "buffers of a module, jvp": lambda t: (lambda m: t.func.jvp(lambda x: m(x.expand(4, 3)).sum(), (t.ones(3),), (t.ones(3),)))(
        _model(t)),
    "an argument": lambda t: t.func.grad(lambda x, b: (b.add_(1) * x).sum())(t.tensor(X), t.zeros(3)),
    "the variable itself": lambda t: t.func.grad(lambda x: x.add_(1).sum())(t.tensor(X)),
    "the variable in no_grad": lambda t: t.func.grad(lambda x: (t.no_grad()(lambda: x.add_(1))(), (x * x).sum())[1])(t.tensor(X)),
    "captured by a function inside vmap": lambda t: t.func.vmap(
        lambda y: t.func.grad(lambda x: y.add_(x).sum())(y * 1))(t.tensor([X, X])),
    "in a list": _in_a_list,
    "in a closure whose owner is gone": _returned_closure,
    "own, by a nested function": _nested_function,
    "of the outer derivative": _outer_variable,
    "retain_grad": lambda t: t.func.grad(lambda x: (lambda y: (y.retain_grad(), y.sum())[1])(x.sin()))(t.tensor(X)),
    "hooks inside grad": lambda t: t.func.grad(_hooks(t, lambda x: x.sin().sum()))(t.tensor(X)),
    "hooks inside jvp": lambda t: t.func.jvp(_hooks(t, lambda x: x.sin()), (t.tensor(X),), (t.ones(3),)),
    "hooks inside vmap": lambda t: t.func.vmap(_hooks(t, lambda x: x.sin()))(t.tensor(X)),
    "hooks around grad": lambda t: _hooks(t, t.func.grad(lambda x: x.sin().sum()))(t.tensor(X)),
    "hooks around jacrev": lambda t: _hooks(t, t.func.jacrev(lambda x: x.sin()))(t.tensor(X)),
    "hooks around hessian": lambda t: _hooks(t, t.func.hessian(lambda x: x.sin().sum()))(t.tensor(X)),
    "aux is a number": lambda t: t.func.grad(lambda x: (x.sum(), 1), has_aux=True)(t.tensor(X)),
    "aux has a number": lambda t: t.func.jvp(lambda x: (x, [x, 1.0]), (t.tensor(X),), (t.tensor(X),), has_aux=True),
    "aux is a text": lambda t: t.func.vjp(lambda x: (x, "text"), t.tensor(X), has_aux=True),
    "aux of jacrev": lambda t: t.func.jacrev(lambda x: (x, None), has_aux=True)(t.tensor(X)),
    "aux of jacfwd": lambda t: t.func.jacfwd(lambda x: (x, 1), has_aux=True)(t.tensor(X)),
    "vjp in no_grad, pulled outside": _without_recording,
    "returned and saved for backward": _as_is("save_for_backward"),
    "returned and saved for forward": _as_is("save_for_forward"),
    "in_dims of nested arguments": _nested_dims,
    "jacrev one by one": _dynamic_backward,
    "batch norm without statistics": _norm_modules,
    "functionalize": lambda t: (lambda x: (t.func.functionalize(lambda y: y.add_(1).view(-1) * 2)(x), x))(t.tensor(X)),
    "functionalize, derivative": lambda t: t.func.grad(t.func.functionalize(lambda x: x.clone().mul_(2).sum()))(t.tensor(X)),
    "functionalize, what to remove": lambda t: t.func.functionalize(lambda x: x, remove="all"),
    "data": lambda t: t.func.vmap(lambda x: x.data)(t.tensor(X)),
    "set data": lambda t: t.func.vmap(lambda x: (setattr(x, "data", x), x)[1])(t.tensor(X)),
    "data_ptr": lambda t: t.func.vmap(lambda x: x.data_ptr())(t.tensor(X)),
    "numpy": lambda t: t.func.vmap(lambda x: x.numpy())(t.tensor(X)),
    "storage": lambda t: t.func.vmap(lambda x: x.untyped_storage())(t.tensor(X)),
    "random out=": lambda t: t.func.vmap(lambda x: t.randn(3, out=t.zeros(3)), randomness="same")(t.tensor(X)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    agree(PROGRAMS[name], rtol=1e-6)


@pytest.mark.parametrize("randomness", ["same", "different", "error"])
@pytest.mark.parametrize("in_dims", [(0, 0), (0, None), (None, 0)], ids=str)
def test_bernoulli_in_place(in_dims: Any, randomness: str) -> None:
    def program(t: Any) -> Any:
        t.manual_seed(0)
        target, p = (t.full((2, 3) if dim == 0 else (3,), 0.5) for dim in in_dims)
        return t.func.vmap(lambda x, p: x.bernoulli_(p), in_dims, randomness=randomness)(target, p)

    agree(program)


@pytest.mark.parametrize("randomness", ["same", "different", "error"])
@pytest.mark.parametrize("name", ["_standard_gamma", "_sample_dirichlet", "poisson"])
def test_draws_of_elements(name: str, randomness: str) -> None:
    def program(t: Any, in_dim: Any = 0) -> Any:
        t.manual_seed(0)
        x = t.tensor([[0.6, 1.2, 2.1], [0.4, 0.9, 1.7]])
        return t.func.vmap(lambda x, _: getattr(t, name)(x), (in_dim, 0), randomness=randomness)(
            x if in_dim == 0 else x[0], t.ones(2))

    agree(program, rtol=1e-5)
    agree(lambda t: program(t, None), rtol=1e-5)


@pytest.mark.parametrize("which", ["both", "primal", "tangent"])
def test_dual_tensors_inside_vmap(which: str) -> None:
    def expression(t: Any) -> Any:
        def f(x: Any) -> Any:
            with t.autograd.forward_ad.dual_level():
                plain = t.tensor(X)
                pair = (x if which != "tangent" else plain, x if which != "primal" else plain)
                return t.autograd.forward_ad.make_dual(*pair)

        return t.func.vmap(f)(t.tensor([X, X]))

    agree(expression)


REFUSED_BY_VMAP = {
    "where of a condition": lambda t, x: t.where(x > 0),
    "nonzero": lambda t, x: t.nonzero(x),
    "squeeze of a number": lambda t, x: t.squeeze(x[0], 1),
    "squeeze of dims of a number": lambda t, x: t.squeeze(x[0], (0, 1)),
    "squeeze of a vector": lambda t, x: t.squeeze(x, 2),
}


@pytest.mark.parametrize("name", REFUSED_BY_VMAP)
def test_what_vmap_refuses(name: str) -> None:
    agree(lambda t: t.func.vmap(lambda x: REFUSED_BY_VMAP[name](t, x))(t.tensor([X, X])))
