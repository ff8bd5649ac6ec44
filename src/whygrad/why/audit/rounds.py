"""Which rounds of a run are observed. A round is what happens between two steps of optimizers."""

from __future__ import annotations

# The first rounds are all observed.
FIRST = 12


def is_observed(number: int) -> bool:
    """The first rounds, then two in a row at 16, 24, 32, 48, 64, 96 ...: a change shows between two neighbours."""
    if number < FIRST:
        return True
    for start in (number, number - 1):
        power = 1 << (start.bit_length() - 1)
        if start >= 16 and (start == power or start == power + power // 2):
            return True
    return False
