"""SIGTERM (of `kill`, `timeout`, a batch system) ends a program at once: the answers are reported before."""

from __future__ import annotations

import os
import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Seconds that the report may take; it may wait for a lock that the interrupted code holds.
GRACE = 20.0


class Termination:
    """Calls `report` when SIGTERM is about to end the process, unless the program handles or ignores the signal itself."""

    def __init__(self, report: Callable[[], Any]) -> None:
        self._report = report
        self._is_ending = False
        self._getsignal, self._signal = signal.getsignal, signal.signal
        self._is_installed = (threading.current_thread() is threading.main_thread()
                              and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
        if self._is_installed:
            signal.signal(signal.SIGTERM, self._handle)
            signal.getsignal = self._apparent  # type: ignore[assignment]
            signal.signal = self._set  # type: ignore[assignment]
            if hasattr(os, "register_at_fork"):
                # A child has nothing to report, and may be blocked. What is registered stays for ever.
                stop = weakref.WeakMethod(self.stop)
                os.register_at_fork(after_in_child=lambda: (stop() or bool)())

    def stop(self) -> None:
        """Give the signal back, if it is still ours."""
        if not self._is_installed:
            return
        self._is_installed = False
        signal.getsignal, signal.signal = self._getsignal, self._signal
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == self._handle:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _apparent(self, number: int) -> Any:
        """What the program is to see: libraries install a handler of their own only if there is none."""
        found = self._getsignal(number)
        return signal.SIG_DFL if found == self._handle else found

    def _set(self, signalnum: int, handler: Any) -> Any:
        """A library that handled the signal for a while puts back what it saw before: then it is ours again."""
        before = self._apparent(signalnum)
        self._signal(signalnum, self._handle if signalnum == signal.SIGTERM and handler == signal.SIG_DFL else handler)
        return before

    def _handle(self, number: int, frame: Any) -> None:
        self._is_ending = True
        # From now on a second signal ends the process at once, and so does the timer.
        self._signal(number, signal.SIG_DFL)
        timer = threading.Timer(GRACE, os.kill, (os.getpid(), number))
        timer.daemon = True
        timer.start()
        try:
            self._report()
        finally:
            os.kill(os.getpid(), number)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """SIGTERM and Ctrl-C wait until the block has ended, unless the process is being ended already; a second one does not."""
        arrived: list[int] = []

        def note(number: int, frame: Any) -> None:
            signal.signal(number, before[number])
            arrived.append(number)

        before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread() and not self._is_ending:
            usual = (signal.SIG_DFL, signal.default_int_handler)
            before = {number: handler for number in (signal.SIGINT, signal.SIGTERM)
                      if (handler := signal.getsignal(number)) in usual}
        for number in before:
            signal.signal(number, note)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            for number in arrived:
                signal.raise_signal(number)
