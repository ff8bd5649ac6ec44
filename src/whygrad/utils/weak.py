"""torch.utils.weak: references to tensors, and a dictionary of weakly referenced keys that are told apart by identity."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Self
from weakref import ref

from whygrad.core.tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(ref[Any]):
    """A weak reference that is equal to others of the same object, which need not be hashable."""

    __slots__ = ("_id",)
    _id: int

    def __new__(cls, key: Any, callback: Any = None) -> Self:
        made = super().__new__(cls, key, callback)
        made._id = id(key)
        return made

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, theirs = self(), other() if isinstance(other, ref) else None
        return self is other if mine is None or theirs is None else mine is theirs


class TensorWeakRef:
    """Called, it gives the tensor, or None once that is gone."""

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """An entry goes with its key."""

    def __init__(self, dict: Mapping[Any, Any] | None = None, ref_type: Any = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        entries = self.data
        self._remove = lambda reference: entries.pop(reference, None)
        self.update(dict or {})

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __iter__(self) -> Iterator[Any]:
        return iter([key for reference in list(self.data) if (key := reference()) is not None])

    def __len__(self) -> int:
        return len(self.data)

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # not weakly referenceable
            return False

    def __copy__(self) -> WeakIdKeyDictionary:
        return type(self)(self, self.ref_type)

    copy = __copy__

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"


WeakTensorKeyDictionary = WeakIdKeyDictionary
