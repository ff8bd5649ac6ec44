"""A question: about which tensor, where the program looked at it, and what is known of it."""

from __future__ import annotations

from functools import cached_property
from types import FrameType
from typing import Any

from whygrad.core.modes import process_state
from whygrad.core.tensor import Tensor, grad_fn
from whygrad.why import record
from whygrad.why.facts import Ledger, Trace
from whygrad.why.flow import Step
from whygrad.why.names import Owner, name_of, owner_of, variables
from whygrad.why.places import Place, place


class Question:
    """Why is `t.grad` what it is? With `frame`, the place where the program read it is known as well."""

    def __init__(self, t: Tensor, loss: Tensor | None = None, frame: FrameType | None = None) -> None:
        self.t = t
        self.loss = loss
        self.frame = frame
        self.watch: Any = record.watching

    @cached_property
    def read(self) -> Place | None:
        return None if self.frame is None else place((self.frame.f_code, self.frame.f_lasti))

    @cached_property
    def name(self) -> str:
        return name_of(self.t, self.read, self.frame)

    @property
    def it(self) -> str:
        """The tensor, to begin a sentence with."""
        return f"`{self.name}`" if self.name else "This tensor"

    @property
    def that(self) -> str:
        """The tensor, inside of a sentence."""
        return f"`{self.name}`" if self.name else "this tensor"

    @cached_property
    def owner(self) -> Owner | None:
        return owner_of(self.t, variables(self.frame))

    @property
    def ledger(self) -> Ledger | None:
        return None if self.t._meta is None else self.t._meta.watched

    @property
    def trace(self) -> Trace | None:
        """What the watch saw of the last backward that reached this leaf."""
        reached = None if self.t._meta is None else self.t._meta.reached_by
        return None if self.watch is None or reached is None else self.watch.trace_of(reached)

    @property
    def steps(self) -> list[Step]:
        trace = self.trace
        return [] if trace is None else trace.steps

    def roots(self) -> list[tuple[Any, Any]]:
        """What was differentiated, latest first: (node or leaf, the backward)."""
        if self.loss is not None:
            return [(grad_fn(self.loss) or self.loss, None)]
        last = process_state.last_backward
        if last is None:
            return []
        if self.watch is None:
            root = last.root()
            return [] if root is None else [(root, last)]
        return [(trace.root, trace.backward) for trace in self.watch.latest_first() if trace.root is not None]
