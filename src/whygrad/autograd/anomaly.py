"""Anomaly detection: stop at the first NaN in a gradient, and show the forward line that made the failing node."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np

from whygrad.base import errors
from whygrad.base.errors import warn
from whygrad.base.frames import is_internal
from whygrad.core.modes import process_state, refresh
from whygrad.core.node import Node
from whygrad.core.registered import registered
from whygrad.core.tensor import Tensor


class _Evaluating(threading.local):
    """The node whose gradient this thread is computing: the parent of nodes made meanwhile."""

    node: Node | None = None
    # The node whose gradient was the first to be infinite in this backward.
    infinite: Node | None = None


_evaluating = _Evaluating()
_check_nan = True


def is_anomaly_enabled() -> bool:
    return process_state.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    return _check_nan


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    global _check_nan
    process_state.anomaly = mode
    _check_nan = check_nan
    refresh()


class detect_anomaly:
    """Inside, forward remembers tracebacks and backward checks every gradient."""

    def __init__(self, check_nan: bool = True) -> None:
        self.prev = is_anomaly_enabled()
        self.check_nan = check_nan
        self.prev_check_nan = _check_nan
        warn("Anomaly Detection has been enabled. This mode will increase the runtime and should only be "
             "enabled for debugging.")

    def __enter__(self) -> None:
        set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, *exc: object) -> None:
        set_anomaly_enabled(self.prev, self.prev_check_nan)


class set_detect_anomaly:
    """The same as a switch that takes effect at once; also usable in `with`."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = is_anomaly_enabled()
        self.prev_check_nan = _check_nan
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        set_anomaly_enabled(self.prev, self.prev_check_nan)


def keep_trace(node: Node) -> None:
    """Remember where a node is being made, and in the backward of which other node. The keys are torch's."""
    import traceback

    frames = [(frame, line) for frame, line in traceback.walk_stack(sys._getframe(1))
              if not is_internal(frame)]
    node.metadata["traceback_"] = traceback.StackSummary.extract(reversed(frames)).format()
    if _evaluating.node is not None:
        node.metadata["parent_"] = _evaluating.node


def run_node(node: Node, g: Any, edges: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    """Run a node as the engine does, and look at what it does."""
    outer, _evaluating.node = _evaluating.node, node
    try:
        grads: tuple[Any, ...] = node.graph(g, edges) if create_graph else node.raw(g, edges)
    except Exception:
        _show_traces(node)
        raise
    finally:
        _evaluating.node = outer
    if _check_nan and node.visible:
        if _is_finite(g):
            _evaluating.infinite = None if all(map(_is_finite, grads)) else node
        for i, gradient in enumerate(grads):
            if gradient is not None and np.isnan(gradient._array if isinstance(gradient, Tensor) else gradient).any():
                _show_traces(node)
                error = RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
                raise errors.noted(error, "anomaly", node, _evaluating.infinite or node)
    return grads


def _is_finite(gradient: Any) -> bool:
    values = [x._array if isinstance(x, Tensor) else x for x in (gradient if isinstance(gradient, tuple) else (gradient,))]
    return all(bool(np.isfinite(x).all()) for x in values if x is not None)


def _show_traces(node: Node) -> None:
    """The forward traceback of the node, then of the nodes in whose backward it was made."""
    trace = node.metadata.get("traceback_")
    if trace is None:
        _warn(f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during "
              "forward pass for more information.")
        return
    _warn(f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(trace)}")
    parent = node.metadata.get("parent_")
    while parent is not None:
        trace = parent.metadata.get("traceback_")
        known = "No forward pass information available. Enable detect anomaly during forward pass for more information."
        if trace is not None:
            known = "Traceback of forward call that induced the previous calculation:\n" + "".join(trace)
        _warn(f"\n\nPrevious calculation was induced by {parent.name()}. {known}")
        parent = parent.metadata.get("parent_")


def _warn(text: str) -> None:
    try:
        warn(text)
    except UserWarning as warning:
        # Warnings are errors: the text must not hide the error it is about.
        print(f"UserWarning: {warning}", file=sys.stderr)


registered.anomaly = sys.modules[__name__]
