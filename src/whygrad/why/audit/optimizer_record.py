"""OptimizerRecord: what the audit knows of one optimizer."""

from __future__ import annotations

from typing import Any

from whygrad.why.optimizer_usage import optimizer_parameters
from whygrad.why.record import Site


class OptimizerRecord:
    """Holds the optimizer, and with it its parameters, so that they can be judged after the function that made it returned."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer
        self.made_at: Site | None = vars(optimizer).get("_site")
        self.stepped_at: Site | None = None
        self.steps = 0
        self.first_round = -1
        self.last_round = -1
        self._held: tuple[int, set[int]] = (0, set())

    @property
    def kind(self) -> str:
        return type(self.optimizer).__name__

    @property
    def groups(self) -> list[dict[str, Any]]:
        return vars(self.optimizer).get("param_groups", [])

    @property
    def parameters(self) -> list[Any]:
        return optimizer_parameters(self.optimizer)

    @property
    def held_ids(self) -> set[int]:
        """The ids of its parameters. They are collected again when groups are added."""
        groups = self.groups
        count = sum(len(group["params"]) for group in groups)
        if count != self._held[0]:
            self._held = count, {id(p) for p in self.parameters}
        return self._held[1]

    def note_step(self, number: int, site: Site) -> None:
        self.steps += 1
        self.stepped_at = site
        self.last_round = number
        if self.first_round < 0:
            self.first_round = number
