"""Programs of `benchmarks.soak`: every row as machine code at its first call, against NumPy alone. Two processes run them."""

from __future__ import annotations

import atexit
import random
from collections.abc import Iterable
from functools import cache
from typing import Any

PATIENCE = 300.0  # seconds for one program


@cache
def _workers() -> list[Any]:
    from benchmarks.soak import Worker

    workers = [Worker("always"), Worker("0")]
    for worker in workers:
        atexit.register(worker.stop)
    return workers


class Kernels:
    name = "kernels"

    def make(self, choose: random.Random) -> int:
        return choose.randrange(10**9)

    def problem(self, number: int) -> str | None:
        from benchmarks.soak import difference

        for worker in _workers():
            worker.ask(number)
        return difference(*[worker.answer(PATIENCE) for worker in _workers()])

    def smaller(self, number: int) -> Iterable[int]:
        return ()

    def script(self, number: int) -> str:
        return f"# python -m benchmarks.soak --only {number}\n"


KIND = Kernels()
