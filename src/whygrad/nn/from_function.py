"""Module classes made from a table: of one function of `nn.functional`, or for several numbers of dims."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.nn.module import Module

REQUIRED = inspect.Parameter.empty


def module_class(name: str, module: str, function: Callable[..., Any], forward: Any, parameters: dict[str, Any], *,
                 start: Callable[..., None], base: type[Module] = Module, keyword_only: bool = False,
                 **members: Any) -> Any:
    """A Module class with this `forward`, whose constructor takes `parameters` (name: default) and calls `start(self, **values)`.

    `forward` is a lambda that looks `function` up on its module when called, so that a patched function is used. The
    class has the docstring of `function`.
    """
    kind = inspect.Parameter.KEYWORD_ONLY if keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(key, kind, default=value) for key, value in parameters.items()])

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}.__init__() {error}") from None
        bound.apply_defaults()
        start(self, **bound.arguments)

    members.update(__module__=module, __qualname__=name, __doc__=function.__doc__, forward=forward)
    if parameters:
        self_parameter = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        __init__.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[self_parameter, *signature.parameters.values()])
        members["__init__"] = __init__
    made = type(name, (base,), members)
    for key, member in vars(made).items():
        if isinstance(member, FunctionType):
            member.__name__, member.__qualname__ = key, f"{name}.{key}"
            member.__code__ = member.__code__.replace(co_name=key, co_qualname=member.__qualname__)  # for tracebacks
    return made


def store(self: Any, **values: Any) -> None:
    """Every parameter becomes an attribute; a tensor, or anything called `...weight`, becomes a buffer."""
    Module.__init__(self)
    for key, value in values.items():
        if isinstance(value, Tensor) or key.endswith("weight"):
            self.register_buffer(key, value)
        else:
            setattr(self, key, value)


def shows(*names: str) -> Callable[[Any], str]:
    """An `extra_repr` of these attributes."""

    def extra_repr(self: Any) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)

    return extra_repr


def unusual(module: Module, usual: dict[str, Any], show: Callable[[Any], str] = str) -> list[str]:
    """`name=value` for each attribute that differs from its usual value."""
    return [f"{name}={show(value)}" for name, default in usual.items() if (value := getattr(module, name)) != default]


def for_dims(base: type[Module], *dims: int, kinds: Sequence[type] = ()) -> list[Any]:
    """The subclasses of `_Name` that differ in the number of spatial dims: Name1d, Name2d and Name3d, each also of its kind."""
    return [type(f"{base.__name__[1:]}{n}d", (base, *kinds[i:i + 1]), {"dims": n, "__module__": base.__module__})
            for i, n in enumerate(dims or (1, 2, 3))]
