"""What a profile is made of: events in time, their averages by name, a table of them, a trace for Chrome's viewer."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any, Self

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


def _format_time(time_us: float) -> str:
    for unit, scale in (("s", 1e6), ("ms", 1e3)):
        if time_us >= scale:
            return f"{time_us / scale:.3f}{unit}"
    return f"{time_us:.3f}us"


def _format_time_share(time_us: float, total_time_us: float) -> str:
    return "NaN" if total_time_us == 0 else f"{time_us * 100.0 / total_time_us:.2f}%"


class Interval:
    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        return self.end - self.start


class _Times:
    """Averages and formatted times, for events and for sums of events. There is no device besides the CPU."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total = self_device_time_total = device_time = 0

    cpu_time = property(lambda self: 0.0 if self.count == 0 else self.cpu_time_total / self.count)
    cpu_time_str = property(lambda self: _format_time(self.cpu_time))
    cpu_time_total_str = property(lambda self: _format_time(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: _format_time(self.self_cpu_time_total))


class FunctionEvent(_Times):
    """One op, node of a backward, or block of `record_function`, from `start_us` to `end_us`."""

    def __init__(self, id: int, name: str, thread: int, start_us: float, end_us: float, input_shapes: Any = None,
                 node_id: int = -1, sequence_nr: int = -1, is_async: bool = False, is_user_annotation: bool = False) -> None:
        self.id = id
        self.name = self.key = self.trace_name = name
        self.thread = thread
        self.time_range = Interval(start_us, end_us)
        self.input_shapes = [] if input_shapes is None else input_shapes
        self.node_id = node_id
        self.sequence_nr = sequence_nr
        self.is_async = is_async
        self.is_user_annotation = is_user_annotation
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        return self.cpu_time_total - sum([child.cpu_time_total for child in self.cpu_children])

    def __repr__(self) -> str:
        return (f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
                f"start_us={self.time_range.start} end_us={self.time_range.end} "
                f"cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
                f"input_shapes={self.input_shapes}>")


class FunctionEventAvg(_Times):
    """The sum of events of one name."""

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.input_shapes: Any = None
        self.cpu_parent: FunctionEvent | None = None

    def add(self, other: FunctionEvent | FunctionEventAvg) -> Self:
        if self.key is None:
            self.key, self.input_shapes, self.cpu_parent = other.key, other.input_shapes, other.cpu_parent
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.count += other.count
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str} "
                f"input_shapes={self.input_shapes}>")


# What a table can be sorted by.
_SORTABLE = ("cpu_time", "cpu_time_total", "self_cpu_time_total", "count")


class EventList(list[Any]):
    """Events in order of time, or their averages."""

    def __init__(self, events: Iterable[Any] = ()) -> None:
        super().__init__(events)

    def __str__(self) -> str:
        return self.table()

    def _populate_cpu_children(self) -> None:
        """Find out which event happened inside which, thread by thread."""
        open_events: dict[int, list[Any]] = {}
        order = sorted(self, key=lambda e: (e.thread, e.time_range.start, -e.time_range.end))
        for event in order:
            stack = open_events.setdefault(event.thread, [])
            while stack and (event.time_range.start >= stack[-1].time_range.end
                             or event.time_range.end > stack[-1].time_range.end):
                stack.pop()
            if stack:
                stack[-1].cpu_children.append(event)
                event.cpu_parent = stack[-1]
            stack.append(event)

    @property
    def self_cpu_time_total(self) -> float:
        return sum([event.self_cpu_time_total for event in self])

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0) -> EventList:
        """One entry for each name (and shapes of the inputs)."""
        sums: dict[tuple[str, str], FunctionEventAvg] = {}
        for event in self:
            key = event.key, str(event.input_shapes) if group_by_input_shapes else ""
            sums.setdefault(key, FunctionEventAvg()).add(event)
        if not group_by_input_shapes:
            for average in sums.values():
                average.input_shapes = ""
        return EventList(sums.values())

    def total_average(self) -> FunctionEventAvg:
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = "Total"
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
              max_name_column_width: int = 55, max_shapes_column_width: int = 80, header: str | None = None,
              top_level_events_only: bool = False, time_unit: str | None = None) -> str:
        if not self:
            return ""
        events: list[Any] = list(self)
        if sort_by is not None:
            if sort_by not in _SORTABLE:
                raise AttributeError(f"a profile cannot be sorted by {sort_by!r}; it can by {', '.join(_SORTABLE)}")
            events.sort(key=lambda event: getattr(event, sort_by), reverse=True)
        if top_level_events_only:
            events = [event for event in events if event.cpu_parent is None]
        total = self.self_cpu_time_total
        shapes = any(event.input_shapes for event in self)
        rows = [[_shortened(event.key, max_name_column_width),
                 _format_time_share(event.self_cpu_time_total, total), event.self_cpu_time_total_str,
                 _format_time_share(event.cpu_time_total, total), event.cpu_time_total_str, event.cpu_time_str,
                 str(event.count), *([_shortened(str(event.input_shapes), max_shapes_column_width)] if shapes else [])]
                for event in (events if row_limit == -1 else events[:row_limit])]
        titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls",
                  *(["Input Shapes"] if shapes else [])]
        # The width of the name's column is that of the longest name, also of those beyond the limit.
        widths = [max(len(_shortened(event.key, max_name_column_width)) for event in self) + 4, *[12] * 6]
        if shapes:
            widths.append(max(12, *[len(row[-1]) for row in rows]) + 4)
        line = "  ".join(["-" * width for width in widths]) + "  "
        lines = [line, *([] if header is None else ["=" * len(line), header, "=" * len(line)]),
                 *["".join([f"{cell:>{width}}  " for cell, width in zip(row, widths, strict=True)]) for row in (titles,)],
                 line, *["".join([f"{cell:>{width}}  " for cell, width in zip(row, widths, strict=True)]) for row in rows], line,
                 f"Self CPU time total: {_format_time(total)}", ""]
        return "\n".join(lines)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write a file for chrome://tracing or Perfetto."""
        events = [{"ph": "X", "cat": "user_annotation" if event.is_user_annotation else "cpu_op", "name": event.name,
                   "pid": os.getpid(), "tid": event.thread, "ts": event.time_range.start,
                   "dur": event.time_range.elapsed_us(), "args": {"Input Dims": event.input_shapes}} for event in self]
        with open(path, "w") as file:
            json.dump({"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": events}, file)


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[:width - 3] + "..."
