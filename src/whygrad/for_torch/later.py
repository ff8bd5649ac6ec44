"""Numbers of a device, read without waiting: they are copied in the order of its work, and looked at when they have come."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from whygrad.for_torch.tensor_facts import quietly

Later = Callable[[], Any]


def is_near(t: Any) -> bool:
    return not isinstance(t, Tensor) or t.is_cpu


def is_capturing() -> bool:
    """While a CUDA graph is captured, nothing may be computed or copied for another purpose."""
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()


def read_later(t: Tensor) -> Later:
    """A function that gives the numbers as a list, or None while the device has not come so far."""
    if t.device.type != "cuda":
        values = t.tolist()
        return lambda: values
    copy = t.to("cpu", non_blocking=True)  # into pinned memory, so that it does not wait
    done = torch.cuda.Event()
    done.record(torch.cuda.current_stream(t.device))
    return lambda: copy.tolist() if done.query() else None


class Batch:
    """Single numbers of a device, which are copied together when there are SIZE of them: each copy costs 50 µs."""

    SIZE = 8

    def __init__(self) -> None:
        self.waiting: list[Tensor] = []
        self._read: Later | None = None

    def add(self, t: Tensor) -> Later:
        index = len(self.waiting)
        self.waiting.append(t)
        if len(self.waiting) == self.SIZE:
            self.send()
        return lambda: None if self._read is None or (values := self._read()) is None else values[index]

    def send(self) -> None:
        with quietly(), torch.no_grad():
            self._read = read_later(torch.stack(self.waiting))


# The batch that is being filled, by device and dtype.
_open: dict[Any, Batch] = {}


def join_batch(t: Tensor) -> Later:
    key = t.device, t.dtype
    batch = _open.get(key)
    if batch is None or len(batch.waiting) == batch.SIZE:
        batch = _open[key] = Batch()
    return batch.add(t)


def finish_reading() -> None:
    """At the end of a run: wait for the device, so that every number can be read."""
    for (device, _), batch in _open.items():
        if len(batch.waiting) < batch.SIZE:
            batch.send()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
    _open.clear()


def total_later(tensors: tuple[Any, ...]) -> float | Later:
    """The sum of all elements."""
    first = tensors[0]
    with quietly():
        if len(tensors) == 1 and first.numel() == 1 and is_near(first):
            return float(first.item())
    with quietly(), torch.no_grad():
        if is_capturing():
            return lambda: None
        total = first.detach()
        if len(tensors) > 1 or total.dim():
            total = sum([t.detach().sum() for t in tensors])
        return float(total) if is_near(total) else join_batch(total)


def glance(parameters: list[Any], measures: bool) -> tuple[int, Later]:
    """How many have a gradient; and, if it `measures`, "zero" or "bad" if one of the gradients is so, else ""."""
    with quietly():
        grads = [g for p in parameters if (g := p.grad) is not None]
        if not measures:
            return len(grads), lambda: ""
    with quietly(), torch.no_grad():
        dense = [g for g in grads if g.layout is torch.strided and g.is_floating_point()]
        if not dense or is_capturing():
            return len(grads), lambda: ""
        groups: dict[Any, list[Tensor]] = {}
        for g in dense:
            groups.setdefault((g.device, g.dtype), []).append(g)
        reads = [read_later(torch.stack(torch._foreach_norm(some))) for some in groups.values()]

    def state() -> str | None:
        read = [numbers() for numbers in reads]
        if None in read:
            return None
        norms = list(itertools.chain.from_iterable(read))
        return "bad" if not all(map(math.isfinite, norms)) else "zero" if 0 in norms else ""

    return len(grads), state
