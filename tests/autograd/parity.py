"""One program, run on torch and on whygrad: same results, same errors, same warnings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import whygrad

sys.path.insert(0, str(Path(__file__).parent.parent))

torch.set_num_threads(1)
torch.set_warn_always(True)

Program = Callable[[Any], Any]


def describe(value: Any) -> Any:
    """Everything that shows of a value, in a form that compares with `==`."""
    if isinstance(value, (torch.Tensor, whygrad.Tensor)):
        array = value.detach().numpy()
        numbers = " ".join([format(complex(x) if array.dtype.kind == "c" else float(x), ".4g") for x in array.flat])
        node = None if value.grad_fn is None else type(value.grad_fn).__name__
        return "Tensor", str(value.dtype), tuple(value.shape), numbers, value.requires_grad, node
    if isinstance(value, (torch.autograd.graph.Node, whygrad.autograd.graph.Node)):
        return "Node", type(value).__name__
    if isinstance(value, (list, tuple)):
        return type(value).__name__, *[describe(x) for x in value]
    if isinstance(value, dict):
        return {key: describe(x) for key, x in value.items()}
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, (torch.Size, whygrad.Size)):
        return tuple(value)
    return value if value is None or isinstance(value, (int, str, bool)) else str(value)


def outcome(program: Program, module: Any) -> tuple[Any, list[Any]]:
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
    theirs, ours = outcome(program, torch), outcome(program, whygrad)
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
