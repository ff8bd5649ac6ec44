"""Padding: is what the attention mask hides left out of the loss?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import ModuleCall
from whygrad.why.audit.provenance import lines_of
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import array_of, is_tensor, shape_of
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

MIN_CALLS = 3
# Share of the labels that are padding, from which on it matters.
SHARE = 0.2
MAX_SITES = 64


class Padding(Subject):
    """Models that compute their loss themselves are given `labels` and `attention_mask` (transformers)."""

    checks = {"padding": "padding does not count in the loss"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # By line: calls, labels in all, labels of padding that count, and what made the labels.
        self._calls: dict[Site, tuple[int, int, int, Any]] = {}

    def module_called(self, call: ModuleCall) -> None:
        labels, mask = call.kwargs.get("labels"), call.kwargs.get("attention_mask")
        if call.depth or not is_tensor(labels) or not is_tensor(mask) or shape_of(labels) != shape_of(mask):
            return
        hidden = array_of(mask) == 0
        calls, total, counted, _ = self._calls.get(call.site, (0, 0, 0, None))
        self._calls[call.site] = (calls + 1, total + hidden.size, counted + int((array_of(labels)[hidden] >= 0).sum()),
                                  self.audit.provenance.of(labels))
        drop_oldest(self._calls, MAX_SITES)

    def was_seen(self, check: str) -> bool:
        return bool(self._calls)

    def findings(self) -> Iterator[Finding]:
        for site, (calls, total, counted, made) in self._calls.items():
            if calls >= MIN_CALLS and counted >= SHARE * total:
                yield finding("padding", "padding-in-loss", "padding counts in the loss",
                              f"In {count_of(calls, 'observed call')} of the model {at(site)}, {counted / total:.0%} of the "
                              "labels belong to positions that the attention mask hides, and count in the loss: the model "
                              "mostly learns to predict padding.",
                              "set the labels of padding to -100, which the loss ignores "
                              "(labels[attention_mask == 0] = -100).",
                              at=site, causes=(*lines_of(made)[:3], site), symptom="wrong-value")
