"""`whygrad run --html FILE`: one self-contained page with the answers, the source and a drawing of the graph.

Text is written here, escaped; report.js draws the graph from data that is embedded as JSON.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whygrad.backends import formula
from whygrad.io.atomic import replacing
from whygrad.why import graph_layout
from whygrad.why.answers import Answer
from whygrad.why.graph_snapshot import GraphSnapshot, Item, Stats
from whygrad.why.html_watch import DrawnBackward
from whygrad.why.locations import SourceLocation, locate
from whygrad.why.source_html import Mark, lines_of, rendered
from whygrad.why.svg import STYLES, clipped, item_texts

STATES = list(STYLES)
MAX_LEAVES = 500


def write(path: str, answers: Sequence[Answer], watch: Any = None, script: str | None = None, ended: str = "") -> None:
    text = page(answers, watch, script, ended)
    with replacing(path) as file:
        file.write(text.encode("utf-8", "replace"))


def page(answers: Sequence[Answer], watch: Any = None, script: str | None = None, ended: str = "") -> str:
    """The whole page."""
    backwards: list[DrawnBackward] = watch.drawn_backwards(answers) if watch is not None else []
    data = {"states": [[name, style[3]] for name, style in STYLES.items()],
            "pictures": [_graph_data(backward, watch) for backward in backwards],
            "answers": _where_answers_are_drawn(answers, watch, backwards)}
    parts = Path(__file__).parent
    style, code = (parts / "report.css").read_text("utf-8"), (parts / "report.js").read_text("utf-8")
    name = os.path.basename(script) if script else "program"
    return "\n".join([
        "<!doctype html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
        # Nothing is fetched, and no script runs but the one below.
        ("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
         f"style-src 'unsafe-inline'; script-src '{_digest(code)}'\">"),
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>whygrad: {html.escape(name)}</title>", f"<style>{style}</style>", "</head>", "<body>",
        _header(name, answers, ended), "<main>", _answers(answers, script), '<div id="right">',
        _sources(answers, script), _graph(backwards, watch), "</div>", "</main>",
        f'<script type="application/json" id="data">{embedded_json(data)}</script>', f"<script>{code}</script>", "</body>",
        "</html>", ""])


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def embedded_json(data: Any) -> str:
    """JSON that is safe inside a script element."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _prose(text: str) -> str:
    """Escaped text with `code` in code elements."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _header(name: str, answers: Sequence[Answer], ended: str) -> str:
    count = len(answers)
    verdict = "nothing to explain" if not count else "1 thing to explain" if count == 1 else f"{count} things to explain"
    how = f'<span class="ended" title="{html.escape(ended)}">{html.escape(ended)}</span>' if ended else ""
    return (f'<header><span class="brand">whygrad</span><h1>{html.escape(name)}</h1>{how}'
            f'<span class="verdict{" quiet" if not count else ""}">{verdict}</span></header>')


def _short_location(location: SourceLocation) -> str:
    inside = f" in {location.function}" if location.function not in ("<module>", "") else ""
    return f"{os.path.basename(location.file)}:{location.line}{inside}"


def _files(answers: Sequence[Answer], script: str | None) -> list[str]:
    found = [] if script is None else [script]
    for answer in answers:
        found += [answer.location.file, *(cause.file for cause in answer.explanation.causes)]
    return list(dict.fromkeys(found))


def _answers(answers: Sequence[Answer], script: str | None) -> str:
    files = _files(answers, script)
    if not answers:
        return ('<section id="answers" aria-label="Answers"><p class="empty">No gradient of this program is surprising: every '
                "<code>.grad</code> it looked at is what one would expect.</p></section>")
    return ('<section id="answers" aria-label="Answers"><ol>'
            + "".join(_answer(number, answer, files) for number, answer in enumerate(answers)) + "</ol></section>")


def _answer(number: int, answer: Answer, files: list[str]) -> str:
    explanation = answer.explanation
    question = answer.location.expression or answer.location.source_line.strip()
    parts = [f'<li class="answer" id="answer-{number + 1}">',
             (f'<button type="button" class="pick" data-answer="{number}" aria-pressed="false">'
             f'<span class="ordinal">{number + 1}</span><code>{html.escape(clipped(question, 120))}</code>'
             f'<span class="where">{html.escape(_short_location(answer.location))}</span></button>'),
             (f'<p class="symptom">{_prose(explanation.headline)} '
              f'<span class="category">{html.escape(explanation.category)}</span></p>'),
             f"<p>{_prose(explanation.text)}</p>"]
    if explanation.causes:
        parts.append('<ul class="causes">' + "".join(
            f'<li><a href="#f{files.index(cause.file)}-{cause.line}">{html.escape(_short_location(cause))}</a> '
            f"<code>{html.escape(clipped(cause.expression or cause.source_line.strip(), 160))}</code></li>"
            for cause in explanation.causes) + "</ul>")
    if explanation.path:
        more = " → …" if len(explanation.path) > 12 else ""
        parts.append(f'<p class="path">{html.escape(" → ".join(explanation.path[:12]))}{more}</p>')
    if explanation.fix:
        parts.append(f'<p class="fix"><b>Fix</b> {_prose(explanation.fix)}</p>')
    edit = explanation.edit
    if edit is not None:
        shown = "\n".join(f"<span>{what}</span>\n{html.escape(new)}" for what, new in edit.changes())
        parts.append(f'<pre class="edit">{shown}</pre>')
    return "".join([*parts, "</li>"])


def _sources(answers: Sequence[Answer], script: str | None) -> str:
    parts = []
    for index, file in enumerate(_files(answers, script)):
        marks = [Mark(location, number, role) for number, answer in enumerate(answers)
                 for role, locations in (("read", [answer.location]), ("cause", answer.explanation.causes))
                 for location in locations if location.file == file]
        lines = lines_of(file)
        body = rendered(lines, marks, f"f{index}") if lines else '<p class="empty">The source is not to be had.</p>'
        parts.append(f'<h2 title="{html.escape(file, quote=True)}">{html.escape(os.path.basename(file))}</h2>'
                     f'<div class="file">{body}</div>')
    return f'<section id="source" aria-label="Source" tabindex="0">{"".join(parts)}</section>'


def _graph(backwards: list[DrawnBackward], watch: Any) -> str:
    if not backwards:
        return ('<section id="graph" aria-label="Graph"><p class="empty">No backward walked a graph, so there is nothing to '
                "draw.</p></section>")
    titles = [html.escape(_title(backward, watch)) for backward in backwards]
    options = "".join(f'<option value="{i}">{title}</option>' for i, title in enumerate(titles))
    tables = "".join(_leaf_table(i, backward) for i, backward in enumerate(backwards))
    return f"""<section id="graph" aria-label="Graph">
<div class="tools"><h2>Gradient flow</h2>
<select id="which" aria-label="Which backward">{options}</select>
<input id="find" type="search" placeholder="find an op or a leaf" aria-label="Find in the graph">
<span class="buttons"><button type="button" data-do="in" title="Zoom in (+)" aria-label="Zoom in">+</button>
<button type="button" data-do="out" title="Zoom out (-)" aria-label="Zoom out">&minus;</button>
<button type="button" data-do="fit" title="Show everything (0)">fit</button>
<button type="button" data-do="open">open all</button><button type="button" data-do="close">close all</button>
<button type="button" data-do="large" aria-pressed="false">enlarge</button></span></div>
<p id="note" class="note"></p>
<div id="stage"><canvas id="canvas" tabindex="0" role="application" aria-describedby="keys" aria-label="Drawing of the graph">
</canvas><canvas id="map" aria-hidden="true"></canvas><p id="legend"></p><div id="tip" role="tooltip" hidden></div></div>
<p id="detail" aria-live="polite"></p>
<details><summary>How to read it, and keys</summary><p id="keys">The loss is on top and its gradient flows down; the thicker a
line, the larger the gradient. Drag to pan, wheel to zoom, click a box to open or close it. On the keyboard: arrows go from item
to item, Enter opens or closes a box, + and - zoom, 0 shows everything, Escape clears.</p></details>
<details id="leaves"><summary>Leaves as a table</summary>{tables}</details>
<details id="list"><summary>Operations as a table</summary><div id="table"></div></details>
</section>"""


def _title(backward: DrawnBackward, watch: Any) -> str:
    where = backward.location
    total = watch.counted(backward) if watch is not None else 1
    which = f", pass {backward.number} of {total}" if total > 1 else ""
    return "backward" if where is None else f"line {where.line}: {clipped(where.expression, 40) or 'backward'}{which}"


def _leaf_table(index: int, backward: DrawnBackward) -> str:
    leaves = [item for item in backward.snapshot.items if item.kind == "leaf"]
    rows = "".join(
        f'<tr><td>{html.escape(item.label or "a leaf")}</td><td>{html.escape(str(tuple(item.shape or ())))}</td>'
        f'<td class="{item.state}">{STYLES[item.state][3]}</td>'
        f'<td>{"" if item.stats is None else format(item.stats.norm, ".4g")}</td></tr>' for item in leaves[:MAX_LEAVES])
    more = f"<caption>the first {MAX_LEAVES} of {len(leaves)} leaves</caption>" if len(leaves) > MAX_LEAVES else ""
    return (f'<table data-picture="{index}">{more}<thead><tr><th scope="col">leaf</th><th scope="col">shape</th>'
            f'<th scope="col">gradient</th><th scope="col">norm</th></tr></thead><tbody>{rows}</tbody></table>')


class InternedValues:
    """A list without duplicates; values are referred to by number."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, value: Any) -> int:
        key = json.dumps(value)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.values)
            self.values.append(value)
        return found


def _graph_data(backward: DrawnBackward, watch: Any) -> dict[str, Any]:
    snapshot = backward.snapshot
    texts = [item_texts(item) for item in snapshot.items]
    layout = graph_layout.arrange(snapshot, backward.calls, [graph_layout.text_width(clipped(a), b) for a, b in texts])
    locations, formulas = InternedValues(), InternedValues()
    written: dict[tuple[str, str], list[str]] = {}
    items = [[item.kind, item.label or "a leaf", second, STATES.index(item.state), _location_number(locations, item),
              formulas.number(_formula(item, written)), None if item.shape is None else list(item.shape), _stats(item.stats),
              item.detail]
             for item, (_, second) in zip(snapshot.items, texts, strict=True)]
    # A leaf that is drawn several times has several entries with the same item.
    placed = [[p.item, p.box, p.parent, p.layer, round(p.x, 1), round(p.y, 1), round(p.width, 1)] for p in layout.items]
    edges = [[a, b, STATES.index(snapshot.links[n].state), _number(snapshot.links[n].norm), snapshot.links[n].argument]
             for a, b, n in layout.edges]
    boxes = [[b.label, b.kind, b.parent, round(b.width, 1), round(b.height, 1), b.count] for b in layout.boxes]
    note = ""
    if snapshot.left_out:
        note = (f"This graph is large: the {sum(i.kind == 'op' for i in snapshot.items):,} operations nearest to the loss are "
                f"drawn, and {snapshot.left_out:,} branches that lead on from them are left out.")
    return {"title": _title(backward, watch), "note": note, "height": graph_layout.HEIGHT, "items": items, "spots": placed,
            "edges": edges, "boxes": boxes, "places": locations.values, "formulas": formulas.values}


def _location_number(locations: InternedValues, item: Item) -> int:
    where = locate(item.site)
    return locations.number(None if where is None else [os.path.basename(where.file), where.line, clipped(where.expression, 300)])


def _formula(item: Item, cache: dict[tuple[str, str], list[str]]) -> list[str]:
    if item.row is None:
        return []
    known = dict(item.known or {})
    if item.shape is not None:
        known.setdefault("g_shape", item.shape)
    key = item.row.name, repr(known)
    if key not in cache:
        cache[key] = [f"d {item.row.name} / d {argument} = {clipped(formula.write(item.row, argument, known), 300)}"
                      for argument in item.row.inputs if not formula.write(item.row, argument).startswith("none: ")]
    return cache[key]


def _stats(stats: Stats | None) -> Any:
    return None if stats is None else [_number(stats.norm), _number(stats.largest), stats.zeros, stats.bad, stats.size]


def _number(x: float | None) -> Any:
    """JSON has no nan and no infinity."""
    if x is None or math.isfinite(x):
        return None if x is None else float(f"{x:.5g}")
    return str(x)


def _where_answers_are_drawn(answers: Sequence[Answer], watch: Any, backwards: list[DrawnBackward]) -> list[Any]:
    """For each answer [number of its backward, items of its path], or None."""
    if watch is None:
        return [None] * len(answers)
    found: list[Any] = []
    for answer in answers:
        backward, about = watch.snapshot_for(answer)
        found.append([backwards.index(backward), path_of(backward.snapshot, answer, about)] if backward in backwards else None)
    return found


def path_of(snapshot: GraphSnapshot, answer: Answer, about: int | None) -> list[int]:
    """The items to highlight for an answer: from the tensor or the cause up to the loss."""
    causes = {(cause.file, cause.line, cause.column) for cause in answer.explanation.causes}
    start = []
    for number, item in enumerate(snapshot.items):
        where = locate(item.site) if item.site is not None else None
        if where is not None and (where.file, where.line, where.column) in causes:
            start.append(number)
    if about is not None:
        start.append(about)
    above: dict[int, list[int]] = {}
    for link in snapshot.links:
        above.setdefault(link.target, []).append(link.source)
    lit, pending = set(start), list(start)
    while pending:
        for user in above.get(pending.pop(), ()):
            if user not in lit:
                lit.add(user)
                pending.append(user)
    return sorted(lit)
