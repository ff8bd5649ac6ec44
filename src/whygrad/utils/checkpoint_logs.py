"""checkpoint(debug=True): the ops of the forward pass and of the recomputation, with their source lines."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any, NoReturn

from whygrad.base.frames import user_frame
from whygrad.core import door
from whygrad.core.tensor import Tensor
from whygrad.utils import checkpoint_texts as texts


class _Log:
    """The ops of one run: a description and a source line for each."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.locations: list[str] = []

    def begin(self, name: str, inputs: tuple[Any, ...], run_with: tuple[Any, ...] = ()) -> tuple[str, str]:
        frame = user_frame()
        location = f"{frame.f_code.co_filename}:{frame.f_lineno}:{frame.f_code.co_name}"
        return f"torch.ops.{name.replace('::', '.')}({', '.join(map(_shown, inputs))})", location

    def end(self, token: tuple[str, str], result: Any) -> None:
        self.lines.append(f"{_shown(result)} = {token[0]}")
        self.locations.append(token[1])

    @contextlib.contextmanager
    def running(self) -> Generator[None, None, None]:
        self.lines, self.locations = [], []
        door.start(self)
        try:
            yield
        finally:
            door.stop(self)

    def traces(self, label: str) -> str:
        count = len(self.lines)
        return "".join([f"{line}   ({i} of {count} in {label})\n\n{location}\n\n\n"
                        for i, (line, location) in enumerate(zip(self.lines, self.locations, strict=True), 1)])


def _shown(x: Any) -> str:
    if isinstance(x, Tensor):
        return f"{str(x.dtype).removeprefix('torch.')}{list(x.shape)}"
    return f"({', '.join(map(_shown, x))})" if isinstance(x, (tuple, list)) else repr(x)


class Logs:
    """The context_fn and the error handler of one checkpoint."""

    def __init__(self) -> None:
        self.forward, self.recomputation = _Log(), _Log()

    def contexts(self) -> tuple[Any, Any]:
        return self.forward.running(), self.recomputation.running()

    def explain(self, error: Exception) -> NoReturn:
        raise type(error)(texts.LOGS.format(
            forward_traces=self.forward.traces("original"), recompute_traces=self.recomputation.traces("recompute"),
            forward_ops="\n".join(self.forward.lines), recompute_ops="\n".join(self.recomputation.lines))) from error
