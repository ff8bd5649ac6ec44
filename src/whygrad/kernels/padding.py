"""Images with borders: of one value, or of the image itself, mirrored, repeated or continued.

Each row of the result is a row of the image or the border's value; on it lies a piece of that row, and to its left and right
single elements. Where each comes from is in the plan's tables, with -1 for the value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from whygrad.kernels.calls import declined, in_one_piece
from whygrad.kernels.host import FLOAT32, host
from whygrad.kernels.stages import ALONE, Plan, Stage, Task, staged
from whygrad.kernels.tiles import copy_row, lanes_within, store_some
from whygrad.kernels.values import F32, I64, Value

ALONE_BELOW = 32768
# Of longer axes, such as sounds have, the tables would cost more than the work.
LONGEST = 2048


@dataclass(kw_only=True)
class PaddingPlan(Plan):
    units: int  # rows of the result
    units_alone: int
    height: int  # of an image, and of the result
    own_height: int
    width: int
    own_width: int
    start: int  # where the piece begins, where it comes from, and its length
    source: int
    length: int
    rows: int = 0
    columns: int = 0


@lru_cache(maxsize=256)
def _plan(planes: int, own: tuple[int, int], rows: tuple[int, ...], columns: tuple[int, ...]) -> Any:
    start, length = _longest_run(columns)
    alone = ALONE if planes * len(rows) * len(columns) < ALONE_BELOW else 0
    return PaddingPlan(units=planes * len(rows), units_alone=alone, height=len(rows), own_height=own[0], width=len(columns),
                       own_width=own[1], start=start, source=columns[start], length=length).array(rows=rows, columns=columns)


def _longest_run(sources: Sequence[int]) -> tuple[int, int]:
    """Where the most neighbours come from neighbours, and how many."""
    best, start = (0, 0), 0
    for i, source in enumerate(sources):
        if source < 0:
            start = i + 1
            continue
        if i > start and source != sources[i - 1] + 1:
            start = i
        if i + 1 - start > best[1]:
            best = start, i + 1 - start
    return best


@cache
def _pad() -> Callable[..., Any]:
    """run(plan, x, value, result)"""

    def write(module: Any, name: str) -> list[Stage]:
        f = Task(module, f"{name}_task", PaddingPlan)
        x, value, result = (f.array(i) for i in range(3))
        height, own_height, width, own_width, start, source, length = f.fields(
            "height own_height width own_width start source length")
        rows, columns = f.table("rows"), f.table("columns")
        border = f.load(F32, value)
        lanes = host().lanes
        with f.loop(f.low, f.high) as unit:
            row = f.load(I64, rows, unit % height)
            out = f.pointer(F32, result, unit * width)
            with f.b.if_else((row < 0).v) as (outside, inside):
                with outside:
                    whole = width // lanes * lanes
                    with f.loop(0, whole, lanes) as j:
                        f.store(border.spread(lanes), out, j)
                    with f.when(whole < width):
                        store_some(f, border.spread(lanes), out, whole, lanes_within(f, f.integer(0), width - whole, lanes))
                with inside:
                    line = f.pointer(F32, x, (unit // height * own_height + row) * own_width)

                    def one(j: Value, line: Value = line, out: Value = out) -> None:
                        place = f.load(I64, columns, j)
                        read = f.load(F32, line, f.larger(place, 0))
                        f.store(f.choose(place < 0, border, read), out, j)

                    with f.loop(0, start) as j:
                        one(j)
                    copy_row(f, f.pointer(F32, line, source), f.pointer(F32, out, start), length)
                    with f.loop(start + length, width) as j:
                        one(j)
        f.end()
        return [Stage(f, "units", "units_alone")]

    return staged("pad", "pad", "fff", write)


def _padded(x: Any, sources: dict[int, tuple[int, ...]], value: float) -> Any:
    """None if it is not the last two axes, or not a kernel's work."""
    ndim = x.ndim
    if x.dtype is not FLOAT32 or not x.size or not sources or min(sources) < ndim - 2 or not all(sources.values()):
        return None
    own = (x.shape[-2] if ndim > 1 else 1, x.shape[-1])
    if max(*own, *map(len, sources.values())) > LONGEST:
        return None
    rows, columns = (sources.get(ndim - 2 + i) or tuple(range(n)) for i, n in enumerate(own))
    shape = (*x.shape[:-2], len(rows), len(columns)) if ndim > 1 else (len(columns),)
    plan = _plan(math.prod(x.shape[:-2]), own, rows, columns)
    return _pad()(plan, in_one_piece(x), np.full(1, value, FLOAT32), np.empty(shape, FLOAT32))


def constant_pad(numpy: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: Any, *, pads: tuple[tuple[int, int], ...], value: Any) -> Any:
        if max(x.shape[-2:], default=0) > LONGEST:
            return declined(numpy, x, pads=pads, value=value)
        sources = {axis: tuple([i if 0 <= i < n else -1 for i in range(-before, n + after)])
                   for axis, (n, (before, after)) in enumerate(zip(x.shape, pads, strict=True)) if before or after}
        found = _padded(x, sources, value)
        return declined(numpy, x, pads=pads, value=value) if found is None else found

    return run


def mirror_pad(numpy: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: Any, *, sources: tuple[tuple[int, Any], ...], mode: str) -> Any:
        short = max([len(source) for _, source in sources], default=0) <= LONGEST
        found = _padded(x, {axis: tuple(source.tolist()) for axis, source in sources}, 0.0) if short else None
        return declined(numpy, x, sources=sources, mode=mode) if found is None else found

    return run
