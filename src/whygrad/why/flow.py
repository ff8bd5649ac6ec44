"""What one backward did to the gradient on its way: kept by the watch, read when a gradient is zero or not finite."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from whygrad.compat.refusing import RefusingArray
from whygrad.core.node import Node, row_node
from whygrad.core.tensor import Tensor

SATURATED = {"sigmoid", "tanh", "erf", "erfc", "softmax", "log_softmax", "logsigmoid", "softplus", "gelu", "silu", "mish", "elu",
             "binary_cross_entropy_with_logits", "exp", "safe_softmax"}
STEPWISE = {"round", "round_decimals", "floor", "ceil", "trunc", "sign", "sgn", "heaviside", "div_rounded",
            "bernoulli", "poisson", "binomial"}
BOUNDED = {"clamp", "clamp_min", "clamp_max", "hardtanh", "hardshrink", "softshrink", "hardsigmoid", "hardswish"}
RECTIFIED = {"relu", "leaky_relu", "threshold", "rrelu", "prelu"}
SELECTING = {"maximum", "minimum", "max", "min", "amax", "amin", "where", "fmax", "fmin", "median"}

# Rows that compare a prediction with a target.
COMPARING = {"sub", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "soft_margin_loss"}

# Rows whose derivative can be exactly zero at some values.
FLAT = SATURATED | STEPWISE | BOUNDED | RECTIFIED | SELECTING


def state(g: Any) -> str:
    """ "none", "zero", "bad" (nan or infinite) or "fine"."""
    # One pass settles the usual case; tiny and huge numbers have to be looked at again.
    if type(g) is np.ndarray and g.dtype.char in "fd" and 0 < np.vdot(g, g) < np.inf:
        return "fine"
    if g is None:
        return "none"
    if isinstance(g, (list, dict)):
        states = {state(x) for x in (g.values() if isinstance(g, dict) else g)}
        return next((s for s in ("bad", "fine", "zero") if s in states), "none")
    array = numbers_of(g)
    if array.dtype.kind not in "fc":
        return "fine"
    if not np.isfinite(array).all():
        return "bad"
    return "fine" if array.any() or not array.size else "zero"


def numbers_of(g: Any) -> np.ndarray:
    """The array of a gradient; of a sparse one, the values it holds."""
    array = g if isinstance(g, RefusingArray) else getattr(g, "_array", g)
    return np.asarray(vars(array).get("values", ()) if isinstance(array, RefusingArray) else array)


class Step(NamedTuple):
    """One node of one backward: the state of the gradient that came in, and of those that went out."""

    node: Node
    edges: tuple[Any, ...]
    came: str
    left: tuple[str, ...]
    # For rows that can be flat: which share of the gradient was stopped here.
    stopped: float
    # The shape of the gradient that came in.
    shape: tuple[int, ...] | None
    # Of a gradient that was zero already: whether this node would have made it zero as well.
    zero_operand: bool
    # Of a gradient that became zero here, for each argument: how (see zeroed.py).
    how: tuple[str, ...] = ()


def stopped_share(node: Node, g: Any, grads: tuple[Any, ...]) -> float:
    """The share of elements that a gradient reached in vain: it came in, and zero went out."""
    if row_name(node) not in FLAT or not isinstance(g, np.ndarray):
        return 0.0
    out = next((x for x in grads if isinstance(x, np.ndarray)), None)
    if out is None or not out.size or out.dtype.kind not in "fc":
        return 0.0
    came = g != 0 if g.shape == out.shape else np.ones(out.shape, bool)
    return float(((out == 0) & came).mean())


class Turn(NamedTuple):
    """Where a gradient turned: the node, and which of its arguments received the turned gradient."""

    node: Node
    position: int


def where_it_turned(steps: list[Step], leaf: Any, into: str) -> Turn | None:
    """The node nearest to the root at which the gradient that reached `leaf` became zero (or "bad")."""
    # What leads to the leaf with a gradient in that state, from the leaf towards the root.
    behind = {leaf}
    found = None
    for step in reversed(steps):
        for position, (edge, left) in enumerate(zip(step.edges, step.left, strict=False)):
            if left != into or edge is None or edge not in behind:
                continue
            if step.came == into:
                behind.add(step.node)
            elif step.node.visible:
                found = Turn(step.node, position)
    return found


def is_the_same(node: Node) -> bool:
    """True for a node that only passes on: a cast, or a view of its one argument."""
    layout = getattr(type(node), "layout", None)
    return not node.visible or (layout is not None and layout.row.view and len(node.edges) == 1)


def has_zero_operand(node: Node) -> bool:
    """A factor that the node saved is zero throughout."""
    return row_name(node) in ("mul", "matmul", "linear", "convolution", "addmm") and any(
        isinstance(x, np.ndarray) and x.size and not x.any() for x in saved_values(node).values())


def leaves_from(nodes: Iterable[Any]) -> set[Any]:
    """All leaves that can be reached from these nodes."""
    pending, seen, leaves = list(nodes), set(), set()
    while pending:
        target = pending.pop()
        if isinstance(target, Tensor):
            leaves.add(target)
        elif target is not None and target not in seen:
            seen.add(target)
            pending.extend(target.edges)
    return leaves


# Rows that are variants of one op: `x * 2` is mul_number, a matrix product of stacks matmul_folded.
_VARIANT = re.compile("_(number|scaled|all|along|folded|inplace|vector)$")
_PLAIN_NAMES = {"log_sigmoid": "logsigmoid", "vector_norm": "norm", "norm_along": "norm", "rsub": "sub", "pow_of_number": "pow",
                "clamp_min": "clamp", "clamp_max": "clamp", "sgn": "sign", "mv": "matmul", "mm": "matmul", "bmm": "matmul",
                "constant_pad": "pad", "safe_softmax": "softmax"}


def row_name(node: Node) -> str:
    """The op's name as a user knows it."""
    return str(_name_of_class(type(node)))  # type: ignore[arg-type]


@functools.cache
def _name_of_class(kind: Any) -> str:
    layout = getattr(kind, "layout", None)
    if layout is None:
        return kind.__name__.partition("Backward")[0]
    if layout.row.name.startswith("sampled"):
        return kind.__name__.partition("Backward")[0].lower()
    name = _VARIANT.sub("", layout.row.name)
    return _PLAIN_NAMES.get(name, name)


def op_words(node: Node) -> str:
    """The op in a sentence: a row made for the derivative of another is told as what it is."""
    name = row_name(node)
    base = name.removesuffix("_backward")
    return name if base == name else f"the derivative of {base}"


def input_of(node: Node, position: int) -> Any:
    """The node or leaf that an argument came from."""
    return row_node(node.edges[position])[0]


def saved_values(node: Node) -> dict[str, Any]:
    """What a row's node saved, by name; empty if it is gone or wrapped up."""
    layout = getattr(type(node), "layout", None)
    if layout is None or type(node.saved) is not tuple or not node.saved:
        return {}
    return dict(zip(layout.saved, node.saved[::3], strict=False))
