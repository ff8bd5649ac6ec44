"""Like torch, refuse in-place writes into tensors that a function captures while a derivative of it is computed.

torch wraps every tensor that a function receives or creates, so it recognises the others. Here tensors are not wrapped, and
only a write checks whether its target is captured, that is, referenced from outside the function. The search covers what the
function can reach: globals, closures, modules, and the local variables of the transform's callers.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

from whygrad.autograd.batched import BatchedTensor, BatchLevel
from whygrad.base.frames import is_internal
from whygrad.core.modes import grad_state
from whygrad.core.tensor import Tensor, grad_fn
from whygrad.ops import TABLE

if TYPE_CHECKING:
    from whygrad.func.transforming import Derivative

_NAMES = {"add_scaled": "add", "sub_scaled": "sub", "copy": "copy_", "assign": "copy_"}


def refuse_captured(derivative: Derivative, row_name: str, target: Tensor, inputs: tuple[Any, ...],
                    statics: dict[str, Any]) -> None:
    for level in grad_state.levels[derivative.depth:]:
        if isinstance(level, BatchLevel) and not level.holds(target) and any(level.opened(inputs)[1]):
            return  # the inner vmap raises its own error
    bottom = target
    while isinstance(bottom, BatchedTensor):
        bottom = bottom._whole
    counter = bottom._version_counter
    if id(counter) in derivative.own:
        return
    base = bottom if bottom._view is None else bottom._view.base
    node = grad_fn(base)
    if (node is None or node.seq < derivative.began) and any(_counter_of(x) is counter for x in _reachable(derivative)):
        raise RuntimeError(
            "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation "
            f"(aten::{_torch_name(row_name, statics)}) that would mutate a captured Tensor. This is not supported; please "
            "rewrite the function being transformed to explicitly accept the mutated Tensor(s) as inputs.")
    derivative.own[id(counter)] = counter


def _torch_name(row: str, statics: dict[str, Any]) -> str:
    if row == "overwrite":  # its statics name torch's node, such as "ZeroBackward0"
        name = statics["node"].removesuffix("Backward0")
        return "fill_.Scalar" if name == "FillBackward2" else f"{name.lower()}_"
    form = ".Tensor" if row in TABLE and "overloaded" in TABLE[row].traits.public else ""  # the overload in torch's message
    return f"{_NAMES.get(row, row).removesuffix('_')}_{form}"


def _counter_of(x: Any) -> Any:
    while isinstance(x, BatchedTensor):
        x = x._whole
    return x._version_counter if isinstance(x, Tensor) else None


def _reachable(derivative: Derivative) -> Iterator[Any]:
    """The tensors referenced outside of the function, as far as they can be reached by names."""
    inside = list(_frames_inside(derivative))
    made_inside = {(name, id(frame.f_locals.get(name))) for frame in inside for name in frame.f_code.co_cellvars}
    seen: set[int] = set()
    for frame in inside:
        if id(frame.f_globals) not in seen:
            seen.add(id(frame.f_globals))
            yield from _parts(frame.f_globals)
        names = frame.f_locals
        yield from _parts({name: names[name] for name in frame.f_code.co_freevars
                           if name in names and (name, id(names[name])) not in made_inside})
        for value in names.values():
            yield from _of_module(value)
    yield from _held_by(derivative.function)
    outside = derivative.caller
    while outside is not None:
        if not is_internal(outside):
            yield from _parts(outside.f_locals)
        outside = outside.f_back


def _frames_inside(derivative: Derivative) -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame is not derivative.caller:
        if not is_internal(frame):
            yield frame
        frame = frame.f_back


def _parts(names: dict[str, Any]) -> Iterator[Any]:
    """The tensors among these values, and those in containers and modules among them."""
    for value in list(names.values()):
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from value
        elif isinstance(value, dict):
            yield from list(value.values())
        else:
            yield from _of_module(value)


def _of_module(value: Any) -> Iterator[Any]:
    if hasattr(type(value), "named_buffers"):
        yield from value.buffers()
        yield from value.parameters()


def _held_by(function: Any) -> Iterator[Any]:
    """The arguments of a partial, the instance of a method, and closure variables, recursively."""
    pending, seen = [function], set()
    while pending:
        f = pending.pop()
        if id(f) in seen:
            continue
        seen.add(id(f))
        if isinstance(f, functools.partial):
            yield from _parts(dict(enumerate((*f.args, *f.keywords.values()))))  # type: ignore[arg-type]
            pending.append(f.func)
            continue
        yield from _of_module(getattr(f, "__self__", f))
        held = [cell.cell_contents for cell in getattr(f, "__closure__", None) or () if _is_filled(cell)]
        yield from _parts(dict(enumerate(held)))  # type: ignore[arg-type]
        pending += [x for x in held if callable(x) and not isinstance(x, (Tensor, type))]


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
