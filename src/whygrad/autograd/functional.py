"""torch.autograd.functional: products with jacobians and hessians, and the matrices themselves.

All of them call the function once and then ask `grad` for what is wanted. Products from the right (`jvp`, `hvp`) come
from backward alone: a gradient is linear in what it starts from, so its own gradient with respect to that start is the
transposed product.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import whygrad
from whygrad.autograd import forward_ad
from whygrad.autograd.calls import grad
from whygrad.autograd.grad_mode import enable_grad, is_grad_enabled, set_grad_enabled
from whygrad.autograd.legacy_vmap import _vmap
from whygrad.autograd.pull_back import pull_back, variable
from whygrad.core.tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = tuple[Any, ...]

OUTPUTS = "outputs of the user-provided function"
NEEDS_V_FOR_OUTPUT = ("The vector v can only be None if the user-provided function returns a single Tensor with a single "
                      "element.")
NEEDS_V_FOR_INPUT = ("The vector v can only be None if the input to the user-provided function is a single Tensor with a "
                     "single element.")
INDEPENDENT = "The output of the user-provided function is independent of input {i}. This is not allowed in strict mode."

# What strict mode says of a result that does not require grad, by what it is.
_NOT_TRACKED = {
    "outputs": "Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
               "differentiable manner from the input when running in strict mode.",
    "grad_inputs": "The gradient with respect to input {i} is independent of the inputs of the user-provided function. "
                   "This is not allowed in strict mode.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided function with respect to "
                "input {i} is independent of the input. This is not allowed in strict mode. You should ensure that your "
                "function is twice differentiable and that the jacobian depends on the inputs (this would be violated "
                "by a linear function for example).",
    "hessian": "The hessian of the user-provided function with respect to input {i} is independent of the input. This "
               "is not allowed in strict mode. You should ensure that your function is thrice differentiable and that "
               "the hessian depends on the inputs.",
}

# ... and of a gradient that is missing, by the step at which it is.
_MISSING = {
    "back": INDEPENDENT,
    "back_trick": "The gradient with respect to the input is independent of entry {i} in the grad_outputs when using the "
                  "double backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {i}. This is not allowed in "
                   "strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. "
                         "This is not allowed in strict mode as it prevents from using the double backward trick to "
                         "replace forward mode AD.",
}


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The output of `func`, and `v` times its jacobian."""
    with enable_grad():
        several_inputs, inputs = _tensors(inputs, "inputs", "vjp")
        inputs = _tracked(inputs, create_graph)
        several_outputs, outputs = _outputs(func, inputs, "vjp", strict)
        v = _vector(v, "vjp", outputs, several_outputs, create_graph, NEEDS_V_FOR_OUTPUT)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        product = _filled(_grad(outputs, inputs, v, create_graph), inputs, strict, create_graph, "back")
    return _as_given(outputs, several_outputs, create_graph), _as_given(product, several_inputs, create_graph)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The output of `func`, and its jacobian times `v`."""
    with enable_grad():
        several_inputs, inputs = _tensors(inputs, "inputs", "jvp")
        inputs = _tracked(inputs, create_graph)
        v = _vector(v, "jvp", inputs, several_inputs, create_graph, NEEDS_V_FOR_INPUT)
        several_outputs, outputs = _outputs(func, inputs, "jvp", strict)
        start = tuple([whygrad.zeros_like(out, requires_grad=True) for out in outputs])
        grads = _grad(outputs, inputs, start, True)
        _check_tracked(grads, "grad_inputs", strict)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        product = _filled(_grad(grads, start, v, create_graph), outputs, strict, create_graph, "back_trick")
    return _as_given(outputs, several_outputs, create_graph), _as_given(product, several_outputs, create_graph)


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The output of the scalar function `func`, and `v` times its hessian."""
    several_inputs, inputs, v, outputs, jac = _gradient_of_scalar("vhp", func, inputs, v, create_graph, strict)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        product = _filled(_grad(jac, inputs, v, create_graph), inputs, strict, create_graph, "double_back")
    return _as_given(outputs, False, create_graph), _as_given(product, several_inputs, create_graph)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """The output of the scalar function `func`, and its hessian times `v`."""
    several_inputs, inputs, v, outputs, jac = _gradient_of_scalar("hvp", func, inputs, v, create_graph, strict)
    with enable_grad():
        start = tuple([whygrad.zeros_like(x, requires_grad=True) for x in inputs])
        double_back = _grad(jac, inputs, start, True)
        _check_tracked(jac, "hessian", strict)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        product = _filled(_grad(double_back, start, v, create_graph), inputs, strict, create_graph, "double_back_trick")
    return _as_given(outputs, False, create_graph), _as_given(product, several_inputs, create_graph)


def _gradient_of_scalar(name: str, func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool,
                        strict: bool) -> tuple[bool, Tensors, Any, Tensors, Tensors]:
    """What vhp and hvp begin with: the checked arguments, the output and its gradient."""
    with enable_grad():
        several_inputs, inputs = _tensors(inputs, "inputs", name)
        inputs = _tracked(inputs, create_graph)
        v = _vector(v, name, inputs, several_inputs, create_graph, NEEDS_V_FOR_INPUT)
        several_outputs, outputs = _outputs(func, inputs, name, strict)
        _check_scalar(name, several_outputs, outputs)
        jac = _grad(outputs, inputs, None, True)
        _check_tracked(jac, "jacobian", strict)
    return several_inputs, inputs, v, outputs, jac


def jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
             vectorize: bool = False, strategy: str = "reverse-mode") -> Any:
    """The jacobian of `func`: a tensor of shape output + input, or a tuple over outputs of tuples over inputs."""
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has '
                             'more outputs than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to '
                             'use "reverse-mode".')
    if strategy == "forward-mode":
        _check_forward(create_graph, strict)
        return _forward_jacobian(func, inputs, vectorize)
    with enable_grad():
        several_inputs, inputs = _tensors(inputs, "inputs", "jacobian")
        inputs = _tracked(inputs, create_graph)
        several_outputs, outputs = _outputs(func, inputs, "jacobian", strict)
        if vectorize and strict:
            raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported "
                               "together. Please either set `strict=False` or `vectorize=False`.")
        rows = (_batched_rows(outputs, inputs, create_graph) if vectorize else
                tuple([_rows_one_by_one(i, out, inputs, create_graph, strict) for i, out in enumerate(outputs)]))
    rows = tuple([_as_given(row, several_inputs, create_graph) for row in rows])
    return rows if several_outputs else rows[0]


def _rows_one_by_one(i: int, out: Tensor, inputs: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """One walk for each element of an output."""
    columns: list[list[Any]] = [[] for _ in inputs]
    for k in range(out._array.size):
        grads = _grad((out.reshape(-1)[k],), inputs, None, create_graph, retain_graph=True)  # type: ignore[attr-defined]
        for j, (column, g, x) in enumerate(zip(columns, grads, inputs, strict=True)):
            if g is None:
                if strict:
                    raise RuntimeError(f"Output {i} of the user-provided function is independent of input {j}. This is not "
                                       "allowed in strict mode.")
                g = whygrad.zeros_like(x)
            elif strict and create_graph and not g.requires_grad:
                raise RuntimeError(f"The jacobian of the user-provided function is independent of input {i}. This is not "
                                   "allowed in strict mode when create_graph=True.")
            column.append(g)
    return tuple([whygrad.stack(column, dim=0).view(out.shape + x.shape) for column, x in zip(columns, inputs, strict=True)])


def _batched_rows(outputs: Tensors, inputs: Tensors, create_graph: bool) -> Tensors:
    """All elements of all outputs in one batched walk."""
    counts = [out._array.size for out in outputs]
    flat = tuple([out.reshape(-1) for out in outputs])
    grads = _grad(flat, inputs, _construct_standard_basis_for(outputs, counts), create_graph, is_grads_batched=True)
    whole = [whygrad.zeros_like(x).expand((sum(counts), *x.shape)) if g is None else g
             for g, x in zip(grads, inputs, strict=True)]
    parts = [[part.reshape(out.shape + x.shape) for part, out in zip(g.split(counts, dim=0), outputs, strict=True)]
             for g, x in zip(whole, inputs, strict=True)]
    return tuple(zip(*parts, strict=True))


def _construct_standard_basis_for(tensors: Tensors, counts: Sequence[int]) -> Tensors:
    """For each tensor the unit vectors of all of them, as rows: zero but for its own elements."""
    chunks = [t.new_zeros(sum(counts), count) for t, count in zip(tensors, counts, strict=True)]
    begin = 0
    for chunk, count in zip(chunks, counts, strict=True):
        chunk.diagonal(-begin).fill_(1)
        begin += count
    return tuple(chunks)


def _check_forward(create_graph: bool, strict: bool) -> None:
    if create_graph:
        raise NotImplementedError('torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are '
                                  'not supported together (yet). Please either set `create_graph=False` or '
                                  '`strategy="reverse-mode"`.')
    if strict:
        raise RuntimeError('torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not '
                           'supported together (yet). Please either set `strict=False` or `strategy="reverse-mode"`.')


ONLY_VECTORIZED = ("Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
                   "`vectorize=True`.")


def _forward_jacobian(func: Callable[..., Any], inputs: Any, vectorize: bool) -> Any:
    """Column by column in forward mode, all columns in one batch."""
    several_inputs, inputs = _tensors(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(ONLY_VECTORIZED)
    seen: list[Any] = []

    def columns(*tangents: Tensor) -> Tensors:
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(x, t.view_as(x)) for x, t in zip(inputs, tangents, strict=True)]  # type: ignore[attr-defined]
            several, outputs = _tensors(func(*duals), "outputs", None)
            unpacked = [forward_ad.unpack_dual(out) for out in outputs]
            seen[:] = [several, [primal.shape for primal, _ in unpacked]]
            return tuple([whygrad.zeros_like(primal) if t is None else t for primal, t in unpacked])

    counts = [x._array.size for x in inputs]
    stacked = _vmap(columns)(*_construct_standard_basis_for(inputs, counts))
    several_outputs, shapes = seen
    rows = []
    for columns_of_output, shape in zip(stacked, shapes, strict=True):
        parts = columns_of_output.split(counts, dim=0)
        row = [part.permute(*range(1, part.ndim), 0).reshape((*shape, *x.shape)) for part, x in zip(parts, inputs, strict=True)]
        rows.append(row if several_inputs else row[0])
    if not several_outputs:
        return rows[0]
    return rows if several_inputs else tuple(rows)  # as torch has it


def hessian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
            vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode") -> Any:
    """The hessian of a scalar function: a tensor of shape input + input, or a tuple of tuples of them."""
    several_inputs, inputs = _tensors(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def scalar(*given: Tensor) -> Any:
        out = func(*given)
        several, outputs = _tensors(out, OUTPUTS, "hessian")
        _check_tracked(outputs, "outputs", strict)
        _check_scalar("hessian", several, outputs)
        return out.squeeze()

    if outer_jacobian_strategy == "forward-mode":
        _check_forward(create_graph, strict)
        rows = _forward_jacobian(functools.partial(_gradient_of_duals, scalar), inputs, vectorize)
        return rows if several_inputs else rows[0][0]

    def gradient(*given: Tensor) -> Any:
        jac = jacobian(scalar, given, create_graph=True)
        _check_tracked(jac, "jacobian", strict)
        return jac

    rows = jacobian(gradient, inputs, create_graph=create_graph, strict=strict, vectorize=vectorize,
                    strategy=outer_jacobian_strategy)
    return rows if several_inputs else rows[0][0]


def _gradient_of_duals(scalar: Callable[..., Any], *given: Tensor) -> Tensors:
    """The gradient of a scalar function in reverse mode, inside of forward mode and vmap."""
    with enable_grad():
        inputs = [variable(x) for x in given]
        output = scalar(*inputs)
    found = pull_back([output], inputs, [whygrad.ones_like(output)], records=False)
    return tuple([whygrad.zeros_like(x) if g is None else g for x, g in zip(given, found, strict=True)])


def _tensors(given: Any, what: str, function: str | None) -> tuple[bool, Tensors]:
    """(whether it is a tuple, the tensors in it)."""
    several = isinstance(given, tuple)
    for i, x in enumerate(given if several else (given,)):
        if not isinstance(x, Tensor):
            which = f"value at index {i}" if several else f"given {what}"
            raise TypeError(f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the {which} has "
                            f"type {type(x)}.")
    return several, given if several else (given,)


def _tracked(tensors: Tensors, create_graph: bool, need_graph: bool = True) -> Tensors:
    """The same values, to differentiate with respect to: still part of the caller's graph if there will be one."""
    return tuple([x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_(need_graph) for x in tensors])


def _outputs(func: Callable[..., Any], inputs: Tensors, function: str, strict: bool) -> tuple[bool, Tensors]:
    several, outputs = _tensors(func(*inputs), OUTPUTS, function)
    _check_tracked(outputs, "outputs", strict)
    return several, outputs


def _vector(v: Any, function: str, like: Tensors, several: bool, create_graph: bool, needed: str) -> Any:
    """The given `v`, checked against what it is multiplied with; None where one element makes it unnecessary."""
    if v is None:
        if len(like) != 1 or like[0]._array.size != 1:
            raise RuntimeError(needed)
        return None
    v = _tracked(_tensors(v, "v", function)[1], create_graph, need_graph=False)
    if len(v) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}." if several else
                           "The given v should contain a single Tensor.")
    for i, (x, other) in enumerate(zip(v, like, strict=True)):
        if x.shape != other.shape:
            entry = f"Entry {i} in " if several else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {other.shape} but got {x.shape}.")
    return v


def _check_scalar(function: str, several: bool, outputs: Tensors) -> None:
    if several:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outputs[0]._array.size != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")


def _check_tracked(results: Sequence[Tensor | None], what: str, strict: bool) -> None:
    for i, x in enumerate(results if strict else ()):
        if x is None:
            raise RuntimeError(INDEPENDENT.format(i=i))
        if not x.requires_grad:
            raise RuntimeError(_NOT_TRACKED[what].format(i=i))


def _grad(outputs: Tensors, inputs: Tensors, start: Tensors | None, create_graph: bool, **options: Any) -> Tensors:
    """`grad` of those outputs that have a history."""
    starts = start or (None,) * len(outputs)
    pairs = [(out, g) for out, g in zip(outputs, starts, strict=True) if out is not None and out.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    roots, gradients = zip(*pairs, strict=True)
    results: Tensors = grad(roots, inputs, gradients, create_graph=create_graph, allow_unused=True, **options)
    return results


def _filled(grads: Tensors, like: Tensors, strict: bool, create_graph: bool, step: str) -> Tensors:
    """Zeros for missing gradients; strict mode raises instead."""
    for i, g in enumerate(grads if strict else ()):
        if g is None:
            raise RuntimeError(_MISSING[step].format(i=i))
        if create_graph and not g.requires_grad:
            what = "hessian" if "double" in step else "jacobian"
            raise RuntimeError(f"The {what} of the user-provided function is independent of input {i}. This is not allowed in "
                               "strict mode when create_graph=True.")
    return tuple([whygrad.zeros_like(x) if g is None else g for g, x in zip(grads, like, strict=True)])


def _as_given(results: Tensors, several: bool, create_graph: bool) -> Any:
    """Out of the graph unless it is wanted; a tuple if the user gave one."""
    if not create_graph:
        results = tuple([x.detach() for x in results])
    return results if several else results[0]
