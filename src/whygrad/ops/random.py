"""Random numbers shaped or parametrised by tensors. They are drawn before the row runs; as in torch, gradients are zero."""

from whygrad.ops.table import elementwise, op


@op(batch="with_values",
    node=lambda kinds, statics: statics["node"],
    x=lambda xp, g: xp.zeros_like(g))
def sampled(xp, x, *, values, node):
    return values


@elementwise(batch="with_values", half="native",
             node=lambda kinds, statics: {"ts": "NormalBackward1", "st": "NormalBackward2",
             "tt": "NormalBackward3"}[kinds], mean=lambda xp, g: xp.zeros_like(g),
             std=lambda xp, g: xp.zeros_like(g))
def sampled_normal(xp, mean, std, *, values):
    return values


def _no_derivative(g, name):
    raise RuntimeError(f"derivative for aten::{name} is not implemented")


@elementwise(batch="with_values", half="native", node="NotImplemented", x=_no_derivative)
def sampled_by_number(xp, x, *, values, name):
    return values


@elementwise(batch="with_values", half="native", node="NotImplemented", a=_no_derivative, b=_no_derivative)
def sampled_by_two(xp, a, b, *, values, name):
    return values


@elementwise(batch="with_values", half="native", node="BernoulliBackward1",
             x=lambda xp, g: xp.zeros_like(g),
             p=lambda xp, g: xp.zeros_like(g))
def bernoulli_by_tensor(xp, x, p, *, values):
    """`x` overwritten with Bernoulli samples of the probabilities `p`."""
    return values
