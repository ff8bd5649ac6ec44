"""Switches of the running program that torch does not tell: who turned recording off, and the backward that runs."""

from __future__ import annotations

import threading
from typing import Any

from whygrad.why.record import Site

# Backward passes that run, of all threads: those on another device than the CPU run their hooks in a thread of their own.
_passes: list[Any] = []


class Modes(threading.local):
    # The mode under which nothing is recorded ("no_grad", "inference_mode", "f.forward" of a custom Function), and where it
    # was entered.
    off_name = ""
    off_site: Site | None = None
    # The backward that this thread runs.
    own: Any = None

    @property
    def running(self) -> Any:
        """The backward that runs in this thread, or that it works for."""
        return self.own or (_passes[-1] if _passes and threading.current_thread() is not threading.main_thread() else None)

    def enter(self, backward: Any) -> Any:
        """Begin a backward; what is returned is to be given to `leave`."""
        outer, self.own = self.own, backward
        _passes.append(backward)
        return outer

    def leave(self, backward: Any, outer: Any) -> None:
        self.own = outer
        _passes.remove(backward)


modes = Modes()
