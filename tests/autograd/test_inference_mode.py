"""Inference mode."""

from __future__ import annotations

from parity import collect, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)

SHAPE = (1, 2, 3)


def facts(T, t):
    return t.requires_grad, T.is_inference(t), t.is_inference(), told(lambda: t._version)


def both(T, make):
    return [make(flag) for flag in (True, False)]


@program
def context_and_decorator(T):
    seen = [T.is_inference_mode_enabled()]
    with T.inference_mode():
        seen.append(T.is_inference_mode_enabled())
        with T.inference_mode(False):
            seen.append(T.is_inference_mode_enabled())
        seen.append(T.is_inference_mode_enabled())

    def square(x):
        return T.is_inference_mode_enabled(), x * x

    for decorated in (T.inference_mode(mode=square), T.inference_mode(square), T.inference_mode(mode=True)(square),
                      T.inference_mode(False)(square)):
        for flag in (True, False):
            mode, out = decorated(T.ones(*SHAPE, requires_grad=flag))
            seen += [mode, out.requires_grad, T.is_inference(out)]
    return seen


@program
def made_inside(T):
    with T.inference_mode():
        tensors = [T.ones(*SHAPE), T.ones(*SHAPE, requires_grad=True), T.ones(*SHAPE).requires_grad_(False)]
        results = [f(t) for t in tensors[:2] for f in (lambda t: t * t, lambda t: t.view(-1))]
        return [facts(T, t) for t in (*tensors, *results)]


@program
def written_inside(T):
    seen = []
    with T.inference_mode():
        for flag in (True, False):
            for write in (lambda x: x.add_(2), lambda x: x.transpose_(0, 1), lambda x: x.resize_(1, 2),
                          lambda x: x.resize_as_(T.ones(1, 2)), lambda x: x.copy_(T.ones(*SHAPE))):
                t = T.ones(*SHAPE, requires_grad=flag)
                seen += [told(lambda: write(t)), facts(T, t)]
    return seen


@program
def used_outside(T):
    seen = []
    for flag in (True, False):
        with T.inference_mode():
            t = T.ones(*SHAPE, requires_grad=flag)
        out, view = t * t if not flag else t + 1, t.view(-1)
        seen += [facts(T, out), out.is_leaf, facts(T, view), view._is_view(), view.is_leaf,
                 told(lambda: t.add_(2)), told(lambda: t.transpose_(0, 1))]
    return seen


@program
def an_existing_graph(T):
    a = T.ones(*SHAPE, requires_grad=True).clone()
    out = a * a
    with T.inference_mode():
        a.add_(2)
    return T.is_inference(a), told(lambda: out.backward(T.ones(*SHAPE)))


@program
def normal_tensors_inside(T):
    seen = []
    for flag in (True, False):
        for write in (lambda x: x.add_(2), lambda x: x.transpose_(0, 1)):
            a = T.ones(*SHAPE, requires_grad=flag).clone()
            with T.inference_mode():
                for _ in range(2):
                    write(a)
                    seen += [T.is_inference(a), a.requires_grad]
                view = a.view(-1) if a.is_contiguous() else a.t() if a.ndim < 3 else a
                seen += [T.is_inference(view), view.requires_grad]
            write(a)
            seen += [T.is_inference(a), a.requires_grad]
    return seen


@program
def views_of_normal_tensors(T):
    seen = []
    for flag in (True, False):
        a = T.ones(*SHAPE, requires_grad=flag).clone()
        with T.inference_mode():
            out = a.view(-1)
            again = out.view(-1)
            seen += [T.is_inference(t) for t in (out, again)] + [t.requires_grad for t in (out, again)]
            seen += [out._is_view(), again._is_view(), out.is_leaf, again.is_leaf]
        product = out * out
        seen += [product.requires_grad, T.is_inference(product), told(lambda: out.add_(2)), out.view(2, 3).requires_grad]
        with T.inference_mode():
            again.add_(2)
            seen.append(a._version == again._version)
    return seen


@program
def mixed(T):
    seen = []
    for flag in (True, False):
        s = T.ones(*SHAPE, requires_grad=flag)
        with T.inference_mode():
            c, plain = T.ones(*SHAPE, requires_grad=flag), T.ones(*SHAPE)
        out = c.add(s)
        seen += [T.is_inference(out), out.requires_grad]
        if flag:
            out.backward(T.ones_like(out))
            seen.append(c.grad)
        a = s.clone()
        seen += [told(lambda: c * s), told(lambda: a.mul_(plain)), told(lambda: T.mul(s, s, out=plain)),
                 facts(T, plain.view_as(s)), T.is_inference(s.view_as(plain)), s.view_as(plain).requires_grad]
    return seen


@program
def views_made_inside_and_written_outside(T):
    seen = []
    for flag in (True, False):
        for write in (lambda x: x.add_(2), lambda x: x.transpose_(0, 1)):
            a = T.ones(*SHAPE, requires_grad=flag).clone()
            with T.inference_mode():
                direct, indirect = a.view_as(a), a.view(-1)
            seen.append(told(lambda: write(direct)))
            b = T.ones(*SHAPE, requires_grad=flag).clone()
            with T.inference_mode():
                indirect = b.view(-1)
            write(b)
            seen.append(told(lambda: indirect.grad_fn))
    return seen


@program
def derivatives_of_transforms(T):
    """A transform records what it differentiates, also of tensors that were made in inference mode."""
    with T.inference_mode():
        x = T.tensor([1.0, 2.0])
        found = [T.func.grad(lambda t: (t ** 2).sum())(x), T.func.jacrev(lambda t: t ** 3)(x),
                 T.func.vjp(lambda t: t * 3, x)[1](x)[0]]
        return [*found, (x * 2).requires_grad, T.is_inference_mode_enabled()]


@parity(PROGRAMS)
def test_program(program):
    same(program)
