"""Views and in-place on views."""

from __future__ import annotations

import gc
import time
import weakref
from itertools import product

from parity import MODULES, collect, leaf, no_collector, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


@program
def through_base_view_and_view_of_view(T):
    seen = []
    for narrow in (lambda x: (x.narrow(0, 0, 1), x), lambda x: (x.narrow(0, 0, 1), x.narrow(0, 0, 1)),
                   lambda x: (x.narrow(0, 0, 1).narrow(1, 1, 1), x)):
        root = T.arange(4.0).reshape(2, 2).requires_grad_()
        written, used = narrow(root.clone())
        written.mul_(2)
        used.sum().backward()
        seen.append(root.grad)
    return seen


@program
def kinds_of_nodes(T):
    x = leaf(T, 1, 2, 3, 4).clone()
    view, other = x[:2], x.view(2, 2)
    first = type(view.grad_fn).__name__, type(other.grad_fn).__name__
    view.mul_(2)
    return first, [type(t.grad_fn).__name__ for t in (x, view, other)], view._base is x, x._is_view()


@program
def the_original_views_when_forced(T):
    def written(x):
        out = x.clone().view(-1)
        out.add_(1)
        return type(out.grad_fn).__name__

    x, seen = T.ones(2, 2, requires_grad=True), []
    for force in (False, True):
        with T.autograd._force_original_view_tracking(force):
            seen += [written(x), T.autograd.is_view_replay_enabled()]
    switch = T.autograd._force_original_view_tracking(True)
    seen += [T.autograd.is_view_replay_enabled(), written(x)]
    with switch:
        seen.append(written(x))
    seen.append(T.autograd.is_view_replay_enabled())
    decorated = T.autograd._force_original_view_tracking(True)(written)
    seen += [T.autograd.is_view_replay_enabled(), decorated(x), T.autograd.is_view_replay_enabled()]
    return seen


@program
def a_base_that_is_not_contiguous(T):
    root = T.ones(2, 3, 2).select(2, 1).t().requires_grad_(True)
    x = root.clone()
    x.narrow(0, 0, 1).narrow(1, 1, 1).mul_(2)
    x.sum().backward()
    return root.grad


@program
def several_writes_and_second_derivatives(T):
    a = T.arange(16.0, dtype=T.float64).reshape(4, 4).requires_grad_()
    b = T.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=T.float64, requires_grad=True)
    x = a.clone()
    x.narrow(1, 2, 2).narrow(0, 1, 2).mul_(b)
    x.narrow(1, 0, 2).narrow(0, 1, 2).mul_(b)
    (g,) = T.autograd.grad((x * x).sum(), b, create_graph=True)
    return g.detach(), T.autograd.grad(g.sum(), (a, b))


@program
def the_base_starts_to_require_grad(T):
    x = T.ones(4, 4)
    before = x.requires_grad
    x.narrow(1, 2, 2).mul_(T.full((4, 2), 3.0, requires_grad=True))
    y = T.ones(5)
    view = y.select(0, 1)
    seen = [view.requires_grad, view.grad_fn]
    r = leaf(T, 1)
    y.add_(r)
    seen.append(view.requires_grad)
    view.backward()
    a, b = T.tensor([2.0, 5.0]), leaf(T, 3)
    a.narrow(0, 1, 1).mul_(b).sum().backward()
    return before, x.requires_grad, seen, r.grad, b.grad, a.grad


@program
def multi_output_views(T):
    seen = []
    for split in (lambda t: t.unbind(), lambda t: t.split(1), lambda t: t.split_with_sizes((1, 1, 1)), lambda t: t.chunk(3)):
        parts = split(leaf(T) + 1)
        seen += [told(lambda: parts[0].mul_(parts[1])), told(lambda: parts[1].view_as(parts[1]).mul_(2))]
    for split in (lambda t: t.unsafe_split(1), lambda t: t.unsafe_split_with_sizes((1, 1, 1)), lambda t: t.unsafe_chunk(3)):
        x = leaf(T)
        first, second, _ = split(x + x)
        first.mul_(second)
        first.sum().backward()
        seen.append(x.grad)
    a = T.rand(10, requires_grad=True).clone()
    return seen, told(lambda: a.view_as(a).unbind(0)[0].mul_(2))


@program
def views_by_grad_mode(T):
    seen = []
    for grad_mode, requires_grad in product((True, False), repeat=2):
        inp = T.ones(2, requires_grad=requires_grad).clone()
        with T.set_grad_enabled(grad_mode):
            one, many = inp.view_as(inp), inp.unbind()
        seen += [one._is_view(), many[0]._is_view(), told(lambda: one.add_(1)), told(lambda: many[0].add_(1)),
                 told(lambda: many[1].add_(1))]
    return seen


@program
def in_place_views(T):
    class Alias(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return g

    operations = (lambda v: v.as_strided_((1, 0), (2, 2)), lambda v: v.transpose_(0, 0), lambda v: v.t_(),
                  lambda v: v.squeeze_(0), lambda v: v.unsqueeze_(0), lambda v: v.swapdims_(0, 0), lambda v: v.swapaxes_(0, 0))
    kinds = (lambda b: b.view_as(b), lambda b: b.unbind()[0], Alias.apply)
    seen = []
    for operation, kind, first, second, requires_grad in product(operations, kinds, *[(True, False)] * 3):
        base = T.ones(2, 3, requires_grad=requires_grad).clone()
        with T.set_grad_enabled(first):
            view = kind(base)
        with T.set_grad_enabled(second):
            seen.append(told(lambda: operation(view)))
        seen.append(told(lambda: view.add_(1)))
    return seen


@program
def views_of_views_made_elsewhere(T):
    seen = []
    for mode in (T.no_grad, T.inference_mode):
        x = T.zeros(2)
        with mode():
            y = x.view(2)
        y.requires_grad_(True)
        z = y.view(2)
        seen.append(told(lambda: z.div_(2)))
    return seen


@program
def views_from_custom_functions(T):
    calls = []

    class IdOneOutput(T.autograd.Function):
        @staticmethod
        def forward(ctx, a, make_view, pure):
            ctx._is_pure_view = pure
            return a.narrow(0, 0, 2) if make_view else a.clone()

        @staticmethod
        def backward(ctx, g):
            calls.append("one")
            return g, None, None

    class IdTwoOutput(T.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, make_view, pure):
            ctx._is_pure_view = pure
            a = a.narrow(0, 0, 2) if make_view else a.clone()
            return a, a + b

        @staticmethod
        def backward(ctx, ga, gab):
            calls.append("two")
            return ga + gab, gab, None, None

    class ViewOfTemp(T.autograd.Function):
        @staticmethod
        def forward(ctx, a, make_view, pure):
            ctx._is_pure_view = pure
            ctx.save_for_backward(a)
            return a.clone().select(0, 0)

        @staticmethod
        def backward(ctx, g):
            calls.append("temporary")
            result = T.zeros_like(ctx.saved_tensors[0])
            result.select(0, 0).copy_(g)
            return result, None, None

    seen = []
    for kind, inplace, make_view, pure in product(("one", "two", "temporary"), *[(True, False)] * 3):
        a, b = T.ones(2, requires_grad=True), T.ones(2, requires_grad=True)

        def run():
            x, y = a.clone(), b.clone()
            if kind == "two":
                results = IdTwoOutput.apply(x, y, make_view, pure)
            else:
                results = (IdOneOutput.apply(x, make_view, pure) if kind == "one" else ViewOfTemp.apply(x + y, make_view, pure),)
            results = [r.add_(3) if inplace else r + 3 for r in results]
            sum([(r * r).sum() for r in results]).backward()

        calls.clear()
        seen.append((kind, inplace, make_view, pure, told(run), list(calls), a.grad, b.grad))
    return seen


@program
def a_custom_function_that_writes(T):
    class Add(T.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.mark_dirty(a)
            return a.add_(b)

        @staticmethod
        def backward(ctx, g):
            return g, g

    a, b = T.ones(4, 4, requires_grad=True), T.ones(2, 2, requires_grad=True)
    x = a.clone()
    Add.apply(x.narrow(1, 2, 2).narrow(0, 1, 2), b)
    Add.apply(x.narrow(1, 0, 2).narrow(0, 1, 2), b)
    (x * x).sum().backward()
    first, _ = leaf(T, 1, 2).split_with_sizes([1, 1])
    return a.grad, b.grad, told(lambda: Add.apply(first, T.ones(1))), told(lambda: Add.apply(leaf(T).view_as(leaf(T)), T.ones(3)))


@program
def dirty_views_of_temporaries(T):
    class Temporary(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x.clone().view_as(x)
            ctx.mark_dirty(out)
            return out

        @staticmethod
        def backward(ctx, g):
            return None

    return told(lambda: Temporary.apply(leaf(T).clone()))


@program
def a_write_whose_other_input_gets_nothing(T):
    class Double(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, other):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2, None

    a, b = leaf(T, 1), T.tensor(1.0, requires_grad=True)
    Double.apply(a.clone()[:], b).backward()
    return a.grad, b.grad


@program
def a_view_returned_under_no_grad(T):
    class Alias(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x[:]

        @staticmethod
        def backward(ctx, g):
            return g

    x = leaf(T)
    with T.no_grad():
        y, plain = Alias.apply(x), x[:]
    return y.requires_grad, plain.requires_grad, told(lambda: y.zero_())


@program
def complex_and_real_views(T):
    seen = []
    x = T.tensor([[1 + 1j, 2 - 1j], [0.5j, 3]], requires_grad=True)
    b = T.view_as_real(x.clone()).transpose(0, 1)
    b += 1
    b.backward(T.arange(8.0).view(2, 2, 2))
    seen.append(x.grad)
    c = T.tensor([1 + 1j], requires_grad=True).clone()
    real = c.real
    c.add_(1)
    with T.no_grad():
        seen.append(type(real.grad_fn).__name__)
    return seen


@program
def histories_looked_at_under_no_grad(T):
    a = T.ones(3, 1, dtype=T.float64, requires_grad=True)
    c = (a * 2).view_as(a)
    c[0][0] = 3
    with T.no_grad():
        c.grad_fn  # noqa: B018
    c.sum().backward()
    return a.grad


@program
def relu_in_place_on_views(T):
    net = T.nn.Sequential(T.nn.InstanceNorm2d(2), T.nn.ReLU(True))
    x = T.tensor([[[[1.0, 1.0]]]], requires_grad=True)
    seen = [told(lambda: net(x))]
    inputs = T.ones(1, 3, 4, 4, requires_grad=True)
    between = T.nn.functional.threshold((inputs + 1).view_as(inputs), 0.0, 0.0, True)
    (g,) = T.autograd.grad(T.sigmoid(between), inputs, T.ones(1, 3, 4, 4), create_graph=True)
    penalty = g.sum()
    penalty.backward()
    following = penalty.grad_fn.next_functions[0][0].next_functions
    a = T.arange(4.0, requires_grad=True)
    b = a.narrow(0, 0, 2).clone().view(-1)
    b.relu_()
    c = b.clone()
    del b
    c.sum().backward()
    return seen, [None if node is None else node.name() for node, _ in following], a.grad


@program
def errors_that_wait_behind_a_write(T):
    x, y = leaf(T), leaf(T)
    base = x.clone().view(-1)
    base += T._C._functions.DelayedError("Boom!", 1)(y)
    return told(lambda: base.sum().backward())


@program
def a_complex_view_from_a_custom_function(T):
    class ComplexView(T.autograd.Function):
        @staticmethod
        def forward(ctx, a, real):
            ctx.real = real
            return T.view_as_real(a) if real else a.view_as(a)

        @staticmethod
        def backward(ctx, g):
            return (T.view_as_complex(g.contiguous()) if ctx.real else g), None

    z = T.tensor([1 + 1j, 2.0], requires_grad=True)
    return [told(lambda: ComplexView.apply(z.clone(), real).mul_(2)) for real in (False, True)], T.autograd.grad(
        ComplexView.apply(z.clone(), True).sum(), z)[0].resolve_conj()


@parity(PROGRAMS)
def test_program(program):
    same(program)


@MODULES
def test_a_written_view_that_saved_its_output_is_freed(T):
    freed = []

    class Token:
        def __del__(self):
            freed.append(1)

        def __call__(self, *args):
            pass

    def scope():
        copy = T.randn(3, 3, requires_grad=True).clone()
        copy.grad_fn.register_hook(Token())
        T.nn.functional.relu(copy.view(9), inplace=True)

    with no_collector():
        scope()
        assert freed == [1]


@MODULES
def test_a_cycle_that_holds_a_view_is_no_danger(T):
    def scope():
        x = T.randn(10, requires_grad=True)
        between = x.view(10, 1)
        cycle = [between]
        cycle.append(cycle)
        return between.view(10), weakref.ref(x)

    out, _ = scope()
    gc.collect()
    out.backward(T.ones(10))


@MODULES
def test_a_chain_of_views_takes_the_same_time_per_view(T):
    x = T.zeros(4, requires_grad=True)
    y = x * 1
    view = y
    started = time.process_time()
    for _ in range(100_000):
        view = view[:]
    view.add_(1)
    assert time.process_time() - started < 10  # 0.7 s; as the square of the length it was 84 s
    assert (y.tolist(), y._version) == ([1, 1, 1, 1], 1)
