"""Jacobians for gradcheck: by finite differences, by backward, by forward mode; whole (slow) or along one vector (fast).

A jacobian is a Tensor with one row for each element of the input and one column for each element of the output. With
respect to a complex input it is d/dx + i d/dy, as torch's gradients are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

import whygrad
from whygrad.autograd import forward_ad
from whygrad.autograd.calls import grad
from whygrad.core.tensor import Tensor, wrap

Function = Callable[..., Any]


def as_tuple(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, (list, tuple)) else (x,)


def is_floating(x: Any) -> bool:
    return isinstance(x, Tensor) and x._array.dtype.kind in "fcV"


def wants_grad(x: Any) -> bool:
    return isinstance(x, Tensor) and x.requires_grad


def tensors_in(given: Any) -> Iterator[Tensor]:
    """The tensors that require grad, in nested containers."""
    if isinstance(given, Tensor):
        if given.requires_grad:
            yield given
    elif isinstance(given, Iterable) and not isinstance(given, str):
        for x in given:
            yield from tensors_in(x)


def difference(func: Function, inputs: Sequence[Any], x: Tensor, where: Any, step: Any, eps: float) -> list[np.ndarray]:
    """(f(x + step) - f(x - step)) / (2 eps), flat, for each output. `step` is added to the elements `where` of x."""
    array = x._array
    original = array[where].copy()

    def outputs_at(value: Any) -> list[np.ndarray]:
        array[where] = value
        return [out._array.copy() for out in as_tuple(func(*inputs))]

    try:
        before, after = outputs_at(original - step), outputs_at(original + step)
    finally:
        array[where] = original
    index = f"on index {where} " if isinstance(where, tuple) else ""
    results = []
    for a, b in zip(before, after, strict=True):
        _check_same("shape", f"shapes {wrap(a).shape} and {wrap(b).shape}", a.shape == b.shape, index, eps)
        _check_same("dtype", f"dtypes {wrap(a).dtype} and {wrap(b).dtype}", a.dtype == b.dtype, index, eps)
        results.append(((b - a) / (2 * eps)).reshape(-1))
    return results


def _check_same(what: str, both: str, same: bool, index: str, eps: float) -> None:
    if not same:
        raise AssertionError(f"Expected `func` to return outputs with the same {what} when inputs are perturbed {index}by "
                             f"{eps}, but got: {both}.")


def _directional(func: Function, inputs: Sequence[Any], x: Tensor, where: Any, step: Any, eps: float) -> list[np.ndarray]:
    """The same with respect to a complex x too: `step` is one number or array, or a pair for real and imaginary part."""
    along_real, along_imaginary = step if isinstance(step, tuple) else (step, step)
    real = difference(func, inputs, x, where, along_real, eps)
    if x._array.dtype.kind != "c":
        return real
    imaginary = difference(func, inputs, x, where, along_imaginary * 1j, eps)
    return [a + b * 1j for a, b in zip(real, imaginary, strict=True)]


def numerical(func: Function, inputs: Sequence[Any], outputs: Sequence[Tensor], eps: float) -> list[list[Tensor]]:
    """For each input that requires grad the jacobian of each output, by finite differences."""
    jacobians = []
    for x in tensors_in(inputs):
        wide = x._array.dtype if x._array.dtype.kind == "c" else None
        whole = [np.zeros((x._array.size, out._array.size), wide or out._array.dtype) for out in outputs]
        for row, where in enumerate(np.ndindex(x._array.shape)):
            for jacobian, column in zip(whole, _directional(func, inputs, x, where, eps, eps), strict=True):
                jacobian[row] = column
        jacobians.append([wrap(jacobian) for jacobian in whole])
    return jacobians


def numerical_along(func: Function, inputs: Sequence[Any], x: Tensor, u: Any, eps: float) -> list[Tensor]:
    """The product of each output's jacobian with the vector `u` (a pair if x is complex)."""
    step = tuple([part._array.reshape(x._array.shape) * eps for part in as_tuple(u)])
    return [wrap(c) for c in _directional(func, inputs, x, ..., step if len(step) > 1 else step[0], eps)]


def by_backward(inputs: Any, output: Tensor, vectors: Iterable[Tensor]) -> list[Tensor]:
    """The jacobian of one output for each input that requires grad, one column for each vector sent back."""
    wanted = list(tensors_in(inputs))
    vectors = list(vectors)
    whole = [np.zeros((x._array.size, len(vectors)), x._array.dtype) for x in wanted]
    for k, v in enumerate(vectors):
        grads = grad(output, wanted, v, retain_graph=True, allow_unused=True)
        for jacobian, g in zip(whole, grads, strict=True):
            if g is not None:
                jacobian[:, k] = g._array.reshape(-1)
    return [wrap(jacobian) for jacobian in whole]


def unit_vectors(like: Tensor) -> Iterator[Tensor]:
    for where in np.ndindex(like._array.shape):
        unit = np.zeros(like._array.shape, like._array.dtype)
        unit[where] = 1
        yield wrap(unit)


def by_forward_mode(func: Function, inputs: Sequence[Any], outputs: Sequence[Any], vectors: Sequence[Tensor] | None,
                    check_dtypes: bool, wrong_dtype: type[Exception]) -> list[list[Tensor]]:
    """For each input that requires grad the jacobian of each floating output, or its product with the input's vector."""
    if any(x._array.dtype.kind == "c" for x in tensors_in(inputs)):
        raise ValueError("Expected inputs to be non-complex for _get_analytical_jacobian_forward_ad.")
    floating = [out for out in outputs if is_floating(out)]
    jacobians = []
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x.detach(), whygrad.zeros_like(x)) if wants_grad(x) else x for x in inputs]
        tangents: list[Any] = [forward_ad.unpack_dual(dual)[1] for x, dual in zip(inputs, duals, strict=True) if wants_grad(x)]
        for i, tangent in enumerate(tangents):
            directions = list(unit_vectors(tangent)) if vectors is None else [vectors[i].view_as(tangent)]  # type: ignore[attr-defined]
            whole = [np.zeros((len(directions), out._array.size), out._array.dtype) for out in floating]
            for row, direction in enumerate(directions):
                tangent.copy_(direction)
                results = [out for out in as_tuple(func(*duals)) if is_floating(out)]
                for jacobian, out in zip(whole, results, strict=True):
                    value, along = forward_ad.unpack_dual(out)
                    if along is None:
                        continue
                    if check_dtypes and value.dtype.is_complex != along.dtype.is_complex:
                        raise wrong_dtype("Forward AD gradient has dtype mismatch.")
                    jacobian[row] = along._array.reshape(-1)
            tangent.zero_()
            jacobians.append([wrap(jacobian if vectors is None else jacobian[0]) for jacobian in whole])
    return jacobians


def random_vector(like: Tensor, generator: Any, real: bool) -> Tensor:
    """A vector of length one, as long as `like` has elements; the same in every run."""
    dtype = like.real.dtype if real and like.is_complex() else like.dtype  # type: ignore[attr-defined]
    vector = whygrad.rand(like._array.size, generator=generator).to(dtype=dtype)
    vector /= vector.norm()
    return vector
