"""Which line of the program runs, by events of `sys.monitoring` (Python 3.12): in resting rounds they replace the function mode.

An event costs less than a microsecond, and comes with each line of the program and its libraries, none of torch's or Python's
own. Each is noted with torch's sequence number, so that a node's line is found when somebody asks (see lean.py). A line that
nobody has seen running before is *new*: from there on the recorder's mode listens until a backward or step ends, because
something else may happen now than in all rounds before.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from whygrad.base.frames import is_internal, is_of_standard_library
from whygrad.for_torch.lean import ring
from whygrad.why.engine import Undo

# Absent before Python 3.12.
monitoring: Any = getattr(sys, "monitoring", None)
# Identifiers that Python leaves to others than debuggers, coverage, profilers and optimizers.
TOOLS = (3, 4)
# Code objects whose lines are followed: a program that makes more of them makes them anew in each step.
MAX_CODES = 20_000


class LineEvents:
    def __init__(self, on_new_line: Callable[[], None]) -> None:
        self._on_new_line = on_new_line
        self._tool: int | None = None
        # By id of a code object: the code, and its lines that have run.
        self._codes: dict[int, tuple[CodeType, set[int]]] = {}
        self._thread = threading.get_ident()

    @property
    def is_on(self) -> bool:
        return self._tool is not None

    def start(self) -> list[Undo]:
        """Nothing happens before Python 3.12, or if others have taken all identifiers."""
        tool = next((tool for tool in TOOLS if monitoring.get_tool(tool) is None), None) if monitoring is not None else None
        if tool is None:
            return []
        monitoring.use_tool_id(tool, "whygrad")
        self._tool = tool
        events = monitoring.events
        self._wanted = events.LINE | events.PY_RETURN | events.PY_YIELD | events.PY_RESUME
        for event, callback in ((events.PY_START, self._started), (events.LINE, self._line), (events.PY_RETURN, self._left),
                                (events.PY_YIELD, self._left), (events.PY_RESUME, self._resumed)):
            monitoring.register_callback(tool, event, callback)
        monitoring.restart_events()  # what an earlier recording has disabled
        frame: FrameType | None = sys._getframe()
        while frame is not None:  # these have started already
            self._follow(frame)
            frame = frame.f_back
        monitoring.set_events(tool, events.PY_START)
        return [self.stop]

    def stop(self) -> None:
        tool, self._tool = self._tool, None
        if tool is None:
            return
        monitoring.set_events(tool, 0)
        for code, _ in list(self._codes.values()):
            monitoring.set_local_events(tool, code, 0)
        for event in ("PY_START", "LINE", "PY_RETURN", "PY_YIELD", "PY_RESUME"):
            monitoring.register_callback(tool, getattr(monitoring.events, event), None)
        monitoring.free_tool_id(tool)
        self._codes = {}

    def _follow(self, frame: FrameType) -> None:
        code = frame.f_code
        if not _is_foreign(frame) and id(code) not in self._codes and len(self._codes) < MAX_CODES:
            self._codes[id(code)] = code, set()
            monitoring.set_local_events(self._tool, code, self._wanted)

    # Callbacks. They must not raise: the program would see it.

    def _started(self, code: CodeType, offset: int) -> Any:
        if self._tool is not None:
            self._follow(sys._getframe(1))
        return monitoring.DISABLE  # once for each function

    def _line(self, code: CodeType, number: int) -> None:
        known = self._codes.get(id(code))
        if known is not None and number not in known[1] and threading.get_ident() == self._thread:
            known[1].add(number)
            self._on_new_line()
        ring.mark(code, number)

    def _left(self, code: CodeType, offset: int, value: Any) -> None:
        """The rest of the line that called the function runs now."""
        caller = sys._getframe(1).f_back
        while caller is not None and _is_foreign(caller):
            caller = caller.f_back
        if caller is not None:
            ring.mark(caller.f_code, caller.f_lineno)

    def _resumed(self, code: CodeType, offset: int) -> None:
        ring.mark(code, sys._getframe(1).f_lineno)


def _is_foreign(frame: FrameType) -> bool:
    """Whether a frame is of torch, or of Python's library, which torch calls in every step."""
    return is_internal(frame) or (is_of_standard_library(frame) and "-packages" not in frame.f_code.co_filename)
