"""Curvature: second derivatives of a network that has none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import Call, of_functions
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import array_of, causes_of, is_node, is_parameter, is_tensor, node_of, size_of, source_of
from whygrad.why.gradient_flow import BOUNDED, RECTIFIED, leaves_from
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

MIN_TIMES = 3
MAX_SITES = 64
# A weight that is made of a gradient is a factor; what the loss asks of a derivative, it adds up.
ADDING = {"add", "sub", "__add__", "__sub__", "__radd__", "__rsub__"}
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
        # Lines of autograd.grad that differentiate by data without a graph, and the rounds in which arithmetic used the result
        # beside something that depends on parameters.
        self._of_data: set[Site] = set()
        self._constant: dict[tuple[Site, Site], set[int]] = {}

    @of_functions(*PIECEWISE, *ADDING)
    def called(self, call: Call) -> None:
        name = call.name.rpartition(".")[2]
        if name in PIECEWISE:
            self._activations.setdefault(call.site, name)
            drop_oldest(self._activations, MAX_SITES)
        elif self._of_data and name in ADDING and len(call.args) > 1 and all(map(is_tensor, call.args[:2])):
            for own, other in (call.args[:2], call.args[1::-1]):
                if (is_node(source_of(own)) and not other.requires_grad and size_of(other) == size_of(own) > 1
                        and not _is_direction(array_of(other))):
                    for cause in causes_of(other):
                        if cause.kind == "no-create-graph" and cause.site in self._of_data and self._depends(own):
                            self._constant.setdefault((cause.site, call.site), set()).add(self.audit.round)
                            drop_oldest(self._constant, MAX_SITES)

    def _depends(self, t: Any) -> bool:
        return any(map(is_parameter, leaves_from([source_of(t)])))

    def graded(self, outputs: tuple[Any, ...], results: tuple[Any, ...], create_graph: bool, given: tuple[Any, ...],
               site: Site) -> None:
        """autograd.grad has returned."""
        if not create_graph and any(t.is_leaf and not is_parameter(t) for t in given if is_tensor(t)):
            self._of_data.add(site)
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
        for (graded, used), rounds in self._constant.items():
            if len(rounds) >= MIN_TIMES:
                yield finding("curvature", "no-create-graph", "a derivative in the loss is a constant for the optimizer",
                              f"autograd.grad {at(graded)} was called without create_graph=True, so its result has no history; "
                              f"{at(used)} it is combined with something that depends on the parameters, in "
                              f"{count_of(len(rounds), 'observed step')}. The loss changes with it, but no gradient flows "
                              "through it: the parameters do not learn what it asks for.",
                              "pass create_graph=True to autograd.grad.", at=graded, causes=(graded, used), symptom="wrong-value")
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


def _is_direction(values: np.ndarray) -> bool:
    """Whether its rows, or its samples, have one length: an adversarial perturbation, which is meant to be a constant."""
    for rows in (values.reshape(-1, values.shape[-1]), values.reshape(len(values), -1)) if values.ndim > 1 else ():
        lengths = np.linalg.norm(rows, axis=1)
        if rows.shape[1] > 1 and np.ptp(lengths) <= 1e-3 * lengths.max():
            return True
    return False
