"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import whygrad as torch
from whygrad.core.tensor import Tensor
from whygrad.nn.module import typename


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """All parameters concatenated; differentiable."""
    return torch.cat([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Make the parameters views of consecutive slices of `vec`."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    start = 0
    for parameter in parameters:
        stop = start + parameter._array.size
        parameter.data = vec[start:stop].view_as(parameter).data  # type: ignore[index]
        start = stop
