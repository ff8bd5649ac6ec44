"""Section Layers: of each parameter the norms of weights and gradients, how far a step moves it, and histograms."""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median
from typing import Any

import numpy as np

from whygrad.why.answers import Answer
from whygrad.why.audit.series import Series
from whygrad.why.audit.subjects.history import History, some_values
from whygrad.why.audit.subjects.movement import Movement
from whygrad.why.audit.values import norm
from whygrad.why.run_facts import ledger_of, was_reached
from whygrad.why.sections.chart import histogram
from whygrad.why.sections.drawn_leaves import answers_by_name
from whygrad.why.sections.text import count_of, short_number

# Rows of the table. Of more, those that move least and most are shown.
MAX_ROWS = 300
# Parameters that are looked at.
MAX_PARAMETERS = 5000
# The scale on which update to weight ratios are drawn, as powers of ten, and those that are usual.
LOWEST, HIGHEST, USUAL = -8, 0, (-4, -2)
BAR = 100
HEADINGS = ("parameter", "weight norm", "gradient norm", "update / weight", "weights", "gradient")


@dataclass
class Layer:
    """A parameter, and what is known of it at the end of the run."""

    name: str
    p: Any
    weight: float
    # Medians over the observed steps; None if there was none.
    gradient: float | None = None
    ratio: float | None = None
    # Some values of the gradient, and what is unusual (`is_meant`: the program wants it so).
    values: np.ndarray | None = None
    remark: str = ""
    is_meant: bool = False

    @property
    def sorting(self) -> tuple[float, str]:
        return -1.0 if self.ratio is None else math.inf if math.isnan(self.ratio) else self.ratio, self.name


def layers(audit: Any, answers: Sequence[Answer], labels: dict[int, str]) -> str:
    """A row for each parameter; the one that moves least comes first. `labels` are names by id, as the drawings have them."""
    found = sorted(_layers(audit, labels), key=lambda layer: layer.sorting)
    body = _table(found, _told(audit, found, answers)) if found else (
        '<p class="empty">No optimizer was made, and no model was called.</p>')
    return f'<section id="layers" class="sheet" aria-label="Layers"><h2>Layers</h2>{body}</section>'


def _told(audit: Any, found: list[Layer], answers: Sequence[Answer]) -> dict[int, list[int]]:
    """The answers about each parameter, by its id. Two models may have parameters of one name: then only unusual ones count."""
    by_name = answers_by_name(answers)
    names = {id(layer.p): audit.name_of(layer.p) for layer in found}
    counts = Counter(names.values())
    return {id(layer.p): by_name.get(names[id(layer.p)], []) for layer in found
            if counts[names[id(layer.p)]] == 1 or layer.remark}


def _layers(audit: Any, labels: dict[int, str]) -> Iterator[Layer]:
    """The parameters that optimizers hold, and those of models that no optimizer holds."""
    moves, history = audit.subject(Movement).moves, audit.subject(History).values
    held = {id(p): p for p in audit.parameters()}
    others = {id(p): p for root in list(audit.modules.roots.values()) for p in root.parameters() if id(p) not in held}
    for p in islice([*held.values(), *others.values()], MAX_PARAMETERS):
        layer = Layer(labels.get(id(p)) or audit.name_of(p) or f"a tensor of shape {tuple(p.shape)}", p, norm(p))
        moved, noted = moves.get(id(p)), history.get(id(p))
        if moved is not None and moved.p is p:
            layer.gradient, layer.ratio = _median(moved.gradients), _median(moved.ratios)
        if noted is not None and noted.p is p:
            layer.values = noted.gradient
        layer.remark, layer.is_meant = _remark(layer, id(p) in held)
        yield layer


def _median(series: Series) -> float | None:
    """Of the finite values, as long as there are any."""
    if not series.count:
        return None
    return median([value for value in series.values if math.isfinite(value)] or [math.nan])


def _remark(layer: Layer, is_held: bool) -> tuple[str, bool]:
    """What is unusual, and whether the program wants it so."""
    ledger, reached = ledger_of(layer.p), was_reached(layer.p)
    if not layer.p.requires_grad:
        return "frozen", True
    if not is_held:
        return ("gets gradients, in no optimizer", False) if reached else ("in no optimizer", True)
    if not reached:
        return "never got a gradient", False
    if not math.isfinite(layer.weight):
        return "not finite", False
    if ledger is not None and not ledger.last_nonzero:
        return "got zeros only", False
    return ("never moved" if layer.ratio == 0 else ""), False


def _table(found: list[Layer], told: dict[int, list[int]]) -> str:
    shown = found if len(found) <= MAX_ROWS else [*found[:MAX_ROWS // 2], *found[-MAX_ROWS // 2:]]
    more = f" The {len(shown)} that move least and most are shown." if len(found) > len(shown) else ""
    heads = "".join(
        f'<th scope="col" aria-sort="{"ascending" if text == "update / weight" else "none"}">'
        f'<button type="button" data-sort="{column}">{text}</button></th>' if column < 4 else f'<th scope="col">{text}</th>'
        for column, text in enumerate(HEADINGS))
    return (f'<p class="hint">{count_of(len(found), "parameter")}, the one that a step moves least first; a heading sorts by its '
            "column. Gradient norm and update / weight (how large a step is beside the weight) are medians of the steps that "
            f"were observed; a ratio near 1e-3 is usual (the shaded range of the scale from 1e-8 to 1).{more}</p>"
            f'<div class="wide"><table id="layer-table"><thead><tr>{heads}</tr></thead><tbody>'
            f'{"".join(_row(layer, told.get(id(layer.p), [])) for layer in shown)}</tbody></table></div>')


def _row(layer: Layer, numbers: list[int]) -> str:
    links = "".join(f' <a class="told" href="#answer-{n + 1}">answer {n + 1}</a>' for n in numbers)
    remark = f' <span class="remark{" meant" if layer.is_meant else ""}">{layer.remark}</span>' if layer.remark else ""
    shape = "(" + ", ".join(map(str, layer.p.shape)) + ")"
    gradient = "" if layer.values is None else histogram(layer.values, "gradient")
    return (f'<tr><th scope="row"><code>{html.escape(layer.name)}</code> <span class="shape">{shape}</span>{remark}{links}</th>'
            f"{_cell(layer.weight)}{_cell(layer.gradient)}{_cell(layer.ratio, _bar(layer.ratio))}"
            f'<td>{histogram(some_values(layer.p), "weights")}</td><td>{gradient}</td></tr>')


def _cell(value: float | None, after: str = "") -> str:
    """A number, with the value by which the page sorts."""
    key = -1.0 if value is None else value
    text = '<span class="none">none</span>' if value is None else f'<span class="number">{short_number(value)}</span>'
    return f'<td data-key="{key if math.isfinite(key) else 1e300:.6g}">{text}{after}</td>'


def _bar(ratio: float | None) -> str:
    """The ratio on a logarithmic scale, beside the usual range."""
    if ratio is None or not ratio > 0:
        return ""
    at, (first, last) = _on_scale(math.log10(ratio) if math.isfinite(ratio) else HIGHEST), map(_on_scale, USUAL)
    return (f'<svg class="ratio" viewBox="0 0 {BAR} 8" aria-hidden="true">'
            f'<path class="usual" d="M{first:.0f} 0H{last:.0f}v8H{first:.0f}z"/>'
            f'<path class="bars" d="M{at - 1.5:.1f} 0h3v8h-3z"/></svg>')


def _on_scale(power: float) -> float:
    return min(max((power - LOWEST) / (HIGHEST - LOWEST), 0.0), 1.0) * BAR
