"""The machine code of attention in blocks: the matrix of all scores is never there, only a block of it at a time.

Forward, the lanes of a vector are neighbouring queries: softmax goes down the columns, each lane for itself, and what is
known so far is scaled down when a larger score turns up. Backward, they are neighbouring keys, and the weights are computed
again from the logarithm of each query's sum, which the forward keeps. Arguments are read where they lie, whatever their strides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from whygrad.kernels.functions import EXP, LN2_HIGH, LN2_LOW, log
from whygrad.kernels.host import host
from whygrad.kernels.panels import multiplying, panel_width, transposing
from whygrad.kernels.stages import OfPlan, Part, Plan, Task, part, staged
from whygrad.kernels.tiles import LINE, lanes_within, load_some, prefetch, store_some
from whygrad.kernels.values import F32, F64, I32, I64, POINTER, Function, Value

# Keys (forward) and queries (backward) that are treated at a time: their scores stay in the nearest cache.
KEYS, QUERIES = 128, 64


class AttentionPlan(Plan):
    # group: heads of the query that share one of key and value; scale: the bits of a float64; strides: where the table
    # begins: for each array floats from sample to sample, head to head and row to row
    numbers = "units units_serial heads group queries keys depth blocks causal scale strides"


def _place(f: Task, number: int, sample: Value, head: Value) -> tuple[Value, Value]:
    """Where a head of an array begins, and how far apart its rows are."""
    strides = f.table("strides")
    of_sample, of_head, of_row = (f.load(I64, strides, 3 * number + i) for i in range(3))
    return f.pointer(F32, f.array(number), sample * of_sample + head * of_head), of_row


def _scale(f: OfPlan) -> Value:
    return f.field("scale").bits_as(F64).to(F32)


def _causal(f: OfPlan) -> Value:
    return f.field("causal").differs(0)


def _exp(f: Function, x: Value) -> Value:
    """exp of what is hardly above 0. NaN goes through; what would be denormal is 0."""
    none = x < -87.0
    bounded = f.choose(none, -87.0, x)
    n = f.intrinsic("rint", bounded * (1 / math.log(2)))
    r = f.fma(n, -LN2_LOW, f.fma(n, -LN2_HIGH, bounded))
    grown = f.fma(f.polynomial(r, EXP), r * r, r) + 1.0
    return f.choose(none, 0.0, (grown.bits_as(I32) + (n.to(I32) << 23)).bits_as(F32))


@cache
def forward() -> Callable[..., Any]:
    """run(plan, query, key, value, result, logarithms of sums, workspace)"""
    functions = multiplying(partial=False), transposing(), _softening(), _sharing_out(), _fetching()
    return staged("attention", "vvvvfw", AttentionPlan, units=lambda f: _write_forward(f, *functions))


def _write_forward(f: Task, product: str, turn: str, soften: str, share_out: str, fetch: str) -> None:
    width = panel_width()
    heads, group, queries, keys, depth, blocks = f.fields("heads group queries keys depth blocks")
    q_transposed = f.workspace(5)
    scores = f.pointer(F32, q_transposed, depth * width)
    sums = f.pointer(F32, scores, KEYS * width)  # of values by weights, turned
    highest = f.pointer(F32, sums, depth * width)
    total = f.pointer(F32, highest, width)
    with f.loop(f.low, f.high) as unit:
        both, number = unit // blocks, unit % blocks
        sample, head = both // heads, both % heads
        with f.when(number.equals(0) & (unit + blocks < f.high)):
            coming, of_it = (both + 1) // heads, (both + 1) % heads
            f.do(fetch, f.plan, *_place(f, 0, coming, of_it), queries)
            for array in (1, 2):
                f.do(fetch, f.plan, *_place(f, array, coming, of_it // group), keys)
        # From both ends alternately: with a causal mask late blocks have more to do.
        block = f.choose((number & 1).equals(0), number >> 1, blocks - 1 - (number >> 1))
        first = block * width
        rows = f.smaller(queries - first, f.integer(width))
        q, q_row = _place(f, 0, sample, head)
        k, k_row = _place(f, 1, sample, head // group)
        v, v_row = _place(f, 2, sample, head // group)
        out, out_row = _place(f, 3, sample, head)
        f.do(turn, f.pointer(F32, q, first * q_row), q_row, rows, depth, q_transposed, width, width, _scale(f))
        for vector in (0, host().lanes):
            f.store(f.constant(-math.inf, F32, host().lanes), highest, vector)
            f.store(f.zeros(F32, host().lanes), total, vector)
        seen = f.choose(_causal(f), f.smaller(keys, first + width), keys)
        with f.loop(0, seen, KEYS) as key:
            count = f.smaller(seen - key, f.integer(KEYS))
            f.do(product, count, depth, f.pointer(F32, k, key * k_row), k_row, 1, q_transposed, width, scores, width, 0, width)
            f.do(soften, f.plan, scores, count, first - key, highest, total, sums, key)
            f.do(product, depth, count, f.pointer(F32, v, key * v_row), 1, v_row, scores, width, sums, width, key, width)
        f.do(share_out, f.plan, sums, highest, total, f.pointer(F32, f.array(4), both * queries + first), rows)
        f.do(turn, sums, width, depth, rows, f.pointer(F32, out, first * out_row), out_row, depth, f.constant(1.0, F32))


@part("attention soften", [POINTER, I64, I64, POINTER, POINTER, POINTER, I64], AttentionPlan)
def _softening(f: Part) -> None:
    """The name of soften(plan, scores, count, ahead, highest, total, sums, key): the scores of `count` keys from `key` on become
    weights, and what is known of earlier keys is scaled down. The first query is `ahead` of the first of these keys."""
    scores, count, ahead, highest, total, sums, key = f.given
    lanes, width = host().lanes, panel_width()
    with f.loop(0, width, lanes) as half:
        def place(row: Value, half: Value = half) -> Value:
            return row * width + half

        before = f.load(F32, highest, half, lanes)
        most = f.variable(before)

        def consider(score: Value, most: Any = most) -> None:
            so_far = most.get()
            most.set(f.choose(score > so_far, score, so_far))

        # Rows up to `free` are seen by all lanes.
        first = ahead + half
        free = f.choose(_causal(f), f.choose(first < 0, 0, f.smaller(first + 1, count)), count)
        with f.loop(0, free) as row:
            consider(f.load(F32, scores, place(row), lanes))
        numbers = f.lane_numbers(lanes) + first.to(I32).spread(lanes)
        with f.loop(free, count) as row:
            score = f.choose(numbers >= row.to(I32).spread(lanes), f.load(F32, scores, place(row), lanes), -math.inf)
            f.store(score, scores, place(row))
            consider(score)
        base = f.choose(most.get().equals(-math.inf), 0.0, most.get())
        shrink = _exp(f, before - base)
        part = f.variable(f.load(F32, total, half, lanes) * shrink)
        with f.loop(0, count) as row:
            weight = _exp(f, f.load(F32, scores, place(row), lanes) - base)
            f.store(weight, scores, place(row))
            part.add(weight)
        f.store(part.get(), total, half)
        f.store(most.get(), highest, half)
        with f.when(key > 0), f.loop(0, f.field("depth")) as i:
            f.store(f.load(F32, sums, place(i), lanes) * shrink, sums, place(i))


@part("attention share out", [POINTER, POINTER, POINTER, POINTER, I64], AttentionPlan)
def _sharing_out(f: Part) -> None:
    """The name of share_out(plan, sums, highest, total, logarithms, rows): sums are divided by the weights' total, of which each
    query's logarithm is kept."""
    sums, highest, total, logarithms, rows = f.given
    lanes, width = host().lanes, panel_width()
    with f.loop(0, width, lanes) as half:
        whole = f.load(F32, total, half, lanes)
        nothing = whole.equals(0.0)  # all is masked out
        share = 1.0 / f.choose(nothing, 1.0, whole)
        with f.loop(0, f.field("depth")) as i:
            f.store(f.load(F32, sums, i * width + half, lanes) * share, sums, i * width + half)
        logarithm = f.choose(nothing, 0.0, f.load(F32, highest, half, lanes) + log(f, whole))
        store_some(f, logarithm, logarithms, half, lanes_within(f, half, rows, lanes))


@cache
def backward() -> Callable[..., Any]:
    """run(plan, query, key, value, result, its gradient, gradients of query, key and value, logarithms, workspace)"""
    functions = multiplying(partial=False), multiplying(partial=True), transposing(), _dots(), _sloping(), _fetching()
    return staged("attention_backward", "vvvvvvvvfw", AttentionPlan, key="attention backward",
                  units=lambda f: _write_backward(f, *functions))


def _write_backward(f: Task, product: str, product_into: str, turn: str, dots: str, slope: str, fetch: str) -> None:
    width = panel_width()
    heads, group, queries, keys, depth = f.fields("heads group queries keys depth")
    panel = depth * width
    k_transposed = f.workspace(9)
    v_transposed, weights = (f.pointer(F32, k_transposed, panel * i) for i in (1, 2))
    slopes = f.pointer(F32, weights, QUERIES * width)
    along = f.pointer(F32, slopes, QUERIES * width)  # for each query and head of the group: its result times the gradient
    with f.loop(f.low, f.high) as unit:
        sample, shared = unit // (heads // group), unit % (heads // group)
        with f.when(unit + 1 < f.high):
            coming, of_it = (unit + 1) // (heads // group), (unit + 1) % (heads // group)
            for number in (0, 3, 4):
                f.do(fetch, f.plan, *_place(f, number, coming, of_it * group), queries)
            for number in (1, 2):
                f.do(fetch, f.plan, *_place(f, number, coming, of_it), keys)
        k, k_row = _place(f, 1, sample, shared)
        v, v_row = _place(f, 2, sample, shared)
        with f.loop(0, group) as member:
            head = shared * group + member
            f.do(dots, f.plan, *_place(f, 3, sample, head), *_place(f, 4, sample, head), f.pointer(F32, along, member * queries))
        with f.loop(0, keys, width) as key:
            count = f.smaller(keys - key, f.integer(width))
            here, there = f.pointer(F32, k, key * k_row), f.pointer(F32, v, key * v_row)
            f.do(turn, here, k_row, count, depth, k_transposed, width, width, _scale(f))
            f.do(turn, there, v_row, count, depth, v_transposed, width, width, f.constant(1.0, F32))
            (g_k, g_k_row), (g_v, g_v_row) = ((f.pointer(F32, start, key * row), row)
                                              for start, row in (_place(f, number, sample, shared) for number in (6, 7)))
            first_query = f.choose(_causal(f), key, 0)
            with f.when(first_query >= queries):  # no query attends to these keys: empty sums are zeros
                f.do(product_into, count, 0, weights, 1, width, here, k_row, g_k, g_k_row, 0, depth)
                f.do(product_into, count, 0, weights, 1, width, there, v_row, g_v, g_v_row, 0, depth)
            with f.loop(0, group) as member:
                head = shared * group + member
                q_start, q_row = _place(f, 0, sample, head)
                g_start, g_row = _place(f, 4, sample, head)
                g_q_start, g_q_row = _place(f, 5, sample, head)
                with f.loop(first_query, queries, QUERIES) as query:
                    some = f.smaller(queries - query, f.integer(QUERIES))
                    q, g, g_q = (f.pointer(F32, start, query * row)
                                 for start, row in ((q_start, q_row), (g_start, g_row), (g_q_start, g_q_row)))
                    f.do(product, some, depth, q, q_row, 1, k_transposed, width, weights, width, 0, width)
                    f.do(product, some, depth, g, g_row, 1, v_transposed, width, slopes, width, 0, width)
                    of_head = (sample * heads + head) * queries + query
                    f.do(slope, f.plan, weights, slopes, some, f.pointer(F32, f.array(8), of_head),
                         f.pointer(F32, along, member * queries + query), key, count, query)
                    more = member + (query - first_query)
                    f.do(product_into, count, some, weights, 1, width, g, g_row, g_v, g_v_row, more, depth)
                    f.do(product_into, count, some, slopes, 1, width, q, q_row, g_k, g_k_row, more, depth)
                    f.do(product_into, some, count, slopes, width, 1, here, k_row, g_q, g_q_row, key, depth)


@part("attention fetch", [POINTER, I64, I64], AttentionPlan)
def _fetching(f: Part) -> None:
    """The name of fetch(plan, base, row, rows): rows of a head come into the cache. They are too short to be foreseen."""
    base, row, rows = f.given
    with f.loop(0, rows) as i, f.loop(0, f.field("depth"), LINE) as j:
        prefetch(f, base, i * row + j)


@part("attention dots", [POINTER, I64, POINTER, I64, POINTER], AttentionPlan)
def _dots(f: Part) -> None:
    """The name of dots(plan, a, a_row, b, b_row, target): of each query's row of `a` with that of `b`."""
    a, a_row, b, b_row, target = f.given
    depth = f.field("depth")
    with f.loop(0, f.field("queries")) as row:
        left, right = f.pointer(F32, a, row * a_row), f.pointer(F32, b, row * b_row)
        total = f.variable(f.zeros(F32, f.lanes))
        with f.loop(0, depth, f.lanes) as i:
            there = lanes_within(f, i, depth, f.lanes)
            total.set(f.fma(load_some(f, left, i, there), load_some(f, right, i, there), total.get()))
        f.store(f.total(total.get()), target, row)


@part("attention slope", [POINTER, POINTER, I64, POINTER, POINTER, I64, I64, I64], AttentionPlan)
def _sloping(f: Part) -> None:
    """The name of slope(plan, weights, slopes, some, logarithms, along, key, count, query): of some queries from `query` on and
    `count` keys from `key` on, scores become weights, and gradients of weights those of scores."""
    weights, slopes, some, logarithms, along, key, count, query = f.given
    lanes, width = host().lanes, panel_width()
    with f.loop(0, some) as row:
        logarithm, dot = (f.load(F32, base, row).spread(lanes) for base in (logarithms, along))
        seen = f.choose(_causal(f), f.smaller(query + row + 1 - key, count), count)
        for half in (0, lanes):
            place = row * width + half
            mask = f.lane_numbers(lanes) + half < seen.to(I32).spread(lanes)
            weight = f.choose(mask, _exp(f, f.load(F32, weights, place, lanes) - logarithm), 0.0)
            slope = weight * (f.load(F32, slopes, place, lanes) - dot) * _scale(f).spread(lanes)
            f.store(weight, weights, place)
            f.store(f.choose(mask, slope, 0.0), slopes, place)
