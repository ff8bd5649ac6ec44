"""Loss inputs: does the loss get what it expects, logits or (log-)probabilities?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, finding
from whygrad.why.audit.observation import Call, of_functions
from whygrad.why.audit.provenance import lines_of
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import Tensor, array_of, causes_of, end_of, is_node, is_tensor, size_of, source_of
from whygrad.why.gradient_flow import ARITHMETIC, BOUNDED, VIEWS, is_pass_through, row_name, rows_with
from whygrad.why.locations import locate
from whygrad.why.program_text import lines_matching
from whygrad.why.record import Reference, Site
from whygrad.why.run_facts import drop_oldest

MIN_CALLS = 2
MAX_SITES = 64
# Ops that may stand between an activation and the loss without changing what it is.
BETWEEN = (VIEWS | BOUNDED | rows_with("picking") | (ARITHMETIC & {"add"})
           | {"gather", "index", "getitem", "flatten", "contiguous", "clone"})
MAX_DISTANCE = 12
# Losses whose targets are probabilities, and the number of values from which on two of them are labels.
BINARY, MIN_LABELS = {"binary_cross_entropy", "binary_cross_entropy_with_logits"}, 8
PRODUCTS = ("mul", "__mul__", "__rmul__")
# What activations can give, and losses that measure a distance to a number.
RANGES = {"relu": (0.0, float("inf")), "sigmoid": (0.0, 1.0), "tanh": (-1.0, 1.0)}
DISTANCES = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"}


class LossInput:
    """What one line gives to a loss."""

    def __init__(self, name: str, site: Site) -> None:
        self.name = name
        self.site = site
        self.calls = 0
        # How often the input was made by this activation, and where; or looked like this by its values.
        self.activations: dict[str, tuple[int, Site]] = {}
        self.looks: dict[str, int] = {}
        self.options: dict[str, Any] = {}
        # The activation that made it, and the least share of targets beyond what that can give.
        self.beyond: tuple[tuple[str, Site], float] | None = None


class LossInputs(Subject):
    checks = {"loss-input": "every loss is given what it expects: logits, probabilities or their logarithms"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self._inputs: dict[Site, LossInput] = {}
        # Logarithms of what is a logarithm already: the line of the outer one, and of the inner one.
        self._logs: dict[Site, tuple[int, Site]] = {}
        # By line: how often prediction and target were exchanged; how often targets were no probabilities. Logarithms of labels.
        self._exchanged: dict[Site, int] = {}
        self._beyond: dict[Site, int] = {}
        self._target_lines: dict[Site, list[Site]] = {}
        self._log_of_labels: dict[int, tuple[Reference, Site]] = {}

    def loss_called(self, call: Call) -> None:
        prediction, target = call.argument(0, "input"), call.argument(1, "target")
        if not is_tensor(prediction) or not prediction.requires_grad:
            if is_tensor(prediction) and is_tensor(target) and target.requires_grad:
                self._note_exchanged(call, prediction)
            return
        if call.name.rpartition(".")[2] in BINARY and is_tensor(target) and not target.requires_grad and size_of(target):
            values = array_of(target)
            if values.min() < 0 or values.max() > 1:
                self._beyond[call.site] = self._beyond.get(call.site, 0) + 1
                self._target_lines[call.site] = lines_of(self.audit.provenance.of(target))[:3]
        known = self._inputs.get(call.site)
        if known is None:
            known = self._inputs[call.site] = LossInput(call.name.rpartition(".")[2], call.site)
            drop_oldest(self._inputs, MAX_SITES)
        known.calls += 1
        if known.calls > 50 and not self.audit.is_observing:
            known.calls -= 1
            return
        known.options = call.kwargs
        chain = activations_of(prediction)
        for name, site in chain[:1]:
            known.activations[name] = known.activations.get(name, (0, site))[0] + 1, site
        if chain[1:] and chain[0][0] == "log":
            name, site = f"log of {chain[1][0]}", chain[1][1]
            known.activations[name] = known.activations.get(name, (0, site))[0] + 1, site
        self._note_range(known, chain, call)
        look = _look(array_of(prediction))
        known.looks[look] = known.looks.get(look, 0) + 1

    def _note_exchanged(self, call: Call, given: Tensor) -> None:
        """A loss that is no distance is given data in place of the prediction, and the prediction in place of the target."""
        if call.name.rpartition(".")[2] in BINARY | {"nll_loss", "cross_entropy"} and not causes_cut(given):
            self._exchanged[call.site] = self._exchanged.get(call.site, 0) + 1

    @of_functions("log", *PRODUCTS)
    def called(self, call: Call) -> None:
        """Labels of which the logarithm is taken, and by which a prediction is multiplied: the two were exchanged."""
        if call.name.rpartition(".")[2] == "log":
            given = call.args[0] if call.args else None
            if is_tensor(given) and not given.requires_grad and size_of(given) >= MIN_LABELS and _are_labels(array_of(given)):
                self._log_of_labels[id(call.result)] = Reference(call.result), call.site
                drop_oldest(self._log_of_labels, MAX_SITES)
        elif self._log_of_labels and call.result.requires_grad:
            for x in call.args:
                known = self._log_of_labels.get(id(x))
                if known is not None and known[0]() is x:
                    self._exchanged[known[1]] = self._exchanged.get(known[1], 0) + 1

    def _note_range(self, known: LossInput, chain: list[tuple[str, Site]], call: Call) -> None:
        """Count targets that the activation before the loss cannot give."""
        target = call.argument(1, "target")
        bounds = RANGES.get(chain[0][0]) if chain and known.name in DISTANCES else None
        if bounds is not None and is_tensor(target) and array_of(target).size:
            values = array_of(target)
            share = float(((values < bounds[0] - 1e-3) | (values > bounds[1] + 1e-3)).mean())
            known.beyond = chain[0], share if known.beyond is None else min(share, known.beyond[1])

    def node_ran(self, node: Any, g: Any, grads: tuple[Any, ...]) -> None:
        if row_name(node) == "log" and node.edges:
            inner = _activation(node.edges[0])
            if inner is not None and inner[0] in ("log_softmax", "logsigmoid"):
                self._logs[node.site] = self._logs.get(node.site, (0, inner[1]))[0] + 1, inner[1]

    def was_seen(self, check: str) -> bool:
        return bool(self._inputs)

    def findings(self) -> Iterator[Finding]:
        for known in self._inputs.values():
            if known.calls >= MIN_CALLS:
                yield from self._judge(known)
        for site, count in self._exchanged.items():
            if count >= MIN_CALLS:
                here = locate(site)
                users = [] if here is None or here.function == "<module>" else lines_matching(
                    here.file, rf"(?<!def )\b{re.escape(here.function)}\(")
                yield finding("loss-input", "wrong-loss-input", "prediction and target are exchanged",
                              f"What stands in place of the prediction {at(site)} is data, and what stands in place of the "
                              "target is computed from parameters: the logarithm is taken of the labels. This loss is no "
                              "likelihood; it drives the predictions to 0 or 1.", "exchange the two arguments.",
                              causes=(*users[:3], site), symptom="wrong-value")
        for site, count in self._beyond.items():
            if count >= MIN_CALLS:
                yield finding("loss-input", "wrong-loss-input", "the targets of a binary cross-entropy are no probabilities",
                              f"Targets {at(site)} lie below 0 or above 1 (labels of -1 and 1, say): the loss is no likelihood, "
                              "has no lower bound, and falls for ever.", "give it labels of 0 and 1.",
                              causes=(*self._target_lines.get(site, ()), site), symptom="wrong-value")
        for site, (count, inner) in self._logs.items():
            if count >= MIN_CALLS:
                yield finding("loss-input", "log-softmax-twice", "a logarithm is taken twice",
                              f"log {at(site)} is applied to log-probabilities, the result of log_softmax {at(inner)}: "
                              "these are negative, and their logarithm is no number, or a constant where they are clamped.",
                              "use the log-probabilities as they are (nll_loss), or take the log of softmax.",
                              causes=(inner, site), symptom="wrong-value")

    def _judge(self, known: LossInput) -> Iterator[Finding]:
        loss = known.name
        made = {name: site for name, (count, site) in known.activations.items() if count == known.calls}
        looks = {look for look, count in known.looks.items() if count == known.calls}
        criterion = tuple(self.audit.modules.made_at_of_loss(known.site))

        def report(category: str, headline: str, text: str, fix: str, site: Site | None = None, odd: bool = False) -> Finding:
            return finding("loss-input", category, headline, text, fix, at=known.site,
                           causes=(*(() if site is None else (site,)), known.site, *criterion), symptom="wrong-value", odd=odd)

        if known.beyond is not None and known.beyond[1] > 0.1:
            (name, place), share = known.beyond
            layers = self.audit.modules.made_at_called(place, lambda module: type(module).__name__.lower() == name)
            criterion = (*layers[-2:], *criterion)
            yield report("output-range", "targets lie beyond what the output can reach",
                         f"{share:.0%} of the targets of {loss} {at(known.site)} lie outside of what {name} {at(place)} can give "
                         f"({RANGES[name][0]:g} to {RANGES[name][1]:g}): they can never be predicted, and there the gradient "
                         "is zero or small.",
                         f"leave out {name} after the last layer, or scale the targets.", place)
        where = f"{loss} {at(known.site)}"
        if loss == "cross_entropy":
            if "softmax" in made or ("probabilities" in looks and "log_softmax" not in made):
                site = made.get("softmax")
                yield report("softmax-before-loss", "softmax is applied twice",
                             f"{where} is given probabilities{_from('softmax', site)}, but expects logits: it applies "
                             "log_softmax itself. The second softmax sees numbers between 0 and 1 only, so the loss can "
                             "hardly fall and the gradients are small.",
                             "give cross_entropy the logits: leave out the softmax in training.", site)
            elif "log_softmax" in made or "log of softmax" in made:
                site = made.get("log_softmax") or made["log of softmax"]
                yield report("log-softmax-twice", "log_softmax is applied twice",
                             f"{where} is given log-probabilities{_from('log_softmax', site)}, and applies log_softmax "
                             "once more. The value is the same, since log_softmax of log-probabilities changes nothing, "
                             "but the work is done twice.",
                             "use nll_loss for log-probabilities, or give cross_entropy the logits.", site, odd=True)
        elif loss == "nll_loss":
            if "softmax" in made or "probabilities" in looks:
                yield report("wrong-loss-input", "nll_loss is given probabilities",
                             f"{where} is given probabilities{_from('softmax', made.get('softmax'))}, but expects their "
                             "logarithms: it does not take the logarithm itself, and what is minimised is not the "
                             "likelihood.",
                             "use log_softmax instead of softmax, or cross_entropy on the logits.", made.get("softmax"))
            elif not made and "log-probabilities" not in looks and "other" in looks:
                yield report("wrong-loss-input", "nll_loss is given logits",
                             f"{where} is given numbers that are no log-probabilities (their exponentials do not sum to "
                             "1): logits without log_softmax. The loss has no lower bound, and falls for ever.",
                             "apply log_softmax first, or use cross_entropy, which does.")
        elif loss == "binary_cross_entropy_with_logits" and ({"sigmoid", "softmax"} & made.keys()):
            name = "sigmoid" if "sigmoid" in made else "softmax"
            yield report("sigmoid-before-logits", f"{name} is applied before a loss that applies sigmoid itself",
                         f"{where} is given probabilities{_from(name, made[name])}, but expects logits: it applies sigmoid "
                         "itself. What it compares with the target lies between 0.5 and 0.73 always.",
                         "give it the logits, or use binary_cross_entropy.", made[name])
        elif loss == "kl_div" and ("softmax" in made or "probabilities" in looks) and "log_softmax" not in made:
            yield report("wrong-loss-input", "kl_div is given probabilities",
                         f"{where} is given probabilities{_from('softmax', made.get('softmax'))} as its first argument, "
                         "but expects their logarithms (log_softmax): what it computes is no divergence.",
                         "use log_softmax for the first argument of kl_div.", made.get("softmax"))
        elif loss == "poisson_nll_loss" and known.options.get("log_input", True) and "exp" in made:
            yield report("wrong-loss-input", "poisson_nll_loss is given exp of the log-rate",
                         f"{where} expects the logarithm of the rate (log_input=True) and takes exp itself, but is given exp "
                         f"{at(made['exp'])}: exp of exp.",
                         "give it the log-rate, or set log_input=False.", made["exp"])


def causes_cut(t: Tensor) -> bool:
    """Whether a tensor was computed from parameters."""
    return any(cause.behind for cause in causes_of(t))


def _are_labels(values: np.ndarray) -> bool:
    """Whether an array has two values only, which are nearly 0 and 1."""
    low, high = float(values.min()), float(values.max())
    return 0 <= low < 0.1 and 0.9 < high <= 1.1 and bool(((values == low) | (values == high)).all())


def _from(name: str, site: Site | None) -> str:
    return "" if site is None else f", the result of {name} {at(site)}"


def activations_of(t: Tensor) -> list[tuple[str, Site]]:
    """The activation that made a tensor, and the one before it: (name, line)."""
    first = _activation(source_of(t))
    if first is None:
        return []
    node = first[2]
    second = _activation(node.edges[0]) if first[0] == "log" and node.edges else None
    return [first[:2]] if second is None else [first[:2], second[:2]]


NAMED = {"relu", "tanh", "softmax", "log_softmax", "sigmoid", "log", "exp", "logsigmoid", "safe_softmax"}


def _activation(source: Any) -> Any:
    """The nearest activation behind a tensor, before views and clamps of its result: (name, line, node)."""
    node = None if source is None else end_of(source)
    for _ in range(MAX_DISTANCE):
        if not is_node(node):
            return None
        name = row_name(node).removeprefix("_")
        if name in NAMED:
            return name.replace("safe_softmax", "softmax"), node.site, node
        if not (is_pass_through(node) or name in BETWEEN) or not node.edges:
            return None
        following = [edge for edge in node.edges if edge is not None]
        if len(following) != 1:
            return None
        node = end_of(following[0])
    return None


def _look(values: np.ndarray) -> str:
    """What a prediction looks like, its classes along the second dimension: probabilities, log-probabilities or other."""
    if values.ndim < 2 or values.shape[1] < 2 or values.dtype.kind != "f" or not values.size:
        return "unknown"
    with np.errstate(all="ignore"):
        is_positive = values.min() >= 0
        sums = (values if is_positive else np.exp(values)).sum(1)
        if not np.abs(sums - 1).max() <= 1e-3:
            return "other"
        return "probabilities" if is_positive else "log-probabilities"
