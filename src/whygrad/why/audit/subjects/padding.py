"""Padding: is what the attention mask hides left out of the loss?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import ModuleCall, of_outermost
from whygrad.why.audit.provenance import lines_of
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import array_of, is_grad_enabled, is_tensor, kind_of, shape_of, size_of
from whygrad.why.locations import locate
from whygrad.why.program_text import lines_matching
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

MIN_CALLS = 3
# Share of the labels that are padding, from which on it matters.
SHARE = 0.2
MAX_SITES = 64
# Sequences of a batch, and numbers of one, that are looked at.
MIN_ROWS, MAX_SIZE = 4, 4_000_000


class Padding(Subject):
    """Models that compute their loss themselves are given `labels` and `attention_mask` (transformers)."""

    checks = {"padding": "padding does not count in the loss, and the end of a sequence does"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # By line: calls, labels in all, labels of padding that count, and what made the labels.
        self._calls: dict[Site, tuple[int, int, int, Any]] = {}
        # By line: calls with padding, those in which the model sees it, the share of such rows, and what made the mask.
        self._attended: dict[Site, tuple[int, int, float, Any]] = {}
        # By line: calls, those with a mask that is inverted, and what made it; the same for labels that are the inputs.
        self._inverted: dict[Site, tuple[int, int, Any]] = {}
        self._copied: dict[Site, tuple[int, int, Any]] = {}
        # By line: calls with lengths, those in which they are those of the padding, and what made them.
        self._lengths: dict[Site, tuple[int, int, Any]] = {}
        # By line: the last tokens of sequences, and whether one of them ever had a label.
        self._ends: dict[Site, tuple[set[int], bool]] = {}

    @of_outermost
    def module_called(self, call: ModuleCall) -> None:
        self._note_attended(call)
        self._note_lengths(call)
        self._note_copied(call)
        labels, mask = call.kwargs.get("labels"), call.kwargs.get("attention_mask")
        if call.depth or not is_tensor(labels) or not is_tensor(mask) or shape_of(labels) != shape_of(mask):
            return
        hidden = array_of(mask) == 0
        calls, total, counted, _ = self._calls.get(call.site, (0, 0, 0, None))
        self._calls[call.site] = (calls + 1, total + hidden.size, counted + int((array_of(labels)[hidden] >= 0).sum()),
                                  self.audit.provenance.of(labels))
        drop_oldest(self._calls, MAX_SITES)
        tokens = call.kwargs.get("input_ids")
        if hidden.ndim == 2 and hidden.any() and not hidden[:, 0].any() and is_tensor(tokens):
            self._note_ends(call.site, array_of(tokens), array_of(labels), (~hidden).sum(1) - 1)

    def _note_attended(self, call: ModuleCall) -> None:
        """Sequences that end with padding, given to a model that takes a mask, without one."""
        tokens = call.kwargs.get("input_ids", call.args[0] if call.args else None)
        pad = getattr(getattr(call.module, "config", None), "pad_token_id", None)
        if call.depth or not isinstance(pad, int) or not is_tensor(tokens) or len(shape_of(tokens)) != 2 or not is_grad_enabled():
            return
        is_padding = array_of(tokens) == pad
        # At one end of a row, two or more in a row: one may be the end of the sequence.
        share = float((is_padding[:, -2:].all(1) | is_padding[:, :2].all(1)).mean())
        mask = call.kwargs.get("attention_mask")
        self._note_inverted(call.site, is_padding, mask)
        is_shown = mask is None or (is_tensor(mask) and shape_of(mask) == shape_of(tokens) and bool(array_of(mask).all()))
        calls, shown, _, _ = self._attended.get(call.site, (0, 0, 0.0, None))
        is_bad = is_shown and share >= SHARE and not is_padding.all(1).any()
        self._attended[call.site] = calls + (share > 0), shown + is_bad, share, self.audit.provenance.of(mask)
        drop_oldest(self._attended, MAX_SITES)

    def _note_inverted(self, site: Site, is_padding: np.ndarray, mask: Any) -> None:
        """A mask that shows the padding, and hides the rest."""
        if is_tensor(mask) and shape_of(mask) == is_padding.shape and is_padding.any() and not is_padding.all():
            calls, bad, _ = self._inverted.get(site, (0, 0, None))
            self._inverted[site] = (calls + 1, bad + bool(((array_of(mask) != 0) == is_padding).all()),
                                    self.audit.provenance.of(mask))
            drop_oldest(self._inverted, MAX_SITES)

    def _note_copied(self, call: ModuleCall) -> None:
        """Labels of masked tokens: all that count are tokens that the model sees."""
        labels, tokens = call.kwargs.get("labels"), call.kwargs.get("input_ids", call.args[0] if call.args else None)
        if "MaskedLM" not in type(call.module).__name__ or not is_tensor(labels) or not is_tensor(tokens):
            return
        values, given = array_of(labels), array_of(tokens)
        if values.shape == given.shape and (values >= 0).any():
            calls, bad, _ = self._copied.get(call.site, (0, 0, None))
            is_copy = bool((values[values >= 0] == given[values >= 0]).all())
            self._copied[call.site] = calls + 1, bad + is_copy, self.audit.provenance.of(labels)
            drop_oldest(self._copied, MAX_SITES)

    def _note_lengths(self, call: ModuleCall) -> None:
        """Sequences of different lengths, by the zeros at their ends, whose lengths are all given as that of the longest."""
        tensors = [x for x in (*call.args, *call.kwargs.values()) if is_tensor(x) and not x.requires_grad]
        rows = next((x for x in tensors if len(shape_of(x)) in (2, 3) and shape_of(x)[0] >= MIN_ROWS), None)
        if rows is None or size_of(rows) > MAX_SIZE:
            return
        lengths = next((x for x in tensors if shape_of(x) == shape_of(rows)[:1] and kind_of(x) in "iu"), None)
        if lengths is None:
            return
        longest = shape_of(rows)[1]
        values = array_of(rows).reshape(len(array_of(rows)), longest, -1)
        are_all = bool((array_of(lengths) == longest).all())
        is_short = (values[:, -2:] == 0).all((1, 2)) & (values[:, 0] != 0).any(1)
        calls, bad, _ = self._lengths.get(call.site, (0, 0, None))
        self._lengths[call.site] = calls + 1, bad + (are_all and bool(is_short.mean() > SHARE)), self.audit.provenance.of(lengths)
        drop_oldest(self._lengths, MAX_SITES)

    def _note_ends(self, site: Site, tokens: np.ndarray, labels: np.ndarray, last: np.ndarray) -> None:
        """`last` is the position of each row's last token before the padding."""
        if tokens.shape != labels.shape:
            return
        rows = np.arange(len(tokens))
        ends, has_label = self._ends.get(site, (set(), False))
        ends |= set(tokens[rows, last].tolist())
        has_label |= bool(np.isin(labels, list(ends)).any()) or bool((labels[rows, last - 1] < 0).any())
        self._ends[site] = ends, has_label
        drop_oldest(self._ends, MAX_SITES)

    def was_seen(self, check: str) -> bool:
        return bool(self._calls or self._attended)

    def findings(self) -> Iterator[Finding]:
        for site, (calls, shown, share, made) in self._attended.items():
            if calls >= MIN_CALLS and shown == calls:
                yield finding("padding", "padding-attended", "padding is attended to like any token",
                              f"In all {count_of(calls, 'observed call')} of the model {at(site)}, sequences end with padding "
                              f"({share:.0%} of them in the last), and there is no attention mask that hides it: the model reads "
                              "it as text, and what it gives depends on how long the others of a batch are.",
                              "give the model attention_mask=(input_ids != pad_token_id), as the tokenizer returns it.",
                              at=site, causes=(*lines_of(made)[:2], site), symptom="wrong-value")
        for site, (calls, bad, made) in self._inverted.items():
            if calls >= MIN_CALLS and bad == calls:
                yield finding("padding", "masked-all", "the attention mask hides the text, and shows the padding",
                              f"In all {count_of(calls, 'observed call')} of the model {at(site)}, attention_mask was 1 for "
                              "padding and 0 for all other tokens: it is the wrong way round, and the model sees nothing of the "
                              "text.",
                              "1 means visible: attention_mask = (input_ids != pad_token_id).long().", at=site,
                              causes=(*lines_of(made)[:3], site), symptom="wrong-value")
        for site, (calls, bad, made) in self._copied.items():
            if calls >= MIN_CALLS and bad == calls:
                yield finding("padding", "target-equals-input", "only tokens that the model sees count in the loss",
                              f"In all {count_of(calls, 'observed call')} of the model {at(site)}, each label that counts (not "
                              "-100) is the token that stands in the input at its place: the masked ones do not count, and the "
                              "model learns to copy.", "set the labels of the others to -100: labels[~masked] = -100.", at=site,
                              causes=(*lines_of(made)[:3], site), symptom="wrong-value")
        for site, (calls, bad, made) in self._lengths.items():
            if calls >= MIN_CALLS and bad == calls:
                here, lines = locate(site), lines_of(made)
                measured = [] if lines or here is None else lines_matching(here.file, r"len\w*\s*=.*(len\(|size|shape)")
                yield finding("padding", "padding-attended", "the lengths are those of the padded sequences",
                              f"In all {count_of(calls, 'observed call')} of the model {at(site)}, every length was that of the "
                              "longest sequence, although many end with padding: they were taken after the padding, so that "
                              "what should stand at the end of a sequence is read behind it.",
                              "take the lengths before the padding: [len(s) for s in sequences].", at=site,
                              causes=(*lines[:3], *measured[:2], site), symptom="wrong-value")
        for site, (ends, has_label) in self._ends.items():
            if len(ends) == 1 and not has_label and self._calls[site][0] >= MIN_CALLS:
                yield finding("padding", "class-ignored", "the end of a sequence never counts in the loss",
                              f"Every sequence that the model was given {at(site)} ends with token {next(iter(ends))}, before "
                              "the padding begins, and its label is always ignored (-100): the model never learns to stop. Most "
                              "likely padding and the end of a sequence are one token, and all its labels were masked.",
                              "mask by position, not by token: labels[attention_mask == 0] = -100.",
                              at=site, causes=(*lines_of(self._calls[site][3])[:3], site), symptom="wrong-value")
        for site, (calls, total, counted, made) in self._calls.items():
            if calls >= MIN_CALLS and counted >= SHARE * total:
                yield finding("padding", "padding-in-loss", "padding counts in the loss",
                              f"In {count_of(calls, 'observed call')} of the model {at(site)}, {counted / total:.0%} of the "
                              "labels belong to positions that the attention mask hides, and count in the loss: the model "
                              "mostly learns to predict padding.",
                              "set the labels of padding to -100, which the loss ignores "
                              "(labels[attention_mask == 0] = -100).",
                              at=site, causes=(*lines_of(made)[:3], site), symptom="wrong-value")
