"""Terms: does every term of the loss have an influence, and are its factors what they are meant to be?"""

from __future__ import annotations

import ast
import re
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.observation import Call, ModuleCall, of_outermost
from whygrad.why.audit.series import Series
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at, describe_cause
from whygrad.why.engine import end_of, is_node, is_parameter, is_tensor, shape_of, size_of, source_of
from whygrad.why.gradient_flow import ARITHMETIC, leaves_from, row_name, summands_of
from whygrad.why.locations import SourceLocation, expression_at, locate
from whygrad.why.program_text import lines_matching, statement_of, targets_of
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

MIN_ROUNDS = 3
# Kinds of causes that cut a summand off from the parameters.
CUTTING = {"detach", "grad-mode-off", "value-copied-out", "parameter-rewrapped", "no-create-graph"}
MAX_SITES = 256
MAX_VISITED = 100_000
# Nodes of a summand that are searched for parameters.
MAX_SUMMAND = 200
# A term with a smaller factor than this, beside one with a usual factor, is not there.
NO_INFLUENCE, USUAL = 1e-8, 1e-3
# Names of values that are meant to be minimised.
SAMPLING = re.compile(r"sampl|draw|multinomial|bernoulli|random", re.IGNORECASE)
# An expression that divides or multiplies.
DIVIDING = re.compile(r"[/*]|div|mul|mean")
# A line that divides by the number of batches to be accumulated: by its name, or hidden in a backward() of a library.
ACCUMULATING = re.compile(r"accum|micro|backward\(", re.IGNORECASE)
NAMED_LOSS = re.compile(r"loss|penalt|regul|(^|_)(reg|kl|aux|nll|bce|cost|commit|distill|contrast)", re.IGNORECASE)


class Term:
    """A summand of a loss: the line of its last op that is more than arithmetic of scalars."""

    def __init__(self, name: str, site: Site) -> None:
        self.name = name
        self.site = site
        self.rounds: set[int] = set()
        self.factors = Series()
        # The lines of the arithmetic between it and the loss, the smallest factor first; equal divisions on the way.
        self.scaled_at: list[Site] = []
        self.divisions: list[tuple[float, Site]] = []


class Terms(Subject):
    checks = {
        "terms": "every term of the loss has an influence",
        "loss-reaches": "every loss that is computed is differentiated",
        "scaling": "the loss is averaged once, and scaled as it is meant",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self._terms: dict[tuple[Site, Site], Term] = {}
        # By line of a scalar: the ids of the leaves that it depends on.
        self._leaves: dict[Site, set[int]] = {}
        # The present backward: gradients of scalars by node, with the arithmetic they passed.
        self._scalars: dict[Any, tuple[float, list[tuple[float, Site]]]] = {}
        self._site: Site | None = None
        self._has_begun = False
        # Terms that are cut off: line of the cause -> (cause, line of the backward, rounds).
        self._cut: dict[Any, tuple[Any, Site, set[int]]] = {}
        # Scalars computed in this round, and the nodes that were differentiated; lines whose results never are.
        self._computed: list[tuple[weakref.ref[Any], int, Site, int]] = []
        self._visited: set[int] = set()
        self._unused: dict[Site, set[int]] = {}
        self._used: set[Site] = set()
        # Losses of a model in training, by line: those of this round, and whether in each round only the last was differentiated.
        self._is_training = False
        self._in_turn: dict[Site, list[int]] = {}
        self._by_functions: set[Site] = set()  # lines of loss functions
        self._only_last: dict[Site, dict[int, int]] = {}
        # The number of elements that each loss averages over; backward passes in each round, by line.
        self._counts: dict[Site, set[int]] = {}
        self._passes: dict[Site, dict[int, int]] = {}
        self._constants: dict[Site, set[int]] = {}
        # Results of loss functions since the last backward, by sequence number; the signs of their gradients, in order, by line.
        self._losses: dict[int, tuple[str, Site]] = {}
        self._signs: dict[Site, tuple[str, Site, list[bool]]] = {}
        # Lines of sums whose summands all have a gradient in some round: what is frozen later is frozen on purpose.
        self._both_sides: set[Site] = set()

    def loss_called(self, call: Call) -> None:
        prediction, target = call.argument(0, "input"), call.argument(1, "target")
        if is_tensor(prediction) and prediction.requires_grad and call.kwargs.get("reduction", "mean") == "mean":
            known = self._counts.setdefault(call.site, set())
            known.update((shape_of(prediction)[0] if len(shape_of(prediction)) else 1, size_of(prediction)))
            if is_tensor(target):
                known.add(size_of(target))
            drop_oldest(self._counts, MAX_SITES)
        source = source_of(call.result) if is_tensor(call.result) else None
        if is_node(source) and size_of(call.result) == 1:
            if len(self._by_functions) < MAX_SITES:
                self._by_functions.add(call.site)
            if self._is_training and self.audit.is_observing:
                self._in_turn.setdefault(call.site, []).append(source.seq)
            self._losses[source.seq] = call.name.rpartition(".")[2], call.site
            drop_oldest(self._losses, MAX_SITES)

    @of_outermost
    def module_called(self, call: ModuleCall) -> None:
        self._is_training = call.module.training

    def called(self, call: Call) -> None:
        result = call.result
        if is_tensor(result) and size_of(result) == 1 and result.requires_grad and len(self._computed) < 2000:
            node = source_of(result)
            if is_node(node):
                self._computed.append((weakref.ref(node), node.seq, call.site, self.audit.round))
                if call.site not in self._leaves and len(self._leaves) < MAX_SITES:
                    self._leaves[call.site] = {id(leaf) for leaf in leaves_from([node])}

    def backward_begun(self, backward: Any, root: Any) -> None:
        self._site, self._scalars, self._has_begun = backward.site, {}, False
        if not self.audit.is_stepping and not backward.only_captures:
            passes = self._passes.setdefault(backward.site, {})
            passes[self.audit.round] = passes.get(self.audit.round, 0) + 1
            drop_oldest(passes, MAX_SITES)
        if self.audit.is_observing and is_node(root):
            for node in summands_of(root):
                self._note_gradient_term(node, backward.site)

    def _note_gradient_term(self, summand: Any, loss: Site) -> None:
        """A summand that reaches no parameter, because it is made of a gradient that was computed without a graph."""
        pending, found = [summand], None
        seen: set[int] = set()
        while pending and len(seen) < MAX_SUMMAND:
            node = end_of(pending.pop())
            if is_parameter(node):
                return
            if is_node(node) and id(node) not in seen:
                seen.add(id(node))
                pending.extend(edge for edge in node.edges if edge is not None)
                found = found or next((cause for causes in node.cuts or () for cause in causes
                                       if cause.kind == "no-create-graph"), None)
        if found is not None and not pending:
            self._cut.setdefault(found.site, (found, loss, set()))[2].add(self.audit.round)

    def node_ran(self, node: Any, g: Any, grads: tuple[Any, ...]) -> None:
        self._visited.add(node.seq)
        if not isinstance(g, np.ndarray) or g.size != 1:
            return
        if self._losses and node.seq in self._losses and self._site is not None and g.reshape(-1)[0]:
            name, site = self._losses.pop(node.seq)
            signs = self._signs.setdefault(site, (name, self._site, []))[2]
            signs.append(bool(g.reshape(-1)[0] < 0))
            del signs[:-MAX_SITES]
        is_summand = (not self._scalars and not self._has_begun) or node in self._scalars
        self._has_begun = True
        value, passed = self._scalars.pop(node, (float(g.reshape(-1)[0]), []))
        is_arithmetic = row_name(node) in ARITHMETIC
        if None not in node.edges and len(node.edges) > 1:
            self._both_sides.add(node.site)
        for i, (edge, out) in enumerate(zip(node.edges, grads, strict=False)):
            if edge is None:
                if is_summand:
                    self._note_constant(node, i)
            elif is_arithmetic and isinstance(out, (np.ndarray, np.generic)) and out.size == 1:
                target, amount = end_of(edge), float(out.reshape(-1)[0])
                step = (amount / value if value else 0.0, node.site)
                if target in self._scalars:  # used twice: the contributions add up
                    amount += self._scalars[target][0]
                self._scalars[target] = amount, passed if 0.999 < abs(step[0]) < 1.001 else [*passed, step]
        if not is_arithmetic:
            self._note_term(node, value, passed)

    def _note_term(self, node: Any, value: float, passed: list[tuple[float, Site]]) -> None:
        if self._site is None or not node.visible:
            return
        key = self._site, node.site
        term = self._terms.get(key)
        if term is None:
            term = self._terms[key] = Term(row_name(node), node.site)
            drop_oldest(self._terms, MAX_SITES)
        term.rounds.add(self.audit.round)
        term.factors.add(self.audit.round, abs(value))
        scaling = [(abs(factor), site) for factor, site in passed]
        term.scaled_at = [site for _, site in sorted(scaling, key=lambda entry: entry[0])]
        term.divisions = scaling

    def _note_constant(self, node: Any, position: int) -> None:
        """A summand without a gradient: if it was cut off from parameters, remember the cause."""
        causes = node.cuts[position] if node.cuts is not None and position < len(node.cuts) else ()
        if row_name(node) not in ("add", "sub") or self._site is None:
            return
        for cause in causes:
            is_cut = cause.kind in CUTTING or (
                cause.kind == "non-differentiable-op" and not SAMPLING.search(cause.detail))
            is_term = not _is_update(node) if cause.kind == "no-create-graph" else any(
                reference() is not None for reference in cause.behind)
            if is_cut and is_term:
                _, _, rounds = self._cut.setdefault(cause.site, (cause, self._site, set()))
                rounds.add(self.audit.round)
            elif cause.kind == "frozen" and cause.site is not None:
                self._constants.setdefault(node.site, set()).add(self.audit.round)

    def round_ended(self, number: int) -> None:
        if self.audit.is_observing:
            for site, numbers in self._in_turn.items():
                was_used = [n in self._visited for n in numbers]
                self._only_last.setdefault(site, {})[number] = len(numbers) if was_used[-1] and sum(was_used) == 1 else 0
                drop_oldest(self._only_last, MAX_SITES)
            self._in_turn = {}
            waiting = []
            for entry in self._computed:
                reference, sequence, site, made_in = entry
                if sequence in self._visited:
                    self._used.add(site)
                elif reference() is not None and number - made_in < 2:
                    waiting.append(entry)  # another optimizer may have its turn
                else:
                    self._unused.setdefault(site, set()).add(number)
                    drop_oldest(self._unused, MAX_SITES)
            self._computed = waiting
            if len(self._visited) > MAX_VISITED:
                self._visited = set()
        else:
            self._computed, self._visited = [], set()

    def unused_with(self, p: Any) -> list[Site]:
        """The lines of scalars that depend on a parameter, and that no backward has reached."""
        return [site for site, rounds in self._unused.items()
                if len(rounds) >= MIN_ROUNDS and site not in self._used and id(p) in self._leaves.get(site, ())]

    def small_factors(self) -> list[Site]:
        """The lines that make the loss small."""
        return [site for term in self._terms.values() for factor, site in term.divisions if factor < 1e-2]

    def was_seen(self, check: str) -> bool:
        return bool(self._terms)

    def findings(self) -> Iterator[Finding]:
        yield from self._without_influence()
        yield from self._cut_off()
        yield from self._of_frozen()
        yield from self._never_differentiated()
        yield from self._only_the_last()
        yield from self._scaling()
        yield from self._accumulating()
        yield from self._not_accumulating()
        yield from self._constant_loss()
        yield from self._negated()

    def _negated(self) -> Iterator[Finding]:
        """A loss function whose factor has become negative, or the only one, if it always is."""
        losses = [r for r in self.audit.optimizers.values() if r.steps]
        for site, (name, loss, signs) in self._signs.items():
            turned = len(signs) > 5 and all(signs[-3:]) and not any(signs[:3])
            alone = len(signs) > 3 and all(signs) and len(losses) == 1 == len(self._signs) and not any(
                group.get("maximize") for group in losses[0].groups)
            if turned or alone:
                lines = [term.site for (of, _), term in self._terms.items() if of == loss]
                yield finding("terms", "loss-negated", "the steps make the loss larger",
                              f"{name} {at(site)} enters the loss {at(loss)} with a negative factor"
                              + (", which was positive at first: it is learned, and the loss is least when it is negative"
                                 if turned else "") + ". Each step of the optimizer makes the error larger.",
                              "keep the factor positive: learn its logarithm, and add what keeps it from zero (exp(-s) * loss "
                              "+ s)."
                              if turned else "leave out the minus.", at=loss, causes=(site, *lines[:3], loss),
                              symptom="wrong-value")
                return

    def _constant_loss(self) -> Iterator[Finding]:
        if not any(record.steps >= 5 for record in self.audit.optimizers.values()):
            return
        for loss in self.audit.losses.values():
            values = loss.values
            if not loss.is_constant():
                continue
            sites = [term.site for (site, _), term in self._terms.items() if site == loss.site]
            yield finding("terms", "loss-constant", "the loss is a constant",
                          f"The loss that is differentiated {at(loss.site)} was {values.last:.6g} in each of "
                          f"{count_of(values.count, 'step')}, whatever the data and the parameters are: it does not depend "
                          "on them (a softmax over one class, a mean of probabilities that always sum to one, a value "
                          "compared with itself, a mask that hides everything), and there is nothing to learn.",
                          "compute a loss that depends on the prediction and the target.",
                          at=loss.site, causes=(*sites[:3], loss.site), symptom="zero")

    def _without_influence(self) -> Iterator[Finding]:
        by_loss: dict[Site, list[Term]] = {}
        for (loss, _), term in self._terms.items():
            by_loss.setdefault(loss, []).append(term)
        for loss, terms in by_loss.items():
            if max(term.factors.greatest for term in terms) < USUAL:
                continue
            for term in terms:
                if len(term.rounds) >= MIN_ROUNDS and term.factors.greatest < NO_INFLUENCE:
                    size = "exactly 0" if term.factors.greatest == 0 else f"at most {term.factors.greatest:.0e}"
                    yield finding("terms", "term-without-influence", "a term of the loss has no influence",
                                  f"The term {term.name} {at(term.site)} of the loss that is differentiated {at(loss)} is "
                                  f"multiplied by {size} in {count_of(len(term.rounds), 'observed step')}"
                                  + (f" (its weight is applied {at(term.scaled_at[0])})" if term.scaled_at else "")
                                  + ": it changes no parameter.",
                                  "give it a weight that matters, or leave it out; check the formula of the weight (an "
                                  "integer division, an annealing that never starts).",
                                  causes=(*term.scaled_at[:2], term.site), symptom="zero")

    def _cut_off(self) -> Iterator[Finding]:
        for cause, loss, rounds in self._cut.values():
            answer = describe_cause(cause, "It was") if len(rounds) >= MIN_ROUNDS else None
            if answer is not None:
                yield finding("terms", "loss-detached", "a term of the loss is cut off from the parameters",
                              f"A summand of the loss that is differentiated {at(loss)} has no gradient, although it was "
                              f"computed from parameters. {answer.text} It changes the loss that is printed, and trains "
                              "nothing.",
                              answer.fix,
                              at=loss, causes=(cause.site, cause.origin, loss), symptom="no-update")

    def _of_frozen(self) -> Iterator[Finding]:
        for site, rounds in self._constants.items():
            here = locate(site)
            if len(rounds) < MIN_ROUNDS or here is None or site in self._both_sides:
                continue
            names = [node.id for node in ast.walk(statement_of(here) or ast.Pass()) if isinstance(node, ast.Name)]
            made = [line for name in names if NAMED_LOSS.search(name)
                    for line in lines_matching(here.file, rf"\b{re.escape(name)}\s*=[^=]") if line.line <= here.line]
            yield finding("terms", "term-without-influence", "a term of the loss has no influence",
                          f"A summand of the loss {at(site)} is computed from frozen parameters only "
                          "(requires_grad=False): it is a constant, has no gradient, and trains nothing, in "
                          f"{count_of(len(rounds), 'observed step')}.",
                          "compute it from parameters that are trained, or leave it out.",
                          causes=(*made[-2:], site), symptom="zero")

    def _never_differentiated(self) -> Iterator[Finding]:
        used = {id(statement) for site in self._used if (statement := statement_of(locate(site))) is not None}
        for site, rounds in self._unused.items():
            here = locate(site)
            if site in self._used or len(rounds) < MIN_ROUNDS or here is None:
                continue
            statement = statement_of(here)
            if id(statement) in used:
                continue  # a part of what the statement computes, that it detaches itself
            names = targets_of(statement)
            named = next((name for name in names if NAMED_LOSS.search(name)), None)
            if isinstance(statement, ast.Expr) and not isinstance(statement.value, (ast.Call, ast.Await)):
                named = ast.unparse(statement)  # `loss + penalty`, whose result nobody keeps
            if named is None and self._is_left(site, here, names):
                named = next(iter(names))
            if named is None or ".item()" in statement_text(here) or "float(" in statement_text(here):
                continue
            losses = [loss.site for loss in self.audit.losses.values()]
            if self._is_part_of_unused(site):
                continue
            yield finding("loss-reaches", "loss-unused", f"`{named}` is computed, but never differentiated",
                          f"`{named}` is computed {at(site)} in every step and requires grad, but no backward() reaches it: "
                          + (f"the one {at(losses[0])} starts from another value. " if losses else "")
                          + "It has no effect on any parameter.",
                          f"add it to the loss that is differentiated, or call {named}.backward().",
                          at=losses[0] if losses else site, causes=(site, *losses[:1]))

    def _is_left(self, site: Site, here: SourceLocation, names: set[str]) -> bool:
        """Whether a loss function has made a value that is bound to a name, and that nobody reads as a number."""
        name = re.escape(next(iter(names), ""))
        return site in self._by_functions and len(names) == 1 and not lines_matching(
            here.file, rf"\b{name}\.(item|detach|data|tolist|mean|sum|backward)\b|[\[({{,]\s*{name}\s*[:,}})]")

    def _only_the_last(self) -> Iterator[Finding]:
        for site, rounds in self._only_last.items():
            if len(rounds) >= MIN_ROUNDS and min(rounds.values()) >= 3:
                losses = [loss.site for loss in self.audit.losses.values()]
                yield finding("loss-reaches", "loss-unused", "most batches are never learned from",
                              f"The loss {at(site)} is computed {max(rounds.values())} times between two steps of the "
                              f"optimizer, for a model in training, and only the last one is differentiated, in {len(rounds)} "
                              "observed steps. The other batches teach nothing: backward() and step() stand behind the loop "
                              "over the batches.",
                              "move zero_grad(), backward() and step() into the loop.", at=losses[0] if losses else site,
                              causes=(*losses[:1], site, *(r.stepped_at for r in self.audit.optimizers.values())))
                return

    def _is_part_of_unused(self, site: Site) -> bool:
        """Whether a later line, which is reported as well, is computed from this one."""
        here = locate(site)
        assert here is not None
        names = targets_of(statement_of(here))
        for other in self._unused:
            there = locate(other)
            if other != site and there is not None and there.file == here.file and there.line > here.line and any(
                    re.search(rf"\b{re.escape(name)}\b", there.expression) for name in names) and other not in self._used:
                return True
        return False

    def _scaling(self) -> Iterator[Finding]:
        for (loss, _), term in self._terms.items():
            if len(term.rounds) < MIN_ROUNDS:
                continue
            divisions = [(factor, site) for factor, site in term.divisions if factor < 0.9]
            twice = next(((a, b) for i, a in enumerate(divisions) for b in divisions[i + 1:]
                          if abs(a[0] - b[0]) < 1e-6 * a[0] and a[1] != b[1]), None)
            counts = self._counts.get(term.site, set())
            batch = next(((factor, site) for factor, site in divisions for n in counts
                          if n > 1 and abs(factor * n - 1) < 1e-4 and site != term.site
                          and DIVIDING.search(expression_at(site))), None)
            if twice is not None:
                yield finding("scaling", "loss-scaled-twice", "the loss is divided twice",
                              f"The loss is multiplied by {twice[0][0]:.4g} {at(twice[0][1])} and once more "
                              f"{at(twice[1][1])}: the gradients are {1 / twice[0][0]:.4g} times smaller than one division "
                              "(for the accumulation, say) would make them.",
                              "divide once.", at=loss, causes=(twice[0][1], twice[1][1]), symptom="wrong-value")
            elif batch is not None:
                yield finding("scaling", "loss-scaled-twice", "the loss is averaged twice",
                              f"{term.name} {at(term.site)} is the mean over its elements already, and is divided "
                              f"{at(batch[1])} by {1 / batch[0]:.4g}, the number of elements, once more: the gradients are "
                              "that much too small.",
                              'leave out the division, or use reduction="sum" with it.', at=loss, causes=(batch[1], term.site),
                              symptom="wrong-value")

    def _not_accumulating(self) -> Iterator[Finding]:
        """A loss that is divided by the number of batches that are to be accumulated, while every batch is applied by itself."""
        for (loss, _), term in self._terms.items():
            counts = list(self._passes.get(loss, {}).values())
            if len(term.rounds) < MIN_ROUNDS or len(counts) < MIN_ROUNDS or max(counts) > 1:
                continue
            for factor, site in term.divisions:
                k = round(1 / factor) if 0 < factor < 0.6 else 0
                if k >= 2 and abs(factor * k - 1) < 1e-4 and ACCUMULATING.search(expression_at(site)):
                    steps = [record.stepped_at for record in self.audit.optimizers.values() if record.steps >= MIN_ROUNDS]
                    here = locate(site)
                    prepared = [] if here is None else lines_matching(here.file, r"\.prepare\(")
                    yield finding("scaling", "accumulation-missing", "the loss is divided for batches that are not accumulated",
                                  f"The loss is divided by {k} {at(site)}, as for the average of {k} batches, but the optimizer "
                                  f"steps after every backward() {at(loss)}: gradients are not accumulated, and {k} times too "
                                  "small."
                                  + (" accelerate skips the steps in between only for an optimizer that was given to prepare()."
                                     if prepared else ""),
                                  f"step once for {k} batches"
                                  + (": give the optimizer to accelerator.prepare()." if prepared else
                                     ", or leave out the division."),
                                  at=loss, causes=(*prepared[:1], site, *steps[:1]), symptom="wrong-value")
                    return

    def _accumulating(self) -> Iterator[Finding]:
        for site, passes in self._passes.items() if not self.audit.watch.reads_gradients() else ():
            counts = [count for number, count in passes.items() if number < self.audit.round]
            if len(counts) < MIN_ROUNDS or min(counts) < 2 or len(set(counts)) > 1:
                continue
            k = counts[0]
            terms = [term for (loss, _), term in self._terms.items() if loss == site]
            if terms and max(term.factors.greatest for term in terms) > 1.5 / k:
                record = max(self.audit.optimizers.values(), key=lambda r: r.steps, default=None)
                yield finding("scaling", "accumulation-undivided", "gradients are accumulated without being averaged",
                              f"backward() {at(site)} runs {k} times for each step of the optimizer, so gradients "
                              f"accumulate, and the loss is not divided by {k}: they add up to a sum, {k} times as large "
                              "as their average.",
                              f"divide the loss by {k} before backward(), if the average over all is meant (with SGD the rate "
                              f"is {k} times larger otherwise).",
                              at=site,
                              causes=(site, *(term.site for term in terms[:1]), None if record is None else record.stepped_at),
                              symptom="wrong-value", odd="backward(" in expression_at(site) or "_grad" in expression_at(site))


def _is_update(node: Any) -> bool:
    """Whether a sum is a parameter and what an inner step of an optimizer added to it: no term of a loss."""
    while is_node(node) and row_name(node) in ("add", "sub"):
        rest = [edge for edge in node.edges if edge is not None]
        if len(rest) != 1:
            return False
        node = end_of(rest[0])
    return not is_node(node)


def statement_text(here: Any) -> str:
    """The text of the statement at a location."""
    statement = statement_of(here)
    return "" if statement is None else ast.unparse(statement)
