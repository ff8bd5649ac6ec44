"""`whygrad run --html FILE`: one self-contained page with the answers, the source, a drawing of the graph, and what the audit
measured.

Text is written here, escaped; report.js draws the graph from data that is embedded as JSON.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whygrad.backends import formula
from whygrad.io.atomic import replacing
from whygrad.why import graph_layout
from whygrad.why.answers import Answer
from whygrad.why.audit.check_list import Check, check_list
from whygrad.why.graph_snapshot import GraphSnapshot, Item, Stats
from whygrad.why.html_watch import DrawnBackward
from whygrad.why.locations import SourceLocation, locate
from whygrad.why.sections import drawn_leaves
from whygrad.why.sections.checks import checks_section
from whygrad.why.sections.drawn_leaves import DrawnLeaves
from whygrad.why.sections.layers import layers
from whygrad.why.sections.run_info import run_info
from whygrad.why.sections.text import prose
from whygrad.why.sections.training import training
from whygrad.why.sections.verdict import Verdict, header, is_odd, nothing_found, verdict_of
from whygrad.why.source_html import Mark, lines_of, rendered
from whygrad.why.svg import STYLES, clipped, item_texts

STATES = list(STYLES)
MAX_LEAVES = 500
# Parameters that an answer names without a click.
MAX_NAMED = 6


def write(path: str, answers: Sequence[Answer], watch: Any = None, script: str | None = None, ended: str = "") -> None:
    text = page(answers, watch, script, ended)
    with replacing(path) as file:
        file.write(text.encode("utf-8", "replace"))


def page(answers: Sequence[Answer], watch: Any = None, script: str | None = None, ended: str = "") -> str:
    """The whole page."""
    answers = sorted(answers, key=is_odd)
    backwards: list[DrawnBackward] = watch.drawn_backwards(answers) if watch is not None else []
    # Answers that are not wanted here (--only, --ignore, a baseline): they keep checks from being passed.
    left_out = [] if watch is None else [answer for answer in watch.answers if not any(answer is shown for shown in answers)]
    leaves = drawn_leaves.settle(backwards, answers, left_out, watch)
    checks = [] if watch is None else check_list(watch, [*answers, *left_out], left_out)
    steps = watch.audit.round if watch is not None else 0
    verdict = verdict_of(answers, checks, leaves, steps, len(backwards))
    data = {"states": [[name, style[3]] for name, style in STYLES.items()],
            "pictures": [_graph_data(backward, watch, told) for backward, told in zip(backwards, leaves.told, strict=True)],
            "answers": _where_answers_are_drawn(answers, watch, backwards, leaves)}
    parts = Path(__file__).parent
    style, dark, code = [(parts / name).read_text("utf-8") for name in ("report.css", "report_dark.css", "report.js")]
    name = os.path.basename(script) if script else "program"
    return "\n".join([
        "<!doctype html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
        # Nothing is fetched, and no script runs but the one below.
        ("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
         f"style-src 'unsafe-inline'; script-src '{_digest(code)}'\">"),
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>whygrad: {html.escape(name)}</title>", f"<style>{style}</style>",
        # The switch changes the attribute `media`; paper is light.
        f'<style id="dark" media="screen and (prefers-color-scheme: dark)">{dark}</style>', "</head>", "<body>",
        header(name, verdict, ended), "<main>", _answers(answers, script, verdict), '<div id="right">',
        _sources(answers, script), _graph(backwards, watch, leaves), "</div>", "</main>",
        *_sections(answers, watch, checks, backwards), run_info(script, watch, ended),
        f'<script type="application/json" id="data">{embedded_json(data)}</script>', f"<script>{code}</script>", "</body>",
        "</html>", ""])


def _sections(answers: Sequence[Answer], watch: Any, checks: Sequence[Check], backwards: list[DrawnBackward]) -> list[str]:
    if watch is None:
        return []
    labels = {id(leaf): backward.snapshot.items[number].label for backward in reversed(backwards)
              for number, reference in backward.snapshot.leaves.items() if (leaf := reference()) is not None}
    return [checks_section(checks, answers), training(watch.audit), layers(watch.audit, answers, labels)]


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def embedded_json(data: Any) -> str:
    """JSON that is safe inside a script element."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _short_location(location: SourceLocation) -> str:
    inside = f" in {location.function}" if location.function not in ("<module>", "") else ""
    line = f":{location.line}" if location.line > 0 else ""
    return f"{os.path.basename(location.file)}{line}{inside}"


def _files(answers: Sequence[Answer], script: str | None) -> list[str]:
    found = [] if script is None else [script]
    for answer in answers:
        found += [answer.location.file, *(cause.file for cause in answer.explanation.causes)]
    return list(dict.fromkeys(found))


def _answers(answers: Sequence[Answer], script: str | None, verdict: Verdict) -> str:
    files = _files(answers, script)
    if not answers:
        return f'<section id="answers" aria-label="Answers">{nothing_found(verdict)}</section>'
    written = [_answer(number, answer, files) for number, answer in enumerate(answers)]
    found, odd = "".join(written[:verdict.found]), "".join(written[verdict.found:])
    groups = f"<ol>{found}</ol>" if found else ""
    if odd:
        groups += f'<h2 id="odd">Odd, but perhaps meant</h2><ol>{odd}</ol>'
    return f'<section id="answers" aria-label="Answers">{groups}</section>'


def _answer(number: int, answer: Answer, files: list[str]) -> str:
    explanation = answer.explanation
    question = answer.location.expression or answer.location.source_line.strip()
    parts = [f'<li class="answer{" odd" if is_odd(answer) else ""}" id="answer-{number + 1}">',
             (f'<button type="button" class="pick" data-answer="{number}" aria-pressed="false">'
             f'<span class="ordinal">{number + 1}</span><code>{html.escape(clipped(question, 120))}</code>'
             f'<span class="where">{html.escape(_short_location(answer.location))}</span></button>'),
             (f'<p class="symptom">{prose(explanation.headline)} '
              f'<span class="category">{html.escape(explanation.category)}</span></p>'),
             f'<div class="body"><p>{prose(explanation.text)}</p>']
    if explanation.parameters:
        parts.append(_parameters(explanation.parameters))
    if explanation.causes:
        parts.append('<ul class="causes">' + "".join(
            f'<li><a href="#f{files.index(cause.file)}-{cause.line}">{html.escape(_short_location(cause))}</a> '
            f"<code>{html.escape(clipped(cause.expression or cause.source_line.strip(), 160))}</code></li>"
            for cause in explanation.causes) + "</ul>")
    if explanation.path:
        more = " → …" if len(explanation.path) > 12 else ""
        parts.append(f'<p class="path">{html.escape(" → ".join(explanation.path[:12]))}{more}</p>')
    if explanation.fix:
        parts.append(f'<p class="fix"><b>Fix</b> {prose(explanation.fix)}</p>')
    edit = explanation.edit
    if edit is not None:
        shown = "\n".join(f"<span>{what}</span>\n{html.escape(new)}" for what, new in edit.changes())
        copied = "\n".join(new for _, new in edit.changes() if new)
        button = (f'<button type="button" class="copy" data-copy="{html.escape(copied)}" '
                  f'aria-label="Copy the fix of answer {number + 1}">copy</button>') if copied else ""
        parts.append(f'<div class="edit">{button}<pre>{shown}</pre></div>')
    return "".join([*parts, "</div></li>"])


def _parameters(names: list[str]) -> str:
    """How many parameters an answer concerns, and which."""
    written = ", ".join(f"<code>{html.escape(name)}</code>" for name in names[:MAX_LEAVES])
    if len(names) <= MAX_NAMED:
        return f'<p class="parameters">Concerns {written}</p>'
    more = f" and {len(names) - MAX_LEAVES} more" if len(names) > MAX_LEAVES else ""
    return f'<details class="parameters"><summary>Concerns {len(names)} parameters</summary>{written}{more}</details>'


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


def _graph(backwards: list[DrawnBackward], watch: Any, leaves: DrawnLeaves) -> str:
    if not backwards:
        return ('<section id="graph" aria-label="Graph"><p class="empty">No backward walked a graph, so there is nothing to '
                "draw.</p></section>")
    titles = [html.escape(_title(backward, watch)) for backward in backwards]
    options = "".join(f'<option value="{i}">{title}</option>' for i, title in enumerate(titles))
    tables = "".join(_leaf_table(i, backward, leaves.told[i]) for i, backward in enumerate(backwards))
    remarks = "".join(f'<p class="note">{prose(remark)}</p>' for remark in leaves.remarks())
    return f"""<section id="graph" aria-label="Graph">
<div class="tools"><h2>Gradient flow</h2>
<select id="which" aria-label="Which backward">{options}</select>
<input id="find" type="search" placeholder="find an op or a leaf" aria-label="Find in the graph">
<span class="buttons"><button type="button" data-do="in" title="Zoom in (+)" aria-label="Zoom in">+</button>
<button type="button" data-do="out" title="Zoom out (-)" aria-label="Zoom out">&minus;</button>
<button type="button" data-do="fit" title="Show everything (0)">fit</button>
<button type="button" data-do="open">open all</button><button type="button" data-do="close">close all</button>
<button type="button" data-do="large" aria-pressed="false">enlarge</button></span></div>
<p id="note" class="note"></p>{remarks}
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


def _leaf_table(index: int, backward: DrawnBackward, told: dict[int, list[int]]) -> str:
    leaves = [(number, item) for number, item in enumerate(backward.snapshot.items) if item.kind == "leaf"]
    rows = "".join(
        f'<tr><td>{html.escape(item.label or "a leaf")}</td><td>{html.escape(str(tuple(item.shape or ())))}</td>'
        f'<td class="{item.state}">{STYLES[item.state][3]}</td>'
        f'<td>{"" if item.stats is None else format(item.stats.norm, ".4g")}</td>'
        f'<td>{", ".join(str(n + 1) for n in told.get(number, []))}</td></tr>' for number, item in leaves[:MAX_LEAVES])
    more = f"<caption>the first {MAX_LEAVES} of {len(leaves)} leaves</caption>" if len(leaves) > MAX_LEAVES else ""
    return (f'<table data-picture="{index}">{more}<thead><tr><th scope="col">leaf</th><th scope="col">shape</th>'
            '<th scope="col">gradient</th><th scope="col">norm</th><th scope="col">answer</th></tr></thead>'
            f"<tbody>{rows}</tbody></table>")


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


def _graph_data(backward: DrawnBackward, watch: Any, told: dict[int, list[int]]) -> dict[str, Any]:
    snapshot = backward.snapshot
    texts = [item_texts(item) for item in snapshot.items]
    layout = graph_layout.arrange(snapshot, backward.calls, [graph_layout.text_width(clipped(a), b) for a, b in texts])
    locations, formulas = InternedValues(), InternedValues()
    written: dict[tuple[str, str], list[str]] = {}
    items = [[item.kind, item.label or "a leaf", second, STATES.index(item.state), _location_number(locations, item),
              formulas.number(_formula(item, written)), None if item.shape is None else list(item.shape), _stats(item.stats),
              _detail(item, told.get(number, []))]
             for number, (item, (_, second)) in enumerate(zip(snapshot.items, texts, strict=True))]
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


def _detail(item: Item, answers: list[int]) -> str:
    about = f"see answer {', '.join(str(n + 1) for n in answers)}" if answers else ""
    return ". ".join(text for text in (item.detail.removesuffix("."), about) if text)


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


def _where_answers_are_drawn(answers: Sequence[Answer], watch: Any, backwards: list[DrawnBackward],
                             leaves: DrawnLeaves) -> list[Any]:
    """For each answer [number of its backward, items of its path], or None."""
    if watch is None:
        return [None] * len(answers)
    found: list[Any] = []
    for number, answer in enumerate(answers):
        backward, about = watch.snapshot_for(answer)
        if backward in backwards:
            which = backwards.index(backward)
        else:  # nothing was read in this line: the first backward with a leaf that it is about
            about = None
            which = next((i for i, told in enumerate(leaves.told) if any(number in some for some in told.values())), -1)
        told = leaves.told[which] if which >= 0 else {}
        items = [*([] if about is None else [about]), *(item for item, some in told.items() if number in some)]
        found.append([which, path_of(backwards[which].snapshot, answer, items)] if which >= 0 else None)
    return found


def path_of(snapshot: GraphSnapshot, answer: Answer, about: list[int]) -> list[int]:
    """The items to highlight for an answer: from its tensors or the cause up to the loss."""
    causes = {(cause.file, cause.line, cause.column) for cause in answer.explanation.causes}
    start = list(about)
    for number, item in enumerate(snapshot.items):
        where = locate(item.site) if item.site is not None else None
        if where is not None and (where.file, where.line, where.column) in causes:
            start.append(number)
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
