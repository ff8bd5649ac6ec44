"""torch._C: the names of torch's C++ core that programs and torch's own tests use, implemented by whygrad's engine."""

from __future__ import annotations

import weakref
from importlib import import_module
from typing import Any

from whygrad.autograd import inspection
from whygrad.autograd.grad_mode import _set_grad, is_grad_enabled, is_inference_mode_enabled, is_multithreading_enabled
from whygrad.autograd.graph import increment_version
from whygrad.base.unsupported import missing
from whygrad.compat import tracing
from whygrad.compat._C import _autograd, _functions, _functorch
from whygrad.core.modes import grad_state
from whygrad.core.node import NodeInterface
from whygrad.core.tensor import Tensor
from whygrad.functional.overriding import DisableTorchFunction, DisableTorchFunctionSubclass, state
from whygrad.functional.overriding import disabled_torch_function_impl as _disabled_torch_function_impl

has_lapack = True
has_mkl = False


def __getattr__(name: str) -> Any:
    """Stand-ins for all other names that torch has there: they can be named, and raise when they are used."""
    if name.startswith("__"):
        raise AttributeError(f"module 'torch._C' has no attribute {name!r}")
    if name == "_nn":
        return import_module("whygrad.compat._C._nn")
    if name == "_VariableFunctions":
        return import_module("whygrad.compat.private")._VF
    return missing(f"torch._C.{name}")


class _WeakTensorRef:
    def __init__(self, tensor: Tensor) -> None:
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        return self._reference() is None


def _set_grad_enabled(enabled: bool) -> None:
    _set_grad(enabled, "set_grad_enabled")


_increment_version, _is_multithreading_enabled = increment_version, is_multithreading_enabled


def _current_graph_task_id() -> int:
    """The id of the backward running in this thread; -1 if none runs."""
    return -1 if grad_state.running is None else grad_state.running.number


def _current_autograd_node() -> Any:
    """The node whose gradient function or hook is running."""
    running = grad_state.running
    return None if running is None or running.node is None else running.node.shown()


def _will_engine_execute_node(node: Any) -> bool:
    """Whether the running backward executes this node, before or after now."""
    if not isinstance(node, NodeInterface):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    if grad_state.running is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    return inspection.will_execute(grad_state.running, node)


def _get_should_execute_nodes() -> list[Any]:
    if grad_state.running is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    return inspection.execution_order(grad_state.running)


def _current_graph_task_execution_order() -> list[Any]:
    """The nodes that the running backward still has to execute, in its order."""
    if grad_state.running is None:
        raise RuntimeError("_current_graph_task_execution_order should only be called during the backward pass")
    if _is_multithreading_enabled():
        raise RuntimeError("get_current_graph_task_execution_order expects the current backward to be executed with "
                           "multithreading disabled, e.g. by running:\n\n>>> with "
                           "torch.autograd.set_multithreading_enabled(False):\n...     torch.autograd.grad(...)\n")
    return inspection.execution_order(grad_state.running)


def _is_fwd_grad_enabled() -> bool:
    return grad_state.forward_ad


def _set_fwd_grad_enabled(enabled: bool) -> None:
    grad_state.forward_ad = enabled


_get_tracing_state = tracing.running


def _is_tracing() -> bool:
    return tracing.running() is not None


def _log_api_usage_once(event: str) -> None:
    """Does nothing: usage is not logged."""


def _are_functorch_transforms_active() -> bool:
    return bool(grad_state.transforming)


def _is_torch_function_enabled() -> bool:
    return not (state.subclasses_off or state.all_off)


def _is_torch_function_all_disabled() -> bool:
    return state.all_off


def _is_torch_function_mode_enabled() -> bool:
    return bool(state.modes) and not state.all_off


def _len_torch_function_stack() -> int:
    return len(state.modes)


def _get_function_stack_at(level: int) -> Any:
    return state.modes[level]


def DispatchKeySet(*keys: Any) -> frozenset[Any]:
    return frozenset(keys)
