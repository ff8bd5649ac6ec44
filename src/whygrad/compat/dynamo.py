"""torch._dynamo: what of it programs call, in terms of `whygrad.compilation`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from whygrad.base.unsupported import absent_from, answer
from whygrad.compat.compiler import allow_in_graph, assume_constant_result, disable, list_backends
from whygrad.compilation import api, config, exc
from whygrad.compilation.api import OptimizedModule

__getattr__ = absent_from("torch._dynamo")

__all__ = ["ExplainOutput", "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "exc", "explain",
           "graph_break", "is_compiling", "list_backends", "mark_dynamic", "mark_static_address", "reset"]


class ExplainOutput(NamedTuple):
    """How many programs a call became, and why it did not become one."""

    graph_count: int
    graph_break_count: int
    op_count: int
    break_reasons: list[str]
    text: str

    def __str__(self) -> str:
        return self.text


def explain(f: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Any:
    """`explain(f)(*args)`: run `f` twice, and tell what it would become."""

    def of_call(*args: Any, **kwargs: Any) -> ExplainOutput:
        compiled = api.CompiledFunction(f)
        for _ in range(2):
            compiled(*args, **kwargs)
        operations = sum(len(found.program.instructions) for found in compiled.programs)
        return ExplainOutput(len(compiled.programs), len(compiled.reasons), operations, compiled.reasons, compiled.explanation())

    return of_call(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else of_call


def graph_break(msg: str = "") -> None:
    """What calls this stays eager."""
    api.broken(msg or "torch._dynamo.graph_break")


is_compiling = api.is_compiling
reset = api.reset
mark_dynamic = answer("mark_dynamic", None)
mark_static_address = answer("mark_static_address", None)
