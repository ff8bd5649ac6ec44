"""Special functions: the gamma function's family, the inverse error function, Bessel functions, normal probabilities."""

import math

from whygrad.ops.pointwise import primitive
from whygrad.ops.table import elementwise, op

HALF_SQRT_PI = math.sqrt(math.pi) / 2
SQRT_TWO_PI = math.sqrt(2 * math.pi)


def no_derivative(name):
    def rule(g):
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return rule


def i1_rule(xp, g, x, out):
    # The derivative at zero, where out / x is NaN, is 1/2.
    at_zero = x == 0
    safe = xp.where(at_zero, 1.0, x)
    return g * xp.where(at_zero, 0.5, xp.i0(x) - out / safe)


def i1e_rule(xp, g, x, out):
    at_zero = x == 0
    safe = xp.where(at_zero, 1.0, x)
    return g * xp.where(at_zero, 0.5, xp.i0e(x) - out * (xp.sgn(x) + 1 / safe))


primitive("lgamma", lambda xp, g, x: g * xp.digamma(x), public="foreach")
primitive("digamma", lambda xp, g, x: g * xp.polygamma(x, n=1), public="special")
primitive("erfinv", lambda xp, g, x: HALF_SQRT_PI * xp.exp(xp.erfinv(x) ** 2) * g, public="special sparse")
primitive("i0", lambda xp, g, x: g * xp.i1(x), public="special")
primitive("i0e", lambda xp, g, x, out: g * (xp.i1e(x) - xp.sgn(x) * out), node="SpecialI0EBackward0", public="special")
primitive("i1", i1_rule, node="SpecialI1Backward0", public="special")
primitive("i1e", i1e_rule, node="SpecialI1EBackward0", public="special")
primitive("ndtri", lambda xp, g, out: g * SQRT_TWO_PI * xp.exp(out * out / 2), node="SpecialNdtriBackward0", public="special")
primitive("log_ndtr", lambda xp, g, x, out: g / SQRT_TWO_PI * xp.exp(-(out + x * x / 2)),
          node="SpecialLogNdtrBackward0", public="special")
primitive("erfcx", lambda g, x, out: g * (2 * x * out - 1 / HALF_SQRT_PI), node="SpecialErfcxBackward0", public="special")
primitive("entr", lambda xp, g, x: g * (-1 - xp.log(x)), node="SpecialEntrBackward0", half="native", public="special")


@elementwise(public="special", node="MulBackward1", x=lambda xp, g, x: g / SQRT_TWO_PI * xp.exp(-x * x / 2))
def ndtr(xp, x):
    """The standard normal distribution function."""
    return 0.5 * xp.erfc(-x / math.sqrt(2))


@elementwise(public="special", x=lambda xp, g, x, n: g * xp.polygamma(x, n=n + 1))
def polygamma(xp, x, *, n): ...


@elementwise(x=lambda xp, g, x, p: g * sum([xp.digamma(x - j / 2) for j in range(p)]))
def mvlgamma(xp, x, *, p):
    return sum([xp.lgamma(x - j / 2) for j in range(p)]) + p * (p - 1) / 4 * math.log(math.pi)


def kinds_node(name):
    """torch's node names for two arguments are numbered by which of them is a Python number."""
    return lambda kinds, statics: f"{name}Backward{['tt', 'st', 'ts'].index(kinds)}"


@elementwise(node=kinds_node("SpecialZeta"),
             x=no_derivative("zeta"),
             q=lambda xp, g, x, q: g * (-x * xp.zeta(x + 1, q)))
def zeta(xp, x, q): ...


@elementwise(half="native", node=kinds_node("SpecialXlog1Py"),
             x=lambda xp, g, x, y: xp.where((x == 0) & (y <= -1), 0.0, xp.xlog1py(g, y)),
             y=lambda g, x, y: g * x / (y + 1))
def xlog1py(xp, x, y): ...


def gamma_density(xp, a, x):
    return xp.exp((a - 1) * xp.log(x) - x - xp.lgamma(a))


@elementwise(node="IgammaBackward0",
             a=no_derivative("igamma: input"),
             x=lambda xp, g, a, x: g * gamma_density(xp, a, x))
def gammainc(xp, a, x): ...


@elementwise(node="IgammacBackward0",
             a=no_derivative("igammac: input"),
             x=lambda xp, g, a, x: -g * gamma_density(xp, a, x))
def gammaincc(xp, a, x): ...


# Implicit reparameterisation: derivatives of samples by their parameter at a fixed quantile.

@op(batch="with_values", node="StandardGammaBackward0",
    alpha=lambda xp, g, alpha, out: g * xp.standard_gamma_grad(alpha, out))
def standard_gamma(xp, alpha, *, values):
    return values


@elementwise(batch="broadcast_shifted",
             alpha=no_derivative("_standard_gamma_grad"), x=no_derivative("_standard_gamma_grad"))
def standard_gamma_grad(xp, alpha, x): ...


def dirichlet_rule(xp, g, alpha, out):
    last = (len(out.shape) - 1,)
    total = xp.sum(alpha, axis=last, keepdims=True)
    return xp.dirichlet_grad(out, alpha, total) * (g - xp.sum(out * g, axis=last, keepdims=True))


@op(batch="with_values", node="_DirichletBackward", alpha=dirichlet_rule)
def dirichlet(xp, alpha, *, values):
    return values


@elementwise(batch="broadcast_shifted", x=no_derivative("_dirichlet_grad"), alpha=no_derivative("_dirichlet_grad"),
             total=no_derivative("_dirichlet_grad"))
def dirichlet_grad(xp, x, alpha, total): ...
