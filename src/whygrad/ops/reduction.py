"""Reductions over axes, and cumulative sums and products.

`axis` is None (all axes) or a tuple; in rows that work along one axis it is an int.
"""

import math

from whygrad.ops.table import NoGrad, along_axes, elementwise, op


def count(shape, axis):
    """The number of elements that are reduced to one."""
    return math.prod(shape) if axis is None else math.prod([shape[i] for i in axis])


def unreduce(xp, g, shape, axis, keepdims):
    """Expand the gradient of a reduction to the shape of its input."""
    return xp.expand(restore(xp, g, shape, axis, keepdims), shape=shape)


def restore(xp, reduced, shape, axis, keepdims):
    """A reduced array with its removed axes restored with length 1, so that it broadcasts against the input."""
    if axis is None or keepdims:
        return reduced
    return xp.reshape(reduced, shape=tuple([1 if i in axis else n for i, n in enumerate(shape)]))


@op(batch="own", quiet=False, kernel="reduce", linear="x", node="SumBackward0",
    x=lambda xp, g, x_shape: xp.expand(g, shape=x_shape))
def sum_all(xp, x):
    return xp.sum(x)


@along_axes(quiet=False, kernel="reduce", curve="total", public="overloaded", linear="x", node="SumBackward1",
            x=lambda xp, g, x_shape, axis, keepdims: unreduce(xp, g, x_shape, axis, keepdims))
def sum(xp, x, *, axis=None, keepdims=False): ...


@op(batch="own", quiet=False, kernel="reduce", linear="x", x=lambda xp, g, x_shape: xp.expand(g, shape=x_shape))
def sum_to(xp, x, *, shape):
    """Sum over the axes along which `shape` was broadcast: the adjoint of `expand`."""
    extra = len(x.shape) - len(shape)
    axis = tuple(range(extra)) + tuple([extra + i for i, n in enumerate(shape) if n == 1 and x.shape[extra + i] != 1])
    total = xp.sum(x, axis=axis, keepdims=True) if axis else x
    return xp.reshape(total, shape=shape) if extra else total


@along_axes(curve="masking",
            x=lambda xp, g, x, axis, keepdims: xp.where(x == x, restore(xp, g, x.shape, axis, keepdims), 0))
def nansum(xp, x, *, axis=None, keepdims=False):
    return xp.sum(xp.where(x == x, x, 0), axis=axis, keepdims=keepdims)


@op(batch="own", quiet=False, kernel="reduce", linear="x", node="MeanBackward0",
    x=lambda xp, g, x_shape: xp.expand(g / (math.prod(x_shape) or 1), shape=x_shape))
def mean_all(xp, x):
    return xp.mean(x)


@along_axes(quiet=False, kernel="reduce", curve="total", public="overloaded", linear="x", node="MeanBackward1",
            x=lambda xp, g, x_shape, axis, keepdims: unreduce(xp, g / (count(x_shape, axis) or 1), x_shape, axis, keepdims))
def mean(xp, x, *, axis=None, keepdims=False):
    return xp.sum(x, axis=axis, keepdims=keepdims) / count(x.shape, axis)


def var_rule(xp, g, x, axis, keepdims, correction):
    g = restore(xp, g, x.shape, axis, keepdims)
    freedom = count(x.shape, axis) - correction
    mean = xp.mean(x, axis=axis, keepdims=True)
    if freedom <= 0 and (axis is None or not x.shape):
        return xp.where(x == mean, math.nan, g * math.inf) + 0 * x
    return g * (2 / freedom if freedom else math.inf) * (x - mean)


def std_rule(xp, g, x, out, axis, keepdims, correction):
    return var_rule(xp, xp.where(out == 0, 0, g / (2 * out)), x, axis, keepdims, correction)


@along_axes(public="overloaded", x=var_rule)
def var(xp, x, *, axis, keepdims, correction):
    distance = x - xp.mean(x, axis=axis, keepdims=True)
    total = xp.sum(distance * distance, axis=axis, keepdims=keepdims)
    freedom = count(x.shape, axis) - correction
    return total / freedom if freedom > 0 else total * math.inf


@along_axes(node="VarBackward0",
            x=lambda xp, g, x, axis, keepdims, correction: xp.conj(var_rule(xp, g, x, axis, keepdims, correction)))
def var_complex(xp, x, *, axis, keepdims, correction): ...


@along_axes(node="StdBackward0", curve="kinked",
            x=lambda xp, g, x, out, axis, keepdims, correction: xp.conj(std_rule(xp, g, x, out, axis, keepdims, correction)))
def std_complex(xp, x, *, axis, keepdims, correction):
    return xp.sqrt(xp.var_complex(x, axis=axis, keepdims=keepdims, correction=correction))


@along_axes(half="float32", curve="kinked", public="overloaded", x=std_rule)
def std(xp, x, *, axis, keepdims, correction):
    return xp.sqrt(xp.var(x, axis=axis, keepdims=keepdims, correction=correction))


def mean_rule(xp, g, x, axis, keepdims):
    return restore(xp, g / (count(x.shape, axis) or 1), x.shape, axis, keepdims)


@along_axes(public="overloaded", outputs=("var", "mean"),
            x=lambda xp, g, x, axis, keepdims, correction: (var_rule(xp, g[0], x, axis, keepdims, correction) +
                                                            mean_rule(xp, g[1], x, axis, keepdims)))
def var_mean(xp, x, *, axis, keepdims, correction):
    return (xp.var(x, axis=axis, keepdims=keepdims, correction=correction), xp.mean(x, axis=axis, keepdims=keepdims))


@along_axes(curve="kinked", public="overloaded", outputs=("std", "mean"),
            x=lambda xp, g, x, out0, axis, keepdims, correction: (std_rule(xp, g[0], x, out0, axis, keepdims, correction) +
                                                                  mean_rule(xp, g[1], x, axis, keepdims)))
def std_mean(xp, x, *, axis, keepdims, correction):
    return (xp.std(x, axis=axis, keepdims=keepdims, correction=correction), xp.mean(x, axis=axis, keepdims=keepdims))


@op(batch="broadcast_shifted", x=NoGrad("which elements are the extreme ones does not change smoothly"),
    extreme=NoGrad("which elements are the extreme ones does not change smoothly"))
def shares(xp, x, extreme, *, axis, find_nan):
    """Each element's share of the gradient of its extreme: equal parts for all that attain it, zero for the others.

    NaNs count as equal only if `find_nan`.
    """


def extreme_rule(find_nan):
    def rule(xp, g, x, out, axis, keepdims):
        extreme = restore(xp, out, x.shape, axis, keepdims)
        return restore(xp, g, x.shape, axis, keepdims) * xp.shares(x, extreme, axis=axis, find_nan=find_nan)

    return rule


def along_rule(xp, g, out1, x_shape, axis, keepdims):
    if not keepdims and x_shape:
        g, out1 = [xp.reshape(v, shape=(*v.shape[:axis], 1, *v.shape[axis:])) for v in (g, out1)]
    return xp.place(g, out1, axis=axis, shape=x_shape)


def declare_selection(name, whole_node, along_node, *, kernel="", **traits):
    """Declare a row over all elements, where ties share the gradient, and one along an axis, which also returns the index."""

    def whole(xp, x, *, axis=None, keepdims=False):
        return getattr(xp, name)(x, axis=axis, keepdims=keepdims)

    def along(xp, x, *, axis, keepdims):
        return getattr(xp, f"{name}_along")(x, axis=axis, keepdims=keepdims)

    whole.__name__, along.__name__ = name, f"{name}_along"
    along_axes(node=whole_node, kernel=kernel, **traits, x=extreme_rule(find_nan=True))(whole)
    along_axes(node=along_node, saved={"out1": "indices"},
               outputs=("values", NoGrad("indices are integers")), x=along_rule)(along)


declare_selection("max", "MaxBackward1", "MaxBackward0", kernel="extremes", curve="selecting")
declare_selection("min", "MinBackward1", "MinBackward0", kernel="extremes", curve="selecting")
declare_selection("median", "MedianBackward0", "MedianBackward1", batch="over_all", curve="selecting")
declare_selection("nanmedian", "NanmedianBackward0", "NanmedianBackward1", batch="over_all")


@along_axes(kernel="extremes", curve="selecting", x=extreme_rule(find_nan=False))
def amax(xp, x, *, axis=None, keepdims=False): ...


@along_axes(kernel="extremes", curve="selecting", x=extreme_rule(find_nan=False))
def amin(xp, x, *, axis=None, keepdims=False): ...


def aminmax_rule(xp, g, x, out0, out1, axis, keepdims):
    rule = extreme_rule(find_nan=False)
    return rule(xp, g[0], x, out0, axis, keepdims) + rule(xp, g[1], x, out1, axis, keepdims)


@along_axes(outputs=("min", "max"), x=aminmax_rule)
def aminmax(xp, x, *, axis=None, keepdims=False):
    return xp.amin(x, axis=axis, keepdims=keepdims), xp.amax(x, axis=axis, keepdims=keepdims)


@along_axes(linear="x",
            x=lambda xp, g, index, axis: xp.pick(g, index, axis=axis),
            index=NoGrad("an index is an integer"))
def place(xp, x, index, *, axis, shape):
    """Zeros of `shape`, with `x` written at `index` along `axis`: the adjoint of `pick`."""


@along_axes(linear="x",
            x=lambda xp, g, index, x_shape, axis: xp.place(g, index, axis=axis, shape=x_shape),
            index=NoGrad("an index is an integer"))
def pick(xp, x, index, *, axis):
    """The elements at `index` along `axis`."""


def declare_constant(name, reason, **traits):
    """Declare a row whose result is piecewise constant, without derivative."""

    def forward(xp, x, *, axis, keepdims):
        return getattr(xp, name)(x, axis=axis, keepdims=keepdims)

    forward.__name__ = name
    along_axes(x=NoGrad(reason), **traits)(forward)


for _name in ("argmax", "argmin"):
    declare_constant(_name, "indices are integers", batch="over_all")
for _name in ("all", "any"):
    declare_constant(_name, "a test gives a boolean, which has no derivative", public="overloaded")
declare_constant("count_nonzero", "a count is an integer", public="overloaded")


@along_axes(half="float32", public="special",
            x=lambda xp, g, x, out, axis, keepdims: (restore(xp, g, x.shape, axis, keepdims) *
                                                     xp.exp(x - restore(xp, out, x.shape, axis, keepdims))))
def logsumexp(xp, x, *, axis, keepdims): ...


def norm_rule(xp, g, x, out, ord, axis, keepdims):
    if ord == 0:
        return None
    g, out = restore(xp, g, x.shape, axis, keepdims), restore(xp, out, x.shape, axis, keepdims)
    if ord == 1:
        return g * xp.sgn(x)
    if ord == 2:
        # Divided as in torch: at 0 the gradient is 0, and the second derivative NaN.
        return g * xp.where(out == 0, 0, x / out)
    if abs(ord) == math.inf:
        return g * xp.sgn(x) * xp.shares(xp.abs(x), out, axis=axis, find_nan=True)
    if ord < 1:
        return xp.sgn(x) * xp.where(x == 0, 0, xp.abs(x) ** (ord - 1)) * g * out ** (1 - ord)
    power = xp.sgn(x) * xp.abs(x) ** (ord - 1) if ord < 2 else x * xp.abs(x) ** (ord - 2)
    return power * xp.where(out == 0, 0, g / out ** (ord - 1))


@along_axes(kernel="extremes", curve="distance kinked", called="norm", node="LinalgVectorNormBackward0", x=norm_rule)
def vector_norm(xp, x, *, ord, axis=None, keepdims=False): ...


def dist_rule(sign):
    def rule(xp, g, a, b, out, ord):
        return norm_rule(xp, g * sign, a - b, out, ord, None, False)

    return rule


@elementwise(batch="defined", half="native", curve="distance", symmetric=False, a=dist_rule(1), b=dist_rule(-1))
def dist(xp, a, b, *, ord):
    return xp.vector_norm(a - b, ord=ord)


@along_axes(kernel="scans", linear="x", x=lambda xp, g, axis, reverse: xp.cumsum(g, axis=axis, reverse=not reverse))
def cumsum(xp, x, *, axis, reverse=False): ...


# Products, without dividing by a factor that may be zero.

@along_axes(kernel="scans",
            a=lambda xp, g, a, out, axis, reverse: out * xp.scan(a, g, axis=axis, reverse=not reverse),
            b=lambda xp, g, a, axis, reverse: xp.scan(a, g, axis=axis, reverse=not reverse))
def scan(xp, a, b, *, axis, reverse):
    """s[0] = 0, s[i + 1] = a[i] * s[i] + b[i] along an axis, or from its end. The derivative runs in the opposite direction."""


@along_axes(kernel="scans",
            x=lambda xp, g, x, out, axis, reverse: out * xp.scan(x, g, axis=axis, reverse=not reverse))
def product_before(xp, x, *, axis, reverse=False):
    """The product of all elements before each one (after it, if `reverse`)."""


@along_axes(kernel="scans",
            x=lambda xp, g, x, out, axis: xp.product_before(x, axis=axis) * (g + xp.scan(x, g * x, axis=axis, reverse=True)))
def cumprod(xp, x, *, axis): ...


def product_of_others_rule(xp, g, x, axis):
    before, after = xp.product_before(x, axis=axis), xp.product_before(x, axis=axis, reverse=True)
    return (before * xp.scan(x, g * after, axis=axis, reverse=True) +
            after * xp.scan(x, g * before, axis=axis, reverse=False))


@along_axes(x=product_of_others_rule)
def product_of_others(xp, x, *, axis):
    return xp.product_before(x, axis=axis) * xp.product_before(x, axis=axis, reverse=True)


def prod_rule(xp, g, x, out, axis, keepdims):
    # `out` is a parameter because torch saves it: backward must fail after it was overwritten.
    if not x.shape:
        return g
    if axis is None:
        flat = xp.reshape(x, shape=(math.prod(x.shape),))
        return xp.reshape(g * xp.product_of_others(flat, axis=0), shape=x.shape)
    return restore(xp, g, x.shape, axis, keepdims) * xp.product_of_others(x, axis=axis[0])


@op(batch="over_all", kernel="extremes",
    node=lambda kinds, statics: "ProdBackward0" if statics["axis"] is None else "ProdBackward1", x=prod_rule)
def prod(xp, x, *, axis=None, keepdims=False): ...
