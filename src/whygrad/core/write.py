"""In-place operations: the same rows, written into an existing tensor whose history is then rewritten."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

import numpy as np

from whygrad.base import errors
from whygrad.base.frames import user_frame
from whygrad.base.version import InferenceVersion, Version, unwritten
from whygrad.core import door
from whygrad.core.modes import grad_state, process_state
from whygrad.core.node import Node, extra
from whygrad.core.record import FLOAT32, RowSpecialization, make_node
from whygrad.core.registered import registered
from whygrad.core.tensor import TURNED, Tensor, grad_fn, source
from whygrad.why import record as why


def is_unwatched(target: Tensor) -> bool:
    """Whether a write needs no check and no node: no leaf that requires grad, no result, no view of one, nothing unusual."""
    version = target._lazy_version
    return ((version is None or type(version) is Version) and target._node is None and not target._indirect
            and (type(target) is Tensor or type(target) not in TURNED))


def recorded_writes() -> bool | None:
    """Whether operations are recorded; None if there is more to a write than that."""
    if not process_state.writes:
        return True
    if (process_state.derivatives or process_state.listeners or process_state.anomaly or grad_state.levels
            or grad_state.inference or grad_state.mutation is not None or process_state.meta):
        return None
    return grad_state.grad


def take_causes(target: Tensor, inputs: tuple[Any, ...]) -> None:
    """What has no history after a write lacks it for every reason that the inputs had."""
    if target._node is None and not target._indirect:
        for x in inputs:
            if x is not target and isinstance(x, Tensor):
                target._cause = why.merge(target._cause, x._cause)


def perform(spec: RowSpecialization, target: Tensor, position: int, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Tensor:
    """Compute, write, count the version up and rewrite the history. The inputs are checked and in one dtype."""
    if not process_state.writes:
        return _perform(spec, target, position, inputs, statics)
    if process_state.listeners:
        return door.tell(f"{spec.aten_name}_", inputs,  # type: ignore[no-any-return]
                         _perform_under_levels, spec, target, position, inputs, statics)
    return _perform_under_levels(spec, target, position, inputs, statics)


def _perform_under_levels(spec: RowSpecialization, target: Tensor, position: int, inputs: tuple[Any, ...],
                          statics: dict[str, Any]) -> Tensor:
    if grad_state.derivatives and len(grad_state.levels) == grad_state.entered:
        grad_state.derivatives[-1].before_write(spec.row.name, target, inputs, statics)
    if grad_state.levels:
        return door.write_under_levels(spec.row, target, position, inputs, statics,
                                       partial(_perform_under_levels, spec, target, position, inputs, statics))
    return _perform(spec, target, position, inputs, statics)


def _perform(spec: RowSpecialization, target: Tensor, position: int, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Tensor:
    row = spec.row
    turned = type(target) is not Tensor and type(target) in TURNED
    array = target._array.copy("K") if turned else target._array
    arrays = [x._array if isinstance(x, Tensor) else x for x in inputs]
    node = None
    if process_state.any_mode_active and grad_state.mutation is not None:
        grad_state.mutation.before_write(target)
    if not process_state.any_mode_active or (grad_state.grad and not grad_state.inference):
        recorded = list(arrays)
        promoted = inputs[position]
        if row.inputs[position] in spec.saved:
            # The rule wants the old value, and it is about to be overwritten.
            recorded[position] = arrays[position].copy()
        if process_state.any_mode_active or row.variadic:
            node = make_node(spec, inputs, recorded, statics, (array,), (target,))
        else:
            node = spec.node_of(inputs, recorded, statics, target, array)
        if node is not None and node.saved:
            _fix_versions(spec, node, position, copied=recorded[position] is not promoted._array)
    written = process_state.meta and process_state.meta.written(row, arrays, array)
    if not written and spec.has_written_kernel and position == 0 and arrays[0] is array and array.dtype is FLOAT32:
        spec.into(*arrays, *[statics[name] for name in row.statics], array)
    elif not written:
        spec.compute(arrays, array, statics, position)
    if turned:
        target.put(array)  # type: ignore[attr-defined]
    bump(target, node)
    if node is not None:
        rebase(target, node, position)
        if node.saved and grad_state.saved_hooks:
            registered.saved_hooks.pack(node, inputs, [target])
    else:
        take_causes(target, inputs)
    return target


def _fix_versions(spec: RowSpecialization, node: Node, position: int, copied: bool) -> None:
    """The node was made before the write: the result is one version on, a copied old value has no version to watch."""
    saved = list(node.saved)
    for i, name in enumerate(spec.saved):
        if name == "out" and saved[3 * i] is not None:
            saved[3 * i + 2] += 1
        elif copied and name == spec.row.inputs[position]:
            saved[3 * i + 1], saved[3 * i + 2] = unwritten(), 0
    node.saved = tuple(saved)


def bump(target: Tensor, node: Node | None = None, site: Any = None) -> None:
    """Count one in-place write, and remember where it was; its node knows that already, or the caller."""
    version = target._lazy_version or target._version_counter
    if type(version) is InferenceVersion:
        return
    version.value += 1
    if version.site is None:
        version.dtype = target._array.dtype
    if node is not None:
        version.site = node.site
    elif site is not None:
        version.site = site
    else:
        frame = user_frame(2)  # the caller is a function of this package
        version.site = frame.f_code, frame.f_lasti


def rebase(target: Tensor, node: Node, position: int = 0) -> None:
    """Make `node` the history of `target`; of its base, if it is a view."""
    view = target._view
    if view is None:
        old = target._node
        target._node = node
        target._indirect = False
        target._cause = ()
        target._version_counter.writer = weakref.ref(node)
        if target._meta is not None and target._meta.retains_grad:
            # retain_grad() follows the tensor to its newest value.
            extra(node).retained = extra(old).retained
            extra(old).retained = None
        return
    base = view.base
    rebase(base, registered.views.CopySlices(source(base), base._array, view.steps, node, position))
    view.version = -1  # whatever it was: its way leads to the base as it is now
    grad_fn(target)


def check_inplace(target: Tensor, inputs: tuple[Any, ...]) -> None:
    if isinstance(target._lazy_version, InferenceVersion):
        if not grad_state.inference:
            if grad_state.grad and target._indirect and target._view is None:
                raise errors.leaf_inplace(target, view=False)
            raise errors.noted(RuntimeError(errors.INFERENCE_INPLACE), "inference_tensor", target._lazy_version.entered)
        return
    if process_state.any_mode_active and (not grad_state.grad or grad_state.inference):
        return
    for x in inputs:
        if isinstance(x, Tensor) and x.requires_grad:
            break
    else:
        return
    if not process_state.meta and type(target._array) is not np.ndarray:  # a batch is looked at when it is written to
        return
    view = target._view
    if view is not None:
        if view.creation:
            raise registered.errors.forbidden_view_write(target)
        if target.requires_grad and grad_fn(view.base) is None:
            raise errors.leaf_inplace(target, view=True)
    if target.requires_grad and grad_fn(target) is None:
        raise errors.leaf_inplace(target, view=False)
