"""Signatures of before torch 1.5, which torch still takes: `p.add_(-lr, grad)`, `v.addcmul_(1 - beta, g, g)`.

Optimizers that people wrote then are full of them. The numbers come first that have a name today.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, TypeVar

from whygrad.base import door, errors
from whygrad.base.door import Spec
from whygrad.core.tensor import Tensor
from whygrad.functional.fresh import Repeats

DEPRECATED = ("This overload of {0} is deprecated:\n\t{0}({1})\nConsider using one of the following signatures instead:\n"
              "\t{0}({2})")
_told: list[str] = []
F = TypeVar("F", bound=Callable[..., Any])


def takes_old_order(function: F) -> F:
    """Mark a function whose tensors are all that it takes by position, and whose numbers are keywords."""
    vars(function)["takes_old_order"] = True
    return function


def in_old_order(spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call with more values by position than the function takes: repeat it with the numbers as keywords."""
    plain = spec.plain
    tensors = spec.parameters[1:]
    scalars = [name for name in plain.__kwdefaults__ if not name.startswith("out")]
    given, name = list(args), plain.__name__
    extra = len(given) - 1 - len(tensors)
    if not isinstance(given[0], Tensor):
        given[:2] = given[1::-1]  # torch.addmm(beta, input, alpha, mat1, mat2)
    if extra > len(scalars) or not all(isinstance(x, numbers.Number) for x in given[1:1 + extra]):
        raise TypeError(f"{name}() takes {len(tensors)} positional argument{'s' if len(tensors) > 1 else ''} but "
                        f"{len(args) - 1} were given")
    if not _told or Repeats.always:  # torch says it once, of the first
        _told.append(name)
        old = [f"Number {scalar}" for scalar in scalars[:extra]] + [f"Tensor {tensor}" for tensor in tensors]
        new = [f"Tensor {tensor}" for tensor in tensors] + ["*"] + [f"Number {scalar} = 1" for scalar in scalars]
        errors.warn(DEPRECATED.format(name, ", ".join(old), ", ".join(new)))
    return spec.function(given[0], *given[1 + extra:], **kwargs, **dict(zip(scalars, given[1:1 + extra], strict=False)))


door.in_old_order = in_old_order
