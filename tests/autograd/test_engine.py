"""Engine order, callbacks, deep graphs."""

from __future__ import annotations

import pytest
from parity import collect, leaf, no_collector, parity, same, told

import whygrad

PROGRAMS = []
program = collect(PROGRAMS)


@program
def latest_first(T):
    order = []
    x = leaf(T)
    a, b, c = x * 2, x * 3, x * 4
    for name, t in (("a", a), ("b", b), ("c", c)):
        t.register_hook(lambda g, name=name: order.append(name))
    x.register_hook(lambda g: order.append("x"))
    (c + a + b).sum().backward()
    return order


@program
def callbacks_at_the_end(T):
    log = []
    queue = T.autograd.Variable._execution_engine.queue_callback

    class Queue(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            queue(lambda: (log.append("first"), queue(lambda: log.append("second"))))
            log.append("backward")
            return g

    x = leaf(T)
    x.register_hook(lambda g: log.append("leaf"))
    Queue.apply(x).sum().backward()
    return log


@program
def the_order_can_be_foretold(T):
    got = []
    kept = []

    def ask(g):
        got.append([node.name() for node in T._C._current_graph_task_execution_order()])

    def run(roots, inputs=None):
        kept.append(roots[-1].register_hook(ask))
        with T.autograd.set_multithreading_enabled(False):
            T.autograd.grad(roots, inputs) if inputs else T.autograd.backward(roots)

    run([T.tensor(1.0, requires_grad=True).clone().sin().exp()])
    a, b = T.tensor(1.0, requires_grad=True), T.tensor(2.0, requires_grad=True)
    run([b.sin() * a.cos()])
    run([a.sin() * a.cos()])
    doubled = a * 2
    run([doubled.sin(), doubled.cos(), doubled.cos()], (a,))
    run([(a * b).sin()], (a,))
    t = T.tensor(1.0, requires_grad=True).clone().sin()
    t.register_hook(ask)
    return got, told(T._C._current_graph_task_execution_order), told(lambda: t.backward())


@program
def which_nodes_will_run(T):
    class Twice(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    will = T._C._will_engine_execute_node
    seen = []
    a, a2 = leaf(T), leaf(T)
    b = a * a2
    b2 = b.cos()
    c = Twice.apply(b)
    nodes = [a.clone().grad_fn.next_functions[0][0], a2.clone().grad_fn.next_functions[0][0], b.grad_fn, b2.grad_fn, c.grad_fn]
    c.register_hook(lambda g: seen.append([will(node) for node in nodes]))
    out = c.sum()
    T.autograd.backward(out, inputs=(a, b), retain_graph=True)
    T.autograd.backward(out, retain_graph=True)
    seen.append(told(lambda: T.autograd.grad(out, a)))
    x = leaf(T) * 2
    y = x * 2
    y.register_hook(lambda g: seen.append(will(y.grad_fn)))
    T.autograd.grad(y.sum(), x)
    return seen, told(lambda: will(out.grad_fn)), told(lambda: will(out))


@program
def the_number_of_a_backward(T):
    numbers = []
    t = T.tensor(1.0, requires_grad=True).clone()
    t.register_hook(lambda g: numbers.append(T._C._current_graph_task_id()))
    for _ in range(3):
        t.backward(retain_graph=True)
    return numbers[1] - numbers[0], numbers[2] - numbers[0], T._C._current_graph_task_id()


@program
def whether_the_graph_is_kept(T):
    kept = []

    class Look(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            kept.append(T._C._autograd._get_current_graph_task_keep_graph())
            return g

    out = Look.apply(leaf(T))
    out.sum().backward(retain_graph=True)
    out.sum().backward(retain_graph=False)
    return kept


@program
def the_current_node(T):
    seen = []

    class Look(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            seen.append(type(T._C._current_autograd_node()).__name__)
            return g

    x = leaf(T)
    y = x * 2
    y.register_hook(lambda g: seen.append(type(T._C._current_autograd_node()).__name__))
    Look.apply(y).sum().backward()
    return seen, T._C._current_autograd_node()


@program
def a_failed_backward_leaves_the_engine_usable(T):
    x = leaf(T)
    y = x * 2
    handle = y.register_hook(lambda g: 1 / 0)
    failed = told(lambda: y.sum().backward())
    handle.remove()
    y.sum().backward()
    return failed, x.grad


@parity(PROGRAMS)
def test_program(program):
    same(program)


class _Add(whygrad.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a + b

    @staticmethod
    def backward(ctx, g):
        return g, g


def _inplace(y):
    y += y * 0.000001
    return y


@pytest.mark.parametrize("step", [lambda y: y + y * 0.000001, _inplace, lambda y: _Add.apply(y, y)],
                         ids=["rows", "in place", "custom"])
def test_deep_graphs_are_built_walked_and_freed(step):
    x = whygrad.zeros(1, requires_grad=True)
    with no_collector():  # which would look through all of it again and again
        y = x.clone()
        for _ in range(150_000):
            y = step(y)
        del y
    y = x.clone()
    for _ in range(5_000):
        y = step(y)
    y.backward()
    assert x.grad is not None
