"""What core leaves to the packages above it: their modules register here when they are loaded."""

from __future__ import annotations

from typing import Any


class Registered:
    """Modules of autograd, by what core asks of them."""

    # Calls hooks: on_output, before_node, after_node; pass_by, check_detached.
    hooks: Any
    # Errors about nodes: stale_saved, forbidden_view_write.
    errors: Any
    # The end of the walk: finish_leaf; accumulate.
    accumulation: Any
    # Backwards inside backwards: in_a_new_thread.
    nested: Any
    # Anomaly mode: keep_trace, run_node.
    anomaly: Any
    # Hooks on saved values: pack.
    saved_hooks: Any
    # Views of what is written in place: history_of_view, CopySlices.
    views: Any


registered = Registered()
