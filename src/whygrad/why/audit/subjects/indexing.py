"""Indexing: are values lost that are written to one place, is a row looked up that never learns, is each its own neighbour?"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import Call, ModuleCall, of_functions
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import array_of, is_node, is_tensor, kind_of, shape_of, size_of, source_of
from whygrad.why.locations import locate
from whygrad.why.program_text import statement_of
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

MIN_ROUNDS = 3
MAX_SITES = 64
MAX_SIZE = 1_000_000
SMALLEST = {"min", "amin", "argmin"}


class Indexing(Subject):
    checks = {
        "index-writes": "what is added to places by index is added, where an index occurs twice",
        "padding-row": "the row of an embedding that is padding is no row of a sample",
        "own-neighbour": "the nearest of a set is not the element itself",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # By line: rounds, values written, and places they were written to, of the last time.
        self._writes: dict[Site, tuple[set[int], int, int]] = {}
        self._adds: dict[Site, bool] = {}
        # By id of an embedding: the module, rounds with the padding among real rows, rounds in all, and where it was called.
        self._padding: dict[int, tuple[Any, set[int], set[int], Site]] = {}
        # By line: rounds in which each row's smallest element was the one of the diagonal, and those in which not.
        self._nearest: dict[Site, tuple[set[int], set[int], int]] = {}
        # By line of a loss over a square of scores: whether each element competes with itself.
        self._compared: dict[Site, list[bool]] = {}
        self._scores: dict[Site, tuple[Site, ...]] = {}

    @of_functions("__setitem__", *SMALLEST)
    def called(self, call: Call) -> None:
        name = call.name.rpartition(".")[2]
        if name == "__setitem__" and len(call.args) == 3:
            self._note_write(call)
        elif name in SMALLEST and call.args and is_tensor(call.args[0]):
            self._note_smallest(call)

    def _note_write(self, call: Call) -> None:
        target, index, value = call.args
        if not is_tensor(value) or not is_tensor(target) or not (value.requires_grad or target.requires_grad):
            return
        if isinstance(index, tuple) and len(index) == 1:
            index = index[0]
        if not is_tensor(index) or kind_of(index) != "i" or not 1 < size_of(index) <= MAX_SIZE or not self._is_adding(call.site):
            return
        places = np.unique(array_of(index)).size
        if places < size_of(index):
            self._writes.setdefault(call.site, (set(), size_of(index), places))[0].add(self.audit.round)
            drop_oldest(self._writes, MAX_SITES)

    def _is_adding(self, site: Site) -> bool:
        """Whether the statement writes what was there, and something more: `t[i] += x`, `t[i] = t[i] + x`."""
        found = self._adds.get(site)
        if found is None:
            statement = statement_of(locate(site))
            found = isinstance(statement, ast.AugAssign)
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
                target = ast.unparse(statement.targets[0])
                found = any(isinstance(node, ast.Subscript) and ast.unparse(node) == target for node in ast.walk(statement.value))
            self._adds[site] = found
            drop_oldest(self._adds, MAX_SITES)
        return found

    def _note_smallest(self, call: Call) -> None:
        t, dim = call.args[0], call.kwargs.get("dim", call.args[1] if len(call.args) > 1 else None)
        shape = shape_of(t)
        if (not t.requires_grad or len(shape) != 2 or shape[0] != shape[1] or shape[0] < 4 or size_of(t) > MAX_SIZE
                or not isinstance(dim, int)):
            return
        values = array_of(t)
        own = values.diagonal()
        is_own = bool((own == 0).all() and (values.min(dim) == own).all() and np.count_nonzero(values) >= values.size // 2)
        bad, fine, _ = self._nearest.setdefault(call.site, (set(), set(), shape[0]))
        (bad if is_own else fine).add(self.audit.round)
        drop_oldest(self._nearest, MAX_SITES)

    def module_called(self, call: ModuleCall) -> None:
        padding, given = vars(call.module).get("padding_idx"), call.args[0] if call.args else None
        if padding is None or "num_embeddings" not in vars(call.module) or not is_tensor(given) or kind_of(given) != "i":
            return
        tokens = array_of(given)
        if tokens.ndim == 2 and tokens.shape[1] == 1:
            tokens = tokens[:, 0]
        if tokens.size < 2 or tokens.ndim > 2:
            return
        _, among, rounds, _ = self._padding.setdefault(id(call.module), (call.module, set(), set(), call.site))
        is_alone = self.audit.round not in rounds  # a loop over time looks up one column after the other
        rounds.add(self.audit.round)
        if not is_alone:
            among.clear()
        elif tokens.ndim == 1 and (tokens == padding).any() and not (tokens == padding).all():
            among.add(self.audit.round)
        drop_oldest(self._padding, MAX_SITES)

    def loss_called(self, call: Call) -> None:
        """Scores of a batch against itself, as of a contrastive loss: symmetric, and greatest where both are the same."""
        scores, target = call.argument(0, "input"), call.argument(1, "target")
        if not (self.audit.is_observing and call.name.endswith("cross_entropy") and is_tensor(scores) and is_tensor(target)):
            return
        shape = shape_of(scores)
        if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 4 or shape_of(target) != shape[:1]:
            return
        values = array_of(scores)
        diagonal = values.diagonal()
        is_own = (diagonal >= values.max(1) - 1e-6).mean() > 0.95 and (array_of(target) != np.arange(len(values))).all()
        self._compared.setdefault(call.site, []).append(bool(is_own and np.allclose(values, values.T, rtol=1e-3, atol=1e-4)))
        source = source_of(scores)
        self._scores[call.site] = (source.site,) if is_node(source) else ()
        del self._compared[call.site][MIN_ROUNDS + 8:]
        drop_oldest(self._compared, MAX_SITES)

    def was_seen(self, check: str) -> bool:
        return bool({"index-writes": self._adds, "padding-row": self._padding}.get(check, self._nearest))

    def findings(self) -> Iterator[Finding]:
        for site, (rounds, values, places) in self._writes.items():
            if len(rounds) >= MIN_ROUNDS:
                yield finding("index-writes", "values-overwritten", "values that should be added up overwrite each other",
                              f"{values} values are written to {places} places {at(site)}: an index occurs several times, and "
                              "t[index] = t[index] + x does not add up; of those that go to one place the last one stays, and "
                              f"{values - places} are lost, with their gradients, in {count_of(len(rounds), 'observed step')}.",
                              "add them up: t.index_add_(0, index, x), scatter_add_, or index_put_(..., accumulate=True).",
                              causes=(site,), symptom="wrong-value")
        for module, among, rounds, site in self._padding.values():
            if len(among) >= max(MIN_ROUNDS, 0.5 * len(rounds)):
                path = self.audit.path_of(module)
                yield finding("padding-row", "class-ignored", "a row of an embedding is used, and never learns",
                              f"`{path}` has padding_idx={module.padding_idx}, and index {module.padding_idx} was looked up "
                              f"{at(site)} as one of the samples, in {count_of(len(among), 'observed step')}: one index for each "
                              "sample is no sequence with padding. This row is zero, gets no gradient, and stays as it is.",
                              "leave out padding_idx, or let the real indices begin at 1.",
                              at=site, causes=(self.audit.modules.made_at(module), site), symptom="zero")
        for site, compared in self._compared.items():
            if len(compared) >= MIN_ROUNDS and all(compared):
                yield finding("own-neighbour", "self-compared", "each element is among its own candidates",
                              f"cross_entropy {at(site)} takes rows of a square of scores, those of a batch with itself: it is "
                              "symmetric, and the score of an element with itself, the greatest of its row, stands among the "
                              f"candidates in all {len(compared)} observed steps, though it is never the target. What pulls an "
                              "element from itself drowns what it should learn.",
                              "leave the diagonal out: scores.masked_fill(torch.eye(n, dtype=torch.bool), -inf).",
                              causes=(site, *self._scores.get(site, ())), symptom="wrong-value")
        for site, (bad, fine, size) in self._nearest.items():
            if len(bad) >= MIN_ROUNDS and not fine:
                yield finding("own-neighbour", "term-without-influence", "the nearest element of each is itself",
                              f"The smallest of each row is taken {at(site)} from a matrix of {size} by {size} distances whose "
                              "diagonal is 0, the distance of each element to itself: it is always that one. The result is 0 in "
                              f"all {count_of(len(bad), 'observed step')}, has no gradient, and trains nothing.",
                              "leave the diagonal out (mask it with a large number), or take the largest where the hardest is "
                              "meant.", causes=(site,), symptom="zero")
