"""`torch.autograd.functional`."""

from __future__ import annotations

import pytest
from parity import collect, leaf, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)

NAMES = ["vjp", "jvp", "jacobian", "hessian", "vhp", "hvp"]
PRODUCTS = ["vjp", "jvp", "vhp", "hvp"]
SCALAR = ["hessian", "vhp", "hvp"]


def call(T, name, f, inputs, v=None, **options):
    function = getattr(T.autograd.functional, name)
    return function(f, inputs, v, **options) if name in PRODUCTS else function(f, inputs, **options)


def cubes(x):
    return x**3


def scalar(x):
    return (x**3).sum()


def vector_for(T, name, x):
    return None if name not in PRODUCTS else T.arange(1.0, 1 + x.numel()).reshape(x.shape)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("no_grad", [False, True])
def test_values(name, create_graph, no_grad):
    def run(T):
        x = leaf(T)
        f = scalar if name in SCALAR else cubes
        with T.set_grad_enabled(not no_grad):
            result = call(T, name, f, x, vector_for(T, name, x), create_graph=create_graph)
        result = result if isinstance(result, tuple) else (result,)
        further = T.autograd.grad(result[-1].sum(), x) if create_graph else None
        return [r.detach() for r in result], [r.requires_grad for r in result], further, x.grad

    same(run)


@pytest.mark.parametrize("name", NAMES)
def test_tuples(name):
    def run(T):
        x, y = leaf(T, 1, 2), leaf(T, 3, 4, 5)
        if name in SCALAR:
            def f(x, y):
                return (x**2).sum() * (y**3).sum()
        else:
            def f(x, y):
                return x.sum() * y**2, (x**3).sum()
        like = (T.ones(3), T.ones(())) if name == "vjp" else (T.ones(2), T.ones(3))
        return call(T, name, f, (x, y), like)

    same(run)


@pytest.mark.parametrize("name", NAMES)
def test_wrong_arguments(name):
    def run(T):
        x = leaf(T, 1, 2, 3, 4)
        one = T.tensor([2.0], requires_grad=True)
        f = scalar if name in SCALAR else cubes
        seen = [told(lambda: call(T, name, f, (x, 2), T.ones(4))), told(lambda: call(T, name, f, "x", T.ones(4))),
                told(lambda: call(T, name, lambda x: (f(x), "bar"), x, T.ones(4))),
                told(lambda: call(T, name, lambda x: 3, x, T.ones(4))),
                told(lambda: call(T, name, lambda x: (f(x), f(x)), x, T.ones(4))),
                told(lambda: call(T, name, cubes, x, T.ones(4)))]
        if name in PRODUCTS:
            seen += [told(lambda: call(T, name, f, x, v)) for v in (None, T.ones(5), T.ones(2), (T.ones(4), 2),
                                                                    (T.ones(4), T.ones(4)))]
            seen += [told(lambda: call(T, name, lambda x, y: f(x) * f(y), (x, x), v)) for v in ((T.ones(4), T.ones(2)),
                                                                                                T.ones(4), None)]
            seen.append(call(T, name, scalar, one))
        return seen

    same(run)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("strict", [False, True])
def test_strict(name, create_graph, strict):
    functions = {
        "detached": lambda T, x: x.detach().sum(), "constant": lambda T, x: T.tensor(3.0),
        "unrelated": lambda T, x: T.ones((), requires_grad=True) * 2, "linear": lambda T, x: (x * 2).sum(),
        "square": lambda T, x: (x**2).sum(), "cube": lambda T, x: (x**3).sum(),
    }

    def run(T):
        seen = []
        for f in functions.values():
            x = leaf(T, 1, 2)
            v = T.ones(()) if name == "vjp" else T.ones(2)

            def attempt():
                result = call(T, name, lambda x: f(T, x), x, v, create_graph=create_graph, strict=strict)
                seen.append([r.detach() for r in (result if isinstance(result, tuple) else (result,))])

            seen.append(told(attempt))
        return seen

    same(run)


@program
def mixed_with_backward(T):
    x = leaf(T)
    jacobian = T.autograd.functional.jacobian(lambda x: x.exp() * x, x, create_graph=True)
    (jacobian**2).sum().backward()
    product = T.autograd.functional.hvp(scalar, x, T.ones(3), create_graph=True)[1]
    return x.grad, T.autograd.grad(product.sum(), x)


@program
def scalars_and_matrices(T):
    F = T.autograd.functional
    m, s = T.arange(4.0).reshape(2, 2), T.tensor(2.0)
    return [F.jacobian(lambda x: x.sum(0), m), F.jacobian(lambda x: x**2, s), F.hessian(lambda x: x**3, s),
            F.hessian(lambda x: x.pow(3).sum(), m),
            F.hessian(lambda x: (x**2).sum().reshape(1), leaf(T)), F.jacobian(lambda x, y: x * y, (s, s)),
            F.hessian(lambda x, y: (x * y**2).sum(), (leaf(T), leaf(T, 4, 5, 6)))]


@program
def inputs_stay_as_they_were(T):
    x = T.ones(3)
    T.autograd.functional.jacobian(cubes, x)
    return x.requires_grad, x.grad


@parity(PROGRAMS)
def test_program(program):
    same(program)
