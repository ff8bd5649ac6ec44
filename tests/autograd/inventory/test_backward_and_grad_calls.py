"""`backward()` and `autograd.grad()` calls."""

from __future__ import annotations

import collections
from collections import OrderedDict

import pytest

from inventory import collect, leaf, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


@program
def roots_add_up(T):
    x, y = leaf(T), leaf(T, 4, 5, 6)
    z = x * y
    T.autograd.backward([z, z], [T.ones(3), T.full((3,), 2.0)])
    w = x * 2
    T.autograd.backward([w, w**2], [T.ones(3), T.ones(3)])
    return x.grad, y.grad


@program
def a_root_that_does_not_require_grad(T):
    x, y = leaf(T), T.ones(3)
    return [told(lambda: T.autograd.backward([x + y, y * 2], [T.ones(3), T.ones(3)])), told(lambda: y.backward()),
            told(lambda: T.autograd.grad(y, y**2)), told(lambda: T.autograd.grad(y**2, y)),
            told(lambda: T.autograd.backward([x + 2], [None])), told(lambda: x.backward()),
            told(lambda: T.autograd.grad(x.sum(), y))]


@program
def inputs_limit_what_is_filled(T):
    x, y = leaf(T), leaf(T, 4, 5, 6)
    seen = []
    for inputs in ([x, y], [x], [y], y, (x,), {"a": x}, [], {}):
        x.grad = y.grad = None
        seen.append(told(lambda: T.autograd.backward(x**2 + y * x + y**2, T.ones(3), inputs=inputs)))
        seen += [x.grad, y.grad]
    return seen


@program
def inputs_may_be_non_leaves_or_unreachable(T):
    x, y, z = leaf(T), leaf(T, 4, 5, 6), leaf(T)
    between = x * 1
    out = between**2 + y * between
    out.backward(T.ones(3), retain_graph=True, inputs=[x, y, between])
    out.backward(T.ones(3), inputs=[z])
    return x.grad, y.grad, between.grad, z.grad


@program
def a_scalar_root_with_a_scalar_input(T):
    x = T.tensor(3.0, dtype=T.float64, requires_grad=True)
    (x**2).backward(inputs=x)
    return x.grad


@program
def grad_gives_what_inputs_are(T):
    x, y = leaf(T), leaf(T, 4, 5, 6)
    z = x * y
    return [T.autograd.grad(z.sum(), x, retain_graph=True), T.autograd.grad(z.sum(), [x, y], retain_graph=True),
            T.autograd.grad(z.sum(), {"a": x, 3: y}, retain_graph=True),
            told(lambda: T.autograd.grad(z.sum(), OrderedDict(a=x))), told(lambda: T.autograd.grad(z.sum(), [])),
            told(lambda: T.autograd.grad(z.sum(), {})), x.grad]


@program
def unused_inputs(T):
    x, y, z = leaf(T), leaf(T), leaf(T)
    out = (x * 2).sum()

    def grad(inputs, **options):
        return T.autograd.grad(out, inputs, retain_graph=True, **options)

    return [told(lambda: grad([y])), told(lambda: grad([x, y])), grad([x, y], allow_unused=True),
            grad([x, z], materialize_grads=True), grad([x, z], materialize_grads=True, create_graph=True),
            told(lambda: grad([x], allow_unused=False, materialize_grads=True))]


@program
def materialized_to_third_order(T):
    x, a = T.tensor(0.5, requires_grad=True), T.tensor(1.0, requires_grad=True)
    first = T.autograd.grad(x * a, x, create_graph=True)
    none = T.autograd.grad(first, x, create_graph=True, allow_unused=True)
    second = T.autograd.grad(first, x, create_graph=True, materialize_grads=True)
    return none, second, T.autograd.grad(second, x, materialize_grads=True)


@program
def nodes_off_the_path_are_not_run(T):
    class Forbidden(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            raise AssertionError("must not run")

    y, z = leaf(T), leaf(T)
    off = Forbidden.apply(leaf(T) * 2)
    T.autograd.backward(off, T.ones(3), inputs=(y,))
    return (T.autograd.grad(off, (y,), T.ones(3), allow_unused=True),
            T.autograd.grad(Forbidden.apply(leaf(T) * 2) + z, (y, z), T.ones(3), allow_unused=True), y.grad)


@program
def a_wrong_gradient(T):
    x = leaf(T)
    return [told(lambda: T.autograd.grad(x * 2, x, T.ones(2))), told(lambda: (x * 2).backward(T.ones(2, 3))),
            told(lambda: T.autograd.grad(x * 2, x, T.ones(3, dtype=T.complex64))),
            told(lambda: T.autograd.backward([x * 2], [3])), told(lambda: T.autograd.grad([x * 2, x * 3], x, [T.ones(3)]))]


@program
def a_second_backward(T):
    x = leaf(T)
    saves, saves_nothing, written = x * x, x + 1, T.zeros(3)
    written[[1, 2]] = x[[1, 1]]
    seen = []
    for out in (saves, saves_nothing, written):
        out.backward(T.ones(3), retain_graph=True)
        seen += [told(lambda: out.backward(T.ones(3))), told(lambda: out.backward(T.ones(3)))]
    T.autograd.grad(saves_nothing.sum(), x, create_graph=True)
    return seen, x.grad


@program
def an_op_without_a_derivative(T):
    a = T.rand(2, requires_grad=True)
    y = T.nextafter(a, a)
    return y.requires_grad, type(y.grad_fn).__name__, told(lambda: y.sum().backward())


@program
def in_place_versions_without_a_derivative(T):
    seen = []
    for name in ("acosh_", "asinh_", "atanh_", "arccosh_", "sinh_", "digamma_"):
        y = getattr((T.tensor([1.5, 2.5], requires_grad=True) * 1), name)()
        seen += [y.requires_grad, type(y.grad_fn).__name__, told(lambda: y.sum().backward())]
    return seen


@program
def dicts_of_inputs(T):
    x, y = leaf(T), leaf(T)
    (x * y).sum().backward(inputs={"a": x})
    ordered = collections.OrderedDict(a=x)
    return [x.grad, y.grad, T.autograd.grad((x * y).sum(), {1: x, None: y}),
            T.autograd.grad((x * x).sum(), {"q": y}, materialize_grads=True), told(lambda: (x * y).sum().backward(inputs={})),
            told(lambda: T.autograd.grad((x * y).sum(), {})), told(lambda: T.autograd.grad((x * x).sum(), {"q": y})),
            told(lambda: (x * y).sum().backward(inputs=ordered)), told(lambda: T.autograd.grad((x * y).sum(), ordered))]


@program
def non_leaf_in_a_loop(T):
    start, y = leaf(T), leaf(T, 4, 5, 6)
    x, seen = start, []
    for _ in range(3):
        (g,) = T.autograd.grad(x**2 + y * x + y**2, x, T.ones(3), create_graph=True)
        seen += [g, y.grad, start.grad]
        x = x + 0.05 * g
    x.backward(T.ones(3))
    return seen, start.grad is None, y.grad is None


@program
def two_outputs_of_one_node(T):
    x = T.arange(8.0).reshape(4, 2).requires_grad_()
    called = []
    x.register_hook(lambda g: called.append(1))
    a, b = x.chunk(2)
    return T.autograd.grad(a + 2 * b, [a, b], T.ones(2, 2), create_graph=True), called, x.grad


@program
def only_one_output_is_used(T):
    x = leaf(T, 1, 2, 3, 4, 5)
    parts = x.unbind()
    got = []
    parts[0].register_hook(got.append)
    for part in parts:
        part.backward()
    return got, x.grad, parts[0].is_leaf


@program
def gradients_used_in_several_places_are_not_spoiled(T):
    x, y = T.ones(2, 2, requires_grad=True), T.ones(2, 2, requires_grad=True)
    a, b, c = x + 2, y + 2, x + 2
    short = (a + b) + c
    for _ in range(4):
        a, b, c = a * 2, b * 2, c * 2
    start = T.ones(2, 2)
    (short + (a + b + c)).backward(start)
    return x.grad, y.grad, start


@program
def shards_sent_back_one_after_the_other(T):
    leaves = [T.zeros(2, requires_grad=True) for _ in range(4)]
    between = [x * i + x * x for i, x in enumerate(leaves)]
    loss = sum([v * i for i, v in enumerate(between)]).sum()
    parts = [g for i in range(0, 4, 2) for g in T.autograd.grad(loss, between[i:i + 2], retain_graph=True)]
    T.autograd.backward(between, parts)
    return [x.grad for x in leaves]


@program
def keyword_arguments_that_are_old(T):
    x = leaf(T)
    return [told(lambda: T.autograd.backward(x * 2, grad_variables=T.ones(3))), x.grad,
            T.autograd.grad((x * 2).sum(), x, only_inputs=False)]


@parity(PROGRAMS)
def test_program(program):
    same(program)


@pytest.mark.parametrize("retain", [None, True, False])
def test_retaining(retain):
    def again(T):
        x = leaf(T)
        y = x * x
        y.backward(T.ones(3), retain_graph=retain)
        return told(lambda: y.backward(T.ones(3)))

    same(again)
