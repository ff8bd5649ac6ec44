"""Re-entrant backward."""

from __future__ import annotations

from parity import collect, function, leaf, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


def copied(T, x, on_backward):
    """A copy; `on_backward` is called when its gradient passes."""
    return function(T, lambda ctx, x: x.clone(), lambda ctx, g: (on_backward(g), g)[1]).apply(x)


def countdown(T, x, calls):
    """One less; its backward starts another one of the result, until that is negative."""
    def forward(ctx, x):
        with T.enable_grad():
            ctx.x = x.detach().requires_grad_() - 1
        return ctx.x.detach()

    def backward(ctx, g):
        calls.append("again")
        if ctx.x >= 0:
            with T.enable_grad():
                Again.apply(ctx.x).sum().backward()
        return g

    Again = function(T, forward, backward)
    return Again.apply(x)


@program
def inside_a_function(T):
    data = T.tensor([[1.0, 2.0], [3.0, 4.0]])

    def forward(ctx, x):
        with T.enable_grad():
            ctx.x = T.autograd.Variable(x, requires_grad=True)
            ctx.out = ctx.x * T.autograd.Variable(data, requires_grad=True)
        return ctx.out.detach()

    def backward(ctx, g):
        with T.enable_grad():
            ctx.out.sum().backward()
        return ctx.x.grad * g

    x = T.ones(2, 2, requires_grad=True)
    function(T, forward, backward).apply(x).sum().backward()
    return x.grad


@program
def errors_of_the_inner_one(T):
    def fails(g):
        raise Exception("Simulate error on backward pass")

    inner = copied(T, leaf(T) * 2, fails).sum()
    a = leaf(T)
    outer = copied(T, a * a, lambda g: inner.backward()).sum()
    return told(lambda: outer.backward()), a.grad


@program
def depth(T):
    seen = []
    for start in (2000.0, 200.0):
        v, calls = T.tensor(start, requires_grad=True), []
        countdown(T, v, calls).sum().backward()
        seen += [v.grad, len(calls)]
    return seen


@program
def the_inner_one_comes_first(T):
    order = []
    noted = copied(T, T.tensor(6.0, requires_grad=True), lambda g: order.append("note"))
    (noted * countdown(T, T.tensor(5.0, requires_grad=True), order)).backward()
    return order


@program
def callbacks(T):
    queue = T.autograd.Variable._execution_engine.queue_callback

    def run(depths):
        log = []

        def inner(g):
            if 1 in depths:
                queue(lambda: log.append("inner"))

        def outer(g):
            if 0 in depths:
                queue(lambda: log.append("outer"))
            with T.enable_grad():
                out = copied(T, g.detach().requires_grad_(), inner).sum()
            out.backward()
            log.append("after the inner backward")

        T.autograd.backward([copied(T, leaf(T), outer).sum()])
        return log

    return run([0]), run([1]), run([0, 1]), told(lambda: queue(print))


@program
def from_hooks(T):
    seen = []
    for on_leaf in (True, False):
        param = leaf(T)

        def hook(g):
            handle.remove()
            with T.enable_grad():
                inner = g.detach().requires_grad_()
                (inner * 2 + 5).sum().backward()
            return inner.grad + g

        between = param * param
        handle = (param if on_leaf else between).register_hook(hook)
        between.sum().backward()
        seen.append(param.grad)
    return seen


@program
def grad_mode_is_restored(T):
    modes = []

    def starts(g):
        for enabled in (True, False):
            with T.set_grad_enabled(enabled):
                with T.enable_grad():
                    inner = copied(T, g.detach().requires_grad_(), lambda g: modes.append(("inside", T.is_grad_enabled())))
                inner.sum().backward()
                modes.append(T.is_grad_enabled())

    copied(T, leaf(T), starts).sum().backward()
    copied(T, leaf(T), starts).sum().backward(create_graph=True)
    return modes, T.is_grad_enabled()


@program
def checkpoints_inside_each_other(T):
    def nested(depth):
        if not depth:
            return T.sin
        inner = nested(depth - 1)
        return lambda x: T.utils.checkpoint.checkpoint(inner, x * 0.9, use_reentrant=True)

    x = leaf(T)
    nested(30)(x).sum().backward()
    return x.grad


@parity(PROGRAMS)
def test_program(program):
    same(program)
