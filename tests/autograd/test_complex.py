"""Complex autograd."""

from __future__ import annotations

from parity import collect, leaf, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


def number(T, *values):
    return T.tensor(list(values) or [1 + 2j, -0.5j, 3], requires_grad=True)


def shown(z):
    return z.resolve_conj().detach() + 0  # without the sign of zeros


@program
def the_conjugate_convention(T):
    seen = []
    for f in (lambda z: z.abs(), lambda z: z.real, lambda z: z.imag, lambda z: (z * z).real, lambda z: z.exp().imag,
              lambda z: (z * z.conj()).real, lambda z: z.angle(),
              lambda z: (1 / z).real if bool((z.detach() != 0).all()) else z.real):
        z = number(T)
        f(z).sum().backward()
        seen.append(shown(z.grad))
    return seen


@program
def real_inputs_get_the_real_part(T):
    x = leaf(T)
    z = T.tensor([1j, 2 + 1j, -1.0 + 0j])
    seen = []
    for f in (lambda x: x * z, lambda x: x + z, lambda x: x.to(T.complex64) * 1j, lambda x: T.complex(x, x),
              lambda x: T.stack((x, z)),
              lambda x: T.cat((x, z)), lambda x: x**z, lambda x: T.zeros(3, dtype=T.complex64).copy_(x)):
        x.grad = None
        f(x).sum().abs().backward()
        seen.append(x.grad)
    return seen


@program
def implicit_gradients_need_a_real_scalar(T):
    x = T.zeros(1, requires_grad=True)
    y = x * 0.5j
    return told(lambda: y.backward()), told(lambda: T.autograd.grad(y, x)), told(lambda: T.autograd.grad(y, x, T.ones(1)))


@program
def real_views_written_in_place(T):
    z = number(T)
    w = z.clone()
    T.view_as_real(w)[0].mul_(2)
    w.real.mul_(3)
    w.imag[1:] = 0
    w.abs().sum().backward()
    x = T.ones(3, 2, requires_grad=True)
    y = x.clone()
    T.view_as_complex(y).mul_(2j)
    (y * T.arange(6.0).reshape(3, 2)).sum().backward()
    c, v = number(T, 1 + 2j, -0.5j), leaf(T, 1, 2)
    d = c.clone()
    d.imag.mul_(v)
    (d * (2 + 3j)).abs().sum().backward()
    return shown(z.grad), x.grad + 0, shown(c.grad), v.grad


@program
def parts_that_may_not_be_written(T):
    a = T.view_as_real(number(T).clone())
    first, _ = a.unbind(-1)
    return told(lambda: first.add_(1)), told(lambda: T.view_as_complex(T.ones(3, 2, requires_grad=True).clone()).mul_(2j))


@program
def second_derivatives(T):
    z = T.tensor([0.3 + 0.4j, -1.0 + 2.0j], dtype=T.complex128, requires_grad=True)
    return T.autograd.gradgradcheck(lambda z: z**3, z), T.autograd.gradcheck(lambda z: (z.abs(), z.exp()), z)


@program
def views_across_dtypes(T):
    base = T.complex(T.arange(1.0, 10.0).reshape(3, 3), T.arange(2.0, 11.0).reshape(3, 3).flip(0)).requires_grad_()

    def written(write):
        x = base.clone()
        write(x)
        (g,) = T.autograd.grad((x * x).abs().sum(), base)
        return T.view_as_real(g)

    return [written(lambda x: T.view_as_real(x).transpose(0, 1).mul_(2)), written(lambda x: x.T.real.mul_(2)),
            written(lambda x: T.view_as_real(x.T)[..., 0].pow_(2)), written(lambda x: x.imag.add_(1))]


@parity(PROGRAMS)
def test_program(program):
    same(program)
