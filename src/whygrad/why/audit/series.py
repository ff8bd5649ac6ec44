"""Series: a number over the rounds of a run, in bounded memory."""

from __future__ import annotations

# Entries kept. When there are more, every second one is dropped, and from then on every second new one.
MAX_ENTRIES = 256


class Series:
    """Keeps evenly spread entries (round, value), and exactly the first, last, least and greatest value."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, float]] = []
        self.count = 0
        self._stride = 1
        self.last_number = -1
        self.first = self.last = float("nan")
        self.least, self.greatest = float("inf"), float("-inf")

    def add(self, number: int, value: float) -> None:
        if not self.count:
            self.first = value
        self.last_number, self.last = number, value
        if value < self.least:  # comparisons with nan are false, so that nan is not taken
            self.least = value
        if value > self.greatest:
            self.greatest = value
        if self.count % self._stride == 0:
            self.entries.append((number, value))
            if len(self.entries) > MAX_ENTRIES:
                self.entries = self.entries[::2]
                self._stride *= 2
        self.count += 1

    @property
    def values(self) -> list[float]:
        return [value for _, value in self.entries]
