"""After a call failed in a way that is Python's or NumPy's and not torch's: the argument that has the wrong type.

Functions check what decides their result; what else is not a tensor or a number fails somewhere inside. Then, and only then,
the arguments are compared with the parameters: with their annotations, and by the names that torch gives to tensors and numbers.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, TypeVar

from whygrad.base import door
from whygrad.base.door import Spec
from whygrad.core.tensor import Tensor
from whygrad.functional.arguments import is_integer, is_number, read_flag, wrong_type

F = TypeVar("F", bound=Callable[..., Any])

TENSORS = frozenset((
    "anchor", "append", "attn_mask", "aweights", "bias", "fweights", "grid", "hx", "index", "indices", "input", "input1",
    "input2", "input3", "key", "mask", "negative", "offsets", "per_sample_weights", "pos_weight", "positive", "prepend", "query",
    "running_mean", "running_var", "self", "target", "var", "weight", "weights", "x", "x1", "x2"))
NUMBERS = frozenset(("alpha", "beta", "delta", "eps", "label_smoothing", "lambd", "margin", "momentum"))
INTEGERS = frozenset(("divisor_override",))


# How a TypeError of Python's or NumPy's operators reads: those that functions raise themselves say it better already.
INSIDE = re.compile("ufunc|unsupported operand|not supported between|NumPy arrays|is not iterable|not subscriptable|bad operand")


def wrong_argument(error: Exception, spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError | None:
    # An AttributeError without a name is one that a function raises itself, with torch's words.
    is_inside = error.name is not None if isinstance(error, AttributeError) else INSIDE.search(str(error))
    if spec.name.endswith("__") or not is_inside:
        return None
    plain = spec.plain
    kinds = getattr(plain, "__annotations__", {})
    defaults = getattr(plain, "__defaults__", None) or ()
    parameters = spec.parameters
    optional = {name for name, value in zip(parameters[len(parameters) - len(defaults):], defaults, strict=True) if value is None}
    function = getattr(spec.implementation, "__name__", spec.name)
    for position, (name, value) in enumerate([*zip(parameters, args, strict=False), *kwargs.items()], 1):
        if value is None and name in optional:
            continue
        kind = kinds.get(name)
        if (kind == "Tensor" or name in TENSORS) and not isinstance(value, Tensor):
            return wrong_type(function, name, position, "Tensor", value)
        if kind == "bool" and type(value) is not bool:
            return wrong_type(function, name, position, "bool", value)
        if (kind == "float" or name in NUMBERS) and (not is_number(value) or isinstance(value, complex)) and not isinstance(
                value, Tensor):
            return wrong_type(function, name, position, "float", value)
        if (kind == "int" or name in INTEGERS) and not is_integer(value):
            return wrong_type(function, name, position, "int", value)
    return None


door.wrong_argument = wrong_argument


def checks_flags(function: F) -> F:
    """Refuse what is not a bool for the parameters annotated so, where it would be taken for true or false."""
    plain = function.__code__
    names = plain.co_varnames[:plain.co_argcount + plain.co_kwonlyargcount]
    flags = [(i, name) for i, name in enumerate(names) if function.__annotations__.get(name) == "bool"]

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for i, name in flags:
            if name in kwargs:
                read_flag(function.__name__, name, None, kwargs[name])
            elif i < len(args):
                read_flag(function.__name__, name, i + 1, args[i])
        return function(*args, **kwargs)

    return checked  # type: ignore[return-value]
