"""A training run that a framework drives: recorded from its beginning to its end, and never disturbed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.for_torch.recording import watch


class WatchedTraining:
    """`log` gets the answers as one text. Nothing here raises: a training run of hours must not end for an explanation."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._block: watch | None = None

    def begin(self, model: Any) -> None:
        self.end()  # a run that nobody has ended
        try:
            self._block = watch(model, quiet=True).__enter__()
        except Exception as error:
            self._tell(f"whygrad: recording could not start ({type(error).__name__}: {error})")

    def end(self) -> None:
        """The exception that is being handled, if any, is taken for how the run ended."""
        block, self._block = self._block, None
        if block is None:
            return
        try:
            block.__exit__(None, None, None)
            if block.answers:
                self._tell(f"whygrad: what is surprising about the gradients of this run\n\n{block.answers}")
        except Exception as error:
            self._tell(f"whygrad: there are no answers ({type(error).__name__}: {error})")

    def _tell(self, text: str) -> None:
        try:
            self._log(text)
        except Exception:  # a logger of the program's own
            return
