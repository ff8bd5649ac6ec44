"""A snapshot of a graph: plain data for drawing, taken while the graph is alive, which does not keep it alive.

Items are ops, leaves and cuts (where a path ends); a link leads from an op to one of its inputs, the direction of the
gradient. After a watched backward, items and links have statistics of the gradients that passed.
"""

from __future__ import annotations

import re
import weakref
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from whygrad.why import engine
from whygrad.why.causes import describe_cause
from whygrad.why.formulas import known_of
from whygrad.why.gradient_flow import row_name
from whygrad.why.record import Cause, Reference, Site

# States of the gradient at an item or on a link. ELSEWHERE: cut off here, but reached on
# another path or by another backward pass.
UNKNOWN, FLOWS, ZERO, NAN, NOTHING, CUT, FROZEN = "unknown", "flows", "zero", "nan", "nothing", "cut", "frozen"
ELSEWHERE = "elsewhere"


class Stats(NamedTuple):
    """Statistics over all elements of a gradient."""

    norm: float
    largest: float
    zeros: int
    bad: int
    size: int

    @property
    def state(self) -> str:
        return NAN if self.bad else ZERO if self.zeros == self.size else FLOWS


def measure(g: Any) -> Stats | None:
    """The statistics of a gradient: an array, a Tensor, or a list of these and None."""
    if isinstance(g, (list, tuple)):
        parts = [x for x in map(measure, g) if x is not None]
        if not parts:
            return None
        return Stats(float(np.hypot.reduce([x.norm for x in parts])), max(x.largest for x in parts),
                     sum(x.zeros for x in parts), sum(x.bad for x in parts), sum(x.size for x in parts))
    if g is None:
        return None
    array = np.asarray(getattr(g, "_array", g)).ravel()
    if array.dtype.kind not in "fc":
        array = array.astype(np.float64)
    if not array.size:
        return Stats(0.0, 0.0, 0, 0, 0)
    sizes = np.abs(array)
    largest = float(sizes.max())
    if largest == largest and largest != float("inf"):
        # Scaled by the maximum, so that squares of tiny and huge numbers do not underflow or overflow.
        norm = largest * float(np.linalg.norm(sizes / sizes.dtype.type(largest))) if largest else 0.0
        return Stats(norm, largest, int(array.size - np.count_nonzero(array)), 0, array.size)
    bad = int(array.size - np.count_nonzero(np.isfinite(array)))
    return Stats(largest, largest, int(array.size - np.count_nonzero(array)), bad, array.size)


@dataclass(slots=True)
class Item:
    """An op (`row` set), a leaf, or a cut."""

    kind: str  # "op", "leaf" or "cut"
    label: str
    # The sequence number of the node; -1 for leaves and cuts.
    seq: int = -1
    site: Site | None = None
    shape: tuple[int, ...] | None = None
    state: str = UNKNOWN
    stats: Stats | None = None
    # The op's row and its known static values, from which its formula is written.
    row: Any = None
    known: dict[str, Any] | None = None
    detail: str = ""


@dataclass(slots=True)
class Link:
    """From an op to the source of one of its arguments."""

    source: int
    target: int
    argument: str
    state: str = UNKNOWN
    stats: Stats | None = None

    @property
    def norm(self) -> float | None:
        return None if self.stats is None else self.stats.norm


@dataclass
class GraphSnapshot:
    items: list[Item] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    # id of a node, leaf or cause -> number of its item; valid only while the graph is alive
    numbers: dict[int, int] = field(default_factory=dict)
    # (id of a node, position of the argument) -> number of its link
    positions: dict[tuple[int, int], int] = field(default_factory=dict)
    # Number of a leaf's item -> the leaf.
    leaves: dict[int, weakref.ref[engine.Tensor]] = field(default_factory=dict)
    # Number of branches beyond the limit of ops.
    left_out: int = 0

    def forget(self) -> None:
        """Drop ids, which may be reused once the graph is deleted."""
        self.numbers.clear()
        self.positions.clear()

    def record_gradients(self, node: engine.Node, g: Any, grads: Any) -> None:
        """Record that a node got the gradient `g` and passed `grads` on."""
        number = self.numbers.get(id(node))
        if number is None or not node.visible:
            return
        item = self.items[number]
        stats = measure(g)
        item.stats = stats
        item.state = NOTHING if stats is None else stats.state
        shape = getattr(g, "shape", None)
        if shape is not None:
            item.shape = tuple(shape)
        for position, gradient in enumerate(grads):
            found = self.positions.get((id(node), position))
            if found is not None:
                passed = measure(gradient)
                link = self.links[found]
                link.state = NOTHING if passed is None else passed.state
                link.stats = passed

    def settle_states(self, walked: bool = False) -> None:
        """Derive the states of leaves from their links. After a backward (`walked`), unknown states become NOTHING."""
        if walked:
            for item in self.items:
                if item.state == UNKNOWN and item.kind != "leaf":
                    item.state = NOTHING
            for link in self.links:
                if link.state == UNKNOWN:
                    link.state = NOTHING
        brought: dict[int, list[Link]] = {}
        for link in self.links:
            brought.setdefault(link.target, []).append(link)
        for number, item in enumerate(self.items):
            if item.kind != "leaf" or item.state != UNKNOWN:
                continue
            links = brought.get(number, [])
            if len(links) == 1:
                item.stats = links[0].stats
            states = [link.state for link in links]
            item.state = next((s for s in (NAN, FLOWS, ZERO, NOTHING, CUT) if s in states), UNKNOWN)


def take_snapshot(root: Any, limit: int = 20_000) -> GraphSnapshot:
    """The snapshot of the graph behind a node (or of a single leaf), breadth first, with at most `limit` ops."""
    snapshot = GraphSnapshot()
    root = engine.end_of(root)
    if engine.is_tensor(root):
        _add_leaf(snapshot, root)
        return snapshot
    if not engine.is_node(root):
        return snapshot
    _add_op(snapshot, root)
    queue = deque([root])
    ops = 1
    while queue:
        node = queue.popleft()
        number = snapshot.numbers[id(node)]
        arguments = engine.argument_names(node)
        for position, edge in enumerate(node.edges):
            target = engine.end_of(edge)
            argument = arguments[position] if position < len(arguments) else ""
            if target is None:
                if node.cuts is not None and position < len(node.cuts) and engine.has_derivative(node, position):
                    _add_cut(snapshot, number, argument, node.cuts[position])
                continue
            found = snapshot.numbers.get(id(target))
            if found is None:
                if engine.is_tensor(target):
                    found = _add_leaf(snapshot, target)
                    _add_cut_behind(snapshot, found, target)
                elif ops >= limit:
                    snapshot.left_out += 1
                    continue
                else:
                    found = _add_op(snapshot, target)
                    queue.append(target)
                    ops += 1
            snapshot.positions[id(node), position] = len(snapshot.links)
            snapshot.links.append(Link(number, found, argument))
    return snapshot


def _add(snapshot: GraphSnapshot, key: Any, item: Item) -> int:
    snapshot.numbers[id(key)] = len(snapshot.items)
    snapshot.items.append(item)
    return len(snapshot.items) - 1


def _add_op(snapshot: GraphSnapshot, node: engine.Node) -> int:
    row = engine.row_of(node)
    site = node.site if node.site_code is not None else None
    item = Item("op", op_label(node), node.seq, site)
    if row is not None:
        item.row = row
        item.known = {name: value for name, value in known_of(node).items() if _is_small(value)}
    return _add(snapshot, node, item)


def _is_small(value: Any) -> bool:
    """True for numbers, strings and shapes, which formulas need; False for arrays, which must not be kept alive."""
    if isinstance(value, (tuple, list)):
        return len(value) <= 16 and all(map(_is_small, value))
    return value is None or isinstance(value, (int, float, complex, str))


def op_label(node: engine.Node) -> str:
    """The op's name as users know it: `mean` for MeanBackward0; a custom Function's own name."""
    name = type(node).__name__
    if engine.row_of(node) is None:
        return name.removesuffix("Backward")
    short = re.sub(r"Backward\d*$", "", name)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", short).lower() if short != "NotImplemented" else row_name(node)


def _add_leaf(snapshot: GraphSnapshot, leaf: engine.Tensor, state: str = UNKNOWN) -> int:
    number = _add(snapshot, leaf, Item("leaf", "", shape=engine.shape_of(leaf), state=state))
    snapshot.leaves[number] = Reference(leaf)
    return number


def _add_cut(snapshot: GraphSnapshot, consumer: int, argument: str, causes: tuple[Cause, ...]) -> None:
    """Add a cut for an argument without history, unless it is an ordinary constant."""
    for cause in causes:
        answer = describe_cause(cause)
        if cause.kind == "created" or answer is None:
            continue
        number = snapshot.numbers.get(id(cause))
        if number is None:
            frozen = cause.kind == "frozen"
            state = FROZEN if frozen else CUT
            number = _add(snapshot, cause, Item("cut", answer.category, site=cause.site, state=state, detail=answer.text))
            for reference in cause.behind:
                leaf = reference()
                if engine.is_tensor(leaf):
                    behind = snapshot.numbers.get(id(leaf))
                    behind = _add_leaf(snapshot, leaf) if behind is None else behind
                    snapshot.links.append(Link(number, behind, "", CUT))
        snapshot.links.append(Link(consumer, number, argument, snapshot.items[number].state))
        return


def _add_cut_behind(snapshot: GraphSnapshot, number: int, leaf: engine.Tensor) -> None:
    """Add a cut behind a leaf that was made from values copied out of the graph."""
    if engine.causes_of(leaf) and any(cause.behind for cause in engine.causes_of(leaf)):
        _add_cut(snapshot, number, "", engine.causes_of(leaf))


def name_leaves(snapshot: GraphSnapshot, names: dict[int, str]) -> None:
    """Set the names of leaves; `names` is by id."""
    for key, number in snapshot.numbers.items():
        item = snapshot.items[number]
        if item.kind == "leaf" and key in names:
            item.label = names[key]
