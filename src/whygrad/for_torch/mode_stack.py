"""Turning the recorder on and off in the middle of a program, below the modes that the program itself has entered."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


def _is_on_stack(mode: TorchFunctionMode) -> bool:
    count = torch._C._len_torch_function_stack()
    if count < 2:  # the usual case
        return count == 1 and torch._C._get_function_stack_at(0) is mode
    return any(torch._C._get_function_stack_at(i) is mode for i in range(count))


def _rebuild(mode: TorchFunctionMode, is_wanted: bool) -> None:
    """The program leaves its own modes in reverse order: so this one is at the bottom of the stack, where only the mode of
    torch.set_default_device() may be below it, which torch looks for there."""
    count = torch._C._len_torch_function_stack()
    if count == int(not is_wanted):  # the usual case: there are no others
        if is_wanted:
            torch._C._push_on_torch_function_stack(mode)
        else:
            torch._C._pop_torch_function_stack()
        return
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
        # False if it was switched inside of a call, which puts the mode back on the stack when it ends.
        self._is_settled = True

    def turn(self, on: bool) -> None:
        self.is_on = self.mode.is_on = on
        self._settle()

    def pause(self, on: bool) -> None:
        """Record nothing in this thread for a while: inside of an optimizer's step there is nothing to learn."""
        self.mode.is_paused = on
        if self.is_on or not self._is_settled:
            self._settle()

    def _settle(self) -> None:
        is_wanted = self.is_on and not self.mode.is_paused
        self._is_settled = not self.mode.is_handling
        if self._is_settled and is_wanted != _is_on_stack(self.mode):
            _rebuild(self.mode, is_wanted)

    def again(self) -> AbstractContextManager[None]:
        """Record inside of a function that torch runs without modes, or in another thread."""
        if self.mode.is_paused:  # by a step that has raised, or whose closure computes a loss
            self.pause(False)
        return NOTHING if not self.is_on or _is_on_stack(self.mode) else _OnStack(self.mode)


class _OnStack(AbstractContextManager[None]):
    def __init__(self, mode: Any) -> None:
        self._mode = mode

    def __enter__(self) -> None:
        torch._C._push_on_torch_function_stack(self._mode)

    def __exit__(self, *_: object) -> None:
        if _is_on_stack(self._mode):
            torch._C._pop_torch_function_stack()


NOTHING: AbstractContextManager[None] = nullcontext()
