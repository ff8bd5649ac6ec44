"""repr of tensors inside transforms: wrapped once for each transform that the tensor belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whygrad.autograd.batched import BatchedTensor, BatchLevel, moved
from whygrad.core.door import with_levels
from whygrad.core.modes import grad_state
from whygrad.core.node import Node
from whygrad.core.tensor import Tensor, known_source
from whygrad.functional.protocol import plain_text


def active_transforms() -> Iterator[Any]:
    """The active transforms, outermost first: derivatives (func/transforming.py) and levels of vmap."""
    for depth in range(len(grad_state.levels) + 1):
        yield from [d for d in grad_state.derivatives if d.depth == depth]
        if depth < len(grad_state.levels) and isinstance(grad_state.levels[depth], BatchLevel):
            yield grad_state.levels[depth]


def shown(t: Tensor) -> str:
    """The repr of a tensor while transforms are active."""
    return _shown(t, list(enumerate(active_transforms(), 1)))


def _shown(t: Tensor, transforms: list[tuple[int, Any]]) -> str:
    while transforms:
        number, transform = transforms.pop()
        if not isinstance(transform, BatchLevel):
            if _belongs_to(t, transform):
                return _wrapped(f"GradTrackingTensor(lvl={number}, value=", _shown(t, transforms))
        elif transform.holds(t):
            assert isinstance(t, BatchedTensor)
            outer = grad_state.levels[:grad_state.levels.index(transform)]
            inner = _shown(with_levels(outer, moved, t._whole, 0, t._dim), transforms)
            return _wrapped(f"BatchedTensor(lvl={number}, bdim={t._dim}, value=", inner)

    while isinstance(t, BatchedTensor):  # a tensor that escaped from its vmap
        t = t._whole
    return plain_text(t, [])


def _wrapped(begin: str, inner: str) -> str:
    return "\n".join([begin, *[f"    {line}" for line in inner.splitlines()], ")"])


def _belongs_to(t: Tensor, derivative: Any) -> bool:
    """Whether `t` is an argument of the differentiated function, or was recorded since the derivative began."""
    if id(t) in derivative.given:
        return True
    levels = grad_state.levels
    level = levels[derivative.depth] if derivative.depth < len(levels) else None
    if level is not None and not level.is_batch and level.tangent(t) is not None:
        return True
    while isinstance(t, BatchedTensor):
        t = t._whole
    node = known_source(t)
    return isinstance(node, Node) and node.seq > derivative.began
