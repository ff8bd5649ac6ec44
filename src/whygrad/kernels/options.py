"""The numbers of an optimizer's step: how they come from its options, so that the next step need not be traced again.

`update` computes them (`1 - beta1**step`) and branches on them (`if weight_decay != 0`). Given `Options`, it meets numbers that
write down how they are made, and what was asked of them. That is a Python function of the options then, which gives the numbers
of the next step as long as all answers are the same.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from whygrad.kernels.trace import Untraceable


class Options:
    """What `update` may do with its options: read them by name."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.conditions: list[str] = []

    def __getitem__(self, name: str) -> Any:
        return self._known(self.given[name], f"options[{name!r}]")

    def get(self, name: str, default: Any = None) -> Any:
        found = name in self.given
        self.conditions.append(f"{name!r} {'in' if found else 'not in'} options")
        return self[name] if found else default

    def _known(self, value: Any, text: str) -> Any:
        if value is None or type(value) is bool:
            self.conditions.append(f"{text} is {value}")
            return value
        if type(value) is tuple:
            self.conditions.append(f"len({text}) == {len(value)}")
            return tuple([self._known(x, f"{text}[{i}]") for i, x in enumerate(value)])
        if not isinstance(value, (int, float)):
            raise Untraceable(f"an option that is a {type(value).__name__}")
        return Known(value, text, self.conditions)

    def recipe(self, numbers: list[Any]) -> Callable[[dict[str, Any]], list[float] | None]:
        """A function that computes these numbers from other options; None if those would lead another way."""
        wrong = " or ".join(f"not ({condition})" for condition in self.conditions) or "False"
        texts = ", ".join(f"float({x.text})" if isinstance(x, Known) else repr(float(x)) for x in numbers)
        made: Callable[[dict[str, Any]], list[float] | None]
        made = eval(f"lambda options: None if {wrong} else [{texts}]", {"inf": math.inf, "nan": math.nan})
        return made


class Known:
    """A number, and how it was made. It cannot become a plain one: nobody would know then where that came from."""

    __slots__ = ("conditions", "text", "value")

    def __init__(self, value: Any, text: str, conditions: list[str]) -> None:
        self.value = value
        self.text = text
        self.conditions = conditions

    def __neg__(self) -> Known:
        return Known(-self.value, f"(-{self.text})", self.conditions)

    def __bool__(self) -> bool:
        answer = bool(self.value)
        self.conditions.append(self.text if answer else f"not {self.text}")
        return answer

    __hash__ = None  # type: ignore[assignment]


def _operator(sign: str, function: Callable[[Any, Any], Any], swapped: bool) -> Callable[[Known, Any], Any]:
    def combine(self: Known, other: Any) -> Any:
        if not isinstance(other, (Known, int, float)):
            return NotImplemented
        value, text = (other.value, other.text) if isinstance(other, Known) else (other, f"({other!r})")
        if swapped:
            return Known(function(value, self.value), f"({text} {sign} {self.text})", self.conditions)
        return Known(function(self.value, value), f"({self.text} {sign} {text})", self.conditions)

    return combine


def _comparison(sign: str, function: Callable[[Any, Any], bool]) -> Callable[[Known, Any], Any]:
    compute = _operator(sign, function, swapped=False)

    def compare(self: Known, other: Any) -> Any:
        result = compute(self, other)
        return result if result is NotImplemented else bool(result)

    return compare


for _name, _sign in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**"}.items():
    for _prefix in ("", "r"):
        setattr(Known, f"__{_prefix}{_name}__", _operator(_sign, getattr(operator, _name), swapped=bool(_prefix)))
for _name, _sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items():
    setattr(Known, f"__{_name}__", _comparison(_sign, getattr(operator, _name)))
