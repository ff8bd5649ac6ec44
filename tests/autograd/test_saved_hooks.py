"""saved_tensors_hooks and relatives: what pack and unpack see, and that gradients stay the same."""

from __future__ import annotations

import weakref

from parity import MODULES, collect, leaf, no_collector, parity, same, short_leaf, told

import whygrad

PROGRAMS = []
program = collect(PROGRAMS)


def logging_hooks(torch, log):
    def pack(t):
        log.append(("pack", t, torch.is_grad_enabled()))
        return len(log) - 1, t.detach().clone()

    def unpack(packed):
        log.append(("unpack", packed[0], torch.is_grad_enabled()))
        return packed[1]

    return torch.autograd.graph.saved_tensors_hooks(pack, unpack)


@program
def pack_and_unpack(torch):
    log = []
    x, w = short_leaf(torch), short_leaf(torch, 3.0, 4.0)
    with logging_hooks(torch, log):
        y = (x * w).exp()
        z = (y * 2 + x).sum()
    z.backward()
    return log, x.grad, w.grad


@program
def inputs_are_the_very_objects(torch):
    seen = []
    x = short_leaf(torch)
    a = x * 2
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (seen.append(t is a), t)[1], lambda t: t):
        y = a * a
        z = a.exp()
    (y + z).sum().backward()
    return seen, x.grad


@program
def outputs_have_their_history(torch):
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (seen.append(t), t.detach())[1], lambda t: t):
        y = short_leaf(torch).exp()
    return seen, y.grad_fn._saved_result


@program
def second_derivatives(torch):
    log = []
    x = short_leaf(torch)
    with logging_hooks(torch, log):
        y = (x * x * x).sum()
        first, = torch.autograd.grad(y, x, create_graph=True)
        count = len(log)
        second, = torch.autograd.grad(first.sum(), x)
    return first, second, count, len(log)


@program
def second_derivatives_with_other_objects(torch):
    """The hook gives back new tensors: they must still lead to the leaf and to the intermediate value."""
    x = short_leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        a = x.exp()
        y = (a * a * x).sum()
    first, = torch.autograd.grad(y, x, create_graph=True)
    return first, torch.autograd.grad(first.sum(), x)


@program
def a_hook_that_changes_the_value(torch):
    x = short_leaf(torch)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 10, lambda t: t):
        y = (x * x).sum()
    y.backward()
    return x.grad


@program
def the_innermost_pair_wins(torch):
    log = []
    x = short_leaf(torch)
    hooks = torch.autograd.graph.saved_tensors_hooks
    with hooks(lambda t: (log.append("outer"), t)[1], lambda t: t):
        x.exp()
        with hooks(lambda t: (log.append("inner"), t)[1], lambda t: t):
            x.exp()
        x.exp()
    x.exp()
    return log


@program
def custom_functions(torch):
    log = []

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, k):
            out, between = a * k, a + 1
            ctx.save_for_backward(a, out, between, None)
            return out

        @staticmethod
        def backward(ctx, g):
            a, out, between, nothing = ctx.saved_tensors
            log.append(("backward", a, out, between, nothing))
            return g * a * out, None

    x = short_leaf(torch)
    with logging_hooks(torch, log):
        y = F.apply(x, 3)
    y.sum().backward(retain_graph=True)
    assert len(y.grad_fn.saved_tensors) == 4
    first, = torch.autograd.grad(y.sum(), x, create_graph=True)
    return log, x.grad, first, torch.autograd.grad(first.sum(), x)


@program
def in_place_operations(torch):
    log = []
    x = short_leaf(torch)
    with logging_hooks(torch, log):
        y = x * 2
        y.exp_()
        y.mul_(x)
    y.sum().backward()
    return [entry[0] for entry in log], x.grad


@program
def a_saved_value_changed_behind_hooks_is_not_noticed(torch):
    x = short_leaf(torch)
    a = torch.ones(2)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = (x * a).sum()
    a.add_(1)
    y.backward()
    return x.grad


@program
def unpack_gives_a_number(torch):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = short_leaf(torch).exp()
    y.sum().backward()


@program
def pack_writes_in_place(torch):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t), torch.no_grad():
        pass
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
        short_leaf(torch).exp()


@program
def pack_fails(torch):
    def pack(t):
        raise KeyError("pack")

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        short_leaf(torch).exp()


@program
def unpack_fails(torch):
    def unpack(t):
        raise KeyError("unpack")

    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = short_leaf(torch).exp()
    y.sum().backward()


@program
def the_wrong_number_of_parameters(torch):
    def pack(a, b):
        return a

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        short_leaf(torch).exp()


@program
def numbers_are_not_packed(torch):
    log = []
    x = short_leaf(torch)
    with logging_hooks(torch, log):
        (x * 2 + 3).sum()
    return log


@program
def nothing_is_packed_without_grad_mode(torch):
    log = []
    with logging_hooks(torch, log), torch.no_grad():
        short_leaf(torch).exp()
    return log


@program
def unpacked_again_with_retain_graph(torch):
    log = []
    x = short_leaf(torch)
    with logging_hooks(torch, log):
        y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    return [entry[0] for entry in log], x.grad, y.grad_fn.next_functions[0][0]._saved_result


@program
def left_in_another_order(torch):
    hooks = torch.autograd.graph.saved_tensors_hooks
    first, second = hooks(lambda t: t * 1, lambda t: t), hooks(lambda t: t * 100, lambda t: t)
    first.__enter__()
    second.__enter__()
    first.__exit__()
    x = short_leaf(torch)
    y = x.exp()
    second.__exit__()
    y.sum().backward()
    return x.grad


@program
def rows_with_any_number_of_arguments(torch):
    log = []
    x, w = short_leaf(torch), short_leaf(torch)
    with logging_hooks(torch, log):
        y = torch.cat([x, w * w, x])
    (y * y).sum().backward()
    return [entry[0] for entry in log], x.grad, w.grad


@program
def disabled(torch):
    with torch.autograd.graph.disable_saved_tensors_hooks("mine"), torch.autograd.graph.saved_tensors_hooks(
            lambda t: t, lambda t: t):
        pass


@program
def disabled_inside(torch):
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    with hooks, torch.autograd.graph.disable_saved_tensors_hooks("mine"):
        pass


@program
def disabled_in_layers(torch):
    disable, hooks = torch.autograd.graph.disable_saved_tensors_hooks, torch.autograd.graph.saved_tensors_hooks
    texts = []

    def attempt():
        try:
            with hooks(lambda t: t, lambda t: t):
                texts.append("entered")
        except RuntimeError as error:
            texts.append(str(error))

    with disable("outer"):
        with disable("inner"):
            attempt()
        attempt()
    attempt()
    return texts


@program
def save_on_cpu(torch):
    x = short_leaf(torch)
    results = []
    for pinned in (False, True):
        with torch.autograd.graph.save_on_cpu(pin_memory=pinned):
            y = (x.exp() * x).sum()
        results += torch.autograd.grad(y, x)
    return results


@program
def raw_saved_tensors_of_a_function(torch):
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * 1

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = short_leaf(torch)
    y = F.apply(x)
    y.grad_fn._raw_saved_tensors[0].register_hooks(lambda t: t * 10, lambda t: t)
    y.sum().backward()
    return x.grad


@program
def register_hooks_wants_functions(torch):
    y = short_leaf(torch).exp()
    y.grad_fn._raw_saved_result.register_hooks(1, 1)


def test_packed_values_die_with_the_graph():
    class Token:
        pass

    kept = []

    def pack(t):
        token = Token()
        kept.append(weakref.ref(token))
        return token, t.detach()

    x = short_leaf(whygrad)
    with whygrad.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed[1]):
        y = x.exp().sum()
    assert kept[0]() is not None
    y.backward()
    assert kept[0]() is None


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
def disabled_inside_and_outside(T):
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
def flags_of_what_custom_functions_saved(T):
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


@parity(PROGRAMS)
def test_saved_hooks(program):
    same(program)
