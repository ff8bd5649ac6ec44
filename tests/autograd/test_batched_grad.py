"""Batched gradients."""

from __future__ import annotations

import importlib

import torch
from parity import collect, leaf, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


@program
def one_result_for_each_gradient(T):
    x = T.ones(2, 2, requires_grad=True)
    starts = T.arange(3.0).expand(2, 2, 3).transpose(0, 2)
    out = x.clone()
    return [T.autograd.grad(out, x, starts, is_grads_batched=True),
            T.autograd.grad(x.sum(), x, T.arange(3.0), is_grads_batched=True),
            T.autograd.grad([x * 2, x.sum()], {"a": x}, [starts, T.arange(3.0)], is_grads_batched=True)]


@program
def shapes_that_do_not_fit(T):
    x = T.ones(2, 2, requires_grad=True)
    return [told(lambda: T.autograd.grad(x.clone(), x, T.ones(2, 2), is_grads_batched=True)),
            told(lambda: T.autograd.grad(x.sum(), x, T.ones(2, 1), is_grads_batched=True)),
            told(lambda: T.autograd.grad(x.sum(), x, T.ones(()), is_grads_batched=True))[0]]


@program
def through_several_ops(T):
    x, y = leaf(T), leaf(T, 4, 5, 6)
    out = (x * y / 9).softmax(0) @ T.tensor([[0.0, 1, 0.5], [2, -1, 3], [1, 0.25, -2]])
    return T.autograd.grad(out, (x, y), T.eye(3), is_grads_batched=True)


@program
def recorded(T):
    x = leaf(T)
    (g,) = T.autograd.grad(x**3, x, T.eye(3), is_grads_batched=True, create_graph=True)
    return g.detach(), T.autograd.grad(g.sum(), x)


@program
def what_a_function_says_of_vmap(T):
    class Square(T.autograd.Function):
        @staticmethod
        def forward(x):
            return x**2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    return Square.generate_vmap_rule, callable(Square.vmap)


@program
def vmap_of_old(T):
    vmap = importlib.import_module("torch._vmap_internals" if T is torch else "whygrad.autograd.legacy_vmap")._vmap
    x = T.arange(6.0).reshape(2, 3)
    calls = [lambda: vmap(lambda a: a.sin(), 1, 1)(x), lambda: vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(x),
             lambda: vmap(lambda a: (a, None), allow_none_pass_through=True)(x)]
    wrong = [lambda: vmap(lambda a: a + T.randn(3))(x), lambda: vmap(lambda a: (a, 3))(x), lambda: vmap(lambda a: [a])(x),
             lambda: vmap(lambda a: (a, a), out_dims=(0,))(x), lambda: vmap(lambda a: a, None)(x), lambda: vmap(lambda: 1)(),
             lambda: vmap(lambda a: a, out_dims="a")(x), lambda: vmap(lambda a: None)(x)]
    return [call() for call in calls], [told(call) for call in wrong]


@program
def memory_of_other_elements(T):
    vmap = importlib.import_module("torch._vmap_internals" if T is torch else "whygrad.autograd.legacy_vmap")._vmap
    x = T.arange(10.0).reshape(2, 5)
    wrong = (([5], [1], 1), ([5], [1], -1), ([5], [2], 0), ([5], [1, 2], 1))
    return vmap(lambda a: a.as_strided([3], [1], 1))(x), [told(lambda: vmap(lambda a: a.as_strided(*geometry))(x))
                                                          for geometry in wrong]


@program
def tangents_in_a_batch(T):
    """They are taken as they are; a view of memory must find it in each of them; a full view shares the tangent of its base."""
    ad, seen = T.autograd.forward_ad, []
    vmap = importlib.import_module("torch._vmap_internals" if T is torch else "whygrad.autograd.legacy_vmap")._vmap
    part, base = T.ones(5)[:4].detach(), T.zeros(4)
    view, turned = base.view_as(base), T.zeros(2, 2).transpose(0, 1)

    def along(tangent):
        with ad.dual_level():
            dual = ad.make_dual(part, tangent)
            seen.extend([ad.unpack_dual(dual).tangent is tangent, told(lambda: dual.as_strided((5,), (1,), 0)),
                         told(lambda: dual.as_strided((2,), (1,), 1))])
            view.copy_(dual)
            turned.copy_(dual.view(2, 2))
            found = [ad.unpack_dual(t).tangent for t in (view, base, turned, turned._base)]
            seen.extend([found[0] is found[1], found[0]._is_view(), found[2]._base is found[3]])
            return tuple(found[:2])

    return *vmap(along)(T.arange(8.0).reshape(2, 4)), seen


@parity(PROGRAMS)
def test_program(program):
    same(program)
