"""Detaching: do values that a loss takes as constants, and networks that it does not train, stay out of its gradients?"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, count_of, finding, listed
from whygrad.why.audit.observation import Call, ModuleCall, of_functions, tensors_of
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.audit.values import sample
from whygrad.why.causes import at, describe_cause, is_sampling
from whygrad.why.engine import causes_of, is_node, is_tensor, size_of, source_of
from whygrad.why.gradient_flow import row_name
from whygrad.why.locations import expression_at, locate, source_lines
from whygrad.why.program_text import argument_text, lines_matching, parse_expression
from whygrad.why.record import Cause, Site
from whygrad.why.rules.altered import CONSTANT
from whygrad.why.run_facts import drop_oldest, ledger_of

# Weights of a policy's gradient, and what they are multiplied with: `log_probs * advantages`.
WEIGHT = re.compile(r"adv|td_err|\bdeltas?\b|reward|\breturns?\b|baseline", re.IGNORECASE)
SCORE = re.compile(r"log_?p|ratio|log_?pi|surr", re.IGNORECASE)
MIN_ROUNDS = 3
# Calls of a layer in a row.
MIN_UNROLLED = 3
# Parameters of an optimizer that are looked at, and samples of gradients that are kept.
MAX_PARAMETERS, MAX_SAMPLES, MAX_SITES, MAX_PRODUCTS = 4, 256, 64, 4096
# Rows that draw from a distribution given by tensors.
SAMPLING = {"normal", "bernoulli", "poisson"}
# The cosine of two gradients from which on they work against each other.
OPPOSED = -0.3


class Mixed:
    """Gradients of two lines that one step applied together: in which rounds, how opposed they were, and for what."""

    def __init__(self) -> None:
        self.rounds: set[int] = set()
        self.cosines: list[float] = []
        self.parameters: dict[int, Any] = {}


class Detaching(Subject):
    checks = {"detached": "values that are meant as constants, and networks of another optimizer, are detached"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # What was found in the text of each product.
        self._products: dict[Site, list[tuple[int, str]]] = {}
        # By line: the name of the weight, where it was computed, and the rounds.
        self._weights: dict[Site, tuple[str, Site | None, set[int]]] = {}
        # By id of a leaf and number of a backward: the round, and a sample of the gradient.
        self._samples: dict[tuple[int, int], tuple[int, np.ndarray]] = {}
        # By line of a loss: the name of the target, where it was computed, and the rounds; by line of dist.sample() the cause.
        self._targets: dict[Site, tuple[str, Site | None, set[int]]] = {}
        self._sampled: dict[Site, tuple[Cause, set[int]]] = {}
        # By line: rounds in which a gradient reached a sample, whose derivative is zero.
        self._drawn: dict[Site, set[int]] = {}
        # Cells that a model has called since the last backward, by module and line.
        self._cells: set[tuple[int, Site]] = set()
        # By module and line of its calls since the last backward: the number of its output's node, and why an argument has no
        # history although it was computed from parameters; by line of that cause what was found.
        self._unrolled: dict[tuple[int, Site], list[tuple[int, Cause | None]]] = {}
        self._visited: set[int] = set()
        self._kinds: dict[int, str] = {}
        self._forgotten: dict[Site, tuple[Cause, str, int, set[int]]] = {}
        # By the lines of the two backward passes.
        self._mixed: dict[tuple[Site, Site], Mixed] = {}

    @of_functions("mul", "__mul__", "__rmul__")
    def called(self, call: Call) -> None:
        if call.name.rpartition(".")[2] not in ("mul", "__mul__", "__rmul__") or len(call.args) < 2:
            return
        if not all(is_tensor(x) and x.requires_grad for x in call.args[:2]):
            return
        for position, text in self._weight_at(call.site):
            source = source_of(call.args[position])
            rounds = self._weights.setdefault(call.site, (text, source.site if is_node(source) else None, set()))[2]
            rounds.add(self.audit.round)
            drop_oldest(self._weights, MAX_SITES)

    def _weight_at(self, site: Site) -> list[tuple[int, str]]:
        """(position, text) of the factor of a product that is named like the weight of a score."""
        found = self._products.get(site)
        if found is None:
            here = locate(site)
            product = None if here is None else parse_expression(here.expression)
            texts = [ast.unparse(product.left), ast.unparse(product.right)] if (
                isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult)) else []
            found = self._products[site] = [
                (i, text) for i, text in enumerate(texts)
                if WEIGHT.search(text) and SCORE.search(texts[1 - i]) and not SCORE.search(text)]
            drop_oldest(self._products, MAX_PRODUCTS)
        return found

    def loss_called(self, call: Call) -> None:
        target = call.argument(1, "target")
        if not self.audit.is_observing or not is_tensor(target) or not target.requires_grad:
            return
        here = locate(call.site)
        text = "" if here is None else argument_text(here, 1)
        if CONSTANT.search(text) and "(" not in text:
            source = source_of(target)
            self._targets.setdefault(call.site, (text, source.site if is_node(source) else None, set()))[2].add(self.audit.round)
            drop_oldest(self._targets, MAX_SITES)

    def module_called(self, call: ModuleCall) -> None:
        outputs = call.output if isinstance(call.output, tuple) else (call.output,)
        node = next((source for t in outputs if is_tensor(t) and is_node(source := source_of(t))), None)
        if node is not None and len(self._unrolled) < MAX_SITES:
            cause = next((cause for t in tensors_of(call) if not t.requires_grad for cause in causes_of(t)
                          if cause.kind == "detach" and any(reference() is not None for reference in cause.behind)), None)
            calls = self._unrolled.setdefault((id(call.module), call.site), [])
            calls.append((node.seq, cause))
            del calls[MAX_PRODUCTS:]
            self._kinds[id(call.module)] = type(call.module).__name__
            if call.depth and len(tensors_of(call)) > 1:  # a cell that a model gives an input and a state
                self._cells.add((id(call.module), call.site))

    def backward_begun(self, backward: Any, root: Any) -> None:
        self._visited = set()

    def backward_done(self, trace: Any) -> None:
        """A layer that was called for each time step, of which no call has passed a gradient on to the one before."""
        for (module, at_site), calls in self._unrolled.items():
            reached = [sequence in self._visited for sequence, _ in calls]
            causes = [cause for _, cause in calls[1:]]
            is_cut = not any(reached[:-1]) or ((module, at_site) in self._cells and all(reached))
            if len(calls) >= MIN_UNROLLED and reached[-1] and all(causes) and is_cut:
                cause = causes[-1]
                assert cause is not None
                assert cause.site is not None
                known = self._forgotten.setdefault(cause.site, (cause, self._kinds[module], len(calls), set()))
                known[3].add(self.audit.round)
                drop_oldest(self._forgotten, MAX_SITES)
        self._unrolled = {}
        self._cells.clear()

    def node_ran(self, node: Any, g: Any, grads: tuple[Any, ...]) -> None:
        if self._unrolled:
            self._visited.add(node.seq)
        if row_name(node) in SAMPLING and grads and node.site is not None:
            self._drawn.setdefault(node.site, set()).add(self.audit.round)
            drop_oldest(self._drawn, MAX_SITES)
        for cause in {cause for causes in node.cuts or () for cause in causes}:
            if is_sampling(cause) and cause.site is not None:
                self._sampled.setdefault(cause.site, (cause, set()))[1].add(self.audit.round)
                drop_oldest(self._sampled, MAX_SITES)

    def deposited(self, leaf: Any, backward: Any, gradient: Any) -> None:
        if self.audit.is_observing and size_of(leaf) > 3 and len(self.audit.optimizers) > 1:
            self._samples[id(leaf), backward.number] = self.audit.round, sample(gradient)
            drop_oldest(self._samples, MAX_SAMPLES)

    def before_step(self, record: OptimizerRecord) -> None:
        if not self.audit.is_observing or len(self.audit.optimizers) < 2:
            return
        for p in [p for p in record.parameters if size_of(p) > 3][:MAX_PARAMETERS]:
            self._compare(record, p)

    def _compare(self, record: OptimizerRecord, p: Any) -> None:
        """Gradients that are applied together, one of which was left by a loss that another optimizer has stepped for since."""
        ledger = ledger_of(p)
        known = [] if ledger is None else [(d.backward, *self._samples[id(p), d.backward.number]) for d in ledger.deposits
                                           if (id(p), d.backward.number) in self._samples]
        if len(known) < 2:
            return
        last, _, own = known[-1]
        for other, number, left in known[:-1]:
            is_of_another = other.site != last.site and record.last_round < number < self.audit.round
            size = float(np.linalg.norm(left)) * float(np.linalg.norm(own))
            if is_of_another and size and left.shape == own.shape:
                mixed = self._mixed.setdefault((other.site, last.site), Mixed())
                mixed.rounds.add(self.audit.round)
                mixed.cosines.append(float(np.vdot(left, own).real) / size)
                mixed.parameters[id(p)] = p

    def was_seen(self, check: str) -> bool:
        return bool(self._weights or self._samples)

    def findings(self) -> Iterator[Finding]:
        for site, (cause, kind, count, rounds) in self._forgotten.items():
            if len(rounds) >= MIN_ROUNDS:
                here = locate(site)
                callers = [] if here is None or here.function in ("forward", "<module>") else lines_matching(
                    here.file, rf"(?<!def )\b{re.escape(here.function)}\(")
                yield finding("detached", "detach", "no gradient flows back through time",
                              f"{kind} is called {count} times in a row, each time with its own earlier result, but that is "
                              f"taken out of the graph by {cause.detail} {at(site)} every time: none of the {count} calls passes "
                              f"a gradient on to the one before, in {count_of(len(rounds), 'observed step')}, and nothing can be "
                              "learned over time.",
                              "detach the state between sequences (once before the loop), not at each step of one.",
                              causes=(site, *callers[:2]), symptom="no-update")
        for site, (text, made, rounds) in self._weights.items():
            if len(rounds) >= MIN_ROUNDS:
                yield finding("detached", "missing-detach", "a weight of the policy's gradient is not detached",
                              f"`{text}` {at(site)} requires grad: it is meant as a constant weight of the log-probabilities, "
                              "but the gradient of this loss flows into it as well, and changes what it was computed from (the "
                              "critic) so that the loss falls, not so that it is right.",
                              f"detach it: {text}.detach().", causes=(site, made), symptom="unwanted")
        for site, (text, made, rounds) in self._targets.items():
            if len(rounds) >= MIN_ROUNDS:
                yield finding("detached", "missing-detach", "a gradient also flows through the target of the loss",
                              f"`{text}`, the target of the loss {at(site)}, was computed {at(made)} with history: it is not a "
                              "constant, so backward also changes the parameters to move the target towards the prediction.",
                              f"compute the target without history: {text}.detach(), or inside with torch.no_grad().",
                              causes=(made, site), symptom="unwanted")
        for site, (cause, rounds) in self._sampled.items():
            here, answer = locate(site), describe_cause(cause, "It was")
            if len(rounds) >= MIN_ROUNDS and here is not None and answer is not None and not any(
                    "log_prob" in line for line in source_lines(here.file)):
                yield finding("detached", answer.category, "a sample cuts the path to what it was drawn from",
                              f"{answer.text} What the loss says of the sample does not reach the parameters of the "
                              "distribution.", answer.fix, causes=(site,), symptom="no-update")
        for site, rounds in self._drawn.items():
            if len(rounds) >= MIN_ROUNDS:
                yield finding("detached", "zero-local-derivative", "a sample passes on gradients of zeros",
                              f"{expression_at(site) or 'What is drawn'} {at(site)} draws random values, and its derivative with "
                              "respect to mean, standard deviation or probability is defined as zero: what the loss says of "
                              "the sample does not reach what it was drawn from.",
                              "write the sample as a function of its parameters: mean + std * torch.randn_like(std), or "
                              "rsample() of a distribution.", causes=(site,), symptom="no-update")
        for (left, applied), mixed in self._mixed.items():
            if len(mixed.rounds) >= MIN_ROUNDS:
                cosine = float(np.median(mixed.cosines))
                names = [self.audit.name_of(p) for p in mixed.parameters.values()]
                how = "against which they work" if cosine < OPPOSED else "which another loss wants"
                yield finding("detached", "missing-detach", "a loss leaves gradients in a network that it does not train",
                              f"The backward {at(left)} also reaches {listed(names)}, which another optimizer trains; these "
                              f"gradients are not cleared, and are applied together with those of the backward {at(applied)}, "
                              f"{how} (cosine {cosine:.2f} in {count_of(len(mixed.rounds), 'observed step')}).",
                              "detach the network's output in the first loss, or call zero_grad() of its optimizer right before "
                              "its own backward.", at=left, causes=(left, applied), parameters=names, symptom="unwanted",
                              odd=cosine >= OPPOSED)
