"""Steps of optimizers that have no effect, and clipping that comes too early or too late."""

from __future__ import annotations

from typing import Any

from whygrad._tensor import Tensor
from whygrad.autograd import engine
from whygrad.autograd.node import next_sequence_number
from whygrad.why import record
from whygrad.why.answers import Explanation
from whygrad.why.causes import at
from whygrad.why.places import places
from whygrad.why.question import Question
from whygrad.why.rules import settle
from whygrad.why.rules.unwanted import not_held_words
from whygrad.why.rules.vanished import zero
from whygrad.why.usage import computed_from, held_by, usage_of

_whygrad_internal_ = True

HEADLINE = "this step changes nothing: all gradients are None"


def useless_step(watch: Any, optimizer: Any) -> Explanation | None:
    """A step that has nothing to apply."""
    held = held_by(optimizer)
    if not held or any(p._grad is not None for p in held):
        return None
    last = engine.last_backward()
    told = _without_backward(optimizer, held)
    if told is None and last is not None:
        told = _cleared(held, last) or _others_reached(watch, optimizer, held, last) or _cut_off(held)
    if told is not None:
        told.headline, told.symptom = HEADLINE, "no-update"
    return told


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
    return Explanation(
        HEADLINE, "no-backward",
        f"No backward() has run{' for its parameters' if others else ''}: a loss was computed, but nobody differentiated it, so "
        "there are no gradients to apply.",
        "call loss.backward() before optimizer.step().", places(record.site()), symptom="no-update")


def never_stepped(watch: Any, optimizer: Any) -> Explanation | None:
    """backward again and again, and never a step. (Who reads every gradient may have other plans for them.)"""
    for p in held_by(optimizer):
        ledger = None if p._meta is None else p._meta.watched
        if (ledger is None or not ledger.again or not ledger.cleared_times or ledger.read >= ledger.reached
                or not watch.is_unchanged(p)):
            continue
        backward, made = p._meta.reached_by.site, vars(optimizer)["_site"]
        return Explanation(
            "the parameters never change", "step-missing",
            f"backward() computes gradients {at(backward)} again and again, but step() of the optimizer made {at(made)}, which "
            "holds these parameters, is never called: nothing applies them.",
            "call optimizer.step() after loss.backward().", places(backward, made), symptom="no-update")
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
    from whygrad.parameter import Parameter

    trace = watch.trace_of(last)
    reached = [] if trace is None else [p for p in trace.leaves if isinstance(p, Parameter) and not watch.holders(p)
                                        and not _is_computed(p)]
    if not reached or was_reached(held):
        return None
    return not_held_words(None, [vars(optimizer)["_site"]], "the parameters that the last backward reached")


def _is_computed(p: Any) -> bool:
    """nn.Parameter(theta - lr * grad): no parameter of a model, but a value that was cut off from one."""
    return any(cause.kind == "parameter-rewrapped" and cause.detail != "a deepcopy" for cause in p._cause)


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


def clip_misplaced(watch: Any, parameters: Any) -> Explanation | None:
    """Gradients are clipped when they have been applied already, or before there are any."""
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
