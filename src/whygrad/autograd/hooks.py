"""Hooks on a tensor's gradient, before and after a node, after a leaf has accumulated: registering and calling them."""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from whygrad.backends import tensor as xp
from whygrad.base import errors
from whygrad.core.modes import grad_state
from whygrad.core.node import AccumulateGrad, Node, Port, extra, leaf_or_node
from whygrad.core.registered import registered
from whygrad.core.tensor import Tensor, grad_fn, source, wrap
from whygrad.why import record as why

_next_id = itertools.count().__next__


class RemovableHandle:
    """Gives a registered hook back: `handle.remove()`, or leave a `with` block."""

    def __init__(self, hooks_dict: dict[int, Any], *,
                 extra_dict: dict[int, Any] | list[dict[int, Any]] | None = None) -> None:
        self.id = _next_id()
        others = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self._registries = [hooks_dict, *others]

    def hooks_dict_ref(self) -> dict[int, Any]:
        """The registry of the hook; a weak reference to it in torch."""
        return self._registries[0]

    def remove(self) -> None:
        for registry in self._registries:
            registry.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register(registry: dict[int, Any], hook: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(registry)
    registry[handle.id] = hook
    if why.watching is not None:
        why.watching.hook_registered(hook)
    return handle


def register_hook(self: Tensor, hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(grad)` whenever the gradient of this tensor is computed; it may return another gradient."""
    if not self.requires_grad:
        raise errors.noted(RuntimeError("cannot register a hook on a tensor that doesn't require gradient"),
                           "does_not_require_grad", self)
    node = source(self)
    if type(node) is AccumulateGrad:
        extra(node).tensor_hooks = self.meta.hooks
    elif isinstance(node, Port):
        extra(node.edges[0])  # the node of all outputs must look after this one: see `on_output`
    return register(extra(node).tensor_hooks, hook)


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(tensor)` after a backward has added to `.grad` of this leaf."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if grad_fn(self) is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return register(self.meta.post_accumulate_hooks, hook)


def retain_grad(self: Tensor) -> None:
    """Have backward keep the gradient of this non-leaf tensor in `.grad`."""
    if not self.requires_grad:
        raise errors.noted(RuntimeError("can't retain_grad on Tensor that has requires_grad=False"), "does_not_require_grad",
                           self)
    if grad_state.transforming:
        raise RuntimeError(errors.RETAIN_GRAD_IN_TRANSFORM)
    node = grad_fn(self)
    if node is not None and not self.meta.retains_grad:
        self.meta.retains_grad = True
        extra(node).retained = weakref.ref(self)


def to_user(g: Any) -> Any:
    """A gradient as the user sees it: a Tensor, in torch's convention for complex numbers."""
    if g is None:
        return None
    if isinstance(g, Tensor):
        return xp.conj(g) if g._array.dtype.kind == "c" else g
    if g.__class__ is not np.ndarray and not isinstance(g, np.generic):
        return g.tensor()  # a sparse one
    g = np.asarray(g)
    seen = wrap(np.conj(g) if g.dtype.kind == "c" else g)
    if grad_state.running is not None:
        seen._cause = grad_state.running.causes
    return seen


def from_user(g: Any, create_graph: bool) -> Any:
    """The way back: a Tensor if the pass is recorded, else an array; conjugated inside the graph."""
    if g is None:
        return None
    if create_graph:
        return xp.conj(g) if g._array.dtype.kind == "c" else g
    return np.conj(g._array) if g._array.dtype.kind == "c" else g._array


def _check(hook: Any, old: Any, new: Any) -> None:
    """A hook may replace a gradient by one of the same kind, or by None."""
    if new is None:
        return
    if old is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    name = getattr(hook, "__name__", "<unknown>")
    if not isinstance(new, Tensor):
        raise errors.noted(TypeError(f"expected Variable, but hook returned '{type(new).__name__}'"), "hook_returned", hook)
    if new._array.dtype != old._array.dtype:
        raise errors.noted(RuntimeError(f"hook '{name}' has changed the type of value (was {old.dtype.tensor_type} got "
                                        f"{new.dtype.tensor_type})"), "hook_returned", hook)
    if new._array.shape != old._array.shape:
        raise errors.noted(RuntimeError(f"hook '{name}' has changed the size of value"), "hook_returned", hook)


def _check_tuple(hook: Any, old: tuple[Any, ...], new: Any) -> None:
    if not isinstance(new, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(new).__name__}'")
    if len(new) != len(old):
        raise RuntimeError(f"hook '{getattr(hook, '__name__', '<unknown>')}' has returned an incorrect number of "
                           f"values (got {len(new)}, but expected {len(old)})")
    for a, b in zip(old, new, strict=True):
        _check(hook, a, b)


def _call(target: Any, hook: Any, *given: Any) -> Any:
    """Call a hook; the watch compares what it was given (last first) with what it gives."""
    if why.watching is None:
        return hook(*given)
    first = given[0]
    before = tuple([_copied(x) for x in first]) if isinstance(first, tuple) else _copied(first)
    result = hook(*given)
    why.watching.hook_ran(leaf_or_node(target), hook, before, first if result is None else result)
    return result


def _copied(g: Any) -> Any:
    return g._array.copy() if isinstance(g, Tensor) else g


def _call_on_one(hooks: dict[int, Any], g: Any, create_graph: bool, target: Any = None) -> Any:
    """Tensor hooks: each sees one gradient, and may give another."""
    seen = to_user(g)
    for hook in list(hooks.values()):
        result = _call(target, hook, seen)
        if result is not None:
            _check(hook, seen, result)
            seen = result
    return from_user(seen, create_graph)


def on_output(node: Node, g: Any, create_graph: bool) -> Any:
    """Hooks of the tensor that this node (or port) computed, then retain_grad()."""
    more = node.extra
    assert more is not None
    if isinstance(g, list):
        # Like torch, call the hooks on outputs that no gradient will reach in this pass, with None.
        for found in node.ports.values():  # type: ignore[attr-defined]
            port = found()
            if port is not None and port.extra is not None and not grad_state.running.reaches(port):
                _call_on_one(port.extra.tensor_hooks, None, False)
    if more.tensor_hooks:
        g = _call_on_one(more.tensor_hooks, g, create_graph, node)
    if more.retained is not None and g is not None:
        retained = more.retained()
        if retained is not None:
            _keep(retained, to_user(g))
    return g


def _keep(t: Tensor, g: Tensor) -> None:
    """retain_grad(): a copy the first time, a new sum afterwards."""
    if t._grad is not None:
        t._grad = t._grad + g  # type: ignore[operator]
    elif g.requires_grad:
        t._grad = g.clone()  # type: ignore[attr-defined]
    else:
        t._grad = wrap(np.array(g._array, order="C"))


def _as_tuple(node: Node, g: Any) -> tuple[Any, ...]:
    """The gradients of all outputs of a node, as the user sees them."""
    if isinstance(g, list):
        return tuple([to_user(x) for x in g])
    return (to_user(g),) if g is not None else (None,) * node.output_count()


def before_node(node: Node, g: Any, create_graph: bool) -> Any:
    """Hooks that see the gradients of all outputs before the node runs."""
    more = node.extra
    assert more is not None
    if not more.pre_hooks:
        return g
    seen = _as_tuple(node, g)
    for hook in list(more.pre_hooks.values()):
        result = _call(node, hook, seen)
        if result is not None:
            _check_tuple(hook, seen, result)
            seen = result
    if g is None:
        return None
    back = [from_user(x, create_graph) for x in seen]
    return back if isinstance(g, list) else back[0]


def after_node(node: Node, grads: tuple[Any, ...], g: Any, create_graph: bool, *, is_new: bool = False) -> tuple[Any, ...]:
    """Hooks that see the gradients of arguments and outputs after the node ran.

    `is_new`: there was no such hook before the node ran. Then they are not told the gradients of outputs.
    """
    more = node.extra
    assert more is not None
    if not more.post_hooks:
        return grads
    inputs = tuple([to_user(x) for x in grads])
    outputs = () if is_new else _as_tuple(node, g)
    for hook in list(more.post_hooks.values()):
        result = _call(node, hook, inputs, outputs)
        if result is not None:
            _check_tuple(hook, inputs, result)
            inputs = result
    return tuple([from_user(x, create_graph) for x in inputs])


def after_accumulation(leaf: Tensor) -> None:
    assert leaf._meta is not None
    for hook in list(leaf._meta.post_accumulate_hooks.values()):
        result = hook(leaf)
        if result is not None and result is not leaf:
            _check(hook, leaf, result)
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def check_detached(this: Any, node: Node) -> None:
    """Like torch, raise if the tensor that this node computed was saved by another node, and later detached in place.

    torch keeps the tensor itself, which no longer knows where it comes from. Here nothing is amiss, but to go on would
    hide a mistake that shows there. The nodes that saved it have run before this one.
    """
    for user in this.targets:
        layout = getattr(type(user), "layout", None)
        if layout is None or layout.row.variadic or node not in user.edges:
            continue
        tracked = [name for name, edge in zip(layout.row.inputs, user.edges, strict=True) if edge is not None]
        if any(edge is node and not set(layout.wanted_by.get(name, ())).isdisjoint(tracked)
               for name, edge in zip(layout.row.inputs, user.edges, strict=True)):
            raise RuntimeError(errors.DETACHED_SAVED)


def pass_by(root: Node, g: Any, create_graph: bool) -> None:
    """A single root that leads to nothing wanted: torch looks at it all the same, so its tensor's hooks are called."""
    if root.extra is not None:
        on_output(root, g, create_graph)


registered.hooks = sys.modules[__name__]
