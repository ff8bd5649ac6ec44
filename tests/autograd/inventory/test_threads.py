"""Threads."""

from __future__ import annotations

import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from inventory import MODULES, same


def in_threads(count, run):
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

    in_threads(10, alone)
    shared = T.ones(5, 5, requires_grad=True)

    def together():
        ((shared + 3) * (shared + 4) * 0.5).sum().backward()

    in_threads(10, together)
    assert T.equal(shared.grad, 10 * (shared + 3.5).detach())

    def by_grad():
        (g,) = T.autograd.grad(((shared + 3) * (shared + 4) * 0.5).sum(), shared)
        assert T.equal(g, (shared + 3.5).detach())

    in_threads(10, by_grad)


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

    in_threads(5, freeing)
    assert "fine" in results
    assert all(r == "fine" or "Specify retain_graph=True" in r for r in results)
    y = T.ones(5, 5, requires_grad=True)
    kept = y + y**2
    in_threads(5, lambda: (kept + kept**2).sum().backward(retain_graph=True))
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
    in_threads(5, lambda: out.backward(inputs=(t2, t3), retain_graph=True))
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
            in_threads(1, lambda: seen.append(T.is_grad_enabled()))
            seen.append(T.is_grad_enabled())
        return seen

    same(run)
