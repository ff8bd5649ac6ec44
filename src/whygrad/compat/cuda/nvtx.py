"""torch.cuda.nvtx: annotations for NVIDIA's profilers, which raise without CUDA, as torch's do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _raise(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


range_push = range_pop = range_start = range_end = mark = _raise


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
