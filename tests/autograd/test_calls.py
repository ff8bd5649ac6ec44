"""backward() and grad(): arguments, errors, what ends up in `.grad`, higher orders, re-entrant calls, deep graphs."""

from __future__ import annotations

import collections
import gc
import random
import weakref
from collections import OrderedDict

import pytest
import torch
from parity import collect, leaf, parity, same, short_leaf, told

import whygrad

PROGRAMS = []
program = collect(PROGRAMS)


@program
def accumulation(torch):
    x = short_leaf(torch)
    (x * x).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    return first is x.grad, x.grad


@program
def accumulation_with_a_graph(torch):
    x = short_leaf(torch)
    (x * x * x).sum().backward(create_graph=True)
    first = x.grad
    kept = first.detach().clone()
    (x * x).sum().backward(create_graph=True)
    second, = torch.autograd.grad(x.grad.sum(), x)
    return first is x.grad, first, kept, x.grad, second, first.grad_fn.next_functions


@program
def a_gradient_that_needs_no_graph(torch):
    x = short_leaf(torch)
    (x * 2).sum().backward(create_graph=True)
    return x.grad


@program
def several_roots(torch):
    x = short_leaf(torch)
    y = x * 2
    z = y * y
    torch.autograd.backward([y, z.sum(), z.sum(), y.sum()], [torch.ones(2), None, torch.tensor(2.0), None])
    return x.grad


@program
def a_leaf_as_root(torch):
    x, s = short_leaf(torch), torch.tensor(2.0, requires_grad=True)
    g = torch.ones(2)
    x.backward(g)
    s.backward()
    g.mul_(5)
    return x.grad, s.grad, torch.autograd.grad(x, x, torch.ones(2) * 3)


@program
def a_result_as_root_and_input(torch):
    y = short_leaf(torch) * 2
    return torch.autograd.grad(y, y, torch.ones(2) * 3)


@program
def limited_to_inputs(torch):
    x, w = short_leaf(torch), short_leaf(torch)
    y = x * w
    z = (y * y).sum()
    z.backward(inputs=[x], retain_graph=True)
    seen = [x.grad.clone(), w.grad]
    z.backward(inputs=y, retain_graph=True)
    seen += [y.grad.clone(), y.retains_grad, w.grad]
    z.backward(inputs=(x, y), retain_graph=True)
    z.backward(inputs={"a": x}, retain_graph=True)
    z.backward(inputs=[x, x], retain_graph=True)
    z.backward(inputs=[short_leaf(torch)])
    return seen, x.grad, y.grad


@program
def nodes_off_the_path_do_not_run(torch):
    log = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, name):
            ctx.mark = name
            return a * 1

        @staticmethod
        def backward(ctx, g):
            log.append(ctx.mark)
            return g, None

    x, w = short_leaf(torch), short_leaf(torch)
    a, b = Watched.apply(x, "a"), Watched.apply(w, "b")
    c = Watched.apply(a * b, "c")
    torch.autograd.grad(c.sum(), x, retain_graph=True)
    torch.autograd.grad(c.sum(), a, retain_graph=True)
    c.sum().backward(inputs=[w])
    return log


@program
def a_captured_node_is_not_freed(torch):
    x = short_leaf(torch)
    y = x * x
    torch.autograd.grad((y * y).sum(), y)
    return torch.autograd.grad(y.sum(), x)


@program
def dict_inputs(torch):
    x, w = short_leaf(torch), short_leaf(torch)
    result = torch.autograd.grad((x * w).sum(), {"x": x, 3: w})
    return type(result).__name__, result


@program
def unused_inputs(torch):
    x, w = short_leaf(torch), short_leaf(torch)
    return (torch.autograd.grad(x.sum(), [x, w], allow_unused=True),
            torch.autograd.grad(x.sum(), [x, w], materialize_grads=True),
            torch.autograd.grad((x * x).sum(), [x, w], materialize_grads=True, create_graph=True))


def error(name, run):
    def program(torch):
        return run(torch, short_leaf(torch))

    program.__name__ = name
    return program


def complex_sum(torch, x):
    return (x * torch.tensor([1j, 1j])).sum()


PROGRAMS += [error(name, run) for name, run in {
    "unused_at_0": lambda torch, x: torch.autograd.grad(x.sum(), short_leaf(torch)),
    "unused_at_1": lambda torch, x: torch.autograd.grad(x.sum(), [x, short_leaf(torch)]),
    "unused_in_a_dict": lambda torch, x: torch.autograd.grad(x.sum(), {"a": x, "b": short_leaf(torch)}),
    "untracked_input": lambda torch, x: torch.autograd.grad(x.sum(), [x, torch.ones(2)], allow_unused=True),
    "untracked_input_of_backward": lambda torch, x: x.sum().backward(inputs=[torch.ones(2)]),
    "number_as_input": lambda torch, x: torch.autograd.grad(x.sum(), [3]),
    "text_as_input": lambda torch, x: torch.autograd.grad(x.sum(), "ab"),
    "no_inputs": lambda torch, x: torch.autograd.grad(x.sum(), []),
    "no_inputs_of_backward": lambda torch, x: x.sum().backward(inputs=[]),
    "ordered_dict": lambda torch, x: torch.autograd.grad(x.sum(), OrderedDict(x=x)),
    "ordered_dict_of_backward": lambda torch, x: x.sum().backward(inputs=OrderedDict(x=x)),
    "materialize_without_unused": lambda torch, x: torch.autograd.grad(
        x.sum(), x, allow_unused=False, materialize_grads=True),
    "not_a_scalar": lambda torch, x: (x * 2).backward(),
    "not_a_scalar_in_a_list": lambda torch, x: torch.autograd.backward([x * 2, x.sum()], [None, None]),
    "not_real": lambda torch, x: complex_sum(torch, x).backward(),
    "untracked": lambda torch, x: torch.ones(()).backward(),
    "untracked_second": lambda torch, x: torch.autograd.backward([x.sum(), torch.ones(())]),
    "untracked_not_a_scalar": lambda torch, x: torch.autograd.backward([torch.ones(3)]),
    "untracked_with_a_gradient": lambda torch, x: torch.ones(2).backward(torch.ones(2)),
    "gradient_of_another_shape": lambda torch, x: torch.autograd.grad(x * 2, x, torch.ones(3)),
    "gradient_of_another_rank": lambda torch, x: torch.autograd.grad((x * 2).view(1, 2), x, torch.ones(2)),
    "gradient_that_is_complex": lambda torch, x: torch.autograd.grad(x.sum(), x, torch.tensor(1j)),
    "gradient_that_is_not_complex": lambda torch, x: torch.autograd.grad(complex_sum(torch, x), x, torch.tensor(1.0)),
    "gradient_that_is_a_number": lambda torch, x: torch.autograd.grad(x.sum(), x, 3),
    "gradients_that_are_numbers": lambda torch, x: torch.autograd.grad(x.sum(), x, [3]),
    "gradient_that_is_text": lambda torch, x: torch.autograd.backward(x.sum(), "a"),
    "too_few_gradients": lambda torch, x: torch.autograd.grad([x.sum(), x.sum()], x, [torch.tensor(1.0)]),
    "no_gradients": lambda torch, x: torch.autograd.grad([x.sum()], x, []),
    "more_gradients_than_roots": lambda torch, x: torch.autograd.grad([x.sum()], x, [torch.tensor(1.0)] * 2),
    "no_roots": lambda torch, x: torch.autograd.backward([]),
    "no_roots_of_grad": lambda torch, x: torch.autograd.grad([], x),
    "number_as_root": lambda torch, x: torch.autograd.grad(3, x),
    "numbers_as_roots": lambda torch, x: torch.autograd.grad([3], x),
    "old_name_of_gradients": lambda torch, x: torch.autograd.backward(x.sum(), grad_variables=[torch.tensor(1.0)]),
    "both_names_of_gradients": lambda torch, x: torch.autograd.backward(
        x.sum(), torch.tensor(1.0), grad_variables=[None]),
    "only_inputs": lambda torch, x: torch.autograd.grad(x.sum(), x, only_inputs=False),
    "double_gradient": lambda torch, x: torch.autograd.grad(x.sum(), x, torch.ones((), dtype=torch.float64)),
    "integer_gradient": lambda torch, x: torch.autograd.grad(x.sum(), x, torch.ones((), dtype=torch.int64)),
    "batched": lambda torch, x: torch.autograd.grad(
        x * x, x, torch.tensor([[1.0, 0.0], [0.0, 3.0]]), is_grads_batched=True),
    "batched_wrong": lambda torch, x: torch.autograd.grad(x * x, x, torch.ones(2), is_grads_batched=True),
}.items()]


@program
def walked_twice(torch):
    y = (short_leaf(torch) * short_leaf(torch)).sum()
    y.backward()
    y.backward()


@program
def walked_twice_where_nothing_is_saved(torch):
    x = short_leaf(torch)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    return x.grad


@program
def walked_twice_on_purpose(torch):
    x = short_leaf(torch)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=1)
    y.backward()
    return x.grad


@program
def create_graph_keeps_the_graph(torch):
    x = short_leaf(torch)
    y = (x * x).sum()
    torch.autograd.grad(y, x, create_graph=True)
    torch.autograd.grad(y, x, create_graph=True, retain_graph=False)
    return torch.autograd.grad(y, x)


@program
def third_derivative(torch):
    x = short_leaf(torch)
    y = (x * x * x * x).sum()
    results = []
    for _ in range(4):
        y, = torch.autograd.grad(y.sum(), x, create_graph=True)
        results.append(y.detach())
    return results


@program
def hessian_vector_product(torch):
    x, v = short_leaf(torch), torch.tensor([3.0, -1.0])
    first, = torch.autograd.grad(((x * x).sum() * x.exp()).sum(), x, create_graph=True)
    by_grad, = torch.autograd.grad(first, x, v, retain_graph=True)
    (first * v).sum().backward()
    return by_grad, x.grad


@program
def gradients_of_gradients_of_the_weights_of_a_root(torch):
    x, w = short_leaf(torch), short_leaf(torch)
    first, = torch.autograd.grad(x * x, x, w, create_graph=True)
    plain, = torch.autograd.grad(x * x, x, w)
    return first, torch.autograd.grad(first.sum(), [x, w]), plain


@program
def in_shards(torch):
    x = short_leaf(torch)
    a, b = x * 2, x.exp()
    first = torch.autograd.grad((a * b).sum(), [a, b])
    torch.autograd.backward([a, b], first)
    return x.grad


@program
def variables(torch):
    x = short_leaf(torch)
    Variable = torch.autograd.Variable
    alias = Variable(x, requires_grad=True)
    return (alias is x, alias, Variable(x), isinstance(x, Variable), isinstance(3, Variable),
            torch.autograd.variable.Variable is Variable, Variable(torch.ones(2), volatile=True), Variable(3),
            torch.ones(2).volatile, setattr(torch.ones(2), "volatile", True), torch.autograd.torch is torch)


@program
def the_old_function_variable(torch):
    torch.autograd.variable(3)


@program
def frozen_after_forward(torch):
    x, w = short_leaf(torch), short_leaf(torch)
    y = (x * w).sum()
    x.requires_grad_(False)
    y.backward()
    return x.grad, w.grad


@program
def grads_of_other_dtypes_are_cast(torch):
    x = short_leaf(torch)
    w = torch.ones(2, dtype=torch.float64, requires_grad=True)
    (x * w).sum().backward()
    return x.grad, w.grad


@program
def gradients_are_the_users_own(torch):
    x, w = short_leaf(torch), short_leaf(torch)
    g = torch.ones(2)
    (x + w).backward(g)
    g.mul_(9)
    x.grad.mul_(5)
    y = x + 0
    (y + w).sum().backward()
    x.grad.add_(1)
    return x.grad, w.grad, g


@program
def an_expanded_gradient_is_written(torch):
    x = short_leaf(torch)
    x.sum().backward()
    x.grad.mul_(3)
    x.sum().backward()
    return x.grad, x.grad.stride()


@program
def layout_of_grad(torch):
    a = torch.ones(2, 3).t().requires_grad_()
    b = torch.ones(1, 3).expand(2, 3).requires_grad_()
    (a * a).sum().backward()
    (b * b).sum().backward()
    return a.grad.stride(), b.grad.stride(), a.grad, b.grad


@program
def empty_tensors(torch):
    x = torch.ones(0, 3, requires_grad=True)
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    return x.grad


@program
def mode_during_backward(torch):
    seen = []

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            seen.append((torch.is_grad_enabled(), g.requires_grad))
            return g * 2

    x = short_leaf(torch)
    y = F.apply(x)
    y.sum().backward(retain_graph=True)
    with torch.no_grad():
        y.sum()
        torch.autograd.grad(y, x, torch.ones(2), retain_graph=True)
        torch.autograd.grad(y, x, torch.ones(2), create_graph=True)
    torch.autograd.grad(y, x, torch.ones(2, requires_grad=True), create_graph=True)
    return seen, torch.is_grad_enabled()


def reentrant(torch, depth, log):
    """A Function whose backward runs a backward of its own, `depth` deep."""
    class Deep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, level):
            ctx.level = level
            return x * 1

        @staticmethod
        def backward(ctx, g):
            log.append(ctx.level)
            if ctx.level < depth:
                with torch.enable_grad():
                    inner = torch.ones(2, requires_grad=True)
                    Deep.apply(inner, ctx.level + 1).sum().backward()
                    return g * inner.grad * 2, None
            return g * 3, None

    return Deep


@program
def reentrant_backward(torch):
    log = []
    x = short_leaf(torch)
    Deep = reentrant(torch, 5, log)
    (Deep.apply(x, 0) * Deep.apply(x, 4)).sum().backward()
    return x.grad, log, torch.is_grad_enabled()


@program
def reentrant_error(torch):
    class Fail(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                short_leaf(torch).sum().backward(torch.ones(3))

    Fail.apply(short_leaf(torch)).sum().backward()


@program
def order_of_execution(torch):
    """Newest first among the ready nodes; a leaf is served as soon as its last contribution is in."""
    log = []

    def watch(t, name):
        t.grad_fn.register_hook(lambda i, o: log.append(name))
        return t

    x, w = short_leaf(torch), short_leaf(torch)
    x.register_post_accumulate_grad_hook(lambda p: log.append("x"))
    w.register_post_accumulate_grad_hook(lambda p: log.append("w"))
    a = watch(x * 2, "a")
    b = watch(w * 3, "b")
    c = watch(a * b, "c")
    d = watch(a + 1, "d")
    e = watch(b.exp(), "e")
    watch((c + d + e).sum(), "root").backward()
    return log


def stale(name, change):
    """A value that `mul` saved is changed before backward: the message says what computed it last."""
    def run(torch):
        x = short_leaf(torch)
        y = x * 1
        view = y[:1]
        z = y * y
        w = view * view
        change(torch, y, view)
        (w if name.startswith("a_view") else z).sum().backward()

    run.__name__ = f"stale_{name}"
    return run


def add_without_grad_mode(torch, y, view):
    with torch.no_grad():
        y.add_(1)


PROGRAMS += [
    stale("value", lambda torch, y, view: y.add_(1)),
    stale("value_changed_unrecorded", add_without_grad_mode),
    stale("value_changed_through_a_view", lambda torch, y, view: view.add_(1)),
    stale("a_view_changed", lambda torch, y, view: view.add_(1)),
    stale("a_view_changed_through_its_base", lambda torch, y, view: y.mul_(2)),
]


@program
def grad_dtype(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            return g.double()

    results = []
    for wanted in (torch.float64, None, torch.float16):
        for function in (Double.apply, lambda a: a * 3):
            x = short_leaf(torch)
            x.grad_dtype = wanted
            function(x).sum().backward()
            first = x.grad
            function(x).sum().backward()
            results.append((x.grad, x.grad is first, x.grad_dtype))
    return results


@program
def grad_dtype_cannot_change_under_a_gradient(torch):
    x = short_leaf(torch)
    x.sum().backward()
    x.grad_dtype = torch.float64


@program
def layout_of_grad_as_it_comes(torch):
    x = torch.ones(2, 3, requires_grad=True)
    with torch.autograd.enforce_grad_layout_policy(False):
        (x.t() * torch.ones(3, 2)).backward(torch.ones(3, 2))
    return x.grad.stride()


def assigned(name, value):
    def run(torch):
        x = short_leaf(torch)
        x.grad = value(torch, x)
        return x.grad

    run.__name__ = f"assigned_grad_{name}"
    return run


PROGRAMS += [
    assigned("right", lambda torch, x: torch.ones(2)),
    assigned("none", lambda torch, x: None),
    assigned("of_another_dtype", lambda torch, x: torch.ones(2, dtype=torch.float64)),
    assigned("of_another_shape", lambda torch, x: torch.ones(3)),
    assigned("itself", lambda torch, x: x),
    assigned("a_number", lambda torch, x: 3),
]


@program
def deleted_grad(torch):
    x = short_leaf(torch)
    x.sum().backward()
    del x.grad
    return x.grad


def test_deep_reentrant_backward():
    log = []
    reentrant(whygrad, 500, log).apply(short_leaf(whygrad), 0).sum().backward()
    assert log == list(range(501))
    assert whygrad.is_grad_enabled()


@pytest.mark.parametrize("module", [torch, whygrad], ids=["torch", "whygrad"])
def test_a_chain_of_many_nodes_is_walked_and_freed(module):
    x = module.ones(1, requires_grad=True)
    y = x
    for _ in range(300_000):
        y = y + x
    y.backward()
    assert x.grad.item() == 300_001
    alive = weakref.ref(y)
    del y
    assert alive() is None


def test_a_chain_of_functions_is_walked_and_freed():
    class Id(whygrad.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a.clone()

        @staticmethod
        def backward(ctx, g):
            return g

    x = short_leaf(whygrad)
    y = x
    for _ in range(50_000):
        y = Id.apply(y)
    y.sum().backward()
    del y
    gc.collect()
    assert x.grad.tolist() == [1.0, 1.0]


def test_random_graphs_have_torchs_gradients():
    """Deep and wide random graphs, walked with and without create_graph, with some inputs and with all."""
    for seed in range(40):
        def run(module, seed=seed):
            choose = random.Random(seed)
            leaves = [module.tensor([choose.uniform(0.5, 1.0)], dtype=module.float64, requires_grad=True)
                      for _ in range(4)]
            values = list(leaves)
            for _ in range(choose.randrange(5, 60)):
                a, b = choose.choice(values), choose.choice(values[-6:])
                operation = choose.randrange(3)
                values.append(a * b * 0.9 if operation == 0 else a + b * 0.3 if operation == 1 else
                              (a * 0.5).exp() * 0.4)
            loss = sum(values[-3:], values[0])
            wanted = leaves + choose.sample(values, 3)
            first = module.autograd.grad(loss, wanted, allow_unused=True, create_graph=True)
            again = module.autograd.grad(loss, wanted, allow_unused=True, retain_graph=True)
            total = sum([g for g in first if g is not None])
            second = ()
            if total.requires_grad:
                second = module.autograd.grad(total, leaves, allow_unused=True, retain_graph=True)
            loss.backward()
            found = [*first, *again, *second, *[t.grad for t in leaves]]
            return [None if g is None else g.item() for g in found]

        ours, theirs = run(whygrad), run(torch)
        assert [g is None for g in ours] == [g is None for g in theirs]
        assert [g for g in ours if g is not None] == pytest.approx([g for g in theirs if g is not None], rel=1e-9)


@program
def roots_add_up(T):
    x, y = leaf(T), leaf(T, 4, 5, 6)
    z = x * y
    T.autograd.backward([z, z], [T.ones(3), T.full((3,), 2.0)])
    w = x * 2
    T.autograd.backward([w, w**2], [T.ones(3), T.ones(3)])
    return x.grad, y.grad


@program
def a_root_that_does_not_require_grad(T):
    x, y = leaf(T), T.ones(3)
    return [told(lambda: T.autograd.backward([x + y, y * 2], [T.ones(3), T.ones(3)])), told(lambda: y.backward()),
            told(lambda: T.autograd.grad(y, y**2)), told(lambda: T.autograd.grad(y**2, y)),
            told(lambda: T.autograd.backward([x + 2], [None])), told(lambda: x.backward()),
            told(lambda: T.autograd.grad(x.sum(), y))]


@program
def inputs_limit_what_is_filled(T):
    x, y = leaf(T), leaf(T, 4, 5, 6)
    seen = []
    for inputs in ([x, y], [x], [y], y, (x,), {"a": x}, [], {}):
        x.grad = y.grad = None
        seen.append(told(lambda: T.autograd.backward(x**2 + y * x + y**2, T.ones(3), inputs=inputs)))
        seen += [x.grad, y.grad]
    return seen


@program
def inputs_may_be_non_leaves_or_unreachable(T):
    x, y, z = leaf(T), leaf(T, 4, 5, 6), leaf(T)
    between = x * 1
    out = between**2 + y * between
    out.backward(T.ones(3), retain_graph=True, inputs=[x, y, between])
    out.backward(T.ones(3), inputs=[z])
    return x.grad, y.grad, between.grad, z.grad


@program
def a_scalar_root_with_a_scalar_input(T):
    x = T.tensor(3.0, dtype=T.float64, requires_grad=True)
    (x**2).backward(inputs=x)
    return x.grad


@program
def grad_gives_what_inputs_are(T):
    x, y = leaf(T), leaf(T, 4, 5, 6)
    z = x * y
    return [T.autograd.grad(z.sum(), x, retain_graph=True), T.autograd.grad(z.sum(), [x, y], retain_graph=True),
            T.autograd.grad(z.sum(), {"a": x, 3: y}, retain_graph=True),
            told(lambda: T.autograd.grad(z.sum(), OrderedDict(a=x))), told(lambda: T.autograd.grad(z.sum(), [])),
            told(lambda: T.autograd.grad(z.sum(), {})), x.grad]


@program
def unused_inputs_told(T):
    x, y, z = leaf(T), leaf(T), leaf(T)
    out = (x * 2).sum()

    def grad(inputs, **options):
        return T.autograd.grad(out, inputs, retain_graph=True, **options)

    return [told(lambda: grad([y])), told(lambda: grad([x, y])), grad([x, y], allow_unused=True),
            grad([x, z], materialize_grads=True), grad([x, z], materialize_grads=True, create_graph=True),
            told(lambda: grad([x], allow_unused=False, materialize_grads=True))]


@program
def materialized_to_third_order(T):
    x, a = T.tensor(0.5, requires_grad=True), T.tensor(1.0, requires_grad=True)
    first = T.autograd.grad(x * a, x, create_graph=True)
    none = T.autograd.grad(first, x, create_graph=True, allow_unused=True)
    second = T.autograd.grad(first, x, create_graph=True, materialize_grads=True)
    return none, second, T.autograd.grad(second, x, materialize_grads=True)


@program
def nodes_off_the_path_are_not_run(T):
    class Forbidden(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            raise AssertionError("must not run")

    y, z = leaf(T), leaf(T)
    off = Forbidden.apply(leaf(T) * 2)
    T.autograd.backward(off, T.ones(3), inputs=(y,))
    return (T.autograd.grad(off, (y,), T.ones(3), allow_unused=True),
            T.autograd.grad(Forbidden.apply(leaf(T) * 2) + z, (y, z), T.ones(3), allow_unused=True), y.grad)


@program
def a_wrong_gradient(T):
    x = leaf(T)
    return [told(lambda: T.autograd.grad(x * 2, x, T.ones(2))), told(lambda: (x * 2).backward(T.ones(2, 3))),
            told(lambda: T.autograd.grad(x * 2, x, T.ones(3, dtype=T.complex64))),
            told(lambda: T.autograd.backward([x * 2], [3])), told(lambda: T.autograd.grad([x * 2, x * 3], x, [T.ones(3)]))]


@program
def a_second_backward(T):
    x = leaf(T)
    saves, saves_nothing, written = x * x, x + 1, T.zeros(3)
    written[[1, 2]] = x[[1, 1]]
    seen = []
    for out in (saves, saves_nothing, written):
        out.backward(T.ones(3), retain_graph=True)
        seen += [told(lambda: out.backward(T.ones(3))), told(lambda: out.backward(T.ones(3)))]
    T.autograd.grad(saves_nothing.sum(), x, create_graph=True)
    return seen, x.grad


@program
def an_op_without_a_derivative(T):
    a = T.rand(2, requires_grad=True)
    y = T.nextafter(a, a)
    return y.requires_grad, type(y.grad_fn).__name__, told(lambda: y.sum().backward())


@program
def in_place_versions_without_a_derivative(T):
    seen = []
    for name in ("acosh_", "asinh_", "atanh_", "arccosh_", "sinh_", "digamma_"):
        y = getattr((T.tensor([1.5, 2.5], requires_grad=True) * 1), name)()
        seen += [y.requires_grad, type(y.grad_fn).__name__, told(lambda: y.sum().backward())]
    return seen


@program
def dicts_of_inputs(T):
    x, y = leaf(T), leaf(T)
    (x * y).sum().backward(inputs={"a": x})
    ordered = collections.OrderedDict(a=x)
    return [x.grad, y.grad, T.autograd.grad((x * y).sum(), {1: x, None: y}),
            T.autograd.grad((x * x).sum(), {"q": y}, materialize_grads=True), told(lambda: (x * y).sum().backward(inputs={})),
            told(lambda: T.autograd.grad((x * y).sum(), {})), told(lambda: T.autograd.grad((x * x).sum(), {"q": y})),
            told(lambda: (x * y).sum().backward(inputs=ordered)), told(lambda: T.autograd.grad((x * y).sum(), ordered))]


@program
def non_leaf_in_a_loop(T):
    start, y = leaf(T), leaf(T, 4, 5, 6)
    x, seen = start, []
    for _ in range(3):
        (g,) = T.autograd.grad(x**2 + y * x + y**2, x, T.ones(3), create_graph=True)
        seen += [g, y.grad, start.grad]
        x = x + 0.05 * g
    x.backward(T.ones(3))
    return seen, start.grad is None, y.grad is None


@program
def two_outputs_of_one_node(T):
    x = T.arange(8.0).reshape(4, 2).requires_grad_()
    called = []
    x.register_hook(lambda g: called.append(1))
    a, b = x.chunk(2)
    return T.autograd.grad(a + 2 * b, [a, b], T.ones(2, 2), create_graph=True), called, x.grad


@program
def only_one_output_is_used(T):
    x = leaf(T, 1, 2, 3, 4, 5)
    parts = x.unbind()
    got = []
    parts[0].register_hook(got.append)
    for part in parts:
        part.backward()
    return got, x.grad, parts[0].is_leaf


@program
def gradients_used_in_several_places_are_not_spoiled(T):
    x, y = T.ones(2, 2, requires_grad=True), T.ones(2, 2, requires_grad=True)
    a, b, c = x + 2, y + 2, x + 2
    short = (a + b) + c
    for _ in range(4):
        a, b, c = a * 2, b * 2, c * 2
    start = T.ones(2, 2)
    (short + (a + b + c)).backward(start)
    return x.grad, y.grad, start


@program
def shards_sent_back_one_after_the_other(T):
    leaves = [T.zeros(2, requires_grad=True) for _ in range(4)]
    between = [x * i + x * x for i, x in enumerate(leaves)]
    loss = sum([v * i for i, v in enumerate(between)]).sum()
    parts = [g for i in range(0, 4, 2) for g in T.autograd.grad(loss, between[i:i + 2], retain_graph=True)]
    T.autograd.backward(between, parts)
    return [x.grad for x in leaves]


@program
def keyword_arguments_that_are_old(T):
    x = leaf(T)
    return [told(lambda: T.autograd.backward(x * 2, grad_variables=T.ones(3))), x.grad,
            T.autograd.grad((x * 2).sum(), x, only_inputs=False)]


@pytest.mark.parametrize("retain", [None, True, False])
def test_retaining(retain):
    def again(T):
        x = leaf(T)
        y = x * x
        y.backward(T.ones(3), retain_graph=retain)
        return told(lambda: y.backward(T.ones(3)))

    same(again)


@parity(PROGRAMS)
def test_calls(program):
    same(program)
