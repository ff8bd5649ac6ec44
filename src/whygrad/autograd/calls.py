"""`backward` and `grad`: check what the user handed over, then walk the graph."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from whygrad import errors
from whygrad._tensor import Size, Tensor, wrap
from whygrad.autograd import engine
from whygrad.autograd.hooks import from_user, to_user
from whygrad.autograd.node import Node

_whygrad_internal_ = True


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
             grad_variables: Any = None, inputs: Any = None) -> None:
    """Accumulate the gradients of `tensors` with respect to the leaves into their `.grad`."""
    if inputs is not None:
        inputs = tuple(inputs.values()) if type(inputs) is dict else _as_tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots_of = _as_tuple(tensors)
    gradients = _root_gradients(roots_of, _as_tuple(grad_tensors) if grad_tensors is not None else None)
    keep = create_graph if retain_graph is None else retain_graph
    if create_graph:
        warnings.warn(errors.CREATE_GRAPH_CYCLE, UserWarning, stacklevel=errors.user_stacklevel())
    roots = _roots(roots_of, gradients, create_graph)
    if inputs is None:
        engine.run(roots, keep=keep, create_graph=create_graph)
        return
    targets = _targets(inputs)
    captures: dict[Any, Any] = dict.fromkeys(targets)
    engine.run(roots, keep=keep, create_graph=create_graph, captures=captures, deposit_captured=True)
    for given, target in zip(inputs, targets, strict=True):
        if isinstance(given, Tensor) and isinstance(target, Node) and captures[target] is not None:
            _add_to_grad(given, _result(captures[target], given), create_graph)


def _add_to_grad(t: Tensor, g: Tensor, create_graph: bool) -> None:
    if t._meta is not None and t._meta.retains_grad:
        return  # retain_grad() has seen it already
    t._grad = g if t._grad is None else t._grad + g  # type: ignore[operator]


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> Any:
    """The gradients of `outputs` with respect to `inputs`; no `.grad` is written."""
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                         "allow_unused=False.")
    if is_grads_batched:
        raise NotImplementedError("torch.autograd.grad: is_grads_batched=True is not supported yet")
    names: list[Any] | None = None
    if isinstance(inputs, dict):
        if type(inputs) is not dict:
            raise TypeError(f"`inputs` argument to `grad()` must be a dict, not {type(inputs).__name__}. Other Mapping types "
                            "are not supported.")
        names = list(inputs)
        inputs = tuple(inputs.values())
    inputs = _as_tuple(inputs)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if not only_inputs:
        warnings.warn("only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
                      "other parts of the graph, please use torch.autograd.backward.", FutureWarning,
                      stacklevel=errors.user_stacklevel())
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    roots_of = _as_tuple(outputs)
    gradients = _root_gradients(roots_of, _as_tuple(grad_outputs) if grad_outputs is not None else None)
    for i, given in enumerate(inputs):
        if isinstance(given, Tensor) and not given.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    targets = _targets(inputs)
    captures: dict[Any, Any] = dict.fromkeys(targets)
    keep = create_graph if retain_graph is None else retain_graph
    engine.run(_roots(roots_of, gradients, create_graph), keep=keep, create_graph=create_graph, captures=captures)
    results = []
    for i, (given, target) in enumerate(zip(inputs, targets, strict=True)):
        g = captures[target]
        if g is not None:
            results.append(_result(g, given))
        elif materialize_grads:
            if not isinstance(given, Tensor):
                raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
            zeros = wrap(np.zeros_like(given._array))
            zeros._lookup = create_graph
            results.append(zeros)
        elif allow_unused:
            results.append(None)
        else:
            raise errors.unused_input(i, given)
    return dict(zip(names, results, strict=True)) if names is not None else tuple(results)


def _as_tuple(given: Any) -> tuple[Any, ...]:
    if isinstance(given, (Tensor, Node)) or _is_edge(given):
        return (given,)
    return tuple(given)


def _is_edge(given: Any) -> bool:
    return type(given).__name__ == "GradientEdge"


def _targets(inputs: Sequence[Any]) -> list[Any]:
    from whygrad.autograd.graph import target_of_edge

    targets = []
    for i, given in enumerate(inputs):
        if isinstance(given, Tensor):
            targets.append(engine.target_of(given))
        elif _is_edge(given):
            targets.append(target_of_edge(given))
        else:
            raise TypeError(f"expected Tensor or GradientEdge as element {i} of inputs, but got {type(given).__name__}")
    return targets


def _roots(tensors: Sequence[Any], gradients: Sequence[Any], create_graph: bool) -> list[tuple[Any, Any]]:
    from whygrad.autograd.graph import target_of_edge

    roots = []
    for i, (t, g) in enumerate(zip(tensors, gradients, strict=True)):
        if isinstance(t, Tensor):
            if not t.requires_grad:
                raise errors.no_grad_fn(i, t)
            target = engine.target_of(t)
        else:
            target = target_of_edge(t)
        roots.append((target, from_user(g, create_graph)))
    return roots


def _root_gradients(tensors: Sequence[Any], given: tuple[Any, ...] | None) -> list[Tensor]:
    if given is None:
        given = (None,) * len(tensors)
    if len(given) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(given)} gradients")
    gradients = []
    for i, (t, g) in enumerate(zip(tensors, given, strict=True)):
        if not isinstance(t, Tensor):
            gradients.append(g)
            continue
        if g is None:
            if not t.requires_grad:
                raise errors.no_grad_fn(i, t)
            if t._array.size != 1:
                raise errors.non_scalar_backward(t)
            if t._array.dtype.kind not in "fV":
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {t.dtype}")
            gradients.append(wrap(np.ones_like(t._array)))
            continue
        if not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        if g._array.shape != t._array.shape:
            raise errors.gradient_shape(i, g, t)
        if g._array.dtype.kind == "c" and t._array.dtype.kind != "c" or g._array.dtype.kind != "c" and t._array.dtype.kind == "c":
            raise RuntimeError(
                f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                f"grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of {t.dtype}.")
        if g._array.dtype is not t._array.dtype:
            g = g.to(t.dtype)  # type: ignore[attr-defined]
        gradients.append(g)
    return gradients


def _result(g: Any, given: Any) -> Tensor:
    """A captured gradient as a Tensor of the user's own."""
    if isinstance(g, Tensor):
        result: Tensor = to_user(g)
        return result
    like = given._array if isinstance(given, Tensor) else np.asarray(g)
    g = np.asarray(g)
    if g.dtype.kind == "c":
        return wrap(np.conj(g))
    if g.base is None and g.flags.writeable and engine.getrefcount(g) <= 4 and g.strides == like.strides:
        return wrap(g)
    return wrap(engine.owned_copy(g, like))


def describe_shape(shape: tuple[int, ...]) -> str:
    return repr(Size(shape))
