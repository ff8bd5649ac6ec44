"""Grad modes."""

from __future__ import annotations

from inventory import collect, leaf, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


@program
def contexts_and_decorators(T):
    x, y = leaf(T), T.ones(3)
    with T.no_grad():
        w = x + y

    def add(a, b):
        return a + b

    seen = [w.requires_grad, w.grad_fn, told(lambda: w.backward(T.ones(3)))]
    for decorated in (T.no_grad()(add), T.no_grad(add)):
        seen += [decorated(x, y).requires_grad, decorated.__name__]
        with T.no_grad():
            seen += [T.is_grad_enabled(), decorated(x, y).requires_grad, T.is_grad_enabled()]
    with T.no_grad():
        seen += [T.enable_grad(add)(x, y).requires_grad, T.enable_grad()(add)(x, y).requires_grad]
    return seen


@program
def set_grad_enabled(T):
    x, seen = leaf(T), []
    for flag in (False, True):
        with T.set_grad_enabled(flag):
            seen.append((x * 2).requires_grad)
    with T.set_grad_enabled(False):
        T.set_grad_enabled(True)
        seen.append((x * 2).requires_grad)

    @T.set_grad_enabled(False)
    def inner(x):
        return x.sin().requires_grad

    seen += [T.is_grad_enabled(), inner(x)]
    switch = T.set_grad_enabled(False)
    seen.append(T.is_grad_enabled())
    inner = switch(lambda x: x.sin().requires_grad)
    return [*seen, T.is_grad_enabled(), inner(x), told(lambda: T.set_grad_enabled(1))]


@program
def generators(T):
    seen = []

    @T.no_grad()
    def off():
        for i in range(3):
            seen.append(T.is_grad_enabled())
            got = yield i
            seen.append((got, T.is_grad_enabled()))

    @T.enable_grad()
    def on():
        for i in range(3):
            seen.append(T.is_grad_enabled())
            yield i

    for _ in off():
        seen.append(T.is_grad_enabled())
    with T.no_grad():
        for _ in on():
            seen.append(T.is_grad_enabled())
    coroutine, sent = off(), None
    try:
        while True:
            sent = coroutine.send(sent)
            seen.append(T.is_grad_enabled())
    except StopIteration:
        pass
    return seen


@program
def exceptions_in_generators(T):
    seen = []

    class Mild(Exception):
        pass

    class SecondaryException(Exception):
        pass

    @T.no_grad()
    def off(serious=False):
        for i in range(3):
            try:
                yield i
            except Mild:
                seen.append(T.is_grad_enabled())
                if serious:
                    raise SecondaryException from None
            except GeneratorExit:
                seen.append(("closed", T.is_grad_enabled()))
                raise

    coroutine = off()
    next(coroutine)
    try:
        while True:
            seen.append(coroutine.throw(Mild))
    except StopIteration:
        pass
    coroutine = off(serious=True)
    next(coroutine)
    seen.append(told(lambda: coroutine.throw(Mild)))
    coroutine = off()
    next(coroutine)
    coroutine.close()
    return seen, T.is_grad_enabled()


@program
def recursion(T):
    seen = []

    @T.enable_grad()
    def on(depth):
        seen.append(T.is_grad_enabled())
        if depth:
            off(depth - 1)
            seen.append(T.is_grad_enabled())

    @T.no_grad()
    def off(depth):
        seen.append(T.is_grad_enabled())
        if depth:
            on(depth - 1)
            seen.append(T.is_grad_enabled())

    on(4)
    with T.no_grad():
        on(4)
        seen.append(T.is_grad_enabled())
    return seen


@program
def classes(T):
    @T.no_grad()
    class Made:
        def __init__(self):
            self.inside = T.is_grad_enabled()

        def later(self):
            return T.is_grad_enabled()

    class Methods:
        @T.no_grad()
        def __init__(self):
            self.inside = T.is_grad_enabled()

        @T.no_grad()
        def later(self):
            return T.is_grad_enabled()

    return Made().inside, Made().later(), Methods().inside, Methods().later()


@program
def a_leaf_written_under_no_grad(T):
    x = T.ones(2, 2, requires_grad=True)
    with T.no_grad():
        x[0] = T.zeros(2)
    return x.requires_grad, x.grad_fn, x


@program
def modes_inside_backward(T):
    seen = []

    class Look(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(T.is_grad_enabled())
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            seen.append(T.is_grad_enabled())
            with T.enable_grad():
                inner = leaf(T)
                T.autograd.grad(inner**3, inner, g)
                seen.append(T.is_grad_enabled())
            seen.append(T.is_grad_enabled())
            return g

    Look.apply(leaf(T)).sum().backward()
    Look.apply(leaf(T)).sum().backward(create_graph=True)
    return seen


@parity(PROGRAMS)
def test_program(program):
    same(program)
