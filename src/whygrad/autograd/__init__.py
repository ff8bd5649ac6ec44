"""torch.autograd: backward and grad, modes, hooks, custom functions.

Reading order: core/node.py (what the graph is made of), core/engine.py (the walk back), calls.py (backward and grad), then
what is less common: function.py (with function_node.py and function_outputs.py), hooks.py, saved_hooks.py, views.py,
grad_mode.py, anomaly.py, graph.py. Loaded on first use: functional.py, gradcheck.py, forward_ad.py, profiler.py, and the
levels of transforms: dual.py (forward mode), batched.py and batching/ (vmap), pull_back.py (reverse mode below them).
"""

from importlib import import_module
from typing import Any

from whygrad.autograd import anomaly as anomaly_mode
from whygrad.autograd import function, grad_mode, graph

# These register themselves in core/registered.py, or give classes of core their methods.
from whygrad.autograd import hooks as _hooks
from whygrad.autograd import nested as _nested
from whygrad.autograd import node_methods as _node_methods
from whygrad.autograd import reference_counts as _reference_counts
from whygrad.autograd import saved_hooks as _saved_hooks
from whygrad.autograd import tensor_methods as _tensor_methods  # hangs backward, register_hook ... onto Tensor
from whygrad.autograd import views as _views
from whygrad.autograd.anomaly import detect_anomaly, set_detect_anomaly
from whygrad.autograd.calls import backward, grad
from whygrad.autograd.function import Function
from whygrad.autograd.grad_mode import (
    _force_original_view_tracking,
    _unsafe_preserve_version_counter,
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_multithreading_enabled,
    is_view_replay_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from whygrad.autograd.inspection import is_checkpoint_valid as _is_checkpoint_valid
from whygrad.autograd.saved_hooks import SavedTensor
from whygrad.autograd.variable import Variable
from whygrad.base.unsupported import absent_from

__all__ = [
    "Function", "SavedTensor", "Variable", "_force_original_view_tracking", "_unsafe_preserve_version_counter", "anomaly_mode",
    "backward",
    "detect_anomaly", "enable_grad", "enforce_grad_layout_policy", "function", "grad", "grad_mode", "graph",
    "inference_mode", "is_multithreading_enabled", "is_view_replay_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled",
    "set_multithreading_enabled", "variable",
]
_absent = absent_from("torch.autograd")

# Modules, and names of modules, that are loaded when first asked for.
_LATER = ("_functions", "forward_ad", "functional", "gradcheck", "profiler", "profiler_util")
_LATER_FROM = {"_calculate_shape": "_functions", "_profiler_enabled": "profiler", "gradgradcheck": "gradcheck",
               "kineto_available": "profiler"}


def __getattr__(name: str) -> Any:
    try:
        if name == "torch":  # by which old programs reach the package
            return import_module("whygrad")
        if name in _LATER:
            return import_module(f"whygrad.autograd.{name}")
        if name in _LATER_FROM:
            return getattr(import_module(f"whygrad.autograd.{_LATER_FROM[name]}"), name)
    except ModuleNotFoundError as error:
        raise AttributeError(f"module 'torch.autograd' has no attribute {name!r}: {error}") from None
    return _absent(name)


def variable(*args: Any, **kwargs: Any) -> Any:
    """Gone since torch 0.4."""
    raise RuntimeError("torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead")


# The function hides the module of the same name, and torch's programs write `torch.autograd.variable.Variable`.
variable.Variable = Variable  # type: ignore[attr-defined]
