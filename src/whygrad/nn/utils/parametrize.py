"""Parametrizations: a parameter of a module becomes a function of other parameters, computed whenever it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any

from whygrad.autograd.grad_mode import no_grad
from whygrad.core.tensor import Tensor
from whygrad.core.write import bump
from whygrad.functional.parameter import Parameter
from whygrad.nn.containers import ModuleDict, ModuleList
from whygrad.nn.module import Module

_cache_enabled = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """A context in which every parametrized tensor is computed only once."""
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _register_parameter_or_buffer(module: Module, name: str, tensor: Any) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _set(destination: Any, source: Any) -> None:
    """Make a tensor share the data of another one."""
    destination.data = source
    bump(destination)


def _kind(value: Any) -> str:
    return type(value).__name__


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied one after the other to the originals that it holds."""

    original: Any
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Any, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            new: Any = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):  # without a right inverse the original keeps the current value
                        new = module.right_inverse(new)
        self.is_tensor = isinstance(new, Tensor)
        if not self.is_tensor and not isinstance(new, Sequence):
            raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                             f"{_kind(new)}")
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if dtype != new.dtype:
                raise ValueError("When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                                 f"original.dtype: {dtype}\nright_inverse(original).dtype: {new.dtype}")
            with no_grad():
                _set(original, new)
            _register_parameter_or_buffer(self, "original", original)
        else:
            for i, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                                     f"element {i} of the sequence with type {_kind(part)}.")
                tensor: Any = Parameter(part, original.requires_grad) if isinstance(original, Parameter) else part
                _register_parameter_or_buffer(self, f"original{i}", tensor.requires_grad_(original.requires_grad))
        if not self.unsafe:
            _check_unchanged(self(), dtype, shape, "unparametrized {}: {}\nparametrized {}: {}", "`unsafe`")

    def right_inverse(self, value: Any) -> None:
        """Assign the originals so that the parametrized tensor equals `value`."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {_kind(module)} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {_kind(value)}")
                if value.dtype != self.original.dtype:
                    raise ValueError(f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has "
                                     f"dtype {self.original.dtype}")
                _set(self.original, value)
                return
            if not isinstance(value, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {_kind(value)}.")
            if len(value) != self.ntensors:
                raise ValueError(f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a "
                                 f"sequence of length {len(value)}.")
            for i, tensor in enumerate(value):
                original = getattr(self, f"original{i}")
                if not isinstance(tensor, Tensor):
                    raise ValueError("'right_inverse' must return a sequence of tensors or reference-type opaques. Got "
                                     f"element {i} of type {_kind(tensor)}.")
                if original.dtype != tensor.dtype:
                    raise ValueError(f"Tensor {i} returned by `right_inverse` has dtype {tensor.dtype} while `original{i}` "
                                     f"has dtype {original.dtype}")
                _set(original, tensor)

    def forward(self) -> Any:
        modules = iter(self)
        if self.is_tensor:
            x = next(modules)(self.original)
        else:
            x = next(modules)(*[getattr(self, f"original{i}") for i in range(self.ntensors)])
        for module in modules:
            x = module(x)
        return x


def _check_unchanged(new: Any, dtype: Any, shape: Any, shown: str, unsafe: str) -> None:
    """A parametrization must preserve dtype and shape."""
    if not isinstance(new, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {_kind(new)}.")
    for name, old, found in (("dtype", dtype, new.dtype), ("shape", shape, new.shape)):
        if old != found:
            raise ValueError(f"Registering a parametrization may not change the {name} of the tensor, unless {unsafe} flag "
                             f"is enabled.\n{shown.format(name, old, name, found)}")


def _inject_new_class(module: Module) -> None:
    """Give this module a subclass of its own, which can have properties."""
    cls: Any = type(module)

    def copied(self: Any, memo: dict[int, Any]) -> Any:
        replica = memo[id(self)] = self.__new__(type(self))
        replica.__dict__ = deepcopy(self.__dict__, memo)
        return replica

    def refuse_state(self: Any) -> Any:
        raise RuntimeError("Serialization of parametrized modules is only supported through state_dict(). See:\n"
                           "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
                           "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training")

    members: dict[str, Any] = {"__getstate__": refuse_state}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = copied
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _inject_property(module: Module, tensor_name: str) -> None:
    def read(self: Any) -> Any:
        parametrization = self.parametrizations[tensor_name]
        if not _cache_enabled:
            return parametrization()
        key = (id(self), tensor_name)
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def assign(self: Any, value: Any) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(type(module), tensor_name, property(read, assign))


def register_parametrization(module: Any, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Any:
    """From now on `module.tensor_name` is `parametrization(original)`."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_another(module, tensor_name, parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
                         f"'{tensor_name}'")
    return module


def _check_another(module: Any, tensor_name: str, parametrization: Any) -> None:
    """Check a further parametrization against the existing ones."""
    old = getattr(module, tensor_name)
    name = f"module.{tensor_name}"
    new = parametrization(old)
    _check_unchanged(new, old.dtype, old.shape, f"{name}.{{}}: {{}}\nparametrization({name}).{{}}: {{}}", "the `unsafe`")
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        inverse = parametrization.right_inverse(new)
    except NotImplementedError:
        return
    if not isinstance(inverse, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {_kind(inverse)}")
    for kind, wanted, found in (("dtype", old.dtype, inverse.dtype), ("shape", old.shape, inverse.shape)):
        if wanted != found:
            raise ValueError(f"The tensor returned by parametrization.right_inverse must have the same {kind} as {name}, "
                             f"unless the `unsafe` flag is enabled.\n{name}.{kind}: {wanted}\nreturned {kind}: {found}")


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether this tensor of the module, or any, is parametrized."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Make the tensor a plain parameter again, with the parametrized value or the original one."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():
                _set(original, getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms "
                         "of a sequence of tensors.")
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register_parameter_or_buffer(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Any) -> type:
    """The class that the module had."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Any, to_module: Any, tensor_name: str | None = None) -> Any:
    """Give another module the parametrizations, and the originals, of one tensor or of all."""
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        originals = ["original"] if hasattr(source, "original") else [f"original{i}" for i in range(source.ntensors)]
        for original in originals:
            setattr(to_module.parametrizations[name], original, getattr(source, original))
    return to_module
