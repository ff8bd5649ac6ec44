"""The switches of torch.autocast, which layers below `amp` read as well."""

from __future__ import annotations

import threading
from typing import Any

from whygrad.base import dtypes


class State(threading.local):
    """The switches of one thread."""

    def __init__(self) -> None:
        self.enabled: set[str] = set()
        self.dtypes: dict[str, dtypes.dtype] = {}
        self.cache_enabled = True
        self.nesting = 0
        # Weights that were cast, by their id: the weight and the result.
        self.cache: dict[int, tuple[Any, Any]] = {}
        # What ops are to cast to: None while autocast is off, and inside of an op that has cast.
        self.current: dtypes.dtype | None = None
        # As long as there is one, the functions cast.
        self.user: Any = None

    def refresh(self) -> None:
        self.current = self.dtypes.get("cpu", dtypes.bfloat16) if "cpu" in self.enabled else None


state = State()
