"""Section Training: loss, learning rate and norm of the gradients over the steps."""

from __future__ import annotations

import math
from typing import Any

from whygrad.why.audit.loss_record import LossRecord
from whygrad.why.audit.series import MAX_ENTRIES, Series
from whygrad.why.audit.subjects.history import History
from whygrad.why.audit.subjects.rates import Rates
from whygrad.why.locations import locate
from whygrad.why.record import Site
from whygrad.why.sections.chart import Line, line_chart
from whygrad.why.svg import clipped

CHARTS = {
    "chart-loss": ("Loss", "value that was differentiated"),
    "chart-rate": ("Learning rate", "rate of the fastest group"),
    "chart-gradient": ("Gradient norm", "norm of all gradients of a step, after clipping"),
}


def training(audit: Any) -> str:
    lines = {"chart-loss": _losses(audit), "chart-rate": _rates(audit), "chart-gradient": _gradients(audit)}
    charts = [line_chart(name, title, lines[name], unit) for name, (title, unit) in CHARTS.items() if lines[name]]
    body = (f'<div class="charts">{"".join(charts)}</div>' if charts else
            '<p class="empty">No loss was differentiated and no optimizer has stepped, so there is nothing to draw.</p>')
    return f'<section id="training" class="sheet" aria-label="Training"><h2>Training over the steps</h2>{body}</section>'


def _losses(audit: Any) -> list[Line]:
    """Those that were differentiated most often first."""
    known = sorted(audit.losses.values(), key=lambda loss: -loss.values.count)
    return [Line(_label(loss.site, "a loss"), _with_first_bad(loss)) for loss in known if loss.values.count]


def _with_first_bad(loss: LossRecord) -> list[tuple[int, float]]:
    """The entries of a loss, among them the first that is not finite, which findings name."""
    entries, first = complete(loss.values), loss.nonfinite_round
    if first is None or any(number == first and not math.isfinite(value) for number, value in entries):
        return entries
    return sorted([*entries, (first, math.nan)], key=lambda entry: entry[0])


def _rates(audit: Any) -> list[Line]:
    known = [rate for rate in audit.subject(Rates).rates.values() if rate.values.count]
    return _joined([Line(_label(rate.record.made_at, rate.record.kind), complete(rate.values)) for rate in known])


def _gradients(audit: Any) -> list[Line]:
    known = audit.subject(History).gradient_norms()
    return _joined([Line(_label(one.made_at, one.kind), complete(one.values)) for one in known])


def _joined(lines: list[Line]) -> list[Line]:
    """Optimizers that one line makes one after the other, as in a loop over epochs, give one line of the chart."""
    found: list[Line] = []
    for line in sorted(lines, key=lambda line: line.entries[0][0]):
        earlier = next((i for i, known in enumerate(found)
                        if known.label == line.label and known.entries[-1][0] < line.entries[0][0]), None)
        if earlier is None:
            found.append(line)
        else:
            found[earlier] = Line(line.label, [*found[earlier].entries, *line.entries])
    return [Line(line.label, line.entries[::-(-len(line.entries) // MAX_ENTRIES)]) for line in found]


def complete(series: Series) -> list[tuple[int, float]]:
    """The entries of a series, and its last value even if that is between two entries."""
    if series.entries[-1][0] == series.last_number:
        return series.entries
    return [*series.entries, (series.last_number, series.last)]


def _label(site: Site | None, otherwise: str) -> str:
    where = locate(site)
    return otherwise if where is None else f"line {where.line}: {clipped(where.expression, 40) or otherwise}"
