"""torch.random: generators and seeds. The numbers themselves are drawn in `_rng`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from whygrad.base import devices
from whygrad.base.unsupported import absent_from
from whygrad.core.tensor import Tensor
from whygrad.functional.fresh import fresh
from whygrad.why import record as why

if TYPE_CHECKING:
    from whygrad._rng import Stream
__getattr__ = absent_from("torch.random")

__all__ = ["Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed",
           "set_rng_state"]


class Generator:
    """A stream of random numbers; the same seed gives the same numbers as torch's."""

    def __init__(self, device: Any = "cpu") -> None:
        devices.check_device(device)

    @cached_property
    def stream(self) -> Stream:
        # Imported late because NumPy's generators are slow to load and many programs draw no numbers.
        from whygrad._rng import Stream

        stream = Stream()
        if self is default_generator:
            stream.seed_from_os()
        return stream

    @property
    def device(self) -> devices.device:
        return devices.CPU

    def manual_seed(self, seed: int) -> Generator:
        """Restart the stream from a seed."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        self.stream.seed(int(seed))
        return self

    def seed(self) -> int:
        """Restart the stream from a seed drawn from the operating system."""
        return self.stream.seed_from_os()

    def initial_seed(self) -> int:
        return self.stream.initial_seed

    def get_state(self) -> Tensor:
        return fresh(self.stream.get_state())

    def set_state(self, new_state: Tensor) -> Generator:
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        self.stream.set_state(new_state._array)
        return self

    def clone_state(self) -> Generator:
        """A generator that continues from the current state, independently of this one."""
        return Generator().set_state(self.get_state())

    def __reduce__(self) -> Any:
        return _rebuild_generator, (self.stream.get_state(),)


def _rebuild_generator(state: np.ndarray) -> Generator:
    return Generator().set_state(fresh(state))


default_generator = Generator()


def manual_seed(seed: Any) -> Generator:
    """Seed the default generator."""
    why.tell("seeded")
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seed the default generator from the operating system."""
    return default_generator.seed()


def initial_seed() -> int:
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, _caller: str = "fork_rng", _devices_kw: str = "devices",
             device_type: str = "cuda") -> Iterator[None]:
    """Restore the state of the default generator after the block."""
    if not enabled:
        yield
        return
    before = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(before)
