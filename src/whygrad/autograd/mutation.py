"""allow_mutation_on_saved_tensors: a saved tensor may be written to; just before, what was saved is set aside as a copy."""

from __future__ import annotations

import weakref
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from whygrad.autograd.saved_hooks import saved_tensors_hooks
from whygrad.base.version import InferenceVersion
from whygrad.core.modes import grad_state
from whygrad.core.tensor import Tensor, wrap

OUTSIDE = ("Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was originally "
           "recorded.")


class _Handle:
    """Stands in the graph for one tensor in one version, saved any number of times."""

    __slots__ = ("__weakref__",)


class SavedAside:
    """What `with allow_mutation_on_saved_tensors() as ctx` gives: which saved tensors are still themselves, which copies."""

    def __init__(self) -> None:
        self.original: weakref.WeakKeyDictionary[_Handle, Tensor] = weakref.WeakKeyDictionary()
        self.cloned: weakref.WeakKeyDictionary[_Handle, Tensor] = weakref.WeakKeyDictionary()
        self.tid_to_weakhandle: weakref.WeakValueDictionary[tuple[int, int], _Handle] = weakref.WeakValueDictionary()
        # By storage (which all of its tensors know by their version counter) and version: what was saved of it.
        self._by_storage: dict[tuple[int, int], set[tuple[int, int]]] = {}

    def clear(self) -> None:
        self.original.clear()
        self.cloned.clear()
        self.tid_to_weakhandle.clear()
        self._by_storage.clear()

    def pack(self, tensor: Tensor) -> _Handle:
        version = tensor._version_counter.value
        key = id(tensor._memory), version
        self._by_storage.setdefault((id(tensor._version_counter), version), set()).add(key)
        handle = self.tid_to_weakhandle.get(key)
        if handle is None:
            handle = self.tid_to_weakhandle[key] = _Handle()
            self.original[handle] = tensor
        return handle

    def unpack(self, handle: _Handle) -> Tensor:
        if grad_state.mutation is None:
            raise AssertionError(OUTSIDE)
        found = self.cloned.get(handle)
        if found is None:
            found = self.original.get(handle)
        if found is None:
            raise AssertionError(OUTSIDE)
        return found

    def before_write(self, target: Tensor) -> None:
        if type(target._lazy_version) is InferenceVersion:
            return
        for key in self._by_storage.pop((id(target._version_counter), target._version_counter.value), ()):
            handle = self.tid_to_weakhandle.get(key)
            original = None if handle is None else self.original.pop(handle, None)
            if handle is not None and original is not None:
                self.cloned[handle] = wrap(original._array.copy())


@contextmanager
def allow_mutation_on_saved_tensors() -> Generator[Any, None, None]:
    """Inside, in-place writes do not harm what backward needs. Backward must run inside as well."""
    if grad_state.mutation is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    aside = SavedAside()
    with saved_tensors_hooks(aside.pack, aside.unpack):
        grad_state.mutation = aside
        try:
            yield aside
        finally:
            aside.clear()
            grad_state.mutation = None
