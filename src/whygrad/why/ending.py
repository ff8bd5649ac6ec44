"""How a program ended: in words, and with which exit code."""

from __future__ import annotations

from dataclasses import dataclass
from signal import SIGINT


@dataclass(frozen=True)
class Ending:
    """`words` is "" if it ended well. If `is_final`, what was found does not change the exit code: a signal or `os._exit`."""

    words: str = ""
    code: int = 0
    # The number of the signal that ended it, or 0.
    signal: int = 0
    is_final: bool = False


def ending_of(error: BaseException | None) -> Ending:
    """The ending by an exception that leaves the program; None if there is none."""
    if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
        return Ending()
    if isinstance(error, KeyboardInterrupt):
        return Ending("the program was ended by Ctrl-C", 128 + SIGINT, SIGINT, is_final=True)
    if isinstance(error, SystemExit):
        return Ending(f"the program exited with {error.code}", error.code if isinstance(error.code, int) else 1)
    return Ending(f"the program ended with {type(error).__name__}: {error}"[:200], 1)
