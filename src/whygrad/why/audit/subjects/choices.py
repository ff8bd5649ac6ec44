"""Choices: does the error of what is chosen reach what has chosen it?"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from whygrad.why.audit.finding import Finding, count_of, finding, listed
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at, is_sampling
from whygrad.why.engine import end_of, is_node, is_parameter
from whygrad.why.gradient_flow import leaves_from, summands_of
from whygrad.why.locations import SourceLocation, locate, location_of_line
from whygrad.why.program_text import dotted_names, statement_of, statements, targets_of
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

MIN_ROUNDS = 3
# Cuts that are made on purpose: what they cut off is not missed.
MEANT = {"detach", "grad-mode-off"}
# Nodes of a summand that are looked at; lines.
MAX_NODES, MAX_SITES = 2000, 64


class Choices(Subject):
    """A term of the loss that depends on parameters through a choice only (argmin), while another term reaches them."""

    checks = {"choices": "an error that comes about through a choice reaches what has chosen"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # By line of the choice: rounds, the line of what was computed with it, and the parameters.
        self._cut: dict[Site, tuple[set[int], Site, Site, list[Any]]] = {}
        self._seen = False

    def backward_begun(self, backward: Any, root: Any) -> None:
        if not self.audit.is_observing or not is_node(root):
            return
        summands = [_dependence(node) for node in summands_of(root)]
        for leaves, cuts in summands:
            meant = {key for cause, _ in cuts if cause.kind in MEANT for key in _parameters_behind(cause)}
            for cause, user in cuts:
                if cause.kind in MEANT:
                    continue
                self._seen = True
                chosen_by = _parameters_behind(cause)
                left_out = {key: p for key, p in chosen_by.items() if key not in leaves}
                others = {key for other, _ in summands if other is not leaves for key in other}
                if left_out and not left_out.keys() & meant and left_out.keys() <= others:
                    rounds = self._cut.setdefault(cause.site, (set(), user, backward.site, list(left_out.values())))[0]
                    rounds.add(self.audit.round)
                    drop_oldest(self._cut, MAX_SITES)

    def was_seen(self, check: str) -> bool:
        return self._seen

    def findings(self) -> Iterator[Finding]:
        for site, (rounds, user, loss, parameters) in self._cut.items():
            if len(rounds) < MIN_ROUNDS:
                continue
            names = [self.audit.name_of(p) or f"a tensor of shape {tuple(p.shape)}" for p in parameters]
            found = finding("choices", "non-differentiable-op", "an error does not reach what has made the choice",
                            f"A term of the loss {at(loss)} depends on {count_of(len(names), 'parameter')} ({listed(names)}) "
                            f"only through the choice {at(site)}, which has no derivative: what is chosen, {at(user)}, is "
                            f"trained by it, and what chooses is not, in {count_of(len(rounds), 'observed step')}. Other terms "
                            "train it, and hide that.",
                            "let the gradient pass straight through: z + (chosen - z).detach().",
                            at=loss, causes=(user, site, *_returned(user)), parameters=names,
                            symptom="wrong-value")
            found.unless = {"detach", "unused-in-loss", "non-differentiable-op"}
            yield found
            return


def _returned(site: Site) -> list[SourceLocation]:
    """The line that returns what a line makes: there the gradient could pass straight through."""
    here = locate(site)
    names = targets_of(statement_of(here))
    return [] if here is None else [
        location_of_line(here.file, s.lineno, here.function) for s in statements(here.file)
        if isinstance(s, ast.Return) and s.lineno > here.line and site[0] is not None and names & dotted_names(s)][:1]


def _parameters_behind(cause: Any) -> dict[int, Any]:
    behind = [x for reference in cause.behind if (x := reference()) is not None]
    return {id(p): p for p in (*leaves_from([x for x in behind if is_node(x)]), *behind) if is_parameter(p)}


def _dependence(summand: Any) -> tuple[dict[int, Any], list[tuple[Any, Site]]]:
    """The parameters that a summand reaches, and the cuts by which it depends on others, with the lines that use them."""
    pending, seen = [summand], set[int]()
    leaves: dict[int, Any] = {}
    cuts: list[tuple[Any, Site]] = []
    while pending and len(seen) < MAX_NODES:
        node = end_of(pending.pop())
        if is_parameter(node):
            leaves[id(node)] = node
        elif is_node(node) and id(node) not in seen:
            seen.add(id(node))
            pending.extend(edge for edge in node.edges if edge is not None)
            cuts += [(cause, node.site) for causes in node.cuts or () for cause in causes
                     if cause.kind in MEANT or (cause.kind == "non-differentiable-op" and not is_sampling(cause))]
    return leaves, cuts if not pending else []
