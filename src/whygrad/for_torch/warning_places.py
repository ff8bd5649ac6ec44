"""Warnings of torch's functions name the line of the program that called them, though the recorder stands in between."""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import Any

from whygrad.base.frames import is_own
from whygrad.for_torch.patches import put
from whygrad.why.engine import Undo


def name_the_programs_lines() -> Undo:
    plain = warnings._showwarnmsg  # type: ignore[attr-defined]

    def show(message: Any) -> None:
        frame = _warned_from(message.filename)
        if frame is None:
            plain(message)
            return
        # What stands in the registries is the recorder's line; filters and repetitions are decided for the program's.
        own = sys.modules.get("warnings")
        getattr(own, "onceregistry", {}).pop((str(message.message), message.category), None)
        warnings.warn_explicit(message.message, message.category, frame.f_code.co_filename, frame.f_lineno,
                               frame.f_globals.get("__name__", "<unknown>"),
                               frame.f_globals.setdefault("__warningregistry__", {}), source=message.source)

    return put(warnings, "_showwarnmsg", show)


def _warned_from(file: str) -> FrameType | None:
    """The frame that called torch's function, if a warning names a frame of the recorder; otherwise None."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not (frame.f_code.co_filename == file and is_own(frame)):
        frame = frame.f_back
    if frame is None:
        return None
    frame.f_globals.get("__warningregistry__", {}).clear()
    while frame is not None and is_own(frame):
        frame = frame.f_back
    if frame is not None and frame.f_code.co_name == "handle_torch_function":
        # A function of torch written in Python: it was entered twice.
        outer = frame.f_back
        frame = None if outer is None else outer.f_back
    return frame
