"""Grad mode, inference mode and the other per-thread switches that change what an op records."""

from __future__ import annotations

import threading
from typing import Any

from whygrad.why.record import Site


class Modes(threading.local):
    """The switches of one thread. Class attributes are the defaults of a fresh thread."""

    grad: bool = True
    inference: bool = False
    # Innermost pair of saved_tensors_hooks, or the message of disable_saved_tensors_hooks.
    saved_hooks: tuple[Any, ...] = ()
    saved_hooks_disabled: str | None = None
    # The context of allow_mutation_on_saved_tensors: wants to know of in-place writes beforehand.
    mutation: Any = None
    # Where gradients were switched off, for explanations.
    off_site: Site | None = None
    off_name: str = ""
    # The innermost backward that runs in this thread.
    running: Any = None
    # The transforms that ops have to mind, outermost first (see door.py); and how many have been entered. While a
    # transform works on what it wraps, it takes itself out of `levels`.
    levels: tuple[Any, ...] = ()
    entered: int = 0
    forward_ad: bool = True
    # How many transforms of torch.func are at work.
    transforming: int = 0
    # The derivatives among them that are being taken, outermost first (see func/transforming.py).
    derivatives: tuple[Any, ...] = ()


modes = Modes()

# The switches of a thread that a thread of the engine takes over: these, and those of autocast once it is in use.
inherited: list[threading.local] = [modes]


class Special:
    """`on` while any thread is out of the ordinary: ops look at this one flag before they look at thread-locals."""

    __slots__ = ("anomaly", "derivatives", "grad_follows_leaf", "listeners", "multithreading", "on", "replay_views", "threads",
                 "writes")

    def __init__(self) -> None:
        self.on = False
        self.anomaly = False
        # The same for writes in place, which have more to mind: `on`, or a derivative is being taken.
        self.writes = False
        # Who wants to hear of every op and every node of a backward: see door.py.
        self.listeners: tuple[Any, ...] = ()
        # How many derivatives torch.func is taking, in all threads.
        self.derivatives = 0
        # Views whose base was written to find back through their own ops: see _force_original_view_tracking.
        self.replay_views = False
        # A leaf's first gradient is laid out in memory as the leaf is: see enforce_grad_layout_policy.
        self.grad_follows_leaf = True
        self.multithreading = True
        self.threads: set[int] = set()


special = Special()

# Between the look at `threads` and the write of `on`, no other thread may change either.
_refreshing = threading.Lock()


def refresh() -> None:
    """Call after changing anything in `modes`."""
    ordinary = modes.grad and not modes.inference and not modes.saved_hooks and not modes.entered
    ident = threading.get_ident()
    with _refreshing:
        if ordinary:
            special.threads.discard(ident)
        else:
            special.threads.add(ident)
        special.on = special.writes = bool(special.threads or special.listeners) or special.anomaly
        if special.derivatives:
            special.writes = True


def unusual() -> bool:
    """True if this thread is one that `special.on` is about."""
    return (special.anomaly or not modes.grad or modes.inference or bool(modes.saved_hooks) or bool(modes.levels)
            or bool(special.listeners))
