"""Compiled functions and CUDA graphs, inside of which nothing can be recorded."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch

from whygrad.for_torch.patches import put
from whygrad.why.engine import Undo

REMARK = "the program uses torch.compile: its functions run uncompiled while they are recorded"


class Compiling:
    """Whether the program compiles functions. In rounds that are recorded they run uncompiled, call by call; in others the
    recorder's mode is off altogether: it would be compiled with them."""

    def __init__(self, watch: Any, on_change: Callable[[], None]) -> None:
        self._watch, self._on_change = watch, on_change
        self.is_used = False
        self._stance: Any = None

    def install(self) -> list[Undo]:
        plain = torch.compile

        @functools.wraps(plain)
        def compile(*args: Any, **kwargs: Any) -> Any:
            if not self.is_used:
                self.is_used = True
                self._watch.remarks.append(REMARK)
                self._on_change()
            return plain(*args, **kwargs)

        return [put(torch, "compile", compile), lambda: self.run_eagerly(False)]

    def run_eagerly(self, on: bool) -> None:
        if on and self._stance is None:
            # The modules' hooks are ours.
            warnings.filterwarnings("ignore", r"Using `torch.compile\(module\)` when there are global hooks")
            self._stance = torch.compiler.set_stance("force_eager")
        elif not on and self._stance is not None:
            self._stance.__exit__(None, None, None)
            self._stance = None


def captures(suspend: Callable[[bool], None]) -> list[Undo]:
    """While a CUDA graph is captured, reading a value would end the capture with an error."""
    graph = torch.cuda.CUDAGraph
    plain_begin, plain_end = graph.capture_begin, graph.capture_end

    @functools.wraps(plain_begin)
    def capture_begin(*args: Any, **kwargs: Any) -> Any:
        suspend(True)
        return plain_begin(*args, **kwargs)

    @functools.wraps(plain_end)
    def capture_end(*args: Any, **kwargs: Any) -> Any:
        try:
            return plain_end(*args, **kwargs)
        finally:
            suspend(False)

    return [put(graph, "capture_begin", capture_begin), put(graph, "capture_end", capture_end)]
