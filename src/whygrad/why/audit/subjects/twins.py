"""Twins: are things that are compared with each other more than two copies of one?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import Call, ModuleCall, of_outermost, tensors_of
from whygrad.why.audit.subject import Subject
from whygrad.why.audit.subjects.attention import PRODUCTS
from whygrad.why.audit.values import checksum
from whygrad.why.causes import at
from whygrad.why.engine import array_of, is_near, is_tensor, kind_of, size_of
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

MIN_ROUNDS, MIN_SIZE, MAX_SIZE, MAX_SITES = 5, 16, 4_000_000, 64
# Losses whose prediction is a logarithm.
OF_LOGARITHMS = {"kl_div"}
DISTANCES = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "cosine_embedding_loss", "kl_div"}
CONTRASTING = PRODUCTS | DISTANCES | {"mm", "einsum", "cosine_similarity", "pairwise_distance", "cdist", "triplet_margin_loss"}


class Pair:
    """Two things that one line compares: the rounds in which they were the same, and in which they were not."""

    def __init__(self) -> None:
        self.same: set[int] = set()
        self.other: set[int] = set()
        self.sites: tuple[Site, ...] = ()


class Twins(Subject):
    checks = {"twins": "things that are compared are not the same"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # Outputs of models in this round: by their sum, the lines of the calls; those that several calls gave.
        self._outputs: dict[tuple[int, int], list[Site]] = {}
        self._pairs: dict[Site, Pair] = {}

    @of_outermost
    def module_called(self, call: ModuleCall) -> None:
        """Different calls of a model that give the same were given the same."""
        outputs = call.output if isinstance(call.output, tuple) else (call.output,)
        for output in outputs:
            is_array = is_tensor(output) and MIN_SIZE <= size_of(output) <= MAX_SIZE
            if is_array and kind_of(output) == "f" and is_near(output) and any(True for _ in call.module.parameters()):
                self._outputs.setdefault((id(call.module), checksum(output)), []).append(call.site)

    def round_ended(self, number: int) -> None:
        self._outputs.clear()

    def called(self, call: Call) -> None:
        name = call.name.rpartition(".")[2]
        if name in CONTRASTING:
            tensors = tensors_of(call)[:2]
            twice = [sites for sites in self._outputs.values() if len(set(sites)) > 1]
            if len(tensors) == 2 and twice and any(x.requires_grad for x in tensors):
                self._note(call, name, tensors, tuple(twice[0][:2]))

    def _note(self, call: Call, name: str, tensors: list[Any], sites: tuple[Site, ...]) -> None:
        a, b = (array_of(x) for x in tensors)
        if not MIN_SIZE <= a.size == b.size <= MAX_SIZE or tensors[0] is tensors[1]:
            return
        known = self._pairs.setdefault(call.site, Pair())
        drop_oldest(self._pairs, MAX_SITES)
        a = np.exp(a) if name in OF_LOGARITHMS else a
        is_same = (a.shape == b.shape and np.allclose(a, b, rtol=1e-4, atol=1e-7)) or (
            a.ndim == 2 and a.shape == b.shape[::-1] and np.allclose(a, b.T, rtol=1e-4, atol=1e-7))
        (known.same if is_same else known.other).add(self.audit.round)
        known.sites = sites

    def was_seen(self, check: str) -> bool:
        return bool(self._pairs)

    def findings(self) -> Iterator[Finding]:
        for site, known in self._pairs.items():
            if len(known.same) >= MIN_ROUNDS and not known.other:
                found = finding("twins", "self-compared", "what is compared is the same",
                                f"The two tensors that are compared {at(site)} were equal in each of "
                                f"{count_of(len(known.same), 'observed step')}: they are results of one model for one input "
                                f"({' and '.join(at(s) for s in known.sites)}). It says nothing that something is like itself.",
                                "give one of the calls what it is meant to get: another view of the sample, another model (the "
                                "teacher).", at=site, causes=(*known.sites, site), symptom="wrong-value")
                found.unless = {"module-aliased"}
                yield found
                return
