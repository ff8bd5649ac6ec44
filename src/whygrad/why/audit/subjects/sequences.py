"""Sequences: does a model that predicts the next token see it already, or learn another one? Does it run over time?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from whygrad.why.audit.finding import Finding, finding
from whygrad.why.audit.observation import Call, ModuleCall, of_functions
from whygrad.why.audit.provenance import lines_of
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import array_of, is_tensor, kind_of, shape_of
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

# Times that a line is looked at. The share of targets that must be the tokens so many places on.
MIN_TIMES, MAX_TIMES = 3, 6
SHARE = 0.95
MAX_SITES, MAX_ATTENTIONS = 64, 256
# What an additive mask adds to what it hides is below this.
HIDDEN = -1e4


class Attention(NamedTuple):
    """A place attends to others: over how many, whether to later ones as well, and where."""

    length: int
    sees_later: bool
    site: Site


class Sequences(Subject):
    checks = {
        "next-token": "the target of a token is the one after it",
        "causal": "a prediction does not depend on the token that it predicts",
        "time": "recurrent layers run over time",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # The tokens that embeddings were given, with where they were called, and attentions, since the last loss.
        self._tokens: list[tuple[np.ndarray, Site]] = []
        self._attentions: list[Attention] = []
        # The last input of a recurrent layer that wants time first.
        self._recurrent: tuple[tuple[int, ...], Any, Site] | None = None
        # By line of the loss: how far on its targets are; where the tokens were embedded, and in how many rounds all attentions
        # saw later places, and in how many not.
        self._offsets: dict[Site, list[int]] = {}
        self._leaks: dict[Site, tuple[int, int, Site]] = {}
        self._masking: list[Site] = []
        # By line of a model with a decoder: how often it was fed its own labels, and how often something else.
        self._fed: dict[Site, tuple[int, int]] = {}
        # Lines that made the labels of a model.
        self._labelled: list[Site] = []
        # By line of a recurrent layer: the layer, its input's shape, and the rounds in which the batch came first.
        self._swapped: dict[Site, tuple[Any, tuple[int, ...], set[int]]] = {}

    def module_called(self, call: ModuleCall) -> None:
        given = call.args[0] if call.args else None
        if is_tensor(given):
            shape = shape_of(given)
            own = vars(call.module)
            if "num_embeddings" in own and kind_of(given) == "i" and len(shape) == 2:
                self._tokens = [*self._tokens[-3:], (array_of(given).copy(), call.site)]
            elif own.get("batch_first") is False and "hidden_size" in own and len(shape) == 3:
                self._recurrent = shape, call.module, call.site
        labels, fed = call.kwargs.get("labels"), call.kwargs.get("decoder_input_ids")
        if not call.depth and is_tensor(labels) and is_tensor(fed) and shape_of(labels) == shape_of(fed) and call.module.training:
            copied, others = self._fed.get(call.site, (0, 0))
            is_same = bool((array_of(labels) == array_of(fed))[array_of(labels) >= 0].all())
            self._fed[call.site] = copied + is_same, others + (not is_same)
            drop_oldest(self._fed, MAX_SITES)
        if not call.depth and is_tensor(labels):
            self._labelled = [*lines_of(self.audit.provenance.of(labels))[:3], call.site]

    @of_functions("tril", "triu", "softmax", "scaled_dot_product_attention", "multi_head_attention_forward")
    def called(self, call: Call) -> None:
        name = call.name.rpartition(".")[2]
        if name in ("tril", "triu") and call.site not in self._masking and len(self._masking) < MAX_TIMES:
            self._masking.append(call.site)
        attention = _attention(name, call)
        if attention is not None:
            self._attentions.append(attention)
            del self._attentions[:-MAX_ATTENTIONS]

    def loss_called(self, call: Call) -> None:
        target = call.argument(1, "target")
        if self.audit.is_observing and is_tensor(target):
            if self._recurrent is not None:
                self._check_batch(shape_of(target), *self._recurrent)
            if call.name.endswith("cross_entropy") and kind_of(target) == "i" and self._tokens:
                self._compare(call.site, array_of(target))
        self._tokens, self._attentions, self._recurrent = [], [], None

    def _check_batch(self, target: tuple[int, ...], given: tuple[int, ...], module: Any, site: Site) -> None:
        """One target for each row: then the first dimension is the batch."""
        has_one_each = len(target) == 1 or target[1:] == (1,)
        if has_one_each and given[0] == target[0] != given[1] and given[1] > 1:
            self._swapped.setdefault(site, (module, given, set()))[2].add(self.audit.round)
            drop_oldest(self._swapped, MAX_SITES)

    def _compare(self, site: Site, target: np.ndarray) -> None:
        seen = self._offsets.setdefault(site, [])
        drop_oldest(self._offsets, MAX_SITES)
        for tokens, embedded in self._tokens if len(seen) < MAX_TIMES else ():
            offset = _offset(tokens, target)
            if not offset:
                continue
            seen.append(offset)
            ours = [attention for attention in self._attentions if attention.length == tokens.shape[1]]
            if offset == 1 and ours:
                # An encoder beside it may see everything: then not all do.
                leaks, fine, _ = self._leaks.get(site, (0, 0, embedded))
                sees_later = all(attention.sees_later for attention in ours)
                self._leaks[site] = leaks + sees_later, fine + (not sees_later), embedded
                self._masking = [*self._masking, *[a.site for a in ours if a.site not in self._masking]][:MAX_TIMES]
            return

    def was_seen(self, check: str) -> bool:
        return bool({"causal": self._leaks, "time": self._swapped}.get(check, any(self._offsets.values())))

    def findings(self) -> Iterator[Finding]:
        for site, (copied, others) in self._fed.items():
            if copied >= MIN_TIMES and not others:
                yield finding("causal", "target-equals-input", "the decoder is given the tokens that it is to predict",
                              f"decoder_input_ids and labels of the model called {at(site)} are the same tokens, place by place: "
                              "at each place the decoder sees the token that it is to predict, and learns to copy it.",
                              "leave decoder_input_ids out (the model makes them from the labels, shifted by one).",
                              at=site, causes=(site,), symptom="wrong-value")
        for site, (leaks, fine, embedded) in self._leaks.items():
            if leaks >= MIN_TIMES and not fine:
                yield finding("causal", "target-equals-input", "every prediction sees the token that it is to predict",
                              f"The targets {at(site)} are the tokens that were embedded {at(embedded)}, moved by one; and every "
                              "attention lets a place see later ones, its target among them: nothing hides it (a causal mask is "
                              "missing, or is off by one). The loss falls, and the model learns to copy.",
                              "hide what comes later: is_causal=True, or a mask that is True only for earlier places "
                              "(torch.tril(..., diagonal=0)).",
                              at=site, causes=(*self._masking, site, embedded), symptom="wrong-value")
        for site, offsets in self._offsets.items():
            if len(offsets) >= MIN_TIMES and set(offsets) == {2} and self._labelled:  # not those of a source to translate
                yield finding("next-token", "target-shifted", "the targets are two tokens on",
                              f"Each target {at(site)} is the token two places after its own: the tokens were shifted twice, by "
                              "the program and by the model (models that take `labels` shift them themselves).",
                              "give labels=input_ids as they are, or shift once.", at=site, causes=(*self._labelled, site),
                              symptom="wrong-value")
        for site, (module, shape, rounds) in self._swapped.items():
            if len(rounds) >= MIN_TIMES:
                yield finding("time", "wrong-dim", "a recurrent layer runs over the batch",
                              f"{type(module).__name__} is given a tensor of shape {list(shape)} {at(site)}, whose first "
                              f"dimension is the batch (there are {shape[0]} targets); without batch_first=True it takes that "
                              "for time: each sample depends on the others, and time is treated as the batch.",
                              "make the layer with batch_first=True, or transpose its input.",
                              at=site, causes=(self.audit.modules.made_at(module), site), symptom="wrong-value")


def _attention(name: str, call: Call) -> Attention | None:
    """What a call attends to, if it is one of attention: by itself or as the softmax of scores."""
    if name == "softmax" and is_tensor(call.result):
        shape = shape_of(call.result)
        if len(shape) > 2 and shape[-1] == shape[-2] > 2:
            return Attention(shape[-1], bool(np.triu(array_of(call.result), 1).any()), call.site)
    if name == "scaled_dot_product_attention":
        length, is_causal = shape_of(call.argument(0, "query"))[-2], call.argument(5, "is_causal", False)
        return Attention(length, not is_causal and _shows_later(call.argument(3, "attn_mask"), True), call.site)
    if name == "multi_head_attention_forward":
        return Attention(shape_of(call.argument(0, "query"))[0], _shows_later(call.kwargs.get("attn_mask"), False), call.site)
    return None


def _shows_later(mask: Any, shown: bool) -> bool:
    """Whether a mask lets a place see later ones. In a boolean one, `shown` stands for what is seen."""
    if not is_tensor(mask):
        return True
    values = array_of(mask)
    later = values[..., np.triu(np.ones(values.shape[-2:], bool), 1)]
    return bool((later == shown if later.dtype.kind == "b" else later > HIDDEN).any())


def _offset(tokens: np.ndarray, target: np.ndarray) -> int:
    """How many places after the tokens the targets are; 0 if they are others."""
    rows, length = tokens.shape
    if target.size % rows or not 3 <= target.size // rows <= length:
        return 0
    wanted = target.reshape(rows, -1)
    for offset in (1, 2):
        ours = tokens[:, offset:]
        theirs = wanted[:, :ours.shape[1]]
        ours = ours[:, :theirs.shape[1]]
        counts = theirs >= 0
        if counts.sum() >= 4 and (ours == theirs)[counts].mean() >= SHARE and len(np.unique(theirs[counts])) > 2:
            return offset
    return 0
