"""torch.utils.swap_tensors."""

from __future__ import annotations

import weakref
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.why import record as why

_SLOTS = tuple(name for name in Tensor.__slots__ if not name.startswith("__"))


def swap_tensors(t1: Any, t2: Any) -> None:
    """Exchange the class, data, history and attributes of two tensors; the objects keep their identity."""
    for name, t in (("t1", t1), ("t2", t2)):
        if any(type(reference) is not why.Reference for reference in weakref.getweakrefs(t)):  # those are our own
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for slot in _SLOTS:
        first, second = getattr(t1, slot), getattr(t2, slot)
        setattr(t1, slot, second)
        setattr(t2, slot, first)
