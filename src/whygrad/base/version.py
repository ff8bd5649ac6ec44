"""Versions: how often the memory of tensors was written in place, so that backward notices a change of what it needs."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from whygrad.base import errors


class Version:
    """One for all tensors on the same memory, and for what nodes have saved of it.

    A new tensor has none until its memory is shared, saved or written (see `Tensor._version_counter`): a further object for
    each result would make small operations 4 % slower.
    """

    __slots__ = ("dtype", "site", "value", "writer")

    value: int
    # Where the last write was.
    site: Any
    # The node (weak) of the last recorded write, and the dtype that was written; not set before there was one.
    writer: weakref.ref[Any]
    dtype: np.dtype


def unwritten() -> Version:
    """A new version. (With `__init__`, it would take twice as long to make one.)"""
    version = Version()
    version.value = 0
    version.site = None
    return version


class InferenceVersion(Version):
    """A tensor that was created in inference mode has no version, so it cannot be saved for backward."""

    __slots__ = ("entered",)

    def __init__(self, entered: Any) -> None:
        self.site = None
        # Where the mode was entered.
        self.entered = entered

    @property
    def value(self) -> int:  # type: ignore[override]
        raise errors.noted(RuntimeError(errors.INFERENCE_SAVED), "inference_tensor", self.entered)


class JointVersion(Version):
    """Several versions together: it changes when one of them does."""

    __slots__ = ("versions",)

    def __init__(self, versions: list[Version]) -> None:
        self.versions = versions

    @property
    def value(self) -> int:  # type: ignore[override]
        return sum([version.value for version in self.versions])

    def __getattr__(self, name: str) -> Any:
        return getattr(next((version for version in self.versions if version.site is not None), self.versions[0]), name)


class Swapped(int):
    """A value of a version that equals none but itself: since it was set, `x.data = other` has given a tensor other values.

    Like torch's, a node that saved the tensor takes the values it has now; to find them it must notice first, and it does
    when it compares versions. To users it is the number it always was. Weak references lead from old arrays to new ones.
    """

    newer: list[tuple[weakref.ref[np.ndarray], np.ndarray]]

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = int.__hash__

    def newest(self, array: Any) -> Any:
        return next((new for old, new in self.newer if old() is array), array)
