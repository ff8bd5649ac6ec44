"""What the functions on matrices ask of their arguments, and how they say that a matrix will not do."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends import numpy_factor
from whygrad.backends.numpy_factor import LinAlgError
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional.arguments import not_implemented, read_tensor
from whygrad.functional.run import rows


def read_matrices(function: str, x: Any, argument: str = "A", *, name: str, square: bool = True, kernel: str = "",
                  letter: str = "A", position: int = 1) -> Tensor:
    """A batch of matrices of floating or complex numbers.

    `function` is what torch calls the function that reads its arguments, `name` the one that checks them, and `kernel` the
    one that has no code for half precision ("" if it has).
    """
    read_tensor(function, x, argument, position)
    check_matrices(x, name, square, letter)
    check_floating(x, name)
    if kernel:
        check_kernel(x, kernel)
    return x


def check_matrices(x: Tensor, name: str, square: bool = True, letter: str = "A") -> None:
    shape = x._array.shape
    if len(shape) < 2:
        raise RuntimeError(f"{name}: The input tensor {letter} must have at least 2 dimensions.")
    if square and shape[-1] != shape[-2]:
        raise not_square(f"{name}: ", shape, letter)


def not_square(prefix: str, shape: tuple[int, ...], letter: str = "A") -> RuntimeError:
    return RuntimeError(f"{prefix}{letter} must be batches of square matrices, but they are {shape[-2]} by {shape[-1]} "
                        "matrices")


def check_floating(x: Tensor, name: str) -> None:
    if x.dtype.category < 2:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {x.dtype.scalar_name}")


def check_kernel(x: Tensor, kernel: str) -> None:
    """LAPACK knows single and double precision, real and complex."""
    if x.dtype.category < 2 or x.dtype.itemsize == 2:
        raise not_implemented(kernel, x.dtype)


def check_precision(x: Tensor, name: str) -> None:
    if x.dtype.itemsize == 2:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {x.dtype.scalar_name}")


def check_same_dtype(name: str, a: Tensor, b: Tensor, names: tuple[str, str] = ("A", "B")) -> None:
    if a.dtype is not b.dtype:
        raise RuntimeError(f"{name}: Expected {names[0]} and {names[1]} to have the same dtype, but found {names[0]} of type "
                           f"{a.dtype.scalar_name} and {names[1]} of type {b.dtype.scalar_name} instead")


def check_equation(name: str, a: Tensor, b_shape: tuple[int, ...], left: bool) -> None:
    """Whether `a` and a batch of matrices of this shape fit."""
    rows, columns = a._array.shape[-2:]
    if b_shape[-2 if left else -1] != columns:
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
                           f"({rows}x{columns} and {b_shape[-2]}x{b_shape[-1]})")


def is_vector(a: Tensor, b: Tensor) -> bool:
    """Whether the right-hand side `b` is a vector for each matrix."""
    return b._array.ndim == 1 or b._array.shape == a._array.shape[:-1]


def check_info(name: str, info: Tensor, reason: str, error: type[RuntimeError] = LinAlgError) -> None:
    """Raise for the first matrix whose number is not zero; `reason` may tell the number, as {0}."""
    numpy_factor.check_info(name, info._numbers, reason, error)


def transposed(x: Tensor) -> Tensor:
    ndim = x._array.ndim
    return rows.transpose(x, axis0=ndim - 2, axis1=ndim - 1)


def eye(size: int, like: Tensor) -> Tensor:
    return wrap(np.eye(size, dtype=like._array.dtype))
