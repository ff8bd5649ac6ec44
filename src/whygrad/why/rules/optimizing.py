"""Steps of optimizers that have no effect, and clipping that comes too early or too late."""

from __future__ import annotations

from typing import Any

from whygrad.core import engine
from whygrad.core.modes import process_state
from whygrad.core.node import next_sequence_number
from whygrad.core.tensor import Tensor
from whygrad.why import record
from whygrad.why.answers import Explanation
from whygrad.why.causes import at
from whygrad.why.facts import Tensors
from whygrad.why.places import place, place_of_line, places
from whygrad.why.question import Question
from whygrad.why.rules import settle
from whygrad.why.rules.unwanted import not_held_words
from whygrad.why.rules.vanished import zero
from whygrad.why.source import uncalled
from whygrad.why.usage import computed_from, held_by, usage_of

HEADLINE = "this step changes nothing: all gradients are None"


def useless_step(watch: Any, optimizer: Any) -> Explanation | None:
    """A step that has nothing to apply."""
    held = held_by(optimizer)
    if not held or any(p._grad is not None for p in held):
        return None
    last = process_state.last_backward
    told = _without_backward(optimizer, held)
    if told is None and last is not None:
        told = _cleared(held, last) or _others_reached(watch, optimizer, held, last) or _cut_off(held)
    if told is not None:
        told.headline, told.symptom = HEADLINE, "no-update"
    return told


def useless_closure(optimizer: Any) -> Explanation | None:
    """The closure of a step computed a loss, and did not differentiate it."""
    held = held_by(optimizer)
    if not held or was_reached(held) or any(p._grad is not None for p in held):
        return None
    nodes, backwards = usage_of(optimizer).begun
    if next_sequence_number() <= nodes + 1 or engine.count_backwards() > backwards:
        return None
    return _no_backward("The closure given to step() computes a loss, but does not call backward(): nobody differentiated it",
                        "call loss.backward() in the closure, before it returns the loss.")


def was_reached(held: list[Any]) -> bool:
    return any(p._meta is not None and p._meta.reached_by is not None for p in held)


def _without_backward(optimizer: Any, held: list[Any]) -> Explanation | None:
    """Something was computed since the last step, but never differentiated. (To show schedules, steps alone are taken.)"""
    usage = usage_of(optimizer)
    if usage.nodes is None or was_reached(held):
        return None
    others = engine.count_backwards() > usage.backwards
    if not (computed_from(held, usage.nodes) if others else next_sequence_number() > usage.nodes + 1):
        return None
    of = " for its parameters" if others else ""
    return _no_backward(f"No backward() has run{of}: a loss was computed, but nobody differentiated it",
                        "call loss.backward() before optimizer.step().")


def _no_backward(reason: str, fix: str) -> Explanation:
    told = Explanation(HEADLINE, "no-backward", f"{reason}, so there are no gradients to apply.", fix, places(record.site()),
                       symptom="no-update")
    return with_uncalled(told, "backward")


def with_uncalled(told: Explanation, method: str) -> Explanation:
    """Say so if the text names the method that is missed without calling it."""
    here = told.causes[0] if told.causes else None
    named = None if here is None else uncalled(here.file, method)
    if here is not None and named is not None:
        told.text += f" Line {named.lineno} names {method} and does not call it: the parentheses are missing."
        told.fix = f"write {method}() there."
        told.causes.append(place_of_line(here.file, named.lineno))
    return told


def never_stepped(watch: Any, optimizer: Any) -> Explanation | None:
    """backward again and again, and never a step. (Who reads every gradient may have other plans for them.)"""
    for p in held_by(optimizer):
        ledger = None if p._meta is None else p._meta.watched
        if (ledger is None or not ledger.again or not ledger.cleared_times or ledger.read >= ledger.reached
                or not watch.is_unchanged(p)):
            continue
        backward, made = p._meta.reached_by.site, vars(optimizer)["_site"]
        return with_uncalled(Explanation(
            "the parameters never change", "step-missing",
            f"backward() computes gradients {at(backward)} again and again, but step() of the optimizer made {at(made)}, which "
            "holds these parameters, is never called: nothing applies them.",
            "call optimizer.step() after loss.backward().", places(backward, made), symptom="no-update"), "step")
    return None


def _cleared(held: list[Any], last: Any) -> Explanation | None:
    cleared = [p for p in held if p._meta is not None and p._meta.grad_log and p._meta.grad_log[-1][0] == "cleared"
               and p._meta.reached_by is last]
    if not cleared:
        return None
    site = cleared[0]._meta.grad_log[-1][1]
    return Explanation(
        HEADLINE, "grad-cleared",
        f"backward {at(last.site)} did fill the gradients, then they were cleared {at(site)} (zero_grad() sets .grad to None), "
        "before "
        "step() could apply them.", "call zero_grad() before backward() (or after step()), not between the two.", places(site))


def _others_reached(watch: Any, optimizer: Any, held: list[Any], last: Any) -> Explanation | None:
    """Backward reached parameters, but of another model."""
    from whygrad.functional.parameter import Parameter

    trace = watch.trace_of(last)
    reached = [] if trace is None else [p for p in trace.leaves if isinstance(p, Parameter) and not watch.holders(p)
                                        and not _is_computed(p)]
    if not reached or was_reached(held):
        return None
    told = not_held_words(None, [vars(optimizer)["_site"]], "the parameters that the last backward reached")
    told.causes += places(*[cause.site for cause in reached[0]._cause if _is_loaded(cause) or cause.detail == "a deepcopy"])
    return told


def _is_computed(p: Any) -> bool:
    """nn.Parameter(theta - lr * grad), p.data = theta - lr * grad: what counts is a value that was cut off from a model."""
    wrapped = [cause for cause in p._cause if cause.kind == "parameter-rewrapped" and cause.detail != "a deepcopy"]
    return bool(record.watching.poured_into(p)) or any(not _is_loaded(cause) for cause in wrapped)


def _is_loaded(cause: Any) -> bool:
    """load_state_dict(..., assign=True) puts other parameters in the place of a module's own."""
    here = place(cause.site)
    return here is not None and ".load_state_dict(" in here.expression


def _cut_off(held: list[Any]) -> Explanation | None:
    """No parameter of this optimizer was ever reached: whatever cuts them off from the loss."""
    if any(not isinstance(p, Tensor) or (p._meta is not None and p._meta.reached_by is not None) for p in held):
        return None
    return why_never_reached(next((p for p in held if p.requires_grad), held[0]))


def why_zero(p: Any) -> Explanation | None:
    """What makes the gradient of a parameter zero, if that is wrong."""
    told = settle([verdict for verdict in [zero(Question(p))] if verdict is not None])
    return told if told is not None and told.category != "ok" and not told.harmless else None


def why_never_reached(p: Any) -> Explanation | None:
    """What keeps a parameter from the loss, if it is more than that the loss does not use it."""
    from whygrad.why.explain import verdicts_on

    told = settle(verdicts_on(Question(p)))
    return told if told is not None and told.category not in ("ok", "no-backward", "unused-in-loss") else None


def clip_misplaced(parameters: Any) -> Explanation | None:
    """Gradients are clipped when they have been applied already."""
    listed = [parameters] if isinstance(parameters, Tensor) else parameters
    here = record.site()
    ledgers = [p._meta.watched for p in listed if isinstance(p, Tensor) and p._grad is not None and p._meta is not None
               and p._meta.watched is not None]
    applied = [ledger for ledger in ledgers if ledger.deposits and ledger.deposits[-1].applied]
    if not ledgers or len(applied) < len(ledgers):
        return None
    return Explanation(
        "this clipping has no effect", "clip-misplaced",
        f"The gradients are clipped {at(here)}, but optimizer.step() has applied them already: the step used them unclipped.",
        "clip between loss.backward() and optimizer.step().", places(here), symptom="wrong-value")


def clip_while_scaled(scaled_at: Any) -> Explanation:
    here = record.site()
    return Explanation(
        "this clipping has the wrong size", "clip-misplaced",
        f"The gradients that are clipped {at(here)} are those of a loss that a GradScaler has multiplied {at(scaled_at)}: they "
        "are thousands of times too large, are cut down to the limit all the same, and are divided by the scale afterwards.",
        "call scaler.unscale_(optimizer) between backward() and the clipping.", places(here, scaled_at), symptom="wrong-value")


class EarlyClip:
    """A line that clips gradients, and whenever it did so there were none."""

    def __init__(self, where: Any, moment: int) -> None:
        self.where = where
        self.moment = moment
        self.clipped = Tensors()
        self.site = record.site()
        self.in_vain = True

    def again(self, parameters: Any) -> None:
        listed = [p for p in ([parameters] if isinstance(parameters, Tensor) else parameters) if isinstance(p, Tensor)]
        self.in_vain = self.in_vain and all(p._grad is None for p in listed)
        for p in listed if self.in_vain else ():
            self.clipped.add(p)

    def told(self) -> Explanation | None:
        """The gradients came afterwards, and a step applied them as they were."""
        applied = [p for p in self.clipped if p._meta is not None and p._meta.watched is not None and p._meta.watched.applied]
        if not self.in_vain or not applied:
            return None
        backward = applied[0].meta.reached_by.site
        return Explanation(
            "this clipping has no effect", "clip-misplaced",
            f"Whenever the gradients are clipped {at(self.site)}, there are none yet (.grad is None): backward() comes later, "
            f"{at(backward)}, and the step applies what it brings unclipped.",
            "clip between loss.backward() and optimizer.step().", places(self.site, backward), symptom="wrong-value")
