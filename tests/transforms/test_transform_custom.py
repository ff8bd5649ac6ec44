"""Custom Functions under transforms: jvp, vmap, generated vmap rules, against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch.autograd.forward_ad
from both import agree

import whygrad.autograd.forward_ad  # noqa: F401

X = [0.3, -1.2, 0.7]
M = [[0.5, -0.3, 1.1], [0.2, 0.9, -0.4]]
assert torch.autograd.forward_ad


def functions(t: Any) -> Any:
    """The same Functions for each library."""

    class Cube(t.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x**3, 3 * x**2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            (x,), (_, slope) = inputs, output
            ctx.save_for_backward(x, slope)
            ctx.save_for_forward(x, slope)

        @staticmethod
        def backward(ctx: Any, g: Any, slope_g: Any) -> Any:
            x, slope = ctx.saved_tensors
            return g * slope + slope_g * 6 * x

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            x, slope = ctx.saved_tensors
            return t * slope, t * 6 * x

    class Scaled(t.autograd.Function):
        """Two arguments, a number, and a vmap of its own."""

        @staticmethod
        def forward(x: Any, w: Any, factor: float) -> Any:
            return x * w * factor

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            x, w, ctx.factor = inputs
            ctx.save_for_backward(x, w)
            ctx.save_for_forward(x, w)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, w = ctx.saved_tensors
            return g * w * ctx.factor, g * x * ctx.factor, None

        @staticmethod
        def jvp(ctx: Any, x_t: Any, w_t: Any, _: Any) -> Any:
            x, w = ctx.saved_tensors
            return (x_t * w + x * w_t) * ctx.factor

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, w: Any, factor: float) -> Any:
            x_dim, w_dim, _ = in_dims
            x = x.movedim(x_dim, 0) if x_dim is not None else x.expand(info.batch_size, *x.shape)
            w = w.movedim(w_dim, 0) if w_dim is not None else w.expand(info.batch_size, *w.shape)
            return Scaled.apply(x, w, factor), 0

    class Shared(Scaled):
        vmap = t.autograd.Function.vmap
        generate_vmap_rule = True

    class Plain(Scaled):
        vmap = t.autograd.Function.vmap

    class Both(Scaled):
        generate_vmap_rule = True

    class Old(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_forward(x)
            ctx.factor = 2
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            change = t * ctx.factor
            del ctx.factor
            return change

    return Cube, Scaled, Shared, Plain, Both, Old


def x(t: Any) -> Any:
    return t.tensor(X)


def m(t: Any) -> Any:
    return t.tensor(M)


CASES = {
    "grad": lambda t, f: t.func.grad(lambda a: f[0].apply(a)[0].sum())(x(t)),
    "grad of grad": lambda t, f: t.func.grad(lambda a: t.func.grad(lambda b: f[0].apply(b)[0].sum())(a).sin().sum())(x(t)),
    "jvp": lambda t, f: t.func.jvp(lambda a: f[0].apply(a), (x(t),), (x(t) * 2,)),
    "jacrev": lambda t, f: t.func.jacrev(lambda a: f[0].apply(a)[0])(x(t)),
    "jacfwd": lambda t, f: t.func.jacfwd(lambda a: f[0].apply(a)[0])(x(t)),
    "hessian": lambda t, f: t.func.hessian(lambda a: f[0].apply(a)[0].sum())(x(t)),
    "vmap, generated": lambda t, f: t.func.vmap(lambda a: f[0].apply(a))(m(t)),
    "vmap of grad, generated": lambda t, f: t.func.vmap(t.func.grad(lambda a: f[0].apply(a)[0].sum()))(m(t)),
    "grad of vmap, generated": lambda t, f: t.func.grad(
        lambda a: t.func.vmap(lambda b: f[0].apply(b)[0])(a).pow(2).sum())(m(t)),
    "vmap of jvp, generated": lambda t, f: t.func.vmap(lambda a: t.func.jvp(lambda b: f[0].apply(b), (a,), (a * 2,)))(m(t)),
    "jvp of vmap, generated": lambda t, f: t.func.jvp(t.func.vmap(lambda b: f[0].apply(b)), (m(t),), (m(t) * 2,)),
    "vmap, shared": lambda t, f: t.func.vmap(lambda a, w: f[2].apply(a, w, 2.0), (0, None))(m(t), x(t)),
    "grad of vmap, shared": lambda t, f: t.func.grad(
        lambda w: t.func.vmap(lambda a: f[2].apply(a, w, 2.0))(m(t)).sin().sum())(x(t)),
    "vmap of grad, shared": lambda t, f: t.func.vmap(
        t.func.grad(lambda w, a: f[2].apply(a, w, 2.0).sin().sum()), (None, 0))(x(t), m(t)),
    "vmap of its own": lambda t, f: t.func.vmap(lambda a, w: f[1].apply(a, w, 2.0), (0, None))(m(t), x(t)),
    "vmap of its own, other dim": lambda t, f: t.func.vmap(lambda a, w: f[1].apply(a, w, 2.0), (1, 0))(m(t).t(), m(t)),
    "grad of vmap of its own": lambda t, f: t.func.grad(
        lambda w: t.func.vmap(lambda a: f[1].apply(a, w, 2.0))(m(t)).sin().sum())(x(t)),
    "jvp of one of two": lambda t, f: t.func.jvp(lambda a: f[1].apply(a, x(t), 3.0), (x(t),), (x(t),)),
    "no vmap": lambda t, f: t.func.vmap(lambda a: f[3].apply(a, a, 2.0))(m(t)),
    "two vmaps": lambda t, f: t.func.vmap(lambda a: f[4].apply(a, a, 2.0))(m(t)),
    "no setup_context": lambda t, f: t.func.grad(lambda a: f[5].apply(a).sum())(x(t)),
    "no setup_context, forward mode": lambda t, f: _forward(t, f[5]),
}


def _forward(t: Any, function: Any) -> Any:
    forward_ad = t.autograd.forward_ad
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(function.apply(forward_ad.make_dual(x(t), x(t) * 3)))


@pytest.mark.parametrize("dims", [0, 1, -1, (1, 0), (0, None), (1, None)])
def test_where_the_batch_is(dims: Any) -> None:
    def run(t: Any) -> Any:
        seen: list[Any] = []

        class Own(t.autograd.Function):
            @staticmethod
            def forward(x: Any, y: Any) -> Any:
                return x * 2

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                pass

            @staticmethod
            def vmap(info: Any, in_dims: Any, x: Any, y: Any) -> Any:
                seen.append((info.batch_size, info.randomness, in_dims, tuple(x.shape), tuple(y.shape)))
                return x * 2, in_dims[0]

        result = t.func.vmap(Own.apply, dims)(t.arange(9.0).reshape(3, 3), t.ones(3, 3))
        return result, repr(seen)

    agree(run)


def _by_name_only(t: Any) -> Any:
    class Own(t.autograd.Function):
        @staticmethod
        def forward(x: Any, *, y: Any) -> Any:
            return x + y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, *, y: Any) -> Any:
            return x + y, 0

    return Own


BY_NAME_ONLY = {
    "vmap": lambda t, f: t.func.vmap(lambda a: f.apply(a, y=x(t)))(m(t)),
    "grad": lambda t, f: t.func.grad(lambda a: f.apply(a, y=x(t)).sum())(x(t)),
    "jvp": lambda t, f: t.func.jvp(lambda a: f.apply(a, y=x(t)), (x(t),), (x(t),)),
    "grad inside vmap": lambda t, f: t.func.vmap(t.func.grad(lambda a: f.apply(a, y=x(t)).sum()))(m(t)),
}


@pytest.mark.parametrize("name", BY_NAME_ONLY)
def test_arguments_by_name_only(name: str) -> None:
    agree(lambda t: BY_NAME_ONLY[name](t, _by_name_only(t)))


@pytest.mark.parametrize("name", CASES)
def test_custom_function(name: str) -> None:
    agree(lambda t: CASES[name](t, functions(t)), rtol=2e-5)
