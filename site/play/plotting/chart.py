"""A chart as SVG."""

from __future__ import annotations

import html
import math
from typing import Any

import numpy as np

WIDTH, HEIGHT = 520, 320
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 30, 46
COLOURS = ("#1f6fb2", "#d1592a", "#2f7d4f", "#7a3e9d", "#b7791f", "#c2255c", "#2a9d8f", "#626a75")
NAMED = {"b": "#1f6fb2", "r": "#c2255c", "g": "#2f7d4f", "k": "#1d2127", "orange": "#d1592a", "C0": COLOURS[0], "C1": COLOURS[1]}


class Chart:
    def __init__(self) -> None:
        self.marks: list[tuple[str, np.ndarray, np.ndarray, str, str, dict[str, Any]]] = []
        self.rules: list[tuple[str, float]] = []
        self.image: np.ndarray | None = None
        self.title = ""
        self.labels = ["", ""]
        self.log = [False, False]
        self.limits: list[Any] = [None, None]
        self.legend = False

    def is_empty(self) -> bool:
        return not self.marks and self.image is None

    def add(self, kind: str, x: np.ndarray, y: np.ndarray, label: str, color: str, **options: Any) -> None:
        if x.shape != y.shape:
            raise ValueError(f"x and y must have same first dimension, but have shapes {x.shape} and {y.shape}")
        chosen = NAMED.get(color, color) or COLOURS[len(self.marks) % len(COLOURS)]
        self.marks.append((kind, x.reshape(-1), y.reshape(-1), label, chosen, options))

    def svg(self) -> str:
        inner = self._drawn_image() if self.image is not None else self._drawn_marks()
        texts = [_text(WIDTH / 2, 18, self.title, "middle", 14), _text((WIDTH + LEFT) / 2, HEIGHT - 8, self.labels[0], "middle"),
                 f'<g transform="rotate(-90)">{_text(-HEIGHT / 2, 14, self.labels[1], "middle")}</g>']
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">'
                f'<rect width="100%" height="100%" fill="#fff"/>{"".join(inner)}{"".join(texts)}</svg>')

    def _range(self, axis: int) -> tuple[float, float]:
        values = [mark[1 + axis] for mark in self.marks]
        if axis:
            values += [np.zeros(1) for mark in self.marks if mark[0] == "bars"]
        numbers = np.concatenate(values)
        numbers = numbers[np.isfinite(numbers) & ((numbers > 0) | (not self.log[axis]))]
        low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 1.0)
        if self.log[axis]:
            low, high = math.log10(low) if low > 0 else 0.0, math.log10(high) if high > 0 else 1.0
        margin = (high - low) * 0.05 or 0.5
        given = self.limits[axis] or (None, None)
        return low - margin if given[0] is None else float(given[0]), high + margin if given[1] is None else float(given[1])

    def _drawn_marks(self) -> list[str]:
        (x0, x1), (y0, y1) = self._range(0), self._range(1)

        def place(values: Any, axis: int) -> np.ndarray:
            numbers = np.asarray(values, float)
            with np.errstate(all="ignore"):
                numbers = np.log10(numbers) if self.log[axis] else numbers
            if axis:
                return HEIGHT - BOTTOM - (numbers - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM)
            return LEFT + (numbers - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT)

        parts = []
        for axis, (low, high) in enumerate(((x0, x1), (y0, y1))):
            names = self.marks[0][5].get("names") if not axis else None
            for at, text in zip(range(len(names)), names, strict=True) if names else _ticks(low, high, self.log[axis]):
                p = float(place(at, axis))
                parts.append(_straight(p, bool(axis), "#e3e5e8"))
                parts.append(_text(LEFT - 6, p + 4, text, "end") if axis else _text(p, HEIGHT - BOTTOM + 16, text, "middle"))
        for kind, value in self.rules:
            p = float(place(value, int(kind == "h")))
            parts.append(_straight(p, kind == "h", "#626a75"))
        for mark in self.marks:
            parts += _drawn(mark, place(mark[1], 0), place(mark[2], 1), place)
        if self.legend:
            for i, (_, _, _, label, color, _) in enumerate(mark for mark in self.marks if mark[3]):
                parts.append(f'<rect x="{LEFT + 10}" y="{TOP + 8 + 18 * i}" width="16" height="4" fill="{color}"/>'
                             + _text(LEFT + 32, TOP + 15 + 18 * i, label))
        return parts

    def _drawn_image(self) -> list[str]:
        image = self.image
        assert image is not None
        rows, columns = image.shape[:2]
        side = min((WIDTH - LEFT - RIGHT) / columns, (HEIGHT - TOP - BOTTOM) / rows)
        low, high = float(np.nanmin(image)), float(np.nanmax(image))
        shades = ((image - low) / ((high - low) or 1) * 255).astype(int)
        return [f'<rect x="{LEFT + j * side:.2f}" y="{TOP + i * side:.2f}" width="{side + .3:.2f}" height="{side + .3:.2f}" '
                f'fill="rgb({",".join(map(str, np.atleast_1d(shades[i, j]).repeat(3)[:3]))})"/>'
                for i in range(min(rows, 128)) for j in range(min(columns, 128))]


def _drawn(mark: Any, x: np.ndarray, y: np.ndarray, place: Any) -> list[str]:
    kind, _, _, _, color, options = mark
    good = np.isfinite(x) & np.isfinite(y)
    color = html.escape(color)
    if kind == "line":
        words = [f"{'L' if i and good[i - 1] else 'M'}{x[i]:.1f} {y[i]:.1f}" for i in range(len(x)) if good[i]]
        dashes = ' stroke-dasharray="6 4"' if options["dashed"] else ""
        return [f'<path d="{"".join(words)}" fill="none" stroke="{color}" stroke-width="1.8"{dashes}/>']
    if kind == "points":
        return [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{color}"/>' for a, b in zip(x[good], y[good], strict=True)]
    width = float(place(options["width"], 0) - place(0, 0))
    ground = float(place(0, 1))
    return [f'<rect x="{a - width / 2:.1f}" y="{min(b, ground):.1f}" width="{width:.1f}" height="{abs(b - ground):.1f}" '
            f'fill="{color}" stroke="#fff"/>' for a, b in zip(x[good], y[good], strict=True)]


def _ticks(low: float, high: float, log: bool) -> list[tuple[float, str]]:
    if log:
        exponents = range(math.ceil(low), math.floor(high) + 1, max(1, round((high - low) / 6)))
        return [(10.0**n, f"1e{n}") for n in exponents] or [(10.0**low, f"{10.0**low:.2g}")]
    rough = (high - low) / 6
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * n for n in (1, 2, 5, 10) if unit * n >= rough)
    return [(n * step, f"{n * step:.6g}") for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _straight(at: float, across: bool, color: str) -> str:
    path = f"M{LEFT} {at:.1f}H{WIDTH - RIGHT}" if across else f"M{at:.1f} {TOP}V{HEIGHT - BOTTOM}"
    return f'<path d="{path}" stroke="{color}"/>'


def _text(x: float, y: float, text: str, anchor: str = "start", size: int = 11) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
    return f'<text {place} fill="#1d2127">{html.escape(str(text))}</text>'
