"""Layout of a graph for drawing: items in layers, an op above its inputs, the loss on top.

Module calls are boxes. Each box is laid out with its inner boxes closed; report.js moves items apart when a box is opened.
Sequence numbers are a topological order, so layers are found in one pass and the time is linear in items and links.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from whygrad.why.graph_snapshot import GraphSnapshot

HEIGHT, BETWEEN_LAYERS, BETWEEN_ITEMS = 38.0, 34.0, 18.0
# A leaf with more users than this is drawn once for each user.
MAX_USERS = 3


@dataclass(slots=True)
class PlacedItem:
    """An item of the snapshot, or a box (`box` >= 0), with its coordinates."""

    item: int
    box: int
    parent: int
    seq: float
    width: float
    height: float = HEIGHT
    layer: int = 0
    x: float = 0.0
    y: float = 0.0


@dataclass(slots=True)
class Box:
    """A module call: its nodes have sequence numbers from `first` to `last`. Box 0 is the whole graph."""

    label: str
    kind: str
    parent: int
    first: int
    last: int
    count: int = 0
    depth: int = 0
    width: float = 0.0
    height: float = 0.0


@dataclass
class GraphLayout:
    boxes: list[Box]
    items: list[PlacedItem] = field(default_factory=list)
    # (upper item, lower item, number of the snapshot's link)
    edges: list[tuple[int, int, int]] = field(default_factory=list)


def arrange(snapshot: GraphSnapshot, calls: list[Box] | None = None, widths: list[float] | None = None) -> GraphLayout:
    """Lay a snapshot out. `calls` are the module calls, outer ones first."""
    layout = GraphLayout([Box("", "", -1, -1, 2**63), *(calls or [])])
    parents = _parents(snapshot, layout.boxes)
    widths = widths or [text_width(item.label or item.kind) for item in snapshot.items]
    _place_items(snapshot, layout, parents, widths)
    _drop_needless_boxes(layout)
    _assign_layers(snapshot, layout)
    return layout


def text_width(*lines: str, most: float = 190.0) -> float:
    return min(most, max(58.0, 22 + 7.0 * max(map(len, lines))))


def _parents(snapshot: GraphSnapshot, boxes: list[Box]) -> list[int]:
    """The innermost box of each item; for a leaf, the innermost box that contains all its users."""
    order = sorted((n for n, item in enumerate(snapshot.items) if item.kind == "op"), key=lambda n: snapshot.items[n].seq)
    parents = [0] * len(snapshot.items)
    by_start = sorted(range(1, len(boxes)), key=lambda b: (boxes[b].first, -boxes[b].last))
    open_boxes, following = [0], 0
    for n in order:
        seq = snapshot.items[n].seq
        while following < len(by_start) and boxes[by_start[following]].first <= seq:
            while boxes[open_boxes[-1]].last <= boxes[by_start[following]].first:
                open_boxes.pop()
            boxes[by_start[following]].parent = open_boxes[-1]
            boxes[by_start[following]].depth = boxes[open_boxes[-1]].depth + 1
            open_boxes.append(by_start[following])
            following += 1
        while boxes[open_boxes[-1]].last <= seq:
            open_boxes.pop()
        parents[n] = open_boxes[-1]
    common: dict[int, int] = {}
    for link in reversed(snapshot.links):  # reversed: a link to a cut comes after the links from the cut
        if snapshot.items[link.target].kind != "op":
            user = parents[link.source] if snapshot.items[link.source].kind == "op" else common.get(link.source, 0)
            common[link.target] = _common_box(boxes, common.get(link.target, user), user)
    for n, box in common.items():
        parents[n] = box
    return parents


def _common_box(boxes: list[Box], a: int, b: int) -> int:
    while a != b:
        if boxes[a].depth < boxes[b].depth:
            a, b = b, a
        a = boxes[a].parent
    return a


def _place_items(snapshot: GraphSnapshot, layout: GraphLayout, parents: list[int], widths: list[float]) -> None:
    users: dict[int, list[int]] = defaultdict(list)
    for number, link in enumerate(snapshot.links):
        users[link.target].append(number)
    placed_number: dict[int, int] = {}

    def add(n: int, parent: int) -> int:
        layout.items.append(PlacedItem(n, -1, parent, snapshot.items[n].seq, widths[n]))
        return len(layout.items) - 1

    shared = {n for n, item in enumerate(snapshot.items) if item.kind == "leaf" and len(users[n]) > MAX_USERS}
    for n in range(len(snapshot.items)):
        if n not in shared:
            placed_number[n] = add(n, parents[n])
    for number, link in enumerate(snapshot.links):
        below = add(link.target, parents[link.source]) if link.target in shared else placed_number[link.target]
        layout.edges.append((placed_number.get(link.source, below), below, number))


def _drop_needless_boxes(layout: GraphLayout) -> None:
    """Remove boxes with at most one member, which moves to the parent box. Remaining boxes become placed items."""
    boxes = layout.boxes
    held = [0] * len(boxes)
    for placed in layout.items:
        held[placed.parent] += 1
    order = sorted(range(1, len(boxes)), key=lambda b: -boxes[b].depth)
    gone = set()
    for b in order:
        if held[b] <= 1:
            gone.add(b)
            held[boxes[b].parent] += held[b]
        else:
            held[boxes[b].parent] += 1

    def kept_ancestor(b: int) -> int:
        while b in gone:
            b = boxes[b].parent
        return b

    for placed in layout.items:
        placed.parent = kept_ancestor(placed.parent)
    kept = [b for b in range(len(boxes)) if b not in gone]
    renumbered = {b: i for i, b in enumerate(kept)}
    for b in kept[1:]:
        boxes[b].parent = kept_ancestor(boxes[b].parent)
    layout.boxes = [boxes[b] for b in kept]
    for box in layout.boxes[1:]:
        box.parent = renumbered[box.parent]
    for placed in layout.items:
        placed.parent = renumbered[placed.parent]
    newest: dict[int, float] = defaultdict(lambda: -1.0)
    for placed in layout.items:
        parent = placed.parent
        layout.boxes[parent].count += 1
        newest[parent] = max(newest[parent], placed.seq)
    for i in sorted(range(1, len(layout.boxes)), key=lambda i: -layout.boxes[i].depth):
        box = layout.boxes[i]
        layout.boxes[box.parent].count += box.count
        newest[box.parent] = max(newest[box.parent], newest[i])
        width = text_width(f"+ {box.label} {box.kind}  ", f"{box.count} items", most=250.0)
        layout.items.append(PlacedItem(-1, i, box.parent, newest[i], width))


def _assign_layers(snapshot: GraphSnapshot, layout: GraphLayout) -> None:
    """Assign layers and coordinates, box by box."""
    items, boxes = layout.items, layout.boxes
    placed_box = {placed.box: n for n, placed in enumerate(items) if placed.box >= 0}
    inside: list[list[int]] = [[] for _ in boxes]
    for n, placed in enumerate(items):
        inside[placed.parent].append(n)
    above: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for a, b, number in layout.edges:
        a, b = _siblings(layout, placed_box, a, b)
        if a != b:
            above[b].append((number, a))
    for box, members in enumerate(inside):
        # Users come before their inputs: ops by descending sequence number, then cuts, then leaves.
        members.sort(key=lambda n: -items[n].seq)
        late = [n for n in members if items[n].seq < 0]
        late.sort(key=lambda n: items[n].item < 0 or snapshot.items[items[n].item].kind != "cut")
        members = [n for n in members if items[n].seq >= 0] + late
        done: set[int] = set()
        layers: dict[int, list[int]] = defaultdict(list)
        for n in members:
            items[n].layer = 1 + max((items[a].layer for _, a in above[n] if a in done), default=-1)
            layers[items[n].layer].append(n)
            done.add(n)
        for layer in range(len(layers)):
            _place_layer(snapshot, items, layers[layer], above, layer)
        width, height = _move_to_origin([items[n] for n in members])
        boxes[box].width, boxes[box].height = width, height


def _siblings(layout: GraphLayout, placed_box: dict[int, int], a: int, b: int) -> tuple[int, int]:
    """The ends of an edge, each replaced by the enclosing box that shares a parent with the other."""
    items, boxes = layout.items, layout.boxes

    def depth(n: int) -> int:
        return boxes[items[n].parent].depth

    while items[a].parent != items[b].parent:
        if depth(a) >= depth(b):
            a = placed_box[items[a].parent]
        else:
            b = placed_box[items[b].parent]
    return a, b


def _place_layer(snapshot: GraphSnapshot, items: list[PlacedItem], members: list[int], above: dict[int, list[tuple[int, int]]],
                 layer: int) -> None:
    """Place each item of a layer as near as possible to the mean of its users, without overlaps."""
    wanted: list[tuple[float, int, float, int]] = []
    beside: dict[int, float] = defaultdict(lambda: 12.0)
    for n in sorted(members, key=lambda n: above[n][0] if above[n] else (-1, -1)):
        users = above[n]
        if not users:
            wanted.append((0.0, 0, 1e6, n))
            continue
        centre = sum(items[a].x for _, a in users) / len(users)
        is_op = items[n].box >= 0 or snapshot.items[items[n].item].kind == "op"
        user = users[0][1]
        if not is_op and items[user].seq >= 0:  # leaves are placed side by side, to the right of their user
            centre += beside[user] + items[n].width / 2
            beside[user] += items[n].width + BETWEEN_ITEMS
        # Ops weigh more than leaves, so that a long chain stays straight.
        wanted.append((centre, users[0][0], 1e6 if is_op else 1.0, n))
    wanted.sort()
    # Blocks of adjacent items: (sum of weight * wanted position, weight, width, members), each placed at its weighted mean.
    blocks: list[tuple[float, float, float, list[tuple[int, float]]]] = []
    for centre, _, weight, n in wanted:
        width = items[n].width + BETWEEN_ITEMS
        block = (weight * (centre - width / 2), weight, width, [(n, 0.0)])
        while blocks and blocks[-1][0] / blocks[-1][1] + blocks[-1][2] > block[0] / block[1]:
            wish, total, wide, held = blocks.pop()
            held.extend((m, offset + wide) for m, offset in block[3])
            block = (wish + block[0] - block[1] * wide, total + block[1], wide + block[2], held)
        blocks.append(block)
    for wish, total, _, held in blocks:
        for n, offset in held:
            items[n].x = wish / total + offset + (items[n].width + BETWEEN_ITEMS) / 2
            items[n].y = layer * (HEIGHT + BETWEEN_LAYERS)


def _move_to_origin(items: list[PlacedItem]) -> tuple[float, float]:
    """Move the items so that their bounding box starts at 0, and return its size. `x` becomes the left side."""
    if not items:
        return 0.0, 0.0
    for placed in items:
        placed.x -= placed.width / 2
    left, top = min(placed.x for placed in items), min(placed.y for placed in items)
    for placed in items:
        placed.x -= left
        placed.y -= top
    return max(placed.x + placed.width for placed in items), max(placed.y + placed.height for placed in items)
