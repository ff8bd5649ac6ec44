"""Parameters and buffers whose shape is not known until the first forward, and the modules that have them."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from whygrad.autograd.grad_mode import no_grad
from whygrad.base import dtypes
from whygrad.core.tensor import Size, Tensor, set_requires_grad
from whygrad.functional.operators import OPERATORS
from whygrad.functional.parameter import Parameter
from whygrad.functional.run import METHODS

# The methods that work without a shape.
ALLOWED = frozenset({"size", "copy_", "is_complex", "is_floating_point", "half", "float", "double", "char", "short", "int",
                     "long", "cuda", "cpu", "to", "get_device", "share_memory_", "why"})


class Uninitialized:
    """Base of tensors without a shape: they have a dtype, and refuse most methods."""

    cls_to_become: ClassVar[type]

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        tensor: Any = super().__new__(cls)
        tensor._array = np.empty(0, (dtype or dtypes.get_default_dtype()).numpy)
        tensor._node = tensor._grad = tensor._view = tensor._meta = None
        tensor._indirect = False
        tensor._lazy_version = None
        tensor._cause = ()
        if requires_grad:
            set_requires_grad(tensor, True)
        return tensor

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __getattribute__(self, name: str) -> Any:
        if name in METHODS and name not in ALLOWED:
            return partial(_refuse, self, name)
        return super().__getattribute__(name)

    def size(self: Any, dim: int | None = None) -> Any:
        sizes = Size(self._array.shape)
        return sizes if dim is None else sizes[dim]

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give the tensor a shape, and make it an ordinary one."""
        sizes = shape if isinstance(shape, int) else tuple(shape)
        self._array = np.empty(sizes, self._array.dtype if dtype is None else dtype.numpy)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        raise RuntimeError("Can't access the shape of an uninitialized parameter or buffer. This error usually happens "
                           "in `load_state_dict` when trying to load an uninitialized parameter into an initialized "
                           "one. Call `forward` to initialize the parameters before accessing their attributes.")

    def share_memory_(self) -> Any:
        raise RuntimeError("Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize "
                           "the parameters before calling `module.share_memory()`.")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        memo[id(self)] = copy = type(self)(self.requires_grad, dtype=self.dtype)
        return copy

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        return type(self), (self.requires_grad, None, self.dtype)


def _refuse(self: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    raise ValueError(f"Attempted to use an uninitialized parameter in <method '{name}' of 'torch._C.TensorBase' objects>. This "
                     "error happens when you are using a `LazyModule` or explicitly manipulating "
                     f"`torch.nn.parameter.{type(self).__name__}` objects. When using LazyModules Call `forward` with a dummy "
                     "batch to initialize the parameters before calling torch functions")


# The method that torch names in the message for an operator, where it is not the operator itself.
BEHIND_OPERATORS = {"__radd__": "add", "__rmul__": "mul", "__truediv__": "div", "__mod__": "remainder", "__pos__": "positive",
                    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_",
                    **{f"__{name}__": name
                       for name in ("add", "sub", "mul", "matmul", "ne", "lt", "le", "gt", "ge", "neg", "abs")}}


def _refusing(operator: str) -> Any:
    """Operators need methods on the class: Python does not look them up through `__getattribute__`."""
    name = BEHIND_OPERATORS.get(operator, operator)
    return lambda self, *args: _refuse(self, name)


for _name in (*OPERATORS, *"__getitem__", "__setitem__", "__len__", "__iter__", "__contains__", "__bool__", "__int__",
              "__float__"):
    setattr(Uninitialized, _name, _refusing(_name))


class UninitializedParameter(Uninitialized, Parameter):  # type: ignore[override]
    cls_to_become = Parameter


class UninitializedBuffer(Uninitialized, Tensor):  # type: ignore[override]
    cls_to_become = Tensor

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None,
                persistent: bool = True) -> Any:
        tensor = super().__new__(cls, requires_grad, device, dtype)
        tensor.persistent = persistent
        tensor._is_buffer = True
        return tensor


def is_lazy(tensor: Any) -> bool:
    return isinstance(tensor, Uninitialized)


class LazyModuleMixin:
    """A module that infers the shapes of its parameters from its first input, then becomes `cls_to_become`."""

    cls_to_become: ClassVar[type | None] = None

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[override]
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _lazy_load_hook(self: Any, state_dict: Any, prefix: str, *_: Any) -> None:
        for name, own in (*self._parameters.items(), *self._buffers.items()):
            given = state_dict.get(prefix + name)
            if own is not None and given is not None and is_lazy(own) and not is_lazy(given):
                with no_grad():
                    own.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Override: materialize the parameters for these inputs of forward."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self: Any) -> bool:
        return any(is_lazy(x) for x in (*self._parameters.values(), *self._buffers.values()))

    def _infer_parameters(self: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        module.initialize_parameters(*args, **kwargs)
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        for name in ("_initialize_hook", "_load_hook"):
            getattr(module, name).remove()
            delattr(module, name)
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become


def lazy_classes(base: type, *kinds: type) -> list[Any]:
    """For each kind of module, the lazy class that becomes it."""
    return [type(f"Lazy{kind.__name__}", (base, kind), {"cls_to_become": kind, "__module__": base.__module__})
            for kind in kinds]
