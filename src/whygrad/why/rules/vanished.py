"""Rules for a gradient that is zero, wholly or in part: the op where it became zero."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from whygrad.why import engine
from whygrad.why import gradient_flow as flow
from whygrad.why.answers import Explanation
from whygrad.why.causes import at
from whygrad.why.locations import expression_at, locate, locate_all
from whygrad.why.program_text import argument_text
from whygrad.why.question import Question
from whygrad.why.record import Site
from whygrad.why.rules import Provisional, Verdict
from whygrad.why.run_facts import ledger_of
from whygrad.why.zero_origin import is_linear, nodes_between

# Upper bound of the rounding error of a sum that is exactly zero.
TINY = 1e-6
# Losses whose derivative is prediction minus target.
_AT_TARGET = {"log_softmax", "binary_cross_entropy_with_logits"}
# Losses that are zero at their minimum, and there have derivative zero.
_LOSSES = flow.rows_with("distance") | {"l1_loss"}
# Rows that may be between such an op and the root if the op is the loss itself.
_SUMMING = flow.ARITHMETIC | flow.TOTALS | flow.VIEWS | {"sqrt", "norm", "linear"}


def zero(q: Question) -> Verdict | None:
    """A gradient of zeros. Provisional behind a zero-initialized weight or a satisfied margin, where it may flow later."""
    explanation = _why_zero(q)
    ledger = q.ledger
    if explanation is None or ledger is None or q.watch is None:
        return explanation
    number = engine.notes_of(q.t).reached_by.number
    if explanation.category == "zero-factor":
        return Provisional(explanation, lambda: ledger.last_nonzero <= number)
    return Provisional(explanation, lambda: not ledger.held) if explanation.harmless else explanation


def _why_zero(q: Question) -> Explanation | None:
    if flow.gradient_state(engine.grad_of(q.t)) != "zero" or engine.notes_of(q.t).reached_by is None:
        return None
    ledger = q.ledger
    if ledger is not None and ledger.deposits and ledger.deposits[-1].state == "fine":
        return _cleared_in_place(q)
    steps = q.steps
    transition = flow.find_transition(steps, q.t, "zero")
    if transition is None:
        return _cancelled(q)
    node, position = transition
    reason = next((step.zero_reasons[position] for step in steps if step.node is node and position < len(step.zero_reasons)), "")
    if reason == "cancels":
        return _cancelled_in(node, steps)
    if reason == "underflow" and flow.row_name(node) not in flow.FLAT:
        return _underflow(node)
    if _at_a_minimum(transition, steps):
        masked = _zero_factor_before(q)
        if masked is not None:
            return _factor(masked)
        return _stationary(node, f"{flow.op_phrase(node)} {at(node.site)} has derivative 0 there")
    named = _excluded(node, reason)
    if named is not None:
        return named
    if flow.row_name(node) in _AT_TARGET and not _is_over_one_element(node, steps):
        return _stationary(node, f"the prediction that goes into {flow.op_phrase(node)} {at(node.site)} is exactly the target (a "
                                 "perfect prediction)")
    if flow.row_name(node) in flow.FLAT:
        return _flat(node, steps, "this gradient is exactly zero", "zero")
    dead = _dead_factor(transition, steps)
    return _factor(transition) if dead is None else _flat(dead, steps, "this gradient is exactly zero", "zero")


def rounding_only(q: Question) -> Explanation | None:
    """The gradient is only the rounding error of contributions that cancel."""
    grad = engine.grad_of(q.t)
    step = next((step for step in q.steps if "cancels" in step.zero_reasons and flow.row_name(step.node) == "softmax"), None)
    if grad is None or step is None or not engine.size_of(q.t) or float(np.abs(engine.array_of(grad)).max()) > TINY:
        return None
    if step.node not in q.on_path or not all(is_linear(node) for node in nodes_between(q.steps, step.node)):
        return None
    return _cancelled_in(step.node, q.steps)


def _cleared_in_place(q: Question) -> Explanation | None:
    """The program set the gradient to zero after backward."""
    grad = engine.grad_of(q.t)
    assert grad is not None
    log = engine.notes_of(q.t).grad_log[-1] if engine.notes_of(q.t).grad_log else None
    written = engine.version_of(grad).site
    is_since = log is not None and log[0] == "cleared" and log[2] >= engine.notes_of(q.t).reached_by.number
    site = log[1] if log is not None and (is_since or written is None) else written
    return Explanation(
        "this gradient is exactly zero", "grad-cleared",
        f"backward {at(engine.notes_of(q.t).reached_by.site)} did fill it, then it was set to zero {at(site)} (zero_(), or "
        "zero_grad() with set_to_none=False), before it was read.",
        "read or apply the gradient before it is cleared.", locate_all(site), symptom="zero")


def _stationary(node: engine.Node, why: str) -> Explanation:
    return Explanation(
        "this gradient is exactly zero", "ok",
        f"The loss is at its minimum (or another stationary point): {why}, and a zero gradient is right.",
        causes=locate_all(node.site), symptom="ok")


def _cancelled(q: Question) -> Explanation | None:
    """Nonzero contributions from several ops sum to zero."""
    used = [] if q.trace is None else q.trace.consumers(q.t)
    if not used:
        return None
    itself = _compared_with_itself(q)
    if itself is not None:
        return itself
    if all(is_linear(node) for node in nodes_between(q.steps, q.t)):
        return _independent(used[0], f"what {flow.op_phrase(used[0])} {at(used[0].site)} and other operations contribute adds up "
                                     "to exactly zero")
    return _stationary(used[0], f"the contributions to it, one of them through {flow.op_phrase(used[0])} {at(used[0].site)}, "
                                "cancel each other exactly")


# Names of old values to which the present one is compared.
_BEFORE = re.compile(r"old|prev|behav|ref|anchor|target|teacher|base", re.IGNORECASE)


def _compared_with_itself(q: Question) -> Explanation | None:
    """`exp(logp - old_logp)` or `p / old_p` where both have the same history: the old value should be a constant."""
    for step in q.steps:
        if flow.row_name(step.node) not in ("sub", "div") or len(step.edges) != 2 or not set(step.edges) <= q.on_path:
            continue
        here = locate(step.node.site)
        old = "" if here is None else argument_text(here, 1)
        if step.edges[0] is step.edges[1] or _BEFORE.search(old):
            it = f"`{old}`" if old else "the second one"
            return Explanation(
                "this gradient is exactly zero", "missing-detach",
                f"Both sides of {flow.op_phrase(step.node)} {at(step.node.site)} were computed from {q.label} and are the same, "
                f"so what they send back cancels out exactly. {it}, to which the other is compared, is not detached: it is no "
                "constant, but moves along.",
                f"hold it constant: {old or 'x'}.detach(), or compute it inside with torch.no_grad().",
                locate_all(step.node.site), symptom="zero")
    return None


def _cancelled_in(node: engine.Node, steps: list[flow.BackwardStep]) -> Explanation:
    """The contributions in one node cancel. If all ops up to the loss are linear, they do so at all values."""
    rest_is_linear = all(is_linear(other) for other in nodes_between(steps, node))
    if rest_is_linear and flow.row_name(node) == "softmax":
        return _independent(node, f"the outputs of {flow.op_phrase(node)} {at(node.site)} always sum to 1, and the loss counts "
                                  "all of them alike, so it is a constant")
    if rest_is_linear and is_linear(node):
        return _independent(node, f"what {flow.op_phrase(node)} {at(node.site)} contributes adds up to exactly zero")
    return _stationary(node, f"the contributions in {flow.op_phrase(node)} {at(node.site)} cancel each other exactly")


def _independent(node: engine.Node, why: str) -> Explanation:
    return Explanation(
        "this gradient is exactly zero", "zero-factor",
        f"Gradients do reach it, but they cancel each other: {why}. The loss does not depend on this value at all.",
        "look for the part of the loss that undoes the effect of this value, and weigh its elements differently (by targets or "
        "weights).", locate_all(node.site), symptom="zero")


def _underflow(node: engine.Node) -> Explanation:
    return Explanation(
        "this gradient is exactly zero", "zero-local-derivative",
        f"The derivative of {flow.op_phrase(node)} {at(node.site)} is not zero here, but too small for float32: it underflows "
        "and is rounded to 0.",
        "scale the values up, work with logarithms, or compute in float64.", locate_all(node.site), symptom="zero")


def _excluded(node: engine.Node, reason: str) -> Explanation | None:
    """The explanation for ignore_index, padding_idx or dropout that excludes every element."""
    name, here = flow.row_name(node), locate(node.site)
    if reason == "ignored":
        what = f"every target is ignore_index ({engine.options_of(node).get('ignore_index')}), so no element counts in the loss"
        fix = "check the targets: where every label is ignored there is nothing to learn from (and a mean over nothing is nan)."
    elif name == "embedding" and (engine.options_of(node).get("padding_idx") or 0) >= 0:
        what = f"every index looked up is padding_idx ({engine.options_of(node).get('padding_idx')}), whose row gets no gradient"
        fix = "check the indices; the row of padding_idx stays as it is on purpose, all others learn when they are looked up."
    elif name == "mul" and here is not None and (_factor_of_a_layer(node) or "dropout" in here.expression.lower()):
        what = "dropout has dropped every element (p=1, or a high p and few elements): it multiplies all of them by 0"
        fix = "use a dropout probability below 1 (0.1 to 0.5 is usual)."
    else:
        return None
    return Explanation("this gradient is exactly zero", "zero-factor",
                       f"The path is there, but it ends {at(node.site)}: {what}.",
                       fix, locate_all(node.site), symptom="zero")


def _factor_of_a_layer(node: engine.Node) -> bool:
    """True if the other factor has no cause, so the package made it: only dropout multiplies by its own tensor."""
    made_inside = [edge is None and not (node.cuts and node.cuts[i:i + 1] and node.cuts[i]) for i, edge in enumerate(node.edges)]
    return "s" not in engine.argument_kinds(node) and any(made_inside)


def _is_satisfied_hinge(node: engine.Node, steps: list[flow.BackwardStep]) -> bool:
    """True for a hinge loss: relu (or clamp with min=0) of (a number - a score), summed up."""
    before, here = engine.end_of(node.edges[0]) if node.edges else None, locate(node.site)
    is_relu = flow.row_name(node) == "relu" or (flow.row_name(node) == "clamp" and here is not None
                                                and re.search(r"min=0(\.0*)?\)", here.expression) is not None)
    if not is_relu or not engine.is_node(before) or flow.row_name(before) not in ("sub", "rsub"):
        return False
    margin = 1 if engine.row_of(before).name == "rsub" else 0
    return engine.argument_kinds(before)[margin:margin + 1] == "s" and all(
        flow.row_name(other) in ("sum", "mean", "add") for other in nodes_between(steps, node))


def _at_a_minimum(transition: flow.Transition, steps: list[flow.BackwardStep]) -> bool:
    """True if the gradient became zero in the loss itself, because prediction and target are equal."""
    name = flow.row_name(transition.node)
    if name not in _LOSSES | {"mul"}:
        return False
    if name == "mul" and len({engine.end_of(edge) for edge in transition.node.edges}) > 1:
        return False
    after = {transition.node}
    for step in reversed(steps):
        if any(edge in after for edge in step.edges if edge is not None):
            after.add(step.node)
    return all(flow.row_name(node) in _SUMMING for node in after if node is not transition.node and node.visible)


def _zero_factor_before(q: Question) -> flow.Transition | None:
    """The transition at a factor of zeros between the leaf and a loss that is zero."""
    for step in q.steps:
        if step.zero_operand and step.node in q.on_path:
            return flow.Transition(step.node, next(i for i, edge in enumerate(step.edges) if edge in q.on_path))
    return None


def _origin_of_argument(node: engine.Node, position: int) -> Any:
    """The node or leaf that an argument comes from, before casts and views of it; None for a constant."""
    edge = engine.end_of(node.edges[position]) if node.edges[position] is not None else None
    while engine.is_node(edge) and flow.is_pass_through(edge):
        edge = engine.end_of(edge.edges[0])
    return edge


def _written_at(leaf: engine.Tensor) -> Site | None:
    """The site that wrote a leaf's values, if any did. If its first gradient was zero already, no later write is to blame."""
    ledger = ledger_of(leaf)
    if ledger is not None and ledger.first_state != "fine":
        return ledger.written_at
    return engine.version_of(leaf).site


def _dead_factor(transition: flow.Transition, steps: list[flow.BackwardStep]) -> engine.Node | None:
    """The rectifier whose zeros are the other factor of a product, if the whole gradient is lost in it as well."""
    node, position = transition
    if flow.row_name(node) not in flow.PRODUCTS:
        return None
    stopped = {step.node: step.stopped_share for step in steps}
    others = [_origin_of_argument(node, i) for i in range(len(node.edges)) if i != position]
    return next((other for other in others if engine.is_node(other) and flow.row_name(other) in flow.RECTIFIED | flow.BOUNDED
                 and stopped.get(other) == 1.0), None)


def _site_of_input(node: engine.Node, position: int) -> Site | None:
    """The site of an argument's last in-place write or creation, if it is a leaf or a constant."""
    edge = _origin_of_argument(node, position)
    if engine.is_tensor(edge):
        return _written_at(edge) or (engine.causes_of(edge)[0].site if engine.causes_of(edge) else None)
    causes = node.cuts[position] if edge is None and node.cuts is not None and position < len(node.cuts) else ()
    return causes[0].site if causes else None


def _factor(transition: flow.Transition) -> Explanation:
    """The gradient was multiplied by an argument that is zero."""
    node = transition.node
    others = [site for i in range(len(node.edges)) if i != transition.position
              for site in [_site_of_input(node, i)] if site is not None]
    origin = f" That factor comes from {at(others[0]).removeprefix('in ')}." if others else ""
    name = flow.op_phrase(node)
    is_layer = flow.row_name(node) in flow.PRODUCTS - {"mul"}
    what = ("the weight of that layer is all zeros (a zero-initialised layer)" if is_layer else
            "the other factor is zero: a zero weight, a mask (or dropout that drops all), or a loss weight of 0")
    return Explanation(
        "this gradient is exactly zero", "zero-factor",
        f"The path is there, but in {name} {at(node.site)} the gradient is multiplied by something that is exactly zero here: "
        f"{what}.{origin}",
        "make that factor non-zero (initialise the weight, check the mask or the weight of the loss term), or accept that "
        "nothing can flow here.", locate_all(node.site, *others), symptom="zero")


def _flat(node: engine.Node, steps: list[flow.BackwardStep], headline: str, symptom: str, share: float = 1.0) -> Explanation:
    name = flow.row_name(node)
    all_ = "all" if share == 1.0 else f"{share:.0%} of"
    of_one = _is_over_one_element(node, steps)
    category = "zero-factor" if name in flow.SELECTING or of_one else "zero-local-derivative"
    if of_one:
        reason = f"{name} runs over a dimension with a single element, so its value is a constant whatever the input"
        fix = f"apply {name} along the dimension of the classes (dim=), or use sigmoid for a single output."
    elif _is_satisfied_hinge(node, steps):
        reason = f"every input is negative, so {name} gives 0: this hinge is satisfied, its margin is kept by every element"
        fix = "nothing is wrong if the loss is to be 0 here; a larger margin or a smooth loss (softplus) keeps learning."
    elif name in flow.RECTIFIED:
        which = "every input is" if share == 1.0 else f"{share:.0%} of the inputs are"
        reason = f"{which} negative there (below zero), so {name} gives 0 and its derivative is 0: dead units"
        slower = "lower the learning rate, " if ".step(" in expression_at(_bias_site(node)) else ""
        fix = f"start the bias near zero, {slower}or use LeakyReLU, which is not flat (instead of {name})."
    elif name in flow.BOUNDED:
        reason = f"{all_} its inputs lie outside the bounds of {name}, where it is constant and its derivative is 0"
        fix = f"keep the inputs inside the bounds, or replace {name} by something with a slope everywhere (sigmoid, softplus)."
    elif name in flow.STEPWISE:
        reason = f"{name} is a step function: it is flat everywhere, and its derivative is 0 wherever it exists"
        fix = f"use a straight-through estimator: x + ({name}(x) - x).detach(), or a smooth surrogate."
    elif name in flow.SELECTING:
        reason = (f"{name} selects elements: only what was selected receives a gradient, everything else exactly 0, and nothing "
                  "of this tensor was selected" if share == 1.0 else
                  f"{name} selects elements: only what was selected receives a gradient, everything else exactly 0")
        fix = f"nothing is wrong with that; if all elements should learn, use a smooth version (logsumexp, softmax) of {name}."
    else:
        reason = f"{all_} its inputs are so large in magnitude that {name} is saturated: flat, with a derivative that rounds to 0"
        on_logits = ", or use the loss that works on logits" if name in ("sigmoid", "softmax", "safe_softmax") else ""
        fix = f"scale the inputs of {name} down (initialisation, normalisation){on_logits}."
    return Explanation(headline, category,
                       f"The path is there, but {flow.op_phrase(node)} {at(node.site)} has derivative exactly 0 at these values: "
                       f"{reason}.",
                       fix, locate_all(node.site, _bias_site(node)), symptom=symptom, harmless=_is_satisfied_hinge(node, steps))


def _is_over_one_element(node: engine.Node, steps: list[flow.BackwardStep]) -> bool:
    """softmax or log_softmax over a dimension of size 1."""
    if flow.row_name(node) not in ("softmax", "log_softmax"):
        return False
    shape = next((step.shape for step in steps if step.node is node), None)
    axes = engine.options_of(node).get("axis") or ()
    return bool(shape) and bool(axes) and all(shape[axis] == 1 for axis in axes)  # type: ignore[index]


def _bias_site(node: engine.Node) -> Site | None:
    """The site that last wrote a parameter of the layer before a flat op, for example a bias filled with -20."""
    before = engine.end_of(node.edges[0]) if node.edges else None
    for edge in before.edges if engine.is_node(before) else ():
        end = engine.end_of(edge)
        if engine.is_tensor(end):
            site = _written_at(end)
            # Not the layer's own initialization.
            if site is not None and site not in [cause.site for cause in engine.causes_of(end)]:
                return site
    return None


def partly_zero(q: Question) -> Explanation | None:
    """Many elements are zero because the op that uses the leaf, or a relu behind it, has derivative zero there."""
    grad: Any = engine.grad_of(q.t)
    if engine.is_sparse(grad):
        return None
    zeros = engine.array_of(grad) == 0
    count = int(np.count_nonzero(zeros))
    if not count or count == zeros.size or zeros.size < 2:
        return None
    trace = q.trace
    used = [] if trace is None else trace.consumers(q.t)
    if trace is None or len(used) != 1:
        return None
    steps = trace.steps
    by_node = {step.node: step for step in steps}
    name = flow.row_name(used[0])
    if name in flow.FLAT - flow.SATURATED and name != "where" and by_node[used[0]].stopped_share >= 0.25:
        return _flat(used[0], steps, "part of this gradient is exactly zero", "partly-zero", by_node[used[0]].stopped_share)
    if name == "mul" and count >= 0.25 * zeros.size:
        return _masked(q, used[0], zeros)
    return _dead_units(used[0], steps, zeros)


def _masked(q: Question, node: engine.Node, zeros: np.ndarray) -> Explanation | None:
    """The leaf was multiplied by a constant with zeros."""
    position = next((i for i, edge in enumerate(node.edges) if edge is None), None)
    site = None if position is None else _site_of_input(node, position)
    made = locate(site)
    if made is None or "prune." in made.expression:  # pruned weights stay zero on purpose
        return None
    return Explanation(
        "part of this gradient is exactly zero", "zero-factor",
        f"{q.label_start} is multiplied {at(node.site)} by a factor that is zero in {np.count_nonzero(zeros)} of {zeros.size} "
        f"places (a mask, made {at(site)}): there the gradient is 0 as well.",
        "look at the mask; where it is 0, nothing is learned.", locate_all(node.site, site), symptom="partly-zero")


def _dead_units(node: engine.Node, steps: list[flow.BackwardStep], zeros: np.ndarray) -> Explanation | None:
    """Whole rows of a layer's weight gradient are zero: their units are dead behind a relu.

    In a small layer with few samples some units are dead by chance, which is not reported.
    """
    rows = zeros.reshape(zeros.shape[0], -1).all(1)
    dead = int(rows.sum())
    if dead < 3 or dead < 0.5 * rows.size or flow.row_name(node) not in ("linear", "addmm", "convolution"):
        return None
    for step in steps:
        behind = {engine.end_of(edge) for edge in step.edges if edge is not None}
        if (node in behind and flow.row_name(step.node) in flow.RECTIFIED | flow.BOUNDED and step.stopped_share >= 0.4
                and (dead >= 0.75 * rows.size or _bias_site(step.node) is not None)):
            return _flat(step.node, steps, "part of this gradient is exactly zero", "partly-zero", dead / rows.size)
    return None
