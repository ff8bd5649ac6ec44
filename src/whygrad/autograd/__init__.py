"""torch.autograd: backward and grad, modes, hooks, custom functions.

Whoever reads: node.py (what the graph is made of), engine.py (the walk back), calls.py (backward and grad), then what
is less common: function.py (with function_node.py and function_outputs.py), hooks.py, saved_hooks.py, views.py,
grad_mode.py, anomaly.py, graph.py.
"""

from typing import Any

from whygrad._absent import absent_from
from whygrad.autograd import anomaly as anomaly_mode
from whygrad.autograd import function, grad_mode, graph
from whygrad.autograd.anomaly import detect_anomaly, set_detect_anomaly
from whygrad.autograd.calls import backward, grad
from whygrad.autograd.function import Function
from whygrad.autograd.grad_mode import (
    _unsafe_preserve_version_counter,
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from whygrad.autograd.saved_hooks import SavedTensor
from whygrad.autograd.variable import Variable

__all__ = [
    "Function", "SavedTensor", "Variable", "_unsafe_preserve_version_counter", "anomaly_mode", "backward",
    "detect_anomaly", "enable_grad", "enforce_grad_layout_policy", "function", "grad", "grad_mode", "graph",
    "inference_mode", "is_multithreading_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled",
    "set_multithreading_enabled", "variable",
]

_whygrad_internal_ = True
__getattr__ = absent_from("torch.autograd")


def variable(*args: Any, **kwargs: Any) -> Any:
    """Gone since torch 0.4."""
    raise RuntimeError("torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead")


# The function hides the module of the same name, and torch's programs write `torch.autograd.variable.Variable`.
variable.Variable = Variable  # type: ignore[attr-defined]
