"""SIGTERM (of `kill`, `timeout`, a batch system) ends a program at once: the answers are reported before."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

# Seconds that the report may take; it may wait for a lock that the interrupted code holds.
GRACE = 20.0


class Termination:
    """Calls `report` when SIGTERM is about to end the process, unless the program handles or ignores the signal itself."""

    def __init__(self, report: Callable[[], Any]) -> None:
        self._report = report
        self._process = os.getpid()
        self._is_installed = (threading.current_thread() is threading.main_thread()
                              and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
        if self._is_installed:
            signal.signal(signal.SIGTERM, self._handle)
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=self.stop)  # a child has nothing to report, and may be blocked

    def stop(self) -> None:
        """Give the signal back, if it is still ours."""
        if self._is_installed and threading.current_thread() is threading.main_thread() and (
                signal.getsignal(signal.SIGTERM) == self._handle):
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._is_installed = False

    def _handle(self, number: int, frame: Any) -> None:
        # From now on a second signal ends the process at once, and so does the timer.
        signal.signal(number, signal.SIG_DFL)
        timer = threading.Timer(GRACE, os.kill, (os.getpid(), number))
        timer.daemon = True
        timer.start()
        try:
            self._report()
        finally:
            os.kill(os.getpid(), number)
