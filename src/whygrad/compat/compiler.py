"""torch.compiler and torch.compile: the doors to `whygrad.compilation`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.base.unsupported import absent_from, answer
from whygrad.base.unsupported import unchanged as _unchanged
from whygrad.compilation import api

__getattr__ = absent_from("torch.compiler")

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
           "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance"]

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
# Backends that make no difference here: there is one compiler. "eager" runs the function as it is.
BACKENDS = ("inductor", "aot_eager", "aot_eager_decomp_partition", "cudagraphs", "eager")


def compile(model: Callable[..., Any] | None = None, *, fullgraph: bool = False, dynamic: bool | None = None,
            backend: str | Callable[..., Any] = "inductor", mode: str | None = None,
            options: dict[str, Any] | None = None, name: str | None = None, disable: bool = False,
            recompile_limit: int | None = None, isolate_recompiles: bool = False, shapes_spec: Any = None) -> Callable[..., Any]:
    """Run a function or module as a program on arrays, where guards say that it would do the same (see docs/compile.md).

    Also usable as a decorator with arguments.
    """
    if model is not None and not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if callable(backend):
        raise NotImplementedError("torch.compile(backend=<function>): there is no graph that could be given to it")
    if backend not in BACKENDS:
        raise RuntimeError(f"Invalid backend: '{backend}', see torch._dynamo.list_backends() for available backends.")
    if disable or backend == "eager":
        return _unchanged if model is None else model
    if model is None:
        return lambda function: api.compile_function(function, fullgraph=fullgraph, limit=recompile_limit)
    return api.compile_function(model, fullgraph=fullgraph, limit=recompile_limit)  # type: ignore[no-any-return]


def method(bound: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`compile` for a bound method: a copy of its object gets one of its own."""
    compiled = compile(bound, *args, **kwargs)
    return getattr(compiled, "_compiled", compiled)


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Run a function eagerly, and so every compiled one that calls it."""
    return (lambda function: api.disabled(function, reason)) if fn is None else api.disabled(fn, reason)


def _disable_dynamo(fn: Any = None, recursive: bool = True) -> Any:
    """torch._disable_dynamo: `disable` with the function first."""
    return disable(fn, recursive)


def allow_in_graph(fn: Any) -> Any:
    return fn


assume_constant_result = allow_in_graph
is_compiling = is_dynamo_compiling = api.is_compiling
is_exporting = answer("is_exporting", False)
reset = api.reset
cudagraph_mark_step_begin = answer("cudagraph_mark_step_begin", None)
set_stance = api.set_stance


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    return ["cudagraphs", "inductor"]
