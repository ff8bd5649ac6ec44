"""How the gradient changed from node to node in one backward pass: states, steps, and where it became zero or not finite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from whygrad.ops import TABLE
from whygrad.why import engine
from whygrad.why.engine import Node, array_of, end_of, is_node, is_tensor, is_view, saved_of


def rows_with(curve: str) -> set[str]:
    """Names of the rows with this trait: the names that users know, and the rows' own."""
    return {name for row in TABLE.values() if curve in row.traits.curve for name in (row.name, row.traits.called)}


SATURATED, BOUNDED, RECTIFIED, SELECTING = map(rows_with, ("saturating", "bounded", "rectified", "selecting"))
STEPWISE = rows_with("stepwise") | {"bernoulli", "poisson", "binomial"}

# Rows that compare a prediction with a target.
COMPARING = rows_with("comparing") | {"l1_loss"}

PRODUCTS, ARITHMETIC, TOTALS = map(rows_with, ("product", "arithmetic", "total"))
# What may stand between a loss and its summands, and how many are looked at.
SUMMING = ARITHMETIC | TOTALS | {"stack"}
MAX_SUMMANDS = 64
VIEWS = {row.traits.called for row in TABLE.values() if row.view} | {"reshape"}

# Rows whose derivative can be exactly zero at some values.
FLAT = SATURATED | STEPWISE | BOUNDED | RECTIFIED | SELECTING


# States of arrays that an engine knows, by id, while it tells of them; and the squares of their norms.
known_states: dict[int, str] = {}
known_squares: dict[int, float] = {}
# What `stopped_share` gives, by id of the incoming gradient, where the arrays are on a device.
known_shares: dict[int, float] = {}


def forget_known() -> None:
    """The engine has told of these arrays."""
    for known in (known_states, known_squares, known_shares):
        known.clear()


def gradient_state(g: Any) -> str:
    """The state of a gradient: "none", "zero", "bad" (nan or infinite) or "fine"."""
    if known_states and id(g) in known_states:
        return known_states[id(g)]
    # One pass decides the usual case; squares of tiny and huge numbers underflow and overflow, so these are checked again.
    if type(g) is np.ndarray and g.dtype.char in "fd":
        flat = g.ravel("K")  # a transposed array is not copied
        if 0 < np.vdot(flat, flat) < np.inf:
            return "fine"
    if g is None:
        return "none"
    if isinstance(g, (list, dict)):
        states = {gradient_state(x) for x in (g.values() if isinstance(g, dict) else g)}
        return next((s for s in ("bad", "fine", "zero") if s in states), "none")
    array = array_of(g)
    if array.dtype.kind not in "fc":
        return "fine"
    if not np.isfinite(array).all():
        return "bad"
    return "fine" if array.any() or not array.size else "zero"


class BackwardStep(NamedTuple):
    """One node of one backward pass: the states of its incoming and its outgoing gradients."""

    node: Node
    edges: tuple[Any, ...]
    incoming: str
    outgoing: tuple[str, ...]
    # For rows in FLAT: share of the gradient's elements that became zero here.
    stopped_share: float
    # The shape of the incoming gradient.
    shape: tuple[int, ...] | None
    # For an incoming gradient of zeros: whether this node would have made it zero as well.
    zero_operand: bool
    # For a gradient that became zero here: the reason for each argument (see zero_origin.py).
    zero_reasons: tuple[str, ...] = ()


def stopped_share(node: Node, g: Any, grads: tuple[Any, ...]) -> float:
    """Share of elements whose incoming gradient is not zero and whose outgoing gradient is."""
    if id(g) in known_shares:
        return known_shares[id(g)]
    if row_name(node) not in FLAT or not isinstance(g, np.ndarray):
        return 0.0
    out = next((x for x in grads if isinstance(x, np.ndarray)), None)
    if out is None or not out.size or out.dtype.kind not in "fc":
        return 0.0
    stopped = out == 0
    if g.shape == out.shape:
        stopped &= g != 0
    return int(np.count_nonzero(stopped)) / out.size


class Transition(NamedTuple):
    """Where a gradient changed its state: the node, and the argument that received the changed gradient."""

    node: Node
    position: int


def find_transition(steps: list[BackwardStep], leaf: Any, into: str) -> Transition | None:
    """The transition nearest to the root at which the gradient that reached `leaf` became zero (or "bad")."""
    # The leaf, and the nodes that passed a gradient in that state on to it.
    behind = {leaf}
    found = None
    for step in reversed(steps):
        for position, (edge, outgoing) in enumerate(zip(step.edges, step.outgoing, strict=False)):
            if outgoing != into or edge is None or edge not in behind:
                continue
            if step.incoming == into:
                behind.add(step.node)
            elif step.node.visible:
                found = Transition(step.node, position)
    return found


def is_pass_through(node: Node) -> bool:
    """True for a node that only passes the gradient on: a cast, or a view of its one argument."""
    return not node.visible or (is_view(node) and len(node.edges) == 1)


def has_zero_operand(node: Node) -> bool:
    """True if a factor that the node saved is all zeros."""
    return row_name(node) in PRODUCTS and any(
        isinstance(x, np.ndarray) and x.size and not x.any() for x in saved_of(node).values())


def leaves_from(nodes: Iterable[Any]) -> set[Any]:
    """The leaves reachable from these nodes."""
    pending, seen, leaves = list(nodes), set(), set()
    while pending:
        target = end_of(pending.pop())
        if is_tensor(target):
            leaves.add(target)
        elif target is not None and target not in seen:
            seen.add(target)
            pending.extend(target.edges)
    return leaves


def row_name(node: Node) -> str:
    """The op's name as a user knows it."""
    return engine.current.name_of(node)


def summands_of(root: Node) -> Iterator[Node]:
    """A loss and what it is a sum of, as far as sums, products with numbers and means go."""
    pending, seen = [root], 0
    while pending and seen < MAX_SUMMANDS:
        node = end_of(pending.pop())
        seen += 1
        if is_node(node):
            yield node
            if row_name(node) in SUMMING:
                pending.extend(edge for edge in node.edges if edge is not None)


def op_phrase(node: Node) -> str:
    """The op's name in a sentence; a row that computes the derivative of another says so."""
    name = row_name(node)
    base = name.removesuffix("_backward")
    return name if base == name else f"the derivative of {base}"
