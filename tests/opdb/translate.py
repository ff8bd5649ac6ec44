"""Turning torch's samples into ours: tensors, dtypes, and the functions themselves."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import whygrad

from .tables import OpInfo

NAMESPACES = ("Tensor", "nn.functional", "linalg", "fft", "special", "signal.windows", "masked", "")


class Missing(Exception):
    """whygrad has no such name."""


class Impossible(Exception):
    """There is no such array in NumPy: more than 64 dims, or on another device."""


def find(root: Any, path: str) -> Any:
    for name in filter(None, path.split(".")):
        try:
            root = getattr(root, name)
        except AttributeError:
            raise Missing(path) from None
        if isinstance(root, type) and type(root).__name__ == "Missing":
            raise Missing(path)
    return root


@functools.cache
def paths_of_functions() -> dict[int, list[str]]:
    """Where a function of torch is found, by its id."""
    paths: dict[int, list[str]] = {}
    for namespace in NAMESPACES:
        holder = find(torch, namespace)
        for name in dir(holder):
            value = getattr(holder, name, None)
            if callable(value):
                paths.setdefault(id(value), []).append(f"{namespace}.{name}".lstrip("."))
    return paths


def find_any(paths: list[str]) -> Any:
    for path in paths[:-1]:
        try:
            return find(whygrad, path)
        except Missing:
            continue
    return find(whygrad, paths[-1])


def seeded(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """torch's `wrapper_set_seed`."""
    whygrad.manual_seed(42)
    return function(*args, **kwargs)


def our_function(theirs: Any) -> Any:
    """The same function here: found by its name, or (a helper of torch's test suite) run with `torch` being whygrad."""
    if isinstance(theirs, functools.partial):
        return functools.partial(our_function(theirs.func), *theirs.args, **theirs.keywords)
    if isinstance(theirs, types.FunctionType) and theirs.__module__.startswith("torch.testing"):
        scope = {**theirs.__globals__, "torch": whygrad, "wrapper_set_seed": seeded}
        cells = tuple(types.CellType(_in_cell(cell.cell_contents)) for cell in theirs.__closure__ or ())
        ours = types.FunctionType(theirs.__code__, scope, theirs.__name__, theirs.__defaults__, cells or None)
        ours.__kwdefaults__ = theirs.__kwdefaults__
        return ours
    paths = paths_of_functions().get(id(theirs))
    if paths is None:
        raise Missing(getattr(theirs, "__name__", str(theirs)))
    return find_any(paths)


def _in_cell(value: Any) -> Any:
    return our_function(value) if callable(value) and not isinstance(value, OpInfo) else value


class Translator:
    """Translates the values of one sample. One tensor used twice stays one tensor, shared memory stays shared."""

    def __init__(self) -> None:
        self.seen: dict[int, Any] = {}
        self.memory: dict[tuple[int, torch.dtype], np.ndarray] = {}
        self.pairs: list[tuple[torch.Tensor, whygrad.Tensor]] = []

    def __call__(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if id(value) not in self.seen:
                ours = self.seen[id(value)] = self.tensor(value)
                self.pairs.append((value, ours))
            return self.seen[id(value)]
        if isinstance(value, torch.Size):
            return whygrad.Size(value)
        if isinstance(value, (tuple, list)):
            return type(value)([self(v) for v in value])
        if isinstance(value, dict):
            return {k: self(v) for k, v in value.items()}
        if isinstance(value, slice):
            return slice(self(value.start), self(value.stop), self(value.step))
        if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
            return find(whygrad, str(value).removeprefix("torch."))
        if isinstance(value, torch.device):
            return whygrad.device(str(value))
        if isinstance(value, torch.nn.Module):
            return find(whygrad, f"nn.{type(value).__name__}")()
        if isinstance(value, types.FunctionType) or id(value) in paths_of_functions():
            return our_function(value)
        return value

    def tensor(self, theirs: torch.Tensor) -> whygrad.Tensor:
        if theirs.layout is not torch.strided or theirs.is_quantized:
            raise Missing(str(theirs.layout))
        if theirs.ndim > 64 or theirs.device.type != "cpu":
            raise Impossible
        ours = whygrad.from_numpy(self.array(theirs.detach().resolve_conj().resolve_neg()))
        return ours.requires_grad_() if theirs.requires_grad else ours

    def array(self, t: torch.Tensor) -> np.ndarray:
        """The same numbers with the same strides, in the same place of a copy of the memory."""
        if not t.numel():
            return np.empty(tuple(t.shape), t.numpy().dtype)
        key = (t.untyped_storage().data_ptr(), t.dtype)
        if key not in self.memory:
            size = t.untyped_storage().nbytes() // t.element_size()
            self.memory[key] = t.as_strided((size,), (1,), 0).numpy().copy()
        start = self.memory[key][t.storage_offset():]
        return np.lib.stride_tricks.as_strided(start, tuple(t.shape), [n * t.element_size() for n in t.stride()])
