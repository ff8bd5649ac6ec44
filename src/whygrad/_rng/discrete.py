"""Integers, permutations, Bernoulli and geometric numbers, and multinomial sampling."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import DTypeLike, NDArray

from whygrad._rng.arrays import Array, Shape, as_shape, memory_order, narrow
from whygrad._rng.continuous import Continuous
from whygrad._rng.ranges import DIGITS, integer_bounds, largest_integer
from whygrad.base import acceleration

_WIDE_RANGE = 1 << 28  # ranges from here on take two words per integer, to bound the bias of `%`


class Discrete(Continuous):
    """Discrete distributions. Sampling without replacement needs exponentials."""

    def integers(self, low: int, high: int | None, shape: Shape, dtype: DTypeLike = np.int64) -> Array:
        """From low up to and without high, or (None) to the dtype's largest: one word each, two if wide."""
        dtype, shape = np.dtype(dtype), as_shape(shape)
        if high is None and low == -(2**63):
            if dtype.name not in ("int64", "float64", "float32", "bfloat16"):
                raise RuntimeError(
                    "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16"
                )
            return narrow(self.double_words(math.prod(shape)).view(np.int64), dtype).reshape(shape)
        low, high = integer_bounds(dtype, low, high)
        span = high - low
        if span < _WIDE_RANGE:
            drawn = self._drawn("integers", shape, np.int64, low, span, 1 / span)
            if drawn is not None:
                return drawn if dtype is drawn.dtype else narrow(drawn, dtype)
            # NumPy divides uint32 by a scalar with vector instructions, and has none for remainders.
            words = self.words(math.prod(shape)).astype(np.uint32)
            words -= words // np.uint32(span) * np.uint32(span)
            values = words.astype(np.int64)
        else:
            values = (self.double_words(math.prod(shape)) % np.uint64(span)).view(np.int64)
        values += low
        return narrow(values, dtype).reshape(shape)

    def random(self, shape: Shape, dtype: DTypeLike = np.int64) -> Array:
        """random_() without bounds: from 0 to the dtype's largest integer. 64-bit dtypes: two words each."""
        dtype, shape = np.dtype(dtype), as_shape(shape)
        count = math.prod(shape)
        words = self.double_words(count) if dtype.itemsize == 8 else self.words(count)
        largest = 1 << DIGITS[dtype.name] if dtype.name in DIGITS else largest_integer(dtype)
        return narrow((words % np.uint64(largest + 1)).view(np.int64), dtype).reshape(shape)

    def permutation(self, count: int, dtype: DTypeLike = np.int64) -> Array:
        """Swap each position i with i + word % (count - i); the last position takes no word. (From 2**32 // 20
        elements on torch uses another algorithm.)"""
        positions = np.arange(count)
        if count < 2:
            return positions.astype(dtype)
        swap = acceleration.drawing("swaps", count)
        if swap is not None:
            swap(positions, self.words(count - 1).view(np.int64))
            return positions.astype(dtype, copy=False)
        left = (count - positions[:-1]).astype(np.uint64)
        partner = positions.copy()
        partner[:-1] += (self.words(count - 1) % left).view(np.int64)
        return _swap_forward(partner).astype(dtype)

    def bernoulli(
        self, p: Array | float, shape: Shape | None = None, dtype: DTypeLike = np.bool_, one: float = 1.0
    ) -> Array:
        """1 (or `one`, for a number p) with probability p. A number or a float64 array: double units; other
        arrays: single units."""
        shape = np.shape(p) if shape is None else as_shape(shape)
        count = math.prod(shape)
        if not isinstance(p, np.ndarray):
            if not 0 <= p <= 1:
                raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
            name = {"float32": "hits", "bool": "masks"}.get(np.dtype(dtype).name)
            drawn = self._drawn(name, count, dtype, math.ceil(p * 2.0**53), float(one), 0) if name else None
            if drawn is None:
                drawn = (self.doubles(count) < p).astype(dtype, copy=False)
                if one != 1:
                    drawn *= drawn.dtype.type(one)
            return drawn.reshape(shape)
        if not ((p >= 0) & (p <= 1)).all():
            raise RuntimeError(
                "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be "
                "improved?  If so, please report an enhancement request to PyTorch.)"
            )
        units: Array = self.doubles(count) if p.dtype == np.float64 else self.singles(count)
        hits = np.asarray(units.reshape(shape) < p.astype(units.dtype, copy=False))
        return hits.astype(dtype, copy=False)

    def geometric(self, shape: Shape, dtype: DTypeLike, p: float) -> Array:
        """One double unit per element."""
        if not 0 < p < 1:
            raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
        dtype, shape = np.dtype(dtype), as_shape(shape)
        with np.errstate(divide="ignore"):
            trials = np.ceil(np.log(self.doubles(math.prod(shape))) / math.log(1.0 - p))
        return narrow(trials if dtype.kind == "f" else trials.astype(np.int64), dtype).reshape(shape)

    def multinomial(self, weights: Array, samples: int, replacement: bool = False) -> NDArray[np.int64]:
        """Indices drawn by weight, per row. With replacement: one double unit each. Else one exponential per
        weight, also for a single sample: the largest ratios of weight and exponential win, of equal ones the
        first (among several torch's choice is that of its partial sort)."""
        _check_multinomial(weights, samples, replacement)
        if not replacement or samples == 1:
            rivals = np.empty_like(weights)
            visit = memory_order(rivals)
            visit[...] = self.exponential(visit.shape, weights.dtype)
            with np.errstate(divide="ignore"):
                ratio = weights / rivals
            if samples == 1:
                return np.expand_dims(ratio.argmax(-1), -1)
            return np.asarray(np.argsort(-ratio, axis=-1, kind="stable")[..., :samples])
        rows = np.atleast_2d(weights)
        work = rows.dtype if rows.dtype.itemsize > 2 else np.dtype(np.float32)
        cumulative = rows.cumsum(-1, dtype=work)
        cumulative /= cumulative[:, -1:].copy()
        cumulative[:, -1] = 1
        units = self.doubles(len(rows) * samples).reshape(len(rows), samples)
        wide = cumulative.astype(np.float64)
        chosen = [np.searchsorted(row, unit) for row, unit in zip(wide, units, strict=True)]
        return np.array(chosen, np.int64).reshape(*weights.shape[:-1], samples)


def _swap_forward(partner: NDArray[np.int64]) -> NDArray[np.int64]:
    """The list 0, 1, 2, ... after swapping position i with position partner[i] >= i, for each i in turn.

    Step i moves the current value of position i, held[i], to its partner. So a position holds the value that
    the last step with that partner moved there, or else its own number.
    """
    count = len(partner)
    positions = np.arange(count)
    # The steps grouped by partner and in order within a group: a radix sort, 16 bits at a time.
    order = np.argsort(partner.astype(np.uint16), kind="stable")
    for shift in range(16, count.bit_length(), 16):
        digit = (partner >> shift).astype(np.uint16)
        order = order[np.argsort(digit[order], kind="stable")]
    grouped = partner[order]
    repeated = np.flatnonzero(grouped[1:] == grouped[:-1])
    previous = np.full(count, -1)
    previous[order[repeated + 1]] = order[repeated]
    last = np.full(count, -1)
    last[grouped] = order
    last = np.where(last == positions, previous, last)
    held = np.where(last >= 0, last, positions)
    while not np.array_equal(further := held[held], held):  # pointer jumping: doubles the length of the chain that is followed
        held = further
    return np.where(previous >= 0, held[previous], partner)


def _check_multinomial(weights: Array, samples: int, replacement: bool) -> None:
    if not 1 <= weights.ndim <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and samples > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    with np.errstate(invalid="ignore"):
        largest = weights.max(-1, initial=0)
        is_valid = not weights.size or (weights.min() >= 0 and largest.max() < math.inf)
    if not is_valid:
        if replacement and samples > 1:
            fault = "entry = infinity or NaN" if (weights >= 0).all() else "entry < 0"
            raise RuntimeError(f"invalid multinomial distribution (encountering probability {fault})")
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (largest == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
