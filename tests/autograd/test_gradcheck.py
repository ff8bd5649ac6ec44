"""`gradcheck` / `gradgradcheck`."""

from __future__ import annotations

from itertools import product

import pytest
from parity import collect, parity, same, told

import whygrad

PROGRAMS = []
program = collect(PROGRAMS)


def double(T, *values):
    return T.tensor(list(values) or [0.4, 1.3, -0.7], dtype=T.float64, requires_grad=True)


def off(amount=1e-2):
    """An identity whose gradient is wrong."""
    def f(x):
        y = x.clone()
        y.register_hook(lambda g: g + amount)
        return y
    return f


def both_modes(check):
    return [check(fast_mode) for fast_mode in (True, False)]


@program
def right_gradients(T):
    A = T.autograd
    z = T.tensor([0.3 + 0.4j, -1.0 + 2.0j], dtype=T.complex128, requires_grad=True)
    return both_modes(lambda fast: [
        A.gradcheck(lambda x: x.mul(5), double(T), fast_mode=fast),
        A.gradgradcheck(lambda x: x.mul(5), double(T), fast_mode=fast),
        A.gradcheck(lambda x, y: (x * y, x.exp()), (double(T), double(T)), fast_mode=fast),
        A.gradgradcheck(lambda x, y: (x * y, x.exp()), (double(T), double(T)), fast_mode=fast),
        A.gradcheck(lambda x, y: x * x, (double(T), double(T)), fast_mode=fast),
        A.gradgradcheck(lambda x, y: x * x, (double(T), double(T)), fast_mode=fast),
        A.gradcheck(lambda z: z * z.exp(), z, fast_mode=fast), A.gradcheck(lambda z: z.abs(), z, fast_mode=fast),
        A.gradcheck(lambda x, y: (T.complex(x, y), x + 1), (double(T), double(T)), fast_mode=fast),
        A.gradcheck(lambda z: (z, z.real), z, fast_mode=fast), A.gradgradcheck(lambda z: z**3, z, fast_mode=fast),
        A.gradcheck(lambda x: (), (double(T),), fast_mode=fast),
        A.gradcheck(lambda x: x * 2, double(T), check_batched_grad=True, fast_mode=fast)])


@program
def wrong_gradients(T):
    def complex_valued(x):
        return off()(T.complex(x, x))

    def real_valued(z):
        return off()(z.real)

    x, z = T.ones(2, 2, requires_grad=True), T.ones(2, 2, dtype=T.complex128, requires_grad=True)
    return both_modes(lambda fast: [
        [told(lambda: T.autograd.gradcheck(f, t, fast_mode=fast)),
         told(lambda: T.autograd.gradcheck(f, t, fast_mode=fast, raise_exception=False))]
        for f, t in ((off(), x), (off(), z), (complex_valued, x), (real_valued, z), (off(), double(T)))])


@program
def the_whole_text(T):
    T.autograd.gradcheck(off(), double(T))


@program
def not_multiplied_by_the_gradient(T):
    x = T.ones(1, dtype=T.float64, requires_grad=True)
    return both_modes(lambda fast: [told(lambda: T.autograd.gradcheck(off(), x, atol=1e-1, fast_mode=fast)),
                                    T.autograd.gradcheck(off(), x, atol=1e-1, raise_exception=False, fast_mode=fast)])


@program
def missing_gradients(T):
    def fails(x):
        def hook(g):
            if g is None:
                raise RuntimeError("x is undefined")
        y = x.clone()
        y.register_hook(hook)
        return y

    x = T.ones(1, dtype=T.float64, requires_grad=True)
    return both_modes(lambda fast: [told(lambda: T.autograd.gradcheck(fails, x, fast_mode=fast)),
                                    T.autograd.gradcheck(fails, x, fast_mode=fast, raise_exception=False),
                                    T.autograd.gradcheck(fails, x, fast_mode=fast, check_undefined_grad=False)])


@program
def nothing_differentiable(T):
    x = T.ones(1, requires_grad=True)

    def leaks(x):
        return T.tensor([x.item()])

    return [told(lambda: T.autograd.gradcheck(leaks, x)), *both_modes(
        lambda fast: T.autograd.gradcheck(leaks, x, raise_exception=False, fast_mode=fast))]


@program
def checked_inputs(T):
    plain, single = T.ones(3), T.ones(1, requires_grad=True)
    expanded = T.ones(1, dtype=T.float64, requires_grad=True).expand(2, 2)
    return both_modes(lambda fast: [
        told(lambda: T.autograd.gradcheck(lambda x: x, plain, raise_exception=False, fast_mode=fast)),
        told(lambda: T.autograd.gradcheck(lambda x: x * 1, single, atol=1e-1, fast_mode=fast)),
        told(lambda: T.autograd.gradcheck(lambda x: x * 1, expanded, raise_exception=False, fast_mode=fast))])


@program
def outputs_that_depend_on_values(T):
    def longer(x):
        return T.cat([x, x]) if bool((x >= 1).all()) else x * 1

    def shorter(x):
        return x.to(T.float32) if bool((x >= 1).all()) else x * 1

    x = T.ones(1, dtype=T.float64, requires_grad=True)
    return both_modes(lambda fast: [told(lambda: T.autograd.gradcheck(f, x, fast_mode=fast)) for f in (longer, shorter)])


@program
def other_errors_pass_through(T):
    def fails(x):
        raise RuntimeError("Not a GradcheckError!")

    class BadBackward(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise RuntimeError("FAIL BWD")

    return both_modes(lambda fast: [told(lambda: T.autograd.gradcheck(f, double(T), fast_mode=fast, raise_exception=False))
                                    for f in (fails, BadBackward.apply)])


@program
def a_backward_that_varies(T):
    calls = []

    class Varies(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, amount):
            ctx.amount = amount
            return x * 1

        @staticmethod
        def backward(ctx, g):
            calls.append(1)
            return g * (1 + len(calls) * ctx.amount), None

    def check(fast):
        return [told(lambda: T.autograd.gradcheck(lambda x: Varies.apply(x, amount), double(T), fast_mode=fast,
                                                  check_batched_grad=False, **more))
                for amount, more in ((0.0, {}), (1e-9, {}), (1e-9, {"nondet_tol": 1e-5}))]

    return both_modes(check)


@program
def wrong_options(T):
    A, x = T.autograd, double(T)
    return [told(lambda: A.gradcheck(lambda x: x, x, check_backward_ad=False)),
            told(lambda: A.gradcheck(lambda x: x, x, check_backward_ad=False, check_forward_ad=True, check_batched_grad=True)),
            told(lambda: A.gradcheck(lambda x: x, x, check_batched_forward_grad=True)),
            told(lambda: A.gradgradcheck(lambda x: x, x, check_rev_over_rev=False)),
            told(lambda: A.gradgradcheck(lambda x: x, x, check_rev_over_rev=False, check_fwd_over_rev=True))]


@program
def old_helpers(T):
    from importlib import import_module

    helpers = import_module(f"{T.__name__}.autograd.gradcheck")
    a = T.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=T.float64, requires_grad=True)
    b = a.detach().clone().requires_grad_()

    def f(inputs):
        return 2 * inputs[0] + inputs[1], inputs[0] + 2 * inputs[1]

    out = 2 * a + b
    return [helpers.get_numerical_jacobian(f, (a, b), target=a, eps=1e-6), helpers.get_numerical_jacobian(f, (a, b), eps=1e-6),
            told(lambda: helpers.get_numerical_jacobian(f, (a, b), eps=1e-6, grad_out=2.0)),
            helpers.get_analytical_jacobian((a, b), out)[:2],
            told(lambda: helpers.get_analytical_jacobian((a,), out, grad_out=2.0)),
            issubclass(helpers.GradcheckError, RuntimeError)]


@program
def grad_outputs_may_be_given(T):
    return [T.autograd.gradgradcheck(lambda x: x**3, double(T), double(T, 1.0, 2.0, 3.0)),
            T.autograd.gradgradcheck(lambda x: x**3, double(T), gen_non_contig_grad_outputs=True),
            T.autograd.gradgradcheck(lambda c, x, y: T.where(c, x, y), (T.tensor([True, False, True]), double(T), double(T)),
                                     [T.ones(3)])]


@program
def in_forward_mode(T):
    ad = T.autograd.forward_ad

    def wrong(x, y):
        if ad._current_level >= 0:
            primal, tangent = ad.unpack_dual(y)
            y = ad.make_dual(primal, tangent * 1.1)
        return x + y, y

    seen = []
    for first, second in ((T.float64, T.float64), (T.complex128, T.float64), (T.complex128, T.complex128)):
        x, y = [T.full((2,), 0.3, dtype=dtype).requires_grad_() for dtype in (first, second)]
        seen += both_modes(lambda fast: [told(lambda: T.autograd.gradcheck(f, (x, y), check_forward_ad=True, fast_mode=fast))
                                         for f in (lambda x, y: (x + y, y), wrong)])
    return seen, T.autograd.gradgradcheck(lambda x: x.sin(), double(T), check_fwd_over_rev=True)


@program
def in_one_mode_only(T):
    class Fails(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, forward, backward):
            ctx.fails = forward, backward
            return x * 2

        @staticmethod
        def vjp(ctx, g):
            if ctx.fails[1]:
                raise RuntimeError("FAIL BWD")
            return 2 * g, None, None

        @staticmethod
        def jvp(ctx, t, *rest):
            if ctx.fails[0]:
                raise RuntimeError("FAIL FWD")
            return 2 * t

    flags = (True, False)
    return [told(lambda: T.autograd.gradcheck(Fails.apply, (double(T), bad_forward, bad_backward), check_forward_ad=forward,
                                              check_backward_ad=backward, check_undefined_grad=backward, fast_mode=fast))
            for forward, backward, bad_forward, bad_backward, fast in product(flags, repeat=5)]


@program
def batches_of_tangents_of_a_plain_function(T):
    """A Function without setup_context is no obstacle, but random numbers are."""

    def checked(jvp):
        class Doubled(T.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def vjp(ctx, g):
                return g * 2

        Doubled.jvp = staticmethod(jvp)
        return told(lambda: T.autograd.gradcheck(Doubled.apply, (double(T),), check_forward_ad=True,
                                                 check_batched_forward_grad=True, check_batched_grad=False))

    return checked(lambda ctx, t: t * 2), checked(lambda ctx, t: (T.randn_like(t), t * 2)[1])


@program
def how_often_jvp_is_called(T):
    seen = []
    for tracked, options in ((True, {}), (True, {"check_undefined_grad": True}),
                             (True, {"check_undefined_grad": True, "check_batched_forward_grad": True}),
                             (False, {"check_undefined_grad": True, "check_batched_forward_grad": True})):
        count, flags = [], []

        class Copies(T.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                if T.autograd.forward_ad._current_level >= 0:
                    flags.append((x.requires_grad, y.requires_grad))
                return x.clone(), y.clone()

            @staticmethod
            def jvp(ctx, x_t, y_t):
                count.append(1)
                return x_t, y_t

        inputs = double(T, 0.5), T.tensor([0.25], dtype=T.float64, requires_grad=tracked)
        T.autograd.gradcheck(Copies.apply, inputs, check_forward_ad=True, check_backward_ad=False, check_batched_grad=False,
                             **{"check_undefined_grad": False, "check_batched_forward_grad": False, **options})
        seen.append((len(count), set(flags) == {(False, False)}))
    return seen


@parity(PROGRAMS)
def test_program(program):
    same(program)


def test_the_worst_entry_is_named():
    def f(x):
        y = x.clone()
        y.register_hook(lambda g: g + whygrad.tensor([0.0, 0.0, 1.0], dtype=whygrad.float64) * (g.sum() != 0))
        return y * y

    with pytest.raises(whygrad.autograd.gradcheck.GradcheckError) as caught:
        whygrad.autograd.gradcheck(f, double(whygrad))
    assert "d output 0[" in caught.value.__notes__[0]
    assert "analytical" in caught.value.__notes__[0]


def test_batches_without_samples():
    x = whygrad.zeros(0, 3, dtype=whygrad.float64, requires_grad=True)
    assert whygrad.autograd.gradcheck(lambda x: x * 2, (x,))
    assert whygrad.autograd.gradgradcheck(lambda x: x ** 2, (x,))
