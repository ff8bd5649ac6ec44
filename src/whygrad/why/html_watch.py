"""The watch of `whygrad run --html`: also takes a snapshot of the graph at the last backward from each site, and at those
that answers refer to.

At most MAX_SNAPSHOTS are kept, with at most MAX_OPS ops each. Measuring every gradient takes time: once it exceeds its
share of the run, only backward passes from new sites are measured.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from types import FrameType
from typing import Any

from whygrad.base.frames import user_frame
from whygrad.why import engine
from whygrad.why.answers import Answer
from whygrad.why.audit.subjects.history import History
from whygrad.why.engine import next_sequence_number
from whygrad.why.graph_layout import Box
from whygrad.why.graph_snapshot import GraphSnapshot, name_leaves, take_snapshot
from whygrad.why.locations import SourceLocation, locate
from whygrad.why.run_facts import drop_oldest
from whygrad.why.variable_names import tensor_names
from whygrad.why.watch import Watch

MAX_OPS = 20_000
MAX_SNAPSHOTS = 12
MAX_CALLS = 20_000
MAX_LINES = 64
# Seconds that measuring may take in any case, and its share of a longer run.
FREE, SHARE = 0.25, 0.15


@dataclass(eq=False)
class DrawnBackward:
    """One backward pass of the report: its graph and the module calls that made it."""

    snapshot: GraphSnapshot
    calls: list[Box]
    site: Any
    # Which of the backward passes from this site it is, counted from 1.
    number: int = 1

    @property
    def location(self) -> SourceLocation | None:
        return locate(self.site)


class ModuleCalls:
    """Module calls as ranges of sequence numbers, which tell in which module a node was made."""

    def __init__(self) -> None:
        self.finished: deque[Box] = deque(maxlen=MAX_CALLS)
        self._names: weakref.WeakKeyDictionary[Any, dict[int, str]] = weakref.WeakKeyDictionary()
        self._running = threading.local()

    def enter(self, module: Any, _: Any) -> None:
        stack = self._stack()
        name = "" if not stack else self._name(stack[0][0], module)
        # Relative to the calling module.
        short = name.removeprefix(f"{self._name(stack[0][0], stack[-1][0])}.") if stack else ""
        stack.append((module, Box(short or type(module).__name__, type(module).__name__ if short else "", 0,
                                  next_sequence_number(), 0)))

    def leave(self, module: Any, *_: Any) -> None:
        stack = self._stack()
        while stack:
            held, box = stack.pop()
            box.last = next_sequence_number()
            self.finished.append(box)
            if held is module:
                return

    def between(self, first: int, last: int) -> list[Box]:
        """Copies of the calls that overlap this range of sequence numbers, outer ones first."""
        unfinished = [box for _, box in self._stack()]
        found = [Box(b.label, b.kind, 0, b.first, b.last or 2**63) for b in (*list(self.finished), *unfinished)
                 if b.first <= last and (b.last or 2**63) >= first]
        return sorted(found, key=lambda b: (b.first, -b.last))

    def _stack(self) -> list[tuple[Any, Box]]:
        if not hasattr(self._running, "stack"):
            self._running.stack = []
        stack: list[tuple[Any, Box]] = self._running.stack
        return stack

    def _name(self, outermost: Any, module: Any) -> str:
        names = self._names.get(outermost)
        if names is None or id(module) not in names:
            names = self._names[outermost] = {id(inner): name for name, inner in outermost.named_modules()}
        return names.get(id(module), "")


class HtmlWatch(Watch):
    """A watch that also takes snapshots."""

    def __init__(self, on_answer: Any = None) -> None:
        super().__init__(on_answer)
        self.calls = ModuleCalls()
        # The last backward from each site; and for each (file, line) with a read or an error, the latest backward at that
        # time and the item that was read.
        self.latest_drawn: dict[Any, DrawnBackward] = {}
        self.pinned: dict[tuple[str, int], tuple[DrawnBackward, int | None]] = {}
        self._counts: dict[Any, int] = {}
        self._running: dict[int, DrawnBackward] = {}
        self._latest: DrawnBackward | None = None
        self._leaves: dict[int, int] = {}
        self.started = datetime.now().astimezone()  # with the offset from UTC: a report may be read elsewhere
        self.began = time.perf_counter()
        self._spent = 0.0
        self.audit.subjects.append(History(self.audit))

    def start(self) -> None:
        super().start()
        handles = (engine.current.hooks.register_module_forward_pre_hook(self.calls.enter),
                   engine.current.hooks.register_module_forward_hook(self.calls.leave, always_call=True))
        self._undo += [handle.remove for handle in handles]

    def begin(self, backward: Any, *more: Any) -> None:
        super().begin(backward, *more)
        began = time.perf_counter()
        if not backward.depth:
            self._settle()
        count = self._counts[backward.site] = self._counts.get(backward.site, 0) + 1
        root = backward.root()
        dear = self._spent > FREE + SHARE * (began - self.began)
        if root is None or not self.traces or (dear and count > 1):
            return
        snapshot = take_snapshot(root, MAX_OPS)
        with suppress(Exception):  # attributes of the program's own objects may raise
            name_leaves(snapshot, tensor_names(user_frame(2)))
        numbers = [item.seq for item in snapshot.items if item.kind == "op"]
        calls = self.calls.between(min(numbers), max(numbers)) if numbers else []
        drawn = DrawnBackward(snapshot, calls, backward.site, count)
        self._running[backward.number] = drawn
        self._latest = drawn
        self._leaves = dict(snapshot.numbers)
        if backward.site not in self.latest_drawn and len(self.latest_drawn) >= MAX_SNAPSHOTS:
            self.latest_drawn.pop(next(iter(self.latest_drawn)))
        self.latest_drawn[backward.site] = drawn
        self._spent += time.perf_counter() - began

    def ran(self, backward: Any, node: Any, g: Any, edges: tuple[Any, ...], grads: tuple[Any, ...]) -> None:
        super().ran(backward, node, g, edges, grads)
        drawn = self._running.get(backward.number)
        if drawn is not None:
            began = time.perf_counter()
            drawn.snapshot.record_gradients(node, g, grads)
            self._spent += time.perf_counter() - began

    def _settle(self) -> None:
        """Finish the snapshots of earlier backward passes, which have ended."""
        for number in list(self._running):
            drawn = self._running.pop(number, None)  # another thread may have taken it
            if drawn is not None:
                drawn.snapshot.settle_states(walked=True)
                drawn.snapshot.forget()

    def read(self, t: Any, what: str, value: Any, frame: FrameType) -> None:
        super().read(t, what, value, frame)
        self._pin(frame, t)

    def error(self, *what: Any) -> None:
        super().error(*what)
        self._pin(user_frame(2), None)

    def _pin(self, frame: FrameType, t: Any) -> None:
        """Keep the latest backward for a line about which there may be an answer."""
        if self._latest is not None:
            line = frame.f_code.co_filename, frame.f_lineno
            self.pinned[line] = (self._latest, None if t is None else self._leaves.get(id(t)))
            drop_oldest(self.pinned, MAX_LINES)

    def stop(self) -> list[Answer]:
        answers = super().stop()
        self._settle()
        return answers

    def snapshot_for(self, answer: Answer) -> tuple[DrawnBackward, int | None] | tuple[None, None]:
        """The backward that an answer refers to, and the item."""
        return self.pinned.get((answer.location.file, answer.location.line), (None, None))

    def drawn_backwards(self, answers: Sequence[Answer] = ()) -> list[DrawnBackward]:
        """The backward passes to draw, first those that answers refer to."""
        spoken_of = [drawn for drawn, _ in map(self.snapshot_for, answers) if drawn is not None]
        return list(dict.fromkeys([*spoken_of, *self.latest_drawn.values()]))[:MAX_SNAPSHOTS]

    def count_backwards(self) -> int:
        """Number of the program's backward passes (an explanation may have run others)."""
        return sum(self._counts.values())

    def counted(self, drawn: DrawnBackward) -> int:
        """Number of backward passes from the same site."""
        return self._counts.get(drawn.site, drawn.number)
