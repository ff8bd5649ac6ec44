"""Backwards inside backwards: a fresh stack for deep ones, and what is to be done when one has ended."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from whygrad.backends.fp_warnings import silence
from whygrad.core.engine import Backward
from whygrad.core.modes import grad_state, inherited, refresh
from whygrad.core.registered import registered


def in_a_new_thread(this: Backward, walk: Callable[..., None], *arguments: Any) -> None:
    """Like torch, do not let backwards that start backwards exhaust the stack."""
    states = [(local, dict(local.__dict__)) for local in inherited]
    failure: list[BaseException] = []

    def run() -> None:
        for local, state in states:
            local.__dict__.update(state)
        refresh()
        silence()
        this.depth = 0
        try:
            walk(*arguments)
        except BaseException as error:
            failure.append(error)
        finally:
            grad_state.__dict__.clear()
            refresh()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]


def queue_callback(callback: Callable[[], Any]) -> None:
    """Have `callback()` called when the backward that runs now has ended."""
    if grad_state.running is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    grad_state.running.callbacks.append(callback)


registered.nested = sys.modules[__name__]
