"""torch.utils.swap_tensors."""

from __future__ import annotations

import weakref
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.why import record as why

POISONED = ("Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when you try to run "
            "backward on a tensor that was swapped. For a module m with "
            "`torch.__future__.set_swap_module_params_on_conversion(True)` you should not change the device or dtype of the "
            "module (e.g. `m.cpu()` or `m.half()`) between running forward and backward. To resolve this, please only change "
            "the device/dtype before running forward (or after both forward and backward).")
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
    for t in (t1, t2):
        accumulator = None if t._meta is None else t._meta.accumulator()
        if accumulator is not None:
            accumulator.leaf = t
            accumulator.register_prehook(_refuse)


def _refuse(gradients: Any) -> None:
    raise RuntimeError(POISONED)
