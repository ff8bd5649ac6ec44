"""Re-entrant backward."""

from __future__ import annotations

from inventory import collect, leaf, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


@program
def inside_a_function(T):
    data = T.tensor([[1.0, 2.0], [3.0, 4.0]])

    class Reenter(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with T.enable_grad():
                ctx.x = T.autograd.Variable(x, requires_grad=True)
                ctx.out = ctx.x * T.autograd.Variable(data, requires_grad=True)
            return ctx.out.detach()

        @staticmethod
        def backward(ctx, g):
            with T.enable_grad():
                ctx.out.sum().backward()
            return ctx.x.grad * g

    x = T.ones(2, 2, requires_grad=True)
    Reenter.apply(x).sum().backward()
    return x.grad


@program
def errors_of_the_inner_one(T):
    class Fails(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            raise Exception("Simulate error on backward pass")

    inner = Fails.apply(leaf(T) * 2).sum()

    class Starts(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            inner.backward()
            return g

    a = leaf(T)
    outer = Starts.apply(a * a).sum()
    return told(lambda: outer.backward()), a.grad


@program
def depth(T):
    class Deep(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with T.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, g):
            if ctx.x < 0:
                return g
            with T.enable_grad():
                Deep.apply(ctx.x).sum().backward()
            return g

    seen = []
    for start in (2000.0, 200.0):
        v = T.tensor(start, requires_grad=True)
        Deep.apply(v).sum().backward()
        seen.append(v.grad)
    return seen


@program
def the_inner_one_comes_first(T):
    order = []

    class Note(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            order.append("note")
            return g

    class Again(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with T.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, g):
            order.append("again")
            if ctx.x >= 0:
                with T.enable_grad():
                    Again.apply(ctx.x).backward()
            return g

    (Note.apply(T.tensor(6.0, requires_grad=True)) * Again.apply(T.tensor(5.0, requires_grad=True))).backward()
    return order


@program
def callbacks(T):
    queue = T.autograd.Variable._execution_engine.queue_callback

    def run(depths):
        log = []

        class Inner(T.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x

            @staticmethod
            def backward(ctx, g):
                if 1 in depths:
                    queue(lambda: log.append("inner"))
                return g

        class Outer(T.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x

            @staticmethod
            def backward(ctx, g):
                if 0 in depths:
                    queue(lambda: log.append("outer"))
                x = g.detach().requires_grad_()
                with T.enable_grad():
                    out = Inner.apply(x).sum()
                out.backward()
                log.append("after the inner backward")
                return g

        T.autograd.backward([Outer.apply(leaf(T)).sum()])
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

    class Starts(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            for enabled in (True, False):
                with T.set_grad_enabled(enabled):
                    with T.enable_grad():
                        inner = Note.apply(g.detach().requires_grad_())
                    inner.sum().backward()
                    modes.append(T.is_grad_enabled())
            return g

    class Note(Starts):
        @staticmethod
        def backward(ctx, g):
            modes.append(("inside", T.is_grad_enabled()))
            return g

    Starts.apply(leaf(T)).sum().backward()
    Starts.apply(leaf(T)).sum().backward(create_graph=True)
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
