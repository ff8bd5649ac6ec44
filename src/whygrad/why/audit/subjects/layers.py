"""Layers: do their outputs depend on the input? Dropout that drops all, masks that hide all, saturation, batches of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import Call, ModuleCall
from whygrad.why.audit.subject import Subject
from whygrad.why.audit.values import is_float
from whygrad.why.causes import at
from whygrad.why.engine import array_of, first_rows, is_grad_enabled, is_near, is_tensor, kind_of, shape_of
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

MIN_ROUNDS = 4
MAX_SITES = 512
# A dropout with this probability, or a higher one, leaves nothing.
MAX_DROPPED = 0.95
# Share of a layer's outputs at the flat end of its function.
SATURATED_SHARE = 0.9
# Where the flat ends begin: the derivative is below 1e-3 there.
FLAT_ENDS = {"sigmoid": (1e-3, 1 - 1e-3), "tanh": (-0.9995, 0.9995)}
MASKING = {"masked_fill", "masked_fill_"}


class Seen:
    """What one line, or one layer, gave in the observed rounds."""

    def __init__(self, site: Site, name: str) -> None:
        self.site = site
        self.name = name
        self.rounds: set[int] = set()
        self.bad_rounds: set[int] = set()
        self.detail: Any = None

    def note(self, number: int, is_bad: bool) -> None:
        self.rounds.add(number)
        if is_bad:
            self.bad_rounds.add(number)

    @property
    def is_always_bad(self) -> bool:
        return len(self.rounds) >= MIN_ROUNDS and self.bad_rounds == self.rounds


class Layers(Subject):
    checks = {
        "outputs-vary": "what the model gives depends on what it is given",
        "dropout": "dropout leaves something",
        "masks": "masks leave something",
        "saturation": "activations are not saturated",
        "batch-norm": "batch norm sees more than one sample",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self._outputs: dict[int, Seen] = {}
        # In the present forward: the first call that turned a batch of different rows into one of equal rows.
        self._lost_at: tuple[str, Site] | None = None
        # True once an output was the same for all samples: from then on that call is searched.
        self._is_searching = False
        self._dropout: dict[Site, Seen] = {}
        self._masks: dict[Site, Seen] = {}
        self._activations: dict[Site, Seen] = {}
        # Functions along a dimension, and the number of samples that the outermost module was last given.
        self._dims: dict[Site, Seen] = {}
        self._batch = 0
        self._norms: dict[int, Seen] = {}
        self._norm_modules: dict[int, Any] = {}

    def called(self, call: Call) -> None:
        if not is_grad_enabled():
            return
        name = call.name.rpartition(".")[2]
        if name in MASKING and is_float(call.args[0]):
            self._note_mask(call)
        if not is_tensor(call.result) or not call.result.requires_grad:
            return
        if name in FLAT_ENDS:
            low, high = FLAT_ENDS[name]
            values = array_of(call.result)
            share = float(((values < low) | (values > high)).mean()) if values.size else 0.0
            seen = _seen(self._activations, call.site, name)
            seen.note(self.audit.round, share > SATURATED_SHARE and values.size >= 16)
            seen.detail = share, float(np.abs(array_of(call.args[0])).mean())
        if name in ("softmax", "log_softmax", "normalize"):
            self._note_dim(call, name)
        if self._is_searching and self._lost_at is None:
            given = next((x for x in call.args if is_tensor(x) and x.requires_grad and len(shape_of(x)) >= 2), None)
            if given is not None and _varies(array_of(given)) and _is_one_row(array_of(call.result), shape_of(given)[0]):
                self._lost_at = name, call.site

    def _note_dim(self, call: Call, name: str) -> None:
        dim = call.kwargs.get("dim", call.args[-1] if len(call.args) > 1 and isinstance(call.args[-1], int) else None)
        shape = shape_of(call.result)
        if isinstance(dim, int) and len(shape) >= 2:
            seen = _seen(self._dims, call.site, name)
            seen.note(self.audit.round, dim % len(shape) == 0 and shape[0] == self._batch and self._batch > 1)

    def _note_mask(self, call: Call) -> None:
        mask, fill = call.argument(1, "mask"), call.argument(2, "value")
        if not is_tensor(mask) or kind_of(mask) != "b" or not isinstance(fill, (int, float)) or fill > -1e4:
            return
        hidden = np.broadcast_to(array_of(mask), shape_of(call.args[0]))
        seen = _seen(self._masks, call.site, "masked_fill")
        made = self.audit.provenance.of(mask)
        rows = hidden.reshape(-1, hidden.shape[-1]) if hidden.ndim else hidden.reshape(1, 1)
        seen.detail = float(hidden.mean()), float(rows.all(-1).mean()), None if made is None else made.site
        # A mask that hides more than it leaves, in every row with anything to hide, has its two sides exchanged.
        seen.note(self.audit.round, bool(hidden.mean() > 0.5 and rows.any(-1).all()))

    def dropout_called(self, call: Call) -> None:
        if not self.audit.is_observing or not call.argument(2, "training", True) or not is_tensor(call.result):
            return
        p = call.argument(1, "p", 0.5)
        seen = _seen(self._dropout, call.site, "dropout")
        seen.detail = p
        seen.note(self.audit.round, p >= MAX_DROPPED)

    def module_called(self, call: ModuleCall) -> None:
        module, output = call.module, call.output
        kind = type(module).__name__
        if call.depth and "BatchNorm" not in kind:
            return
        given = next((x for x in (*call.args, *call.kwargs.values()) if is_tensor(x)), None)
        if not call.depth and is_grad_enabled():  # an evaluation may have batches of another size
            self._batch = shape_of(given)[0] if given is not None and len(shape_of(given)) > 1 else 0
        if "BatchNorm" in kind and module.training:
            self._note_batch_norm(module, call)
        if call.depth or not is_grad_enabled() or not module.training or not is_tensor(output) or not output.requires_grad:
            if not call.depth:
                self._lost_at = None
            return
        shape = shape_of(output)
        is_batch = len(shape) >= 1 and shape[0] > 1
        if given is not None and is_batch and len(shape_of(given)) and shape_of(given)[0] == shape[0]:
            seen = self._outputs.setdefault(id(module), Seen(call.site, kind))
            is_constant = _rows_vary(given) and not _rows_vary(output)
            self._is_searching = self._is_searching or is_constant
            seen.note(self.audit.round, is_constant)
            if self.audit.round in seen.bad_rounds and self._lost_at is not None:
                seen.detail = self._lost_at
        self._lost_at = None

    def _note_batch_norm(self, module: Any, call: ModuleCall) -> None:
        given = call.args[0] if call.args and is_tensor(call.args[0]) else None
        if given is None or len(shape_of(given)) < 2:
            return
        seen = self._norms.setdefault(id(module), Seen(call.site, type(module).__name__))
        self._norm_modules[id(module)] = module
        values = array_of(given)
        seen.detail = values.shape
        seen.note(self.audit.round, values.shape[0] == 1 or not _varies(values))

    def was_seen(self, check: str) -> bool:
        looked_at: dict[str, dict[Any, Seen]] = {
            "outputs-vary": self._outputs, "dropout": self._dropout, "masks": self._masks, "saturation": self._activations,
            "batch-norm": self._norms}
        return any(len(seen.rounds) >= MIN_ROUNDS for seen in looked_at[check].values())

    def findings(self) -> Iterator[Finding]:
        for seen in self._dropout.values():
            if seen.is_always_bad:
                yield finding("dropout", "dropout-all", "dropout drops everything",
                              f"dropout {at(seen.site)} has p={seen.detail:g}, the probability to drop an element (not to keep "
                              f"it): {'nothing' if seen.detail == 1 else f'only {1 - seen.detail:.0%} of the elements'} gets "
                              "through, and no gradient gets back.",
                              "use a small p (0.1 to 0.5 is usual).",
                              causes=(*self.audit.modules.made_at_called(seen.site, _drops_all), seen.site), symptom="zero")
        for seen in self._masks.values():
            if seen.is_always_bad:
                share, whole, made = seen.detail
                yield finding("masks", "masked-all", "a mask hides what it should show",
                              f"masked_fill {at(seen.site)} overwrites {share:.0%} of the elements (True means hidden)"
                              + (f"; {whole:.0%} of the rows are hidden as a whole" if whole else "")
                              + ". It looks inverted: the mask is True where the real elements are, so padding is attended to "
                              "instead of them.",
                              "invert the mask (~mask), or compare the other way round (== pad instead of != pad).",
                              causes=(seen.site, made), symptom="wrong-value", odd=share < 0.6)
        for seen in self._activations.values():
            if seen.is_always_bad:
                share, size = seen.detail
                yield finding("saturation", "saturated", f"{seen.name} is saturated",
                              f"{share:.0%} of what {seen.name} gave {at(seen.site)} in "
                              f"{count_of(len(seen.rounds), 'observed step')} lies at its flat ends, it is saturated: its "
                              f"inputs are too large ({size:.3g} on average), and hardly any gradient passes.",
                              "normalise the inputs, or scale down the weights before it, so that the values stay between -2 "
                              "and 2.",
                              causes=(seen.site,), symptom="zero")
        for seen in self._dims.values():
            if len(seen.rounds) >= MIN_ROUNDS and len(seen.bad_rounds) >= len(seen.rounds) - 1:
                yield finding("outputs-vary", "wrong-dim", f"{seen.name} runs over the batch",
                              f"{seen.name} {at(seen.site)} runs along dimension 0, which is the batch: each sample's "
                              "result depends on the other samples of its batch, in "
                              f"{count_of(len(seen.rounds), 'observed step')}.",
                              "use the dimension of the classes, keys or features (dim=-1 or dim=1).",
                              causes=(seen.site,), symptom="wrong-value")
        yield from self._constant_outputs()
        yield from self._batch_norms()

    def _constant_outputs(self) -> Iterator[Finding]:
        for seen in self._outputs.values():
            if not seen.is_always_bad:
                continue
            name, site = seen.detail or ("", None)
            where = f" The differences were lost in {name} {at(site)}." if site is not None else ""
            found = finding("outputs-vary", "output-constant", "the model gives the same output for every sample",
                            f"In {count_of(len(seen.rounds), 'observed step')} the samples of a batch differed, but {seen.name} "
                            f"{at(seen.site)} gave the same output for each of them.{where} What it learns is the average of "
                            "the targets.",
                            "look at the dimension along which it averages, normalises or applies softmax: the batch (dim 0), "
                            "or a dimension of one element.",
                            at=seen.site, causes=(site, seen.site) if site is not None else (seen.site,), symptom="wrong-value")
            found.hides = {"zero-factor"} if name in ("softmax", "log_softmax") else None
            yield found

    def _batch_norms(self) -> Iterator[Finding]:
        for key, seen in self._norms.items():
            if not seen.is_always_bad:
                continue
            module = self._norm_modules[key]
            what = ("a single sample: it normalises each sample by itself, and removes what tells samples apart"
                    if seen.detail[0] == 1 else
                    f"{seen.detail[0]} equal samples: nothing is left after the mean is subtracted")
            yield finding("batch-norm", "batchnorm-single", "batch norm sees a single sample",
                          f"{seen.name} `{self.audit.path_of(module)}`, called {at(seen.site)}, was given batches "
                          f"of shape {tuple(seen.detail)} in {count_of(len(seen.rounds), 'observed step')}: {what}. Its "
                          "running statistics are those of single samples (batch size 1).",
                          "use larger batches, or GroupNorm or LayerNorm, which do not depend on the batch.",
                          causes=(seen.site, self.audit.modules.made_at(module)), symptom="wrong-value")


def _drops_all(module: Any) -> bool:
    p = getattr(module, "p", getattr(module, "dropout", 0))
    return isinstance(p, (int, float)) and p >= MAX_DROPPED


def _seen(known: dict[Site, Seen], site: Site, name: str) -> Seen:
    found = known.get(site)
    if found is None:
        found = known[site] = Seen(site, name)
        drop_oldest(known, MAX_SITES)
    return found


def _rows_vary(t: Any) -> bool:
    """`_varies` of a tensor; of one on a device two rows are copied, which decide in most batches."""
    return (not is_near(t) and _varies(first_rows(t, 2))) or _varies(array_of(t))


def _varies(values: np.ndarray) -> bool:
    """Whether the rows of a batch differ by more than rounding."""
    if values.ndim < 1 or values.shape[0] < 2 or not values.size:
        return False
    if values.dtype.kind not in "fc":
        return bool((values != values[:1]).any())
    rows = values.reshape(values.shape[0], -1)
    with np.errstate(all="ignore"):
        # Two rows decide in most batches: a third one with much greater numbers would differ from them even more.
        if float(np.abs(rows[1] - rows[0]).max()) > 2e-6 * max(float(np.abs(rows[:2]).max()), 1e-30):
            return True
        spread = float(np.abs(rows - rows[:1]).max())
        return not np.isfinite(spread) or spread > 1e-6 * max(float(np.abs(rows).max()), 1e-30)


def _is_one_row(values: np.ndarray, batch: int) -> bool:
    """Whether a result has lost what told the samples apart: one row, or equal rows."""
    if values.ndim and values.shape[0] == batch and batch > 1:
        return not _varies(values)
    return values.ndim >= 2 and values.shape[0] == 1 and batch > 1
