"""What `whygrad run --html` keeps besides the answers: a picture of the last backward of each loss, and of those that an
answer speaks of.

Pictures are plain data and no longer than `MOST_OPS`; there are at most `MOST_PICTURES` of them. Looking at every gradient
costs time, so once it has taken more than its share of the run, only backwards from new places are looked at.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import Any

from whygrad.base.frames import user_frame
from whygrad.core.node import next_sequence_number
from whygrad.why.answers import Answer
from whygrad.why.layout import Box
from whygrad.why.picture import Picture, name_leaves, take
from whygrad.why.places import Place, place
from whygrad.why.variables import names_in
from whygrad.why.watch import Watch

MOST_OPS = 20_000
MOST_PICTURES = 12
MOST_CALLS = 20_000
MOST_LINES = 64
# Seconds that looking may take in any case, and its share of a longer run.
FREE, SHARE = 0.25, 0.15


class Trace:
    """One backward, as it is drawn."""

    def __init__(self, picture: Picture, calls: list[Box], site: Any) -> None:
        self.picture = picture
        self.calls = calls
        self.site = site
        # Which of the backwards from this place it is, counted from 1.
        self.number = 1

    @property
    def place(self) -> Place | None:
        return place(self.site)


class ModuleCalls:
    """Which module each node was made in: its forward lasted from one sequence number to another."""

    def __init__(self) -> None:
        self.finished: deque[Box] = deque(maxlen=MOST_CALLS)
        self._names: weakref.WeakKeyDictionary[Any, dict[int, str]] = weakref.WeakKeyDictionary()
        self._running = threading.local()

    def enter(self, module: Any, _: Any) -> None:
        stack = self._stack()
        name = "" if not stack else self._name(stack[0][0], module)
        # As seen from the module that called it.
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
        """Copies of the calls that may have made nodes with these numbers, outer ones first."""
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


class TracingWatch(Watch):
    """The watch, which also takes pictures."""

    def __init__(self, on_answer: Any = None) -> None:
        super().__init__(on_answer)
        self.calls = ModuleCalls()
        # The last picture from each place; and for each line that asked a question (file, line), the picture at that moment
        # and the item it asked about.
        self.traces: dict[Any, Trace] = {}
        self.pinned: dict[tuple[str, int], tuple[Trace, int | None]] = {}
        self._counts: dict[Any, int] = {}
        self._running: dict[int, Trace] = {}
        self._latest: Trace | None = None
        self._leaves: dict[int, int] = {}
        self._began = time.perf_counter()
        self._spent = 0.0

    def start(self) -> None:
        super().start()
        from whygrad.nn.hooks import register_module_forward_hook, register_module_forward_pre_hook

        handles = (register_module_forward_pre_hook(self.calls.enter),
                   register_module_forward_hook(self.calls.leave, always_call=True))
        self._undo += [handle.remove for handle in handles]

    def begin(self, backward: Any, *more: Any) -> None:
        super().begin(backward, *more)
        began = time.perf_counter()
        if not backward.depth:
            self._settle()
        count = self._counts[backward.site] = self._counts.get(backward.site, 0) + 1
        root = backward.root()
        dear = self._spent > FREE + SHARE * (began - self._began)
        if root is None or (dear and count > 1):
            return
        picture = take(root, MOST_OPS)
        with suppress(Exception):  # it looks at the program's own objects, which may do anything
            name_leaves(picture, names_in(user_frame(2)))
        numbers = [item.seq for item in picture.items if item.kind == "op"]
        trace = Trace(picture, self.calls.between(min(numbers), max(numbers)) if numbers else [], backward.site)
        trace.number = count
        self._running[backward.number] = trace
        self._latest = trace
        self._leaves = dict(picture.numbers)
        if backward.site not in self.traces and len(self.traces) >= MOST_PICTURES:
            self.traces.pop(next(iter(self.traces)))
        self.traces[backward.site] = trace
        self._spent += time.perf_counter() - began

    def ran(self, backward: Any, node: Any, g: Any, edges: tuple[Any, ...], grads: tuple[Any, ...]) -> None:
        super().ran(backward, node, g, edges, grads)
        trace = self._running.get(backward.number)
        if trace is not None:
            began = time.perf_counter()
            trace.picture.saw(node, g, grads)
            self._spent += time.perf_counter() - began

    def _settle(self) -> None:
        """Earlier backwards have ended."""
        for number in list(self._running):
            trace = self._running.pop(number, None)  # another thread may have been faster
            if trace is not None:
                trace.picture.settle(walked=True)
                trace.picture.forget()

    def read(self, t: Any, what: str, value: Any, frame: FrameType) -> None:
        super().read(t, what, value, frame)
        self._pin(frame, t)

    def error(self, *what: Any) -> None:
        super().error(*what)
        self._pin(user_frame(2), None)

    def _pin(self, frame: FrameType, t: Any) -> None:
        """There may be an answer about this line, now or when the program has ended."""
        if self._latest is not None:
            line = frame.f_code.co_filename, frame.f_lineno
            self.pinned[line] = (self._latest, None if t is None else self._leaves.get(id(t)))
            if len(self.pinned) > MOST_LINES:
                del self.pinned[next(iter(self.pinned))]

    def stop(self) -> list[Answer]:
        answers = super().stop()
        self._settle()
        return answers

    def picture_for(self, answer: Answer) -> tuple[Trace, int | None] | tuple[None, None]:
        """The picture that an answer speaks of, and the item."""
        return self.pinned.get((answer.place.file, answer.place.line), (None, None))

    def pictures(self, answers: Sequence[Answer] = ()) -> list[Trace]:
        """All that are worth showing: those that answers speak of come first."""
        spoken_of = [trace for trace, _ in map(self.picture_for, answers) if trace is not None]
        return list(dict.fromkeys([*spoken_of, *self.traces.values()]))[:MOST_PICTURES]

    def counted(self, trace: Trace) -> int:
        """How many backwards there were from the place of this one."""
        return self._counts.get(trace.site, trace.number)


