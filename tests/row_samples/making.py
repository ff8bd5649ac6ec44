"""Making samples: arrays, and the shapes in which rows of one or two arguments are tried."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from row_checks import Sample

Samples = list[Sample]

# Where a sample's second derivative is no finite difference, because torch's is not.
NAN_IN_TORCH = {"second_differs": "NaN, as in torch: 0 * log(0) behind a mask"}

ABOUT = {name for name in Sample._fields if name not in ("inputs", "statics")}


def case(*inputs: Any, **options: Any) -> Sample:
    """A sample: the row's statics, and what is said about the sample, are both keywords."""
    about = {name: value for name, value in options.items() if name in ABOUT}
    return Sample(inputs, {name: value for name, value in options.items() if name not in ABOUT}, **about)


def real(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> np.ndarray:
    """Numbers in irregular order, all of them well apart, that float32 can hold."""
    count = math.prod(shape)
    generator = np.random.default_rng((seed, *shape))
    values = low + (high - low) * (np.arange(count) + generator.uniform(0.2, 0.8, count)) / max(count, 1)
    return generator.permutation(values).reshape(shape).astype(np.float32).astype(np.float64)


def imaginary(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> np.ndarray:
    return np.asarray(real(*shape, low=low, high=high, seed=seed) + 1j * real(*shape, seed=seed + 50))


def whole(*numbers: Any) -> np.ndarray:
    return np.array(numbers, np.int64)


def some(*numbers: Any) -> np.ndarray:
    return np.array(numbers, np.float64)


def mask(*bits: Any) -> np.ndarray:
    return np.array(bits, bool)


def unary(low: float = -2.0, high: float = 2.0, numbers: str = "real", **options: Any) -> Samples:
    """A matrix, a 0-dim one and an empty one; complex numbers if "complex" is said too."""
    samples = [case(real(*shape, low=low, high=high), **options) for shape in ((2, 3), (), (0, 2))]
    if "complex" in numbers:
        samples.append(case(imaginary(2, 2, low=low, high=high), **options))
    return samples


Range = tuple[float, float]
ANY: Range = (-2.0, 2.0)
POSITIVE: Range = (0.3, 3.0)


def binary(a: Range = ANY, b: Range = ANY, numbers: str = "", **options: Any) -> Samples:
    """Equal shapes and broadcasts; "right" and "left": a Python number on that side; "complex"."""

    def both(left: tuple[int, ...], right: tuple[int, ...], make: Any = real) -> Sample:
        return case(make(*left, low=a[0], high=a[1]), make(*right, low=b[0], high=b[1], seed=1), **options)

    samples = [both((2, 3), (2, 3)), both((2, 1), (3,)), both((), (2, 2)), both((2, 2), ()), both((), ()),
               both((0, 3), (3,))]
    if "right" in numbers:
        samples.append(case(real(2, 2, low=a[0], high=a[1]), 1.7, **options))
    if "left" in numbers:
        samples.append(case(1.7, real(2, 2, low=b[0], high=b[1]), **options))
    if "complex" in numbers:
        samples.append(both((2, 2), (2,), imaginary))
    return samples
