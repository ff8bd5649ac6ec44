"""The `__getattr__` of modules: a name that torch has there and whygrad has not is answered with a reason."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def absent_from(module: str) -> Callable[[str], Any]:
    """For the module of ours that stands for `module` of torch."""

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        from whygrad.compat.missing import absent

        return absent(module, name, sys._getframe(1))

    return __getattr__
