"""The stream itself: its state, and uniform numbers in [0, 1)."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from whygrad._rng.arrays import Array
from whygrad.base import acceleration

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
_PIECE = 1 << 12  # units that are read ahead at once


class Words:
    """Words of 32 bits, and units made of them."""

    _address = 0  # the address of the generator's state, set when a kernel needs it

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self._bits = np.random.MT19937()
        self.seed(seed)

    def __getstate__(self) -> dict[str, Any]:
        """Without the address, which is not valid in a copy."""
        return {name: value for name, value in vars(self).items() if name != "_address"}

    def seed(self, seed: int) -> None:
        """Reset. Negative seeds wrap around at 2**64; the engine uses the low 32 bits."""
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self.initial_seed = seed % 2**64
        np.random.RandomState(self._bits).seed(seed & 0xFFFFFFFF)
        self._ahead: Ahead | None = None
        self._cached: float | None = None  # the cached second normal of a pair

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

    def _drawn(self, name: str, shape: int | tuple[int, ...], dtype: DTypeLike, *numbers: float) -> Array | None:
        """Draw with a kernel if there is one (see kernels/random.py)."""
        out = np.empty(shape, dtype)
        draw = acceleration.drawing(name, out.size)
        if draw is None:
            return None
        if not self._address:
            self._address = self._bits.ctypes.state_address
        draw(self._address, out, *numbers)
        return out

    def singles(self, count: int) -> NDArray[np.float32]:
        drawn = self._drawn("singles", count, np.float32, 0, 1, 0)
        if drawn is not None:
            return drawn
        kept = self.words(count) & np.uint64(2**24 - 1)
        return kept.astype(np.float32) * np.float32(2.0**-24)

    def doubles(self, count: int) -> NDArray[np.float64]:
        drawn = self._drawn("doubles", count, np.float64, 0, 1, 0)
        if drawn is not None:
            return drawn
        kept = self.double_words(count) & np.uint64(2**53 - 1)
        return kept.astype(np.float64) * 2.0**-53

    def _double(self) -> float:
        """One double unit, for samplers in which each draw depends on the last."""
        if self._ahead is not None:
            return self._ahead.double()
        high: Any = self._bits.random_raw()
        low: Any = self._bits.random_raw()
        return float((high & 0x1FFFFF) << 32 | low) * 2.0**-53


class Ahead:
    """Double units of a generator, read in large chunks; `give_back` returns the unused ones."""

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
