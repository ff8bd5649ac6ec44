"""Where the items of a picture stand: in layers, an op above what it was computed from, the loss on top.

Modules are boxes. Each box is laid out by itself with the boxes inside it closed; who draws it pushes things apart when a
box is opened. Nodes are numbered in the order they were made, so a layer is found in one pass, and everything here takes
time in proportion to the number of items and links.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from whygrad.why.picture import Picture

HEIGHT, BETWEEN_LAYERS, BETWEEN_ITEMS = 38.0, 34.0, 18.0
# A leaf that is used more often than this is drawn beside each of its users.
SHARED = 3


@dataclass(slots=True)
class Spot:
    """A thing that has a place: an item, or a box (`box` >= 0)."""

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
    """A module that was called, or (number 0) the whole."""

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
class Layout:
    boxes: list[Box]
    spots: list[Spot] = field(default_factory=list)
    # (spot, spot, number of the picture's link)
    edges: list[tuple[int, int, int]] = field(default_factory=list)


def arrange(picture: Picture, calls: list[Box] | None = None, widths: list[float] | None = None) -> Layout:
    """Lay a picture out. `calls` are the module calls (boxes by first and last sequence number, outer ones first)."""
    layout = Layout([Box("", "", -1, -1, 2**63), *(calls or [])])
    parents = _parents(picture, layout.boxes)
    widths = widths or [text_width(item.label or item.kind) for item in picture.items]
    _place_spots(picture, layout, parents, widths)
    _drop_needless_boxes(layout)
    _stack(picture, layout)
    return layout


def text_width(*lines: str, most: float = 190.0) -> float:
    return min(most, max(58.0, 22 + 7.0 * max(map(len, lines))))


def _parents(picture: Picture, boxes: list[Box]) -> list[int]:
    """The innermost box of each item; of a leaf, the innermost one that has all its users."""
    order = sorted((n for n, item in enumerate(picture.items) if item.kind == "op"), key=lambda n: picture.items[n].seq)
    parents = [0] * len(picture.items)
    by_start = sorted(range(1, len(boxes)), key=lambda b: (boxes[b].first, -boxes[b].last))
    open_boxes, following = [0], 0
    for n in order:
        seq = picture.items[n].seq
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
    for link in reversed(picture.links):  # what hangs below a cut comes after the cut itself
        if picture.items[link.target].kind != "op":
            user = parents[link.source] if picture.items[link.source].kind == "op" else common.get(link.source, 0)
            common[link.target] = _common(boxes, common.get(link.target, user), user)
    for n, box in common.items():
        parents[n] = box
    return parents


def _common(boxes: list[Box], a: int, b: int) -> int:
    while a != b:
        if boxes[a].depth < boxes[b].depth:
            a, b = b, a
        a = boxes[a].parent
    return a


def _place_spots(picture: Picture, layout: Layout, parents: list[int], widths: list[float]) -> None:
    users: dict[int, list[int]] = defaultdict(list)
    for number, link in enumerate(picture.links):
        users[link.target].append(number)
    spot_of: dict[int, int] = {}

    def add(n: int, parent: int) -> int:
        layout.spots.append(Spot(n, -1, parent, picture.items[n].seq, widths[n]))
        return len(layout.spots) - 1

    shared = {n for n, item in enumerate(picture.items) if item.kind == "leaf" and len(users[n]) > SHARED}
    for n in range(len(picture.items)):
        if n not in shared:
            spot_of[n] = add(n, parents[n])
    for number, link in enumerate(picture.links):
        below = add(link.target, parents[link.source]) if link.target in shared else spot_of[link.target]
        layout.edges.append((spot_of.get(link.source, below), below, number))


def _drop_needless_boxes(layout: Layout) -> None:
    """A box with nothing in it, or with a single thing, goes; what it held moves up. The others become spots."""
    boxes = layout.boxes
    held = [0] * len(boxes)
    for spot in layout.spots:
        held[spot.parent] += 1
    order = sorted(range(1, len(boxes)), key=lambda b: -boxes[b].depth)
    gone = set()
    for b in order:
        if held[b] <= 1:
            gone.add(b)
            held[boxes[b].parent] += held[b]
        else:
            held[boxes[b].parent] += 1

    def lasting(b: int) -> int:
        while b in gone:
            b = boxes[b].parent
        return b

    for spot in layout.spots:
        spot.parent = lasting(spot.parent)
    kept = [b for b in range(len(boxes)) if b not in gone]
    renumbered = {b: i for i, b in enumerate(kept)}
    for b in kept[1:]:
        boxes[b].parent = lasting(boxes[b].parent)
    layout.boxes = [boxes[b] for b in kept]
    for box in layout.boxes[1:]:
        box.parent = renumbered[box.parent]
    for spot in layout.spots:
        spot.parent = renumbered[spot.parent]
    newest: dict[int, float] = defaultdict(lambda: -1.0)
    for spot in layout.spots:
        parent = spot.parent
        layout.boxes[parent].count += 1
        newest[parent] = max(newest[parent], spot.seq)
    for i in sorted(range(1, len(layout.boxes)), key=lambda i: -layout.boxes[i].depth):
        box = layout.boxes[i]
        layout.boxes[box.parent].count += box.count
        newest[box.parent] = max(newest[box.parent], newest[i])
        width = text_width(f"+ {box.label} {box.kind}  ", f"{box.count} items", most=250.0)
        layout.spots.append(Spot(-1, i, box.parent, newest[i], width))


def _stack(picture: Picture, layout: Layout) -> None:
    """Layers and coordinates, box by box."""
    spots, boxes = layout.spots, layout.boxes
    spot_of_box = {spot.box: n for n, spot in enumerate(spots) if spot.box >= 0}
    inside: list[list[int]] = [[] for _ in boxes]
    for n, spot in enumerate(spots):
        inside[spot.parent].append(n)
    above: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for a, b, number in layout.edges:
        a, b = _siblings(layout, spot_of_box, a, b)
        if a != b:
            above[b].append((number, a))
    for box, members in enumerate(inside):
        # Users come before what they use: newest first, and leaves and cuts behind all ops.
        members.sort(key=lambda n: -spots[n].seq)
        late = [n for n in members if spots[n].seq < 0]
        members = [n for n in members if spots[n].seq >= 0] + sorted(late, key=lambda n: _kind_rank(picture, spots[n]))
        done: set[int] = set()
        layers: dict[int, list[int]] = defaultdict(list)
        for n in members:
            spots[n].layer = 1 + max((spots[a].layer for _, a in above[n] if a in done), default=-1)
            layers[spots[n].layer].append(n)
            done.add(n)
        for layer in range(len(layers)):
            _place_layer(picture, spots, layers[layer], above, layer)
        width, height = _frame([spots[n] for n in members])
        boxes[box].width, boxes[box].height = width, height


def _kind_rank(picture: Picture, spot: Spot) -> int:
    return 0 if spot.item >= 0 and picture.items[spot.item].kind == "cut" else 1


def _siblings(layout: Layout, spot_of_box: dict[int, int], a: int, b: int) -> tuple[int, int]:
    """The ends of an edge, lifted to where they stand side by side in one box."""
    spots, boxes = layout.spots, layout.boxes

    def depth(n: int) -> int:
        return boxes[spots[n].parent].depth

    while spots[a].parent != spots[b].parent:
        if depth(a) >= depth(b):
            a = spot_of_box[spots[a].parent]
        else:
            b = spot_of_box[spots[b].parent]
    return a, b


def _place_layer(picture: Picture, spots: list[Spot], members: list[int], above: dict[int, list[tuple[int, int]]],
                 layer: int) -> None:
    """Each spot as near as possible to the mean of its users, in that order and without overlaps."""
    wanted: list[tuple[float, int, float, int]] = []
    beside: dict[int, float] = defaultdict(lambda: 12.0)
    for n in sorted(members, key=lambda n: above[n][0] if above[n] else (-1, -1)):
        users = above[n]
        if not users:
            wanted.append((0.0, 0, 1e6, n))
            continue
        centre = sum(spots[a].x for _, a in users) / len(users)
        is_op = spots[n].box >= 0 or picture.items[spots[n].item].kind == "op"
        user = users[0][1]
        if not is_op and spots[user].seq >= 0:  # side by side, to the right of the way that goes on
            centre += beside[user] + spots[n].width / 2
            beside[user] += spots[n].width + BETWEEN_ITEMS
        # A leaf gives way to an op, so that a long chain stays straight.
        wanted.append((centre, users[0][0], 1e6 if is_op else 1.0, n))
    wanted.sort()
    # Blocks of neighbours that touch: [sum of weight * wish, weight, width, members]. Each stands at the mean of its wishes.
    blocks: list[tuple[float, float, float, list[tuple[int, float]]]] = []
    for centre, _, weight, n in wanted:
        width = spots[n].width + BETWEEN_ITEMS
        block = (weight * (centre - width / 2), weight, width, [(n, 0.0)])
        while blocks and blocks[-1][0] / blocks[-1][1] + blocks[-1][2] > block[0] / block[1]:
            wish, total, wide, held = blocks.pop()
            held.extend((m, offset + wide) for m, offset in block[3])
            block = (wish + block[0] - block[1] * wide, total + block[1], wide + block[2], held)
        blocks.append(block)
    for wish, total, _, held in blocks:
        for n, offset in held:
            spots[n].x = wish / total + offset + (spots[n].width + BETWEEN_ITEMS) / 2
            spots[n].y = layer * (HEIGHT + BETWEEN_LAYERS)


def _frame(spots: list[Spot]) -> tuple[float, float]:
    """Move the spots so that the frame begins at 0, and give its size. `x` is then the left side."""
    if not spots:
        return 0.0, 0.0
    for spot in spots:
        spot.x -= spot.width / 2
    left, top = min(spot.x for spot in spots), min(spot.y for spot in spots)
    for spot in spots:
        spot.x -= left
        spot.y -= top
    return max(spot.x + spot.width for spot in spots), max(spot.y + spot.height for spot in spots)
