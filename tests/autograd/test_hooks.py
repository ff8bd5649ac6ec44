"""Hooks on tensors, nodes and leaves, retain_grad: what they see, in which order, and what they may change."""

import gc
import threading
import weakref

import pytest
import torch
from parity import collect, parity, same

import whygrad

PROGRAMS = []
program = collect(PROGRAMS)


def leaf(torch, *values):
    return torch.tensor(values or [1.0, 2.0], requires_grad=True)


@program
def the_order_of_everything(torch):
    log = []
    a = leaf(torch)
    b = a * 2
    b.retain_grad()
    b.register_hook(lambda g: log.append("tensor 1"))
    b.grad_fn.register_prehook(lambda g: log.append("node pre"))
    b.grad_fn.register_hook(lambda i, o: log.append(("node post", i, o)))
    b.register_hook(lambda g: (log.append("tensor 2"), g * 2)[1])
    accumulate = b.grad_fn.next_functions[0][0]
    accumulate.register_prehook(lambda g: log.append("accumulate pre"))
    accumulate.register_hook(lambda i, o: log.append(("accumulate post", i, o)))
    a.register_hook(lambda g: log.append("leaf"))
    a.register_post_accumulate_grad_hook(lambda p: log.append(("accumulated", p.grad)))
    b.sum().backward()
    return log, b.grad, a.grad


@program
def hooks_replace(torch):
    x = leaf(torch)
    y = x * 3
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: g + 1)
    y.grad_fn.register_prehook(lambda g: (g[0] * 2,))
    y.grad_fn.register_hook(lambda i, o: (i[0] + 0.5, None))
    x.register_hook(lambda g: -g)
    y.sum().backward()
    return x.grad


@program
def several_contributions_are_seen_as_one(torch):
    seen = []
    x = leaf(torch)
    x.register_hook(lambda g: seen.append(g))
    y = x * 2
    y.register_hook(lambda g: seen.append(g))
    (y * y + y * 3 + x).sum().backward()
    return seen


@program
def hooks_removed(torch):
    log = []
    x = leaf(torch)
    first = x.register_hook(lambda g: log.append("first"))
    second = x.register_hook(lambda g: log.append("second"))
    with x.register_hook(lambda g: log.append("in with")):
        (x * 2).sum().backward()
    first.remove()
    first.remove()
    (x * 2).sum().backward()
    second.remove()
    (x * 2).sum().backward()
    return log


@program
def a_hook_that_removes_another(torch):
    log = []
    x = leaf(torch)
    handles = []

    def hook(g):
        log.append("remover")
        handles[1].remove()

    handles.append(x.register_hook(hook))
    handles.append(x.register_hook(lambda g: log.append("removed")))
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    return log


@program
def a_hook_needs_no_name(torch):
    class Callable:
        def __call__(self, g):
            return g * 2

    x = leaf(torch)
    x.register_hook(Callable())
    (x * 2).sum().backward()
    return x.grad


@program
def a_nameless_hook_that_is_wrong(torch):
    class Callable:
        def __call__(self, g):
            return torch.ones(5)

    x = leaf(torch)
    x.register_hook(Callable())
    (x * 2).sum().backward()


def wrong_hook(name, register):
    def run(torch):
        y = leaf(torch) * 2
        register(torch, y)
        y.sum().backward()

    run.__name__ = name
    return run


PROGRAMS += [
    wrong_hook("hook_gives_a_number", lambda torch, y: y.register_hook(lambda g: 3)),
    wrong_hook("hook_gives_another_size", lambda torch, y: y.register_hook(lambda g: torch.ones(5))),
    wrong_hook("hook_gives_another_type", lambda torch, y: y.register_hook(lambda g: g.double())),
    wrong_hook("hook_is_not_callable", lambda torch, y: y.register_hook(3)),
    wrong_hook("prehook_gives_a_tensor", lambda torch, y: y.grad_fn.register_prehook(lambda g: g[0])),
    wrong_hook("prehook_gives_too_many", lambda torch, y: y.grad_fn.register_prehook(lambda g: (g[0], g[0]))),
    wrong_hook("prehook_gives_a_number", lambda torch, y: y.grad_fn.register_prehook(lambda g: (3,))),
    wrong_hook("posthook_gives_a_tensor", lambda torch, y: y.grad_fn.register_hook(lambda i, o: i[0])),
    wrong_hook("posthook_gives_too_many", lambda torch, y: y.grad_fn.register_hook(lambda i, o: (i[0],) * 3)),
    wrong_hook("posthook_fills_a_gap", lambda torch, y: y.grad_fn.register_hook(lambda i, o: (i[0], i[0]))),
    wrong_hook("posthook_gives_another_size",
               lambda torch, y: y.grad_fn.register_hook(lambda i, o: (torch.ones(3), None))),
]


@program
def a_hook_on_an_untracked_tensor(torch):
    torch.ones(2).register_hook(lambda g: g)


@program
def hooks_and_grad(torch):
    """`grad` sees the hooked gradient only where the walk ends."""
    def made():
        y = x * 2
        y.register_hook(lambda g: g * 10)
        y.grad_fn.register_prehook(lambda g: (g[0] * 7,))
        return y, (y * y).sum()

    x = leaf(torch)
    results = []
    for wanted in ("y", "yx", "x"):
        y, z = made()
        y.retain_grad()
        results.append((torch.autograd.grad(z, [{"x": x, "y": y}[name] for name in wanted]), y.grad))
    return results


@program
def leaf_hooks_and_grad(torch):
    log = []
    x = leaf(torch)
    x.register_hook(lambda g: (log.append("tensor"), g * 3)[1])
    x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    y = x * x
    node = y.grad_fn.next_functions[0][0]
    node.register_prehook(lambda g: log.append("accumulate pre"))
    node.register_hook(lambda i, o: log.append("accumulate post"))
    result = torch.autograd.grad(y.sum(), x, retain_graph=True)
    after_grad = list(log)
    y.sum().backward(inputs=[x])
    return result, after_grad, log, x.grad


@program
def hooks_off_the_path_do_not_run(torch):
    log = []
    x, w = leaf(torch), leaf(torch)
    y, z = x * 2, w * 3
    z.register_hook(lambda g: log.append("z"))
    w.register_hook(lambda g: log.append("w"))
    return torch.autograd.grad((y * z).sum(), x), log


@program
def hooks_and_an_in_place_change(torch):
    log = []
    x = leaf(torch)
    y = x * 2
    y.register_hook(lambda g: log.append(("old", g)))
    y.retain_grad()
    y.mul_(3)
    y.register_hook(lambda g: log.append(("new", g)))
    (y * 5).sum().backward()
    return log, y.grad, x.grad


@program
def hooks_on_a_view_whose_base_changes(torch):
    log = []
    base = leaf(torch) * 2
    view, other = base[:1], base[1:]
    view.register_hook(lambda g: log.append("old"))
    other.mul_(2)
    view.sum().backward()
    return log


@program
def retain_grad_in_all_places(torch):
    x = leaf(torch)
    y = x * 2
    seen = [y.retains_grad, x.retains_grad]
    y.retain_grad()
    y.retain_grad()
    x.retain_grad()
    seen += [y.retains_grad, x.retains_grad]
    y.sum().backward(retain_graph=True)
    first = y.grad
    seen.append(first.clone())
    (y * 3).sum().backward(retain_graph=True)
    return seen, y.grad, y.grad is first, first, x.grad


@program
def retain_grad_after_hooks_registered_later(torch):
    y = leaf(torch) * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 4)
    y.sum().backward()
    return y.grad


@program
def retain_grad_with_a_graph(torch):
    x = leaf(torch)
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward(create_graph=True)
    return y.grad


@program
def retain_grad_follows_a_tensor_in_place(torch):
    x = leaf(torch)
    y = x * 2
    y.retain_grad()
    y.mul_(2)
    y.exp_()
    y.sum().backward()
    return y.grad, x.grad


@program
def retain_grad_follows_a_view_in_place(torch):
    x = leaf(torch)
    base = x * 2
    view = base[:1]
    view.retain_grad()
    view.mul_(3)
    (base * 5).sum().backward()
    return view.grad, x.grad


@program
def retain_grad_of_several_outputs(torch):
    x = leaf(torch)
    a, b = (x * 2).unbind()
    a.retain_grad()
    b.retain_grad()
    (a * b).backward()
    return a.grad, b.grad, x.grad


@program
def retain_grad_of_an_untracked_tensor(torch):
    torch.ones(2).retain_grad()


@program
def a_gradient_nobody_retained(torch):
    y = leaf(torch) * 2
    y.sum().backward()
    return y.grad


@program
def post_accumulate_hooks(torch):
    x = leaf(torch)
    seen = []

    def step(p):
        seen.append((p is x, p.grad.clone(), torch.is_grad_enabled()))
        with torch.no_grad():
            p.add_(p.grad, alpha=-0.1)
        p.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * x).sum().backward()
    (x * x).sum().backward()
    handle.remove()
    (x * x).sum().backward()
    return seen, x, x.grad


def returning_post_accumulate_hook(name, hook):
    def run(torch):
        x = leaf(torch)
        x.register_post_accumulate_grad_hook(hook)
        x.sum().backward()

    run.__name__ = f"a_post_accumulate_hook_that_returns_{name}"
    return run


PROGRAMS += [returning_post_accumulate_hook("its_leaf", lambda p: p),
             returning_post_accumulate_hook("a_tensor", lambda p: p.grad),
             returning_post_accumulate_hook("another_shape", lambda p: p.detach()[:1]),
             returning_post_accumulate_hook("a_number", lambda p: 3)]


@program
def a_post_accumulate_hook_on_a_result(torch):
    (leaf(torch) * 2).register_post_accumulate_grad_hook(lambda p: None)


@program
def a_post_accumulate_hook_on_an_untracked_tensor(torch):
    torch.ones(2).register_post_accumulate_grad_hook(lambda p: None)


@program
def node_hooks_of_several_outputs(torch):
    log = []
    a, _ = (leaf(torch) * 2).unbind()
    a.grad_fn.register_prehook(lambda g: log.append(g))
    a.grad_fn.register_hook(lambda i, o: log.append((i, o)))
    a.backward()
    return log


@program
def hooks_on_an_output_without_gradient(torch):
    log = []
    a, b = (leaf(torch) * 2).unbind()
    b.register_hook(lambda g: log.append(("b", g)))
    a.register_hook(lambda g: log.append(("a", g)))
    b.retain_grad()
    a.backward()
    return sorted(log, key=lambda entry: entry[0]), b.grad


@program
def hooks_run_in_the_mode_of_the_pass(torch):
    seen = []
    x = leaf(torch)
    y = x * x
    y.register_hook(lambda g: seen.append((torch.is_grad_enabled(), g.requires_grad)))
    torch.autograd.grad(y.sum(), x, retain_graph=True)
    torch.autograd.grad((y * y).sum(), x, create_graph=True)
    with torch.no_grad():
        torch.autograd.grad(y.sum(), x, retain_graph=True)
    return seen, torch.is_grad_enabled()


@program
def a_hook_that_makes_the_gradient_differentiable(torch):
    x, w = leaf(torch), leaf(torch)
    y = x * 2
    y.register_hook(lambda g: g * w)
    first, = torch.autograd.grad(y.sum(), x, create_graph=True)
    return first, torch.autograd.grad(first.sum(), w)


@program
def an_error_in_a_hook_leaves_the_engine_usable(torch):
    x = leaf(torch)
    y = x * 2

    def hook(g):
        raise KeyError("mine")

    handle = y.register_hook(hook)
    try:
        y.sum().backward()
    except KeyError as error:
        text = str(error)
    handle.remove()
    y.sum().backward()
    return text, x.grad, torch.is_grad_enabled()


@program
def a_prehook_of_accumulate_grad_replaces(torch):
    x = leaf(torch)
    y = x * 2
    y.grad_fn.next_functions[0][0].register_prehook(lambda g: (g[0] * 10,))
    y.sum().backward()
    return x.grad


@program
def a_hook_registered_during_backward(torch):
    log = []
    x = leaf(torch)
    y = x * 2
    y.register_hook(lambda g: (log.append("y"), x.register_hook(lambda g: log.append("x")))[0])
    y.sum().backward()
    return log


@program
def hooks_in_the_second_derivative(torch):
    log = []
    x = leaf(torch)
    y = x * x
    y.register_hook(lambda g: log.append(g))
    first, = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    torch.autograd.grad(first.sum(), x)
    return log


@program
def hooks_through_several_in_place_changes(torch):
    log = []
    a = leaf(torch) * 2
    for step in range(3):
        a.register_hook(lambda g, step=step: log.append((step, g)))
        a.mul_(2)
    (a + 1).sum().backward()
    return log


@program
def multi_grad_hook_all(torch):
    log = []
    a, b, c, d = [leaf(torch) for _ in range(4)]
    m = a * b
    handle = torch.autograd.graph.register_multi_grad_hook((a, b, c, m), lambda grads: log.append(list(grads)))
    (m.sum() + (c * d).sum()).backward()
    (a * 2).sum().backward()
    (d * 2).sum().backward()
    handle.remove()
    (a * b).sum().backward()
    return log


@program
def multi_grad_hook_any(torch):
    log = []
    a, b = leaf(torch), leaf(torch)
    plain = torch.ones(2)
    handle = torch.autograd.graph.register_multi_grad_hook((a, b, plain), lambda grad: log.append(grad), mode="any")
    (a * b * 3).sum().backward()
    (a * 2).sum().backward()
    handle.remove()
    (a * 2).sum().backward()
    return len(log), log[1]


@program
def multi_grad_hook_mode(torch):
    torch.autograd.graph.register_multi_grad_hook((leaf(torch),), lambda grads: None, mode="foo")


@program
def multi_grad_hook_and_a_failure(torch):
    log = []
    a, b = leaf(torch), leaf(torch)

    class Fail(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise RuntimeError("mine")

    torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: log.append("called"))
    with pytest.raises(RuntimeError, match="mine"):
        (a + Fail.apply(b)).sum().backward()
    return log


@program
def a_backward_inside_a_hook(torch):
    x, w = leaf(torch), leaf(torch)
    y = x * 2

    def hook(g):
        with torch.enable_grad():
            (w * w).sum().backward()
        return g * w.grad

    y.register_hook(hook)
    y.sum().backward()
    return x.grad, w.grad


@program
def queued_callbacks(torch):
    log = []
    x = leaf(torch)
    engine = torch.autograd.Variable._execution_engine

    def last():
        log.append(("callback", x.grad is not None))
        engine.queue_callback(lambda: log.append("callback of the callback"))

    x.register_hook(lambda g: (log.append("hook"), engine.queue_callback(last))[1])
    (x * 2).sum().backward()
    return log


@program
def a_callback_outside_of_backward(torch):
    torch.autograd.Variable._execution_engine.queue_callback(lambda: None)


@parity(PROGRAMS)
def test_hooks(program):
    same(program)


@pytest.mark.parametrize("module", [torch, whygrad], ids=["torch", "whygrad"])
def test_retain_grad_keeps_nothing_alive(module):
    y = leaf(module) * 2
    y.retain_grad()
    z = y.sum()
    alive = weakref.ref(y)
    del y
    assert alive() is None
    z.backward()


def test_cycles_through_hooks_are_collected():
    class Token:
        pass

    y = leaf(whygrad) * 2
    token = Token()
    alive = weakref.ref(token)
    y.register_hook(lambda g, held=(y, token): None)
    y.grad_fn.register_hook(lambda i, o, held=(y, token): None)
    del y, token
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("module", [torch, whygrad], ids=["torch", "whygrad"])
def test_multi_grad_hooks_in_several_threads(module):
    a, b = leaf(module), leaf(module)
    log, lock = [], threading.Lock()

    def called(grads):
        with lock:
            log.append(len([g for g in grads if g is not None]))

    module.autograd.graph.register_multi_grad_hook((a, b), called)
    threads = [threading.Thread(target=lambda: (a * b).sum().backward()) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert log == [2, 2, 2, 2]
