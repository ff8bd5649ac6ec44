"""Random programs agree with torch in everything that shows: values, gradients, None-ness, versions, errors."""

from __future__ import annotations

import os

import programs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# A smaller number in the everyday run; WHYGRAD_PROGRAMS=5000 for the long one.
COUNT = int(os.environ.get("WHYGRAD_PROGRAMS", "300"))

instruction = st.tuples(st.sampled_from(sorted(programs.OPS)), st.integers(0, 11), st.integers(0, 11), st.integers(0, 4))


@settings(max_examples=COUNT, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.lists(instruction, min_size=3, max_size=25))
def test_random_programs(program: list[programs.Instruction]) -> None:
    programs.run(program)
