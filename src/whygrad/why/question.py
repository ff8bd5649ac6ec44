"""A question about a tensor's gradient: the tensor, the location of the read, and the facts about it."""

from __future__ import annotations

from functools import cached_property
from types import FrameType
from typing import Any

from whygrad.why import record
from whygrad.why.engine import Tensor, last_backward, node_of, notes_of
from whygrad.why.gradient_flow import BackwardStep
from whygrad.why.locations import SourceLocation, locate
from whygrad.why.module_owners import Owner, name_of, owner_of, visible_variables
from whygrad.why.run_facts import BackwardTrace, GradLedger, ledger_of


class Question:
    """Why is `t.grad` what it is? `frame` is the frame that read it, if known."""

    def __init__(self, t: Tensor, loss: Tensor | None = None, frame: FrameType | None = None) -> None:
        self.t = t
        self.loss = loss
        self.frame = frame
        self.watch: Any = record.watching

    @cached_property
    def read(self) -> SourceLocation | None:
        return None if self.frame is None else locate((self.frame.f_code, self.frame.f_lasti))

    @cached_property
    def name(self) -> str:
        return name_of(self.t, self.read, self.frame)

    def let_go_of_frame(self) -> None:
        """Before a question is kept: a frame keeps all that its callers hold, the graph of a running backward among it."""
        _ = self.read, self.name, self.owner
        self.frame = None

    @property
    def label_start(self) -> str:
        """The tensor's name at the beginning of a sentence."""
        return f"`{self.name}`" if self.name else "This tensor"

    @property
    def label(self) -> str:
        """The tensor's name inside a sentence."""
        return f"`{self.name}`" if self.name else "this tensor"

    @cached_property
    def owner(self) -> Owner | None:
        return owner_of(self.t, visible_variables(self.frame))

    @property
    def ledger(self) -> GradLedger | None:
        return ledger_of(self.t)

    @property
    def trace(self) -> BackwardTrace | None:
        """The trace of the last backward that reached this leaf."""
        reached = notes_of(self.t).reached_by
        return None if self.watch is None or reached is None else self.watch.trace_of(reached)

    @property
    def steps(self) -> list[BackwardStep]:
        trace = self.trace
        return [] if trace is None else trace.steps

    @cached_property
    def on_path(self) -> set[Any]:
        """The nodes of the trace from which the gradient reached the tensor, and the tensor."""
        trace = self.trace
        return set() if trace is None else trace.leading_to(self.t)

    def storing_trace(self) -> BackwardTrace | None:
        """The trace of the latest backward that wrote `.grad`; autograd.grad does not."""
        traces = () if self.watch is None else self.watch.traces_latest_first()
        return next((trace for trace in traces if trace.stores), None)

    def roots(self) -> list[tuple[Any, Any]]:
        """The roots of backward passes, latest first: (node or leaf, the backward)."""
        if self.loss is not None:
            return [(node_of(self.loss) or self.loss, None)]
        last = last_backward()
        if last is None:
            return []
        if self.watch is None:
            root = last.root()
            return [] if root is None else [(root, last)]
        return [(trace.root, trace.backward) for trace in self.watch.traces_latest_first() if trace.root is not None]
