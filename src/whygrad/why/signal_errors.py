"""Errors that a signal handler of the program raises while the watch works: they belong to the program."""

from __future__ import annotations

import functools
import signal
from types import CodeType
from typing import Any


def is_of_handler(error: BaseException) -> bool:
    """True if an error came out of a function that the program has set with `signal.signal`, as timeouts do."""
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {code for handler in handlers if callable(handler) and (code := _code_of(handler)) is not None}
    entry = error.__traceback__
    while entry is not None:
        if entry.tb_frame.f_code in codes:
            return True
        entry = entry.tb_next
    return False


def _code_of(function: Any) -> CodeType | None:
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    if not hasattr(function, "__code__"):
        function = vars(type(function)).get("__call__")  # an object that can be called
    return getattr(function, "__code__", None)
