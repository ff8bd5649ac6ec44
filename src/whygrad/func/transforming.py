"""Active transforms: entering and leaving them, and the writes that are forbidden inside."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from whygrad.autograd.transform_printing import shown
from whygrad.base.frames import is_internal
from whygrad.base.pytree import tree_flatten
from whygrad.core.modes import grad_state, process_state, refresh
from whygrad.core.node import next_sequence_number
from whygrad.core.tensor import Tensor
from whygrad.func.captured import refuse_captured


class Derivative:
    """A derivative of a function while it is computed. Tensors that the function captures must not be written to."""

    __slots__ = ("began", "caller", "depth", "function", "given", "own")

    def __init__(self, function: Any, args: Any) -> None:
        self.function = function
        # Version counters, by id, of the tensors that may be written to: arguments and new tensors (see captured.py).
        tensors = [x for x in tree_flatten(args)[0] if isinstance(x, Tensor)]
        self.own = {id(x._version_counter): x._version_counter for x in tensors}
        # Ids of the arguments, for repr (see autograd/transform_printing.py).
        self.given = {id(x) for x in tensors}
        # The number of levels outside of this derivative.
        self.depth = len(grad_state.levels)
        # Nodes recorded inside have higher sequence numbers.
        self.began = next_sequence_number()
        # The frame that called the transform: its variables, and those of its callers, are outside.
        self.caller: FrameType | None = sys._getframe(1)
        while self.caller is not None and is_internal(self.caller):
            self.caller = self.caller.f_back

    # Called before the differentiated function writes into a tensor; raises if the tensor is captured.
    before_write = refuse_captured
    # The repr of a tensor inside.
    shown = staticmethod(shown)


@contextmanager
def transforming(derivative: Derivative | None = None) -> Iterator[None]:
    """Mark a transform of torch.func, and the derivative if one is given, as active inside the block."""
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
