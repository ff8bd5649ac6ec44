"""`--steps N`: counts the steps of all optimizers, and ends the program after the last one that was asked for."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from whygrad.why import engine
from whygrad.why.terminal import print_line


class EndOfSteps(BaseException):
    """Raised out of `optimizer.step()`, after the step. It is no Exception, so that `except Exception` does not catch it;
    `finally` blocks and context managers of the program run."""


class StepLimit:
    """`steps` is the number of steps, or 0 for no limit. `on_step`, if any, is called after each step, `on_reached` before the
    program is ended.

    Only a thread's own step can end it: other threads than the main one end at their next step, and the main thread goes on
    until it steps itself. A program that catches EndOfSteps is left alone after that, and told about.
    """

    def __init__(self, steps: int, on_step: Callable[[int], None] | None, on_reached: Callable[[], Any]) -> None:
        self.steps = steps
        self.done = 0
        # Whether a thread was ended, and whether it was the main one.
        self.was_reached = False
        self._is_main_ended = False
        self._on_step = on_step
        self._on_reached = on_reached
        self._process = os.getpid()
        self._is_told = False
        # Optimizers whose step is running, by thread: one may call the step of another.
        self._running = threading.local()
        hooks = engine.current.hooks
        self._handles = [] if not steps and on_step is None else [hooks.register_optimizer_step_pre_hook(self._before),
                                                                  hooks.register_optimizer_step_post_hook(self._after)]

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()

    def _before(self, stepping: Any, args: Any, kwargs: Any) -> None:
        self._outer(stepping).append(stepping)

    def _after(self, stepped: Any, args: Any, kwargs: Any) -> None:
        if os.getpid() != self._process:
            return  # a forked child, which has no report
        is_inner = bool(self._outer(stepped))
        self.done += 1
        if self._on_step is not None:
            self._on_step(self.done)
        if is_inner or not self.steps or self.done < self.steps:
            return
        self.was_reached = True
        if threading.current_thread() is not threading.main_thread():
            _end_threads_silently()
        elif self._is_main_ended:
            self._tell_that_it_runs_on()
            return
        else:
            self._is_main_ended = True
            self._on_reached()
        raise EndOfSteps

    def _outer(self, stepping: Any) -> list[Any]:
        """The optimizers whose step called this one. A step that raised an error has left its optimizer behind; it is dropped."""
        if not hasattr(self._running, "stack"):
            self._running.stack = []
        stack: list[Any] = self._running.stack
        at = next((i for i, known in enumerate(stack) if known is stepping), len(stack))
        del stack[at:]
        return stack

    def _tell_that_it_runs_on(self) -> None:
        if not self._is_told:
            self._is_told = True
            print_line(f"whygrad: the program has caught its end after {self.steps} steps (`except:` or `except BaseException`) "
                       "and runs on, unobserved; Ctrl-C ends it and shows what was seen")


def _end_threads_silently() -> None:
    """EndOfSteps ends a thread without a traceback."""
    usual = threading.excepthook
    if getattr(usual, "is_silent_at_end_of_steps", False):
        return

    def report(args: threading.ExceptHookArgs) -> None:
        if not issubclass(args.exc_type, EndOfSteps):
            usual(args)

    report.is_silent_at_end_of_steps = True  # type: ignore[attr-defined]
    threading.excepthook = report
