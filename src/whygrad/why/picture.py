"""A picture of a graph: plain data, taken while the graph is alive, that keeps none of it alive.

Items are ops, leaves, and the places where a path is cut off; an edge leads from an op to one of its inputs, the way the
gradient goes. After a backward that was watched they carry what is known of the gradient that passed.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from whygrad.core.node import Node, row_node
from whygrad.core.tensor import Tensor
from whygrad.why.causes import told
from whygrad.why.flow import row_name
from whygrad.why.formulas import known_of
from whygrad.why.record import Cause, Site

# What became of the gradient at an item or on an edge.
UNKNOWN, FLOWS, ZERO, NAN, NOTHING, CUT, FROZEN = "unknown", "flows", "zero", "nan", "nothing", "cut", "frozen"


class Stats(NamedTuple):
    """Of one gradient, taken over all its elements."""

    norm: float
    largest: float
    zeros: int
    bad: int
    size: int

    @property
    def state(self) -> str:
        return NAN if self.bad else ZERO if self.zeros == self.size else FLOWS


def measure(g: Any) -> Stats | None:
    """Look at a gradient: an array, a Tensor, or a list of them with gaps."""
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
        # Scaled, so that the squares of tiny and of huge numbers count as well.
        norm = largest * float(np.linalg.norm(sizes / sizes.dtype.type(largest))) if largest else 0.0
        return Stats(norm, largest, int(array.size - np.count_nonzero(array)), 0, array.size)
    bad = int(array.size - np.count_nonzero(np.isfinite(array)))
    return Stats(largest, largest, int(array.size - np.count_nonzero(array)), bad, array.size)


@dataclass(slots=True)
class Item:
    """An op (`row` set), a leaf, or a cut."""

    kind: str  # "op", "leaf" or "cut"
    label: str
    # The sequence number of the node; leaves and cuts come last.
    seq: int = -1
    site: Site | None = None
    shape: tuple[int, ...] | None = None
    state: str = UNKNOWN
    stats: Stats | None = None
    # What the op's formula is written from.
    row: Any = None
    known: dict[str, Any] | None = None
    detail: str = ""


@dataclass(slots=True)
class Link:
    """From an op to what one of its arguments came from."""

    source: int
    target: int
    argument: str
    state: str = UNKNOWN
    stats: Stats | None = None

    @property
    def norm(self) -> float | None:
        return None if self.stats is None else self.stats.norm


@dataclass
class Picture:
    items: list[Item] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    # id of a node, leaf or cause -> number of its item; good only while the graph is alive
    numbers: dict[int, int] = field(default_factory=dict)
    # (id of a node, position of the argument) -> number of its link
    positions: dict[tuple[int, int], int] = field(default_factory=dict)
    # How many further ops there are that were left out.
    left_out: int = 0

    def forget(self) -> None:
        """The graph may go: drop what only makes sense together with it."""
        self.numbers.clear()
        self.positions.clear()

    def saw(self, node: Node, g: Any, grads: Any) -> None:
        """The walk came to a node with gradient `g` and goes on with `grads`."""
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

    def settle(self, walked: bool = False) -> None:
        """Colour the leaves by what their links brought. After a walk, what no gradient came to says so."""
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


def take(root: Any, limit: int = 20_000) -> Picture:
    """The picture of the graph behind a node (or of a lone leaf), nearest to the root first."""
    picture = Picture()
    root, _ = row_node(root)
    if isinstance(root, Tensor):
        _add_leaf(picture, root)
        return picture
    if not isinstance(root, Node):
        return picture
    _add_op(picture, root)
    queue = deque([root])
    ops = 1
    while queue:
        node = queue.popleft()
        number = picture.numbers[id(node)]
        arguments = _arguments(node)
        for position, edge in enumerate(node.edges):
            target, _ = row_node(edge)
            argument = arguments[position] if position < len(arguments) else ""
            if target is None:
                if node.cuts is not None and position < len(node.cuts) and _has_derivative(node, position):
                    _add_cut(picture, number, argument, node.cuts[position])
                continue
            found = picture.numbers.get(id(target))
            if found is None:
                if isinstance(target, Tensor):
                    found = _add_leaf(picture, target)
                    _add_cut_behind(picture, found, target)
                elif ops >= limit:
                    picture.left_out += 1
                    continue
                else:
                    found = _add_op(picture, target)
                    queue.append(target)
                    ops += 1
            picture.positions[id(node), position] = len(picture.links)
            picture.links.append(Link(number, found, argument))
    return picture


def _has_derivative(node: Node, position: int) -> bool:
    """False for a mask or an index, through which no gradient would pass anyway."""
    layout = getattr(type(node), "layout", None)
    return layout is None or layout.row.variadic or layout.row.inputs[position] in layout.rules


def _arguments(node: Node) -> list[str]:
    layout = getattr(type(node), "layout", None)
    if layout is None:
        return []
    inputs: tuple[str, ...] = layout.row.inputs
    return [f"{inputs[0]}[{i}]" for i in range(len(node.edges))] if layout.row.variadic else list(inputs)


def _add(picture: Picture, key: Any, item: Item) -> int:
    picture.numbers[id(key)] = len(picture.items)
    picture.items.append(item)
    return len(picture.items) - 1


def _add_op(picture: Picture, node: Node) -> int:
    layout = getattr(type(node), "layout", None)
    site = node.site if node.site_code is not None else None
    item = Item("op", op_label(node), node.seq, site)
    if layout is not None:
        item.row = layout.row
        item.known = {name: value for name, value in known_of(node).items() if _is_small(value)}
    return _add(picture, node, item)


def _is_small(value: Any) -> bool:
    """Worth keeping for a formula: a number, a word, a shape; not an array that would be kept alive."""
    if isinstance(value, (tuple, list)):
        return len(value) <= 16 and all(map(_is_small, value))
    return value is None or isinstance(value, (int, float, complex, str))


def op_label(node: Node) -> str:
    """The op's name as its users know it: `mean` of MeanBackward0; of a custom Function, the Function's own."""
    name = type(node).__name__
    if not hasattr(type(node), "layout"):
        return name.removesuffix("Backward")
    short = re.sub(r"Backward\d*$", "", name)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", short).lower() if short != "NotImplemented" else row_name(node)


def _add_leaf(picture: Picture, leaf: Tensor, state: str = UNKNOWN) -> int:
    return _add(picture, leaf, Item("leaf", "", shape=leaf._array.shape, state=state))


def _add_cut(picture: Picture, consumer: int, argument: str, causes: tuple[Cause, ...]) -> None:
    """An argument without history: drawn if something cut it off, not if it is an ordinary constant."""
    for cause in causes:
        answer = told(cause)
        if cause.kind == "created" or answer is None:
            continue
        number = picture.numbers.get(id(cause))
        if number is None:
            frozen = cause.kind == "frozen"
            state = FROZEN if frozen else CUT
            number = _add(picture, cause, Item("cut", answer.category, site=cause.site, state=state, detail=answer.text))
            for reference in cause.behind:
                leaf = reference()
                if isinstance(leaf, Tensor):
                    behind = picture.numbers.get(id(leaf))
                    behind = _add_leaf(picture, leaf) if behind is None else behind
                    picture.links.append(Link(number, behind, "", CUT))
        picture.links.append(Link(consumer, number, argument, picture.items[number].state))
        return


def _add_cut_behind(picture: Picture, number: int, leaf: Tensor) -> None:
    """A leaf that was made from values copied out of the graph is a cut as well."""
    if leaf._cause and any(cause.behind for cause in leaf._cause):
        _add_cut(picture, number, "", leaf._cause)


def name_leaves(picture: Picture, names: dict[int, str]) -> None:
    """Give leaves their names, by id."""
    for key, number in picture.numbers.items():
        item = picture.items[number]
        if item.kind == "leaf" and key in names:
            item.label = names[key]
