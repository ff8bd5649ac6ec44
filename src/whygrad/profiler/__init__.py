"""torch.profiler: the same profile as torch.autograd.profiler, with torch's newer names and a schedule of steps."""

from __future__ import annotations

import enum
import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any, Self

from whygrad.autograd import profiler as autograd_profiler
from whygrad.autograd.profiler import record_function
from whygrad.autograd.profiler_util import EventList
from whygrad.profiler import itt

__all__ = ["ProfilerAction", "ProfilerActivity", "itt", "kineto_available", "profile", "record_function", "schedule",
           "supported_activities", "tensorboard_trace_handler"]


class ProfilerActivity(enum.Enum):
    CPU = 0
    XPU = 1
    CUDA = 2


class ProfilerAction(enum.Enum):
    """What a schedule wants of a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """torch's profiler of devices is not here."""
    return False


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0) -> Callable[[int], ProfilerAction]:
    """Step by step: `wait` steps of nothing, `warmup` whose measures are thrown away, `active` that count; and again."""
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError("Invalid profiler schedule arguments")
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0 or (repeat and step >= repeat * length):
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable[[profile], None]:
    """Write each finished trace into a folder."""
    if use_gzip:
        raise NotImplementedError("tensorboard_trace_handler(use_gzip=True) is not available in whygrad")

    def handler(finished: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        finished.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json"))

    return handler


class profile:
    """A block that is profiled; with `schedule`, the steps of it that the schedule says, between calls of `step()`."""

    def __init__(self, *, activities: Iterable[ProfilerActivity] | None = None,
                 schedule: Callable[[int], ProfilerAction] | None = None,
                 on_trace_ready: Callable[..., Any] | None = None, record_shapes: bool = False,
                 profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False,
                 with_modules: bool = False, **options: Any) -> None:
        wanted = set(activities) if activities is not None else supported_activities()
        if not wanted:
            raise AssertionError("No valid profiler activities found")
        self.activities = wanted & supported_activities()
        self._schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self._options: dict[str, Any] = {"record_shapes": record_shapes, "profile_memory": profile_memory,
                                         "with_stack": with_stack,
                         "with_flops": with_flops, "with_modules": with_modules}
        self.step_num = 0
        self.profiler: autograd_profiler.profile | None = None
        self._running = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        self._enter(self._schedule(self.step_num))

    def step(self) -> None:
        """The next step of the program begins."""
        before = self._schedule(self.step_num)
        self.step_num += 1
        following = self._schedule(self.step_num)
        ends = before is ProfilerAction.RECORD_AND_SAVE
        if ends or following is ProfilerAction.NONE or (before is ProfilerAction.WARMUP and following is not before):
            self._leave()
            if ends and self.on_trace_ready is not None:
                self.on_trace_ready(self)
        self._enter(following)

    def stop(self) -> None:
        records = self._schedule(self.step_num) in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        self._leave()
        if records and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _enter(self, action: ProfilerAction) -> None:
        if action is not ProfilerAction.NONE and not self._running:
            self.profiler = autograd_profiler.profile(**self._options)
            self.profiler.start()
            self._running = True

    def _leave(self) -> None:
        if self._running and self.profiler is not None:
            self.profiler.stop()
            self._running = False

    def _taken(self) -> autograd_profiler.profile:
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before getting its results")
        return self.profiler

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        return self._taken().key_averages(group_by_input_shape, group_by_stack_n)

    def events(self) -> EventList:
        return self._taken().function_events

    def export_chrome_trace(self, path: Any) -> None:
        self._taken().export_chrome_trace(path)
