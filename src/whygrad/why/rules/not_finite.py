"""The rule for a nan or infinite gradient: names the op whose derivative or value is not finite."""

from __future__ import annotations

from typing import Any

from whygrad.ops.poles import POLES
from whygrad.why.answers import Explanation
from whygrad.why.causes import at
from whygrad.why.engine import end_of, grad_of, is_node, notes_of
from whygrad.why.gradient_flow import VIEWS, find_transition, gradient_state, op_phrase, row_name, rows_with
from whygrad.why.locations import expression_at, locate_all
from whygrad.why.nonfinite_origin import NonfiniteOrigin
from whygrad.why.question import Question
from whygrad.why.zero_origin import nodes_between

HEADLINE = "this gradient is nan or infinite"

_BRANCH = " A branch that torch.where does not select still sends its gradient (a zero) back through {name}."
_MASK = " What is masked or left out after it still sends a gradient (a zero) back through {name}."
_CHOOSING = VIEWS | rows_with("picking") | {"clamp", "add"}
_SELECTING = rows_with("masking") | {"mul"}


def _branch(trace: Any, name: str) -> tuple[str, str]:
    """Additional text and fix if an op between `name` and the loss selects or masks elements."""
    nodes = [step.node for step in trace.steps if row_name(step.node) == name]
    rows = {row_name(node) for last in nodes[:1] for node in nodes_between(trace.steps, last)}
    advice = f", or apply torch.where to the input of {name} (not to its result)" if "where" in rows else ""
    if name == "log" and any(_comes_from_softmax(node) for node in nodes):
        advice = "; here log(softmax(x)) is log_softmax(x), and cross_entropy takes the logits themselves" + advice
    return (_BRANCH if "where" in rows else _MASK if rows & _SELECTING else "").format(name=name), advice


def _comes_from_softmax(node: Any) -> bool:
    """True for a log of a softmax or of elements selected from one."""
    before = end_of(node.edges[0]) if node.edges else None
    while is_node(before) and row_name(before) in _CHOOSING and before.edges:
        before = end_of(before.edges[0])
    return is_node(before) and row_name(before) in ("softmax", "safe_softmax")


def not_finite(q: Question) -> Explanation | None:
    if gradient_state(grad_of(q.t)) != "bad":
        return None
    trace = q.trace
    transition = None if trace is None else find_transition(trace.steps, q.t, "bad")
    if trace is None or transition is None:
        reached = notes_of(q.t).reached_by.site if notes_of(q.t).reached_by is not None else None
        return Explanation(HEADLINE, "nan-derivative", "The gradient was not finite when backward started: look at the loss.",
                           "find the first nan of the forward: print the loss and its parts.", locate_all(reached), symptom="nan")
    if trace.origin is not None:
        return _forward(trace.origin, op_phrase(transition.node), trace)
    name = row_name(transition.node)
    reason, fix = POLES.get(name, ((f"at these values the local derivative of {name} is infinite or undefined, or it "
                                    "overflows, and 0 * inf = nan"), f"make the input of {name} safe before it is applied"))
    branch, advice = _branch(trace, name)
    return Explanation(
        HEADLINE, "nan-derivative",
        f"It turned nan (or inf) in the derivative of {op_phrase(transition.node)} {at(transition.node.site)}: {reason}.{branch}",
        f"{fix}{advice}.", locate_all(transition.node.site), symptom="nan")


def _forward(origin: NonfiniteOrigin, turned: str, trace: Any) -> Explanation:
    """The explanation for a value that was not finite in the forward."""
    if not origin.name:
        by_step = ".step(" in expression_at(origin.site)
        what = "the parameter that was written" if by_step else "the tensor made"
        reason = " That step made it so: the learning rate may be too high (overflow)." if by_step else ""
        fix = "lower the learning rate, or clip the gradients" if by_step else (
            "find out how the first nan got into that tensor: check the data")
        return Explanation(
            HEADLINE, "nan-derivative",
            f"The values were {origin.result} before anything was computed: {what} {at(origin.site)} contains "
            f"{origin.result}, and backward carried it on through {turned}.{reason}", f"{fix}.",
            locate_all(origin.site), symptom="nan")
    reason, fix = POLES.get(origin.name, (f"{origin.name} gives {origin.result} for these inputs",
                                          f"keep the inputs of {origin.name} where it is defined"))
    branch, advice = _branch(trace, origin.name)
    given = f" (given {origin.argument})" if origin.argument else ""
    return Explanation(
        HEADLINE, "nan-derivative",
        f"The forward was not finite already: {origin.name} {at(origin.site)} gave {origin.result}{given}, and backward "
        f"carried it on through {turned}: {reason}.{branch}", f"{fix}{advice}.", locate_all(origin.site), symptom="nan")
