"""Rules for optimizers: steps without effect, and gradient clipping that comes too early or too late."""

from __future__ import annotations

from typing import Any

from whygrad.why import engine, record
from whygrad.why.answers import Explanation
from whygrad.why.causes import at
from whygrad.why.explain import verdicts_on
from whygrad.why.locations import expression_at, locate, locate_all, location_of_line
from whygrad.why.optimizer_usage import computed_from, optimizer_parameters, usage_of
from whygrad.why.program_text import lines_matching, uncalled_method
from whygrad.why.question import Question
from whygrad.why.rules import first_confirmed
from whygrad.why.rules.unwanted import not_in_optimizer_explanation
from whygrad.why.run_facts import WeakTensorSet, ledger_of, was_reached

HEADLINE = "this step changes nothing: all gradients are None"


def useless_step(watch: Any, optimizer: Any) -> Explanation | None:
    """A step whose parameters all have no gradient."""
    held = optimizer_parameters(optimizer)
    if not held or any(engine.grad_of(p) is not None for p in held):
        return None
    last = engine.last_backward()
    explanation = _without_backward(optimizer, held)
    if explanation is None and last is not None:
        explanation = _cleared(held, last) or _reached_unheld(watch, optimizer, held, last) or _cut_off(held)
    if explanation is not None:
        explanation.headline, explanation.symptom = HEADLINE, "no-update"
    return explanation


def useless_closure(optimizer: Any) -> Explanation | None:
    """The closure of a step computed a loss but did not call backward()."""
    held = optimizer_parameters(optimizer)
    if not held or any(map(was_reached, held)) or any(engine.grad_of(p) is not None for p in held):
        return None
    nodes, backwards = usage_of(optimizer).begun
    if engine.next_sequence_number() <= nodes + 1 or engine.count_backwards() > backwards:
        return None
    return _no_backward("The closure given to step() computes a loss, but does not call backward(): nobody differentiated it",
                        "call loss.backward() in the closure, before it returns the loss.")


def _without_backward(optimizer: Any, held: list[Any]) -> Explanation | None:
    """A loss was computed since the last step but not differentiated. (Scripts that plot schedules only step.)"""
    usage = usage_of(optimizer)
    if usage.nodes is None or any(map(was_reached, held)):
        return None
    others = engine.count_backwards() > usage.backwards
    if not (computed_from(held, usage.nodes) if others else engine.next_sequence_number() > usage.nodes + 1):
        return None
    of = " for its parameters" if others else ""
    return _no_backward(f"No backward() has run{of}: a loss was computed, but nobody differentiated it",
                        "call loss.backward() before optimizer.step().")


def _no_backward(reason: str, fix: str) -> Explanation:
    return mention_uncalled_method(Explanation(
        HEADLINE, "no-backward", f"{reason}, so there are no gradients to apply.", fix, locate_all(record.site()),
        symptom="no-update"), "backward")


def mention_uncalled_method(explanation: Explanation, method: str) -> Explanation:
    """Extend the explanation if the program names the missing method without calling it."""
    here = explanation.causes[0] if explanation.causes else None
    named = None if here is None else uncalled_method(here.file, method)
    if here is not None and named is not None:
        explanation.text += f" Line {named.lineno} names {method} and does not call it: the parentheses are missing."
        explanation.fix = f"write {method}() there."
        explanation.causes.append(location_of_line(here.file, named.lineno))
    return explanation


def never_stepped(watch: Any, optimizer: Any) -> Explanation | None:
    """backward() in a loop without step(). A program that reads every gradient may apply them itself."""
    for p in optimizer_parameters(optimizer):
        ledger = ledger_of(p)
        if (ledger is None or not ledger.in_loop or not ledger.times_cleared or ledger.read_count >= ledger.deposit_count
                or not watch.is_unchanged(p)):
            continue
        backward, made = engine.notes_of(p).reached_by.site, engine.made_at(optimizer)
        return mention_uncalled_method(Explanation(
            "the parameters never change", "step-missing",
            f"backward() computes gradients {at(backward)} again and again, but step() of the optimizer made {at(made)}, which "
            "holds these parameters, is never called: nothing applies them.",
            "call optimizer.step() after loss.backward().", locate_all(backward, *_steps_in_the_text(backward), made),
            symptom="no-update"), "step")
    return None


def _steps_in_the_text(site: Any) -> list[Any]:
    """Lines that would step an optimizer, and never ran."""
    here = locate(site)
    return [] if here is None else lines_matching(here.file, r"opt\w*\.step\(")[:2]


def _cleared(held: list[Any], last: Any) -> Explanation | None:
    cleared = [p for p in held if engine.notes_of(p).grad_log and engine.notes_of(p).grad_log[-1][0] == "cleared"
               and engine.notes_of(p).reached_by is last]
    if not cleared:
        return None
    site = engine.notes_of(cleared[0]).grad_log[-1][1]
    return Explanation(
        HEADLINE, "grad-cleared",
        f"backward {at(last.site)} did fill the gradients, then they were cleared {at(site)} (zero_grad() sets .grad to None), "
        "before step() could apply them.",
        "call zero_grad() before backward() (or after step()), not between the two.", locate_all(site))


def _reached_unheld(watch: Any, optimizer: Any, held: list[Any], last: Any) -> Explanation | None:
    """Backward reached only parameters that are in no optimizer."""
    trace = watch.trace_of(last)
    reached = [] if trace is None else [p for p in trace.leaves if engine.is_parameter(p) and not watch.holders(p)
                                        and not _is_computed(p)]
    if not reached or any(map(was_reached, held)):
        return None
    explanation = not_in_optimizer_explanation(None, [engine.made_at(optimizer)], "the parameters that the last backward reached")
    explanation.causes += locate_all(*[cause.site for cause in engine.causes_of(reached[0])
                                       if _is_loaded(cause) or cause.detail == "a deepcopy"])
    return explanation


def _is_computed(p: Any) -> bool:
    """True for a parameter made of a computed value: nn.Parameter(theta - lr * grad), p.data = theta - lr * grad."""
    wrapped = [cause for cause in engine.causes_of(p) if cause.kind == "parameter-rewrapped" and cause.detail != "a deepcopy"]
    return bool(record.watching.data_replacement_causes(p)) or any(not _is_loaded(cause) for cause in wrapped)


def _is_loaded(cause: Any) -> bool:
    """True for load_state_dict(..., assign=True), which replaces a module's parameters."""
    return ".load_state_dict(" in expression_at(cause.site)


def _cut_off(held: list[Any]) -> Explanation | None:
    """No parameter of this optimizer was ever reached: the cause that cuts the first one off."""
    if any(not engine.is_tensor(p) or was_reached(p) for p in held):
        return None
    return why_never_reached(next((p for p in held if p.requires_grad), held[0]))


def why_never_reached(p: Any) -> Explanation | None:
    """Why no backward reached a parameter; None if the loss just does not use it."""
    explanation = first_confirmed(verdicts_on(Question(p)))
    if explanation is None or explanation.category in ("ok", "no-backward", "not-seen", "unused-in-loss"):
        return None
    return explanation


def clip_misplaced(parameters: Any) -> Explanation | None:
    """Gradients are clipped after a step has applied them."""
    listed = [parameters] if engine.is_tensor(parameters) else parameters
    here = record.site()
    ledgers = [ledger for p in listed if engine.is_tensor(p) and engine.grad_of(p) is not None
               and (ledger := ledger_of(p)) is not None]
    applied = [ledger for ledger in ledgers if ledger.deposits and ledger.deposits[-1].applied]
    if not ledgers or len(applied) < len(ledgers):
        return None
    return Explanation(
        "this clipping has no effect", "clip-misplaced",
        f"The gradients are clipped {at(here)}, but optimizer.step() has applied them already: the step used them unclipped.",
        "clip between loss.backward() and optimizer.step().", locate_all(here), symptom="wrong-value")


def clip_while_scaled(scaled_at: Any) -> Explanation:
    here = record.site()
    return Explanation(
        "this clipping has the wrong size", "clip-misplaced",
        f"The gradients that are clipped {at(here)} are those of a loss that a GradScaler has multiplied {at(scaled_at)}: they "
        "are thousands of times too large, are cut down to the limit all the same, and are divided by the scale afterwards.",
        "call scaler.unscale_(optimizer) between backward() and the clipping.", locate_all(here, scaled_at),
        symptom="wrong-value")


class EarlyClip:
    """A line that clips gradients, and whether there were none each time."""

    def __init__(self, where: Any, moment: int) -> None:
        self.where = where
        self.moment = moment
        self.clipped = WeakTensorSet()
        self.site = record.site()
        self.always_empty = True

    def note_clip(self, parameters: Any) -> None:
        listed = [p for p in ([parameters] if engine.is_tensor(parameters) else parameters) if engine.is_tensor(p)]
        self.always_empty = self.always_empty and all(engine.grad_of(p) is None for p in listed)
        for p in listed if self.always_empty else ():
            self.clipped.add(p)

    def explanation(self) -> Explanation | None:
        """The explanation if the gradients were computed later and applied unclipped."""
        applied = [p for p in self.clipped if (ledger := ledger_of(p)) is not None and ledger.applied_backwards]
        if not self.always_empty or not applied:
            return None
        backward = engine.notes_of(applied[0]).reached_by.site
        return Explanation(
            "this clipping has no effect", "clip-misplaced",
            f"Whenever the gradients are clipped {at(self.site)}, there are none yet (.grad is None): backward() comes later, "
            f"{at(backward)}, and the step applies what it brings unclipped.",
            "clip between loss.backward() and optimizer.step().", locate_all(self.site, backward), symptom="wrong-value")
