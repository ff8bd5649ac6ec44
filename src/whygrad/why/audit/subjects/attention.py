"""Attention: are its weights normalised along what they weigh, and does its mask hide padding rather than the tokens?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import Call, ModuleCall, of_functions
from whygrad.why.audit.provenance import lines_of
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import array_of, is_tensor, kind_of, shape_of
from whygrad.why.record import Reference, Site
from whygrad.why.run_facts import drop_oldest

MIN_ROUNDS = 3
MAX_TENSORS, MAX_SITES = 256, 64
PRODUCTS = {"matmul", "__matmul__", "bmm"}
# Functions that leave the meaning of the weights as it is.
PASSING = {"dropout", "to", "float", "contiguous", "type_as", "masked_fill", "nan_to_num"}
# Arguments of modules that are True where a key is hidden.
HIDING = ("key_padding_mask", "src_key_padding_mask", "tgt_key_padding_mask", "memory_key_padding_mask")
# What an additive mask adds to what it hides is below this.
HIDDEN = -1e4


class Weights:
    """What softmax gave, along which dimension."""

    def __init__(self, t: Any, dim: int, site: Site) -> None:
        self.reference, self.dim, self.site = Reference(t), dim, site


class Attention(Subject):
    checks = {
        "attention-dim": "attention weights sum to one over what they weigh",
        "attention-mask": "attention masks hide padding, not the tokens",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self._weights: dict[int, Weights] = {}
        # By line of the softmax: dimension, number of dimensions, the product, and rounds that were wrong; those that were right.
        self._wrong: dict[Site, tuple[int, int, Site, set[int]]] = {}
        self._right: set[Site] = set()
        # The tokens that were embedded last. By line of a mask: rounds in which it left one token only, others, and its maker.
        self._tokens: np.ndarray | None = None
        self._masks: dict[Site, tuple[set[int], set[int], Any]] = {}

    @of_functions("softmax", "scaled_dot_product_attention", "masked_fill", "masked_fill_", *PASSING, *PRODUCTS)
    def called(self, call: Call) -> None:
        name = call.name.rpartition(".")[2]
        if name == "softmax":
            self._note_weights(call)
        elif name in PASSING and call.args and is_tensor(call.result):
            known = self._of(call.args[0])
            if known is not None and shape_of(call.result) == shape_of(call.args[0]):
                self._weights[id(call.result)] = Weights(call.result, known.dim, known.site)
        elif name in PRODUCTS and call.args:
            self._note_product(call)
        elif name == "scaled_dot_product_attention" and is_tensor(mask := call.argument(3, "attn_mask")):
            self._note_mask(mask, False, call.site)
        if name in ("masked_fill", "masked_fill_"):
            mask, fill = call.argument(1, "mask"), call.argument(2, "value")
            if is_tensor(mask) and kind_of(mask) == "b" and isinstance(fill, (int, float)) and fill <= HIDDEN:
                self._note_mask(mask, True, call.site)

    def module_called(self, call: ModuleCall) -> None:
        given = call.args[0] if call.args else None
        if "num_embeddings" in vars(call.module) and is_tensor(given) and kind_of(given) == "i" and len(shape_of(given)) == 2:
            self._tokens = array_of(given)
        for name in HIDING:
            if is_tensor(call.kwargs.get(name)):
                self._note_mask(call.kwargs[name], True, call.site)

    def round_ended(self, number: int) -> None:
        self._tokens = None
        self._weights.clear()

    def _of(self, t: Any) -> Weights | None:
        known = self._weights.get(id(t))
        return known if known is not None and known.reference() is t else None

    def _note_weights(self, call: Call) -> None:
        dim = call.kwargs.get("dim", call.args[1] if len(call.args) > 1 else None)
        if is_tensor(call.result) and call.result.requires_grad and isinstance(dim, int) and len(shape_of(call.result)) >= 2:
            self._weights[id(call.result)] = Weights(call.result, dim % len(shape_of(call.result)), call.site)
            drop_oldest(self._weights, MAX_TENSORS)

    def _note_product(self, call: Call) -> None:
        """The last dimension of the first factor is summed over: there the weights must sum to one."""
        known = self._of(call.args[0])
        if known is None:
            return
        dims = len(shape_of(call.args[0]))
        if known.dim == dims - 1:
            self._right.add(known.site)
        else:
            self._wrong.setdefault(known.site, (known.dim, dims, call.site, set()))[3].add(self.audit.round)
            drop_oldest(self._wrong, MAX_SITES)

    def _note_mask(self, mask: Any, hides: bool, site: Site) -> None:
        values = array_of(mask)
        tokens = self._tokens
        hidden = values < HIDDEN if values.dtype.kind == "f" else values != 0 if hides else values == 0
        if tokens is None or hidden.ndim < 2:
            return
        if hidden.shape[-1] == tokens.shape[1] + 1:
            hidden = hidden[..., 1:]  # a token for the whole sequence stands before the others
        if hidden.shape[-1] != tokens.shape[1]:
            return
        rows = hidden.reshape(hidden.shape[0], -1, hidden.shape[-1])
        if rows.shape[0] != tokens.shape[0] or (rows != rows[:, :1]).any():
            return  # it depends on the place that attends
        hidden = rows[:, 0]
        shown, lost = np.unique(tokens[~hidden]), np.unique(tokens[hidden])
        bad, fine, _ = self._masks.setdefault(site, (set(), set(), self.audit.provenance.of(mask)))
        (bad if shown.size <= 1 and lost.size >= 3 else fine).add(self.audit.round)
        drop_oldest(self._masks, MAX_SITES)

    def was_seen(self, check: str) -> bool:
        return bool(self._masks) if check == "attention-mask" else bool(self._wrong or self._right)

    def findings(self) -> Iterator[Finding]:
        for site, (dim, dims, product, rounds) in self._wrong.items():
            if len(rounds) >= MIN_ROUNDS and site not in self._right:
                yield finding("attention-dim", "wrong-dim", "attention weights are normalised along the wrong dimension",
                              f"softmax {at(site)} runs along dimension {dim} of {dims}, but the product {at(product)} sums over "
                              f"the last one: for each place the weights of what it attends to do not sum to one, in "
                              f"{count_of(len(rounds), 'observed step')}; what competes is something else (heads, queries, or "
                              "samples).",
                              "normalise over what is summed: softmax(scores, dim=-1).", causes=(site, product),
                              symptom="wrong-value")
        for site, (bad, fine, made) in self._masks.items():
            if len(bad) >= MIN_ROUNDS and not fine:
                yield finding("attention-mask", "masked-all", "the attention mask hides the tokens, and shows the padding",
                              f"In all {count_of(len(bad), 'observed step')} the mask that is given to the attention {at(site)} "
                              "shows one and the same token only (padding, most likely), and hides all others: it looks "
                              "inverted. A boolean attn_mask of scaled_dot_product_attention is True for what may be attended "
                              "to; key_padding_mask and masked_fill are True for what is hidden.",
                              "invert the mask (~mask).", at=site, causes=(*lines_of(made)[:2], site), symptom="wrong-value")
