"""torch.__future__: how a module's conversions (`to`, `half` ...) and `load_state_dict` replace its tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from whygrad.autograd.grad_mode import no_grad
from whygrad.autograd.swapping import swap_tensors
from whygrad.functional.parameter import Parameter

if TYPE_CHECKING:
    from whygrad.nn.module import Module

_flags = {"overwrite": False, "swap": False}


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether conversions make new parameters instead of setting `.data` of the present ones."""
    _flags["overwrite"] = value


def get_overwrite_module_params_on_conversion() -> bool:
    return _flags["overwrite"]


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether conversions and load_state_dict exchange tensors by `torch.utils.swap_tensors`; goes before overwriting."""
    _flags["swap"] = value


def get_swap_module_params_on_conversion() -> bool:
    return _flags["swap"]


def convert_parameter(module: Module, name: str, parameter: Any, convert: Callable[[Any], Any]) -> None:
    """Replace a parameter and its gradient by what `convert` makes of them."""
    with no_grad():
        converted = convert(parameter)
    grad = parameter.grad
    overwrite = _flags["overwrite"] or converted.layout is not parameter.layout  # `.data` keeps its layout
    if _flags["swap"]:
        parameter.grad = None
        try:
            swap_tensors(parameter, Parameter(converted, requires_grad=parameter.requires_grad))
        except Exception as error:
            parameter.grad = grad
            raise RuntimeError(f"_apply(): Couldn't swap {module._get_name()}.{name}") from error
    elif overwrite:
        module._parameters[name] = Parameter(converted, requires_grad=parameter.requires_grad)
    else:
        parameter.data = converted
    if grad is not None:
        _convert_gradient(module, name, grad, convert)


def _convert_gradient(module: Module, name: str, grad: Any, convert: Callable[[Any], Any]) -> None:
    parameter: Any = module._parameters[name]
    with no_grad():
        converted = convert(grad)
    if _flags["swap"]:
        try:
            swap_tensors(grad, converted.requires_grad_(grad.requires_grad))
        except Exception as error:
            raise RuntimeError(f"_apply(): Couldn't swap {module._get_name()}.{name}.grad") from error
        parameter.grad = grad
    elif _flags["overwrite"] or converted.layout is not grad.layout:
        parameter.grad = converted.requires_grad_(grad.requires_grad)
    else:
        grad.data = converted


def load_by_swapping(own: Any, given: Any, assign: bool) -> None:
    """Load `given` into `own`, whose `module_load` says how; `own` keeps its identity and its requires_grad."""
    loaded = own.module_load(given, assign=assign)
    if loaded is given or loaded is own:
        raise RuntimeError("module_load returned one of self or other, please .detach() the result if returning one of the "
                           "inputs in module_load")
    if isinstance(own, Parameter):
        if isinstance(loaded, Parameter):
            loaded.requires_grad_(own.requires_grad)  # type: ignore[attr-defined]
        else:
            loaded = Parameter(loaded, requires_grad=own.requires_grad)
    swap_tensors(own, loaded)
