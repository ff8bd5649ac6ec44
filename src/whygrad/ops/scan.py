"""Cumulative extremes and cumulative logsumexp along an axis, and renorm."""

from whygrad.ops.reduction import norm_rule
from whygrad.ops.table import NoGrad, along_axes


def _running_extreme(name):
    def forward(xp, x, *, axis):
        return getattr(xp, name)(x, axis=axis)

    forward.__name__ = name
    along_axes(kernel="scans", outputs=("values", NoGrad("indices are integers")),
               x=lambda xp, g, x, out1, axis: xp.gather_backward(g, out1, shape=x.shape, axis=axis))(forward)


_running_extreme("cummax")
_running_extreme("cummin")


def logcumsumexp_rule(xp, g, x, out, axis):
    """The sum of all later g * exp(x - out), by a recurrence whose factors do not exceed one."""
    if not x.shape:
        return g
    n = x.shape[axis]
    before = xp.cat(xp.slice(out, axis=axis, start=0, stop=min(1, n)),
                    xp.slice(out, axis=axis, start=0, stop=max(n - 1, 0)), axis=axis)
    decay = xp.exp(before - out)
    return (g + xp.scan(decay, decay * g, axis=axis, reverse=True)) * xp.exp(x - out)


@along_axes(x=logcumsumexp_rule)
def logcumsumexp(xp, x, *, axis): ...


EPS = 1e-7


def renorm_rule(xp, g, x, ord, axis, maxnorm):
    norm = xp.vector_norm(x, ord=ord, axis=axis, keepdims=True)
    inverse = 1 / (norm + EPS)
    along = norm_rule(xp, xp.sum(x * g, axis=axis, keepdims=True), x, norm, ord, axis, True)
    return xp.where(norm > maxnorm, maxnorm * inverse * (g - inverse * along), g)


@along_axes(half="float32", x=renorm_rule)
def renorm(xp, x, *, ord, axis, maxnorm):
    """Limit the norm of each slice to `maxnorm`; `axis` are the axes of a slice, all but one."""
    norm = xp.vector_norm(x, ord=ord, axis=axis, keepdims=True)
    return x * xp.where(norm > maxnorm, maxnorm / (norm + EPS), 1.0)
