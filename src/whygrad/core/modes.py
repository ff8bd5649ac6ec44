"""Grad mode, inference mode and the other per-thread switches that change what an op records."""

from __future__ import annotations

import threading
from typing import Any

from whygrad.why.record import Site


class GradState(threading.local):
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


grad_state = GradState()

# The switches of a thread that a thread of the engine takes over: these, and those of autocast once it is in use.
inherited: list[threading.local] = [grad_state]


class ProcessState:
    """`any_mode_active` while any thread is out of the ordinary: ops look at this one flag before they look at thread-locals."""

    __slots__ = ("anomaly", "any_mode_active", "derivatives", "grad_follows_leaf", "last_backward", "listeners", "meta",
                 "multithreading", "replay_views", "threads", "writes")

    def __init__(self) -> None:
        self.any_mode_active = False
        self.anomaly = False
        # The same for writes in place, which have more to mind: `any_mode_active`, or a derivative is being taken.
        self.writes = False
        # Listeners to every op and every node of a backward: see door.py.
        self.listeners: tuple[Any, ...] = ()
        # autograd/meta.py while there are arrays without values, to which it applies rows.
        self.meta: Any = None
        # How many derivatives torch.func is taking, in all threads.
        self.derivatives = 0
        # Views whose base was written to find back through their own ops: see _force_original_view_tracking.
        self.replay_views = False
        # A leaf's first gradient is laid out in memory as the leaf is: see enforce_grad_layout_policy.
        self.grad_follows_leaf = True
        self.multithreading = True
        # The backward that was begun last, in any thread.
        self.last_backward: Any = None
        self.threads: set[int] = set()


process_state = ProcessState()


def count_backwards() -> int:
    """The number of the latest backward."""
    last = process_state.last_backward
    return 0 if last is None else last.number

# Between the look at `threads` and the write of `any_mode_active`, no other thread may change either.
_refreshing = threading.RLock()


def refresh() -> None:
    """Call after changing anything in `grad_state`."""
    ordinary = grad_state.grad and not grad_state.inference and not grad_state.saved_hooks and not grad_state.entered
    ident = threading.get_ident()
    with _refreshing:
        (process_state.threads.discard if ordinary else process_state.threads.add)(ident)
        active = bool(process_state.threads or process_state.listeners or process_state.meta) or process_state.anomaly
        process_state.any_mode_active, process_state.writes = active, active or process_state.derivatives > 0


def needs_slow_path() -> bool:
    """True if this thread is one that `process_state.any_mode_active` is about."""
    return (process_state.anomaly or not grad_state.grad or grad_state.inference
            or bool(grad_state.saved_hooks or grad_state.levels or process_state.listeners or process_state.meta))
