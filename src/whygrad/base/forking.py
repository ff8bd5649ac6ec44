"""What a forked child must not inherit."""

from __future__ import annotations

import os
from typing import Any


def hold_while_forking(lock: Any) -> None:
    """Fork only while nobody else holds this lock: in the child it would be locked for ever, and what it guards half done.

    Of two locks, the one that is taken first must be named last: the system asks in reverse order.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
