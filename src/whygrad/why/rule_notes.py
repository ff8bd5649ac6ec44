"""The notes on errors that ask the rules of explanations (see error_notes.py)."""

from __future__ import annotations

from typing import Any

from whygrad.ops.poles import POLES
from whygrad.why import record
from whygrad.why.audit.finding import count_of, listed
from whygrad.why.engine import causes_of, notes_of, output_of, running_backward
from whygrad.why.error_notes import Note, at, at_line
from whygrad.why.forward_mentions import mention_of
from whygrad.why.gradient_flow import op_phrase, row_name
from whygrad.why.locations import locate
from whygrad.why.nonfinite_origin import NonfiniteOrigin, forward_origin, is_nonfinite, nan_or_inf
from whygrad.why.program_text import rebound_names, statement_of
from whygrad.why.question import Question
from whygrad.why.rules import first_confirmed
from whygrad.why.rules.custom import return_places
from whygrad.why.rules.intermediate import rebound_explanation
from whygrad.why.rules.untracked import from_causes


def no_grad_fn(t: Any) -> Note:
    """backward() on a tensor without history."""
    switched = notes_of(t).switched_at
    patched = switched is not None and not switched[0]
    for cause in causes_of(t) if not patched else ():
        made = locate(cause.site)
        names = rebound_names(statement_of(made)) if cause.kind == "grad-mode-off" else []
        if names and made is not None:
            answer = rebound_explanation(made, names[0])
            if answer is not None:
                return "leaf-replaced", (f"why: {answer.text} It happened under {cause.detail}, so the new tensor does not even "
                                         f"require grad. Fix: {answer.fix}"), (cause.site, cause.origin)
    if running_backward() is not None and any(cause.kind == "no-create-graph" for cause in causes_of(t)):
        return "custom-backward", (
            f"why: it was computed while the backward {at(running_backward().site)} runs, which is not recorded: inside of a "
            f"custom backward() (or a hook) gradient recording is off, so there is nothing to differentiate {at(record.site())}. "
            "Fix: compute it inside `with torch.enable_grad():`, from inputs that are detached and require grad."), (
                record.site(), running_backward().site)
    answer = from_causes(Question(t), causes_of(t), "", "error")
    return answer.category, f"why: {answer.text} Fix: {answer.fix}", tuple(answer.causes)


def does_not_require_grad(t: Any) -> Note:
    """An input of autograd.grad, or of retain_grad() and register_hook(), that does not require grad."""
    category, note, sites = no_grad_fn(t)
    return category, note, (*sites, record.site())


def reduction_unfinished(model: Any, left_out: list[tuple[str, Any]]) -> Note:
    """The wrapper that averages gradients has waited for those of some parameters in vain."""
    from whygrad.why.explain import verdicts_on

    question = Question(left_out[0][1])
    question.name = left_out[0][0]  # type: ignore[misc]  # a cached property: nobody has to look for it
    answer = first_confirmed(verdicts_on(question))
    used = mention_of(model, left_out[0][0])
    names = listed([name for name, _ in left_out])
    text = "" if answer is None or answer.category == "unused-in-loss" else f" {answer.text}"
    if not text and used is not None:
        text = (f" forward() uses it {at_line(used)}, which was not run, or whose result does not reach the loss.")
    category = "unused-in-loss" if answer is None or answer.category == "ok" else answer.category
    fix = answer.fix if answer is not None and category != "unused-in-loss" else (
        "let every parameter take part in the loss of every process and step, remove those that are not needed")
    return category, (
        f"why: {count_of(len(left_out), 'parameter')} ({names}) got no gradient in the last backward pass, and "
        f"DistributedDataParallel waits for one of every parameter: its averaging never ended.{text} Fix: {fix.rstrip('.')}; or "
        "make the wrapper with find_unused_parameters=True if this is meant."), (
            used, *([] if answer is None else answer.causes))


def custom_returns(node: Any, what: str) -> Note:
    name = type(node).__name__.removesuffix("Backward")
    where = return_places(node)
    returned = f" (it returns in {where[0].place}, `{where[0].expression}`)" if where else ""
    return "custom-backward", (
        f"why: {name}.backward, of {name} applied {at(node.site)}, {what}{returned}. Fix: backward has to return one gradient "
        f"for each argument of {name}.forward after ctx, in the same order and shape, and None for those that need none."), (
            *where, node.site)


def anomaly(node: Any, first: Any) -> Note:
    """Anomaly mode found a nan. `first` is the node at which gradients stopped being finite, `node` or one before it."""
    origin = forward_origin(first) or forward_origin(node)
    if origin is None and is_nonfinite(value := output_of(first)):
        origin = NonfiniteOrigin(first.site, row_name(first), nan_or_inf(value), "")
    if origin is not None:
        name, site, category = origin.name, origin.site, "nan-forward"
        given = f" (given {origin.argument})" if origin.argument else ""
        what = f"`{name}` gave {origin.result}{given} in the forward already, {at(site)}" if name else (
            f"the tensor made {at(site)} contained {origin.result} before anything was computed")
    else:
        name, site, category = row_name(first), first.site, "nan-derivative"
        what = f"the derivative of {op_phrase(first)}, applied {at(site)}, is not finite"
    reason, fix = POLES.get(name, ("at these values it is undefined or overflows", "keep its inputs where it is defined"))
    carried = "" if first is node else f" It became nan in {type(node).__name__}, of {at(node.site)[3:]}."
    return category, f"why: {what}: {reason}.{carried} Fix: {fix}.", (site, first.site, node.site)
