"""Several threads walk at once: on their own graphs, on shared leaves, on one graph."""

from __future__ import annotations

import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
from parity import MODULES, same

import whygrad


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
def test_shared_leaves_get_every_contribution(T):
    x = T.ones(3, requires_grad=True)

    def work(i):
        for _ in range(50):
            (x * (i + 1)).sum().backward()

    assert in_threads(4, work) == [None] * 4
    assert x.grad.tolist() == [50.0 * (1 + 2 + 3 + 4)] * 3


@MODULES
def test_separate_graphs_do_not_meet(T):
    def work(i):
        x = T.full((3,), float(i), requires_grad=True)
        y = x
        for _ in range(30):
            y = y + x * 2
        (y * x).sum().backward()
        first, = T.autograd.grad((x * x * x).sum(), x, create_graph=True)
        return x.grad.tolist(), T.autograd.grad(first.sum(), x)[0].tolist()

    assert in_threads(4, work) == [([122.0 * i] * 3, [6.0 * i] * 3) for i in range(4)]


@MODULES
def test_one_graph_kept_is_walked_by_all(T):
    x = T.ones(3, requires_grad=True)
    y = (x * x * 2).sum()

    def work(i):
        for _ in range(20):
            y.backward(retain_graph=True)
        return T.autograd.grad(y, x, retain_graph=True)[0].tolist()

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
def test_modes_of_one_thread_do_not_touch_another(T):
    """Threads that switch gradients off and on never change what another one records."""
    x = T.ones(3, requires_grad=True)

    def work(i):
        wrong = 0
        for _ in range(200):
            if i % 2:
                with T.no_grad():
                    wrong += (x * 2).requires_grad
            wrong += not (x * 2).requires_grad
        return wrong

    assert in_threads(4, work) == [0] * 4


@MODULES
def test_a_hook_runs_in_the_thread_of_its_backward(T):
    def work(i):
        x = T.ones(3, requires_grad=True)
        seen = []
        y = x * 2
        y.register_hook(lambda g: seen.append((threading.get_ident(), T.is_grad_enabled())))
        y.sum().backward()
        return seen == [(threading.get_ident(), False)] and T.is_grad_enabled()

    assert in_threads(4, work) == [True] * 4


@MODULES
def test_a_failure_in_one_thread_stays_there(T):
    x = T.ones(3, requires_grad=True)

    class Fail(T.autograd.Function):
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


def run_in_threads(count, run):
    """Run in several threads at once; errors come out."""
    failures = []

    def guarded():
        try:
            run()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@MODULES
def test_separate_and_shared_leaves(T):
    def alone():
        x = T.ones(5, 5, requires_grad=True)
        ((x + 3) * (x + 4) * 0.5).sum().backward()
        assert T.equal(x.grad, (x + 3.5).detach())

    run_in_threads(10, alone)
    shared = T.ones(5, 5, requires_grad=True)

    def together():
        ((shared + 3) * (shared + 4) * 0.5).sum().backward()

    run_in_threads(10, together)
    assert T.equal(shared.grad, 10 * (shared + 3.5).detach())

    def by_grad():
        (g,) = T.autograd.grad(((shared + 3) * (shared + 4) * 0.5).sum(), shared)
        assert T.equal(g, (shared + 3.5).detach())

    run_in_threads(10, by_grad)


@MODULES
def test_one_graph_from_several_threads(T):
    results = []
    x = T.ones(5, 5, requires_grad=True)
    between = x + x**2

    def freeing():
        try:
            (between + between**2).sum().backward()
            results.append("fine")
        except RuntimeError as error:
            results.append(str(error))

    run_in_threads(5, freeing)
    assert "fine" in results
    assert all(r == "fine" or "Specify retain_graph=True" in r for r in results)
    y = T.ones(5, 5, requires_grad=True)
    kept = y + y**2
    run_in_threads(5, lambda: (kept + kept**2).sum().backward(retain_graph=True))
    assert T.allclose(y.grad, (5 * (4 * y**3 + 6 * y**2 + 4 * y + 1)).detach())


@MODULES
@pytest.mark.parametrize("mode", ["all", "any"])
def test_multi_grad_hooks_know_their_backward(T, mode):
    t1, t2, t3 = [T.ones(2, requires_grad=True) for _ in range(3)]
    calls, lock = [], threading.Lock()

    def hook(grads):
        with lock:
            calls.append([g is not None for g in grads] if mode == "all" else "any")

    handle = T.autograd.graph.register_multi_grad_hook((t1, t2, t3), hook, mode=mode)
    out = (t2 * t3).sum()
    run_in_threads(5, lambda: out.backward(inputs=(t2, t3), retain_graph=True))
    assert calls == [[False, True, True] if mode == "all" else "any"] * 5
    handle.remove()


@MODULES
def test_grad_is_one_object(T):
    x = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x**2).sum().backward()
    barrier = threading.Barrier(4)

    def look(_):
        barrier.wait()
        return weakref.ref(x.grad)

    with ThreadPoolExecutor(4) as pool:
        assert all(ref() is x.grad for ref in pool.map(look, range(4)))


def test_multithreading_switch():
    def run(T):
        A = T.autograd
        seen = []
        for flag in (False, True):
            with A.set_multithreading_enabled(flag):
                seen.append(A.is_multithreading_enabled())
            seen.append(A.is_multithreading_enabled())
        with A.set_multithreading_enabled(False):
            A.set_multithreading_enabled(True)
            seen.append(A.is_multithreading_enabled())
        seen.append(A.is_multithreading_enabled())
        A.set_multithreading_enabled(False)
        seen.append(A.is_multithreading_enabled())
        A.set_multithreading_enabled(True)
        return seen, A.is_multithreading_enabled()

    same(run)


def test_modes_belong_to_their_thread():
    def run(T):
        seen = []
        with T.no_grad():
            run_in_threads(1, lambda: seen.append(T.is_grad_enabled()))
            seen.append(T.is_grad_enabled())
        return seen

    same(run)
