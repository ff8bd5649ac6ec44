"""torch.autograd.profiler: how often each op ran and how long it took, forward and backward.

Times are those of whole ops in Python, bookkeeping for backward included. While no profile is being taken nothing is
measured and nothing is in the way (see door.py); `record_function` costs a look at one list.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from whygrad.autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg
from whygrad.core import door
from whygrad.core.tensor import Tensor

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "emit_itt", "emit_nvtx", "profile", "record_function"]

_profiles: list[profile] = []


def _profiler_enabled() -> bool:
    return bool(_profiles)


def kineto_available() -> bool:
    return False


class profile:
    """A block of which every op is measured. Afterwards: `key_averages().table(sort_by=...)`, `export_chrome_trace(path)`."""

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None,
                 record_shapes: bool = False, with_flops: bool = False, profile_memory: bool = False,
                 with_stack: bool = False, with_modules: bool = False, use_kineto: bool = False, use_cpu: bool = True,
                 **options: Any) -> None:
        for name, wanted in (("use_cuda", use_cuda), ("with_flops", with_flops), ("profile_memory", profile_memory),
                             ("with_stack", with_stack), ("with_modules", with_modules)):
            if wanted:
                raise NotImplementedError(f"profile({name}=True): whygrad measures time and calls on the CPU, no more")
        self.enabled = enabled
        self.record_shapes = record_shapes
        self.function_events: EventList = EventList()
        self._raw: list[tuple[str, int, int, int, Any, bool]] = []
        self._entered = False

    def __enter__(self) -> Self:
        if not self.enabled:
            return self
        if self._entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._entered = True
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.enabled:
            self.stop()

    def start(self) -> None:
        self._raw = []
        self._began = time.perf_counter_ns()
        door.start(self)
        _profiles.append(self)

    def stop(self) -> None:
        _profiles.remove(self)
        door.stop(self)
        events = [FunctionEvent(0, name, thread, (begin - self._began) / 1e3, (end - self._began) / 1e3, shapes,
                                is_user_annotation=annotation) for name, thread, begin, end, shapes, annotation in self._raw]
        events.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
        for i, event in enumerate(events, 1):
            event.id = i
        self.function_events = EventList(events)
        self.function_events._populate_cpu_children()

    def begin(self, name: str, inputs: tuple[Any, ...], run_with: tuple[Any, ...] = ()) -> tuple[str, Any, int]:
        shapes = [_shape(x) for x in inputs] if self.record_shapes else None
        return name, shapes, time.perf_counter_ns()

    def end(self, token: tuple[str, Any, int], result: Any, annotation: bool = False) -> None:
        name, shapes, began = token
        self._raw.append((name, threading.get_ident(), began, time.perf_counter_ns(), shapes, annotation))

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        return self._events().key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        return self._events().total_average()

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        return self._events().table(sort_by=sort_by, row_limit=row_limit, **options)

    def export_chrome_trace(self, path: Any) -> None:
        self._events().export_chrome_trace(path)

    @property
    def self_cpu_time_total(self) -> float:
        return self._events().self_cpu_time_total

    def _events(self) -> EventList:
        if self in _profiles:
            raise AssertionError("Profiler didn't finish running")
        return self.function_events

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self in _profiles else repr(self.function_events)

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self in _profiles else str(self.function_events)


def _shape(x: Any) -> list[int]:
    array = x._array if isinstance(x, Tensor) else x
    return list(getattr(array, "shape", ()))


class record_function:
    """A block (or decorated function) that shows in a profile under its own name."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._tokens: list[tuple[profile, Any]] = []

    def __enter__(self) -> Self:
        self._tokens = [(taken, taken.begin(self.name, ())) for taken in _profiles]
        return self

    def __exit__(self, *exc: object) -> None:
        for taken, token in self._tokens:
            if taken in _profiles:
                taken.end(token, None, annotation=True)
        self._tokens = []

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return recorded


class _Elsewhere:
    """Marks for a profiler of a vendor, which there is none of."""

    tool: str

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> Self:
        if self.enabled:
            raise NotImplementedError(f"{type(self).__name__} marks ranges for {self.tool}, which whygrad does not have; use "
                                      "torch.autograd.profiler.profile")
        return self

    def __exit__(self, *exc: object) -> None:
        pass


class emit_nvtx(_Elsewhere):
    tool = "NVIDIA's tools"


class emit_itt(_Elsewhere):
    tool = "Intel's tools"
