"""What is forbidden inside functions that are being transformed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from whygrad.autograd.modes import modes

_whygrad_internal_ = True


@contextmanager
def transforming() -> Iterator[None]:
    """Inside, a transform of torch.func is at work."""
    modes.transforming += 1
    try:
        yield
    finally:
        modes.transforming -= 1
