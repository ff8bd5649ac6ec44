"""Sequences: does a model that predicts the next token see it already, or learn another one?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, finding
from whygrad.why.audit.observation import Call, ModuleCall
from whygrad.why.audit.provenance import lines_of
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import array_of, gradients_of_leaves, is_node, is_tensor, kind_of, node_of, shape_of
from whygrad.why.gradient_flow import leaves_from
from whygrad.why.record import Site

# Times that a line is looked at. The share of targets that must be the tokens so many places on.
MIN_TIMES, MAX_TIMES = 2, 3
SHARE = 0.95
# Elements of a prediction up to which its dependence on the tokens is computed.
MAX_ELEMENTS = 2_000_000


class Nobody:
    """A watch that hears nothing."""

    traces = False

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


class Sequences(Subject):
    checks = {
        "next-token": "the target of a token is the one after it",
        "causal": "a prediction does not depend on the token that it predicts",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # The tokens that embeddings were last given, with the weight of the embedding and where it was called; and the weight of
        # an embedding that was given places, 0, 1, 2 ...
        self._tokens: list[tuple[np.ndarray, Any, Site]] = []
        self._places: Any = None
        # By line of the loss: how far on its targets are, and how often the prediction saw its target, and did not.
        self._offsets: dict[Site, list[int]] = {}
        self._leaks: dict[Site, tuple[int, int, Site]] = {}
        # Lines that mask something, or attend; and those that made the labels of a model.
        self._masking: list[Site] = []
        # The last input of a recurrent layer that wants time first; by its line, the layer and the rounds in which the batch
        # came first.
        self._recurrent: tuple[tuple[int, ...], Any, Site] | None = None
        self._swapped: dict[Site, tuple[Any, tuple[int, ...], set[int]]] = {}
        self._labelled: list[Site] = []

    def module_called(self, call: ModuleCall) -> None:
        given = call.args[0] if call.args else None
        if hasattr(call.module, "num_embeddings") and is_tensor(given) and kind_of(given) == "i" and len(shape_of(given)) == 2:
            self._tokens = [*self._tokens[-3:], (array_of(given).copy(), call.module.weight, call.site)]
        if hasattr(call.module, "num_embeddings") and is_tensor(given) and kind_of(given) == "i":
            places = array_of(given).reshape(-1)
            if places.size > 2 and (places == np.arange(places.size)).all():
                self._places = call.module.weight
        if getattr(call.module, "batch_first", None) is False and is_tensor(given) and len(shape_of(given)) == 3 and (
                hasattr(call.module, "hidden_size")):
            self._recurrent = shape_of(given), call.module, call.site
        labels = call.kwargs.get("labels")
        if not call.depth and is_tensor(labels):
            self._labelled = [*lines_of(self.audit.provenance.of(labels))[:3], call.site]

    def round_ended(self, number: int) -> None:
        self._tokens, self._places = [], None

    def loss_called(self, call: Call) -> None:
        prediction, target = call.argument(0, "input"), call.argument(1, "target")
        if self.audit.is_observing and self._recurrent is not None and is_tensor(target):
            self._check_batch(shape_of(target), *self._recurrent)
        seen = self._offsets.setdefault(call.site, [])
        if (not self.audit.is_observing or len(seen) >= MAX_TIMES or not call.name.endswith("cross_entropy")
                or not is_tensor(prediction) or not is_tensor(target) or kind_of(target) != "i" or not prediction.requires_grad):
            return
        for tokens, weight, site in self._tokens:
            offset, wanted = _offset(tokens, array_of(target))
            if offset:
                seen.append(offset)
                if offset == 1:
                    self._look(call, prediction, tokens, wanted, weight, site)
                return

    def _check_batch(self, target: tuple[int, ...], given: tuple[int, ...], module: Any, site: Site) -> None:
        """One target for each row: then the first dimension is the batch."""
        has_one_each = len(target) == 1 or target[1:] == (1,)
        if has_one_each and given[0] == target[0] != given[1] and given[1] > 1:
            self._swapped.setdefault(site, (module, given, set()))[2].add(self.audit.round)
        self._recurrent = None

    def _look(self, call: Call, prediction: Any, tokens: np.ndarray, wanted: np.ndarray, weight: Any, site: Site) -> None:
        """Whether the prediction at one place depends on the next token, which stands nowhere before it, or on its place."""
        shape = shape_of(prediction)
        rows, length = int(np.prod(shape[:-1])), wanted.shape[1]
        if rows != wanted.size or np.prod(shape) > MAX_ELEMENTS:
            return
        counts = [(b, t, wanted[b, t]) for b in range(len(tokens)) for t in range(length - 1) if wanted[b, t] >= 0]
        b, t = next(((b, t) for b, t, next_token in counts
                     if (tokens == next_token).sum() == (tokens[b, t + 1:] == next_token).sum()), (0, -1))
        if self._places is not None:
            weight, t = self._places, max(t, 0)
            later = slice(t + 1, length)
        elif t >= 0 and _is_used_once(prediction, weight):
            later = slice(int(wanted[b, t]), int(wanted[b, t]) + 1)
        else:
            return
        out = prediction.reshape(rows, shape[-1])[b * length + t]
        grads: dict[Any, Any] = {weight: None}
        gradients_of_leaves((out * out).sum(), grads, Nobody())
        if grads[weight] is not None:
            leaks, fine, _ = self._leaks.get(call.site, (0, 0, site))
            depends = bool(array_of(grads[weight])[later].any())
            self._leaks[call.site] = leaks + depends, fine + (not depends), site

    def was_seen(self, check: str) -> bool:
        return bool(self._leaks) if check == "causal" else any(self._offsets.values())

    def findings(self) -> Iterator[Finding]:
        for site, (module, shape, rounds) in self._swapped.items():
            if len(rounds) > MIN_TIMES:
                yield finding("next-token", "wrong-dim", "a recurrent layer runs over the batch",
                              f"{type(module).__name__} is given a tensor of shape {list(shape)} {at(site)}, whose first "
                              f"dimension is the batch (there are {shape[0]} targets); without batch_first=True it takes that "
                              "for time: each sample depends on the others, and time is treated as the batch.",
                              "make the layer with batch_first=True, or transpose its input.",
                              at=site, causes=(self.audit.modules.made_at(module), site), symptom="wrong-value")
        for site, (leaks, fine, embedded) in self._leaks.items():
            if leaks >= MIN_TIMES and not fine:
                yield finding("causal", "target-equals-input", "every prediction sees the token that it is to predict",
                              f"The targets {at(site)} are the tokens that were embedded {at(embedded)}, moved by one; and the "
                              "prediction at a place depends on the token after it, which is its target: nothing hides it (a "
                              "causal mask is missing, or is off by one). The loss falls, and the model learns to copy.",
                              "hide what comes later: is_causal=True, or a mask that is True only for earlier places "
                              "(torch.tril(..., diagonal=0)).",
                              at=site, causes=(*self._masking, site, embedded), symptom="wrong-value")
        for site, offsets in self._offsets.items():
            if len(offsets) >= MIN_TIMES and set(offsets) == {2} and self._labelled:  # not those of a source to translate
                yield finding("next-token", "target-shifted", "the targets are two tokens on",
                              f"Each target {at(site)} is the token two places after its own: the tokens were shifted twice, by "
                              "the program and by the model (models that take `labels` shift them themselves).",
                              "give labels=input_ids as they are, or shift once.", at=site,
                              causes=(*self._labelled, site), symptom="wrong-value")

    def called(self, call: Call) -> None:
        is_masking = call.name.rpartition(".")[2] in ("scaled_dot_product_attention", "tril", "triu", "masked_fill")
        if is_masking and call.site not in self._masking and len(self._masking) < MAX_TIMES:
            self._masking.append(call.site)


def _offset(tokens: np.ndarray, target: np.ndarray) -> tuple[int, np.ndarray]:
    """How many places after the tokens the targets are, 0 if they are others; and the targets by row."""
    rows, length = tokens.shape
    if target.size % rows or not 3 <= target.size // rows <= length:
        return 0, target
    wanted = target.reshape(rows, -1)
    for offset in (1, 2):
        ours = tokens[:, offset:]
        theirs = wanted[:, :ours.shape[1]]
        ours = ours[:, :theirs.shape[1]]
        counts = theirs >= 0
        if counts.sum() >= 4 and (ours == theirs)[counts].mean() >= SHARE and len(np.unique(theirs[counts])) > 2:
            return offset, wanted
    return 0, target


def _is_used_once(prediction: Any, weight: Any) -> bool:
    """False for a weight that the output layer shares: every prediction depends on all its rows."""
    node = node_of(prediction)
    if not is_node(node) or weight not in leaves_from([node]):
        return False
    users, pending, seen = 0, [node], set()
    while pending:
        current = pending.pop()
        if id(current) in seen or not is_node(current):
            continue
        seen.add(id(current))
        users += sum(edge is weight for edge in current.edges)
        pending.extend(edge for edge in current.edges if edge is not None)
    return users == 1
