"""`record`, the decorator of a main function: an error is also written into the file that TORCHELASTIC_ERROR_FILE names."""

from __future__ import annotations

import functools
import json
import os
import time
import traceback
from collections.abc import Callable
from typing import Any


class ErrorHandler:
    """Writes an error as JSON, as torchrun reads it."""

    def initialize(self) -> None:
        """Called before the function."""

    def record_exception(self, e: BaseException) -> None:
        path = os.environ.get("TORCHELASTIC_ERROR_FILE")
        if not path:
            return
        about = {"py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))}
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"message": {"message": f"{type(e).__name__}: {e}", "extraInfo": about}}, file)


class ChildFailedError(Exception):
    """A rank has failed."""

    def __init__(self, name: str, failures: dict[int, Any]) -> None:
        super().__init__(f"{name} failed in ranks {sorted(failures)}")
        self.name, self.failures = name, failures


def get_error_handler() -> ErrorHandler:
    return ErrorHandler()


def record(fn: Callable[..., Any], error_handler: ErrorHandler | None = None) -> Callable[..., Any]:
    """`fn`, whose errors are recorded and raised."""
    handler = get_error_handler() if error_handler is None else error_handler

    @functools.wraps(fn)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as error:
            if error.code != 0:
                handler.record_exception(error)
            raise
        except Exception as error:
            handler.record_exception(error)
            raise

    return recorded
