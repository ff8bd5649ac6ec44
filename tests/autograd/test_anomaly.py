"""Anomaly detection: the first NaN, the forward line behind an error, the switches, and what the traces keep alive."""

from __future__ import annotations

import io
import re
import sys
import warnings
import weakref

import pytest
import torch
from parity import MODULES, collect, leaf, no_collector, parity, same, short_leaf, told

import whygrad

PROGRAMS = []
program = collect(PROGRAMS)


def nan_at(torch, position):
    """A Function of two arguments that gives NaN as the gradient of one of them."""
    class MyFunc(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, g):
            grads = [g.clone(), g.clone()]
            if position is not None:
                grads[position] = grads[position] * float("nan")
            return tuple(grads)

    return MyFunc


def nan_program(position, check_nan=True):
    def run(torch):
        x = short_leaf(torch)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with torch.autograd.detect_anomaly(check_nan=check_nan):
                nan_at(torch, position).apply(x, x).sum().backward()
        return x.grad

    run.__name__ = f"nan_at_{position}_{check_nan}"
    return run


PROGRAMS += [nan_program(0), nan_program(1), nan_program(None), nan_program(0, check_nan=False)]


@program
def nan_of_a_row(torch):
    x = short_leaf(torch, 0.0, 1.0)
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x * 0 * torch.tensor([float("inf"), 1.0])).sum().backward()


@program
def nan_with_create_graph(torch):
    x = short_leaf(torch)
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.autograd.grad(nan_at(torch, 1).apply(x, x).sum(), x, create_graph=True)


@program
def the_switches(torch):
    seen = [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]
    with torch.autograd.detect_anomaly(check_nan=False):
        seen += [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]
        with torch.autograd.set_detect_anomaly(False):
            seen += [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]
        seen += [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]
    torch.autograd.set_detect_anomaly(True)
    seen.append(torch.is_anomaly_enabled())
    torch.autograd.set_detect_anomaly(False)
    return seen, torch.is_anomaly_enabled()


@program
def nothing_known_of_the_forward(torch):
    x = short_leaf(torch)
    y = nan_at(torch, 0).apply(x, x).sum()
    with torch.autograd.set_detect_anomaly(True):
        y.backward()


@program
def a_stale_value_has_another_hint(torch):
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = short_leaf(torch) + 1
        z = y * y
        y.add_(1)
        z.sum().backward()


def traces(T, run):
    """The warnings about forward lines: (first line, the source lines of this file in it)."""
    with warnings.catch_warnings(record=True) as caught, T.autograd.set_detect_anomaly(True):
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError):
            run(T)
    texts = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    line = re.compile(r'test_anomaly.py", line \d+, in (\w+)\n    (.*)')
    return [(text.strip().split("\n")[0], line.findall(text)[-1]) for text in texts]


def failing(T):
    x = short_leaf(T)
    y = nan_at(T, 0).apply(x, x)
    y.sum().backward()


def failing_in_a_second_derivative(T):
    inner = nan_at(T, 0)

    class Outer(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return inner.apply(x, x) * g

    x = short_leaf(T)
    y = Outer.apply(x)
    first, = T.autograd.grad(y.sum(), x, create_graph=True)
    first.sum().backward()


@pytest.mark.parametrize("run", [failing, failing_in_a_second_derivative])
def test_the_forward_line_is_shown(run):
    ours, theirs = traces(whygrad, run), traces(torch, run)
    assert ours == theirs


@MODULES
def test_the_trace_is_in_the_metadata(T):
    with T.autograd.set_detect_anomaly(True):
        y = short_leaf(T) * 2
    assert "y = short_leaf(T) * 2" in y.grad_fn.metadata["traceback_"][-1]


@MODULES
def test_if_warnings_are_errors_the_trace_goes_to_stderr(T, capfd):
    with warnings.catch_warnings(), T.autograd.set_detect_anomaly(True):
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError, match="returned nan values in its 0th output"):
            failing(T)
    assert "y = nan_at(T, 0).apply(x, x)" in capfd.readouterr().err


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


@parity(PROGRAMS)
def test_anomaly(program):
    same(program)
