"""Functions that work element by element."""

from __future__ import annotations

from typing import Any

from whygrad.functional.run import public, run

_whygrad_internal_ = True


@public()
def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    return run("add", input, other)


@public()
def mul(input: Any, other: Any, *, out: Any = None) -> Any:
    return run("mul", input, other)


@public()
def exp(input: Any) -> Any:
    return run("exp", input)


@public()
def neg(input: Any) -> Any:
    return run("neg", input)
