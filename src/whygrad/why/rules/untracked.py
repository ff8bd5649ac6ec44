"""Rules for a tensor that does not require grad: the causes why it has no history."""

from __future__ import annotations

from typing import Any

from whygrad.why.answers import Explanation
from whygrad.why.causes import at, describe_cause
from whygrad.why.dataflow import flows_into
from whygrad.why.engine import Tensor, causes_of
from whygrad.why.locations import SourceLocation, locate, locate_all
from whygrad.why.module_owners import is_buffer, visible_variables
from whygrad.why.program_text import dotted_names, parse_expression, subject_of
from whygrad.why.question import Question
from whygrad.why.record import Cause
from whygrad.why.rules.custom import called_directly
from whygrad.why.rules.intermediate import own_assignment, rebound_explanation
from whygrad.why.run_facts import ValueCopy

NO_GRADIENT = "this tensor's .grad is None, and it does not require grad"


def no_history(q: Question, headline: str = NO_GRADIENT, symptom: str = "none") -> Explanation:
    """The explanation for a tensor that does not require grad."""
    subject = subject_of(q.read)
    for cause in causes_of(q.t):
        made = locate(cause.site)
        if subject and made is not None and cause.kind in ("grad-mode-off", "detach"):
            found = rebound_explanation(made, subject, headline, symptom)
            if found is not None:
                found.text += f" And it happened under {cause.detail}, so the new tensor does not even require grad."
                return found
    return from_causes(q, causes_of(q.t), headline, symptom)


def from_causes(q: Question, causes: tuple[Cause, ...], headline: str, symptom: str) -> Explanation:
    for cause in causes:
        answer = describe_cause(cause, f"{q.label_start} was" if q.name else "It was")
        if answer is None:
            continue
        direct = called_directly(cause.site, symptom) if cause.kind in ("non-differentiable-op", "detach") else None
        if direct is not None:
            return direct
        found = locate_all(cause.site, cause.origin)
        text, fix, category = answer.text, answer.fix, answer.category
        if cause.kind == "created":
            copy = copy_flowing_into(q.watch, found[0] if found else None)
            if copy is not None:
                return copied_out_explanation(copy, headline, symptom, found)
            if symptom == "error":
                text, fix, found = _created_text(causes)
            else:
                found = own_assignment(q, found) + found
                text, fix = _buffer_text(q) or (text, fix)
        elif cause.kind in ("detach", "grad-mode-off") and symptom == "none":
            text += " So its requires_grad is False, and it gets no gradient of its own."
            fix += " If its own gradient is wanted, call .requires_grad_() on it before the forward."
        elif cause.kind == "frozen":
            extra, more = _module_flag_text(q)
            text, found = text + extra, found + more
        return Explanation(headline, category, text, fix, found, symptom=symptom)
    return Explanation(headline, "never-required-grad", f"No gradient was ever asked for: {q.label_start} is a leaf with "
                                                        "requires_grad=False.",
                       "create it with requires_grad=True, or call .requires_grad_() before the forward.", symptom=symptom)


def _buffer_text(q: Question) -> tuple[str, str] | None:
    """Text and fix for a buffer, which is saved and moved with its module and never trained."""
    if not is_buffer(q.t, visible_variables(q.frame)):
        return None
    return (f"{q.label_start} is a buffer, not a Parameter: state that the module keeps (and may change itself in its forward, "
            "like the running statistics of a BatchNorm), saved with it but never learned. requires_grad is False from the "
            "start, so no gradient is computed for it."), (
            "nothing is wrong if it is not to be learned; if it is, make it an nn.Parameter instead of a buffer, with "
            "requires_grad=True.")


def _created_text(causes: tuple[Cause, ...]) -> tuple[str, str, list[SourceLocation]]:
    """Text, fix and locations for a result of tensors none of which requires grad."""
    created = [cause for cause in causes if cause.kind == "created"]
    found = locate_all(*[cause.site for cause in created])
    where = ", ".join(dict.fromkeys(at(cause.site) for cause in created))
    return ((f"Nothing it was computed from requires grad: it was computed from tensors created {where} without "
            "requires_grad=True, so there is nothing to differentiate with respect to."),
            ("create the tensors you want gradients for with requires_grad=True, or call .requires_grad_() on them before the "
            "forward."), found)


def _module_flag_text(q: Question) -> tuple[str, list[SourceLocation]]:
    """Additional text if the program wrote `module.requires_grad = True`, which only sets an attribute."""
    noted = None if q.watch is None else q.watch.module_flag_set(q.t)
    if noted is None or not noted[1]:
        return "", []
    return ((f" Assigning requires_grad on a Module {at(noted[0])} only sets a Python attribute of the module; its parameters "
            "stay as they are: call module.requires_grad_(True)."), locate_all(noted[0]))


def copy_flowing_into(watch: Any, made: SourceLocation | None) -> ValueCopy | None:
    """The latest copied value that flows, by the program's text, into the expression at a location."""
    node = None if made is None else parse_expression(made.expression)
    if watch is None or made is None or node is None:
        return None
    used = dotted_names(node)
    for copy in reversed(watch.copies()):
        taken = locate(copy.site)
        if taken is None or taken.file != made.file or not copy.behind:
            continue
        inside = made.line <= taken.line <= made.end_line and taken.expression in made.expression
        if inside or flows_into(taken.file, taken.line, used):
            return copy
    return None


def copied_out_explanation(copy: ValueCopy, headline: str, symptom: str, found: list[SourceLocation]) -> Explanation:
    return Explanation(
        headline, "value-copied-out",
        f"The value left the graph {at(copy.site)}: {copy.how} gives plain numbers, which have no history, and what is computed "
        "from them is a new tensor (a new leaf) that no gradient leaves.",
        f"stay in tensors: leave out {copy.how} there (torch.stack instead of a list of numbers, torch functions instead of "
        "NumPy's or math's); keep copies for logging only.", locate_all(copy.site) + found, symptom=symptom)


def copies_of(t: Tensor, watch: Any) -> list[ValueCopy]:
    """The copied values that were computed from a leaf, latest first."""
    return [] if watch is None else [copy for copy in reversed(watch.copies()) if copy.leads_to(t)]
