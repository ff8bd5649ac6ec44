"""Custom Function with `jvp` (forward mode)."""

from __future__ import annotations

from parity import collect, function, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


def with_jvp(T, forward, jvp=None, vjp=None):
    return function(T, forward, jvp=jvp, vjp=vjp)


def along(T, f, *pairs):
    """The tangents of `f` at points with tangents; a point without one is given as it is."""
    ad = T.autograd.forward_ad
    with ad.dual_level():
        out = f(*[ad.make_dual(*p) if isinstance(p, tuple) else p for p in pairs])
        return [ad.unpack_dual(t).tangent if isinstance(t,
                                                        T.Tensor) else None for t in (out if isinstance(out, tuple) else (out,))]


def double(T, *values):
    return T.tensor(values or (1.0, 2.0), dtype=T.float64)


@program
def one_tangent_for_each_input(T):
    got = []

    def jvp(ctx, *tangents):
        got.append([t is None for t in tangents])
        return tangents[1] * 2 + (0 if tangents[3] is None else tangents[3] * 3)

    Fn = with_jvp(T, lambda ctx, k, x, m, y: x * 2 + y * 3, jvp)
    return along(T, Fn.apply, 1, (double(T), double(T, 5, 6)), 1, double(T)), got


@program
def what_is_saved_for_forward(T):
    lengths = []

    def forward(ctx, x, y, z):
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        ctx.z = z
        return z * x * y

    def jvp(ctx, x_t, y_t, _):
        x, y = ctx.saved_tensors
        return ctx.z * (y * x_t + (0 if y_t is None else x * y_t))

    def other(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    Fn = with_jvp(T, forward, jvp, lambda ctx, g: (g, g, None))
    Only = with_jvp(T, other, lambda ctx, t: (lengths.append(len(ctx.saved_tensors)), t)[1])
    return along(T, Fn.apply, (double(T), double(T, 3, 4)), double(T), 4), along(T, Only.apply, (double(T), double(T))), lengths


@program
def not_implemented(T):
    return told(lambda: along(T, with_jvp(T, lambda ctx, x: x.clone()).apply, (double(T), double(T))))


@program
def views_must_stay_views(T):
    def jvp(ctx, t, flag):
        result = t.narrow(0, 0, 1)
        if flag != "ok":
            result = result.clone()
        return result.view_as(result) if flag == "other" else result

    Fn = with_jvp(T, lambda ctx, x, flag: (setattr(ctx, "flag", flag), x.narrow(0, 0, 1))[1], lambda ctx, t,
                  _: jvp(ctx, t, ctx.flag))
    pair = double(T), double(T, 5, 6)
    return [told(lambda: along(T, lambda x: Fn.apply(x, flag), pair)) for flag in ("ok", "copy", "other")]


@program
def inputs_returned_as_they_are(T):
    seen = []
    for how in (lambda t: t.view_as(t), lambda t: t, lambda t: t * 2):
        Fn = with_jvp(T, lambda ctx, x, y: (x + y, x), lambda ctx, a, b: (a if b is None else a + b, how(a)))
        seen.append(told(lambda: along(T, Fn.apply, (double(T), double(T)), double(T))))
    return seen


@program
def in_place_must_be_in_place(T):
    def forward(ctx, x, wrong):
        ctx.mark_dirty(x)
        ctx.wrong = wrong
        return x.mul_(2)

    Fn = with_jvp(T, forward, lambda ctx, t, _: 2 * t if ctx.wrong else t.mul_(2))
    return [told(lambda: along(T, lambda x: Fn.apply(x.clone(), wrong), (double(T), double(T)))) for wrong in (False, True)]


@program
def outputs_without_tangent(T):
    def forward(ctx, x, y):
        out = y.clone()
        ctx.mark_non_differentiable(out)
        return x.clone(), out

    seen = []
    for second in (lambda t: None, lambda t: t.clone()):
        Fn = with_jvp(T, forward, lambda ctx, a, b: (a, second(a)))
        seen.append(told(lambda: seen.append(along(T, Fn.apply, (double(T), double(T)), double(T)))))
    other = with_jvp(T, lambda ctx, x: (x.clone(), "text", x.clone()), lambda ctx, t: (t, None, t))
    return seen, along(T, other.apply, (double(T), double(T, 7, 8)))


@program
def checked(T):
    wrong = with_jvp(T, lambda ctx, x, bad: (setattr(ctx, "bad", bad), x * 2)[1], lambda ctx, t, _: (3 if ctx.bad else 2) * t,
                     lambda ctx, g: (2 * g, None))
    x = T.arange(1.0, 5.0, dtype=T.float64).requires_grad_()
    return [told(lambda: T.autograd.gradcheck(wrong.apply, (x, bad), check_forward_ad=True, fast_mode=fast)) for bad in (False,
                                                                                                                         True)
            for fast in (True, False)]


@program
def views_of_another_base(T):
    def jvp(ctx, t, _):
        part = t.narrow(0, 0, 2)
        return part if ctx.kind == "right" else part.clone() if ctx.kind == "copy" else part.clone().view_as(part)

    Fn = with_jvp(T, lambda ctx, x, kind: (setattr(ctx, "kind", kind), x.narrow(0, 0, 2))[1], jvp)
    seen = []
    for kind in ("right", "copy", "view"):
        for given in (lambda x: x, lambda x: x.view_as(x)):
            with T.autograd.forward_ad.dual_level():
                x = T.autograd.forward_ad.make_dual(T.ones(4), T.ones(4))
                seen.append(told(lambda: Fn.apply(given(x), kind)))
    return seen


@program
def in_place_without_touching_the_tangent(T):
    seen = []
    for touches in (True, False):
        Fn = with_jvp(T, lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2))[1], lambda ctx, t: t.mul_(2) if touches else t)
        for tracked in (True, False):
            x = T.ones(2, requires_grad=tracked).clone()
            with T.autograd.forward_ad.dual_level():
                seen.append(told(lambda: Fn.apply(T.autograd.forward_ad.make_dual(x, T.ones(2)))))
    return seen


@program
def switched_off_inside_forward(T):
    seen = []

    def look(*args):
        seen.append(T.autograd.forward_ad._is_fwd_grad_enabled())
        return args[-1] * 2

    look(double(T))
    with_jvp(T, look, look, lambda ctx, g: g).apply(double(T).requires_grad_())
    look(double(T))
    return seen


@parity(PROGRAMS)
def test_program(program):
    same(program)
