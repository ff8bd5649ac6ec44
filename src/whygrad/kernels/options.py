"""The scalars of an optimizer's step: how they follow from its options, so that the next step need not be traced again.

`update` computes them (`1 - beta1**step`) and branches on them (`if weight_decay != 0`). Given `TracedOptions`, it meets
expressions instead of numbers. A branch evaluates its expression with the options at hand, and becomes a guard: as long as all
guards give the same answers, the scalars of a later step are a Python function of its options.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from whygrad.base.expression import OPERATORS, PREFIXES, Expr, Untraceable, walk

KNOWN = {**OPERATORS, **PREFIXES}

Scalars = Callable[[dict[str, Any]], "list[float] | None"]


class TracedOptions:
    """What `update` may do with its options: read them by name. `leaf` makes an expression of a number and its Python text."""

    def __init__(self, given: dict[str, Any], leaf: Callable[[Any, str], Expr]) -> None:
        self.given = given
        self.leaf = leaf
        self.guards: list[str] = []

    def __getitem__(self, name: str) -> Any:
        return self._read(self.given[name], f"options[{name!r}]")

    def get(self, name: str, default: Any = None) -> Any:
        found = name in self.given
        self.guards.append(f"{name!r} {'in' if found else 'not in'} options")
        return self[name] if found else default

    def _read(self, value: Any, text: str) -> Any:
        if value is None or type(value) is bool:
            self.guards.append(f"{text} is {value}")
            return value
        if type(value) is tuple:
            self.guards.append(f"len({text}) == {len(value)}")
            return tuple([self._read(x, f"{text}[{i}]") for i, x in enumerate(value)])
        if not isinstance(value, (int, float)):
            raise Untraceable(f"an option that is a {type(value).__name__}")
        return self.leaf(value, text)

    def branch(self, expr: Expr) -> bool:
        """The truth of a scalar with these options, which becomes a guard."""
        answer = bool(evaluate(expr))
        self.guards.append(python_text(expr) if answer else f"not {python_text(expr)}")
        return answer


def evaluate(root: Expr) -> Any:
    """The number that a scalar expression is, with the options at hand."""
    values: dict[Expr, Any] = {}
    for expr in walk(root):
        if expr.op == "option":
            values[expr] = expr.args[0]
        else:
            values[expr] = KNOWN[expr.op].function(*[values[arg] if isinstance(arg, Expr) else arg for arg in expr.args])
    return values[root]


def python_text(root: Expr) -> str:
    """A scalar expression as Python, of a dict called `options`."""
    texts: dict[Expr, str] = {}
    for expr in walk(root):
        args = [texts[arg] if isinstance(arg, Expr) else f"({arg!r})" for arg in expr.args]
        if expr.op == "option":
            texts[expr] = expr.args[1]
        else:
            texts[expr] = f"({'' if len(args) == 1 else args[0]} {KNOWN[expr.op].sign} {args[-1]})"
    return texts[root]


def compile_guarded(scalars: list[Any], guards: list[str]) -> Scalars:
    """A function that computes these scalars from other options; None if a guard gives another answer for those."""
    fails = " or ".join(f"not ({guard})" for guard in guards) or "False"
    texts = ", ".join(f"float({python_text(x)})" if isinstance(x, Expr) else repr(float(x)) for x in scalars)
    compiled: Scalars = eval(f"lambda options: None if {fails} else [{texts}]", {"inf": math.inf, "nan": math.nan})
    return compiled
