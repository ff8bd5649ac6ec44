"""Locks and os.fork: a child must not inherit a locked lock."""

from __future__ import annotations

import os
from typing import Any


def hold_while_forking(lock: Any) -> None:
    """Acquire this lock before every fork: held by another thread, it would stay locked in the child, its data inconsistent.

    Of two nested locks, register the outer one last: `register_at_fork` runs the `before` functions in reverse order.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
