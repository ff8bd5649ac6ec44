"""Uniform, normal and other continuous numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from whygrad._rng.arrays import Array, Shape, as_complex, as_shape, fma, narrow, part_of
from whygrad._rng.box_muller import box_muller_double, box_muller_single
from whygrad._rng.ranges import check_uniform
from whygrad._rng.words import Words
from whygrad.base import acceleration

FLOAT32 = np.dtype(np.float32)
LARGE = 16  # normals come in blocks of this many, in tensors that hold at least one block
_CHUNK = 1 << 16  # elements per pass of a long formula, so that its temporaries stay in the cache


class Continuous(Words):
    def uniform(
        self, shape: Shape, dtype: DTypeLike = np.float32, low: float = 0.0, high: float = 1.0
    ) -> Array:
        """One unit per element: double for float64, single for all others. Complex: real, imaginary, ..."""
        dtype, shape = np.dtype(dtype), as_shape(shape)
        if dtype is FLOAT32 and low == 0 and high == 1:
            drawn = self._drawn("singles", shape, FLOAT32, 0, 1, 0)
            if drawn is not None:
                return drawn
        if dtype.kind == "c":
            return as_complex(self.uniform((*shape, 2), part_of(dtype), low, high))
        if (low, high) != (0, 1):
            check_uniform(dtype, low, high)
        double = dtype == np.float64
        work = np.float64 if double else np.float32
        start, stop = work(low), work(high)
        count = math.prod(shape)
        if dtype.type is work:
            drawn = self._drawn("doubles" if double else "singles", shape, work, float(start), float(stop), 0)
            if drawn is not None:
                return drawn
        unit: Array = self.doubles(count) if double else self.singles(count)
        out = fma(unit, stop - start, start).astype(dtype, copy=False)
        if out.dtype.itemsize == 2 or (low, high) != (0, 1):
            # Rounding can reach the open end of the range; torch then returns the closed end.
            out[out == stop.astype(dtype)] = start.astype(dtype)
        return out.reshape(shape)

    def normal(
        self,
        shape: Shape,
        dtype: DTypeLike = np.float32,
        mean: float = 0.0,
        std: float = 1.0,
        *,
        contiguous: bool = True,
    ) -> Array:
        """Box-Muller: in blocks if there are 16 elements or more in a contiguous target, else in pairs."""
        dtype, shape = np.dtype(dtype), as_shape(shape)
        if not std >= 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        if dtype.kind == "c":
            parts = self.normal((*shape, 2), part_of(dtype), mean, std / math.sqrt(2), contiguous=contiguous)
            return as_complex(parts)
        count = math.prod(shape)
        if count < LARGE or not contiguous:
            values = self._few_normals(count) if count < LARGE // 2 else self._normal_pairs(count)
            moved = values if std == 1 and mean == 0 else fma(values, std, mean)
            return narrow(moved, dtype).reshape(shape)
        return self._normal_blocks(count, dtype, mean, std).reshape(shape)

    def normal_around(self, mean: Array | float, std: Array | float) -> Array:
        """torch.normal where the mean, the deviation or both are tensors: `normal`, then scaled and shifted."""
        dtype = mean.dtype if isinstance(mean, np.ndarray) else np.asarray(std).dtype
        shape = np.broadcast_shapes(np.shape(mean), np.shape(std))
        if not isinstance(std, np.ndarray):
            out = self.normal(shape, dtype, 0.0, std)
        else:
            if not (std >= 0).all():
                raise RuntimeError("normal expects all elements of std >= 0.0")
            out = self.normal(shape, dtype)
            out *= std
        out += mean
        return out

    def _normal(self, draw: Callable[[], float] | None = None) -> float:
        """One of a pair; the other one is cached for the next call."""
        if self._cached is not None:
            value, self._cached = self._cached, None
            return value
        draw = draw or self._double
        angle, unit = 2.0 * math.pi * draw(), draw()
        radius = math.sqrt(-2.0 * math.log1p(-unit))
        self._cached = radius * math.sin(angle)
        return radius * math.cos(angle)

    def _few_normals(self, count: int) -> NDArray[np.float64]:
        """As `_normal_pairs`; for few numbers Python is faster than NumPy."""
        pairs = (count - (self._cached is not None) + 1) // 2
        units = self._drawn("doubles", 2 * pairs, np.float64, 0, 1, 0)
        draw = None if units is None else iter(units.tolist()).__next__
        return np.array([self._normal(draw) for _ in range(count)])

    def _normal_pairs(self, count: int) -> NDArray[np.float64]:
        """Two double units give two normals; the second of an odd count is cached for the next call."""
        out = np.empty(count)
        start = 0
        if count and self._cached is not None:
            out[0], start, self._cached = self._cached, 1, None
        pairs = (count - start + 1) // 2
        units = self.doubles(2 * pairs)
        radius, angle = np.sqrt(-2.0 * np.log1p(-units[1::2])), 2.0 * math.pi * units[0::2]
        first, second = radius * np.cos(angle), radius * np.sin(angle)
        out[start::2], out[start + 1 :: 2] = first, second[: (count - start) // 2]
        if (count - start) % 2:
            self._cached = float(second[-1])
        return out

    def _normal_blocks(self, count: int, dtype: np.dtype[Any], mean: float, std: float) -> Array:
        """Blocks of 16 units, eight radii and then eight angles. A remainder redraws the last 16 elements."""
        rest = count % LARGE
        turn = acceleration.drawing("normals", count) if dtype is FLOAT32 else None
        if turn is not None:
            out = self.singles(count)
            turn(out, mean, std)  # whole blocks
            if rest:
                out[-LARGE:] = self.singles(LARGE)
                turn(out[-LARGE:], mean, std)
            return out
        # The wider types have drawn units for the remainder too, before they redraw it.
        skipped = rest if dtype.itemsize > 2 else 0
        total = count if not rest else count - rest + skipped + LARGE
        units: Array = self.doubles(total) if dtype == np.float64 else self.singles(total)
        if skipped:
            units = np.delete(units, slice(count - rest, count))
        blocks = units.reshape(-1, 2, LARGE // 2)
        box_muller = box_muller_double if dtype == np.float64 else box_muller_single
        rows = _CHUNK // LARGE
        for at in range(0, len(blocks), rows):
            blocks[at : at + rows] = fma(box_muller(blocks[at : at + rows]), std, mean)
        flat = blocks.reshape(-1).astype(dtype, copy=False)
        if not rest:
            return flat
        return np.concatenate([flat[: count - LARGE], flat[-LARGE:]])

    def exponential(self, shape: Shape, dtype: DTypeLike = np.float32, rate: float = 1.0) -> Array:
        """One double unit per element."""
        if not rate > 0:
            raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
        shape = as_shape(shape)
        return narrow(-1.0 / rate * np.log1p(-self.doubles(math.prod(shape))), dtype).reshape(shape)

    def cauchy(
        self, shape: Shape, dtype: DTypeLike = np.float32, median: float = 0.0, sigma: float = 1.0
    ) -> Array:
        """One double unit per element."""
        if not sigma > 0:
            raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
        shape = as_shape(shape)
        tangent = np.tan(math.pi * (self.doubles(math.prod(shape)) - 0.5))
        return narrow(fma(tangent, sigma, median), dtype).reshape(shape)

    def log_normal(
        self, shape: Shape, dtype: DTypeLike = np.float32, mean: float = 1.0, std: float = 2.0
    ) -> Array:
        """exp of a normal; always in pairs."""
        if not std > 0:
            raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
        shape = as_shape(shape)
        return narrow(np.exp(fma(self._normal_pairs(math.prod(shape)), std, mean)), dtype).reshape(shape)
