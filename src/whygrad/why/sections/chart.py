"""Charts as SVG: lines over the steps of a run, and small histograms."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from whygrad.why.sections.text import count_of, short_number

WIDTH, HEIGHT = 460, 210
LEFT, RIGHT, TOP, BOTTOM = 56, 14, 14, 40
# From this ratio of the largest to the smallest value on, the scale is logarithmic.
LOG_FROM = 30.0
# Lines in one chart, values with a dot each, and rows of its table.
MAX_LINES, MAX_DOTS, MAX_ROWS = 6, 40, 24
BARS, BAR_WIDTH, BAR_HEIGHT = 24, 4, 22


class Line(NamedTuple):
    """A line of a chart: what it is, and its (round, value), rounds counted from 0."""

    label: str
    entries: Sequence[tuple[int, float]]


class Axis:
    """Maps values to coordinates, on a linear or logarithmic scale."""

    def __init__(self, values: Sequence[float], start: float, end: float, may_be_log: bool) -> None:
        above = [v for v in values if v > 0]
        self.is_log = may_be_log and bool(above) and min(values) >= 0 and max(above) / min(above) >= LOG_FROM
        shown = above if self.is_log else list(values)
        low, high = (min(shown), max(shown)) if shown else (0.0, 1.0)
        if self.is_log:
            low, high = math.log10(low), math.log10(high)
        elif low == high:
            low, high = (low - abs(low) * 0.1 or -1.0, high + abs(high) * 0.1 or 1.0) if may_be_log else (low - 1, high + 1)
        self.low, self.high, self.start, self.end = low, high, start, end

    def at(self, value: float) -> float:
        if self.is_log:
            value = math.log10(value) if value > 0 else self.low
        share = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)  # halves: a difference may be too large for a float
        return self.start + share * (self.end - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        if self.is_log:
            every = max(1, math.ceil((self.high - self.low) / count))
            found = [10.0 ** n for n in range(math.ceil(self.low), math.floor(self.high) + 1, every)]
            return found if len(found) > 1 else [10 ** self.low, 10 ** self.high]
        step = _round_step((self.high / count) - (self.low / count))
        first = math.ceil(self.low / step)
        return [n * step for n in range(first, first + count + 3) if n * step <= self.high + step * 1e-9]


def _round_step(step: float) -> float:
    """The next of 1, 2, 5, 10, 20 ..."""
    power = 10.0 ** math.floor(math.log10(step))
    return power * next((n for n in (1, 2, 5) if n * power >= step * 0.999), 10)


def line_chart(name: str, title: str, lines: Sequence[Line], unit: str) -> str:
    """A figure with a chart, a legend and a table. `name` is the id of the figure; `unit` says what is on the vertical axis."""
    shown, left_out = lines[:MAX_LINES], len(lines) - MAX_LINES
    values = [value for line in shown for _, value in line.entries if math.isfinite(value)]
    numbers = [number + 1 for line in shown for number, _ in line.entries]
    y = Axis(values, HEIGHT - BOTTOM, TOP, True)
    x = Axis([float(n) for n in numbers], LEFT, WIDTH - RIGHT, False)
    scale = " (logarithmic)" if y.is_log else ""
    parts = [f'<g class="tick"><path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/>'
             f'<text x="{LEFT - 6}" y="{at + 3.5:.1f}" class="end">{short_number(tick)}</text></g>'
             for tick in y.ticks() for at in [y.at(tick)]]
    parts += [f'<text class="middle" x="{x.at(tick):.1f}" y="{HEIGHT - BOTTOM + 16}">{tick:g}</text>'
              for tick in x.ticks() if tick == int(tick) and min(numbers) <= tick <= max(numbers)]
    parts.append(f'<path class="axis" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>'
                 f'<text class="middle" x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 6}">step</text>')
    parts += [_line(number, line, x, y) for number, line in enumerate(shown)]
    description = "; ".join(_in_words(line) for line in shown)
    more = f"<p>{count_of(left_out, 'more line')} left out.</p>" if left_out > 0 else ""
    legend = "".join('<li><svg class="key" viewBox="0 0 26 8" aria-hidden="true">'
                     f'<path class="curve line-{n}" d="M1 4h24"/></svg>'
                     f"{html.escape(line.label)}</li>" for n, line in enumerate(shown))
    return (f'<figure class="chart" id="{name}">'
            f"<figcaption>{html.escape(title)} <span>{html.escape(unit)}{scale}</span></figcaption>"
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{name}-title {name}-words">'
            f'<title id="{name}-title">{html.escape(title)} over the steps{scale}</title>'
            f'<desc id="{name}-words">{html.escape(description)}</desc>{"".join(parts)}</svg>'
            f'<ul class="keys">{legend}</ul>{more}{_table(shown, unit)}</figure>')


def _line(number: int, line: Line, x: Axis, y: Axis) -> str:
    """Its path, broken where a value is not finite; a cross at the top stands for such a value."""
    pieces, dots, crosses, is_broken = [], [], [], True
    for step, value in line.entries:
        px = x.at(step + 1)
        if not math.isfinite(value):
            crosses.append(f"M{px - 3:.1f} {TOP - 3}l6 6m0-6l-6 6")
            is_broken = True
            continue
        py = y.at(value)
        pieces.append(f"{'M' if is_broken else 'L'}{px:.1f} {py:.1f}")
        dots.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.2"/>')
        is_broken = False
    found = f'<path class="curve line-{number}" d="{"".join(pieces)}"/>' if pieces else ""
    if len(dots) <= MAX_DOTS:
        found += f'<g class="dots line-{number}">{"".join(dots)}</g>'
    if crosses:
        first = next(step for step, value in line.entries if not math.isfinite(value))
        at = x.at(first + 1)
        side, dx = ("end", -5) if at > WIDTH / 2 else ("start", 5)
        found += (f'<path class="crosses" d="{"".join(crosses)}"/><text class="warning {side}" x="{at + dx:.1f}" y="{TOP + 14}">'
                  f"not finite from step {first + 1}</text>")
    return found


def _in_words(line: Line) -> str:
    fine = [value for _, value in line.entries if math.isfinite(value)]
    first, last = line.entries[0], line.entries[-1]
    around = f", between {short_number(min(fine))} and {short_number(max(fine))}" if fine else ""
    return f"{line.label}: {short_number(first[1])} at step {first[0] + 1}, {short_number(last[1])} at step {last[0] + 1}{around}"


def _table(lines: Sequence[Line], unit: str) -> str:
    rows = []
    for line in lines:
        every = -(-len(line.entries) // MAX_ROWS)
        chosen = [*line.entries[:-1:every], line.entries[-1]]
        rows += [f"<tr><td>{html.escape(line.label)}</td><td>{step + 1}</td><td>{short_number(value)}</td></tr>"
                 for step, value in chosen]
    return ('<details><summary>as a table</summary><div class="wide"><table><thead><tr><th scope="col">line</th>'
            f'<th scope="col">step</th><th scope="col">{html.escape(unit)}</th></tr></thead>'
            f'<tbody>{"".join(rows)}</tbody></table></div></details>')


def histogram(values: np.ndarray, what: str) -> str:
    """How values are distributed, in a small drawing; with a mark at zero if that is among them."""
    if values.dtype.kind == "c":
        values = np.abs(values)
    values = values.astype(np.float64)
    fine = values[np.isfinite(values)]
    if not fine.size:
        return f'<span class="none">{"all not finite" if values.size else "empty"}</span>'
    low, high = float(fine.min()), float(fine.max())
    if low == high:
        return f'<span class="none">all {short_number(low)}</span>'
    # The bounds are halved twice: the range of float64 values may be too large for one.
    counts = np.histogram(fine / 4, BARS, (low / 4, high / 4))[0]
    heights = np.ceil(counts / counts.max() * BAR_HEIGHT).astype(int)
    bars = "".join(f"M{i * BAR_WIDTH} {BAR_HEIGHT}v-{h}h{BAR_WIDTH - 1}v{h}z" for i, h in enumerate(heights) if h)
    zero = ""
    if low < 0 < high:
        at = -low / 4 / (high / 4 - low / 4) * BARS * BAR_WIDTH
        zero = f'<path class="zero-mark" d="M{at:.1f} 0v{BAR_HEIGHT + 3}"/>'
    bad = values.size - fine.size
    zeros = np.count_nonzero(fine == 0) / fine.size
    words = (f"{what}: from {short_number(low)} to {short_number(high)}, mean {short_number(float(fine.mean()))}"
             + (f", {zeros:.0%} exactly zero" if zeros else "") + (f", {bad} of {values.size} not finite" if bad else ""))
    return (f'<svg class="histogram" viewBox="0 0 {BARS * BAR_WIDTH} {BAR_HEIGHT + 3}" role="img">'
            f"<title>{html.escape(words)}</title>{zero}<path class=\"bars\" d=\"{bars}\"/></svg>")
