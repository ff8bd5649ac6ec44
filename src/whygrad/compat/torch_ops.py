"""torch.ops: custom ops made with torch.library, and `torch.ops.aten.<name>`, the public function of that name.

whygrad's own rows are in `whygrad.ops`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from whygrad.base.unsupported import answer, missing
from whygrad.compat.library import OPS
from whygrad.functional.run import FUNCTIONS, METHODS

# Packages whose import requires their compiled ops, although most of their code does not: namespace -> {op: its result}.
_TOLERATED: dict[str, dict[str, object]] = {"_torchaudio": {"is_align_available": False, "cuda_version": None}}



class AtenOp:
    """torch.ops.aten.<name>, or one of its overloads: they differ by their names alone."""

    namespace = "aten"

    def __init__(self, name: str, function: Callable[..., Any], overload: str = "") -> None:
        self._opname, self._overloadname, self._function = name, overload, function
        self.__name__ = f"{name}.{overload}" if overload else name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"aten.{self.__name__}"

    def __eq__(self, other: object) -> bool:
        """Also the name in the counts of utils/flop_counter.py."""
        return str(other) == str(self)

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def overloadpacket(self) -> Any:
        return aten_op(self._opname)

    _overloadpacket = overloadpacket

    def name(self) -> str:
        return f"aten::{self.__name__.removesuffix('.default')}"

    def overloads(self) -> list[str]:
        return ["default"]

    def __getattr__(self, overload: str) -> AtenOp:
        if overload.startswith("_") or self._overloadname:
            raise AttributeError(overload)
        return AtenOp(self._opname, self._function, overload)


@functools.cache
def aten_op(name: str) -> Any:
    return AtenOp(name, FUNCTIONS.get(name) or METHODS.get(name) or missing(f"torch.ops.aten.{name}"))


class Namespace:
    """torch.ops.<namespace>"""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if self._name == "aten":
            return aten_op(name)
        found = OPS.get(f"{self._name}::{name}")
        if found is None and any(key.startswith(f"{self._name}::") for key in OPS):
            raise AttributeError(f"'_OpNamespace' {self._name!r} object has no attribute {name!r}")
        return found or missing(f"torch.ops.{self._name}.{name}")


def load_library(path: object) -> None:
    """Raises, except for the packages above: compiled ops cannot run here, and most packages continue without theirs."""
    if not any(package.strip("_") in str(path) for package in _TOLERATED):
        raise OSError(f"{path}: whygrad runs no compiled ops")


def __getattr__(name: str) -> object:
    """torch.ops.<namespace>: custom ops (see library.py). Other ops can be named, and raise when called."""
    if name in _TOLERATED:
        return SimpleNamespace(**{question: answer(question, value) for question, value in _TOLERATED[name].items()})
    if name.startswith("_"):
        raise AttributeError(f"module 'torch.ops' has no attribute {name!r}")
    return Namespace(name)
