"""Notes on errors of a program that runs on torch: they are added where the error is printed by whygrad, not before.

A program that prints or compares its own errors must find them as they were.
"""

from __future__ import annotations

from whygrad.base.frames import with_causes

NOTE = "_whygrad_note"


def has_note(error: BaseException) -> bool:
    return getattr(error, NOTE, None) is not None


def keep(error: BaseException, note: str) -> None:
    setattr(error, NOTE, note)


def add_all(error: BaseException) -> None:
    """Add the notes to an error that is about to be printed, to its causes and its contexts."""
    for link in with_causes(error):
        note = vars(link).pop(NOTE, None)
        if note is not None:
            link.add_note(note)
