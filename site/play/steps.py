"""The steps of a program, forward and backward, with what each computed: what the scrubber of the page goes through."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any, Self

import numpy as np

from whygrad.base import door
from whygrad.base.door import Next, Spec
from whygrad.base.frames import is_internal
from whygrad.core.tensor import Tensor
from whygrad.why import engine, record
from whygrad.why.locations import locate

# Steps that are kept, and numbers of a tensor that are shown.
MAX_STEPS, MAX_SHOWN = 1500, 6
# Functions that compute nothing a reader of the program wants to see.
SILENT = ("__get__", "__set__", "__delete__", "__repr__", "__str__", "__format__", "__len__", "__bool__", "__hash__", "__iter__")


class Steps:
    """Within its `with` block it listens at the function door, and to the backward passes that a watch hears of."""

    place = "watch"

    def __init__(self, watch: Any, script: str) -> None:
        self._watch, self._script = watch, script
        self._steps: list[dict[str, Any]] = []
        self.left_out = 0
        self._inner = threading.local()

    def __enter__(self) -> Self:
        self._ran, self._depositing = self._watch.ran, self._watch.depositing
        self._watch.ran, self._watch.depositing = self._node_ran, self._deposited
        door.add(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None) -> None:
        door.remove(self)
        del self._watch.ran, self._watch.depositing

    def told(self) -> list[dict[str, Any]]:
        return self._steps

    # The function door.

    def wants(self, spec: Spec) -> bool:
        return not spec.name.endswith(SILENT)

    def handle(self, spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any], next: Next) -> Any:
        inner = self._inner
        if getattr(inner, "in_call", False):
            return next(args, kwargs)
        inner.in_call = True
        try:
            result = next(args, kwargs)
        finally:
            inner.in_call = False
        if isinstance(result, Tensor) and not _is_initial(spec.name) and self._has_room():
            self._add("forward", spec.name.rpartition(".")[2].strip("_"), record.site(), result._array)
        return result

    # The watch.

    def _node_ran(self, backward: Any, node: Any, g: Any, *more: Any) -> None:
        self._ran(backward, node, g, *more)
        if self._has_room():
            self._add("backward", engine.current.name_of(node), node.site, g, is_gradient=True)

    def _deposited(self, leaf: Tensor, backward: Any, g: Any) -> None:
        self._depositing(leaf, backward, g)
        if self._has_room():
            self._add("deposit", "grad", backward.site, g, is_gradient=True)

    def _has_room(self) -> bool:
        self.left_out += len(self._steps) >= MAX_STEPS
        return len(self._steps) < MAX_STEPS

    def _add(self, phase: str, name: str, site: Any, value: Any, is_gradient: bool = False) -> None:
        where = locate(site)
        array = np.asarray(getattr(value, "_array", value)) if value is not None else None
        if where is None or where.file != self._script or array is None or array.dtype.kind not in "biufc":
            return
        step = {"phase": phase, "name": name, "line": where.line, "expression": where.expression[:80], "shape": list(array.shape),
                "values": _shown(array)}
        if is_gradient:
            norm = float(np.linalg.norm(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)))
            step["norm"] = norm if np.isfinite(norm) else str(norm)  # JSON has no such number
        self._steps.append(step)


def _is_initial(name: str) -> bool:
    """Whether a call only makes a layer's parameters, which is many calls for a line."""
    frame = sys._getframe(2) if name.endswith(("_", ".empty")) else None
    while frame is not None and is_internal(frame):
        if frame.f_code.co_name == "__init__" and frame.f_globals["__name__"].startswith("whygrad.nn."):
            return True
        frame = frame.f_back
    return False


def _shown(array: np.ndarray) -> str:
    flat = array.reshape(-1)[:MAX_SHOWN].tolist()
    numbers = ", ".join(f"{x:.4g}" if isinstance(x, (float, complex)) else str(x) for x in flat)
    if not array.ndim:
        return numbers
    return f"[{numbers}{', ...' if array.size > MAX_SHOWN else ''}]"
