"""`whygrad.graph(loss)`: a drawing of the graph behind a tensor, as SVG."""

from __future__ import annotations

import html
import math
import os
from typing import Any

from whygrad.base.frames import user_frame
from whygrad.io.atomic import replacing
from whygrad.why import graph_layout, graph_snapshot
from whygrad.why.engine import Node, Tensor, grad_of, gradients_of_leaves, is_tensor, source_of
from whygrad.why.gradient_flow import leaves_from
from whygrad.why.locations import locate
from whygrad.why.variable_names import tensor_names

# state -> (light color, dark color, dashes, label)
STYLES = {
    graph_snapshot.FLOWS: ("#1f6fb2", "#6cb2f0", "", "gradient flows"),
    graph_snapshot.ZERO: ("#b7791f", "#e2b04a", "2 4", "exactly zero"),
    graph_snapshot.NAN: ("#c2255c", "#ff6f9c", "9 3 2 3", "nan or infinite"),
    graph_snapshot.CUT: ("#555b66", "#a9b0bc", "6 5", "cut off"),
    graph_snapshot.FROZEN: ("#2a9d8f", "#63cfc2", "1 3", "frozen"),
    graph_snapshot.ELSEWHERE: ("#6b7fa3", "#8fa3c7", "10 4", "not on this path, but on another one"),
    graph_snapshot.NOTHING: ("#a3a8b0", "#6c737e", "", "no gradient came here"),
    graph_snapshot.UNKNOWN: ("#7b818b", "#8d95a1", "", "not measured"),
}
MARGIN = 24.0


class Drawing:
    """A drawing of a graph, displayed by notebooks; `svg` is its text, `save()` writes it to a file."""

    def __init__(self, svg: str, ops: int) -> None:
        self.svg = svg
        # Number of operations drawn.
        self.ops = ops

    def __repr__(self) -> str:
        return f"<drawing of {self.ops} operations; .save('graph.svg') writes it to a file>"

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        with replacing(os.fspath(path)) as file:
            file.write(self.svg.encode())


def graph(loss: Tensor, *, flow: bool = False, limit: int = 2000) -> Drawing:
    """Draw the graph behind `loss`: the loss on top, the leaves at the bottom; at most `limit` operations.

    `flow=True` computes the gradients once, as `autograd.grad` does, and draws each edge as thick as its gradient is large:
    no `.grad` is written and the graph is kept, but hooks are called. Without it, leaves are colored by their present
    gradient.
    """
    if not is_tensor(loss):
        raise TypeError(f"graph() takes a Tensor, not {type(loss).__name__}")
    root = source_of(loss)
    if root is None:
        raise ValueError("there is no graph behind this tensor: it does not require grad (explain() says why)")
    snapshot = graph_snapshot.take_snapshot(root, limit)
    graph_snapshot.name_leaves(snapshot, tensor_names(user_frame()))
    if flow:
        _record_flow(loss, root, snapshot)
    else:
        _set_leaf_states(root, snapshot)
    snapshot.settle_states(walked=flow)
    snapshot.forget()
    return Drawing(draw(snapshot), sum(item.kind == "op" for item in snapshot.items))


class _GradientRecorder:
    """Takes the place of the watch for one backward, to record its gradients."""

    traces = True

    def __init__(self, snapshot: graph_snapshot.GraphSnapshot) -> None:
        self.snapshot = snapshot

    def ran(self, backward: Any, node: Node, g: Any, edges: Any, grads: Any) -> None:
        self.snapshot.record_gradients(node, g, grads)

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


def _record_flow(loss: Tensor, root: Any, snapshot: graph_snapshot.GraphSnapshot) -> None:
    leaves: dict[Any, Any] = dict.fromkeys(leaves_from([root]))
    gradients_of_leaves(loss, leaves, _GradientRecorder(snapshot))
    for leaf, g in leaves.items():
        number = snapshot.numbers.get(id(leaf))
        if number is not None:
            item = snapshot.items[number]
            item.stats = graph_snapshot.measure(g)
            item.state = graph_snapshot.NOTHING if item.stats is None else item.stats.state


def _set_leaf_states(root: Any, snapshot: graph_snapshot.GraphSnapshot) -> None:
    for leaf in leaves_from([root]):
        number = snapshot.numbers.get(id(leaf))
        if number is not None and grad_of(leaf) is not None:
            stats = snapshot.items[number].stats = graph_snapshot.measure(grad_of(leaf))
            snapshot.items[number].state = graph_snapshot.UNKNOWN if stats is None else stats.state


def item_texts(item: graph_snapshot.Item) -> tuple[str, str]:
    """The two lines of text in an item: its name and its origin."""
    if item.kind == "leaf":
        return item.label or "a leaf", f"leaf {tuple(item.shape or ())}"
    where = locate(item.site)
    if item.kind == "cut":
        return item.label, where.place if where is not None else ""
    return item.label, clipped(where.expression) if where is not None else ""


def clipped(text: str, length: int = 24) -> str:
    return text if len(text) <= length else f"{text[:length - 1]}…"


def describe(item: graph_snapshot.Item) -> list[str]:
    """The lines of an item's tooltip."""
    where = locate(item.site)
    lines = [item.label or "a leaf"]
    if where is not None:
        lines.append(f"{os.path.basename(where.file)}:{where.line}  {where.expression}")
    if item.shape is not None:
        lines.append(f"shape {item.shape}")
    lines.append(STYLES[item.state][3])
    if item.stats is not None:
        stats = item.stats
        lines.append(f"|g| = {stats.norm:.4g}, largest {stats.largest:.4g}, {stats.zeros} of {stats.size} zero")
    if item.detail:
        lines.append(item.detail)
    return lines


def thickness(norm: float | None, low: float, high: float) -> float:
    """The width of an edge, from 1.2 to 8, by the logarithm of the norm."""
    if norm is None or not 0 < norm < math.inf:
        return 1.2
    return 1.2 + 6.8 * (math.log10(norm) - low) / max(high - low, 1.0)


def draw(snapshot: graph_snapshot.GraphSnapshot) -> str:
    """The SVG text of a snapshot, without boxes for modules."""
    texts = [item_texts(item) for item in snapshot.items]
    layout = graph_layout.arrange(snapshot, widths=[graph_layout.text_width(*two) for two in texts])
    norms = [math.log10(link.norm) for link in snapshot.links if link.norm and link.norm < math.inf]
    low, high = (min(norms), max(norms)) if norms else (0.0, 0.0)
    width, height = layout.boxes[0].width + 2 * MARGIN, layout.boxes[0].height + 2 * MARGIN + 34
    parts = [_edge(snapshot, layout, *edge, low, high) for edge in layout.edges]
    parts += [_item(snapshot.items[placed.item], texts[placed.item], placed) for placed in layout.items]
    parts.append(_legend(snapshot, height))
    if snapshot.left_out:
        parts.append(f'<text class="note" x="{MARGIN}" y="16">the graph goes on: {snapshot.left_out} further branches are not '
                     "drawn</text>")
    width = max(width, 120 + 130 * len({item.state for item in snapshot.items}))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="graph of {len(snapshot.items)} items" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}">{_style()}'
            f'<rect class="page" width="100%" height="100%" rx="8"/>{"".join(parts)}</svg>\n')


def _style() -> str:
    def colours(which: int) -> str:
        return "".join(f".{state}{{--c:{style[which]}}}" for state, style in STYLES.items())

    return ("<style>"
            "svg{--page:#fff;--ink:#1c2128;--soft:#636b76;--item:#f6f7f9;font-family:system-ui,sans-serif}"
            + colours(0)
            + "@media(prefers-color-scheme:dark){svg{--page:#15181d;--ink:#e6e9ee;--soft:#98a1ad;--item:#20242b}"
            + colours(1) + "}"
            ".page{fill:var(--page)}.item rect{fill:var(--item);stroke:var(--c);stroke-width:1.5}"
            ".leaf rect{stroke-width:2}.edge{fill:none;stroke:var(--c);stroke-linecap:round;opacity:.75}"
            "text{fill:var(--ink);font-size:12.5px;text-anchor:middle}"
            ".sub,.note{fill:var(--soft);font-size:10px;font-family:ui-monospace,monospace}.note,.key{text-anchor:start}"
            "</style>")


def _edge(snapshot: graph_snapshot.GraphSnapshot, layout: graph_layout.GraphLayout, a: int, b: int, number: int, low: float,
          high: float) -> str:
    link, upper, lower = snapshot.links[number], layout.items[a], layout.items[b]
    x1, y1 = upper.x + upper.width / 2 + MARGIN, upper.y + upper.height + MARGIN
    x2, y2 = lower.x + lower.width / 2 + MARGIN, lower.y + MARGIN
    # An edge that skips layers bends to the left of the items between.
    bow = -(upper.width / 2 + 26) if lower.layer - upper.layer > 1 and abs(x1 - x2) < 60 else 0.0
    middle = (y1 + y2) / 2
    dashes = STYLES[link.state][2]
    return (f'<path class="edge {link.state}" d="M{x1:.1f} {y1:.1f}C{x1 + bow:.1f} {middle:.1f} {x2 + bow:.1f} {middle:.1f} '
            f'{x2:.1f} {y2:.1f}" stroke-width="{thickness(link.norm, low, high):.1f}"'
            + (f' stroke-dasharray="{dashes}"' if dashes else "") + "/>")


def _item(item: graph_snapshot.Item, texts: tuple[str, str], placed: graph_layout.PlacedItem) -> str:
    x, y, middle = placed.x + MARGIN, placed.y + MARGIN, placed.x + placed.width / 2 + MARGIN
    title = html.escape("\n".join(describe(item)))
    radius = placed.height / 2 if item.kind == "leaf" else 5
    # The end of a parameter's path is the most specific, so a long name is cut at its start.
    name = clipped(texts[0]) if item.kind != "leaf" else clipped(texts[0][::-1])[::-1]
    first, second = html.escape(name), html.escape(texts[1])
    return (f'<g class="item {item.kind} {item.state}"><title>{title}</title><rect x="{x:.1f}" y="{y:.1f}" '
            f'width="{placed.width:.1f}" height="{placed.height:.1f}" rx="{radius:.0f}"/>'
            f'<text x="{middle:.1f}" y="{y + (17 if second else 23):.1f}">{first}</text>'
            f'<text class="sub" x="{middle:.1f}" y="{y + 30:.1f}">{second}</text></g>')


def _legend(snapshot: graph_snapshot.GraphSnapshot, height: float) -> str:
    shown = {item.state for item in snapshot.items} | {link.state for link in snapshot.links}
    parts = []
    for number, state in enumerate(state for state in STYLES if state in shown):
        x, y = MARGIN + 140 * number, height - 18
        parts.append(f'<path class="edge {state}" d="M{x} {y - 4}h22" stroke-width="3" stroke-dasharray="{STYLES[state][2]}"/>'
                     f'<text class="note key" x="{x + 28}" y="{y}">{STYLES[state][3]}</text>')
    return "".join(parts)
