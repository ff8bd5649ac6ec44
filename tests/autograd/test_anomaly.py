"""Anomaly detection: the first NaN, the forward line behind an error, and the switches."""

import re
import warnings

import pytest
import torch
from parity import collect, parity, same

import whygrad

PROGRAMS = []
program = collect(PROGRAMS)
MODULES = pytest.mark.parametrize("module", [torch, whygrad], ids=["torch", "whygrad"])


def leaf(torch, *values):
    return torch.tensor(values or [1.0, 2.0], requires_grad=True)


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
        x = leaf(torch)
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
    x = leaf(torch, 0.0, 1.0)
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x * 0 * torch.tensor([float("inf"), 1.0])).sum().backward()


@program
def nan_with_create_graph(torch):
    x = leaf(torch)
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
    x = leaf(torch)
    y = nan_at(torch, 0).apply(x, x).sum()
    with torch.autograd.set_detect_anomaly(True):
        y.backward()


@program
def a_stale_value_has_another_hint(torch):
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = leaf(torch) + 1
        z = y * y
        y.add_(1)
        z.sum().backward()


@parity(PROGRAMS)
def test_anomaly(program):
    same(program)


def traces(module, run):
    """The warnings about forward lines: (first line, the source lines of this file in it)."""
    with warnings.catch_warnings(record=True) as caught, module.autograd.set_detect_anomaly(True):
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError):
            run(module)
    texts = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    line = re.compile(r'test_anomaly.py", line \d+, in (\w+)\n    (.*)')
    return [(text.strip().split("\n")[0], line.findall(text)[-1]) for text in texts]


def failing(module):
    x = leaf(module)
    y = nan_at(module, 0).apply(x, x)
    y.sum().backward()


def failing_in_a_second_derivative(module):
    inner = nan_at(module, 0)

    class Outer(module.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return inner.apply(x, x) * g

    x = leaf(module)
    y = Outer.apply(x)
    first, = module.autograd.grad(y.sum(), x, create_graph=True)
    first.sum().backward()


@pytest.mark.parametrize("run", [failing, failing_in_a_second_derivative])
def test_the_forward_line_is_shown(run):
    ours, theirs = traces(whygrad, run), traces(torch, run)
    assert ours == theirs


@MODULES
def test_the_trace_is_in_the_metadata(module):
    with module.autograd.set_detect_anomaly(True):
        y = leaf(module) * 2
    assert "y = leaf(module) * 2" in y.grad_fn.metadata["traceback_"][-1]


@MODULES
def test_if_warnings_are_errors_the_trace_goes_to_stderr(module, capfd):
    with warnings.catch_warnings(), module.autograd.set_detect_anomaly(True):
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError, match="returned nan values in its 0th output"):
            failing(module)
    assert "y = nan_at(module, 0).apply(x, x)" in capfd.readouterr().err
