"""torch.nested: lists of tensors of different sizes, and their padding into one. Nested tensors support no computation."""

from __future__ import annotations

from typing import Any

from whygrad.base import dtypes, layouts
from whygrad.base.refusing import RefusingArray
from whygrad.base.unsupported import absent_from
from whygrad.core.tensor import Tensor
from whygrad.functional.run import FUNCTIONS

__getattr__ = absent_from("torch.nested")

__all__ = ["as_nested_tensor", "nested_tensor", "to_padded_tensor"]

NO_SIZES = "Internal error: NestedTensorImpl doesn't support sizes. Please file an issue."


class NestedArray(RefusingArray):
    kind, instead = "nested", "use t.to_padded_tensor(padding), or t.unbind()"

    def __init__(self, dtype: dtypes.dtype, ndim: int) -> None:
        self.dtype, self.ndim = dtype.numpy, ndim

    @property
    def shape(self) -> Any:
        raise RuntimeError(NO_SIZES)


class NestedTensor(Tensor):
    """A list of tensors. Its components have histories of their own; it has none."""

    __slots__ = ("_parts",)

    _array: Any
    _parts: tuple[Any, ...]

    @property
    def is_nested(self) -> bool:
        return True

    @property
    def requires_grad(self) -> bool:  # type: ignore[override]
        return any(part.requires_grad for part in self._parts)

    def unbind(self, dim: int = 0) -> tuple[Any, ...]:
        if dim not in (0, -self._array.ndim):
            raise RuntimeError(f"unbind(): a nested tensor can only be unbound along dim 0, got dim {dim} instead.")
        return self._parts

    def __getitem__(self, index: int) -> Any:
        return self._parts[index]

    def __iter__(self) -> Any:
        return iter(self._parts)

    def dim(self) -> int:
        return self._array.ndim  # type: ignore[no-any-return]

    def numel(self) -> int:
        return sum(part.numel() for part in self._parts)

    def size(self, dim: int | None = None) -> int:
        """The size along a dim in which all components agree; raises for other dims."""
        if dim is None:
            raise RuntimeError(NO_SIZES)
        if dim % self._array.ndim == 0:
            return len(self._parts)
        sizes = {part.shape[dim % self._array.ndim - 1] for part in self._parts}
        if len(sizes) != 1:
            raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
        return sizes.pop()

    def detach(self) -> Any:
        return _nested([part.detach() for part in self._parts], self.dtype)

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Any:
        """All components in one tensor, filled up with `padding`."""
        shape = [len(self._parts), *[max(sizes) for sizes in zip(*[part.shape for part in self._parts], strict=True)]]
        if output_size is not None:
            if any(n < wanted for n, wanted in zip(output_size, shape, strict=True)):
                raise RuntimeError("Value in output_size is less than NestedTensor padded size. Truncation is not supported.")
            shape = list(output_size)
        padded = []
        for part in self._parts:
            ends = [(0, wanted - n) for n, wanted in zip(part.shape, shape[1:], strict=True)]
            padded.append(FUNCTIONS["constant_pad_nd"](part, [n for end in reversed(ends) for n in end], padding))
        return FUNCTIONS["stack"](padded)

    def __repr__(self) -> str:
        lines = [repr(part.detach()) for part in self._parts]
        inner = ",\n".join("\n".join(f"  {line}" for line in text.splitlines()) for text in lines)
        return f"nested_tensor([\n{inner}\n])"


def _nested(parts: list[Any], dtype: dtypes.dtype) -> NestedTensor:
    for i, part in enumerate(parts):
        if part.dim() != parts[0].dim():
            raise RuntimeError("All Tensors given to nested_tensor must have the same dimension. Found dimension "
                               f"{part.dim()} for Tensor at index {i} and dimension {parts[0].dim()} for Tensor at index 0.")
    t = object.__new__(NestedTensor)
    t._array = NestedArray(dtype, parts[0].dim() + 1 if parts else 1)
    t._node = t._grad = t._view = t._meta = None
    t._indirect = False
    t._lazy_version = None
    t._cause = ()
    t._parts = tuple(parts)
    return t


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> NestedTensor:
    """A nested tensor of these tensors, with their histories."""
    _check(layout)
    parts: list[Any] = [t if isinstance(t, Tensor) else FUNCTIONS["tensor"](t) for t in ts]
    dtype = dtype or (parts[0].dtype if parts else dtypes.get_default_dtype())
    return _nested([part.to(dtype) for part in parts], dtype)


def nested_tensor(tensor_list: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
                  pin_memory: bool = False) -> NestedTensor:
    """A nested tensor of copies of these tensors."""
    _check(layout)
    if not isinstance(tensor_list, list):
        raise TypeError("Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor")
    if requires_grad:
        raise NotImplementedError("nested_tensor(): requires_grad=True; use as_nested_tensor on tensors that require grad")
    copies: list[Any] = [FUNCTIONS["clone"](FUNCTIONS["detach"](t)) if isinstance(t, Tensor) else t for t in tensor_list]
    return as_nested_tensor(copies, dtype)


def to_padded_tensor(input: Any, padding: float, output_size: Any = None) -> Any:
    return input.to_padded_tensor(padding, output_size)


def _check(layout: Any) -> None:
    if layout not in (None, layouts.strided):
        raise NotImplementedError(f"nested tensors of layout {layout}")
