"""`torch.compile` and what belongs to it: compiled functions and modules, and functions that are not to be compiled."""

from __future__ import annotations

import functools
import threading
from typing import Any

from whygrad.compilation.capture import Capture
from whygrad.compilation.function import ALL, CompiledFunction, set_stance, thread
from whygrad.core.modes import process_state
from whygrad.nn.module import Module

__all__ = ["CompiledFunction", "OptimizedModule", "broken", "compile_function", "disabled", "is_compiling", "reset", "set_stance"]


class OptimizedModule(Module):
    """A module whose forward is compiled; everything else is that of the module itself."""

    def __init__(self, module: Module, options: dict[str, Any]) -> None:
        super().__init__()
        self._orig_mod = module
        self.__dict__["_compiled"] = CompiledFunction(module.__call__, **options)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(*args, **kwargs)

    def explanation(self) -> str:
        return self._compiled.explanation()  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._modules["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_orig_mod" or "_orig_mod" not in self.__dict__.get("_modules", ()):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})


def compile_function(model: Any, **options: Any) -> Any:
    """The compiled version of a function or a module."""
    if isinstance(model, Module):
        return OptimizedModule(model, options)
    compiled = CompiledFunction(model, **options)

    @functools.wraps(model)
    def call(*args: Any, **kwargs: Any) -> Any:
        return compiled(*args, **kwargs)

    call._compiled = compiled  # type: ignore[attr-defined]
    call.explanation = compiled.explanation  # type: ignore[attr-defined]
    call._torchdynamo_orig_callable = model  # type: ignore[attr-defined]
    return call


def reset() -> None:
    """Forget all programs."""
    for compiled in list(ALL):
        compiled.reset()


def is_compiling() -> bool:
    """Whether this thread's run is being captured. A function that stays eager sees False."""
    return thread.capturing


def broken(reason: str) -> None:
    """What is being captured in this thread will stay eager."""
    for listener in process_state.listeners:
        if isinstance(listener, Capture) and listener.thread == threading.get_ident():
            listener.broke(reason)


def disabled(function: Any, reason: str | None) -> Any:
    """The function, always eager: what calls it cannot be compiled."""
    if isinstance(function, (CompiledFunction, OptimizedModule)):
        return getattr(function, "_orig_mod", None) or function.function

    @functools.wraps(function)
    def eagerly(*args: Any, **kwargs: Any) -> Any:
        name = getattr(function, "__qualname__", function)
        broken(f"torch.compiler.disable of {name}" + (f": {reason}" if reason else ""))
        thread.disabled += 1
        try:
            return function(*args, **kwargs)
        finally:
            thread.disabled -= 1

    return eagerly
