"""torch's CPU random numbers, draw for draw, on NumPy arrays.

Everything comes from one MT19937 stream of 32-bit words. What makes "same seed, same numbers" hold is
how many words each draw takes and in which order, so each method says that first. Three things recur:

* a *unit* is a uniform in [0, 1): one word, 24 bits kept (single), or two words, 53 bits kept (double);
* torch fills a tensor in the order of its memory; `memory_order(a)` is the view of `a` in that order;
* torch's kernels are compiled with fused multiply-add, hence `_fma` wherever it says `x * a + b`.

Results are those of torch on a processor with AVX2, bit for bit, except that double precision logarithms and
cosines are NumPy's: they may differ in the last place. torch built with MKL takes `bernoulli_(p)` and
`exponential_` from a different generator on Intel processors; here they are what torch gives on all others.
"""

import math
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from whygrad import kernels

Array = NDArray[Any]
Shape = int | Sequence[int]

DEFAULT_SEED = 67280421310721  # what a fresh torch.Generator() starts from

_WORDS = 624  # MT19937's state
_STATE = np.dtype(  # the C structs that torch.get_rng_state() copies out
    {
        "names": ["seed", "left", "seeded", "next", "words", "normal", "has_normal"],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", _WORDS), "<f8", "<i4"],
        "offsets": [0, 8, 12, 16, 24, 24 + 8 * _WORDS + 8, 24 + 8 * _WORDS + 24],
        "itemsize": 5056,
    }
)
_WIDE_RANGE = 1 << 28  # from here on an integer takes two words, to keep `%` from showing
_LARGE = 16  # normals come in blocks of this many, in tensors that hold at least one block
_PIECE = 1 << 12  # units that are read ahead at once
_SQUEEZE = float(np.float32(0.0331))
_CHUNK = 1 << 16  # elements per pass of a long formula, so that its temporaries stay in the cache
_DIGITS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}
_LARGEST = {"bfloat16": 3.3895313892515355e38, "float16": 65504.0, "float32": 3.4028234663852886e38}
_C_NAMES = {
    "bool": "bool",
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short int",
    "uint16": "short unsigned int",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long int",
    "uint64": "long unsigned int",
    "bfloat16": "c10::BFloat16",
    "float16": "c10::Half",
    "float32": "float",
    "float64": "double",
}


class Stream:
    """One random stream: what a `torch.Generator` on the CPU is."""

    _address = 0  # of the generator's state in memory, once a kernel wants it

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self._bits = np.random.MT19937()
        self.seed(seed)

    def __getstate__(self) -> dict[str, Any]:
        """A copy has a state of its own, elsewhere."""
        return {name: value for name, value in vars(self).items() if name != "_address"}

    def seed(self, seed: int) -> None:
        """Start over. Negative seeds count down from 2**64; the engine uses the low 32 bits."""
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self.initial_seed = seed % 2**64
        np.random.RandomState(self._bits).seed(seed & 0xFFFFFFFF)
        self._ahead: _Ahead | None = None
        self._cached: float | None = None  # the second normal of a pair whose first has been handed out

    def seed_from_os(self) -> int:
        """Seed from the operating system's entropy; returns the seed."""
        self.seed(secrets.randbits(53))
        return self.initial_seed

    def get_state(self) -> NDArray[np.uint8]:
        """The state as torch.get_rng_state() lays it out."""
        engine: Any = self._bits.state["state"]
        state = np.zeros((), _STATE)
        state["seed"], state["seeded"], state["words"] = self.initial_seed, 1, engine["key"]
        # Both libraries renew all the words at once, before the draw that needs it; only torch writes the
        # state right after seeding (whose first word is the seed) as 0 and not as "all words used".
        fresh = engine["pos"] == _WORDS and engine["key"][0] == self.initial_seed & 0xFFFFFFFF
        state["next"] = 0 if fresh else engine["pos"]
        state["left"] = 1 if fresh else _WORDS + 1 - engine["pos"]
        state["normal"], state["has_normal"] = self._cached or 0.0, self._cached is not None
        return np.frombuffer(state.tobytes(), np.uint8).copy()

    def set_state(self, state: Array) -> None:
        """Continue from a state of `get_state` or of torch.get_rng_state()."""
        if state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.size != _STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {_STATE.itemsize} "
                f"but found the input RNG state size to be {state.size}"
            )
        new = np.frombuffer(state.tobytes(), _STATE)[0]
        if not (new["seeded"] and 0 < new["left"] <= _WORDS and new["next"] <= _WORDS):
            raise RuntimeError("Invalid mt19937 state")
        position = _WORDS if new["left"] == 1 else int(new["next"])
        key = new["words"].astype(np.uint32)
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": position}}
        self.initial_seed = int(new["seed"])
        self._cached = float(new["normal"]) if new["has_normal"] else None

    def words(self, count: int) -> NDArray[np.uint64]:
        """`count` 32-bit words, each in a uint64."""
        drawn = self._drawn("words", count, np.int64, 0, 0, 0)
        return self._bits.random_raw(count) if drawn is None else drawn.view(np.uint64)

    def double_words(self, count: int) -> NDArray[np.uint64]:
        """`count` 64-bit words: two 32-bit ones each, the high half first."""
        pairs = self.words(2 * count)
        return (pairs[0::2] << np.uint64(32)) | pairs[1::2]

    def _drawn(self, name: str, count: int, dtype: DTypeLike, *numbers: float) -> Array | None:
        """By a kernel, if there is one for it (see kernels/random.py)."""
        draw = kernels.drawing(name, count)
        if draw is None:
            return None
        if not self._address:
            self._address = self._bits.ctypes.state_address
        out = np.empty(count, dtype)
        draw(self._address, out, *numbers)
        return out

    def singles(self, count: int) -> NDArray[np.float32]:
        """`count` single units."""
        drawn = self._drawn("singles", count, np.float32, 0, 1, 0)
        if drawn is not None:
            return drawn
        kept = self.words(count) & np.uint64(2**24 - 1)
        return kept.astype(np.float32) * np.float32(2.0**-24)

    def doubles(self, count: int) -> NDArray[np.float64]:
        """`count` double units."""
        drawn = self._drawn("doubles", count, np.float64, 0, 1, 0)
        if drawn is not None:
            return drawn
        kept = self.double_words(count) & np.uint64(2**53 - 1)
        return kept.astype(np.float64) * 2.0**-53

    def _double(self) -> float:
        """One double unit, for the samplers in which each draw decides about the next."""
        if self._ahead is not None:
            return self._ahead.double()
        high: Any = self._bits.random_raw()
        low: Any = self._bits.random_raw()
        return float((high & 0x1FFFFF) << 32 | low) * 2.0**-53

    def uniform(
        self, shape: Shape, dtype: DTypeLike = np.float32, low: float = 0.0, high: float = 1.0
    ) -> Array:
        """One unit per element: double for float64, single for all others. Complex: real, imaginary, ..."""
        dtype, shape = np.dtype(dtype), _as_shape(shape)
        if dtype.kind == "c":
            return _as_complex(self.uniform((*shape, 2), _part(dtype), low, high))
        if (low, high) != (0, 1):
            _check_uniform(dtype, low, high)
        double = dtype == np.float64
        work = np.float64 if double else np.float32
        start, stop = work(low), work(high)
        count = math.prod(shape)
        if dtype.type is work:
            drawn = self._drawn("doubles" if double else "singles", count, work, float(start), float(stop), 0)
            if drawn is not None:
                return drawn.reshape(shape)
        unit: Array = self.doubles(count) if double else self.singles(count)
        out = _fma(unit, stop - start, start).astype(dtype, copy=False)
        if out.dtype.itemsize == 2 or (low, high) != (0, 1):
            # Rounding can reach the open end of the range. torch gives the closed end instead.
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
        dtype, shape = np.dtype(dtype), _as_shape(shape)
        if not std >= 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        if dtype.kind == "c":
            parts = self.normal((*shape, 2), _part(dtype), mean, std / math.sqrt(2), contiguous=contiguous)
            return _as_complex(parts)
        count = math.prod(shape)
        if count < _LARGE or not contiguous:
            values = self._few_normals(count) if count < _LARGE // 2 else self._normal_pairs(count)
            return _narrow(_fma(values, std, mean), dtype).reshape(shape)
        return self._normal_blocks(count, dtype, mean, std).reshape(shape)

    def normal_around(self, mean: Array | float, std: Array | float) -> Array:
        """torch.normal where the mean, the deviation or both are tensors: `normal`, then scaled and moved."""
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
        """One of a pair; the other one waits."""
        if self._cached is not None:
            value, self._cached = self._cached, None
            return value
        draw = draw or self._double
        angle, unit = 2.0 * math.pi * draw(), draw()
        radius = math.sqrt(-2.0 * math.log1p(-unit))
        self._cached = radius * math.sin(angle)
        return radius * math.cos(angle)

    def _few_normals(self, count: int) -> NDArray[np.float64]:
        """As `_normal_pairs`; for few numbers Python is quicker than NumPy."""
        pairs = (count - (self._cached is not None) + 1) // 2
        units = self._drawn("doubles", 2 * pairs, np.float64, 0, 1, 0)
        draw = None if units is None else iter(units.tolist()).__next__
        return np.array([self._normal(draw) for _ in range(count)])

    def _normal_pairs(self, count: int) -> NDArray[np.float64]:
        """Two double units give two normals; the second of an odd count waits for the next call."""
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
        """Blocks of 16 units, eight radii and then eight angles. A rest redraws the last 16 elements."""
        rest = count % _LARGE
        turn = kernels.drawing("normals", count) if dtype == np.float32 else None
        if turn is not None:
            out = self.singles(count)
            turn(out[: count - rest], mean, std)
            if rest:
                out[-_LARGE:] = self.singles(_LARGE)
                turn(out[-_LARGE:], mean, std)
            return out
        # The wider types have drawn units for the rest too, before they redraw it.
        skipped = rest if dtype.itemsize > 2 else 0
        total = count if not rest else count - rest + skipped + _LARGE
        units: Array = self.doubles(total) if dtype == np.float64 else self.singles(total)
        if skipped:
            units = np.delete(units, slice(count - rest, count))
        blocks = units.reshape(-1, 2, _LARGE // 2)
        box_muller = _box_muller_double if dtype == np.float64 else _box_muller_single
        rows = _CHUNK // _LARGE
        for at in range(0, len(blocks), rows):
            blocks[at : at + rows] = _fma(box_muller(blocks[at : at + rows]), std, mean)
        flat = blocks.reshape(-1).astype(dtype, copy=False)
        if not rest:
            return flat
        return np.concatenate([flat[: count - _LARGE], flat[-_LARGE:]])

    def exponential(self, shape: Shape, dtype: DTypeLike = np.float32, rate: float = 1.0) -> Array:
        """One double unit per element."""
        if not rate > 0:
            raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
        shape = _as_shape(shape)
        return _narrow(-1.0 / rate * np.log1p(-self.doubles(math.prod(shape))), dtype).reshape(shape)

    def cauchy(
        self, shape: Shape, dtype: DTypeLike = np.float32, median: float = 0.0, sigma: float = 1.0
    ) -> Array:
        """One double unit per element."""
        if not sigma > 0:
            raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
        shape = _as_shape(shape)
        tangent = np.tan(math.pi * (self.doubles(math.prod(shape)) - 0.5))
        return _narrow(_fma(tangent, sigma, median), dtype).reshape(shape)

    def log_normal(
        self, shape: Shape, dtype: DTypeLike = np.float32, mean: float = 1.0, std: float = 2.0
    ) -> Array:
        """exp of a normal; always in pairs."""
        if not std > 0:
            raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
        shape = _as_shape(shape)
        return _narrow(np.exp(_fma(self._normal_pairs(math.prod(shape)), std, mean)), dtype).reshape(shape)

    def integers(self, low: int, high: int | None, shape: Shape, dtype: DTypeLike = np.int64) -> Array:
        """From low up to and without high, or (None) to the dtype's largest: one word each, two if wide."""
        dtype, shape = np.dtype(dtype), _as_shape(shape)
        count = math.prod(shape)
        if high is None and low == -(2**63):
            if dtype.name not in ("int64", "float64", "float32", "bfloat16"):
                raise RuntimeError(
                    "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16"
                )
            return _narrow(self.double_words(count).view(np.int64), dtype).reshape(shape)
        low, high = _integer_bounds(dtype, low, high)
        span = high - low
        if span < _WIDE_RANGE:
            drawn = self._drawn("integers", count, np.int64, low, span, 1 / span)
            if drawn is not None:
                return _narrow(drawn, dtype).reshape(shape)
            # NumPy divides uint32 by a scalar with vector instructions, and has none for remainders.
            words = self.words(count).astype(np.uint32)
            words -= words // np.uint32(span) * np.uint32(span)
            values = words.astype(np.int64)
        else:
            values = (self.double_words(count) % np.uint64(span)).view(np.int64)
        values += low
        return _narrow(values, dtype).reshape(shape)

    def random(self, shape: Shape, dtype: DTypeLike = np.int64) -> Array:
        """random_() without bounds: from 0 to the dtype's largest integer. 64-bit dtypes: two words each."""
        dtype, shape = np.dtype(dtype), _as_shape(shape)
        count = math.prod(shape)
        words = self.double_words(count) if dtype.itemsize == 8 else self.words(count)
        largest = 1 << _DIGITS[dtype.name] if dtype.name in _DIGITS else _largest_integer(dtype)
        return _narrow((words % np.uint64(largest + 1)).view(np.int64), dtype).reshape(shape)

    def permutation(self, count: int, dtype: DTypeLike = np.int64) -> Array:
        """Swap each place i with i + word % (count - i); the last place takes no word. (From 2**32 // 20
        places on torch shuffles in another way.)"""
        places = np.arange(count)
        if count < 2:
            return places.astype(dtype)
        swap = kernels.drawing("swaps", count)
        if swap is not None:
            swap(places, self.words(count - 1).view(np.int64))
            return places.astype(dtype, copy=False)
        left = (count - places[:-1]).astype(np.uint64)
        partner = places.copy()
        partner[:-1] += (self.words(count - 1) % left).view(np.int64)
        return _swap_forward(partner).astype(dtype)

    def bernoulli(
        self, p: Array | float, shape: Shape | None = None, dtype: DTypeLike = np.bool_, one: float = 1.0
    ) -> Array:
        """1 (or `one`, for a number p) with probability p. A number or a float64 array: double units; other
        arrays: single units."""
        shape = np.shape(p) if shape is None else _as_shape(shape)
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
        dtype, shape = np.dtype(dtype), _as_shape(shape)
        with np.errstate(divide="ignore"):
            trials = np.ceil(np.log(self.doubles(math.prod(shape))) / math.log(1.0 - p))
        return _narrow(trials if dtype.kind == "f" else trials.astype(np.int64), dtype).reshape(shape)

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
        return np.stack(chosen).reshape(*weights.shape[:-1], samples)

    # By rejection: how many units one element takes is known only once it is accepted, and decides where the
    # next element starts. These go element by element, over units that are read ahead.

    def poisson(self, rates: Array) -> Array:
        """Double units: one per factor below a rate of 10, above it two per attempt."""
        if not (rates >= 0).all():
            raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
        return self._each(self._poisson, rates.dtype, rates)

    def binomial(self, counts: Array, p: Array) -> Array:
        """Double units: one per success if few are expected, else two per attempt."""
        return self._each(self._binomial, counts.dtype, counts, p)

    def standard_gamma(self, alpha: Array) -> Array:
        """Normals in pairs and double units, after Marsaglia and Tsang."""
        one, boosted = alpha.dtype.type(1), alpha < 1
        with np.errstate(all="ignore"):
            # torch's constants are single precision: 1/3 and 0.0331 are not quite what they say
            d = (np.where(boosted, alpha + one, alpha) - alpha.dtype.type(np.float32(1 / 3))).astype(np.float64)
            exponent = np.where(boosted, one / alpha, 0).astype(np.float64)
            samples = self._each(self._gamma, alpha.dtype, d, 1.0 / np.sqrt(9.0 * d), exponent)
        np.maximum(samples, np.finfo(alpha.dtype).tiny, out=samples)
        return samples

    def dirichlet(self, alpha: Array) -> Array:
        """Gammas in float64, divided by their sum over the last axis."""
        gamma = self.standard_gamma(alpha.astype(np.float64))
        share: Array = (gamma / gamma.sum(-1, keepdims=True)).astype(alpha.dtype)
        info = np.finfo(alpha.dtype)
        return share.clip(info.tiny, 1 - info.epsneg)

    def _each(self, sample: Callable[..., float], dtype: np.dtype[Any], *arrays: Array) -> Array:
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        elements = zip(*(np.broadcast_to(a, shape).flat for a in arrays), strict=True)
        if math.prod(shape) >= _LARGE:
            self._ahead = _Ahead(self._bits)
        try:
            samples = np.fromiter((sample(*element) for element in elements), np.float64)
        finally:
            if self._ahead is not None:
                self._ahead.give_back()
                self._ahead = None
        return samples.astype(dtype).reshape(shape)

    def _poisson(self, element: np.floating) -> float:
        rate = float(element)
        if rate < 10:
            floor, product, events = math.exp(-rate), 1.0, 0
            while rate > 0:
                product *= self._double()
                if product <= floor:
                    break
                events += 1
            return events
        # Hoermann's transformed rejection, 1993
        b = 0.931 + 2.53 * math.sqrt(rate)
        a = -0.059 + 0.02483 * b
        inverse_alpha, v_r = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
        while True:
            u = self._double() - 0.5
            v = self._double()
            us = 0.5 - abs(u)
            k = math.floor((2 * a / us + b) * u + rate + 0.43)
            if us >= 0.07 and v <= v_r:
                return k
            if k < 0 or (us < 0.013 and v > us):
                continue
            if _log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b) <= (
                -rate + k * math.log(rate) - math.lgamma(k + 1)
            ):
                return k

    def _binomial(self, count: Any, p: Any) -> float:
        if count <= 0 or p <= 0:
            return 0.0
        if p >= 1:
            return float(count)
        if math.isnan(p):
            return math.nan
        if p > 0.5:
            return float(count) - self._binomial_below_half(count, type(p)(1.0 - float(p)))
        return self._binomial_below_half(count, p)

    def _binomial_below_half(self, count: Any, p: Any) -> float:
        one = type(p)(1)  # products of the inputs are rounded to their own type, the rest is double
        if count * p < 10:
            log_miss, position, successes = float(np.log1p(-p)), 0.0, 0
            while True:
                position += math.ceil(_log(self._double()) / log_miss)
                if position > count:
                    return successes
                successes += 1
        # Hoermann's BTRS, 1993
        deviation = float(np.sqrt(count * p * (one - p)))
        ratio, mode = float(p / (one - p)), math.floor((count + one) * p)
        centre, n, q = float(count * p) + 0.5, float(count), float(p)
        b = 1.15 + 2.53 * deviation
        a = -0.0873 + 0.0248 * b + 0.01 * q
        v_r, alpha = 0.92 - 4.2 / b, (2.83 + 5.1 / b) * deviation
        while True:
            u = self._double() - 0.5
            v = self._double()
            us = 0.5 - abs(u)
            k = math.floor((2 * a / us + b) * u + centre)
            if k < 0 or k > n:
                continue
            if us >= 0.07 and v <= v_r:
                return k
            bound = (
                (mode + 0.5) * math.log((mode + 1) / (ratio * (n - mode + 1)))
                + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
                + (k + 0.5) * math.log(ratio * (n - k + 1) / (k + 1))
                + _stirling_tail(mode)
                + _stirling_tail(n - mode)
                - _stirling_tail(k)
                - _stirling_tail(n - k)
            )
            if _log(v * alpha / (a / (us * us) + b)) <= bound:
                return k

    def _gamma(self, d: float, c: float, exponent: float) -> float:
        """`exponent` is 1/alpha where alpha is below 1, which was raised by 1; infinite where alpha is 0."""
        if exponent == math.inf:
            return 0.0
        scale = (1 - self._double()) ** exponent if exponent else 1.0
        while True:
            x = self._normal()
            y = 1.0 + c * x
            if y <= 0:
                continue
            v = y * y * y
            u = 1 - self._double()
            if u < 1.0 - _SQUEEZE * x**4 or math.log(u) < 0.5 * x * x + d * (
                1.0 - v + math.log(v)
            ):
                return scale * d * v


def memory_order(array: Array) -> Array:
    """The view of `array` whose C order is its memory's: the order in which torch fills it in place."""
    return array.transpose(np.argsort([-abs(step) for step in array.strides], kind="stable"))


def _as_shape(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _part(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float32 if dtype == np.complex64 else np.float64)


def _as_complex(parts: Array) -> Array:
    """(..., 2) floats as complex numbers."""
    return parts.view(np.complex64 if parts.dtype == np.float32 else np.complex128)[..., 0]


def _narrow(values: Array, dtype: DTypeLike) -> Array:
    """A cast as C++ does it: to the 16-bit floats by way of float32."""
    dtype = np.dtype(dtype)
    if dtype.itemsize == 2 and dtype.kind in "fV":
        values = values.astype(np.float32)
    return values.astype(dtype, copy=False)


class _Ahead:
    """Double units of a generator, read in large pieces; `give_back` returns to it those that nobody took."""

    def __init__(self, bits: np.random.MT19937) -> None:
        self._bits = bits
        self._units: list[float] = []
        self._taken = 0

    def double(self) -> float:
        if self._taken == len(self._units):
            self._before = self._bits.state
            pairs = self._bits.random_raw(2 * _PIECE)
            kept = ((pairs[0::2] << np.uint64(32)) | pairs[1::2]) & np.uint64(2**53 - 1)
            self._units = (kept.astype(np.float64) * 2.0**-53).tolist()
            self._taken = 0
        self._taken += 1
        return self._units[self._taken - 1]

    def give_back(self) -> None:
        if self._taken < len(self._units):
            self._bits.state = self._before
            self._bits.random_raw(2 * self._taken, output=False)


def _fma(x: Array, factor: float | np.floating, summand: float | np.floating) -> Array:
    """x * factor + summand, rounded once."""
    if x.dtype == np.float32:
        if factor == 1 and summand == 0:
            return x
        wide = x.astype(np.float64) * float(np.float32(factor)) + float(np.float32(summand))
        return wide.astype(np.float32)
    factor, summand = float(factor), float(summand)
    product = x * factor
    if summand == 0 or not 1e-200 < abs(factor) < 1e200:
        return product + summand
    # Dekker's exact product and Knuth's exact sum; what both rounded away is added at the end.
    splitter = 2.0**27 + 1
    x_high = splitter * x - (splitter * x - x)
    high = splitter * factor - (splitter * factor - factor)
    x_low, low = x - x_high, factor - high
    lost = ((x_high * high - product) + x_high * low + x_low * high) + x_low * low
    total = product + summand
    back = total - product
    return total + (((product - (total - back)) + (summand - back)) + lost)


def _box_muller_double(blocks: Array) -> Array:
    radius, angle = np.sqrt(-2.0 * np.log(1.0 - blocks[:, 0])), 2.0 * math.pi * blocks[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)


def _box_muller_single(blocks: Array) -> Array:
    radius = np.sqrt(np.float32(-2) * _log_single(np.float32(1) - blocks[:, 0]))
    sine, cosine = _sincos_single(np.float32(2 * math.pi) * blocks[:, 1])
    return np.stack([radius * cosine, radius * sine], 1)


# The single precision logarithm, sine and cosine below are Cephes' (Stephen Moshier), in the order of steps
# that torch's vector code has. NumPy's own are as accurate, but one normal in seven would end differently.


def _polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    """Horner's scheme in float32 with fused steps. A product of two float32 is exact in float64."""
    wide = x.astype(np.float64)
    step, y = np.empty_like(wide), np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        step[...] = y
        step *= wide
        step += c
        y[...] = step
    return y


def _singles(*numbers: float) -> tuple[float, ...]:
    return tuple(np.array(numbers, np.float32).tolist())


LOGARITHM = _singles(
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
COSINE = _singles(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
SINE = _singles(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)


def _log_single(x: Array) -> Array:
    fraction, exponent = np.frexp(x)
    low = fraction < np.float32(math.sqrt(0.5))
    e = (exponent - low).astype(np.float32)
    x = np.where(low, fraction + fraction, fraction) - np.float32(1)
    square = x * x
    y = (_polynomial(x, LOGARITHM) * x).astype(np.float64) * square
    y = (y + e * np.float32(-2.12194440e-4)).astype(np.float32)  # the low part of log 2, then the high one
    result: Array = x + (y - square * np.float32(0.5)) + e * np.float32(0.693359375)
    return result


def _sincos_single(x: Array) -> tuple[Array, Array]:
    """For x >= 0."""
    octant = (x * np.float32(4 / math.pi)).astype(np.int32) + 1 & ~1
    y = octant.astype(np.float32)
    x = x + y * np.float32(-0.78515625) + y * np.float32(-2.4187564849853515625e-4)
    x = (y.astype(np.float64) * float(np.float32(-3.77489497744594108e-8)) + x).astype(np.float32)
    square = x * x
    wide = square.astype(np.float64)
    near_one = (_polynomial(square, COSINE) * square * wide - wide * 0.5).astype(np.float32) + np.float32(1)
    near_zero = ((_polynomial(square, SINE) * square).astype(np.float64) * x + x).astype(np.float32)
    upright = octant & 2 == 0
    sine, cosine = np.where(upright, near_zero, near_one), np.where(upright, near_one, near_zero)
    sine.view(np.int32)[...] ^= (octant & 4) << 29  # moves the 4 to the sign bit
    cosine.view(np.int32)[...] ^= (octant + 2 & 4) << 29
    return sine, cosine


def _swap_forward(partner: NDArray[np.int64]) -> NDArray[np.int64]:
    """The list 0, 1, 2, ... after swapping place i with place partner[i] >= i, for each i in turn.

    Step i sends what place i held at that time, held[i], to its partner. So at any time a place holds what
    the last step that had it as its partner sent there, or else still its own number.
    """
    count = len(partner)
    places = np.arange(count)
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
    last = np.where(last == places, previous, last)
    held = np.where(last >= 0, last, places)
    while not np.array_equal(further := held[held], held):  # doubles the length of chain that is followed
        held = further
    return np.where(previous >= 0, held[previous], partner)


def _check_uniform(dtype: np.dtype[Any], low: float, high: float) -> None:
    limit = _LARGEST.get(dtype.name, 1.7976931348623157e308)
    for name, bound in (("from", low), ("to", high)):
        if not -limit <= bound <= limit:
            raise RuntimeError(f"{name} is out of bounds for {_C_NAMES[dtype.name]}")
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


def _largest_integer(dtype: np.dtype[Any]) -> int:
    return 1 if dtype.kind == "b" else int(np.iinfo(dtype).max)


@lru_cache(maxsize=256)
def _integer_bounds(dtype: np.dtype[Any], low: int, high: int | None) -> tuple[int, int]:
    """The range as torch draws from it: for floats moved inwards, to where casting stays in the range."""
    digits = _DIGITS.get(dtype.name)
    if high is not None and low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if digits is None:
        largest = min(_largest_integer(dtype), 2**63 - 1)
        smallest = 0 if dtype.kind in "ub" else -largest - 1
        high = _largest_integer(dtype) + 1 if high is None else high
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
            raise RuntimeError(f"{name} is out of bounds for {_C_NAMES[dtype.name]}")
    return low, high


def _rounded(value: int, digits: int) -> int:
    """`value` rounded to a significand of so many digits."""
    step = 1 << max(abs(value).bit_length() - digits, 0)
    return round(Fraction(value, step)) * step


def _check_multinomial(weights: Array, samples: int, replacement: bool) -> None:
    if not 1 <= weights.ndim <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and samples > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if not ((weights >= 0) & (weights < math.inf)).all():
        if replacement and samples > 1:
            fault = "entry = infinity or NaN" if (weights >= 0).all() else "entry < 0"
            raise RuntimeError(f"invalid multinomial distribution (encountering probability {fault})")
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.sum(-1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


_STIRLING_TAIL = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def _stirling_tail(k: float) -> float:
    """log(k!) less Stirling's formula."""
    if k <= 9:
        return _STIRLING_TAIL[int(k)]
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
