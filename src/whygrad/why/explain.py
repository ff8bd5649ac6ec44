"""`explain(t)`: why a tensor has the gradient it has, or none. Lists the rules for each kind of tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from whygrad.why.answers import Explanation
from whygrad.why.causes import at
from whygrad.why.engine import grad_of, is_tensor, node_of, notes_of, of_owner
from whygrad.why.locations import locate_all
from whygrad.why.question import Question
from whygrad.why.rules import (
    Rule,
    Verdict,
    altered,
    custom,
    cut_off,
    first_confirmed,
    intermediate,
    not_finite,
    unwanted,
    vanished,
    verdicts,
)
from whygrad.why.rules.untracked import no_history

__all__ = ["Explanation", "explain", "verdicts_on"]

if TYPE_CHECKING:  # whygrad.explain has whygrad's types; for_torch/ has its own
    from whygrad.core.tensor import Tensor
    from whygrad.nn.module import Module
    from whygrad.why.parameters import ParameterTable


@overload
def explain(t: Tensor, *, loss: Tensor | None = None) -> Explanation: ...


@overload
def explain(t: Module, *, loss: Tensor | None = None) -> ParameterTable: ...


def explain(t: Any, *, loss: Tensor | None = None) -> Any:
    """Explain why `t.grad` is what it is after the backward of `loss`, by default after the last backward.

    For a module: one table with all its parameters.
    """
    if (explanation := getattr(t, "explanation", None)) is not None and callable(t):
        return explanation()  # of a compiled function or module: what is compiled, and what is not
    with of_owner(t):
        if not is_tensor(t):
            from whygrad.why.parameters import explain_module  # a cycle: it calls explain() for each parameter

            return explain_module(t, loss)
        question = Question(t, loss)
        return cut_off.not_traced(question) or first_confirmed(verdicts_on(question)) or _nothing_wrong(question)


def verdicts_on(q: Question) -> list[Verdict]:
    """The verdicts of the rules for this kind of tensor; empty if nothing is wrong."""
    return verdicts(_rules_for(q.t), q)


def _rules_for(t: Tensor) -> list[Rule]:
    if grad_of(t) is not None:
        return GRADIENT_PRESENT
    if node_of(t) is not None:
        return INTERMEDIATE
    return LEAF_WITHOUT_GRADIENT if t.requires_grad else NOT_REQUIRED


def _nothing_wrong(q: Question) -> Explanation:
    reached, assigned = notes_of(q.t).reached_by, unwanted.assigned_at(q.t)
    if assigned is not None:
        return Explanation("this tensor has a gradient", "ok", f"It was assigned by hand {at(assigned)}; backward adds to what "
                           "it finds there.", causes=locate_all(assigned), symptom="ok")
    if reached is not None:
        how = f"It was computed by the backward {at(reached.site)}."
    else:
        how = "retain_grad() kept it." if node_of(q.t) is not None else "The backward that computed it was not seen."
    causes = [] if reached is None else locate_all(reached.site)
    return Explanation("this tensor has a gradient", "ok", how, causes=causes, symptom="ok")


GRADIENT_PRESENT: list[Rule] = [
    unwanted.without_requires_grad, not_finite.not_finite, altered.hook_modified, altered.edited_data,
    custom.called_without_apply, vanished.zero, vanished.rounding_only, unwanted.frozen_without_effect,
    unwanted.mode_not_entered, unwanted.missing_detach, altered.accumulated, altered.broadcast_loss,
    altered.penalty_without_graph, custom.wrong_custom_backward, altered.attached_target, unwanted.not_in_optimizer,
    vanished.partly_zero]

INTERMEDIATE: list[Rule] = [intermediate.leaf_replaced, intermediate.without_retain_grad]

NOT_REQUIRED: list[Rule] = [no_history]

LEAF_WITHOUT_GRADIENT: list[Rule] = [
    cut_off.raised, cut_off.cleared, cut_off.no_backward, cut_off.not_stored, cut_off.returned_none, cut_off.switched_on_late,
    cut_off.patched_loss, cut_off.patched_value, cut_off.cut, cut_off.copied_out, cut_off.not_seen, cut_off.cleared_earlier,
    cut_off.unused]
