"""`jacobian`/`hessian` with `vectorize=True` and forward strategy."""

from __future__ import annotations

import pytest
from parity import leaf, same, told

FUNCTIONS = {
    "one": (lambda T, x: x**3, 1), "scalar": (lambda T, x: (x**2).sum(), 1), "two inputs": (lambda T, x, y: x * y, 2),
    "two outputs": (lambda T, x: (x.sin(), (x**2).sum()), 1), "both": (lambda T, x, y: (x * y.sum(), y.exp()), 2),
    "unrelated": (lambda T, x, y: x * 2, 2), "unrelated output": (lambda T, x: (x, T.ones(2)), 1),
    "from a number": (lambda T, x: x[0] * x, 1), "dtypes": (lambda T, x, y: (x * 2, x.double() * y, y.sum().half()), 2),
    "matrix": (lambda T, x: x.outer(x), 1), "several ops": (lambda T, x: (x.softmax(0) * x).cumsum(0), 1),
}


STRATEGIES = ["reverse-mode", "forward-mode"]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_jacobian(name, strategy):
    f, count = FUNCTIONS[name]

    def run(T):
        inputs = (leaf(T).detach(), leaf(T, 4, 5, 6).detach())[:count]
        return T.autograd.functional.jacobian(lambda *xs: f(T, *xs), inputs if count > 1 else inputs[0], vectorize=True,
                                              strategy=strategy)

    same(run)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_numbers_and_mixed_dtypes(strategy):
    def run(T):
        number, vector = T.tensor(2.0), T.tensor([1.0, 2.0], dtype=T.float64)
        options = {"vectorize": True, "strategy": strategy}
        jacobian = T.autograd.functional.jacobian
        return [jacobian(lambda x: x**3, number, **options), jacobian(lambda x: x.expand(3), number, **options),
                jacobian(lambda x: x.sum() ** 2, vector, **options),
                jacobian(lambda x, y: (x**2, y.sum(), x.double() * y), (number, vector), **options)]

    same(run)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_hessian(strategy):
    def run(T):
        x, y = leaf(T), leaf(T, 4, 5, 6)
        options = {"vectorize": True, "outer_jacobian_strategy": strategy}
        F = T.autograd.functional
        one, several = F.hessian(lambda x: (x**3).sum(), x, **options), F.hessian(lambda x, y: (x * y**2).sum(), (x, y),
                                                                                  **options)
        return one.detach(), [[h.detach() for h in row] for row in several]

    same(run)


def test_create_graph():
    def run(T):
        x = leaf(T)
        jacobian = T.autograd.functional.jacobian(lambda x: x**3, x, create_graph=True, vectorize=True)
        return jacobian.detach(), jacobian.requires_grad, T.autograd.grad(jacobian.sum(), x)

    same(run)


def test_wrong_arguments():
    def run(T):
        F, x = T.autograd.functional, leaf(T)
        return [told(lambda: F.jacobian(lambda x: x, x, strict=True, vectorize=True)),
                told(lambda: F.jacobian(lambda x: x, x, strategy="sideways")),
                told(lambda: F.jacobian(lambda x: x, x, strategy="forward-mode")),
                told(lambda: F.jacobian(lambda x: x, x, strategy="forward-mode", create_graph=True)),
                told(lambda: F.jacobian(lambda x: x, x, strategy="forward-mode", strict=True)),
                told(lambda: F.hessian(lambda x: x.sum(), x, outer_jacobian_strategy="sideways")),
                told(lambda: F.jacobian(lambda x: x, (x, 2), vectorize=True)),
                told(lambda: F.jacobian(lambda x: (x, "bar"), x, vectorize=True)),
                told(lambda: F.hessian(lambda x: x.sum(), (x, 2), vectorize=True)),
                told(lambda: F.hessian(lambda x: (x.sum(), "bar"), x, vectorize=True)),
                told(lambda: F.hessian(lambda x: x, x, vectorize=True)),
                told(lambda: F.hessian(lambda x: (x.sum(), x.sum()), x, vectorize=True))]

    same(run)
