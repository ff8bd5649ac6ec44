"""Tracebacks that a program prints itself have its own lines and torch's, not those of the recorder."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

from whygrad.base.frames import is_own
from whygrad.for_torch.patches import put
from whygrad.why.engine import Undo

# The generators of the module `traceback` through which all of its functions, and logging, look at frames.
WALKERS = ("walk_tb", "_walk_tb_with_full_positions", "walk_stack")

Entry = tuple[FrameType, Any]


def leave_out_the_recorder() -> list[Undo]:
    return [put(traceback, name, _without_own(getattr(traceback, name), name == "walk_stack")) for name in WALKERS
            if hasattr(traceback, name)]


def _without_own(plain: Callable[..., Iterable[Entry]], inwards: bool) -> Callable[..., Iterator[Entry]]:
    def walk(of: Any) -> Iterator[Entry]:
        if of is None and inwards:
            import sys

            of = sys._getframe(1).f_back.f_back  # type: ignore[union-attr]
        entries = list(plain(of))
        yield from reversed(_filtered(entries[::-1])) if inwards else _filtered(entries)

    return walk


def _filtered(entries: list[Entry]) -> list[Entry]:
    """Entries from the outermost to the innermost, as they would be without recording: a function of torch that is written in
    Python hands itself to the recorder, which calls it again."""
    kept: list[Entry] = []
    for entry in entries:
        if not is_own(entry[0]):
            kept.append(entry)
        elif len(kept) >= 2 and kept[-1][0].f_code.co_name == "handle_torch_function":
            del kept[-2:]
    return kept if len(kept) < len(entries) else entries
