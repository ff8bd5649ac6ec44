"""The text and fix for each kind of cause (why a tensor has no history)."""

from __future__ import annotations

import re
from typing import NamedTuple

from whygrad.why.locations import expression_at, locate, source_lines
from whygrad.why.program_text import statement_at
from whygrad.why.record import Cause, Site


class CauseText(NamedTuple):
    """The answer for a kind of cause; `text` has the fields subject, at, origin and detail."""

    category: str
    text: str
    fix: str


def at(site: Site | None) -> str:
    """The location of a site as a phrase: "in line 7 by `y.detach()`"."""
    found = locate(site)
    if found is None:
        return "somewhere"
    return f"in {found.place} by {found.quoted()}" if found.expression else f"in {found.place}"


def describe_cause(cause: Cause, subject: str = "It was") -> CauseText | None:
    """The answer that a cause gives on its own; None for a kind without one."""
    found = _KINDS.get(cause.kind)
    if cause.kind == "grad-mode-off":
        found = _CHECKPOINT if cause.detail.startswith("checkpoint") else _SAMPLED if is_sampling(cause) else found
    if cause.kind == "detach" and ".state_dict(" in expression_at(cause.site):
        found = _STATE_DICT
    if cause.kind == "parameter-rewrapped" and cause.detail == "a deepcopy":
        found = _COPIED
    if cause.kind == "non-differentiable-op" and _is_choosing(cause):
        found = _CHOSEN
    if found is None:
        return None
    if found is _KINDS["grad-mode-off"]:
        how, fix = _switched(cause)
        found = found._replace(text=found.text + how, fix=fix or found.fix)
    text = found.text.format(subject=subject, at=at(cause.site), origin=at(cause.origin), detail=cause.detail)
    return CauseText(found.category, text, found.fix.format(detail=cause.detail))


def is_sampling(cause: Cause) -> bool:
    """True for `dist.sample()`, which switches recording off itself."""
    return cause.origin == cause.site and ".sample(" in expression_at(cause.site)


def _is_choosing(cause: Cause) -> bool:
    return re.search(r"\barg(max|min|sort)\(", expression_at(cause.site)) is not None


def _switched(cause: Cause) -> tuple[str, str]:
    """How gradient recording was switched off (decorator, call, suspended generator) and the fix; empty for a plain block."""
    here = locate(cause.origin)
    line = "" if here is None else here.source_line.strip()
    if line.startswith("@"):
        return (" The decorator switches it off for the whole function.",
                "remove the decorator from that function; keep no_grad for evaluation.")
    if "set_grad_enabled" in line and not line.startswith("with"):
        return (" Called as a function, set_grad_enabled(False) is left on until set_grad_enabled(True) takes it back.",
                "call torch.set_grad_enabled(True) before the forward, or put the evaluation alone into `with torch.no_grad():`.")
    if line.startswith("with") and here is not None and "yield" in "".join(_block(here.file, here.line)):
        return " The block is in a generator that is suspended at its yield, so it stays in force outside as well.", ""
    return "", ""


def _block(file: str, line: int) -> list[str]:
    statement = statement_at(file, line)
    return [] if statement is None else source_lines(file)[statement.lineno - 1:statement.end_lineno]


_CHECKPOINT = CauseText(
    "checkpoint-no-grad-input",
    "{subject} computed {at} inside a reentrant checkpoint, none of whose inputs requires grad: then its forward runs without "
    "recording and its output has no history, whatever its parameters want.",
    "pass use_reentrant=False to checkpoint(), or call requires_grad_() on an input.")

_STATE_DICT = CauseText(
    "detach",
    "{subject} taken {at}: state_dict() gives detached tensors that share the parameters' numbers and nothing else. They do not "
    "require grad, and the gradients stay with the parameters.",
    "read the gradient of the parameter itself (model.fc.weight.grad, or dict(model.named_parameters())[name].grad); "
    "state_dict(keep_vars=True) gives the parameters instead of detached copies.")

_COPIED = CauseText(
    "parameter-rewrapped",
    "{subject} copied {at} (a deepcopy): each Parameter of the copy is a fresh leaf with the same numbers but without their "
    "history, so what is computed from the copy leads to the copy, and no gradient goes to the original.",
    "decide which of the two is to be trained: use the original itself in the forward, or give the copy's parameters to the "
    "optimizer (made after the copy); to train the original through changed weights use torch.func.functional_call.")

_CHOSEN = CauseText(
    "non-differentiable-op",
    "{subject} chosen {at}: indices are integers, which cannot change by small steps, so the choice has no derivative, is not "
    "differentiable, and history ends there: what scored the candidates learns nothing from what was chosen.",
    "let the scores themselves enter the loss: weigh what is chosen by its probability (softmax of the scores), take "
    "F.gumbel_softmax(scores, hard=True), or train on a differentiable surrogate such as cross_entropy, and keep the index for "
    "reporting or routing.")

_SAMPLED = CauseText(
    "non-differentiable-op",
    "{subject} drawn {at}: sample() draws random values without recording how they depend on the distribution's parameters, so "
    "a sample is not differentiable, and history ends there.",
    "use rsample(), which writes the sample as a differentiable function of the parameters (reparameterisation); for discrete "
    "choices put log_prob(sample) into the loss.")

_KINDS = {
    "created": CauseText(
        "never-required-grad",
        "{subject} created {at} without requires_grad=True, so nothing that is done with it asks for its gradient: requires_grad "
        "is False from the start.",
        "create it with requires_grad=True (as nn.Parameter, if a module is to learn it), or call .requires_grad_() before the "
        "forward."),
    "detach": CauseText(
        "detach",
        "{subject} taken out of the graph by {detail} {at}: the values are the same, the history is gone, and no gradient passes "
        "that point.",
        "do not use {detail} on the path between the parameters and the loss; detach only the copy you keep."),
    "grad-mode-off": CauseText(
        "grad-mode-off",
        "{subject} computed {at} while gradient recording was off: {detail} was entered {origin} (a with block, a decorator or a "
        "call that switches grad mode).",
        "move the computation out of the {detail} block; keep no_grad for evaluation."),
    "non-differentiable-op": CauseText(
        "non-differentiable-op",
        "{subject} computed {at}, an operation that has no derivative ({detail}): it is not differentiable, and history ends "
        "there.",
        "train on a differentiable surrogate of that operation, and keep it for reporting only."),
    "value-copied-out": CauseText(
        "value-copied-out",
        "{subject} made {at} from plain numbers copied out of the graph ({detail}): a new leaf without history.",
        "stay in tensors: use torch.stack or tensor operations instead of copying values."),
    "parameter-rewrapped": CauseText(
        "parameter-rewrapped",
        "{subject} wrapped {at} as a new Parameter ({detail}): a fresh leaf with the same numbers but without their history, so "
        "no gradient goes from it back into the graph.",
        "use the computed tensor itself instead of wrapping it in nn.Parameter (or copying the module); "
        "torch.func.functional_call runs a module with given tensors."),
    "frozen": CauseText(
        "frozen",
        "requires_grad was switched off {at}: it is frozen, and backward computes no gradient for it.",
        "call .requires_grad_() (True) to train it again, before the forward."),
    "no-create-graph": CauseText(
        "no-create-graph",
        "{subject} computed by the backward {at}, which was not recorded: a gradient is a plain value unless the backward pass "
        "itself is asked to be differentiable.",
        "pass create_graph=True to that backward() or autograd.grad() call."),
    "reinterpreted": CauseText(
        "non-differentiable-op",
        "{subject} made {at} by {detail}, which reads the same bytes as another dtype: that has no derivative.",
        "convert the values with .to(dtype) instead."),
}
