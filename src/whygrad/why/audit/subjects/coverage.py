"""Coverage: does the loss depend on every output of a model, and on every sample of its batch?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, count_of, finding, listed
from whygrad.why.audit.observation import ModuleCall, of_outermost, tensors_of
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import array_of, is_grad_enabled, is_node, is_tensor, shape_of, source_of
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

# Samples seen for each column before one that got no gradient counts as unused: an action may not have been drawn yet.
CHANCES = 20
MIN_ROUNDS = 4
MAX_OUTPUTS, MAX_WAITING, MAX_SIZE = 16, 64, 4_000_000


class Covered:
    """Which columns of an output, and how many of its rows, ever had a gradient."""

    def __init__(self, module: Any, site: Site, place: str, shape: tuple[int, ...], axis: int) -> None:
        self.module, self.site, self.place, self.axis = module, site, place, axis
        self.rounds: set[int] = set()
        self.columns = np.zeros(shape[axis], bool)
        # The greatest number of rows of one batch that had a gradient, and the least number of rows.
        self.rows = 0
        self.batch = shape[0]


class Coverage(Subject):
    checks = {"outputs-count": "the loss depends on every output, and on every sample"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self._outputs: dict[tuple[int, str, int], Covered] = {}
        # By sequence number of a node whose backward has not come yet: the output that it made.
        self._waiting: dict[int, Covered] = {}

    @of_outermost
    def module_called(self, call: ModuleCall) -> None:
        if not is_grad_enabled() or not any(True for _ in call.module.parameters()):
            return
        given = {length for t in tensors_of(call) for length in shape_of(t)[1:]}
        outputs = enumerate(call.output) if isinstance(call.output, tuple) else [("", call.output)]
        for place, output in outputs:
            shape = shape_of(output) if is_tensor(output) else ()
            node = source_of(output) if len(shape) >= 2 else None
            axis = 1 if len(shape) == 4 else len(shape) - 1  # channels of maps, features of sequences
            is_known = len(shape) != 3 or shape[-1] not in given  # else it may be the time
            if is_known and is_node(node) and shape[0] > 1 and (known := self._known(call, str(place), shape, axis)) is not None:
                self._waiting[node.seq] = known
                drop_oldest(self._waiting, MAX_WAITING)

    def _known(self, call: ModuleCall, place: str, shape: tuple[int, ...], axis: int) -> Covered | None:
        key = id(call.module), place, shape[axis]
        if key not in self._outputs and len(self._outputs) < MAX_OUTPUTS:
            self._outputs[key] = Covered(call.module, call.site, place, shape, axis)
        return self._outputs.get(key)

    def node_ran(self, node: Any, g: Any, grads: tuple[Any, ...]) -> None:
        known = self._waiting.pop(node.seq, None) if self._waiting else None
        if known is None:
            return
        values = np.asarray(array_of(g))
        if values.ndim > known.axis and values.shape[known.axis] == len(known.columns) and 0 < values.size <= MAX_SIZE:
            reached = np.moveaxis(values != 0, known.axis, -1).reshape(len(values), -1, len(known.columns))
            if not reached.any():
                return
            known.columns |= reached.any((0, 1))
            known.rows = max(known.rows, int(reached.any((1, 2)).sum()))
            known.batch = min(known.batch, len(values))
            known.rounds.add(self.audit.round)

    def was_seen(self, check: str) -> bool:
        return any(known.rounds for known in self._outputs.values())

    def findings(self) -> Iterator[Finding]:
        for known in self._outputs.values():
            if len(known.rounds) < MIN_ROUNDS:
                continue
            name = type(known.module).__name__ + (f" (result {known.place})" if known.place else "")
            dead = np.flatnonzero(~known.columns)
            if 0 < len(dead) < len(known.columns) and known.batch * len(known.rounds) >= CHANCES * len(known.columns):
                yield self._found(known, f"a part of what {name} gives is never used",
                                  f"Of the {len(known.columns)} columns of what {name} gives {at(known.site)}, "
                                  f"{count_of(len(dead), 'column')} ({listed([str(i) for i in dead])}) had no gradient")
            elif known.rows == 1 and known.batch >= 4:
                yield self._found(known, "only one sample of each batch counts",
                                  f"{name}, called {at(known.site)}, gives {known.batch} rows or more, and only one of them had "
                                  "a gradient")

    def _found(self, known: Covered, headline: str, text: str) -> Finding:
        found = finding("outputs-count", "output-unused", headline,
                        f"{text} in {count_of(len(known.rounds), 'observed step')}: the loss does not depend on the rest, and it "
                        "cannot be learned.", "look at the indices between this output and the loss.",
                        causes=(known.site,), symptom="no-update")
        found.unless = {"broadcast-loss", "wrong-dim", "masked-all", "class-ignored", "detach", "wrong-loss-input", "zero-factor",
                        "unused-in-loss", "class-never-seen"}
        return found
