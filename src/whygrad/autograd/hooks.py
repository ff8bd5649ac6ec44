"""Calling hooks: on a tensor's gradient, before and after a node, after a leaf has accumulated."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad._tensor import Tensor, wrap
from whygrad.autograd.node import Node

_whygrad_internal_ = True

_next_id = itertools.count().__next__


class RemovableHandle:
    """Gives a registered hook back: `handle.remove()`, or leave a `with` block."""

    def __init__(self, registry: dict[int, Any], **also: dict[int, Any]) -> None:
        self.id = _next_id()
        self._registries = [registry, *also.values()]

    def remove(self) -> None:
        for registry in self._registries:
            registry.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register(registry: dict[int, Any], hook: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(registry)
    registry[handle.id] = hook
    return handle


def to_user(g: Any) -> Any:
    """A gradient as the user sees it: a Tensor, in torch's convention for complex numbers."""
    if g is None:
        return None
    if isinstance(g, Tensor):
        return g.conj() if g._array.dtype.kind == "c" else g  # type: ignore[attr-defined]
    g = np.asarray(g)
    return wrap(np.conj(g) if g.dtype.kind == "c" else g)


def from_user(g: Any, create_graph: bool) -> Any:
    """The way back: a Tensor if the pass is recorded, else an array; conjugated inside the graph."""
    if g is None:
        return None
    if create_graph:
        return g.conj() if g._array.dtype.kind == "c" else g
    return np.conj(g._array) if g._array.dtype.kind == "c" else g._array


def _call_on_one(hooks: dict[int, Any], g: Any, create_graph: bool) -> Any:
    """Tensor hooks: each sees one gradient, and may give another."""
    seen = to_user(g)
    for hook in list(hooks.values()):
        result = hook(seen)
        if result is not None:
            if not isinstance(result, Tensor):
                raise TypeError(f"hook returned a value of type '{type(result).__name__}'; expected a Tensor or None")
            if result._array.shape != seen._array.shape:
                raise RuntimeError(f"hook '{getattr(hook, '__name__', hook)}' has changed the size of value")
            seen = result
    return from_user(seen, create_graph)


def on_output(node: Node, g: Any, create_graph: bool) -> Any:
    """Hooks of the tensor that this node (or port) computed, then retain_grad()."""
    extra = node.extra
    assert extra is not None
    if extra.tensor_hooks and g is not None:
        g = _call_on_one(extra.tensor_hooks, g, create_graph)
    if extra.retained is not None and g is not None:
        retained = extra.retained()
        if retained is not None:
            accumulate_retained(retained, to_user(g), create_graph)
    return g


def accumulate_retained(t: Tensor, g: Tensor, create_graph: bool) -> None:
    if t._grad is None:
        t._grad = g if create_graph else wrap(g._array.copy())
    else:
        t._grad = t._grad + g  # type: ignore[operator]


def on_leaf(leaf: Tensor, g: Any, create_graph: bool) -> Any:
    assert leaf._meta is not None
    return _call_on_one(leaf._meta.hooks, g, create_graph)


def before_node(node: Node, g: Any, create_graph: bool) -> Any:
    extra = node.extra
    assert extra is not None
    if not extra.pre_hooks:
        return g
    several = isinstance(g, list)
    seen = tuple([to_user(x) for x in g]) if several else (to_user(g),)
    for hook in list(extra.pre_hooks.values()):
        result = hook(seen)
        if result is not None:
            seen = result if isinstance(result, tuple) else (result,)
    back = [from_user(x, create_graph) for x in seen]
    return back if several else back[0]


def after_node(node: Node, grads: tuple[Any, ...], g: Any, create_graph: bool) -> tuple[Any, ...]:
    extra = node.extra
    assert extra is not None
    if not extra.post_hooks:
        return grads
    inputs = tuple([to_user(x) for x in grads])
    outputs = tuple([to_user(x) for x in g]) if isinstance(g, list) else (to_user(g),)
    for hook in list(extra.post_hooks.values()):
        result = hook(inputs, outputs)
        if result is not None:
            inputs = result if isinstance(result, tuple) else (result,)
    return tuple([from_user(x, create_graph) for x in inputs])


def after_accumulation(leaf: Tensor) -> None:
    assert leaf._meta is not None
    for hook in list(leaf._meta.post_accumulate_hooks.values()):
        if hook(leaf) is not None:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")
