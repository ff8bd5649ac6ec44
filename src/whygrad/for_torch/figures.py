"""Figures of many tensors at once: they are computed where the tensors are, and come to the host together."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from whygrad.for_torch import later
from whygrad.for_torch.arrays import array_of, has_numbers, numbers_of
from whygrad.for_torch.nodes import KEY, grad_fn_of
from whygrad.for_torch.tensor_facts import known_facts, quietly
from whygrad.why.engine import step_for

WIDE = frozenset({torch.float32, torch.float64})
# Norms beyond these bounds are computed again, in double precision: squares may have overflowed or vanished.
LEAST, GREATEST = 1e-15, 1e15


def is_known_finite(t: Tensor) -> bool | None:
    """See why/engine.py. The recorder has looked at the results of ops; what is on a device is looked at there."""
    with quietly():
        if t.layout is not torch.strided or not t.is_floating_point():
            return None
        fn = grad_fn_of(t)
        node = None if fn is None else fn.metadata.get(KEY)
        if node is not None and node.nonfinite is not None:
            return not node.nonfinite
        return None if later.is_near(t) else not nonfinite_in(t)


def nonfinite_in(t: Tensor) -> str:
    """ "nan", "inf", or "" if all numbers are finite. A sum is fast, and finite only then; a few finite sums overflow."""
    if t.dtype in WIDE and t.is_cpu and t.layout is torch.strided:
        flat = numbers_of(t).ravel("K")
        if np.vdot(flat, flat) < math.inf:
            return ""
    with torch.no_grad():
        t = t.detach()
        if math.isfinite(t.sum()) or bool(torch.isfinite(t).all()):
            return ""
        return "nan" if bool(torch.isnan(t).any()) else "inf"


def norms_of(tensors: list[Any]) -> list[float | None]:
    """The Euclidean norm of each; None where it must be computed in double precision."""
    found: list[float | None] = [_known_norm(t) for t in tensors]
    unknown = [i for i, norm in enumerate(found) if norm is None]
    computed = _by_device([tensors[i] for i in unknown], lambda group: torch._foreach_norm(group))  # type: ignore[attr-defined]
    for i, norm in zip(unknown, computed, strict=True):
        found[i] = norm
    return found


def _known_norm(t: Any) -> float | None:
    facts = known_facts(t)
    if facts is None or facts.norm is None or not LEAST < facts.norm[0] < GREATEST:
        return None
    with quietly():
        return facts.norm[0] if facts.norm[1] == t._version else None


def copies_of(tensors: list[Tensor]) -> list[Tensor]:
    """On their device if that has plenty of room, else on the host: the program's own step must not run out of memory."""
    with quietly(), torch.no_grad():
        needed = sum(t.numel() * t.element_size() for t in tensors if t.is_cuda)
        if needed and torch.cuda.mem_get_info()[0] < 8 * needed:
            return [t.detach().to("cpu", copy=True) for t in tensors]
        return [t.detach().clone() for t in tensors]


def distances_of(tensors: list[Tensor], copies: list[Tensor]) -> list[float | None]:
    """The Euclidean norm of what has been added to each since it was copied."""
    if any(t.device != copy.device for t, copy in zip(tensors, copies, strict=True)):
        return [None] * len(tensors)
    before = {id(t): copy for t, copy in zip(tensors, copies, strict=True)}

    def distance(group: list[Tensor]) -> Any:
        return torch._foreach_norm(torch._foreach_sub(group, [before[id(t)] for t in group]))  # type: ignore[attr-defined]

    return _by_device(tensors, distance)


def _by_device(tensors: list[Any], figures: Callable[[list[Tensor]], Any]) -> list[float | None]:
    found: list[float | None] = [None] * len(tensors)
    groups: dict[Any, list[int]] = {}
    for i, t in enumerate(tensors):
        # On the CPU, BLAS is faster than torch's norm.
        if isinstance(t, Tensor) and not later.is_near(t) and t.dtype in WIDE and t.layout is torch.strided and has_numbers(t):
            groups.setdefault((t.device, t.dtype), []).append(i)
    with quietly(), torch.no_grad():
        for places in groups.values():
            values = torch.stack(figures([tensors[i] for i in places])).tolist()
            for i, value in zip(places, values, strict=True):
                found[i] = value if LEAST < value < GREATEST or math.isnan(value) else None
    return found


def samples_of(tensors: list[Tensor], size: int) -> list[np.ndarray]:
    """At most so many elements of each, evenly spread."""
    if all(map(later.is_near, tensors)):
        return [_spread(array_of(t).reshape(-1), size).copy() for t in tensors]
    with quietly(), torch.no_grad():
        parts = [_spread(t.detach().reshape(-1), size) for t in tensors]
        by_kind: dict[Any, list[int]] = {}
        for i, part in enumerate(parts):
            by_kind.setdefault((part.device, part.dtype), []).append(i)
        found: list[Any] = [None] * len(parts)
        for places in by_kind.values():
            values = array_of(torch.cat([parts[i] for i in places]))
            ends = np.cumsum([parts[i].numel() for i in places])
            for i, values_of_one in zip(places, np.split(values, ends[:-1]), strict=True):
                found[i] = values_of_one
        return found


def _spread(flat: Any, size: int) -> Any:
    return flat[::step_for(len(flat), size)]


def first_rows(t: Tensor, count: int) -> np.ndarray:
    with quietly():
        return array_of(t.detach()[:count])


class Figure(NamedTuple):
    """What is told of a gradient on a device."""

    state: str
    # The square of its norm, as far as single precision has it.
    square: float


def figures_of(grads: list[Tensor]) -> list[Figure]:
    """The figures of gradients on one device, read together: the only time that the program waits for them."""
    with quietly(), torch.no_grad():
        wide = [g.detach().float() if g.dtype not in WIDE else g.detach() for g in grads]
        norms = torch._foreach_norm(wide)  # type: ignore[attr-defined]
        tops = torch._foreach_norm(wide, math.inf)  # type: ignore[attr-defined]
        values = torch.stack([x.double() for x in (*norms, *tops)]).tolist()
    return [Figure("bad" if not math.isfinite(top) else "fine" if top else "zero", norm * norm)
            for norm, top in zip(values[:len(grads)], values[len(grads):], strict=True)]


def share_stopped(g: Tensor, out: Tensor) -> float:
    """See gradient_flow.stopped_share."""
    with quietly(), torch.no_grad():
        stopped = out == 0
        if g.shape == out.shape:
            stopped = stopped & (g != 0)
        return float(stopped.sum()) / out.numel()


def is_uniform(g: Tensor, axis: Any) -> bool:
    """True if all elements along an axis are equal."""
    with quietly(), torch.no_grad():
        return axis is not None and bool((g.amax(axis) == g.amin(axis)).all())
