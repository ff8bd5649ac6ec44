"""Memory: are graphs kept alive from step to step, or retained for nothing?"""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Iterator
from typing import Any

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import Call
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import end_of, is_tensor, node_of, size_of, source_of
from whygrad.why.locations import locate
from whygrad.why.program_text import lines_matching, statement_of, targets_of
from whygrad.why.record import Site

# Rounds after which live graphs are counted: the number must grow from each to the next.
COUNTED = (4, 8, 12, 24, 48, 96, 192)
# Earlier steps whose graphs may be alive: the last one, and one that a log still holds.
MIN_KEPT = 4
MAX_NODES = 200_000
MIN_BACKWARDS = 3


class Memory(Subject):
    checks = {
        "graphs": "no graph is kept from step to step",
        "retained": "no graph is retained for nothing",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # (round, number of live nodes); who holds the oldest live tensor of an earlier step, and where it was made.
        self._counts: list[tuple[int, int]] = []
        self._oldest: tuple[Site | None, str, Any] | None = None
        # By line of a backward: passes that retained the graph, and those whose graph was walked again.
        self._retained: dict[Site, int] = {}
        self._walked: dict[int, tuple[Any, Site]] = {}
        self._again: set[Site] = set()
        self._scalars: list[tuple[int, weakref.ref[Any]]] = []
        # A round, and the number of earlier rounds of which a scalar with its graph was alive then.
        self._kept = 0, 0

    def backward_done(self, trace: Any) -> None:
        if not trace.steps:
            return
        site = trace.backward.site
        for step in trace.steps:
            known = self._walked.get(id(step.node))
            if known is not None and known[0] is step.node:
                self._again.add(known[1])
        if trace.backward.keep and not trace.backward.create_graph:
            self._retained[site] = self._retained.get(site, 0) + 1
            for step in trace.steps[:500]:
                self._walked[id(step.node)] = step.node, site

    def round_ended(self, number: int) -> None:
        self._walked = {}
        self._scalars = [scalar for scalar in self._scalars if scalar[1]() is not None]
        alive = self._alive(number) if self.audit.is_observing else 0
        if alive > self._kept[1]:
            self._kept = number, alive
        if number + 1 in COUNTED and alive > 1:  # one may be in a variable that the next step overwrites
            self._count(number)

    def _alive(self, number: int) -> int:
        """Of how many earlier rounds a scalar that one line made is alive with its graph, and not held by the watch alone."""
        nodes = [(made_in, node) for made_in, reference in self._scalars
                 if made_in < number and (node := reference()) is not None]
        ours = {step.node for trace in self.audit.watch.traces_latest_first() for step in trace.steps} if nodes else set()
        rounds: dict[Site, set[int]] = {}
        for made_in, node in nodes:
            if node not in ours:
                rounds.setdefault(node.site, set()).add(made_in)
        return max(map(len, rounds.values()), default=0)

    def called(self, call: Call) -> None:
        """A scalar is remembered weakly: while none of earlier rounds is alive, nothing needs to be counted."""
        result = call.result
        if is_tensor(result) and size_of(result) == 1 and node_of(result) is not None and len(self._scalars) < 1000:
            self._scalars.append((self.audit.round, weakref.ref(node_of(result))))

    def _count(self, number: int) -> None:
        """Count the nodes of all graphs that live tensors lead to."""
        seen: set[Any] = set()
        oldest: tuple[int, Any] | None = None
        for t in gc.get_objects():
            if not is_tensor(t):
                continue
            node = source_of(t)
            if node is None or is_tensor(node):
                continue
            if oldest is None or node.seq < oldest[0]:
                oldest = node.seq, t
            pending = [node]
            while pending and len(seen) < MAX_NODES:
                target = end_of(pending.pop())
                if target is None or target in seen or is_tensor(target):
                    continue
                seen.add(target)
                pending.extend(target.edges)
        self._counts.append((number, len(seen)))
        if oldest is not None:
            t = oldest[1]
            self._oldest = source_of(t).site, _holder(t), None

    def was_seen(self, check: str) -> bool:
        return bool(self.audit.losses)

    def findings(self) -> Iterator[Finding]:
        if self._kept[1] >= MIN_KEPT and self._oldest is not None:
            site, holder, _ = self._oldest
            growth = ""
            if len(self._counts) > 1 and self._counts[-1][1] > self._counts[0][1]:
                (first, low), (last, high) = self._counts[0], self._counts[-1]
                growth = (f" After {first + 1} steps they had {low} nodes, after {last + 1} steps {high}: "
                          f"{(high - low) / (last - first):.0f} more with each step.")
            yield finding("graphs", "graph-kept", "graphs are kept alive from step to step",
                          f"After step {self._kept[0] + 1}, the graphs of {self._kept[1]} earlier steps were still alive, and "
                          f"memory grows.{growth} The oldest was made "
                          f"{at(site)}" + (f" and is held by {holder}" if holder else "") + ".",
                          "keep numbers, not tensors that require grad: loss.item(), or loss.detach().",
                          causes=(*_kept_at(site), site),
                          symptom="unwanted")
        for site, count in self._retained.items():
            if count >= MIN_BACKWARDS and site not in self._again:
                yield finding("retained", "retain-graph-needless", "the graph is retained, and nobody uses it again",
                              f"backward(retain_graph=True) {at(site)} kept the graph in "
                              f"{count_of(count, 'observed step')}, but no other backward walked it: it only costs memory, "
                              "and hides errors.",
                              "leave out retain_graph=True.", causes=(site,), symptom="unwanted", odd=True)


def _holder(t: Any) -> str:
    """Who refers to a tensor: a list, a dict, an attribute, a variable."""
    for referrer in gc.get_referrers(t):
        if isinstance(referrer, list):
            for outer in gc.get_referrers(referrer):
                if isinstance(outer, dict):
                    name = next((key for key, value in outer.items() if value is referrer and isinstance(key, str)), "")
                    if name and name != "_counts":
                        return f"the list `{name}`"
            return "a list"
        if isinstance(referrer, dict):
            name = next((key for key, value in referrer.items() if value is t and isinstance(key, str)), "")
            if name:
                return f"`{name}`"
    return ""


def _kept_at(site: Site | None) -> list[Any]:
    """Lines that hand on the variable to which a tensor was assigned, as it is: `losses.append(loss)`, `total += loss`."""
    here = locate(site)
    if here is None:
        return []
    found: list[Any] = []
    for name in targets_of(statement_of(here)):
        word = re.escape(name)
        found += lines_matching(here.file, rf"append\(\s*{word}\s*[,)]|\+=\s*{word}\s*$|[(,=]\s*{word}\s*[,)]")
    for name in sorted(set(re.findall(r"[A-Za-z_]\w*", here.expression))):
        found += lines_matching(here.file, rf"\b{name}\s*\+=")
    return [line for line in found if line.line != here.line][:3]
