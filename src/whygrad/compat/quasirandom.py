"""torch.quasirandom: Sobol sequences, the same points as torch's, scrambled or not."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends import sobol
from whygrad.backends.sobol_directions import MOST_DIMENSIONS
from whygrad.base import dtypes
from whygrad.base.unsupported import absent_from
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional.run import FUNCTIONS
from whygrad.random import Generator

__all__ = ["SobolEngine"]
__getattr__ = absent_from("torch.quasirandom")


class SobolEngine:
    """Draws points that fill the unit cube more evenly than random ones. Scrambled sequences depend on the seed."""

    MAXBIT = sobol.BITS
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        if dimension > MOST_DIMENSIONS:
            raise NotImplementedError(f"SobolEngine: more than {MOST_DIMENSIONS} dimensions (no direction numbers)")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        state, shift = sobol.directions(dimension), np.zeros(dimension, np.int64)
        if scramble:
            generator = None
            if seed is not None:
                generator = Generator()
                generator.manual_seed(seed)
            draw = FUNCTIONS["randint"]
            shift = draw(2, (dimension, self.MAXBIT), generator=generator)._array @ (1 << np.arange(self.MAXBIT))
            matrices = draw(2, (dimension, self.MAXBIT, self.MAXBIT), generator=generator)._array
            state = sobol.scrambled(state, matrices)
        self.sobolstate, self.shift = wrap(state.copy()), wrap(shift)
        self.quasi = wrap(shift.copy())
        # torch keeps the first point in the default dtype.
        self._first_point = (shift * 2.0 ** -self.MAXBIT).astype(dtypes.get_default_dtype().numpy)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Any = None, dtype: Any = None) -> Tensor:
        """The next `n` points, a row each."""
        begins = self.num_generated == 0
        points = self._advance(n) * 2.0 ** -self.MAXBIT
        if begins:
            points[0] = self._first_point
        result = wrap(points.astype((dtype or dtypes.get_default_dtype()).numpy))
        return result if out is None else out.resize_as_(result).copy_(result)  # type: ignore[no-any-return]

    def draw_base2(self, m: int, out: Any = None, dtype: Any = None) -> Tensor:
        """The next `2 ** m` points, if there are a power of two then."""
        total = self.num_generated + 2 ** m
        if total & total - 1:
            raise ValueError(f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points "
                             f"have been previously generated, then: n={self.num_generated}+2**{m}={total}. If you still want to "
                             "do this, please use 'SobolEngine.draw()' instead.")
        return self.draw(2 ** m, out=out, dtype=dtype)

    def fast_forward(self, n: int) -> SobolEngine:
        """Go on as if `n` points had been drawn."""
        self._advance(n)
        return self

    def reset(self) -> SobolEngine:
        """Begin anew."""
        self.quasi.copy_(self.shift)  # type: ignore[attr-defined]
        self.num_generated = 0
        return self

    def _advance(self, n: int) -> np.ndarray:
        is_first = self.num_generated == 0  # the first point is the shift itself
        if n < is_first:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n - 1}: [{n - 1}, {self.dimension}]")
        quasi = self.quasi._array
        states = sobol.advance(quasi, self.sobolstate._array, max(self.num_generated - 1, 0), n - is_first)
        self.num_generated += n
        if is_first:
            states = np.concatenate((quasi[None], states))
        self.quasi = wrap(states[-1].copy() if len(states) else quasi)
        return states

    def __repr__(self) -> str:
        scramble = ", scramble=True" if self.scramble else ""
        seed = f", seed={self.seed}" if self.seed is not None else ""
        return f"{type(self).__name__}(dimension={self.dimension}{scramble}{seed})"
