"""The bounds that torch allows for uniform numbers and integers of each dtype, and its messages for others."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from whygrad.base.dtypes import CPP_NAMES

DIGITS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}
_LARGEST = {"bfloat16": 3.3895313892515355e38, "float16": 65504.0, "float32": 3.4028234663852886e38}


def check_uniform(dtype: np.dtype[Any], low: float, high: float) -> None:
    limit = _LARGEST.get(dtype.name, 1.7976931348623157e308)
    for name, bound in (("from", low), ("to", high)):
        if not -limit <= bound <= limit:
            raise RuntimeError(f"{name} is out of bounds for {CPP_NAMES[dtype.name]}")
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )
    if high - low > limit:
        title = {"float16": "Half", "bfloat16": "BFloat16", "float32": "Float"}.get(dtype.name, "Double")
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{title}>::max(), but found to={high:g} and "
            f"from={low:g} which result in to-from to exceed the limit"
        )


def largest_integer(dtype: np.dtype[Any]) -> int:
    return 1 if dtype.kind == "b" else int(np.iinfo(dtype).max)


@lru_cache(maxsize=256)
def integer_bounds(dtype: np.dtype[Any], low: int, high: int | None) -> tuple[int, int]:
    """The range that torch draws from: for floats narrowed so that casting stays in the range."""
    digits = DIGITS.get(dtype.name)
    if high is not None and low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if digits is None:
        largest = min(largest_integer(dtype), 2**63 - 1)
        smallest = 0 if dtype.kind in "ub" else -largest - 1
        high = largest_integer(dtype) + 1 if high is None else high
    else:
        largest = int(_LARGEST.get(dtype.name, 2**64))
        smallest = -largest
        if (above := _rounded(low + 1, digits)) < low:
            low = above + (1 << abs(low + 1).bit_length() - digits)
        if high is None:
            high = (1 << digits) + 1
            if low >= high - 1:
                raise RuntimeError(
                    "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to "
                    f"dtype, but got from={low} > to_inc={high - 1}"
                )
        elif 2**63 > (below := _rounded(high - 1, digits)) >= high:  # torch's own cast overflows at 2**63
            high = below - (1 << (high - 1).bit_length() - digits)
        if low >= high:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                f"but got from={low} >= to={high}"
            )
    for name, bound in (("from", low), ("to - 1", high - 1)):
        if not smallest <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {CPP_NAMES[dtype.name]}")
    return low, high


def _rounded(value: int, digits: int) -> int:
    """`value` rounded to a significand of `digits` bits."""
    step = 1 << max(abs(value).bit_length() - digits, 0)
    return round(Fraction(value, step)) * step
