"""torch.compiler and torch.compile: functions are not compiled but run eagerly, with the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.base.unsupported import absent_from, answer
from whygrad.base.unsupported import unchanged as _unchanged

__getattr__ = absent_from("torch.compiler")

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
           "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance"]


def compile(model: Callable[..., Any] | None = None, *, fullgraph: bool = False, dynamic: bool | None = None,
            backend: str | Callable[..., Any] = "inductor", mode: str | None = None,
            options: dict[str, Any] | None = None, name: str | None = None, disable: bool = False,
            recompile_limit: int | None = None, isolate_recompiles: bool = False, shapes_spec: Any = None) -> Callable[..., Any]:
    """Returns the model itself, as with `backend="eager"`. Also usable as a decorator with arguments."""
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    return _unchanged if model is None else model


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    return _unchanged if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    return fn


assume_constant_result = allow_in_graph
is_compiling = answer("is_compiling", False)
is_dynamo_compiling = answer("is_dynamo_compiling", False)
is_exporting = answer("is_exporting", False)
reset = answer("reset", None)
cudagraph_mark_step_begin = answer("cudagraph_mark_step_begin", None)
set_stance = answer("set_stance", None)


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    return ["eager"]
