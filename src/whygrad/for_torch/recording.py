"""Recording in a process that runs on PyTorch: `on()` and `off()`, and `watch()` for a block."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, cast

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

from whygrad.for_torch import backward, tensor_facts
from whygrad.for_torch.engine import ENGINE
from whygrad.for_torch.parameter_answers import add_answers, left_out
from whygrad.why import engine, record, terminal
from whygrad.why import report as html_report
from whygrad.why.answers import Answers
from whygrad.why.engine import Engine
from whygrad.why.html_watch import HtmlWatch
from whygrad.why.watch import Watch

_TORCH = cast(Engine, ENGINE)


@contextmanager
def on_torch() -> Iterator[None]:
    """Tensors are torch's here, whatever engine is current outside."""
    outer, engine.current = engine.current, _TORCH
    try:
        yield
    finally:
        engine.current = outer


@contextmanager
def paused() -> Iterator[None]:
    """Nothing is recorded here, if something is outside."""
    outer = record.watching
    if outer is None:
        yield
        return
    outer.pause()
    try:
        yield
    finally:
        outer.resume()


class Recording:
    """One watch from start to stop. Another one that is running, of whatever kind, pauses meanwhile."""

    def __init__(self, *, html: bool = False) -> None:
        self._kind = HtmlWatch if html else Watch
        self.is_running = False
        self.answers = Answers()

    def start(self) -> Recording:
        self._outer: Watch | None = record.watching
        self._outer_engine = engine.current
        if self._outer is not None:
            self._outer.pause()
        engine.current = _TORCH
        try:
            if self._outer is None:
                _begin_anew()
                for optimizer in _optimizers_alive():
                    ENGINE._optimizers.add(optimizer)
            self.watch = self._kind()
            self.watch.start()
            self._late = register_optimizer_step_pre_hook(_note_optimizer)
        except BaseException:
            self._put_back()
            raise
        self.is_running = True
        return self

    def stop(self) -> Answers:
        """The answers. The exception that is being handled, if any, is taken for how the program ended."""
        if self.is_running:
            self.is_running = False
            try:
                self._late.remove()
                with tensor_facts.quietly():
                    self.answers = Answers(self.watch.stop())
            finally:
                self._put_back()
        return self.answers

    def _put_back(self) -> None:
        engine.current = self._outer_engine
        if self._outer is not None:
            self._outer.resume()


def _begin_anew() -> None:
    """What happened to gradients in an earlier recording is no fact of this one: much may have happened in between."""
    tensor_facts.forget_gradients()
    backward.set_last_backward(None)


def _optimizers_alive() -> list[Any]:
    """Those that were made before: nobody lists them, and a parameter of theirs must not count as held by none."""
    return [x for x in gc.get_objects() if issubclass(type(x), Optimizer)]


def _note_optimizer(optimizer: Any, args: Any, kwargs: Any) -> None:
    """A copy of an optimizer, or one that was unpickled, has not come by its constructor."""
    ENGINE._optimizers.add(optimizer)


# The recording of on(), and the last one that can be written as a page.
_current: Recording | None = None
_drawn: Recording | None = None


def on(*, html: bool = False) -> None:
    """Start recording. The answers come from off(), or on standard error when the process ends.

    If recording is on already (as under `whygrad run --engine torch`), it stays as it is. With `html`, report() can write a page.
    """
    global _current, _drawn
    if _current is not None:
        if html and _current is not _drawn:
            raise RuntimeError("recording is on already, without html=True: call off() first")
        return
    if record.watching is not None:
        return
    _current = Recording(html=html).start()
    if html:
        _drawn = _current
    atexit.register(_tell_at_exit, os.getpid())


def off() -> Answers:
    """End recording, and return the answers. Without a recording there are none."""
    global _current
    ended, _current = _current, None
    atexit.unregister(_tell_at_exit)
    return Answers() if ended is None else ended.stop()


def is_on() -> bool:
    return _current is not None


def _tell_at_exit(process: int) -> None:
    if os.getpid() == process and _current is not None:
        failures = _current.watch.failures
        answers = off()
        terminal.print_failures(failures)
        terminal.print_answers(answers)


def report(path: str | os.PathLike[str]) -> None:
    """Write what on(html=True) recorded as a page for a browser. A recording that is still on is ended."""
    if _drawn is None:
        raise RuntimeError("nothing was recorded for a page: call on(html=True) first")
    if _drawn is _current:
        off()
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    with on_torch(), tensor_facts.quietly():
        html_report.write(os.fspath(path), _drawn.answers, _drawn.watch, script)


class watch:
    """`with watch(model) as w:` records a block. At its end `w.answers` has the answers, and they are printed on standard error.

    Parameters of `model` that no gradient reached in the block, or only zeros, are explained even if nobody reads them.
    """

    def __init__(self, model: torch.nn.Module | None = None, *, quiet: bool = False) -> None:
        if model is not None and not isinstance(model, torch.nn.Module):
            raise TypeError(f"watch() takes a torch.nn.Module, not {type(model).__name__}")
        self.model = model
        self.quiet = quiet
        self._recording = Recording()

    @property
    def answers(self) -> Answers:
        """Those found so far; at the end of the block all."""
        return Answers(self._recording.watch.answers) if self._recording.is_running else self._recording.answers

    def __enter__(self) -> Self:
        self._recording.start()
        if self.model is not None:
            self._recording.watch.audit.modules.add_model(self.model)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        running = self._recording.watch
        if self.model is not None:
            with tensor_facts.quietly():
                running.guarded_call("parameters", lambda: add_answers(running, left_out(running, self.model)))
        answers = self._recording.stop()
        if not self.quiet:
            terminal.print_failures(running.failures)
            terminal.print_answers(answers)
