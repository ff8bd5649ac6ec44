"""Double and higher backward."""

from __future__ import annotations

from parity import collect, leaf, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


@program
def backward_twice_gives_a_hessian_product(T):
    x, y = leaf(T), leaf(T, 4, 5, 6)
    (x**2 + y * x + y**2).backward(T.ones(3), create_graph=True)
    first = x.grad, y.grad
    (2 * x.grad + y.grad).backward(T.ones(3))
    return first, x.grad, y.grad


@program
def grad_of_a_grad(T):
    x, y = leaf(T), leaf(T, 4, 5, 6)
    (x**2 + y * x + y**2).backward(T.ones(3), create_graph=True)
    total = 2 * x.grad + y.grad
    return T.autograd.grad(outputs=[total], grad_outputs=[T.ones(3)], inputs=[x], create_graph=True), x.grad, told(
        lambda: T.autograd.grad([total], [x], [T.ones(2)], create_graph=True))


@program
def orders_one_to_four(T):
    x = leaf(T, 0.3, 0.7, dtype="float64")
    y, seen = (x.sin() * x.exp()).sum(), []
    for _ in range(4):
        (g,) = T.autograd.grad(y, x, create_graph=True)
        seen.append(g)
        y = (g * g).sum()
    return seen


@program
def only_backward_warns_of_the_cycle(T):
    x = leaf(T)
    y = x * x
    T.autograd.grad(y.sum(), x, create_graph=True)
    y.backward(T.ones(3), create_graph=True)
    return x.grad


@program
def repeated_derivatives_of_a_custom_function(T):
    class Product(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.prod(dim=-1).prod(dim=-1)
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return (g * y)[:, None, None] / x

    x = T.ones(2, 2, 2, requires_grad=True)
    y, seen = Product.apply(x), []
    for _ in range(2):
        (g,) = T.autograd.grad(y[0], x, create_graph=True)
        seen.append(T.autograd.grad(g[0, 0, 0], x, retain_graph=True))
    return seen


@program
def products_with_the_hessian_two_ways(T):
    def f(x):
        return (x**3 + x.exp() * x.flip(0)).sum()

    seen = []
    vector = T.tensor([0.5, -1.0, 2.0])
    x = leaf(T)
    f(x).backward(create_graph=True)
    first = x.grad
    seen += [first.detach(), first.requires_grad, type(first.grad_fn).__name__]
    x.grad = None
    first.backward(vector)
    seen.append(x.grad)
    (first,) = T.autograd.grad(f(x), x, create_graph=True)
    return [*seen, T.autograd.grad(first, x, vector)]


@program
def gradients_accumulated_with_a_graph(T):
    x = leaf(T)
    (x**3).sum().backward(create_graph=True)
    (x**2).sum().backward(create_graph=True)
    (total,) = T.autograd.grad(x.grad.sum(), x)
    return x.grad.detach(), total


@parity(PROGRAMS)
def test_program(program):
    same(program)
