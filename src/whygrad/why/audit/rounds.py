"""How closely each round of a run is looked at. A round is what happens between two steps of optimizers.

- *observed*: calls of functions and modules are heard of, backward passes are traced, arrays are looked at;
- *listened to*: only what is told at the door and by optimizers, which costs microseconds on whygrad's own engine; on torch
  there are no such rounds;
- else the audit rests: it counts steps, looks whether the loss is finite, and glances at the gradients.
"""

from __future__ import annotations

# The first rounds are all observed; those after them are all listened to, later one in so many.
OBSERVED_FIRST = 12
# `whygrad audit` observes more of them.
OBSERVED_BY_AUDIT = 100
# So are the first rounds of a new optimizer (a second stage, another trial), of so many that one line makes.
OPTIMIZERS_OF_A_LINE = 8
LISTENED_FIRST, LISTENED_LATER = 256, 64
# On torch: the first rounds of each line that calls backward(), however late it comes; and later two in a row of so many.
FIRST_OF_A_LINE, SAMPLED_EVERY = 3, 200
# Rounds that are observed after a symptom. While the audit rests: how often it looks which gradients are missing, and measures
# all of them.
ARMED, GLANCE_EVERY, MEASURE_EVERY = 2, 4, 32
# A program without an optimizer: backward passes after which each counts as a round.
PASSES_WITHOUT_STEP = 64


def is_observed(number: int) -> bool:
    """The first rounds, then two in a row at 16, 24, 32, 48, 64, 96 ...: a change shows between two neighbours."""
    if number < OBSERVED_FIRST:
        return True
    for start in (number, number - 1):
        power = 1 << max(start.bit_length() - 1, 4)
        if start in (power, power + power // 2):
            return True
    return False


def is_sampled(number: int) -> bool:
    return number >= SAMPLED_EVERY and number % SAMPLED_EVERY < 2


def is_listened(number: int) -> bool:
    return number < LISTENED_FIRST or number % LISTENED_LATER == 0


def next_look(number: int) -> int:
    """The first round behind one in which the audit rests that may be looked at more closely: later ones are all listened to or
    sampled (`LISTENED_FIRST`, and the powers of two behind it, are multiples of `LISTENED_LATER`)."""
    if number < LISTENED_FIRST:
        return number + 1
    return min((number // every + 1) * every for every in (LISTENED_LATER, SAMPLED_EVERY))
