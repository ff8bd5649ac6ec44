"""torch.utils._contextlib: context managers that also decorate functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from whygrad.autograd.grad_mode import DecoratorContextManager as _DecoratorContextManager
from whygrad.autograd.grad_mode import WithoutParentheses as _NoParamDecoratorContextManager

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager", "context_decorator"]


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """`func` inside of the context: a context manager, or a function that makes one for each call."""
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), making it "
                             "ambiguous which interface to use.  If you intended to pass a context manager factory, rewrite "
                             "your call as context_decorator(lambda: ctx()); if you intended to pass a context manager "
                             "directly, rewrite your call as context_decorator(lambda: ctx)")
    if inspect.isclass(func):
        raise RuntimeError("Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods "
                           "should have the context manager applied; additionally, decorating a class at definition-site "
                           "will prevent use of the identifier as a conventional type.  To specify which methods to decorate, "
                           "decorate each of them individually.")

    @functools.wraps(func)
    def inside(*args: Any, **kwargs: Any) -> Any:
        with ctx() if callable(ctx) else ctx:
            return func(*args, **kwargs)

    return inside
