"""Curvature: second derivatives of a network that has none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import Call
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import array_of, is_tensor, node_of
from whygrad.why.gradient_flow import BOUNDED, RECTIFIED
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

MIN_TIMES = 3
MAX_SITES = 64
PIECEWISE = RECTIFIED | BOUNDED


class Curvature(Subject):
    checks = {"curvature": "second derivatives are not zero by construction"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # Lines of autograd.grad: how often its result was a second derivative, and how often that was zero.
        self._second: dict[Site, tuple[int, int]] = {}
        # Ids of gradients that have a graph: the first derivatives.
        self._first: dict[int, Any] = {}
        self._activations: dict[Site, str] = {}

    def called(self, call: Call) -> None:
        name = call.name.rpartition(".")[2]
        if name in PIECEWISE:
            self._activations.setdefault(call.site, name)
            drop_oldest(self._activations, MAX_SITES)

    def graded(self, outputs: tuple[Any, ...], results: tuple[Any, ...], create_graph: bool, site: Site) -> None:
        """autograd.grad has returned."""
        is_second = any(self._comes_from_first(t) for t in outputs)
        if is_second:
            values = [r for r in results if is_tensor(r)]
            is_zero = all(not array_of(r).any() for r in values)
            times, zeros = self._second.get(site, (0, 0))
            self._second[site] = times + 1, zeros + is_zero
            drop_oldest(self._second, MAX_SITES)
        elif create_graph:
            for r in results:
                node = node_of(r) if is_tensor(r) else None
                if node is not None:
                    self._first[id(node)] = node
            while len(self._first) > MAX_SITES:
                del self._first[next(iter(self._first))]

    def _comes_from_first(self, t: Any) -> bool:
        """Whether a tensor is computed from a first derivative, by a few ops."""
        pending, seen = [node_of(t)] if is_tensor(t) else [], 0
        while pending and seen < 32:
            node = pending.pop(0)
            seen += 1
            if node is None:
                continue
            if id(node) in self._first and self._first[id(node)] is node:
                return True
            pending.extend(edge for edge in getattr(node, "edges", ()) if edge is not None)
        return False

    def round_ended(self, number: int) -> None:
        self._first = {}

    def was_seen(self, check: str) -> bool:
        return bool(self._second)

    def findings(self) -> Iterator[Finding]:
        for site, (times, zeros) in self._second.items():
            if times < MIN_TIMES or zeros < times or not self._activations:
                continue
            where, name = next(iter(self._activations.items()))
            yield finding("curvature", "second-derivative-zero", "the second derivative is zero everywhere",
                          f"autograd.grad {at(site)} differentiated a gradient once more, {count_of(times, 'time')}, and "
                          f"the result was exactly 0 each time: the network is piecewise linear ({name} {at(where)}), so "
                          "its second derivative with respect to the input is zero. What is built on it does not train "
                          "anything.",
                          "use a smooth activation (tanh, softplus, SiLU, GELU) where curvature matters.",
                          causes=(site, where), symptom="zero")

