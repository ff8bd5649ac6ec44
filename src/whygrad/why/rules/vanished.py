"""A gradient that is zero, wholly or in part: where on the way back it was lost."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from whygrad.core.node import Node, row_node
from whygrad.core.tensor import Tensor
from whygrad.why.answers import Explanation
from whygrad.why.causes import at
from whygrad.why.flow import (
    BOUNDED,
    FLAT,
    RECTIFIED,
    SATURATED,
    SELECTING,
    STEPWISE,
    Step,
    Turn,
    numbers_of,
    op_words,
    row_name,
    state,
    where_it_turned,
)
from whygrad.why.places import place, places
from whygrad.why.question import Question
from whygrad.why.record import Site
from whygrad.why.rules import Doubtful, Verdict
from whygrad.why.source import argument
from whygrad.why.zeroed import between, is_linear, static_of

# What rounding leaves of a gradient of ordinary size.
TINY = 1e-6
# Losses whose derivative is prediction minus target.
_AT_TARGET = {"log_softmax", "binary_cross_entropy_with_logits"}
# Losses that are zero at their minimum, and there have derivative zero.
_LOSSES = {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"}
# What may stand between such a place and the root for it to be the loss itself.
_SUMMING = {"sum", "mean", "mul", "div", "add", "sub", "neg", "sqrt", "norm", "select", "squeeze", "view", "reshape", "linear"}


def zero(q: Question) -> Verdict | None:
    """A gradient that is zero at first may come: behind a weight that starts at zero, or once a satisfied margin is broken."""
    told = _why_zero(q)
    ledger = q.ledger
    if told is None or ledger is None or q.watch is None:
        return told
    number = q.t.meta.reached_by.number
    if told.category == "zero-factor":
        return Doubtful(told, lambda: ledger.flowed <= number)
    return Doubtful(told, lambda: not ledger.held) if told.harmless else told


def _why_zero(q: Question) -> Explanation | None:
    if state(q.t._grad) != "zero" or q.t.meta.reached_by is None:
        return None
    ledger = q.ledger
    if ledger is not None and ledger.deposits and ledger.deposits[-1].state == "fine":
        return _cleared_in_place(q)
    steps = q.steps
    turn = where_it_turned(steps, q.t, "zero")
    if turn is None:
        return _cancelled(q)
    how = next((step.how[turn.position] for step in steps if step.node is turn.node and turn.position < len(step.how)), "")
    if how == "cancels":
        return _cancelled_in(turn.node, steps)
    if how == "underflow" and row_name(turn.node) not in FLAT:
        return _underflow(turn.node)
    if _at_a_minimum(turn, steps):
        masked = _masked_before(q)
        if masked is not None:
            return _factor(masked)
        return _stationary(turn.node, f"{op_words(turn.node)} {at(turn.node.site)} has derivative 0 there")
    named = _left_out(turn.node, how)
    if named is not None:
        return named
    if row_name(turn.node) in _AT_TARGET and not _is_of_one(turn.node, steps):
        return _stationary(turn.node, f"the prediction that goes into {op_words(turn.node)} {at(turn.node.site)} is exactly the "
                                      "target (a perfect prediction)")
    if row_name(turn.node) in FLAT:
        return _flat(turn.node, steps, "this gradient is exactly zero", "zero")
    return _factor(turn)


def rounding_only(q: Question) -> Explanation | None:
    """All that is left of a gradient is the rounding of a sum that is zero."""
    grad = q.t._grad
    step = next((step for step in q.steps if "cancels" in step.how and row_name(step.node) == "softmax"), None)
    if grad is None or step is None or not q.t._array.size or float(np.abs(numbers_of(grad)).max()) > TINY:
        return None
    trace = q.trace
    on_the_way = trace is not None and step.node in trace.leading_to(q.t)
    return _cancelled_in(step.node, q.steps) if on_the_way and all(is_linear(n) for n in between(q.steps, step.node)) else None


def _cleared_in_place(q: Question) -> Explanation | None:
    """backward brought something; it is zero because the program filled it with zeros."""
    grad = q.t._grad
    assert grad is not None
    log = q.t.meta.grad_log[-1] if q.t.meta.grad_log else None
    written = grad._version_counter[1] if len(grad._version_counter) > 1 else None
    site = log[1] if log is not None and log[0] == "cleared" else written
    return Explanation(
        "this gradient is exactly zero", "grad-cleared",
        f"backward {at(q.t.meta.reached_by.site)} did fill it, then it was set to zero {at(site)} (zero_(), or zero_grad() with "
        "set_to_none=False), before it was read.",
        "read or apply the gradient before it is cleared.", places(site), symptom="zero")


def _stationary(node: Node, why: str) -> Explanation:
    return Explanation(
        "this gradient is exactly zero", "ok",
        f"The loss is at its minimum (or another stationary point): {why}, and a zero gradient is right.",
        causes=places(node.site), symptom="ok")


def _cancelled(q: Question) -> Explanation | None:
    """Every contribution is there, and together they are zero."""
    used = [] if q.trace is None else q.trace.consumers(q.t)
    if not used:
        return None
    itself = _compared_with_itself(q)
    if itself is not None:
        return itself
    if all(is_linear(node) for node in between(q.steps, q.t)):
        return _independent(used[0], f"what {op_words(used[0])} {at(used[0].site)} and other operations contribute adds up to "
                                     "exactly zero")
    return _stationary(used[0], f"the contributions to it, one of them through {op_words(used[0])} {at(used[0].site)}, cancel "
                                "each other exactly")


# What programs call a value of before, to which the present one is compared.
_BEFORE = re.compile(r"old|prev|behav|ref|anchor|target|teacher|base", re.IGNORECASE)


def _compared_with_itself(q: Question) -> Explanation | None:
    """`exp(logp - old_logp)`, `p / old_p`, where the old one has the same history: one of them was to be a constant."""
    trace = q.trace
    on_the_way = set() if trace is None else trace.leading_to(q.t)
    for step in trace.steps if trace is not None else ():
        if row_name(step.node) not in ("sub", "div") or len(step.edges) != 2 or not set(step.edges) <= on_the_way:
            continue
        here = place(step.node.site)
        old = "" if here is None else argument(here, 1)
        if step.edges[0] is step.edges[1] or _BEFORE.search(old):
            it = f"`{old}`" if old else "the second one"
            return Explanation(
                "this gradient is exactly zero", "missing-detach",
                f"Both sides of {op_words(step.node)} {at(step.node.site)} were computed from {q.that} and are the same, so what "
                f"they send back cancels out exactly. {it}, to which the other is compared, is not detached: it is no constant, "
                "but moves along.", f"hold it constant: {old or 'x'}.detach(), or compute it inside with torch.no_grad().",
                places(step.node.site), symptom="zero")
    return None


def _cancelled_in(node: Node, steps: list[Step]) -> Explanation:
    """What goes back through a node adds up to zero. Only if the rest is linear, that is so at all values."""
    rest_is_linear = all(is_linear(other) for other in between(steps, node))
    if rest_is_linear and row_name(node) == "softmax":
        return _independent(node, f"the outputs of {op_words(node)} {at(node.site)} always sum to 1, and the loss counts all of "
                                  "them alike, so it is a constant")
    if rest_is_linear and is_linear(node):
        return _independent(node, f"what {op_words(node)} {at(node.site)} contributes adds up to exactly zero")
    return _stationary(node, f"the contributions in {op_words(node)} {at(node.site)} cancel each other exactly")


def _independent(node: Node, why: str) -> Explanation:
    return Explanation(
        "this gradient is exactly zero", "zero-factor",
        f"Gradients do reach it, but they cancel each other: {why}. The loss does not depend on this value at all.",
        "look for the part of the loss that undoes the effect of this value, and weigh its elements differently (by targets or "
        "weights).", places(node.site), symptom="zero")


def _underflow(node: Node) -> Explanation:
    return Explanation(
        "this gradient is exactly zero", "zero-local-derivative",
        f"The derivative of {op_words(node)} {at(node.site)} is not zero here, but too small for float32: it underflows and is "
        "rounded to 0.",
        "scale the values up, work with logarithms, or compute in float64.", places(node.site), symptom="zero")


def _left_out(node: Node, how: str) -> Explanation | None:
    """An option of the op, known by its name, keeps every element from learning."""
    name, here = row_name(node), place(node.site)
    if how == "ignored":
        what = f"every target is ignore_index ({static_of(node).get('ignore_index')}), so no element counts in the loss"
        fix = "check the targets: where every label is ignored there is nothing to learn from (and a mean over nothing is nan)."
    elif name == "embedding" and (static_of(node).get("padding_idx") or 0) >= 0:
        what = f"every index looked up is padding_idx ({static_of(node).get('padding_idx')}), whose row gets no gradient"
        fix = "check the indices; the row of padding_idx stays as it is on purpose, all others learn when they are looked up."
    elif name == "mul" and here is not None and (_factor_of_a_layer(node) or "dropout" in here.expression.lower()):
        what = "dropout has dropped every element (p=1, or a high p and few elements): it multiplies all of them by 0"
        fix = "use a dropout probability below 1 (0.1 to 0.5 is usual)."
    else:
        return None
    return Explanation("this gradient is exactly zero", "zero-factor",
                       f"The path is there, but it ends {at(node.site)}: {what}.",
                       fix, places(node.site), symptom="zero")


def _factor_of_a_layer(node: Node) -> bool:
    """The other factor is a tensor that the program did not make: it has no cause. Only dropout multiplies by its own."""
    layout: Any = type(node).layout  # type: ignore[attr-defined]
    made_inside = [edge is None and not (node.cuts and node.cuts[i:i + 1] and node.cuts[i]) for i, edge in enumerate(node.edges)]
    return "s" not in layout.kinds and any(made_inside)


def _is_met_margin(node: Node, steps: list[Step]) -> bool:
    """relu (or clamp with min=0) of (a number - a score), added up to the loss: a hinge."""
    before, here = row_node(node.edges[0])[0] if node.edges else None, place(node.site)
    is_relu = row_name(node) == "relu" or (row_name(node) == "clamp" and here is not None
                                           and re.search(r"min=0(\.0*)?\)", here.expression) is not None)
    if not is_relu or not isinstance(before, Node) or row_name(before) not in ("sub", "rsub"):
        return False
    layout: Any = type(before).layout  # type: ignore[attr-defined]
    margin = 1 if layout.row.name == "rsub" else 0
    return layout.kinds[margin:margin + 1] == "s" and all(
        row_name(other) in ("sum", "mean", "add") for other in between(steps, node))


def _at_a_minimum(turn: Turn, steps: list[Step]) -> bool:
    """The gradient vanished in the loss itself, whose difference is zero."""
    name = row_name(turn.node)
    if name not in _LOSSES | {"pow", "mul", "abs", "norm", "dist"}:
        return False
    if name == "mul" and len({row_node(edge)[0] for edge in turn.node.edges}) > 1:
        return False
    after = {turn.node}
    for step in reversed(steps):
        if any(edge in after for edge in step.edges if edge is not None):
            after.add(step.node)
    return all(row_name(node) in _SUMMING for node in after if node is not turn.node and node.visible)


def _masked_before(q: Question) -> Turn | None:
    """The loss is zero because a factor on the way is."""
    trace = q.trace
    on_the_way = set() if trace is None else trace.leading_to(q.t)
    for step in trace.steps if trace is not None else ():
        if step.zero_operand and step.node in on_the_way:
            return Turn(step.node, next(i for i, edge in enumerate(step.edges) if edge in on_the_way))
    return None


def _site_of_input(node: Node, position: int) -> Site | None:
    """Where the argument's values come from: its last in-place write or its creation, if it is a leaf or a constant."""
    edge = row_node(node.edges[position])[0] if node.edges[position] is not None else None
    if isinstance(edge, Tensor):
        counter = edge._version_counter
        return counter[1] if len(counter) > 1 else edge._cause[0].site if edge._cause else None
    causes = node.cuts[position] if edge is None and node.cuts is not None and position < len(node.cuts) else ()
    return causes[0].site if causes else None


def _factor(turn: Turn) -> Explanation:
    """The gradient was multiplied by zero: the other argument of the node is zero."""
    node = turn.node
    others = [site for i in range(len(node.edges)) if i != turn.position
              for site in [_site_of_input(node, i)] if site is not None]
    origin = f" That factor comes from {at(others[0]).removeprefix('in ')}." if others else ""
    name = op_words(node)
    what = ("the weight of that layer is all zeros (a zero-initialised layer)" if row_name(node) in ("linear", "matmul", "addmm",
                                                                                                    "convolution") else
            "the other factor is zero: a zero weight, a mask, or a loss weight of 0")
    return Explanation(
        "this gradient is exactly zero", "zero-factor",
        f"The path is there, but in {name} {at(node.site)} the gradient is multiplied by something that is exactly zero here: "
        f"{what}.{origin}",
        "make that factor non-zero (initialise the weight, check the mask or the weight of the loss term), or accept that "
        "nothing can flow here.", places(node.site, *others), symptom="zero")


def _flat(node: Node, steps: list[Step], headline: str, symptom: str, share: float = 1.0) -> Explanation:
    name = row_name(node)
    all_ = "all" if share == 1.0 else f"{share:.0%} of"
    of_one = _is_of_one(node, steps)
    category = "zero-factor" if name in SELECTING or of_one else "zero-local-derivative"
    if of_one:
        reason = f"{name} runs over a dimension with a single element, so its value is a constant whatever the input"
        fix = f"apply {name} along the dimension of the classes (dim=), or use sigmoid for a single output."
    elif _is_met_margin(node, steps):
        reason = f"every input is negative, so {name} gives 0: this hinge is satisfied, its margin is kept by every element"
        fix = "nothing is wrong if the loss is to be 0 here; a larger margin or a smooth loss (softplus) keeps learning."
    elif name in RECTIFIED:
        which = "every input is" if share == 1.0 else f"{share:.0%} of the inputs are"
        reason = f"{which} negative there (below zero), so {name} gives 0 and its derivative is 0: dead units"
        set_at = place(_bias_site(node))
        slower = "lower the learning rate, " if set_at is not None and ".step(" in set_at.expression else ""
        fix = f"start the bias near zero, {slower}or use LeakyReLU, which is not flat (instead of {name})."
    elif name in BOUNDED:
        reason = f"{all_} its inputs lie outside the bounds of {name}, where it is constant and its derivative is 0"
        fix = f"keep the inputs inside the bounds, or replace {name} by something with a slope everywhere (sigmoid, softplus)."
    elif name in STEPWISE:
        reason = f"{name} is a step function: it is flat everywhere, and its derivative is 0 wherever it exists"
        fix = f"use a straight-through estimator: x + ({name}(x) - x).detach(), or a smooth surrogate."
    elif name in SELECTING:
        reason = (f"{name} selects elements: only what was selected receives a gradient, everything else exactly 0, and nothing "
                  "of this tensor was selected" if share == 1.0 else
                  f"{name} selects elements: only what was selected receives a gradient, everything else exactly 0")
        fix = f"nothing is wrong with that; if all elements should learn, use a smooth version (logsumexp, softmax) of {name}."
    else:
        reason = f"{all_} its inputs are so large in magnitude that {name} is saturated: flat, with a derivative that rounds to 0"
        on_logits = ", or use the loss that works on logits" if name in ("sigmoid", "softmax", "safe_softmax") else ""
        fix = f"scale the inputs of {name} down (initialisation, normalisation){on_logits}."
    return Explanation(headline, category,
                       f"The path is there, but {op_words(node)} {at(node.site)} has derivative exactly 0 at these values: "
                       f"{reason}.",
                       fix, places(node.site, _bias_site(node)), symptom=symptom, harmless=_is_met_margin(node, steps))


def _is_of_one(node: Node, steps: list[Step]) -> bool:
    """softmax or log_softmax over a dimension of size 1."""
    if row_name(node) not in ("softmax", "log_softmax"):
        return False
    shape = next((step.shape for step in steps if step.node is node), None)
    axes = node.static[0] if node.static else ()
    return bool(shape) and bool(axes) and all(shape[axis] == 1 for axis in axes)  # type: ignore[index]


def _bias_site(node: Node) -> Site | None:
    """Where a parameter that feeds the flat op was last set by hand, for example a bias filled with -20."""
    before = row_node(node.edges[0])[0] if node.edges else None
    for edge in before.edges if isinstance(before, Node) else ():
        end = row_node(edge)[0]
        if isinstance(end, Tensor) and len(end._version_counter) > 1:
            ledger = None if end._meta is None else end._meta.watched
            # What was dead from the first backward on, no step has made so.
            site: Site | None = end._version_counter[1] if ledger is None or ledger.first == "fine" else ledger.origin
            if site is not None and site not in [cause.site for cause in end._cause]:  # not the layer's own initialisation
                return site
    return None


def partly_zero(q: Question) -> Explanation | None:
    """Many elements are exactly zero, because an op right behind the leaf stopped what came for them."""
    grad: Any = q.t._grad
    if not isinstance(grad._array, np.ndarray):
        return None  # a sparse gradient has only what is not zero
    zeros = grad._array == 0
    count = int(np.count_nonzero(zeros))
    if not count or count == zeros.size or zeros.size < 2:
        return None
    trace = q.trace
    used = [] if trace is None else trace.consumers(q.t)
    if trace is None or len(used) != 1:
        return None
    steps = trace.steps
    by_node = {step.node: step for step in steps}
    name = row_name(used[0])
    if name in FLAT - SATURATED and name != "where" and by_node[used[0]].stopped >= 0.25:
        return _flat(used[0], steps, "part of this gradient is exactly zero", "partly-zero", by_node[used[0]].stopped)
    if name == "mul" and count >= 0.25 * zeros.size:
        return _masked(q, used[0], zeros)
    return _dead_units(used[0], steps, zeros)


def _masked(q: Question, node: Node, zeros: np.ndarray) -> Explanation | None:
    """The leaf was multiplied by a constant that is zero in places."""
    position = next((i for i, edge in enumerate(node.edges) if edge is None), None)
    site = None if position is None else _site_of_input(node, position)
    made = place(site)
    if made is None or "prune." in made.expression:  # who prunes wants these to stay at zero
        return None
    return Explanation(
        "part of this gradient is exactly zero", "zero-factor",
        f"{q.it} is multiplied {at(node.site)} by a factor that is zero in {np.count_nonzero(zeros)} of {zeros.size} places (a "
        f"mask, made {at(site)}): there the gradient is 0 as well.",
        "look at the mask; where it is 0, nothing is learned.", places(node.site, site), symptom="partly-zero")


def _dead_units(node: Node, steps: list[Step], zeros: np.ndarray) -> Explanation | None:
    """Whole rows of a layer's weight are zero: their units are dead behind a relu.

    In a small layer with few samples some are dead by chance; that is no news.
    """
    rows = zeros.reshape(zeros.shape[0], -1).all(1)
    dead = int(rows.sum())
    if dead < 3 or dead < 0.5 * rows.size or row_name(node) not in ("linear", "addmm", "convolution"):
        return None
    for step in steps:
        behind = {row_node(edge)[0] for edge in step.edges if edge is not None}
        if (node in behind and row_name(step.node) in RECTIFIED | BOUNDED and step.stopped >= 0.4
                and (dead >= 0.75 * rows.size or _bias_site(step.node) is not None)):
            return _flat(step.node, steps, "part of this gradient is exactly zero", "partly-zero", dead / rows.size)
    return None
