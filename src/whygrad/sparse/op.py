"""The decorator that declares operations on sparse tensors with their derivatives, like the rows of ops/.

They are not rows: rules here take tensors, because the gradient of a sparse tensor may be sparse or dense. A rule's parameters
name what it needs: `g`, an argument, or a static. An operation is implemented as a custom Function, so hooks, versions, saved
tensors and higher derivatives are handled by the engine.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.autograd.function import Function
from whygrad.core.modes import grad_state
from whygrad.core.tensor import Tensor, wrap
from whygrad.sparse.array import SparseArray
from whygrad.sparse.tensor import as_sparse
from whygrad.why import record as why

Rule = Callable[..., Any]


def tensor_of(array: Any) -> Any:
    """A new tensor with this sparse or dense array, without history."""
    return as_sparse(wrap(array)) if isinstance(array, SparseArray) else wrap(np.asarray(array))  # type: ignore[arg-type]


def sparse_op(node: str, **rules: Rule) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare an operation: a function of positional arrays and keyword statics, with a rule for each array."""

    def declare(forward: Callable[..., Any]) -> Callable[..., Any]:
        inputs = [name for name, p in inspect.signature(forward).parameters.items() if p.kind is not p.KEYWORD_ONLY]
        assert set(inputs) == set(rules), f"{forward.__name__}: rules for {list(rules)}, arguments {inputs}"
        names = {name: tuple(inspect.signature(rule).parameters) for name, rule in rules.items()}
        makers: dict[str, type[Function]] = {}

        def operation(*tensors: Any, name: str = node, **statics: Any) -> Any:
            if (not grad_state.grad and grad_state.running is not None) or not any(t.requires_grad for t in tensors):
                result = tensor_of(forward(*[t._array for t in tensors], **statics))
                for t in tensors:
                    result._cause = why.merge(result._cause, t._cause)
                return result
            if name not in makers:
                makers[name] = _maker(name, forward, inputs, rules, names)
            return makers[name].apply(statics, *tensors)

        operation.__name__ = operation.__qualname__ = forward.__name__
        operation.__doc__ = forward.__doc__
        return operation

    return declare


def _maker(node: str, operation: Callable[..., Any], inputs: list[str], rules: dict[str, Rule],
           names: dict[str, tuple[str, ...]]) -> type[Function]:
    def forward(ctx: Any, statics: dict[str, Any], *tensors: Tensor) -> Any:
        needed = {name for argument, wanted in zip(inputs, ctx.needs_input_grad[1:], strict=True) if wanted
                  for name in names[argument]}
        ctx.statics = statics
        ctx.save_for_backward(*[t if name in needed else None for name, t in zip(inputs, tensors, strict=True)])
        return tensor_of(operation(*[t._array for t in tensors], **statics))

    def backward(ctx: Any, g: Any) -> tuple[Any, ...]:
        if g.dtype.is_complex:
            raise NotImplementedError(f"{node}: gradients of complex sparse tensors")
        known = {"g": g, **ctx.statics, **dict(zip(inputs, ctx.saved_tensors, strict=True))}
        return None, *[rules[name](*[known[x] for x in names[name]]) if wanted else None
                       for name, wanted in zip(inputs, ctx.needs_input_grad[1:], strict=True)]

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    made = type(node.removesuffix("Backward0"), (Function,), members)
    for kind in (made._backward_cls, made._node_cls):  # type: ignore[attr-defined]
        kind.__name__ = kind.__qualname__ = node
    return made
