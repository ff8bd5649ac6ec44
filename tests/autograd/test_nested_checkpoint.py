"""Nested non-reentrant checkpoint."""

from __future__ import annotations

import weakref

import pytest
from parity import MODULES, collect, leaf, parity, same

PROGRAMS = []
program = collect(PROGRAMS)


def checkpointed(T, f):
    return lambda *args, **kwargs: T.utils.checkpoint.checkpoint(f, *args, use_reentrant=False, **kwargs)


def differentiated(T, f):
    def gradient(x):
        with T.enable_grad():
            return T.autograd.grad(f(x), x, create_graph=True)[0]

    return gradient


def nestings(T, f):
    def c(g):
        return checkpointed(T, g)

    def d(g):
        return differentiated(T, g)

    return [(f, [c(f), c(c(f))]), (d(f), [d(c(f)), d(c(c(f)))]), (d(d(f)), [d(c(d(f))), c(d(d(c(f)))), d(c(d(c(f))))]),
            (d(d(d(f))), [d(c(d(d(c(f))))), d(c(d(c(d(c(f))))))])]


def functions(T):
    def plain(x):
        return x.sin().exp().sin()

    def with_gradients_inside(x):
        a, b = x.sin().exp().sin(), x.sin().exp().sin()
        T.autograd.grad(a, x)
        T.autograd.grad(b, x)
        return x.sin()

    return plain, with_gradients_inside


@MODULES
@pytest.mark.parametrize("early_stop", [True, False])
def test_nesting_changes_nothing_and_leaves_nothing(T, early_stop):
    class Token:
        pass

    def graph_dies(f):
        def scope():
            seen, refs = set(), []
            pending = [f(T.tensor(0.3, requires_grad=True)).grad_fn]
            while pending:
                node = pending.pop()
                if node is None or node in seen:
                    continue
                seen.add(node)
                token = Token()
                node.metadata["token"] = token
                refs.append(weakref.ref(token))
                pending += [following for following, _ in node.next_functions]
            return refs

        return all(ref() is None for ref in scope())

    with T.utils.checkpoint.set_checkpoint_early_stop(early_stop):
        for f in functions(T):
            for expected, others in nestings(T, f):
                for other in others:
                    x = T.tensor(0.3, requires_grad=True)
                    assert T.allclose(expected(x), other(x))
                    assert graph_dies(other)


@program
def two_children(T):
    def f(x):
        return x.sin().exp().sin()

    def g(x):
        return x.cos().sin().exp()

    def summed(h):
        return lambda x: h(x).sum()

    def c(h):
        return checkpointed(T, h)

    def d(h):
        return differentiated(T, h)

    def both(x):
        return c(g)(c(f)(x))

    seen = []
    for early_stop in (True, False):
        with T.utils.checkpoint.set_checkpoint_early_stop(early_stop):
            for h in (lambda x: g(f(x)), c(both)):
                seen.append(d(summed(d(summed(h))))(leaf(T)).detach())
            seen.append(d(summed(c(d(summed(c(both))))))(leaf(T)).detach())
    return seen


@program
def other_arguments_and_results(T):
    def f(k, a, b, then, extra=None):
        out = then(k * a * b.exp())
        return (out if extra is None else out * extra), 1, "abcd"

    seen = []
    for early_stop in (True, False):
        a, b = T.tensor(2.0, requires_grad=True), T.tensor(3.0, requires_grad=True)
        with T.utils.checkpoint.set_checkpoint_early_stop(early_stop):
            out, *rest = checkpointed(T, f)(3, a, b, lambda x: x.sin())
            more, *_ = checkpointed(T, f)(3, a, b, T.cos, extra=b)
        seen += [T.autograd.grad(out, (a, b)), T.autograd.grad(more, (a, b)), rest]
    return seen


@program
def hooks_on_inner_nodes(T):
    count, seen = [], []
    for early_stop in (True, False):
        with T.utils.checkpoint.set_checkpoint_early_stop(early_stop):
            out = checkpointed(T, lambda a: a.sin().cos().sin())(T.tensor(1.0, requires_grad=True))
        out.grad_fn.next_functions[0][0].register_hook(lambda *args: count.append(1))
        out.backward()

        def f(a):
            x = a.sin().cos()
            return x, x.sin()

        a = T.tensor(1.0, requires_grad=True)
        with T.utils.checkpoint.set_checkpoint_early_stop(early_stop):
            x, out = checkpointed(T, f)(a)
        out.grad_fn.register_hook(lambda *args: x.backward(retain_graph=True))
        out.backward(retain_graph=True)
        seen.append(a.grad)
    return count, seen


@program
def who_decides_about_early_stop(T):
    early, seen = T.utils.checkpoint.set_checkpoint_early_stop, []

    def run(outer=None, inner=None, **options):
        count = []

        def f(x):
            x = x.sin().cos()
            count.append(1)
            return x.clone()

        a = T.tensor(1.0, requires_grad=True)
        call = checkpointed(T, f)
        if outer is None:
            out = call(a, **options)
        else:
            with early(outer):
                if inner is None:
                    out = call(a, **options)
                else:
                    with early(inner):
                        out = call(a, **options)
        out.backward()
        return len(count)

    for arguments in ({}, {"early_stop": False}, {"early_stop": True}, {"outer": False}, {"outer": True},
                      {"outer": False, "inner": True, "early_stop": False}, {"outer": False, "early_stop": True},
                      {"outer": True, "early_stop": False}):
        seen.append(run(**arguments))
    return seen


@program
def nothing_saved_is_never_recomputed(T):
    seen = []
    for early_stop in (True, False):
        count = []

        def f(x):
            count.append(1)
            return x.clone()

        with T.utils.checkpoint.set_checkpoint_early_stop(early_stop):
            out = checkpointed(T, f)(T.tensor(1.0, requires_grad=True))
        out.backward()
        seen.append(len(count))
    return seen


@parity(PROGRAMS)
def test_program(program):
    same(program)
