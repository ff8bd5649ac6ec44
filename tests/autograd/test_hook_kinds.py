"""Hooks: tensor, node, post-accumulate, multi-grad, module."""

from __future__ import annotations

import gc
import weakref

import pytest
from parity import MODULES, collect, function, leaf, no_collector, pairs, parity, same, told

PROGRAMS = []
program = collect(PROGRAMS)


@program
def registered_removed_and_replacing(T):
    x, y = T.ones(2, requires_grad=True), T.full((2,), 4.0, requires_grad=True)
    z = x**2 + x * 2 + x * y + y
    calls = []
    x.register_hook(lambda g: calls.append("x"))
    first = z.register_hook(lambda g: calls.append("z1"))
    z.backward(T.ones(2), retain_graph=True)
    second = z.register_hook(lambda g: calls.append("z2"))
    z.backward(T.ones(2), retain_graph=True)
    second.remove()
    second.remove()
    first.remove()
    z.register_hook(lambda g: g.mul(2))
    y.grad = None
    z.backward(T.ones(2), retain_graph=True)
    before = y.grad.clone()
    y.register_hook(lambda g: g.mul(2))
    y.grad = None
    z.backward(T.ones(2))
    return calls, before, y.grad


@program
def any_callable_is_a_hook(T):
    class Hook:
        def __call__(self, g):
            return g * 3

    x = leaf(T).clone()
    x.register_hook(Hook())
    x.retain_grad()
    x.sum().backward()
    return x.grad


@program
def what_a_hook_may_not_return(T):
    seen = []
    for wrong in (lambda g: 3, lambda g: T.ones(2), lambda g: g.double()):
        x = leaf(T)
        (x * 1).register_hook(wrong)
        y = x * 1
        y.register_hook(wrong)
        seen.append(told(lambda: y.sum().backward()))
    return seen, told(lambda: T.ones(2).register_hook(print)), told(lambda: T.ones(2).register_post_accumulate_grad_hook(print))


@program
def hooks_that_are_called_by_grad_and_those_that_are_not(T):
    a = T.tensor(1.0, requires_grad=True)
    b = a * 2
    c = b * 2
    counts = {}

    def count(name):
        def hook(*args):
            counts[name] = counts.get(name, 0) + 1
        return hook

    a.register_hook(count("tensor"))
    b.register_hook(count("tensor"))
    accumulator = b.grad_fn.next_functions[0][0]
    for node in (accumulator, b.grad_fn):
        node.register_hook(count("post"))
        node.register_prehook(count("pre"))
    seen = []
    for run in (lambda: T.autograd.grad(c, b, retain_graph=True), lambda: T.autograd.grad(c, (a, b), retain_graph=True),
                lambda: c.backward(retain_graph=True), lambda: c.backward(inputs=(a, b), retain_graph=True),
                lambda: T.autograd.grad(c, a, retain_graph=True)):
        counts.clear()
        run()
        seen.append(dict(counts))
    return seen


@program
def order_of_tensor_hooks_and_prehooks(T):
    log = []

    def one(g):
        log.append(1)
        return g * 3

    def two(gs):
        log.append(2)
        return tuple([g * 2 for g in gs])

    a = T.tensor(1.0, requires_grad=True)
    b = a.clone()
    b.grad_fn.register_prehook(two)
    b.register_hook(one)
    b.grad_fn.register_prehook(two)
    accumulator = b.grad_fn.next_functions[0][0]
    a.register_hook(one)
    accumulator.register_prehook(two)
    a.register_hook(one)
    seen = []
    for run in (lambda: b.sum().backward(retain_graph=True), lambda: T.autograd.grad(b.sum(), a, retain_graph=True),
                lambda: b.sum().backward(inputs=(b,))):
        log.clear()
        run()
        seen.append(list(log))
    return seen, b.grad, a.grad


@program
def accumulator_hooks_see_what_tensor_hooks_made(T):
    a = T.tensor(1.0, requires_grad=True)
    b = a.clone()
    accumulator = b.grad_fn.next_functions[0][0]
    seen = []
    accumulator.register_hook(lambda inputs, outputs: seen.append(("post", inputs, outputs)))
    accumulator.register_prehook(lambda outputs: seen.append(("pre", outputs)))
    a.register_hook(lambda g: g * 2)
    b.backward()
    return seen


@program
def hooks_off_the_path_are_silent(T):
    def fail(*args):
        raise AssertionError

    a, b = T.tensor(1.0, requires_grad=True), T.tensor(1.0, requires_grad=True)
    a.register_hook(fail)
    c = a.clone()
    c.grad_fn.next_functions[0][0].register_hook(fail)
    (a + b + c).backward(inputs=[b])
    return a.grad, b.grad


@program
def post_accumulate(T):
    def step(t):
        with T.no_grad():
            t.sub_(t.grad)

    x, y = leaf(T), leaf(T, 5, 6)
    x.register_post_accumulate_grad_hook(step)

    def four_times(t):
        with T.no_grad():
            t.mul_(4.0)

    x.register_post_accumulate_grad_hook(four_times)
    y.register_post_accumulate_grad_hook(step)
    x.sum().backward()
    y.sum().backward()
    bad = leaf(T)
    bad.register_post_accumulate_grad_hook(lambda t: t.grad)
    return x, y, told(lambda: bad.sum().backward()), told(lambda: (bad * 2).register_post_accumulate_grad_hook(step))


@program
def an_optimizer_in_backward(T):
    model = T.nn.Linear(3, 2)
    with T.no_grad():
        for p in model.parameters():
            p.copy_(T.arange(p.numel()).reshape(p.shape) / 10)
    optimizers = {p: T.optim.SGD([p], lr=0.1) for p in model.parameters()}

    def step(p):
        optimizers[p].step()
        optimizers[p].zero_grad()

    handles = [p.register_post_accumulate_grad_hook(step) for p in model.parameters()]
    for _ in range(3):
        model(T.ones(2, 3)).sum().backward()
    after = [p.detach().clone() for p in model.parameters()]
    for handle in handles:
        handle.remove()
    model(T.ones(2, 3)).sum().backward()
    return after, [p.grad for p in model.parameters()], [p.detach() for p in model.parameters()]


@program
def prehooks_of_a_node(T):
    seen = []
    for make in (function(T, lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply, lambda x: x * 2):
        a = leaf(T, 1)
        b = make(a)
        b.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
        for hook in (lambda g: (g[0] * 2,), lambda g: None, lambda g: g, lambda g: (g[0] * 2,)):
            b.grad_fn.register_prehook(hook)
        b.sum().backward()
        seen.append(a.grad)
    return seen


@program
def prehooks_of_a_node_with_several_outputs(T):
    a = T.arange(9.0).reshape(3, 3).requires_grad_()
    var, mean = T.var_mean(a, dim=0)
    mean.grad_fn.register_prehook(lambda gs: tuple([g * 2 for g in gs]))
    (var + mean).sum().backward()

    x, y = leaf(T), leaf(T)
    Both = function(T, lambda ctx, x, k, y: (k * x * 2, k, k * y * 2), lambda ctx, g, _, h: (6 * g, None, 6 * h))
    c, _, d = Both.apply(x, 3, y)
    missing = []

    def hook(gs):
        missing.append(gs[1])
        return gs[0] * 2, None, gs[2] * 2

    c.grad_fn.register_prehook(hook)
    (c + d).sum().backward()
    return a.grad, x.grad, y.grad, missing


@program
def hooks_removed_while_they_run(T):
    a = leaf(T)
    b = a * 2
    log = []

    def first(gs):
        log.append("first")
        second.remove()
        third.remove()

    b.grad_fn.register_prehook(first)
    second = b.grad_fn.register_prehook(lambda gs: log.append("second"))
    third = b.grad_fn.register_prehook(lambda gs: log.append("third"))
    third.remove()
    b.sum().backward()
    return log, a.grad


@program
def hooks_of_a_cpp_layer(T):
    layer = T.nn.BatchNorm1d(3, affine=False).double().eval()
    x = T.ones(2, 3, dtype=T.float64, requires_grad=True)
    z = layer(x)
    z.register_hook(lambda g: g * 2)
    z.sum().backward()
    return x.grad


@program
def an_output_without_gradient(T):
    got = []
    a, b = function(T, lambda ctx, x, y: (x, y), lambda ctx, gx, gy: (gx, None)).apply(leaf(T), T.ones(3))
    a.register_hook(got.append)
    b.register_hook(got.append)
    sum(a, b).sum().backward()
    return sorted(got, key=lambda g: g[0].item())


@program
def old_and_new_value_of_a_written_tensor(T):
    log = []
    a = leaf(T, 1)
    b = a.clone()
    b.register_hook(lambda g: log.append(("old", g)) or g * 2)
    b.mul_(2)
    b.register_hook(lambda g: log.append(("new", g)) or g * 2)
    b.sum().backward()
    c = leaf(T, 1)
    d = c.clone()
    d.register_hook(lambda g: log.append(("older", g)) or g * 2)
    d.mul_(2)
    d.mul_(2)
    d.sum().backward()
    return log, a.grad, c.grad


@program
def written_outputs_of_one_node(T):
    log = []
    for make in pairs(T):
        first, second = make(T.arange(9.0).reshape(3, 3).requires_grad_())
        first.register_hook(lambda g: log.append(("first", g)))
        second.register_hook(lambda g: log.append(("second", g)))
        first.mul_(2)
        first.register_hook(lambda g: log.append(("new first", g)))
        (first + second * 3).sum().backward()
    return sorted(log, key=lambda entry: entry[0])


@program
def hooks_on_views_of_a_written_base(T):
    log = []
    base = leaf(T, 1).clone()
    view, other = base[:], base[:]
    view.register_hook(lambda g: log.append("view"))
    other.register_hook(lambda g: log.append("other"))
    view.mul_(2)
    other.grad_fn  # noqa: B018
    other.register_hook(lambda g: log.append(("new other", g)))
    (view + other).sum().backward()
    return log


@program
def multi_grad_all(T):
    def fails(ctx, g):
        raise RuntimeError("error message")

    Clone, Fails = [function(T, lambda ctx, a: a.clone(), backward) for backward in (lambda ctx, g: g, fails)]
    t1, t2, t3, t4 = leaf(T).mul(2), Clone.apply(leaf(T)), leaf(T).clone(), leaf(T)
    calls = []
    handle = T.autograd.graph.register_multi_grad_hook((t1, t2, t3, t4), lambda gs: calls.append([g is not None for g in gs]))
    out = t2 * t3
    for inputs in ((t2, t3), (t1, t4), (t1, t3)):
        out.sum().backward(inputs=inputs, retain_graph=True)
    failed = told(lambda: (Fails.apply(t2) * t3).sum().backward(inputs=(t2, t3), retain_graph=True))
    handle.remove()
    out.sum().backward(inputs=(t1, t3), retain_graph=True)
    return calls, failed


@program
def multi_grad_any(T):
    log = []
    x = leaf(T)
    for removed in (False, True):
        z = x * 2
        outs = z.sin(), z.cos()
        z.register_hook(lambda g: log.append("z"))
        handle = T.autograd.graph.register_multi_grad_hook(outs, lambda g: log.append(("any", g)), mode="any")
        if removed:
            handle.remove()
        (outs[0] + outs[1]).sum().backward()
    return log, told(lambda: T.autograd.graph.register_multi_grad_hook((x, x), print, mode="foo"))


@program
def order_for_a_linear_layer(T):
    order = []

    class Wrapped(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = T.nn.Linear(4, 4)

        def forward(self, x):
            return self.linear(x)

    x = T.ones(4, 4, requires_grad=True)
    module = Wrapped()
    module.register_full_backward_hook(lambda m, i, o: order.append("module"))
    loss = module(x).sum()
    count = 0

    def register(nodes):
        nonlocal count
        for node, _ in nodes:
            count += 1
            label = f"{node.name()}_{count}"
            node.register_prehook(lambda gs, label=label: order.append(f"pre {label}"))
            node.register_hook(lambda i, o, label=label: order.append(f"post {label}"))
            register(node.next_functions)

    register(((loss.grad_fn, 0),))
    for name, t in (("x", x), ("weight", module.linear.weight), ("bias", module.linear.bias)):
        t.register_hook(lambda g, name=name: order.append(f"tensor {name}"))
        t.register_post_accumulate_grad_hook(lambda t, name=name: order.append(f"accumulated {name}"))
    loss.backward()
    return order


@program
def module_hooks_are_not_called_by_a_second_derivative(T):
    x, count = leaf(T, 0.5), []
    loss = T.nn.MSELoss()
    loss.register_full_backward_hook(lambda m, i, o: count.append(1))
    (g,) = T.autograd.grad(loss(x, T.tensor([0.2])), x, create_graph=True)
    return g.detach(), T.autograd.grad(g, x), count


@program
def node_hook_from_an_unpack_hook(T):
    """It comes too late to be told what the node was given, but not to change what it gives."""
    seen = []

    def unpack(t):
        def hook(grad_inputs, grad_outputs):
            seen.append([g is None for g in grad_outputs])
            return tuple([None if g is None else g / 2 for g in grad_inputs])

        T._C._current_autograd_node().register_hook(hook)
        return t

    a, b = leaf(T), T.arange(9.0).reshape(3, 3).requires_grad_()
    with T.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        T.var_mean(a, dim=0)[0].backward()
        sum(T.var_mean(b, dim=0)).sum().backward()
    return a.grad, b.grad, seen


@program
def leaf_hooks_that_change_gradients(T):
    x = leaf(T)
    accumulator = x.view_as(x).grad_fn.next_functions[0][0]
    x.register_hook(lambda g: g.sub(2.0))
    accumulator.register_prehook(lambda given: (given[0].div(5.0),))
    x.register_post_accumulate_grad_hook(lambda t: t.grad.add_(0.5)[:0].tolist() or None)
    accumulator.register_hook(lambda _, given: setattr(x, "grad", given[0].mul(10)))
    x.sum().backward()
    return x.grad


@program
def what_grad_gives_has_gone_through_the_hooks(T):
    x = leaf(T)
    y = x * 2
    for t in (x, y):
        t.register_hook(lambda g: g * 10)
        t.register_hook(lambda g: g + 1)
    return T.autograd.grad((y * 3).sum(), (x, y)), x.grad


@parity(PROGRAMS)
def test_program(program):
    same(program)


@MODULES
@pytest.mark.parametrize("custom", [True, False])
@pytest.mark.parametrize("on_tensor", [True, False])
def test_a_hook_that_holds_its_node_is_collected(T, custom, on_tensor):
    class Token:
        pass

    count = []

    def scope():
        a = T.tensor(1.0, requires_grad=True)
        b = function(T, lambda ctx, x: x, lambda ctx, g: g).apply(a) if custom else a.clone()
        node, token = b.grad_fn, Token()

        def hook(*args):
            count.append((node, token) and 1)

        (b if on_tensor else node).register_hook(hook)
        return b.clone(), weakref.ref(token)

    with no_collector():
        out, ref = scope()
        out.backward(retain_graph=True)
        gc.collect()
        out.backward(retain_graph=True)
        assert len(count) == 2
        assert ref() is not None
        del out
        gc.collect()
        assert ref() is None


@MODULES
def test_a_post_accumulate_hook_dies_with_its_tensor(T):
    def scope():
        held = T.rand(3)
        x = T.rand(3, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda t, held=held: None)
        x.sum().backward()
        return x, weakref.ref(held)

    x, ref = scope()
    gc.collect()
    assert ref() is not None
    del x
    gc.collect()
    assert ref() is None


@MODULES
@pytest.mark.parametrize("hooks", [1, 2])
@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.filterwarnings("ignore:Full backward hook")
def test_module_hooks_leave_no_graph_behind(T, hooks, tracked):
    class Token:
        pass

    def scope():
        t, a = T.ones(3, requires_grad=tracked), T.tensor(1.0, requires_grad=True)

        class Square(T.nn.Module):
            def forward(self, x):
                return x**2 * a**2

        module = Square()
        for _ in range(hooks):
            module.register_full_backward_hook(lambda m, i, o: None)
        out, token = module(t), Token()
        out.grad_fn.metadata["token"] = token
        out.exp().sum().backward(create_graph=True)
        a.grad = t.grad = None
        return weakref.ref(token)

    ref = scope()
    gc.collect()
    assert ref() is None
