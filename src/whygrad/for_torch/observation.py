"""Listening to every call of a function, method or module, while a round is observed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from torch.jit import ScriptModule
from torch.nn.modules.module import (
    _global_forward_hooks_with_kwargs,
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from whygrad.for_torch.arrays import has_numbers
from whygrad.for_torch.recorder import is_transforming, tensors_in
from whygrad.for_torch.tensor_facts import quietly
from whygrad.why import record
from whygrad.why.audit.observation import Call, ModuleCall


class Observation:
    """Global hooks tell it of modules while it is on; the recorder tells the audit of calls by itself."""

    def __init__(self, on_call: Callable[[Call], None], on_module: Callable[[ModuleCall], None]) -> None:
        self.on_module = on_module
        self.is_on = False
        self._handles: list[Any] = []
        self._depths = threading.local()

    def switch(self, on: bool) -> None:
        if on == self.is_on:
            return
        self.is_on = on
        if on:
            self._handles = [register_module_forward_pre_hook(self._entering),
                             register_module_forward_hook(self._left, with_kwargs=True, always_call=True)]
            return
        for handle in self._handles:
            handle.remove()
            _global_forward_hooks_with_kwargs.pop(handle.id, None)  # torch leaves this entry behind
        self._depths = threading.local()

    def _entering(self, module: Any, args: Any) -> None:
        self._depths.count = getattr(self._depths, "count", 0) + 1

    def _left(self, module: Any, args: Any, *rest: Any) -> None:
        """After a forward that raised, torch leaves the keyword arguments out."""
        kwargs, output = rest if len(rest) == 2 else ({}, None)
        depth = self._depths.count = max(getattr(self._depths, "count", 1) - 1, 0)
        if output is not None and not is_transforming():
            with quietly():
                if not all(map(has_numbers, tensors_in((*args, output)))) or isinstance(module, ScriptModule):
                    return
                self.on_module(ModuleCall(module, args, kwargs, output, depth, record.site()))
