"""Products of matrices, vectors and batches of them."""

import math

from whygrad.ops.table import op


def sum_to(xp, g, shape):
    return g if g.shape == shape else xp.sum_to(g, shape=shape)


def flat(xp, x):
    """`x` as a matrix: all leading axes merged."""
    if len(x.shape) == 2:
        return x
    return xp.reshape(x, shape=(math.prod(x.shape[:-1]), x.shape[-1]))


def transposed(xp, x):
    return xp.transpose(x, axis0=len(x.shape) - 2, axis1=len(x.shape) - 1)


@op(batch="own", quiet=False, kernel="gemm", called="matmul", saved={"b": "mat2"}, linear="a b",
    a=lambda xp, g, b: xp.mm(g, xp.t(b)),
    b=lambda xp, g, a: xp.mm(xp.t(a), g))
def mm(xp, a, b): ...


@op(batch="own", kernel="gemm", called="matmul", saved={"b": "mat2"}, linear="a b",
    a=lambda xp, g, b: xp.bmm(g, transposed(xp, b)),
    b=lambda xp, g, a: xp.bmm(transposed(xp, a), g))
def bmm(xp, a, b): ...


@op(batch="own", quiet=False, called="matmul", saved={"b": "vec"}, linear="a b",
    a=lambda xp, g, b: xp.outer(g, b),
    b=lambda xp, g, a: xp.mv(xp.t(a), g))
def mv(xp, a, b): ...


@op(batch="own", quiet=False, linear="a b",
    node="SqueezeBackward4",
    a=lambda xp, g, b: xp.mv(b, g),
    b=lambda xp, g, a: xp.outer(a, g))
def vm(xp, a, b):
    """A vector times a matrix."""


@op(batch="own", quiet=False, saved={"b": "tensor"}, linear="a b",
    a=lambda g, b: g * b,
    b=lambda g, a: g * a)
def dot(xp, a, b): ...


@op(batch="defined", linear="a b",
    a=lambda xp, g, b: xp.conj(g * b),
    b=lambda xp, g, a: g * xp.conj(a))
def vdot(xp, a, b):
    return xp.dot(xp.conj(a), b)


@op(batch="own", quiet=False, linear="a b",
    node="MulBackward0",
    a=lambda xp, g, b: xp.mv(g, b),
    b=lambda xp, g, a: xp.mv(xp.t(g), a))
def outer(xp, a, b): ...


@op(batch="own", kernel="gemm", curve="product", linear="a b",
    node="UnsafeViewBackward0",
    a=lambda xp, g, b, a_shape: sum_to(xp, xp.matmul(g, transposed(xp, b)), a_shape),
    b=lambda xp, g, a, b_shape: sum_to(xp, xp.matmul(transposed(xp, a), g), b_shape))
def matmul(xp, a, b):
    """Products of batches of matrices, whose leading axes broadcast."""


@op(batch="own", quiet=False, kernel="gemm", linear="a b",
    node="UnsafeViewBackward0",
    a=lambda xp, g, b: xp.matmul_folded(g, xp.t(b)),
    b=lambda xp, g, a: xp.mm(xp.t(flat(xp, a)), flat(xp, g)))
def matmul_folded(xp, a, b):
    """A batch times one matrix, as a single product of the stacked rows."""
    return xp.reshape(xp.mm(flat(xp, a), b), shape=(*a.shape[:-1], b.shape[1]))


@op(batch="own", quiet=False, linear="a b",
    node="UnsafeViewBackward0",
    a=lambda xp, g, b: xp.reshape(g, shape=(*g.shape, 1)) * b,
    b=lambda xp, g, a: xp.mv(xp.t(flat(xp, a)), xp.reshape(g, shape=(math.prod(g.shape),))))
def matmul_vector(xp, a, b):
    """A batch times one vector."""
    return xp.reshape(xp.mv(flat(xp, a), b), shape=a.shape[:-1])


def has_bias(with_bias, without):
    return lambda kinds, statics: with_bias if kinds[2] == "t" else without


@op(batch="own", quiet=False, kernel="gemm", curve="product layer", saved={"x": "mat1", "weight": "mat2"},
    linear="x weight",
    node=has_bias("AddmmBackward0", "MmBackward0"),
    x=lambda xp, g, weight: xp.mm(g, weight),
    weight=lambda xp, g, x: xp.mm(xp.t(g), x),
    bias=lambda xp, g, bias_shape: sum_to(xp, g, bias_shape),
    at_once=lambda xp, g, x, weight, bias_shape: xp.linear_backward(g, x, weight, bias_shape=bias_shape))
def linear(xp, x, weight, bias):
    out = xp.mm(x, xp.t(weight))
    return out if bias is None else out + bias


@op(batch="own", quiet=False, kernel="gemm", linear="x weight",
    node=has_bias("ViewBackward0", "UnsafeViewBackward0"),
    x=lambda xp, g, weight: xp.matmul_folded(g, weight),
    weight=lambda xp, g, x: xp.mm(xp.t(flat(xp, g)), flat(xp, x)),
    bias=lambda xp, g, bias_shape: sum_to(xp, g, bias_shape),
    at_once=lambda xp, g, x, weight, bias_shape: xp.linear_backward(g, x, weight, bias_shape=bias_shape))
def linear_folded(xp, x, weight, bias):
    """`linear` with any number of leading axes."""
    return xp.reshape(xp.linear(flat(xp, x), weight, bias), shape=(*x.shape[:-1], weight.shape[0]))


def scaled(x, factor):
    return x if factor == 1 else x * factor


def declare_sum_with_product(name, product, a_rule, b_rule, skips=lambda a, b: True, **traits):
    """Declare the row `beta * c + alpha * product(a, b)`.

    With beta = 0, as in torch, NaNs of `c` do not propagate; with alpha = 0 those of `a` and `b` do not if `skips(a, b)`.
    """

    def forward(xp, c, a, b, *, beta=1, alpha=1):
        if alpha or not skips(a, b):
            out = product(xp, scaled(a, alpha), b) if name == "addr" else scaled(product(xp, a, b), alpha)
        else:
            out = xp.zeros_like(product(xp, a, b))
        return out + scaled(c, beta) if beta else out + xp.zeros_like(c)

    forward.__name__ = name
    op(batch="defined", half="float32", **traits,
       c=lambda xp, g, c_shape, beta: sum_to(xp, scaled(g, beta), c_shape),
       a=lambda xp, g, b, alpha: scaled(a_rule(xp, g, b), alpha),
       b=lambda xp, g, a, alpha: scaled(b_rule(xp, g, a), alpha))(forward)


BATCHES = {"c": "self", "a": "batch1", "b": "batch2"}
declare_sum_with_product(
    "addmm", lambda xp, a, b: xp.mm(a, b), lambda xp, g, b: xp.mm(g, xp.t(b)), lambda xp, g, a: xp.mm(xp.t(a), g),
    kernel="gemm", curve="product layer", saved={"c": "self", "a": "mat1", "b": "mat2"})
declare_sum_with_product(
    "addmv", lambda xp, a, b: xp.mv(a, b), lambda xp, g, b: xp.outer(g, b), lambda xp, g, a: xp.mv(xp.t(a), g),
    saved={"c": "self", "a": "mat", "b": "vec"})
declare_sum_with_product(
    "addr", lambda xp, a, b: xp.outer(a, b), lambda xp, g, b: xp.mv(g, b), lambda xp, g, a: xp.mv(xp.t(g), a),
    skips=lambda a, b: False)
declare_sum_with_product(
    "baddbmm", lambda xp, a, b: xp.bmm(a, b),
    lambda xp, g, b: xp.bmm(g, transposed(xp, b)), lambda xp, g, a: xp.bmm(transposed(xp, a), g),
    skips=lambda a, b: a.shape[1] * a.shape[2] * b.shape[2] >= 400, saved=BATCHES)  # smaller ones are no call of BLAS in torch
declare_sum_with_product(
    "addbmm", lambda xp, a, b: xp.sum(xp.bmm(a, b), axis=(0,)),
    lambda xp, g, b: xp.matmul(g, transposed(xp, b)), lambda xp, g, a: xp.matmul(transposed(xp, a), g),
    saved=BATCHES)


def contract_node(kinds, statics):
    summed = set(statics["a_labels"]) - set(statics["out_labels"])
    return "ViewBackward0" if summed else "MulBackward0"


@op(batch="own", kernel="gemm", linear="a b",
    node=contract_node,
    a=lambda xp, g, b, a_labels, b_labels, out_labels: xp.contract(
        g, b, a_labels=out_labels, b_labels=b_labels, out_labels=a_labels),
    b=lambda xp, g, a, a_labels, b_labels, out_labels: xp.contract(
        g, a, a_labels=out_labels, b_labels=a_labels, out_labels=b_labels))
def contract(xp, a, b, *, a_labels, b_labels, out_labels):
    """Multiply along labelled axes and sum over the labels that are missing in the result, as einsum does.

    No label occurs twice in one operand, and each occurs in at least two of `a`, `b` and the result; so the derivatives are
    contractions too.
    """


def trace_rule(xp, g, x_shape):
    diagonal = xp.expand(g, shape=(min(x_shape),))
    return xp.diagonal_backward(diagonal, shape=x_shape, offset=0, axis1=0, axis2=1)


@op(batch="defined", linear="x", x=trace_rule)
def trace(xp, x):
    return xp.sum(xp.diagonal(x, offset=0, axis1=0, axis2=1))
