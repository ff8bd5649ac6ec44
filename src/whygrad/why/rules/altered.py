"""Rules for a gradient with a wrong value: accumulated, computed from overwritten values, changed by a hook, wrong loss."""

from __future__ import annotations

import ast
import re
from math import prod
from typing import Any

from whygrad.why.answers import Explanation
from whygrad.why.causes import at
from whygrad.why.engine import Node, array_of, end_of, grad_of, is_node
from whygrad.why.gradient_flow import COMPARING, gradient_state, row_name
from whygrad.why.locations import locate, locate_all, source_lines
from whygrad.why.program_text import argument_text, called_name, is_difference, statement_of, targets_of
from whygrad.why.question import Question
from whygrad.why.rules import Provisional


def accumulated(q: Question) -> Explanation | Provisional | None:
    """Several backward passes added to it, and the program used the sum in between."""
    ledger = q.ledger
    if ledger is None or len(ledger.deposits) < 2:
        return None
    latest = ledger.deposits[-1].backward.site
    explanation = Explanation(
        "this gradient is the sum of several backward passes", "grad-accumulated",
        f"{ledger.total} backward passes have added to it since it was last cleared, the last one {at(latest)}: backward() "
        "accumulates into .grad (it adds to what is there), it does not replace it.",
        "clear it before each backward: optimizer.zero_grad(), or .grad = None; zero_grad() of a model or an optimizer clears "
        "only the parameters it holds.", locate_all(latest), symptom="wrong-value")
    if ledger.stepped_between():
        return explanation
    if (ledger.read_between() and not is_difference(q.read)) or ledger.repeated():
        times, t = ledger.times_cleared, q.t

        def never_cleared() -> bool:
            """Accumulation on purpose ends with a step and a clear."""
            return ledger.times_cleared == times and not ledger.deposits[-1].applied and grad_of(t) is not None and bool(
                array_of(grad_of(t)).any())

        return Provisional(explanation, never_cleared)
    return None


def edited_data(q: Question) -> Explanation | None:
    """A saved value was overwritten through .data, which bypasses the version counter."""
    writes = [] if q.trace is None else q.trace.data_writes
    write = next((write for write in writes if write.node in q.on_path), None)
    if write is None:
        return None
    return Explanation(
        "this gradient was computed from values that were changed since the forward", "silent-data-edit",
        f"{type(write.node).__name__}, recorded {at(write.node.site)}, needs a value in backward that was overwritten "
        f"{at(write.site)} through .data, between the forward and the backward. A write through .data (or into a NumPy "
        "array on the same memory) bypasses the version counter, so there is no error, and the gradient is silently wrong.",
        "change values after backward() (with torch.no_grad(): an in-place change is then noticed if it comes too early), or "
        "compute the forward again after the change.", locate_all(write.site, write.node.site), symptom="wrong-value")


MASKING = "nothing is wrong if these elements are to stay as they are; if not, "


def hook_modified(q: Question) -> Explanation | Provisional | None:
    """A hook changed the gradient. A permanent hook whose result an optimizer applies is there on purpose."""
    trace = q.trace
    change = None if trace is None else next((change for change in trace.hooks if change.target in q.on_path), None)
    if trace is None or change is None:
        return None
    effect = change.effect
    explanation = Explanation(
        "a hook has changed this gradient", "hook-modified",
        f"The hook {effect.name}, registered {at(change.site)}, {effect.how} on the way: what is in .grad is not what backward "
        "computed.",
        f"{MASKING if effect.masks else ''}keep the handle that registering gives and call handle.remove() when the hook has "
        "done its work; a hook that only looks returns None.", locate_all(change.site),
        symptom="zero" if gradient_state(grad_of(q.t)) == "zero" else "wrong-value", harmless=effect.masks)
    ledger, number = q.ledger, trace.backward.number
    once = len([other for other in trace.hooks if other.target is change.target and other.site == change.site]) == 1
    if ledger is None or effect.wipes or not once or not _is_to_stay(change.site) or _is_computed_otherwise(q):
        return explanation
    return Provisional(explanation, lambda: number not in ledger.applied_backwards)


def _is_to_stay(site: Any) -> bool:
    """True if the handle of a hook is not kept, so that it cannot be removed; or if the text removes it somewhere."""
    here = locate(site)
    statement = statement_of(here)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return "hook" in called_name(statement.value)
    names = targets_of(statement)
    return here is not None and any(f"{name}.remove()" in line for line in source_lines(here.file) for name in names)


def _is_computed_otherwise(q: Question) -> bool:
    """True if the program also computes the gradient with autograd.grad, as if to compare."""
    return any(not trace.stores and q.t in (trace.only or ()) for trace in q.watch.traces_latest_first())


def broadcast_loss(q: Question) -> Explanation | None:
    broadcasts = [] if q.trace is None else q.trace.broadcasts
    return next((broadcast_explanation(found) for found in broadcasts if found.node in q.on_path), None)


def broadcast_explanation(found: Any) -> Explanation:
    a, b = list(found.first), list(found.second)
    length = max(len(a), len(b))
    sizes = zip([1] * (length - len(a)) + a, [1] * (length - len(b)) + b, strict=True)
    result = [max(m, n) for m, n in sizes]
    where = locate(found.node.site)
    expression = "" if where is None else f"In {where.place}, {where.quoted()}, "
    return Explanation(
        "this gradient comes from a loss of broadcast shapes", "broadcast-loss",
        f"{expression}the shapes {a} and {b} were broadcast against each other to {result}: every prediction is compared (or "
        "multiplied) with every target, not with its own.",
        "give prediction and target the same shape: pred.squeeze(1), or target.unsqueeze(1).", locate_all(found.node.site),
        symptom="wrong-value")


def is_suspicious(node: Node, shapes: Any) -> bool:
    """True for operands of a loss such as (N, 1) and (N,): equally many elements, but neither has the result's shape."""
    name = row_name(node)
    if not isinstance(shapes, tuple) or len(shapes) != 2:
        return False
    a, b = shapes
    if name in COMPARING - {"sub"}:
        return a != b and prod(a) > 1 and prod(b) > 1
    if name not in ("sub", "mul", "add") or not (prod(a) == prod(b) > 1):
        return False
    if len(a) == len(b) or a[-len(b):] == b or b[-len(a):] == a:
        return False
    if sorted(n for n in a if n > 1) != sorted(n for n in b if n > 1):
        return False
    # A computed prediction against a constant target; the outer sum of two parameters may be intended.
    ends = [end_of(edge) if edge is not None else None for edge in node.edges]
    return any(is_node(end) for end in ends) and any(end is None for end in ends)


def penalty_without_graph(q: Question) -> Explanation | None:
    """A term of the loss was computed from a gradient without history: it has no effect."""
    trace = q.trace
    for step in trace.terms if trace is not None and trace.stores else ():
        for causes in step.node.cuts or ():
            for cause in causes:
                if cause.kind == "no-create-graph":
                    return Explanation(
                        "a term of the loss has no effect on this gradient", "no-create-graph",
                        f"The loss {at(step.node.site)} adds a term made from a gradient that was computed {at(cause.site)} "
                        "without create_graph=True: that backward was not recorded, the term is a constant, and nothing of it "
                        "is in this gradient.", "pass create_graph=True to that call, so that the penalty can be differentiated.",
                        locate_all(cause.site, step.node.site), symptom="wrong-value")
    return None


# Names of values that are to be constant.
CONSTANT = re.compile(r"target|teacher|label|expected|truth|goal|bootstrap|\bref", re.IGNORECASE)


def attached_target(q: Question) -> Explanation | None:
    """The target of a loss was computed from the trained parameters and is not detached."""
    for step in q.trace.comparisons if q.trace is not None else ():
        here = locate(step.node.site)
        target = "" if here is None else argument_text(here, 1)
        if not CONSTANT.search(target) or not _is_name(target) or not is_node(end_of(step.edges[1])):
            continue
        if set(step.edges) <= q.on_path:
            made = end_of(step.edges[1]).site
            return Explanation(
                "a gradient also flows through the target of the loss", "missing-detach",
                f"`{target}`, the target of the loss {at(step.node.site)}, was computed {at(made)} with history: it is not a "
                "constant, so backward also changes the parameters to move the target towards the prediction.",
                f"compute the target without history: {target}.detach(), or inside with torch.no_grad().",
                locate_all(made, step.node.site), symptom="unwanted")
    return None


def _is_name(text: str) -> bool:
    try:
        return isinstance(ast.parse(text, mode="eval").body, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    except SyntaxError:
        return False
