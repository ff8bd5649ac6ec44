"""How a tensor behaves towards Python and NumPy: printing, conversion to numbers, iteration, copying, pickling."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.backends.numpy_layout import storage
from whygrad.base import door, dtypes, errors, layouts
from whygrad.base.errors import warn
from whygrad.base.meta_array import MetaArray, like, meta_array
from whygrad.base.unsupported import TENSOR_NAMES, Missing
from whygrad.core.modes import grad_state, process_state
from whygrad.core.node import row_node
from whygrad.core.tensor import Tensor, grad_fn
from whygrad.functional import tensor_properties  # noqa: F401 (hangs them onto Tensor)
from whygrad.functional.arguments import fits
from whygrad.functional.fresh import fresh
from whygrad.functional.from_data import ONE_ELEMENT, warn_of_lost_gradient
from whygrad.functional.meta import is_meta
from whygrad.functional.overriding import __torch_function__, _make_subclass, is_overriding, rebuild, refuse_dispatch
from whygrad.functional.run import METHODS

_item = METHODS["item"].spec.implementation  # type: ignore[attr-defined]

DEEPCOPY_SUBCLASS = (
    "The default implementation of __deepcopy__() for non-wrapper subclasses only works for subclass types that implement "
    "new_empty() and for which that function returns another instance of the same subclass. You should either properly implement "
    "new_empty() for your subclass or override __deepcopy__() if it is intended behavior for new_empty() to return an instance "
    "of a different type.")


def __repr__(self: Tensor, *, tensor_contents: str | None = None) -> str:
    if process_state.derivatives and grad_state.derivatives:
        return grad_state.derivatives[-1].shown(self)  # type: ignore[no-any-return]
    notes = []
    try:
        node, _ = row_node(grad_fn(self))
        name = type(node).__name__
    except RuntimeError:  # a view whose base was changed in a way that leaves it without a history
        node, name = self, "Invalid"
    if node is not None:
        notes.append(f"grad_fn=<{name}>")
    elif self.requires_grad:
        notes.append("requires_grad=True")
    if self._meta is not None and self._meta.tangents:
        notes += [f"tangent={tangent}" for tangent in self._meta.tangents.values()]
    return plain_text(self, notes, tensor_contents)


def plain_text(self: Tensor, notes: list[str], contents: str | None = None) -> str:
    defaults = (dtypes.get_default_dtype().name, dtypes.get_default_complex_dtype().name, "int64")
    plain = type(self) is Tensor or getattr(type(self), "_prints_as_tensor", False)
    prefix = "tensor(" if plain else f"{type(self).__name__}("
    if is_meta(self):
        about = ["...", "device='meta'", f"size={tuple(self._array.shape)}"]
        about += [] if self.dtype.name in defaults[:2] else [f"dtype={self.dtype}"]
        return f"{prefix}{', '.join(about + notes)})"
    from whygrad.base import printing

    return printing.format_tensor(self._array, dtype_name=self.dtype.name, default_dtype_names=defaults, suffixes=notes,
                                  prefix=prefix, contents=contents)


def __format__(self: Tensor, spec: str) -> str:
    if self._array.ndim == 0 and type(self) is Tensor and type(self._array) is np.ndarray:
        return format(_item(self), spec)
    return object.__format__(self, spec)


def __bool__(self: Tensor) -> bool:
    array = self._array
    if array.size != 1:
        amount = "more than one value" if array.size else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {amount} is ambiguous")
    return bool(array.item())


def _number(self: Tensor) -> Any:
    """The one element, for float() and complex(): unlike item(), these warn if a gradient is lost on the way."""
    if self._array.size != 1:
        raise ValueError(ONE_ELEMENT)
    if self.requires_grad:
        warn_of_lost_gradient()
    return _item(self)


def __int__(self: Tensor) -> int:
    if self._array.size != 1:
        raise ValueError(ONE_ELEMENT)
    value = _item(self)
    if isinstance(value, float):
        return int(value)
    if not fits(value, dtypes.int64):
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return int(value.real) if isinstance(value, complex) else int(value)


def __float__(self: Tensor) -> float:
    value = _number(self)
    if not fits(value, dtypes.float64):
        raise RuntimeError("value cannot be converted to type double without overflow")
    return value.real if isinstance(value, complex) else float(value)


def __complex__(self: Tensor) -> complex:
    return complex(_number(self))


def __index__(self: Tensor) -> int:
    array = self._array
    if array.size != 1 or array.dtype.kind not in "iub":
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(array.item())


def __dir__(self: Tensor) -> list[str]:
    return [name for name in object.__dir__(self) if name not in TENSOR_NAMES]


def __len__(self: Tensor) -> int:
    if not self._array.ndim:
        raise TypeError("len() of a 0-d tensor")
    return self._array.shape[0]


def __iter__(self: Tensor) -> Iterator[Any]:
    if not (self._array.ndim if type(self) is Tensor else self.dim()):  # type: ignore[attr-defined]
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))  # type: ignore[attr-defined]


def __reversed__(self: Tensor) -> Any:
    return self.flip(0) if self._array.ndim else self  # type: ignore[attr-defined]


def __contains__(self: Tensor, element: Any) -> bool:
    if not isinstance(element, (Tensor, int, float, complex, np.number)):
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
    other = element._array if isinstance(element, Tensor) else element
    return bool((self._array == other).any())


def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    array: np.ndarray = self.numpy()  # type: ignore[attr-defined]
    if dtype is not None:
        return array.astype(dtype, copy=bool(copy))
    return array.copy() if copy else array


def __array_wrap__(self: Tensor, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Tensor:
    """NumPy's functions give a tensor back when they were given one."""
    array = np.asarray(array)
    return fresh(array.astype(np.uint8) if array.dtype == bool else array)


def __dlpack__(self: Tensor, *, stream: Any = -1, max_version: Any = None, dl_device: Any = None,
               copy: bool | None = None) -> Any:
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self.is_conj():  # type: ignore[attr-defined]
        raise BufferError("Can't export tensors with the conjugate bit set")
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    return self._array.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)


def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    return 1, 0


def __reduce_ex__(self: Tensor, protocol: Any) -> Any:
    """Values, requires_grad and the user's own attributes; the graph and `.grad` are left behind, as in torch.

    Tensors that share one array (such as `t` and `t.detach()`) still share it after loading.
    """
    if is_meta(self):
        strides = [step // self._array.itemsize for step in self._array.strides]
        return rebuild_meta, (type(self), self.dtype, self._array.shape, tuple(strides), self.requires_grad, self.__dict__)
    return rebuild, (type(self), self._array, self.requires_grad, self.__dict__)


def rebuild_meta(kind: type[Tensor], dtype: dtypes.dtype, shape: tuple[int, ...], strides: tuple[int, ...], requires_grad: bool,
                 attributes: dict[str, Any]) -> Tensor:
    array = meta_array(shape, dtype.numpy, tuple([step * dtype.numpy.itemsize for step in strides]))
    return rebuild(kind, array, requires_grad, attributes)


def _copied_with_its_storage(array: np.ndarray, memo: dict[int, Any]) -> np.ndarray:
    """A copy; of an array that is part of a larger one, the same part of a copy of that, so that parts go on sharing memory."""
    if type(array) is MetaArray:
        return like(array)
    if array.base is None:
        return copy.deepcopy(array, memo)
    owner, start = storage(array)
    if not owner.flags.forc:
        return copy.deepcopy(array, memo)
    return np.ndarray(array.shape, array.dtype, copy.deepcopy(owner, memo), start, array.strides)


def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if not self.is_leaf:
        raise errors.noted(RuntimeError(errors.DEEPCOPY_NON_LEAF), "deepcopy_non_leaf", self)
    if id(self) in memo:
        return memo[id(self)]  # type: ignore[no-any-return]
    if is_overriding(type(self)) and type(self.new_empty(())) is not type(self):  # type: ignore[attr-defined]
        raise RuntimeError(DEEPCOPY_SUBCLASS)
    result = rebuild(type(self), _copied_with_its_storage(self._array, memo), self.requires_grad, {})
    memo[id(self)] = result
    if self._grad is not None:
        result._grad = copy.deepcopy(self._grad, memo)
    result.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return result


def _get_grad_dtype(self: Tensor) -> dtypes.dtype | None:
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    meta = self._meta
    return self.dtype if meta is None or meta.grad_dtype is ... else meta.grad_dtype


def _set_grad_dtype(self: Tensor, value: Any) -> None:
    if not self.is_leaf:
        errors.warn_non_leaf_grad()  # torch looks at `.grad` first
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    if value is not None and not isinstance(value, dtypes.dtype):
        raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(value).__name__}")
    if value is not None and self._grad is not None and self._grad.dtype is not value:
        raise RuntimeError(f"Cannot set grad_dtype to '{value.scalar_name}' because there is already a gradient with dtype "
                           f"'{dtypes.c_name(self._grad.dtype)}'. Please clear the gradient (.grad = None) before changing "
                           "grad_dtype, or ensure the new grad_dtype matches the existing gradient's dtype.")
    self.meta.grad_dtype = value


def _get_volatile(self: Tensor) -> bool:
    warn("volatile was removed (Variable.volatile is always False)")
    return False


def _set_volatile(self: Tensor, value: Any) -> None:
    warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")


def __init_subclass__(kind: type[Tensor], **options: Any) -> None:
    super(Tensor, kind).__init_subclass__(**options)
    dispatch = vars(kind).get("__torch_dispatch__")
    if dispatch is not None and not isinstance(dispatch, Missing):
        refuse_dispatch(kind)


def _constant(value: Any) -> property:
    return property(lambda self: value)


_FALSE = ("is_cuda", "is_sparse", "is_sparse_csr", "is_quantized", "is_mps", "is_mkldnn", "is_xpu",
          "is_nested", "is_vulkan", "is_ipu", "is_maia", "is_mtia", "is_xla")

_METHODS = [__repr__, __format__, __dir__, __bool__, __int__, __float__, __complex__, __index__, __len__, __iter__, __reversed__,
            __contains__, __array__, __array_wrap__, __dlpack__, __dlpack_device__, __reduce_ex__, __deepcopy__]


def install() -> None:
    """Hang all this onto Tensor."""
    for method in _METHODS:
        setattr(Tensor, method.__name__, door.function(f"Tensor.{method.__name__}", method))  # type: ignore[arg-type]
    Tensor.__init_subclass__ = classmethod(__init_subclass__)  # type: ignore[assignment]
    Tensor.__torch_function__ = classmethod(__torch_function__)  # type: ignore[attr-defined]
    Tensor._make_subclass = staticmethod(_make_subclass)  # type: ignore[attr-defined]
    for name in _FALSE:
        setattr(Tensor, name, _constant(False))
    properties = {"is_cpu": property(lambda self: not is_meta(self)), "is_meta": property(is_meta),
                  "name": _constant(None), "volatile": property(_get_volatile, _set_volatile),
                  "layout": _constant(layouts.strided),
                  "grad_dtype": property(_get_grad_dtype, _set_grad_dtype),
                  "itemsize": property(lambda self: self._array.itemsize),
                  "nbytes": property(lambda self: self._array.nbytes)}
    for name, value in properties.items():
        setattr(Tensor, name, value)
    for name, value in list(vars(Tensor).items()):
        if isinstance(value, property) and name not in ("meta", "_numbers", "_version_counter"):  # these are not torch's
            setattr(Tensor, name, door.doored_property(name, value))
