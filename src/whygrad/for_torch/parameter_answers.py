"""Answers about the parameters of a model that nobody has read: which of them share a cause is told once."""

from __future__ import annotations

from typing import Any

from whygrad.why.answers import Explanation
from whygrad.why.audit.finding import listed
from whygrad.why.engine import grad_of
from whygrad.why.explain import verdicts_on
from whygrad.why.gradient_flow import gradient_state
from whygrad.why.locations import locate
from whygrad.why.question import Question
from whygrad.why.rules import first_confirmed
from whygrad.why.rules.untracked import copied_out_explanation, copies_of
from whygrad.why.run_facts import ledger_of
from whygrad.why.watch import MAX_CAUSES, Watch

# Explanations that say nothing about what is wrong with the model.
_NO_ANSWER = {"ok", "no-backward", "grad-cleared", "grad-assigned"}

Found = tuple[str, Explanation]


def explained(name: str, p: Any, loss: Any = None) -> Explanation | None:
    """What is wrong with the gradient of a parameter of this name; None if nothing is, or nothing is known."""
    question = Question(p, loss)
    question.name = name  # type: ignore[misc]  # a cached property: nobody has to look for it
    explanation = first_confirmed(verdicts_on(question))
    if explanation is not None and explanation.category == "unused-in-loss":
        # Nobody has read it, so no text shows where a copied value went; but it is all that was made of this parameter.
        copies = copies_of(p, question.watch)
        if copies:
            return copied_out_explanation(copies[0], explanation.headline, "none", [])
    return None if explanation is None or explanation.category in _NO_ANSWER or explanation.harmless else explanation


def together(found: list[Found]) -> list[Explanation]:
    """One explanation for each category: its headline names the parameters."""
    by_category: dict[str, Explanation] = {}
    for name, explanation in found:
        known = by_category.setdefault(explanation.category, explanation)
        known.parameters.append(name)
        known.causes += [cause for cause in explanation.causes if cause not in known.causes][:MAX_CAUSES - len(known.causes)]
    for explanation in by_category.values():
        explanation.headline = f"{listed(explanation.parameters)}: {explanation.headline}"
    return list(by_category.values())


def add_answers(watch: Watch, found: list[Found]) -> None:
    """Add what was found to the answers of a watch, at the line of its latest backward."""
    latest = next((trace for trace in watch.traces_latest_first() if trace.stores), None)
    for explanation in together(found):
        known = watch.reported(explanation)
        if known is None:
            watch.add_answer(None if latest is None else locate(latest.backward.site), explanation)
        else:
            known.explanation.parameters += [name for name in explanation.parameters if name not in known.explanation.parameters]


def left_out(watch: Watch, model: Any) -> list[Found]:
    """The parameters of a model that no gradient reached since recording began, or only zeros, or that have NaN now.

    Once an optimizer has stepped, NaN is everywhere: the audit has seen where it was first.
    """
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    not_finite = [] if watch.audit.round else [(name, p) for name, p in trained if _is_not_finite(p)]
    wrong = not_finite or [(name, p) for name, p in trained if _got_nothing(p)]
    return [(name, explanation) for name, p in wrong if (explanation := explained(name, p)) is not None]


def _got_nothing(p: Any) -> bool:
    ledger = ledger_of(p)
    return grad_of(p) is None if ledger is None else ledger.last_nonzero == 0


def _is_not_finite(p: Any) -> bool:
    grad = grad_of(p)
    return grad is not None and gradient_state(grad) == "bad"
