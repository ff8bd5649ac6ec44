"""Finding the user's frame: the nearest one whose module does not belong to this package."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

_getframe = sys._getframe


# Packages whose frames are not the program's: this one; for a program on torch also torch and what runs training loops for it.
_internal_packages = ["whygrad"]
_own_packages = {"whygrad"}
# Module name -> whether it belongs to such a package, cached by name because every recorded op looks it up.
internal_modules: dict[str, bool] = {}


def is_internal_name(name: Any) -> bool:
    found = internal_modules.get(name)
    if found is None:
        found = internal_modules[name] = isinstance(name, str) and any(
            name == package or name.startswith(f"{package}.") for package in _internal_packages)
    return found


def add_internal_packages(*names: str) -> None:
    _internal_packages.extend(name for name in names if name not in _internal_packages)
    internal_modules.clear()


def add_own_package(name: str) -> None:
    """A program that runs others as `whygrad run` does: its frames are left out of tracebacks as well."""
    _own_packages.add(name)
    add_internal_packages(name)


def is_internal(frame: FrameType) -> bool:
    return is_internal_name(frame.f_globals.get("__name__", ""))


def is_own(frame: FrameType) -> bool:
    """Whether a frame is of whygrad itself."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in _own_packages


def is_of_package(function: Any) -> bool:
    """Whether a Python function was defined in this package."""
    return is_internal_name(getattr(function, "__globals__", {}).get("__name__", ""))


def user_frame(depth: int = 1) -> FrameType:
    """The nearest frame that does not belong to this package (the outermost one if all do)."""
    frame: Any = _getframe(depth + 1)
    try:
        while internal_modules[frame.f_globals["__name__"]]:
            frame = frame.f_back
    except (KeyError, AttributeError):  # a module that was not seen before or has no name; or no frame is left
        frame = _getframe(depth + 1)
        while is_internal(frame) and frame.f_back is not None:
            frame = frame.f_back
    return frame  # type: ignore[no-any-return]


def program_frame(depth: int = 1) -> FrameType:
    """As `user_frame`, but skips frames of Python's standard library too, such as `copy.deepcopy`."""
    frame = user_frame(depth + 1)
    while frame.f_back is not None and (is_of_standard_library(frame) or is_internal(frame)):
        frame = frame.f_back
    return frame


def is_of_standard_library(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_STANDARD_LIBRARY)


# In WebAssembly os.py stands alone, and the other modules are in a zip file.
_STANDARD_LIBRARY = (os.path.dirname(os.__file__) + os.sep, os.path.dirname(contextlib.__file__) + os.sep, "<frozen")


def with_causes(error: BaseException) -> Iterator[BaseException]:
    """The error, its causes and its contexts, each once."""
    chain: list[BaseException | None] = [error]
    seen: set[int] = set()
    for link in chain:
        if link is not None and id(link) not in seen:
            seen.add(id(link))
            yield link
            chain += [link.__cause__, link.__context__]
