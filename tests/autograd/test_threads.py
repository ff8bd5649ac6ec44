"""Several threads walk at once: on their own graphs, on shared leaves, on one graph."""

import threading

import pytest
import torch

import whygrad

MODULES = pytest.mark.parametrize("module", [torch, whygrad], ids=["torch", "whygrad"])


def in_threads(count, work):
    """Run `work(i)` in `count` threads; give their results in order, an exception as its text."""
    results = [None] * count
    start = threading.Barrier(count)

    def run(i):
        start.wait()
        try:
            results[i] = work(i)
        except Exception as error:
            results[i] = str(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@MODULES
def test_shared_leaves_get_every_contribution(module):
    x = module.ones(3, requires_grad=True)

    def work(i):
        for _ in range(50):
            (x * (i + 1)).sum().backward()

    assert in_threads(4, work) == [None] * 4
    assert x.grad.tolist() == [50.0 * (1 + 2 + 3 + 4)] * 3


@MODULES
def test_separate_graphs_do_not_meet(module):
    def work(i):
        x = module.full((3,), float(i), requires_grad=True)
        y = x
        for _ in range(30):
            y = y + x * 2
        (y * x).sum().backward()
        first, = module.autograd.grad((x * x * x).sum(), x, create_graph=True)
        return x.grad.tolist(), module.autograd.grad(first.sum(), x)[0].tolist()

    assert in_threads(4, work) == [([122.0 * i] * 3, [6.0 * i] * 3) for i in range(4)]


@MODULES
def test_one_graph_kept_is_walked_by_all(module):
    x = module.ones(3, requires_grad=True)
    y = (x * x * 2).sum()

    def work(i):
        for _ in range(20):
            y.backward(retain_graph=True)
        return module.autograd.grad(y, x, retain_graph=True)[0].tolist()

    assert in_threads(4, work) == [[4.0] * 3] * 4
    assert x.grad.tolist() == [4.0 * 80] * 3


def test_one_graph_not_kept_fails_with_the_usual_text():
    x = whygrad.ones(3, requires_grad=True)
    y = (x * x * 2).sum()
    results = in_threads(4, lambda i: y.backward())
    texts = [text for text in results if text is not None]
    assert all(text.startswith("Trying to backward through the graph a second time") for text in texts)
    assert x.grad.tolist() == [4.0 * (4 - len(texts))] * 3


@MODULES
def test_modes_of_one_thread_do_not_touch_another(module):
    """Threads that switch gradients off and on never change what another one records."""
    x = module.ones(3, requires_grad=True)

    def work(i):
        wrong = 0
        for _ in range(200):
            if i % 2:
                with module.no_grad():
                    wrong += (x * 2).requires_grad
            wrong += not (x * 2).requires_grad
        return wrong

    assert in_threads(4, work) == [0] * 4


@MODULES
def test_a_hook_runs_in_the_thread_of_its_backward(module):
    def work(i):
        x = module.ones(3, requires_grad=True)
        seen = []
        y = x * 2
        y.register_hook(lambda g: seen.append((threading.get_ident(), module.is_grad_enabled())))
        y.sum().backward()
        return seen == [(threading.get_ident(), False)] and module.is_grad_enabled()

    assert in_threads(4, work) == [True] * 4


@MODULES
def test_a_failure_in_one_thread_stays_there(module):
    x = module.ones(3, requires_grad=True)

    class Fail(module.autograd.Function):
        @staticmethod
        def forward(ctx, a, fails):
            ctx.fails = fails
            return a * 1

        @staticmethod
        def backward(ctx, g):
            if ctx.fails:
                raise RuntimeError("mine")
            return g, None

    results = in_threads(4, lambda i: Fail.apply(x, i % 2).sum().backward())
    assert results == [None, "mine", None, "mine"]
    assert x.grad.tolist() == [2.0] * 3
