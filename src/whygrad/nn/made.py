"""Modules that do nothing but keep the arguments of a function of `nn.functional`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.nn.module import Module

REQUIRED = inspect.Parameter.empty


def module_of(name: str, module: str, function: Callable[..., Any], parameters: dict[str, Any], *,
              start: Callable[..., None], base: type[Module] = Module,
              passed: tuple[str, ...] | None = None, inputs: tuple[str, ...] | None = None, keyword_only: bool = False,
              **members: Any) -> Any:
    """A Module whose constructor takes `parameters` and whose forward hands them to `function`.

    `start(self, **values)` begins the construction. `passed` names the attributes that forward passes on, by keyword
    (default: all parameters), `inputs` the arguments of forward (default: what else `function` cannot do without).
    """
    kind = inspect.Parameter.KEYWORD_ONLY if keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(key, kind, default=value) for key, value in parameters.items()])
    names = tuple(parameters) if passed is None else passed

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}.__init__() {error}") from None
        bound.apply_defaults()
        start(self, **bound.arguments)

    if inputs is None:
        wanted = inspect.signature(function).parameters.values()
        inputs = tuple([p.name for p in wanted if p.default is REQUIRED and p.name not in names])
    members.update(__module__=module, __qualname__=name, __doc__=function.__doc__, forward=_forward(function, inputs, names))
    if parameters:
        self_parameter = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        __init__.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[self_parameter, *signature.parameters.values()])
        members["__init__"] = __init__
    made = type(name, (base,), members)
    for key, member in vars(made).items():
        if inspect.isfunction(member):
            member.__name__, member.__qualname__ = key, f"{name}.{key}"
    return made


def _forward(function: Callable[..., Any], inputs: tuple[str, ...], names: tuple[str, ...]) -> Callable[..., Any]:
    """`def forward(self, input, target): return function(input, target, weight=self.weight)`, for these names."""
    given = ", ".join([*inputs, *[f"{key}=self.{key}" for key in names]])
    scope: dict[str, Any] = {"__name__": __name__, "function": function}
    exec(f"def forward(self, {', '.join(inputs)}):\n    return function({given})\n", scope)
    forward: Callable[..., Any] = scope["forward"]
    return forward


def keep(self: Any, **values: Any) -> None:
    """Every parameter becomes an attribute; a tensor or None called weight becomes a buffer."""
    Module.__init__(self)
    for key, value in values.items():
        if isinstance(value, Tensor) or key.endswith("weight"):
            self.register_buffer(key, value)
        else:
            setattr(self, key, value)
