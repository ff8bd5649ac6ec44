"""What PyTorch's autograd guarantees, one file for each capability, each statement run on torch and on whygrad.

A program is a function of the module. It returns what shows; `told` turns an error into its class and first line, so that
one program can go through many. The two modules must return the same and warn of the same.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from parity import collect, parity, same

import whygrad

__all__ = ["MODULES", "collect", "function", "leaf", "names", "no_collector", "pairs", "parity", "same", "told"]

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
