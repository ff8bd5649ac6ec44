"""What is forbidden inside functions that are being transformed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from whygrad.base.frames import is_internal
from whygrad.base.pytree import tree_flatten
from whygrad.core.modes import grad_state, process_state, refresh
from whygrad.core.node import next_sequence_number
from whygrad.core.tensor import Tensor


class Derivative:
    """One derivative that is being taken of a function: tensors that the function captures must not be written to meanwhile."""

    __slots__ = ("began", "caller", "depth", "function", "given", "own")

    def __init__(self, function: Any, args: Any) -> None:
        self.function = function
        # The version counters, by id, of what the function may write to: its arguments, and what it makes (see captured.py).
        tensors = [x for x in tree_flatten(args)[0] if isinstance(x, Tensor)]
        self.own = {id(x._version_counter): x._version_counter for x in tensors}
        # The arguments, by id, for those who print them.
        self.given = {id(x) for x in tensors}
        # How many transforms are around it that ops have to mind.
        self.depth = len(grad_state.levels)
        # Nodes with a higher number have been made inside.
        self.began = next_sequence_number()
        # The user who called the transform: his frame, and those around it, are outside.
        self.caller: FrameType | None = sys._getframe(1)
        while self.caller is not None and is_internal(self.caller):
            self.caller = self.caller.f_back


    def before_write(self, row_name: str, target: Tensor, inputs: tuple[Any, ...], statics: dict[str, Any]) -> None:
        """The function that this derivative is of is about to write into a tensor."""
        from whygrad.func.captured import refuse_captured  # it needs this class

        refuse_captured(row_name, target, inputs, statics)


@contextmanager
def transforming(derivative: Derivative | None = None) -> Iterator[None]:
    """Inside, a transform of torch.func is at work; a derivative, if one is given."""
    outer = grad_state.derivatives
    grad_state.transforming += 1
    if derivative is not None:
        grad_state.derivatives = (*outer, derivative)
        process_state.derivatives += 1
        refresh()
    try:
        yield
    finally:
        grad_state.transforming -= 1
        if derivative is not None:
            grad_state.derivatives = outer
            process_state.derivatives -= 1
            refresh()
            derivative.caller = None
