"""Numbers: where the first value that is not finite was born, and whether training diverges."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from whygrad.why.answers import Explanation
from whygrad.why.audit.finding import Finding, count_of, finding
from whygrad.why.audit.loss_record import LossRecord
from whygrad.why.audit.observation import Call
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.audit.subjects.movement import Movement
from whygrad.why.audit.values import is_finite, is_float
from whygrad.why.causes import at
from whygrad.why.engine import array_of, notes_of
from whygrad.why.locations import locate
from whygrad.why.nonfinite_origin import describe_arguments, nan_or_inf
from whygrad.why.question import Question
from whygrad.why.record import Site
from whygrad.why.rules.not_finite import not_finite
from whygrad.why.run_facts import drop_oldest, ledger_of

# Growth of a loss, or of a parameter's norm, that no working training shows.
GROWTH = 1e3
# A gradient norm with which a step throws the weights away.
EXPLODED = 1e3
# Lines remembered that gave a value that is not finite; a mask of -inf is one, and is harmless.
MAX_BIRTHS = 64


class Numbers(Subject):
    checks = {
        "finite": "losses, gradients and weights stay finite",
        "diverged": "the loss does not run away",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # The first call in each line that made such a value of finite ones: the name of the function, and its argument in words.
        self._births: dict[Site, tuple[str, str, str]] = {}
        # The first gradient that was not finite: its explanation, the round, and its parameters.
        self._gradient: Explanation | None = None
        self._gradient_round = 0
        self._gradient_parameters: list[Any] = []
        # (round, norm of all gradients) of the latest steps with finite ones.
        self._largest: list[tuple[int, float]] = []

    def called(self, call: Call) -> None:
        if self._gradient is None and is_float(call.result) and not is_finite(call.result) and call.site not in self._births and (
                not call.name.rpartition(".")[2].startswith(("empty", "new_empty"))):
            given = [x for x in (*call.args, *call.kwargs.values()) if is_float(x)]
            if all(map(is_finite, given)):
                arguments = describe_arguments({str(i): array_of(x) for i, x in enumerate(given)})
                self._births[call.site] = call.name.rpartition(".")[2], nan_or_inf(array_of(call.result)), arguments
                drop_oldest(self._births, MAX_BIRTHS)

    def backward_done(self, trace: Any) -> None:
        if self._gradient is not None:
            return
        bad = [leaf for leaf in trace.leaves if (ledger := ledger_of(leaf)) is not None and ledger.deposits
               and ledger.deposits[-1].state == "bad"]
        if bad:
            self._gradient = not_finite(Question(bad[0]))
            self._gradient_round = self.audit.round
            self._gradient_parameters = bad

    def before_step(self, record: OptimizerRecord) -> None:
        if self.audit.is_observing:
            size = math.sqrt(sum(size**2 for size in self.audit.gradient_norms(record).values()))
            if math.isfinite(size):
                self._largest.append((self.audit.round, size))
                del self._largest[:-64]

    def findings(self) -> Iterator[Finding]:
        if any(answer.explanation.symptom == "nan" for answer in self.audit.watch.answers):
            return  # told for a read
        nonfinite = [loss for loss in self.audit.losses.values() if loss.nonfinite_round is not None]
        first = min(nonfinite, key=lambda loss: loss.nonfinite_round or 0, default=None)
        diverged = self._diverged(first)
        if diverged is not None:
            yield diverged
        elif self._gradient is not None and not ("before anything was computed" in self._gradient.text and self._births):
            yield self._not_finite(self._gradient, first)
        elif first is not None:
            yield self._loss_only(first)

    def _diverged(self, nonfinite: LossRecord | None) -> Finding | None:
        """The loss or the weights grew by orders of magnitude, step by step."""
        losses = [nonfinite] if nonfinite is not None else list(self.audit.losses.values())
        for loss in losses:
            values = [value for value in loss.values.values if math.isfinite(value)]
            if len(values) < 2:
                continue
            begin, end = abs(values[0]), abs(values[-1])
            grown = end / max(min(map(abs, values[:3])), 1e-2)
            if grown < GROWTH or end < 10 * begin:
                continue
            record = self._optimizer_of(loss)
            if record is None:
                continue
            rates = ", ".join(sorted({f"{float(group['lr']):g}" for group in record.groups if "lr" in group}))
            text = (f"The loss that is differentiated {at(loss.site)} grew from {values[0]:.4g} to {values[-1]:.4g}"
                    + (f" and is not finite from step {loss.nonfinite_round + 1} on" if loss.nonfinite_round is not None else "")
                    + f" in {count_of(loss.values.count, 'step')}: each step of {record.kind} (lr={rates}) overshoots further "
                    "than the last one.")
            return self._divergence(record, loss, text)
        return self._exploded_in_one_step(nonfinite)

    def _divergence(self, record: OptimizerRecord, loss: LossRecord, text: str) -> Finding:
        scheduler = next((s for s in self.audit.schedulers.values() if s.optimizer is record.optimizer and s.steps), None)
        sites = [record.made_at, *record.callers[:1], loss.site, record.stepped_at]
        if scheduler is not None:
            text += f" The rate is set by {scheduler.kind}, made {at(scheduler.made_at)}."
            sites[:0] = [scheduler.made_at, scheduler.stepped_at]
        return finding("diverged", "diverged", "training diverges", text,
                       "lower the learning rate (by a factor of 10 to begin with), normalise inputs and targets, or clip the "
                       "gradients.",
                       at=loss.site, causes=tuple(sites), symptom="nan")

    def _exploded_in_one_step(self, loss: LossRecord | None) -> Finding | None:
        """The weights were fine, one step with a huge gradient made them useless."""
        if loss is None or not loss.nonfinite_round or not self._largest or self._births_are_to_blame():
            return None
        size, typical = self._largest[-1][1], sorted(value for _, value in self._largest)[len(self._largest) // 2]
        record = self._optimizer_of(loss)
        if record is None or not (size > max(EXPLODED, 100 * typical) or self._last_step_of(record) > 1):
            return None
        rates = ", ".join(sorted({f"{float(group['lr']):g}" for group in record.groups if "lr" in group}))
        return self._divergence(record, loss, (
            f"The norm of the gradients was {typical:.2g} typically and {size:.2g} before the loss that is differentiated "
            f"{at(loss.site)} became not finite, in step {loss.nonfinite_round + 1}: a step of {record.kind} (lr={rates}) "
            "with such a gradient throws the weights away."))

    def _last_step_of(self, record: OptimizerRecord) -> float:
        """By how much of their size the last finite step moved the weights."""
        moves = self.audit.subject(Movement).moves
        ratios = [v for p in record.parameters if id(p) in moves for v in moves[id(p)].ratios.values if math.isfinite(v)]
        return max(ratios, default=0.0)

    def _births_are_to_blame(self) -> bool:
        """Whether a function was given an argument for which it is not defined, such as log(0)."""
        return any(argument in ("0", "a negative number") for _, _, argument in self._births.values())

    def _optimizer_of(self, loss: LossRecord) -> OptimizerRecord | None:
        records = [record for record in self.audit.optimizers.values() if record.steps]
        return max(records, key=lambda record: record.steps, default=None)

    def _not_finite(self, explanation: Explanation, loss: LossRecord | None) -> Finding:
        is_forward = loss is not None and (loss.nonfinite_round or 0) <= self._gradient_round
        if is_forward:
            explanation.category = "nan-forward"
        explanation.headline = (f"the {'loss' if is_forward else 'gradient'} is not finite from step "
                                f"{self._gradient_round + 1} on, and with it every weight")
        explanation.parameters = [name for p in self._gradient_parameters if (name := self.audit.name_of(p))]
        where = locate(notes_of(self._gradient_parameters[0]).reached_by.site) if self._gradient_parameters else None
        return Finding("finite", where, explanation)

    def _loss_only(self, loss: LossRecord) -> Finding:
        """The loss was not finite, and no gradient was seen."""
        births = "; ".join(f"{_function(name)} {at(site)} gave {result}" + (f", given {argument}" if argument else "")
                           for site, (name, result, argument) in list(self._births.items())[:3])
        return finding("finite", "nan-forward", f"the loss is not finite from step {(loss.nonfinite_round or 0) + 1} on",
                       f"The loss that is differentiated {at(loss.site)} is not finite, and with it every gradient and "
                       f"weight. The first value that is not finite was made before: {births or 'it was not seen where'}.",
                       "keep the arguments of that function where it is defined: no division by zero (a standard deviation "
                       "of constant data), no log of 0, no overflow (clamp, eps).",
                       at=loss.site, causes=(*self._births, loss.site), symptom="nan")


def _function(name: str) -> str:
    known = {"__truediv__": "the division", "div": "the division", "__pow__": "the power", "__mul__": "the product"}
    return known.get(name, name)
