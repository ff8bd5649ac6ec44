"""Turning the recorder on and off in the middle of a program, below the modes that the program itself has entered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


def _is_on_stack(mode: TorchFunctionMode) -> bool:
    return any(torch._C._get_function_stack_at(i) is mode for i in range(torch._C._len_torch_function_stack()))


def _rebuild(mode: TorchFunctionMode, is_wanted: bool) -> None:
    """The program leaves its own modes in reverse order: so this one is at the bottom of the stack, where only the mode of
    torch.set_default_device() may be below it, which torch looks for there."""
    others: list[Any] = []
    while torch._C._len_torch_function_stack():
        others.insert(0, torch._C._pop_torch_function_stack())
    others = [other for other in others if other is not mode]
    default = getattr(getattr(torch, "_GLOBAL_DEVICE_CONTEXT", None), "device_context", None)
    place = int(bool(others) and others[0] is default)
    for other in [*others[:place], *([mode] if is_wanted else []), *others[place:]]:
        torch._C._push_on_torch_function_stack(other)


class ModeSwitch:
    def __init__(self, mode: Any) -> None:
        self.mode = mode
        # Whether calls are recorded.
        self.is_on = False

    def turn(self, on: bool) -> None:
        self.is_on = self.mode.is_on = on
        self._settle()

    def pause(self, on: bool) -> None:
        """Record nothing in this thread for a while: inside of an optimizer's step there is nothing to learn."""
        self.mode.is_paused = on
        self._settle()

    def _settle(self) -> None:
        is_wanted = self.is_on and not self.mode.is_paused
        if is_wanted != _is_on_stack(self.mode) and not self.mode.is_handling:
            _rebuild(self.mode, is_wanted)

    @contextmanager
    def again(self) -> Iterator[None]:
        """Record inside of a function that torch runs without modes, or in another thread."""
        if self.mode.is_paused:  # by a step that has raised, or whose closure computes a loss
            self.pause(False)
        if not self.is_on or _is_on_stack(self.mode):
            yield
            return
        torch._C._push_on_torch_function_stack(self.mode)
        try:
            yield
        finally:
            if _is_on_stack(self.mode):
                torch._C._pop_torch_function_stack()
