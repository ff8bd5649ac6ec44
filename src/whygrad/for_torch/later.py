"""Numbers of a device, read without waiting: they are copied in the order of its work, and looked at when they have come."""

from __future__ import annotations

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
    """A function that gives the number, or None while the device has not come so far."""
    if t.device.type == "cpu":
        value = float(t)
        return lambda: value
    copy = t.to("cpu", non_blocking=True)  # into pinned memory, so that it does not wait
    if t.device.type != "cuda":
        return lambda: float(copy)
    done = torch.cuda.Event()
    done.record(torch.cuda.current_stream(t.device))
    return lambda: float(copy) if done.query() else None


def total_later(tensors: tuple[Any, ...]) -> Later:
    """The sum of all elements."""
    first = tensors[0]
    with quietly():
        if len(tensors) == 1 and first.numel() == 1 and is_near(first):
            value = float(first.item())
            return lambda: value
    with quietly(), torch.no_grad():
        if is_capturing():
            return lambda: None
        if len(tensors) == 1 and tensors[0].numel() == 1:
            return read_later(tensors[0].detach().reshape(()))
        return read_later(sum([t.detach().sum() for t in tensors]))  # type: ignore[arg-type]


def glance(parameters: list[Any], measures: bool) -> tuple[int, Later]:
    """How many have a gradient; and, if it `measures`, "zero" or "bad" if one of the gradients is so, else ""."""
    with quietly(), torch.no_grad():
        grads = [g for p in parameters if (g := p.grad) is not None]
        dense = [g for g in grads if g.layout is torch.strided and g.is_floating_point()]
        if not measures or not dense or is_capturing():
            return len(grads), lambda: ""
        by_device: dict[Any, list[Tensor]] = {}
        for g in dense:
            by_device.setdefault(g.device, []).append(g)
        norms = [torch.stack([n.float() for n in torch._foreach_norm(some)]) for some in by_device.values()]
        # The least norm is 0 if a gradient is all zeros; their sum is finite only if all are.
        reads = [read_later(torch.where(n.min() > 0, n.sum(), n.sum() * 0)) for n in norms]

    def state() -> str | None:
        totals = [read() for read in reads]
        if None in totals:
            return None
        return "bad" if not all(map(math.isfinite, totals)) else "zero" if 0 in totals else ""

    return len(grads), state
