"""`autograd.grad` under vmap and forward mode, and for a batch of gradients (`is_grads_batched`)."""

from __future__ import annotations

from typing import Any

from whygrad.autograd.batched import BatchedTensor, batched, spread
from whygrad.autograd.batching import VmapLevel
from whygrad.autograd.calls import root_gradients, targets_of
from whygrad.autograd.pull_back import pull_back, to_inside
from whygrad.base import errors
from whygrad.core.door import entered
from whygrad.core.tensor import Size, Tensor


def batched_gradients(roots_of: tuple[Any, ...], batches: tuple[Any, ...], inputs: tuple[Any, ...], create_graph: bool,
                      allow_unused: bool) -> list[Any]:
    """One walk for all gradients along the first dimension."""
    _check_batches(roots_of, batches)
    level = VmapLevel(next(g._array.shape[0] for g in batches if g is not None))
    with entered(level):
        elements = tuple([None if g is None else batched(g, level) for g in batches])
        found = gradients(roots_of, elements, inputs, create_graph, allow_unused)
    return [None if g is None else g._whole if isinstance(g, BatchedTensor) else spread(g, level.size) for g in found]


def gradients(roots_of: tuple[Any, ...], given: tuple[Any, ...], inputs: tuple[Any, ...], create_graph: bool,
              allow_unused: bool) -> list[Tensor | None]:
    """The gradients while transforms are active: they may have batches and tangents."""
    cotangents: list[Any] = root_gradients(roots_of, given)
    targets_of(inputs)  # checks them
    for i, t in enumerate(roots_of):
        if not isinstance(t, Tensor) or not t.requires_grad:
            raise errors.no_grad_fn(i, t)
    found = pull_back(roots_of, inputs, [to_inside(g) for g in cotangents], records=create_graph)
    for i, g in enumerate(found):
        if g is None and not allow_unused:
            raise errors.unused_input(i, inputs[i])
    return [None if g is None else to_inside(g) for g in found]


def _check_batches(roots_of: tuple[Any, ...], batches: tuple[Any, ...]) -> None:
    for i, (t, g) in enumerate(zip(roots_of, batches, strict=True)):
        if not isinstance(t, Tensor):
            raise RuntimeError("Batched grads are not supported with GradientEdge")
        if g is not None and g._array.shape[1:] != t._array.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{i}] has a shape of {Size(g._array.shape[2:])} and "
                f"output[{i}] has a shape of {t.shape}. If you only want some tensors in `grad_output` to be "
                "considered batched, consider using vmap.")
