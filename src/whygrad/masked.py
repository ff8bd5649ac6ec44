"""torch.masked: reductions and normalisations over the elements where a boolean mask is true.

Masked-out elements are replaced by the reduction's neutral element: 0 for a sum, -inf for a maximum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from whygrad import linalg
from whygrad.base import dtypes
from whygrad.base.unsupported import absent_from
from whygrad.core.tensor import Tensor
from whygrad.functional.arguments import read_tensor
from whygrad.functional.dims import normalize_dims
from whygrad.functional.run import FUNCTIONS
from whygrad.nn import functional as F

__getattr__ = absent_from("torch.masked")

__all__ = ["amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean",
           "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var"]

Dims = int | tuple[int, ...] | list[int] | None


def _kept(input: Any, mask: Any, neutral: Any) -> Any:
    """The input with `neutral` where the mask is false."""
    read_tensor("masked", input)
    if mask is None:
        return input
    return FUNCTIONS["where"](_fitting(input, mask), input, FUNCTIONS["tensor"](neutral, dtype=input.dtype))


def _fitting(input: Tensor, mask: Any) -> Any:
    """The mask broadcast to the shape of the input."""
    shape = input._array.shape
    if mask.shape != shape:
        if mask.ndim > len(shape):
            raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
        mask = FUNCTIONS["broadcast_to"](mask.clone(), shape)
    return mask.to(dtypes.bool_)


def _lowest(dtype: dtypes.dtype) -> Any:
    if dtype.category > 1:
        return -math.inf
    if dtype.category == 0:
        raise NotImplementedError(f"identity of amax on {dtype} input")
    return dtypes.iinfo(dtype).min


def _highest(dtype: dtypes.dtype) -> Any:
    if dtype.category > 1:
        return math.inf
    if dtype.category == 0:
        raise NotImplementedError(f"identity of amin on {dtype} input")
    return dtypes.iinfo(dtype).max


def _dims(input: Tensor, dim: Any) -> tuple[int, ...]:
    """The reduced dims, non-negative and in order; all dims if none is given."""
    if isinstance(dim, (tuple, list)) and len(set(dim)) < len(dim):
        raise RuntimeError(f"dim={dim[-1]} appears multiple times in the list of dims")
    axes = normalize_dims(dim, input._array.ndim)
    if axes is None:
        return tuple(range(input._array.ndim))
    return tuple(sorted(axes)) if input._array.ndim else (0,)


def _widened(input: Tensor) -> dtypes.dtype:
    return dtypes.int64 if input.dtype.category < 2 else input.dtype


def sum(input: Tensor, dim: Dims = None, *, keepdim: bool | None = False, dtype: Any = None,
        mask: Tensor | None = None) -> Tensor:
    """The sum of the elements that are kept."""
    kept = _kept(input, mask, 0)
    return FUNCTIONS["sum"](kept, _dims(input, dim), bool(keepdim), dtype=dtype or _widened(input))  # type: ignore[no-any-return]


def prod(input: Tensor, dim: Dims = None, *, keepdim: bool | None = False, dtype: Any = None,
         mask: Tensor | None = None) -> Tensor:
    """The product of the elements that are kept."""
    result = _kept(input, mask, 1).to(dtype or _widened(input))
    for d in reversed(_dims(input, dim) if dim is None or isinstance(dim, int) or len(dim) else ()):
        result = result.prod(d, keepdim=bool(keepdim))
    return result  # type: ignore[no-any-return]


def _extreme(name: str, neutral: Callable[[Any], Any]) -> Callable[..., Tensor]:
    def extreme(input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None,
                mask: Tensor | None = None) -> Tensor:
        kept = _kept(input, mask, None if mask is None else neutral(input.dtype))
        where = dim if name.startswith("arg") else _dims(input, dim)
        return FUNCTIONS[name](kept, where, bool(keepdim)).to(dtype or input.dtype)  # type: ignore[no-any-return]

    return _named(extreme, name, f"{name} of the elements that are kept.")


def _named(function: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


amax, argmax = _extreme("amax", _lowest), _extreme("argmax", _lowest)
amin, argmin = _extreme("amin", _highest), _extreme("argmin", _highest)


def _running(name: str, neutral: int) -> Callable[..., Tensor]:
    def running(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
        wanted = dtype or input.dtype
        kept = _kept(input, mask, neutral)
        return FUNCTIONS[name](kept, _dims(input, dim)[0], dtype=wanted).to(wanted)  # type: ignore[no-any-return]

    return _named(running, name, f"{name} of the elements that are kept.")


cumsum, cumprod = _running("cumsum", 0), _running("cumprod", 1)


def _count(input: Tensor, dim: Dims, keepdim: bool | None, mask: Any) -> Any:
    if mask is None:
        mask = FUNCTIONS["ones"](input.shape, dtype=dtypes.bool_)
    return FUNCTIONS["sum"](_fitting(input, mask), dim if dim != () else None, bool(keepdim))


def mean(input: Tensor, dim: Dims = None, *, keepdim: bool | None = False, dtype: Any = None,
         mask: Tensor | None = None) -> Tensor:
    """The mean of the elements that are kept; NaN if there are none."""
    if (dtype or input.dtype).category < 2:
        source = "Optional" if dtype else "Input"
        raise ValueError(f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex "
                         f"dtype. Got: {dtype or input.dtype}")
    total = sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _count(input, dim, keepdim, mask)  # type: ignore[no-any-return]


def median(input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None,
           mask: Tensor | None = None) -> Tensor:
    """The median of the elements that are kept; NaN if there are none."""
    is_float = input.dtype.is_floating_point
    kept = _kept(input if is_float else input.to(dtypes.float32), mask, math.nan)  # type: ignore[attr-defined]
    result = FUNCTIONS["nanmedian"](kept, _dims(input, dim)[0], keepdim).values
    if is_float:
        return result  # type: ignore[no-any-return]
    if FUNCTIONS["isnan"](result).any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return result.to(dtype or input.dtype)  # type: ignore[no-any-return]


def logsumexp(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: Any = None,
              mask: Tensor | None = None) -> Tensor:
    """log(sum(exp(x))) of the elements that are kept."""
    kept = _kept(input, mask, None if mask is None else _lowest(input.dtype))
    return FUNCTIONS["logsumexp"](kept, _dims(input, dim), keepdim).to(dtype or input.dtype)  # type: ignore[no-any-return]


def logaddexp(input: Tensor, other: Tensor, *, dtype: Any = None, input_mask: Tensor | None = None,
              other_mask: Tensor | None = None) -> Tensor:
    """logaddexp of two tensors, each with its own mask."""
    a, b = (_kept(x, mask, None if mask is None else _lowest(x.dtype))
            for x, mask in ((input, input_mask), (other, other_mask)))
    return FUNCTIONS["logaddexp"](a, b).to(dtype or input.dtype)  # type: ignore[no-any-return]


def norm(input: Tensor, ord: float | None = 2.0, dim: Dims = None, *, keepdim: bool | None = False, dtype: Any = None,
         mask: Tensor | None = None) -> Tensor:
    """The vector norm of the elements that are kept."""
    kept = _kept(input, mask, math.inf if ord == -math.inf else 0)
    result: Tensor = linalg.vector_norm(kept, 2.0 if ord is None else ord, _dims(input, dim), bool(keepdim),
                                        dtype=dtype or input.dtype)
    return result


def _spread(name: str) -> Callable[..., Tensor]:
    def spread(input: Tensor, dim: Dims = None, unbiased: bool | None = None, *, correction: float | None = None,
               keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
        if unbiased is not None and correction is not None:
            raise AssertionError("Only one of unbiased and correction may be given")
        if correction is None:
            correction = 1 if unbiased is None else int(unbiased)
        wanted = dtype or (input.dtype if input.dtype.category > 1 else dtypes.float32)
        work = wanted if wanted.category > 1 else dtypes.float32
        count = _count(input, dim, True, mask)
        distance = input - sum(input, dim, keepdim=True, dtype=wanted, mask=mask) / count  # type: ignore[operator]
        total: Any = sum(distance * distance.conj(), dim, keepdim=keepdim, dtype=work, mask=mask)
        if not keepdim:
            count = count.reshape(total.shape)
        if correction:
            count = (count.to(work.to_real()) - correction).clamp(min=0)
        result = (total / count).to(wanted)
        return result.sqrt() if name == "std" else result  # type: ignore[no-any-return]

    return _named(spread, name, f"{name} of the elements that are kept; NaN if there are none.")


var, std = _spread("var"), _spread("std")


def _softened(name: str, neutral: Callable[[Any], Any]) -> Callable[..., Tensor]:
    function = getattr(F, name)

    def softened(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
        kept = _kept(input, mask, None if mask is None else neutral(input.dtype))
        return function(kept, _dims(input, dim)[0], dtype=dtype or input.dtype)  # type: ignore[no-any-return]

    return _named(softened, name, f"{name} over the elements that are kept.")


softmax, log_softmax = _softened("softmax", _lowest), _softened("log_softmax", _lowest)
softmin = _softened("softmin", _highest)


def normalize(input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None,
              mask: Tensor | None = None) -> Tensor:
    """The elements, 0 where the mask is false, divided by their norm along a dim."""
    length: Any = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _kept(input, mask, 0) / FUNCTIONS["maximum"](length, length.new_full((), eps))  # type: ignore[no-any-return]
