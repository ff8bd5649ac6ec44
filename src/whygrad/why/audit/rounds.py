"""Which rounds of a run are observed. A round is what happens between two steps of optimizers."""

from __future__ import annotations

from collections.abc import Callable

# Says of a round's number whether it is observed.
Schedule = Callable[[int], bool]

# The first rounds are all observed.
FIRST = 12


def sampled(number: int) -> bool:
    """The first rounds, then two in a row at 16, 24, 32, 48, 64, 96 ...: a change shows between two neighbours."""
    if number < FIRST:
        return True
    for start in (number, number - 1):
        power = 1 << (start.bit_length() - 1)
        if start >= 16 and (start == power or start == power + power // 2):
            return True
    return False


def every(number: int) -> bool:
    """All rounds: `whygrad audit`, which runs a few steps and may take its time."""
    return True
