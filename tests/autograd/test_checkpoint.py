"""`torch.utils.checkpoint`."""

from __future__ import annotations

import contextlib
import tracemalloc
import weakref

from parity import MODULES, collect, leaf, no_collector, parity, same, told

import whygrad

PROGRAMS = []
program = collect(PROGRAMS)


def checkpoint(T, *args, **kwargs):
    return T.utils.checkpoint.checkpoint(*args, **{"use_reentrant": False, **kwargs})


@program
def the_same_gradients(T):
    seen = []
    for options in ({}, {"use_reentrant": True}, {"early_stop": False}, {"preserve_rng_state": False},
                    {"determinism_check": "none"}):
        a = leaf(T)
        checkpoint(T, lambda x: x.sin().exp().sin(), a, **options).sum().backward()
        seen.append(a.grad)
    a = leaf(T)
    return seen, T.autograd.grad(checkpoint(T, T.exp, a).sum(), a), told(
        lambda: T.autograd.grad(checkpoint(T, T.exp, a, use_reentrant=True).sum(), a)), told(
        lambda: checkpoint(T, T.exp, a, use_reentrant=True).sum().backward(inputs=[a])), told(
        lambda: checkpoint(T, T.exp, a, use_reentrant=True).sum().backward())


@program
def no_devices_have_states_of_their_own(T):
    module = T.utils.checkpoint
    return module.get_device_states(leaf(T), 3), module.set_device_states([], []), module.DefaultDeviceType.get_device_type()


@program
def random_numbers_are_the_same(T):
    seen = []
    for reentrant in (True, False):
        T.manual_seed(3)
        a = leaf(T)
        out = checkpoint(T, lambda x: x * T.rand(3), a, use_reentrant=reentrant)
        after = T.rand(2)
        out.sum().backward()
        seen += [out.detach(), a.grad, after, T.rand(2)]
    return seen


@program
def arguments_of_any_kind(T):
    layer = T.nn.Linear(3, 3, bias=False)
    with T.no_grad():
        layer.weight.copy_(T.arange(9.0).reshape(3, 3))

    def run(batch, *, scale, more=None):
        return {"result": layer(batch["x"]) * scale, "other": [1, "a"]}

    out = checkpoint(T, run, {"x": T.ones(2, 3)}, scale=2.0, more=None)
    out["result"].sum().backward()
    return out["result"].detach(), out["other"], layer.weight.grad


@program
def wrong_calls(T):
    a = leaf(T)
    return [told(lambda: T.utils.checkpoint.checkpoint(lambda x: x * 1, a)),
            told(lambda: checkpoint(T, T.exp, a, use_reentrant=True, more=1)),
            told(lambda: checkpoint(T, T.exp, a, use_reentrant=True, debug=True)),
            told(lambda: checkpoint(T, T.exp, a, use_reentrant=True, context_fn=lambda: None)),
            told(lambda: checkpoint(T, T.exp, a, determinism_check="maybe"))]


@program
def sequences(T):
    layers = [T.nn.Linear(3, 3) for _ in range(5)]
    with T.no_grad():
        for i, layer in enumerate(layers):
            layer.weight.copy_(T.eye(3) * (i + 1))
            layer.bias.fill_(i)
    sequential = T.utils.checkpoint.checkpoint_sequential
    seen = []
    for functions in (layers, T.nn.Sequential(*layers)):
        for segments in (1, 2, 3, 5):
            a = leaf(T)
            out = sequential(functions, segments, a, use_reentrant=False)
            out.sum().backward()
            seen += [out.detach(), a.grad]
    a = leaf(T)
    return seen, sequential(layers, 2, a).detach(), told(lambda: sequential(layers, 2, a, use_reentrant=False, bad=1))


@program
def what_does_not_require_grad(T):
    def off(x):
        with T.no_grad():
            return x * 2

    a, seen = leaf(T), []
    for reentrant in (True, False):
        def run():
            out = checkpoint(T, off, a, use_reentrant=reentrant)
            (out + a).sum().backward()
        seen.append(told(run))
    checkpoint(T, T.exp, T.ones(3), use_reentrant=True)
    return seen, a.grad, checkpoint(T, T.exp, T.ones(3)).requires_grad


@program
def saved_twice_in_a_function(T):
    class Twice(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            seen.append(told(lambda: ctx.saved_tensors))
            return g * y, g * x

    seen = []
    a = leaf(T)
    checkpoint(T, lambda x: Twice.apply(x * 2, x * 3), a).sum().backward()
    return seen, a.grad


@program
def every_look_computes_anew(T):
    count = []

    def run(x):
        count.append(1)
        return T.exp(x)

    d = checkpoint(T, run, leaf(T))
    seen = [len(count)]
    for _ in range(2):
        d.grad_fn._saved_result  # noqa: B018
        seen.append(len(count))
    d.sum().backward()
    return seen, len(count), told(lambda: d.grad_fn._saved_result)


@program
def identity_and_hooks(T):
    class Save(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(y)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            got.append(ctx.saved_tensors[0] is b)
            return g, None

    got, count = [], []
    a, b = T.tensor(1.0, requires_grad=True), T.tensor(1.0)
    checkpoint(T, Save.apply, a, b).backward()
    w, x = leaf(T), leaf(T)
    w.register_hook(lambda g: count.append(1))
    checkpoint(T, lambda h: w * h, w * x).sum().backward()
    return got, count, w.grad


@program
def different_the_second_time(T):
    def three(x):
        return x.sin().exp().sin()

    def two(x):
        return x.sin().exp()

    def other(x):
        return x.sin() * T.tensor([1.0, 2.0])

    def first_then(first, second):
        calls = []

        def run(x):
            calls.append(1)
            return first(x) if len(calls) == 1 else second(x)

        return run

    a = leaf(T, 1.0)
    early, debug = T.utils.checkpoint.set_checkpoint_early_stop, T.utils.checkpoint.set_checkpoint_debug_enabled

    def with_(context, first, second, **options):
        def run():
            with context:
                checkpoint(T, first_then(first, second), a, **options).sum().backward()
        return told(run)

    none = contextlib.nullcontext()
    return [with_(none, three, two), with_(early(False), two, three), with_(none, two, three), with_(none, two, other),
            with_(none, two, other, debug=True),
            with_(debug(True), two, other), with_(debug(False), two, other, debug=True)]


@program
def groups_of_backwards(T):
    def run(grouped):
        count = []

        def fn(x):
            count.append(1)
            y = x.sin().cos()
            return y, y.sin().cos()

        x = leaf(T)
        y, z = checkpoint(T, fn, x)
        with T.utils.checkpoint.GraphExecGroup() if grouped else contextlib.nullcontext():
            (gy,) = T.autograd.grad(z, y, T.ones(3))
            (gx,) = T.autograd.grad(y, x, gy)
        return len(count), gx

    def overlapping():
        out = checkpoint(T, lambda x: x.sin().cos(), leaf(T))
        with T.utils.checkpoint.GraphExecGroup():
            out.sum().backward(retain_graph=True)
            out.sum().backward()

    return run(True), run(False), told(overlapping)


@program
def contexts(T):
    log = []

    @contextlib.contextmanager
    def note(name):
        log.append(name)
        yield

    a = leaf(T)
    out = checkpoint(T, T.exp, a, context_fn=lambda: (note("forward"), note("again")))
    log.append("between")
    out.sum().backward()
    return log, a.grad


@program
def many_small_ones(T):
    T.manual_seed(0)
    module = T.nn.Sequential(T.nn.Linear(4, 8), T.nn.ReLU(), T.nn.Linear(8, 4))
    seen = []
    for reentrant in (True, False):
        module.zero_grad()
        parts = [checkpoint(T, module, T.full((1, 4), float(i), requires_grad=True), use_reentrant=reentrant) for i in range(5)]
        T.stack(parts).mean().backward()
        seen += [p.grad.clone() for p in module.parameters()]
    return seen


@parity(PROGRAMS)
def test_program(program):
    same(program)


@MODULES
def test_early_stop_frees_what_was_computed_again(T):
    refs = []

    class Save(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.clone()
            ctx.save_for_backward(y)
            refs.append(weakref.ref(y))
            return y

        @staticmethod
        def backward(ctx, g):
            ctx.saved_tensors  # noqa: B018
            return

    def scope():
        checkpoint(T, Save.apply, T.ones(3, requires_grad=True)).sum().backward()

    with no_collector():
        scope()
        assert [ref() for ref in refs] == [None] * len(refs)


def test_training_is_the_same_bit_for_bit_and_needs_less():
    """`python -m benchmarks.checkpointing` measures it at a larger size, beside torch."""
    def train(use_reentrant):
        whygrad.manual_seed(0)
        blocks = [whygrad.nn.Sequential(whygrad.nn.Linear(32, 32), whygrad.nn.Tanh(), whygrad.nn.Dropout(0.2)) for _ in range(20)]
        parameters = [p for block in blocks for p in block.parameters()]
        optimizer = whygrad.optim.SGD(parameters, lr=0.1)
        x = whygrad.randn(256, 32, requires_grad=True)

        def step():
            h = x
            for block in blocks:
                h = block(h) if use_reentrant is None else checkpoint(whygrad, block, h, use_reentrant=use_reentrant)
            optimizer.zero_grad()
            (h * h).mean().backward()
            optimizer.step()

        for _ in range(3):
            step()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        step()
        peak = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
        return [p.detach().numpy().tobytes() for p in parameters], peak

    plain, most = train(None)
    for use_reentrant in (False, True):
        values, peak = train(use_reentrant)
        assert values == plain
        assert peak < 0.7 * most


def test_saved_bytes():
    """What is kept between forward and backward: the arguments, not what was computed from them."""
    def kept(checkpointed):
        held = []
        x = whygrad.ones(1000, requires_grad=True)

        def run(x):
            for _ in range(10):
                x = x.sin()
            return x

        out = checkpoint(whygrad, run, x) if checkpointed else run(x)
        pending = [out.grad_fn]
        while pending:
            node = pending.pop()
            held += [part for part in node.saved if hasattr(part, "nbytes")] if type(node.saved) is tuple else []
            pending += [following for following, _ in node.next_functions if following is not None and following.next_functions]
        return sum([array.nbytes for array in held])

    assert kept(True) == 0
    assert kept(False) == 10 * 4000
