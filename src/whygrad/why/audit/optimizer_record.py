"""OptimizerRecord: what the audit knows of one optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.why import record
from whygrad.why.engine import made_at, next_sequence_number
from whygrad.why.optimizer_usage import optimizer_parameters
from whygrad.why.record import Site


class OptimizerRecord:
    """Holds the optimizer, and with it its parameters, so that they can be judged after the function that made it returned."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer
        self.kind = type(optimizer).__name__
        self.made_at: Site | None = made_at(optimizer)
        self.made_number = next_sequence_number()
        self.stepped_at: Site | None = None
        self.steps = 0
        self.first_round = -1
        self.last_round = -1
        # The ids of its parameters, collected anew before each step: a program may exchange them.
        self.held_ids = {id(p) for p in self.parameters}
        # In rounds in which the audit rests: how many parameters had a gradient, and the state of the gradients that was last
        # seen, or is on its way from the device.
        self.with_gradient = 0
        self.glanced_state = ""
        self.symptom: Callable[[], str | None] | None = None
        # Where the function was called that made it, and so on outwards.
        self.callers = record.callers()

    @property
    def groups(self) -> list[dict[str, Any]]:
        return [] if self.optimizer is None else vars(self.optimizer).get("param_groups", [])

    @property
    def parameters(self) -> list[Any]:
        return [] if self.optimizer is None else optimizer_parameters(self.optimizer)

    def let_go(self) -> None:
        """Keep the numbers, not the optimizer and its parameters."""
        self.optimizer = None

    def note_step(self, number: int, site: Site) -> None:
        self.steps += 1
        self.stepped_at = site
        self.last_round = number
        if self.first_round < 0:
            self.first_round = number
