"""`retain_grad()`."""

from __future__ import annotations

import weakref

from parity import MODULES, collect, leaf, no_collector, pairs, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


@program
def accumulates_and_may_be_repeated(T):
    x = leaf(T)
    h = x * 3
    out = (h * h).sum()
    h.retain_grad()
    h.retain_grad()
    seen = []
    for _ in range(2):
        out.backward(retain_graph=True)
        seen.append(h.grad.clone())
    x.grad = None
    x.retain_grad()
    out.backward()
    return seen, x.grad, h.retains_grad, x.retains_grad, told(lambda: T.ones(2).retain_grad())


@program
def sees_every_tensor_hook(T):
    seen = []
    for order in ("hook retain hook", "retain hook", "hook retain"):
        b = T.tensor(1.0, requires_grad=True).clone()
        for step in order.split():
            b.retain_grad() if step == "retain" else b.register_hook(lambda g: g * 2)
        b.clone().backward()
        seen.append(b.grad)
    return seen


@program
def follows_in_place_writes(T):
    seen = []
    for times in (1, 2):
        a = leaf(T, 1).clone()
        a.retain_grad()
        for _ in range(times):
            a.mul_(2)
        a.sum().backward()
        seen.append(a.grad)
    x = leaf(T, 1).clone()
    x.retain_grad()
    view = x[:]
    view *= 2
    x *= 2
    x.sum().backward()
    plain = T.zeros(4)
    plain.view(2, 2).add_(T.ones(2, 2, requires_grad=True))
    return seen, x.grad, plain.requires_grad


@program
def of_several_outputs(T):
    seen = []
    for make in pairs(T):
        first, second = make(T.arange(9.0).reshape(3, 3).requires_grad_())
        first.retain_grad()
        second.retain_grad()
        first.mul_(2)
        (first + second).sum().backward()
        seen += [first.grad, second.grad]
    return seen


@program
def of_views(T):
    base = leaf(T, 1).clone()
    view, other = base[:], base[:]
    view.retain_grad()
    other.retain_grad()
    view.mul_(2)
    (view + other).sum().backward()
    return view.grad, other.grad


@parity(PROGRAMS)
def test_program(program):
    same(program)


@MODULES
def test_makes_no_cycle(T):
    def scope():
        y = T.ones(2, requires_grad=True) * 2
        y.retain_grad()
        return y / 2, weakref.ref(y)

    with no_collector():
        z, ref = scope()
        assert ref() is None
        z.sum().backward()
