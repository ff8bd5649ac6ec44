"""SchedulerRecord: what the audit knows of one learning rate scheduler."""

from __future__ import annotations

from typing import Any

from whygrad.why import record
from whygrad.why.record import Site


class SchedulerRecord:
    def __init__(self, scheduler: Any, made_at: Site) -> None:
        self.scheduler = scheduler
        self.made_at = made_at
        # Where the function was called that made it (of a library, say), and so on outwards.
        self.callers = record.callers()
        self.stepped_at: Site | None = None
        self.steps = 0
        self.first_round = -1
        # Steps without a step of an optimizer since the one before.
        self.last_round = -1
        self.idle_steps = 0

    @property
    def kind(self) -> str:
        return type(self.scheduler).__name__

    @property
    def optimizer(self) -> Any:
        """The optimizer itself, where the scheduler has one that wraps it."""
        found = vars(self.scheduler).get("optimizer")
        while found is not None and "optimizer" in vars(found):
            found = vars(found)["optimizer"]
        return found

    def note_step(self, number: int, site: Site) -> None:
        if vars(self.scheduler).get("_is_initial"):
            return  # the constructor sets the first rate
        if not self.steps:
            self.first_round = number
        self.idle_steps += number == self.last_round
        self.steps += 1
        self.last_round = number
        self.stepped_at = site
