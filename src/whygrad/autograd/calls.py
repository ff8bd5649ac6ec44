"""`backward` and `grad`: check what the user handed over, then walk the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from whygrad.autograd.accumulation import owned_copy
from whygrad.autograd.graph import GradientEdge, output_metadata, target_of_edge
from whygrad.autograd.hooks import from_user, retain_grad, to_user
from whygrad.base import errors
from whygrad.base.errors import warn
from whygrad.base.meta_array import MetaArray, meta_array
from whygrad.core import engine
from whygrad.core.modes import grad_state, process_state
from whygrad.core.node import DeadEnd, Node
from whygrad.core.tensor import Tensor, set_requires_grad, source, wrap
from whygrad.why import record as why


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
             grad_variables: Any = None, inputs: Any = None) -> None:
    """Accumulate the gradients of `tensors` with respect to the leaves (or to `inputs`) into their `.grad`."""
    if grad_variables is not None:
        warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError("`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                               "`backward()`. Please only use `grad_tensors`.")
        grad_tensors = grad_variables
    if grad_state.transforming:
        raise RuntimeError(errors.BACKWARD_IN_TRANSFORM)
    given = None if inputs is None else _inputs_tuple(inputs, "backward")
    roots_of = _as_tuple(tensors)
    gradients = root_gradients(roots_of, grad_tensors)
    roots = _roots(roots_of, gradients, create_graph or _needs_tensors(roots_of))
    if create_graph:
        warn(errors.CREATE_GRAPH_CYCLE)
    keep = bool(create_graph if retain_graph is None else retain_graph)
    captures: dict[Any, Any] | None = None
    if given is not None:
        for t in given:
            if isinstance(t, Tensor):
                retain_grad(t)
        captures = dict.fromkeys(targets_of(given))
    if roots:
        if why.watching is not None:
            why.watching.differentiated(roots_of, keep)
        on_tensors = create_graph or _needs_tensors(roots_of)
        engine.run(roots, keep=keep, create_graph=on_tensors, records=create_graph, captures=captures, deposit_captured=True)


def tensor_backward(self: Tensor, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
                    inputs: Any = None) -> None:
    """Accumulate the gradients of this tensor with respect to the leaves (or to `inputs`) into their `.grad`."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> Any:
    """The gradients of `outputs` with respect to `inputs`; no `.grad` is written."""
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                         "allow_unused=False.")
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    roots_of = _as_tuple(outputs)
    given = _inputs_tuple(inputs, "grad")
    if not only_inputs:
        warn("only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate "
             "gradient for other parts of the graph, please use torch.autograd.backward.", FutureWarning)
    keep = bool(create_graph if retain_graph is None else retain_graph)

    if is_grads_batched or (process_state.any_mode_active and grad_state.levels):
        from whygrad.autograd import grad_under_levels  # it loads the rules of vmap

        gradients = given_gradients(roots_of, grad_outputs)
        function = grad_under_levels.batched_gradients if is_grads_batched else grad_under_levels.gradients
        results = function(roots_of, gradients, given, create_graph, allow_unused)
    else:
        results = _gradients(roots_of, root_gradients(roots_of, grad_outputs), given, keep, create_graph, allow_unused)
    why.tell("graded", roots_of, results, create_graph, given)
    if materialize_grads:
        results = [_zeros(t, create_graph) if g is None else g for t, g in zip(given, results, strict=True)]
    return dict(zip(inputs, results, strict=True)) if type(inputs) is dict else tuple(results)


def _gradients(roots_of: tuple[Any, ...], gradients: list[Any], inputs: tuple[Any, ...], keep: bool, create_graph: bool,
               allow_unused: bool) -> list[Tensor | None]:
    on_tensors = create_graph or _needs_tensors(roots_of)
    roots = _roots(roots_of, gradients, on_tensors)
    targets = targets_of(inputs)
    captures: dict[Any, Any] = dict.fromkeys(targets)
    if roots:
        engine.run(roots, keep=keep, create_graph=on_tensors, records=create_graph, captures=captures)
    results: list[Tensor | None] = []
    for i, (given, target) in enumerate(zip(inputs, targets, strict=True)):
        if captures[target] is not None:
            results.append(_result(captures[target], given))
        elif allow_unused:
            results.append(None)
        else:
            raise errors.unused_input(i, given)
    return results


def _needs_tensors(roots_of: tuple[Any, ...]) -> bool:
    """Whether rules are applied to Tensors, as rows: gradients have no values, or a listener is told of these rows."""
    if not process_state.any_mode_active:
        return False
    return any(map(is_meta, roots_of)) or any(getattr(listener, "hears_rules", False) for listener in process_state.listeners)


def is_meta(t: Any) -> bool:
    return isinstance(t, Tensor) and type(t._array) is MetaArray


def _zeros(given: Any, create_graph: bool) -> Tensor:
    """What materialize_grads gives for an input without a gradient."""
    if not isinstance(given, Tensor):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    zeros = wrap(np.zeros_like(given._array))
    if create_graph:
        set_requires_grad(zeros, True)
    return zeros


def _as_tuple(given: Any) -> tuple[Any, ...]:
    return (given,) if isinstance(given, (Tensor, GradientEdge)) else tuple(given)


def _inputs_tuple(inputs: Any, function: str) -> tuple[Any, ...]:
    if type(inputs) is dict:
        given = tuple(inputs.values())
    elif isinstance(inputs, Mapping):
        raise TypeError(f"`inputs` argument to `{function}()` must be a dict, not {type(inputs).__name__}. Other "
                        "Mapping types are not supported.")
    else:
        given = _as_tuple(inputs)
    if not given:
        raise RuntimeError(f"`inputs` argument to `{function}()` cannot be empty.")
    return given


def targets_of(inputs: Sequence[Any]) -> list[Any]:
    targets = []
    for given in inputs:
        if isinstance(given, Tensor):
            if not given.requires_grad:
                raise errors.noted(RuntimeError("One of the differentiated Tensors does not require grad"),
                                   "does_not_require_grad", given)
            targets.append(source(given))
        elif isinstance(given, GradientEdge):
            targets.append(target_of_edge(given))
        else:
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(given).__name__}")
    return targets


def _roots(tensors: Sequence[Any], gradients: Sequence[Any], create_graph: bool) -> list[tuple[Any, Any]]:
    roots = []
    for i, (t, g) in enumerate(zip(tensors, gradients, strict=True)):
        target = source(t) if isinstance(t, Tensor) else target_of_edge(t)
        if target is None or isinstance(target, DeadEnd):
            raise errors.no_grad_fn(i, t)
        roots.append((target, from_user(g, create_graph)))
    return roots


def given_gradients(tensors: Sequence[Any], given: Any) -> tuple[Any, ...]:
    if given is None:
        return (None,) * len(tensors)
    gradients = (given,) if isinstance(given, Tensor) else tuple(given)
    if len(gradients) < len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(gradients)} gradients")
    return gradients[:len(tensors)]


def root_gradients(tensors: Sequence[Any], given: Any) -> list[Tensor | None]:
    return [_root_gradient(i, t, g) for i, (t, g) in
            enumerate(zip(tensors, given_gradients(tensors, given), strict=True))]


def _root_gradient(i: int, t: Any, g: Any) -> Tensor | None:
    """The gradient to start with: the given one, checked, or 1 for a real scalar."""
    if isinstance(t, Tensor):
        shape, dtype = t._array.shape, t.dtype
    elif isinstance(t, GradientEdge):
        shape, dtype = output_metadata(t)
    else:
        raise AssertionError("Expected output to be a torch.Tensor")
    if g is None:
        if isinstance(t, Tensor) and not t.requires_grad:
            return None
        if any(n != 1 for n in shape):
            raise (errors.non_scalar_backward(t) if isinstance(t, Tensor) else
                   RuntimeError("grad can be implicitly created only for scalar outputs"))
        if not dtype.is_floating_point:
            error = RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {dtype}")
            raise errors.noted(error, "complex_root", t) if isinstance(t, Tensor) else error
        return wrap(np.ones(shape, dtype.numpy) if not is_meta(t) else meta_array(shape, dtype.numpy))
    if not isinstance(g, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if g._array.shape != shape:
        raise errors.gradient_shape(i, g, shape)
    if g.dtype.is_complex != dtype.is_complex:
        raise RuntimeError("For complex Tensors, both grad_output and output are required to have the same dtype. "
                           f"Mismatch in dtype: grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype "
                           f"of {dtype}.")
    if g.dtype is not dtype:
        g = g.to(dtype)  # type: ignore[attr-defined]
    checked: Tensor = g
    return checked


def _result(g: Any, given: Any) -> Tensor:
    """A captured gradient as a Tensor of the user's own."""
    if isinstance(g, Tensor):
        result: Tensor = to_user(g)
        return result
    if g.__class__ is not np.ndarray and not isinstance(g, np.generic):
        return to_user(g)  # type: ignore[no-any-return]
    g = np.asarray(g)
    like = given._array if isinstance(given, Tensor) else g
    # References: `g` here, in the caller's dict, and the argument of getrefcount.
    ours = g.base is None and g.flags.writeable and getrefcount(g) <= 3 and g.strides == like.strides
    result = wrap(np.conj(g) if g.dtype.kind == "c" else g if ours else owned_copy(g, like))
    last = process_state.last_backward
    if last is not None:
        result._cause = last.causes
    return result


def call_node(node: Node, gradients: tuple[Any, ...]) -> Any:
    """`t.grad_fn(g)`: run one node by itself, without its hooks."""
    count = node.output_count()
    if len(gradients) != count:
        raise TypeError(f"expected {count} arguments, got {len(gradients)} instead")
    for i, g in enumerate(gradients):
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"argument {i} is not a Variable")
    inside = [from_user(g, grad_state.grad) for g in gradients]
    if all(g is None for g in inside) and not node.takes_none:
        results: Any = (None,) * len(node.edges)
    else:
        run = node.graph if grad_state.grad else node.raw
        results = run(inside if type(node.shapes) is list else inside[0], node.edges)
    results = tuple([to_user(g) for g in results])
    return results[0] if len(results) == 1 else results
