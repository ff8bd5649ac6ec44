"""torch._C._autograd: saved tensors, version counters, and the running backward."""

from __future__ import annotations

from typing import Any

from whygrad.autograd.grad_mode import set_versions
from whygrad.autograd.saved_hooks import SavedTensor, save_alone
from whygrad.core.modes import grad_state

__all__ = ["SavedTensor", "_get_current_graph_task_keep_graph", "_make_saved_tensor", "_saved_tensors_hooks_is_enabled",
           "_unsafe_set_version_counter"]


def _saved_tensors_hooks_is_enabled() -> bool:
    return grad_state.saved_hooks_disabled is None


_make_saved_tensor, _unsafe_set_version_counter = save_alone, set_versions


def _get_current_graph_task_keep_graph() -> Any:
    """Whether the running backward keeps saved values; True if none runs."""
    return True if grad_state.running is None else grad_state.running.keep
