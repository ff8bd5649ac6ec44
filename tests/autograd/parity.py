"""One program, run on torch and on whygrad: same results, same errors, same warnings.

A program is a function of the module. It returns what shows; `told` turns an error into its class and first line, so that
one program can go through many. The two modules must return the same and warn of the same.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

import whygrad

torch.set_num_threads(1)

Program = Callable[[Any], Any]

TOLERANCE = {"float16": 1e-3, "float32": 2e-6, "complex64": 2e-6, "float64": 1e-12, "complex128": 1e-12}


class Numbers:
    """Numbers that equal others which differ by rounding: relative to themselves and to the largest of them."""

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int):
            return bool(self.array == other)
        if not isinstance(other, Numbers) or self.array.shape != other.array.shape:
            return False
        a, b = self.array, other.array
        rtol = TOLERANCE.get(a.dtype.name, 0)
        largest = np.abs(b[np.isfinite(b)]).max(initial=0.0) if rtol else 0.0
        return bool(np.isclose(a, b, rtol=rtol, atol=rtol * min(1.0, largest), equal_nan=bool(rtol)).all())

    def __repr__(self) -> str:
        return str(self.array.tolist())


def describe(value: Any) -> Any:
    """Everything that shows of a value, in a form that compares with `==`."""
    if isinstance(value, (torch.Tensor, whygrad.Tensor)):
        array = value.detach().numpy()
        numbers = Numbers(array)
        node = None if value.grad_fn is None else type(value.grad_fn).__name__
        return "Tensor", str(value.dtype), tuple(value.shape), numbers, value.requires_grad, node
    if isinstance(value, (torch.autograd.graph.Node, whygrad.autograd.graph.Node)):
        return "Node", type(value).__name__
    if isinstance(value, (list, tuple)):
        return type(value).__name__, *[describe(x) for x in value]
    if isinstance(value, dict):
        return {key: describe(x) for key, x in value.items()}
    if isinstance(value, float):
        return Numbers(np.float32(value))
    if isinstance(value, (torch.Size, whygrad.Size)):
        return tuple(value)
    return value if value is None or isinstance(value, (int, str, bool)) else str(value)


def shown_by(program: Program, module: Any) -> tuple[Any, list[Any]]:
    """What a program gives or raises, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = describe(program(module))
        except Exception as error:
            result = ("raises", type(error).__name__, str(error).split("\nInvoked with")[0])
    said = [(w.category.__name__, str(w.message).split(" (Triggered internally")[0]) for w in caught]
    return result, said


def same(program: Program, *, warnings_too: bool = True) -> Any:
    """Assert that both give the same; give back what torch gave."""
    theirs, ours = shown_by(program, torch), shown_by(program, whygrad)
    if not warnings_too:
        theirs, ours = theirs[:1], ours[:1]
    assert ours == theirs, f"\n  torch:   {theirs}\n  whygrad: {ours}"
    return theirs[0]


def parity(programs: list[Program]) -> Any:
    """Parametrize a test over programs."""
    return pytest.mark.parametrize("program", programs, ids=[p.__name__ for p in programs])


def collect(programs: list[Program]) -> Callable[[Program], Program]:
    def add(program: Program) -> Program:
        programs.append(program)
        return program

    return add


# For what cannot be compared by what it returns: the same assertions on both.
MODULES = pytest.mark.parametrize("T", [torch, whygrad], ids=["torch", "whygrad"])


def told(call: Callable[[], Any]) -> Any:
    """Class and first line of the error that a call raises, or "fine"."""
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]
    return "fine"


def function(T: Any, forward: Callable[..., Any], backward: Callable[..., Any] | None = None, name: str = "Fn",
             **members: Any) -> Any:
    """A Function class out of plain functions."""
    parts = {"forward": forward, "backward": backward, **{k: members.pop(k) for k in ("jvp", "vjp") if k in members}}
    methods = {k: staticmethod(f) for k, f in parts.items() if f is not None}
    return type(T.autograd.Function)(name, (T.autograd.Function,), {**methods, **members})


def pairs(T: Any) -> tuple[Callable[[Any], Any], ...]:
    """Functions with two results, one of Python's and one of the library's."""
    custom = function(T, lambda ctx, x: (x * 2, x * 3), lambda ctx, g, h: g * 2 + h * 3)
    return custom.apply, lambda x: T.var_mean(x, dim=0)


def short_leaf(T: Any, *values: float) -> Any:
    return T.tensor(values or [1.0, 2.0], requires_grad=True)


def leaf(T: Any, *values: float, dtype: str = "float32") -> Any:
    return T.tensor(list(values) or [1.0, 2.0, 3.0], dtype=getattr(T, dtype), requires_grad=True)


def names(node: Any) -> str:
    """The graph behind a node, by the names of its nodes."""
    if node is None:
        return "None"
    return f"{type(node).__name__}({', '.join([names(following) for following, _ in node.next_functions])})"


@contextmanager
def no_collector() -> Iterator[None]:
    """What dies inside dies by itself."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
