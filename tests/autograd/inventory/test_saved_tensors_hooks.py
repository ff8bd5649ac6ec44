"""`saved_tensors_hooks` and relatives."""

from __future__ import annotations

import weakref

from inventory import MODULES, collect, leaf, no_collector, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


def hooks(T, pack=lambda x: x, unpack=lambda x: x):
    return T.autograd.graph.saved_tensors_hooks(pack, unpack)


@program
def packed_once_unpacked_at_every_look(T):
    log = []
    x, y = leaf(T), T.ones(3)
    with hooks(T, lambda t: (log.append("pack"), t)[1], lambda t: (log.append("unpack"), t)[1]):
        z = x * y
        log.append("forward done")
        z.grad_fn._saved_other  # noqa: B018
        z.sum().backward()
        (x * x).sum().backward()
        (x * 3).sum().backward()
    return log, x.grad


@program
def scaled_values(T):
    seen = []
    for pack, unpack in ((lambda t: 2 * t, lambda t: t / 2), (lambda t: 2 * t, lambda t: t)):
        x = leaf(T)
        with hooks(T, pack, unpack):
            y = x * x
        seen += [y.grad_fn._saved_self.detach(), y.grad_fn._saved_other.detach()]
        y.sum().backward()
        seen.append(x.grad)
    x = leaf(T)
    (x * x).sum().backward()
    return seen, x.grad


@program
def the_innermost_wins(T):
    a, b = leaf(T), leaf(T)
    with hooks(T, lambda t: 3 * t, lambda t: 3 * t):
        with hooks(T, lambda t: 5 * t, lambda t: 5 * t):
            y = a * a
        z = b * b
    y.sum().backward()
    z.sum().backward()
    return a.grad, b.grad


@program
def in_a_recorded_backward(T):
    seen = []
    for forward, backward in ((True, False), (False, True), (True, True)):
        x = leaf(T)
        context = hooks(T, lambda t: 2 * t)
        if forward:
            context.__enter__()
        s = (x**3).sum()
        if forward and not backward:
            context.__exit__()
        if backward and not forward:
            context.__enter__()
        (g,) = T.autograd.grad(s, x, create_graph=True)
        g.sum().backward()
        if backward:
            context.__exit__()
        seen.append(x.grad)
    return seen


@program
def wrong_hooks(T):
    x = leaf(T)

    def increment(t):
        t += 1
        return t

    class CustomError(Exception):
        pass

    def fails(where):
        def hook(t):
            raise CustomError(where)

        return hook

    def run(pack=lambda t: t, unpack=lambda t: t):
        with hooks(T, pack, unpack):
            y = x.exp() * x
        y.sum().backward()

    return [told(lambda: run(pack=increment)), told(lambda: run(pack=fails("pack"))), told(lambda: run(unpack=fails("unpack"))),
            told(lambda: run(unpack=lambda t: 1)), told(lambda: run(pack=lambda t, b: t)[:1])[0], told(run), x.grad]


@program
def disabled(T):
    disable = T.autograd.graph.disable_saved_tensors_hooks

    def entered(message="error message"):
        with disable(message), hooks(T):
            pass

    def inside():
        with hooks(T), disable("error message"):
            pass

    def nested():
        with disable("outer"), disable("inner"), hooks(T):
            pass

    enabled = T._C._autograd._saved_tensors_hooks_is_enabled
    seen = [told(entered), enabled(), told(inside), enabled(), told(nested), enabled()]
    with disable("outer"):
        with disable("inner"):
            pass
        seen.append(enabled())
    return seen, enabled()


@program
def custom_functions(T):
    class Exp(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x.exp().clone().detach_().requires_grad_(True), x)
            return x.exp()

        @staticmethod
        def backward(ctx, g):
            log.append([t.requires_grad for t in ctx.saved_tensors])
            return g * ctx.saved_tensors[0]

    log = []
    x = leaf(T)
    with hooks(T, lambda t: (log.append("pack"), t)[1], lambda t: (log.append("unpack"), t)[1]):
        y = Exp.apply(x)
    y.sum().backward()
    return log, x.grad


@program
def what_a_hook_gives_has_a_version_of_its_own(T):
    class Write(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            before = a._version
            x.add_(1)
            seen.append(a._version == before)
            return g

    seen = []
    a = T.tensor(1.0, requires_grad=True)
    other = a.clone()
    with hooks(T, lambda t: other):
        b = Write.apply(a)
    b.backward()
    return seen, a.grad


@program
def on_cpu(T):
    seen = []
    for pin in (False, True):
        for dtype in (T.float32, T.float64):
            with T.autograd.graph.save_on_cpu(pin):
                a = T.arange(1.0, 4.0, dtype=dtype).requires_grad_()
                y = a * a
                saved = y.grad_fn._saved_self
                seen += [saved.detach(), saved.dtype, saved.layout]
                y.sum().backward()
                seen.append(a.grad)
    return seen


@program
def on_cpu_with_checkpoints(T):
    def under(f):
        a = leaf(T, 1.1, 1.2)
        f(a).sum().backward()
        return a.grad

    checkpoint = T.utils.checkpoint.checkpoint

    def outside(a):
        with T.autograd.graph.save_on_cpu():
            return checkpoint(lambda x: x.pow(2).pow(2), a.pow(2), use_reentrant=False).pow(2)

    def inside(a):
        with T.autograd.graph.save_on_cpu():
            a = a.pow(2).pow(2)
        return a.pow(2)

    return under(lambda a: a.pow(2).pow(2).pow(2).pow(2)), under(outside), under(
        lambda a: checkpoint(lambda x: inside(x.pow(2)), a, use_reentrant=False))


@program
def to_disk(T):
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        def pack(t):
            name = os.path.join(folder, str(len(os.listdir(folder))))
            T.save(t, name)
            return name

        x = leaf(T)
        with hooks(T, pack, T.load):
            y = x * x
        y.sum().backward()
        return x.grad, len(os.listdir(folder))


@program
def made_by_hand(T):
    counts = {"pack": 0, "unpack": 0}

    def count(name):
        def hook(t):
            counts[name] += 1
            return t
        return hook

    x = leaf(T)
    with hooks(T, count("pack"), count("unpack")):
        saved = T._C._autograd._make_saved_tensor(x, is_output=False)
        seen = [dict(counts)]
        values = saved.unpack(), saved.unpack()
        seen.append(dict(counts))
    return seen, [v.detach() for v in values], told(T.autograd.SavedTensor)


@program
def out_of_order(T):
    def unpack(x):
        outer.__exit__()
        return x

    outer = hooks(T, lambda x: x, unpack)
    for _ in range(3):
        with hooks(T):
            outer.__enter__()
            x = leaf(T)
            told(lambda: x.sin().sum().backward())
    for _ in range(3):
        outer.__exit__()
    y = leaf(T, 1).exp()
    return told(lambda: y.grad_fn._raw_saved_result.register_hooks(lambda x: x, lambda x: x))


@parity(PROGRAMS)
def test_program(program):
    same(program)


@MODULES
def test_an_extra_enter_does_not_leak(T):
    def scope():
        def unpack(x):
            weak().__enter__()
            return x

        context = hooks(T, lambda x: x, unpack)
        weak = weakref.ref(context)
        x = T.ones(3, requires_grad=True)
        with context:
            x.sin().sum().backward()
        return weakref.ref(unpack)

    with no_collector():
        ref = scope()
        assert ref() is None
