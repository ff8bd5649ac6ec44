"""Anomaly detection."""

from __future__ import annotations

import io
import sys
import warnings
import weakref

import pytest

from inventory import MODULES, leaf, no_collector, same, told


def functions(T):
    class MyFunc(T.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, first):
            ctx.first = first
            return a.sum(0, keepdim=True)

        @staticmethod
        def backward(ctx, g):
            bad = g.clone().expand(3).clone()
            bad[0] = float("nan")
            return (bad, None, None) if ctx.first else (None, bad, None)

    class MyFunc2(T.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, first):
            ctx.first = first
            return a * 2.0 + b

        @staticmethod
        def backward(ctx, g):
            g1, g2 = g.clone(), g.clone()
            (g1 if ctx.first else g2)[0] = float("nan")
            return g1, g2, None

    class Outer(T.autograd.Function):
        @staticmethod
        def forward(ctx, a, first):
            ctx.first = first
            ctx.save_for_backward(a)
            return a.sum(0, keepdim=True)

        @staticmethod
        def backward(ctx, g):
            (a,) = ctx.saved_tensors
            g = g.clone().expand(3)
            return MyFunc2.apply(g * a, g + a, ctx.first), None

    return MyFunc, Outer


def heard(call):
    """What a call raises, and which of the known phrases its warnings contain."""
    phrases = ("Anomaly Detection has been enabled", "Error detected in MyFuncBackward", "Error detected in MyFunc2Backward",
               "Error detected in PowBackward0", "No forward pass information", "MyFunc.apply", "MyFunc2.apply", "Outer.apply",
               "Previous calculation was induced by OuterBackward")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = told(call)
    return result, [[phrase for phrase in phrases if phrase in str(w.message)] for w in caught]


def test_a_nan_is_found_where_it_arises():
    def run(T):
        MyFunc, _ = functions(T)
        seen = []
        for first in (True, False):
            x = leaf(T)
            out = MyFunc.apply(x, x, first)
            seen.append(heard(lambda: out.backward(retain_graph=True)))

            def inside():
                with T.autograd.detect_anomaly():
                    out.backward()

            def everything():
                with T.autograd.detect_anomaly():
                    MyFunc.apply(x, x, first).backward()

            def unchecked():
                with T.autograd.detect_anomaly(check_nan=False):
                    MyFunc.apply(x, x, first).backward()

            seen += [heard(inside), heard(everything), heard(unchecked)]
        return seen

    same(run)


def test_nested():
    def run(T):
        _, Outer = functions(T)
        seen = []
        for first in (True, False):
            def inside():
                x = leaf(T)
                (g,) = T.autograd.grad(Outer.apply(x, first), x, create_graph=True)
                with T.autograd.detect_anomaly():
                    g.sum().backward()

            def everything():
                x = leaf(T)
                with T.autograd.detect_anomaly():
                    (g,) = T.autograd.grad(Outer.apply(x, first), x, create_graph=True)
                    g.sum().backward()

            seen += [heard(inside), heard(everything)]
        return seen

    same(run)


def test_other_errors_show_the_forward_too():
    def run(T):
        def stale():
            a = leaf(T)
            d1 = a + 1
            d2 = d1**2
            d1 += 1
            T.autograd.grad(d2.sum(), a)

        def inside():
            with T.autograd.detect_anomaly():
                stale()

        return heard(inside), heard(stale)

    same(run)


@MODULES
def test_warnings_that_are_errors_go_to_stderr(T):
    def run():
        with T.autograd.detect_anomaly():
            warnings.simplefilter("error")
            a = leaf(T)
            d1 = a + 1
            d2 = d1**2
            d1 += 1
            T.autograd.grad(d2.sum(), a)

    before, sys.stderr = sys.stderr, io.StringIO()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with pytest.raises(RuntimeError, match="modified by an inplace"):
                run()
        shown = sys.stderr.getvalue()
    finally:
        sys.stderr = before
    assert len(caught) == 1
    assert "Error detected in PowBackward0" in shown


def test_switches():
    def run(T):
        seen = [T.is_anomaly_enabled()]
        with T.autograd.set_detect_anomaly(True, check_nan=False):
            seen += [T.is_anomaly_enabled(), T.is_anomaly_check_nan_enabled()]
            with T.autograd.detect_anomaly(check_nan=True):
                seen.append(T.is_anomaly_check_nan_enabled())
            seen.append(T.is_anomaly_check_nan_enabled())
        seen.append(T.is_anomaly_enabled())
        T.autograd.set_detect_anomaly(True)
        seen.append(T.is_anomaly_enabled())
        T.autograd.set_detect_anomaly(False)
        return seen, T.is_anomaly_enabled()

    same(run)


@MODULES
@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_metadata_dies_with_its_node(T):
    class Token:
        pass

    def scope():
        x = leaf(T)
        t = x.exp()
        with T.autograd.detect_anomaly():
            T.autograd.grad(t, x, T.ones(3), create_graph=True)
        token = Token()
        t.grad_fn.metadata[0] = token
        return t, weakref.ref(token)

    with no_collector():
        t, ref = scope()
        assert ref() is not None
        del t
        assert ref() is None
