"""Conventions of particular gradients."""

from __future__ import annotations

import pytest
from parity import collect, leaf, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


@program
def ties_share(T):
    seen = []
    for f in (T.min, T.max, T.median, T.nanmedian, T.amin, T.amax, lambda x: T.aminmax(x)[0], lambda x: T.aminmax(x)[1]):
        for values in ((1.0, 0.0, 1.0, 0.0, 1.0, 0.0), (float("nan"),) * 3):
            x = T.tensor(values, requires_grad=True)
            f(x).backward()
            seen.append(x.grad)
    return seen


@program
def ties_of_scattered_values(T):
    seen = []
    for reduce in ("amin", "amax"):
        x = T.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=T.float64, requires_grad=True)
        src = x.detach().clone().requires_grad_()
        index = T.arange(2)
        T.scatter_reduce(x, 0, index.unsqueeze(-1).expand(2, 3), src, reduce).sum().backward()
        T.index_reduce(x, 0, index, src, reduce).sum().backward()
        seen += [x.grad, src.grad]
    return seen


@program
def products_of_zeros(T):
    seen = []
    index = T.tensor([0, 0])
    for f in (T.scatter_reduce, T.index_reduce):
        x = T.tensor([1.0], dtype=T.float64, requires_grad=True)
        src = T.tensor([0.0, 0.0], dtype=T.float64, requires_grad=True)
        seen.append(T.autograd.grad(f(x, 0, index, src, "prod"), src, T.ones(1, dtype=T.float64)))
    return seen


@program
def powers_at_zero(T):
    seen = []
    for exponent in (T.zeros(3), 0, T.tensor([0.0, 1.0, 2.0])):
        x = T.zeros(3, requires_grad=True)
        x.pow(exponent).sum().backward()
        seen.append(x.grad)
    for base in (T.zeros(3), 0):
        b = T.tensor([-1.0, 0.0, 1.0], requires_grad=True)
        (base**b).sum().backward()
        seen.append(b.grad)
    return seen


@program
def a_complex_power_of_a_negative_base(T):
    e = T.tensor([0.5 + 1j, -0.2 - 0.4j], dtype=T.complex128, requires_grad=True)
    base = -T.ones(2, dtype=T.float64)
    return [T.autograd.gradcheck(lambda e: T.pow(base, e), e), T.autograd.gradcheck(lambda e: T.pow(-1, e), e)]


@program
def atan2_at_the_origin(T):
    x, y = T.zeros(1, requires_grad=True), T.zeros(1, requires_grad=True)
    T.atan2(x, y).backward()
    return x.grad, y.grad


@program
def traces(T):
    seen = []
    for shape in ((5, 2), (4, 1), (1, 5), (2, 5)):
        x = T.ones(shape, dtype=T.float64, requires_grad=True)
        T.trace(x).backward()
        seen.append(x.grad)
    return seen


@program
def where(T):
    condition = T.tensor([[True, False], [False, True]])
    x, y = T.ones(2, 2, requires_grad=True), T.ones(2, 1, requires_grad=True)
    T.where(condition, x * 2, y * 3).sum().backward()
    seen = [x.grad, y.grad]
    for f in (lambda x: T.where(condition, 4.0, x), lambda x: T.where(condition, x, 4.0)):
        x.grad = None
        f(x).sum().backward()
        seen.append(x.grad)
    return seen


@program
def var_mean_is_var_and_mean(T):
    x = T.arange(24.0).reshape(2, 3, 4).requires_grad_()
    var, mean = T.var_mean(x, dim=[0, 2])
    (var * var * mean).sum().backward()
    y = x.detach().clone().requires_grad_()
    (y.var(dim=[0, 2]) ** 2 * y.mean(dim=[0, 2])).sum().backward()
    return x.grad, y.grad


@program
def integers_never_require_grad(T):
    x, bins = leaf(T, 0.1, 0.5, 0.9, 0.5), T.linspace(0, 1, 5, requires_grad=True)
    results = [x.argmax(), x.argmin(), x.argsort(), T.searchsorted(bins, x), T.bucketize(x, bins), x.count_nonzero(),
               T.isin(x, T.tensor([0.5])), T.signbit(x), x.isnan(), x > 0.3]
    extras = [T.unique(x, return_inverse=True, return_counts=True)[1:], T.unique_consecutive(x, return_inverse=True)[1:],
              x.sort()[1:],
              x.max(0)[1:], x.topk(2)[1:]]
    return [(r.dtype, r.requires_grad) for r in results], [[t.requires_grad for t in some] for some in extras]


@program
def copying_into_any_floating_dtype(T):
    x = leaf(T)
    seen = []
    for dtype in (T.float16, T.float32, T.float64, T.bfloat16):
        y = T.empty(3, dtype=dtype)
        y.copy_(x)
        y.float().sum().backward()
        seen += [y.requires_grad, x.to(dtype).requires_grad, x.grad]
    return seen


@program
def an_expanded_vector(T):
    matrix = T.arange(4.0, dtype=T.float64).reshape(2, 2)
    v = T.ones(1, dtype=T.float64, requires_grad=True)
    return T.autograd.gradcheck(lambda v: (matrix @ v.expand(2)).sum(),
                                v), T.autograd.gradgradcheck(lambda v: (matrix @ v.expand(2)).sum(), v)


@program
def second_derivative_of_a_product_with_zeros(T):
    seen = []
    for reduce in (T.scatter_reduce, T.index_reduce):
        for values in ([0.0, 0.0], [0.0, 2.0], [1.0, 2.0]):
            x = T.tensor([1.5], dtype=T.float64, requires_grad=True)
            src = T.tensor(values, dtype=T.float64, requires_grad=True)
            first = T.autograd.grad(reduce(x, 0, T.tensor([0, 0]), src, "prod").sum(), (x, src), create_graph=True)
            seen.append([g.detach() for g in first])
            seen.append(told(lambda: seen.append(T.autograd.grad(first[0].sum() + first[1].sum(), (x, src)))))
    return seen


@parity(PROGRAMS)
@pytest.mark.filterwarnings("ignore:index_reduce")
def test_program(program):
    same(program, warnings_too=False)
