"""A test may set the number of threads: afterwards it is what it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from whygrad.kernels.pool import pool


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = pool().threads()
    yield
    pool().set_threads(before)
