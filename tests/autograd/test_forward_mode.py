"""Forward-mode AD (`torch.autograd.forward_ad`)."""

from __future__ import annotations

import weakref
from contextlib import contextmanager

from parity import MODULES, collect, no_collector, parity, same, told

import whygrad

PROGRAMS = []
program = collect(PROGRAMS)


def pair(T):
    return T.tensor([1.0, 2.0]), T.tensor([3.0, 5.0])


def level(T):
    return T.autograd.forward_ad.dual_level()


@contextmanager
def moving(T, *point):
    """A level, and in it the module and a point with its tangent: `pair`, if no other is given."""
    ad = T.autograd.forward_ad
    with level(T):
        yield ad, ad.make_dual(*(point or pair(T)))


@program
def packed_and_unpacked(T):
    ad = T.autograd.forward_ad
    x, t = pair(T)
    with level(T) as number:
        dual = ad.make_dual(x, t)
        primal, tangent = ad.unpack_dual(dual)
        seen = [number, primal, tangent is t, ad.unpack_dual(dual).primal is primal, ad.unpack_dual(dual).tangent is t,
                ad.unpack_dual(x).tangent, dual.data_ptr() == x.data_ptr(), dual._version == x._version]
        x.add_(1)
        seen += [dual._version == x._version, ad.unpack_dual(dual).primal]
    return seen, ad.unpack_dual(dual).tangent


@program
def wrong_tangents(T):
    ad = T.autograd.forward_ad
    x, t = pair(T)
    whole = T.ones(2, dtype=T.int64)
    with level(T):
        dual = ad.make_dual(x, t)
        seen = [told(lambda: ad.make_dual(x, T.ones(3))), told(lambda: ad.make_dual(x, whole)),
                told(lambda: ad.make_dual(whole, whole)),
                told(lambda: ad.make_dual(whole, t)), told(lambda: ad.make_dual(T.ones(2), dual)), told(ad.enter_dual_level)]
    return seen, told(lambda: ad.make_dual(x, t))


@program
def through_ops(T):
    with moving(T) as (ad, dual):
        results = [f(dual) for f in (lambda x: x.sin(), lambda x: x * x, lambda x: x.sum(), lambda x: x[0] * x,
                                     lambda x: x.outer(x),
                                     lambda x: x.softmax(0), lambda x: T.cat([x, x * 2]), lambda x: x.exp().log().sqrt(),
                                     lambda x: x > 1)]
        return [tuple(ad.unpack_dual(r)) for r in results]


@program
def with_backward(T):
    ad = T.autograd.forward_ad
    x, t = pair(T)
    x.requires_grad_()
    t.requires_grad_()
    with level(T):
        dual = ad.make_dual(x, t)
        p, d = ad.unpack_dual(dual)
        seen = [T.autograd.grad(p.sum(), (x, t), allow_unused=True, retain_graph=True),
                T.autograd.grad(d.sum(), (x, t), allow_unused=True)]
        out = ad.unpack_dual((dual**3).sum())
        seen += [T.autograd.grad(out.tangent, (x, t), retain_graph=True), T.autograd.grad(out.primal, x)]
        out = ad.unpack_dual(dual.detach() * 2)
        seen += [out.primal, out.tangent]
        with T.no_grad():
            out = ad.unpack_dual(dual * 3)
        seen += [out.primal, out.tangent]
    return seen


@program
def in_place(T):
    x, t = pair(T)
    with moving(T, x, t) as (ad, dual):
        dual *= 2
        seen = [ad.unpack_dual(x).tangent, t, ad.unpack_dual(dual)[1], x]
        view = dual.narrow(0, 0, 1)
        view *= 2
        seen += [ad.unpack_dual(dual).tangent, ad.unpack_dual(view).tangent]
        base = T.zeros(2)
        base += dual
        seen.append(ad.unpack_dual(base).tangent)
        base = T.zeros(2)
        base[0] = dual[0]
        seen.append(ad.unpack_dual(base).tangent)
        base = T.zeros(2)
        base.detach().add_(dual)
        return [*seen, ad.unpack_dual(base).tangent]


@program
def views_written_with_duals(T):
    ad = T.autograd.forward_ad
    seen = []
    for write in (lambda x, y: x.add_(y), lambda x, y: x.mul_(y), lambda x, y: x.copy_(y)):
        base = T.arange(4.0).reshape(2, 2)
        view = base.transpose(0, 1)
        with level(T):
            dual = ad.make_dual(T.ones(2, 2), T.arange(4.0).reshape(2, 2))
            write(view, dual)
            before = [t.clone() for t in ad.unpack_dual(base)]
            view *= 2
            seen += [before, list(ad.unpack_dual(base))]
    return seen


@program
def refused(T):
    with moving(T) as (_, dual):
        plain = T.ones(2)
        return [told(lambda: T.add(plain, plain, out=dual)), told(lambda: T.add(dual, plain, out=plain))[0],
                told(lambda: dual.eq_(plain))]


@program
def printed(T):
    x, t = pair(T)
    with moving(T, x, t) as (ad, dual):
        return "tangent=" in str(x), "tangent=" in str(dual), "tangent=" in str(ad.unpack_dual(dual).primal)


@program
def in_inference_mode(T):
    ad = T.autograd.forward_ad
    with T.inference_mode():
        x, t = pair(T)
        with level(T):
            dual = ad.make_dual(x, t)
            dual += 1
            return dual._is_view(), x


@program
def tangents_that_depend_on_the_input(T):
    """The gradient moves as if the tangent were a constant; its movement can be differentiated all the same."""
    ad, grad = T.autograd.forward_ad, T.autograd.grad
    seen = []
    for direction in (lambda x: x, lambda x: x.sin(), lambda x: x.cos() * 2):
        x = T.tensor([0.3, 0.7], dtype=T.float64, requires_grad=True)
        w = T.tensor([1.3, -0.7], dtype=T.float64, requires_grad=True)
        with level(T):
            v = direction(x)
            dual = ad.make_dual(x, v)
            out = (dual.sin() * dual * w.exp() * v).sum()
            for towards in (x, w):
                gradient, = grad(out, towards, create_graph=True)
                still, moves = ad.unpack_dual(gradient)
                seen += [still.detach(), moves.detach(), *grad(moves.sum(), (x, w), retain_graph=True)]
            seen.append(ad.unpack_dual(dual).tangent is v)
    return seen


@program
def tangents_at_an_intermediate_result(T):
    ad, grad = T.autograd.forward_ad, T.autograd.grad
    x = T.tensor([0.3, 0.7], dtype=T.float64, requires_grad=True)
    with level(T):
        v, h = x.cos(), x * 2
        out = (ad.make_dual(h, v).exp() * v * x).sum()
        return [part.detach() for towards in (x, v, h) for part in
                ad.unpack_dual(grad(out, towards, retain_graph=True)[0])]


@program
def detached_in_place(T):
    with moving(T) as (ad, dual):
        copied = dual.clone()
        copied.detach_()
        return ad.unpack_dual(copied * 2).tangent


@program
def switched_by_the_core(T):
    with moving(T) as (ad, dual):
        T._C._set_fwd_grad_enabled(False)
        seen = [T._C._is_fwd_grad_enabled(), ad.unpack_dual(dual * 2).tangent]
        T._C._set_fwd_grad_enabled(True)
        return seen, T._C._is_fwd_grad_enabled(), ad.unpack_dual(dual * 2).tangent


@program
def nothing_in_it(T):
    ad = T.autograd.forward_ad
    with level(T):
        a, b = T.ones(0).as_strided((0, 1), (1, 1), 0), T.ones(0).as_strided((0, 1), (1, 0), 0)
        return T.diagonal(ad.make_dual(a, b), offset=0)


@program
def a_tangent_of_a_part_of_memory(T):
    ad = T.autograd.forward_ad
    seen = []
    with level(T):
        for primal, tangent in ((T.ones(5)[:4], T.ones(4)), (T.ones(4), T.ones(5)[:4]), (T.ones(5)[:4], T.ones(5)[1:]),
                                (T.ones(4), T.ones(4)), (T.ones(2, 3).t(), T.ones(3, 2)), (T.ones(1), T.ones(2)[1:])):
            found = ad.unpack_dual(ad.make_dual(primal, tangent)).tangent
            found *= 2
            seen += [found is tangent, found, tangent]
    return seen


@program
def without_a_forward_formula(T):
    with moving(T) as (_, dual):
        return [told(lambda: f(dual, other)) for f, other in ((T.igamma, dual), (T.igamma, T.ones(2)), (T.nextafter, dual),
                                                              (T.special.zeta, T.ones(2)), (T.special.zeta, dual))]


@parity(PROGRAMS)
def test_program(program):
    same(program)


@MODULES
def test_tangents_do_not_leak(T):
    ad = T.autograd.forward_ad
    with no_collector(), level(T):
        tangent = T.ones(2, requires_grad=True)
        ref = weakref.ref(tangent)
        dual = ad.make_dual(T.ones(2), tangent)
        assert ad.unpack_dual(dual).tangent is tangent
        del tangent
        assert ref() is not None
        del dual
        assert ref() is None


def test_a_level_does_not_remember_what_is_gone():
    ad = whygrad.autograd.forward_ad
    with level(whygrad):
        dual = ad.make_dual(*pair(whygrad))
        current = ad._innermost()
        before = len(current.holders)
        for _ in range(50):
            dual * 2
        assert len(current.holders) == before
