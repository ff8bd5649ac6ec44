"""Listening to every call of a function, method or module, while a round is observed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from whygrad.base import door
from whygrad.base.door import Next, Spec
from whygrad.nn.hooks import register_module_forward_hook, register_module_forward_pre_hook
from whygrad.why import record
from whygrad.why.audit.observation import Call, ModuleCall


class Observation:
    """Stands at the function door and hooks into all modules, while it is on."""

    place = "watch"

    def __init__(self, on_call: Callable[[Call], None], on_module: Callable[[ModuleCall], None]) -> None:
        self.on_call = on_call
        self.on_module = on_module
        self.is_on = False
        self._handles: list[Any] = []
        # Calls that other functions or modules of the package make meanwhile; by thread.
        self._inner = threading.local()

    def switch(self, on: bool) -> None:
        if on == self.is_on:
            return
        self.is_on = on
        if on:
            door.add(self)
            self._handles = [register_module_forward_pre_hook(self._entering),
                             register_module_forward_hook(self._left, with_kwargs=True, always_call=True)]
            return
        door.remove(self)
        for handle in self._handles:
            handle.remove()
        self._inner = threading.local()

    # The function door.

    def wants(self, spec: Spec) -> bool:
        return not spec.name.endswith(("__get__", "__set__", "__delete__"))

    def handle(self, spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any], next: Next) -> Any:
        inner = self._inner
        if getattr(inner, "in_call", False):
            return next(args, kwargs)
        inner.in_call = True
        try:
            result = next(args, kwargs)
        finally:
            inner.in_call = False
        self.on_call(Call(spec.name, args, kwargs, result, record.site()))
        return result

    # Modules.

    def _entering(self, module: Any, args: Any) -> None:
        self._inner.depth = getattr(self._inner, "depth", 0) + 1

    def _left(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        depth = self._inner.depth = max(getattr(self._inner, "depth", 1) - 1, 0)
        if output is not None:
            self.on_module(ModuleCall(module, args, kwargs, output, depth, record.site()))
