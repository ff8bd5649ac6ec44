"""Attention in blocks: the matrix of all scores is never there, only a block of it at a time.

Forward, the lanes of a vector are neighbouring queries: softmax goes down the columns, each lane for itself, and what is
known so far is scaled down when a larger score turns up. Backward, they are neighbouring keys, and the weights are computed
again from the logarithm of each query's sum, which the forward keeps. Arguments are read where they lie, whatever their strides.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from whygrad.backends.memory_order import axes_by_stride
from whygrad.kernels.functions import EXP, LN2_HIGH, LN2_LOW, log
from whygrad.kernels.host import FLOAT32, host
from whygrad.kernels.panels import functions, panel_width
from whygrad.kernels.stages import ALONE, Plan, Stage, Task, staged, workspace
from whygrad.kernels.tiles import lane_numbers, lanes_within, load_some, smaller, store_some
from whygrad.kernels.values import F32, F64, I32, I64, VOID, Function, Value

_whygrad_internal_ = True

# Keys (forward) and queries (backward) that are treated at a time: their scores stay in the nearest cache.
KEYS, QUERIES = 128, 64
# Multiplications below which one thread does all.
ALONE_WORK = 1 << 17
# Beside a panel most of whose columns are empty, matrix products are the better way.
FEWEST_QUERIES = 4


@dataclass(kw_only=True)
class AttentionPlan(Plan):
    units: int
    alone_below: int
    heads: int
    group: int  # heads of the query that share one of key and value
    queries: int
    keys: int
    depth: int
    blocks: int
    causal: int
    scale: int  # the bits of a float64
    strides: int = 0  # where the table begins: for each array floats from sample to sample, head to head and row to row


class Attention(Task):
    """What both directions need: places of arrays, and the functions that work on panels."""

    def __init__(self, module: Any, name: str) -> None:
        super().__init__(module, f"{name}_task", AttentionPlan)
        self.lanes = host().lanes
        self.width = panel_width()
        self.scale = self.field("scale").bits_as(F64).to(F32)
        self.causal = self.field("causal").differs(0)
        self._functions = functions()

    def place(self, number: int, sample: Value, head: Value) -> tuple[Value, Value]:
        """Where a head of an array begins, and how far apart its rows are."""
        strides = self.table("strides")
        of_sample, of_head, of_row = (self.load(I64, strides, 3 * number + i) for i in range(3))
        return self.pointer(F32, self.array(number), sample * of_sample + head * of_head), of_row

    def product(self, m: Value, k: Value, a: Value, a_row: Any, a_step: Any, b: Value, c: Value, keep: Any) -> None:
        """c = a @ b, both panels."""
        width = self.integer(self.width)
        self._call("product", m, k, a, a_row, a_step, b, width, c, width, keep, width)

    def product_into(self, m: Value, k: Value, a: Value, a_row: Any, a_step: Any, b: Value, b_row: Value, c: Value, c_row: Value,
                     keep: Value, columns: Value) -> None:
        """c = a @ b, where b and c are parts of arrays."""
        with self.loop(0, columns, self.width) as column:
            self._call("partial_product", m, k, a, a_row, a_step, self.pointer(F32, b, column), b_row,
                       self.pointer(F32, c, column), c_row, keep, columns - column)

    def clear_row(self, base: Value, start: Value, count: Value) -> None:
        with self.loop(0, count) as i:
            self.store(self.constant(0.0, F32), base, start + i)

    def turn(self, *arguments: Any) -> None:
        self._call("turn", *arguments)

    def _call(self, which: str, *arguments: Any) -> None:
        self.call(self._functions[which], VOID, *[x if isinstance(x, Value) else self.integer(x) for x in arguments])


def _exp(f: Function, x: Value) -> Value:
    """exp of what is hardly above 0. NaN goes through; what would be denormal is 0."""
    none = x < -87.0
    bounded = f.choose(none, -87.0, x)
    n = f.intrinsic("rint", bounded * (1 / math.log(2)))
    r = f.fma(n, -LN2_LOW, f.fma(n, -LN2_HIGH, bounded))
    grown = f.fma(f.polynomial(r, EXP), r * r, r) + 1.0
    return f.choose(none, 0.0, (grown.bits_as(I32) + (n.to(I32) << 23)).bits_as(F32))


# Arrays of the forward: query, key, value, result, logarithms of sums, workspace.

def _write_forward(module: Any, name: str) -> list[Stage]:
    f = Attention(module, name)
    lanes, width = f.lanes, f.width
    heads, group, queries, keys, depth, blocks = f.fields("heads group queries keys depth blocks")
    q_turned = f.workspace(5)
    scores = f.pointer(F32, q_turned, depth * width)
    sums = f.pointer(F32, scores, KEYS * width)  # of values by weights, turned
    highest = f.pointer(F32, sums, depth * width)
    total = f.pointer(F32, highest, width)
    with f.loop(f.low, f.high) as unit:
        both, turn = unit // blocks, unit % blocks
        sample, head = both // heads, both % heads
        # From both ends alternately: with a causal mask late blocks have more to do.
        block = f.choose((turn & 1).equals(0), turn >> 1, blocks - 1 - (turn >> 1))
        first = block * width
        rows = smaller(f, queries - first, f.integer(width))
        q, q_row = f.place(0, sample, head)
        k, k_row = f.place(1, sample, head // group)
        v, v_row = f.place(2, sample, head // group)
        out, out_row = f.place(3, sample, head)
        f.turn(f.pointer(F32, q, first * q_row), q_row, rows, depth, q_turned, width, width, f.scale)
        for vector in (0, lanes):
            f.store(f.constant(-math.inf, F32, lanes), highest, vector)
            f.store(f.zeros(F32, lanes), total, vector)
        seen = f.choose(f.causal, smaller(f, keys, first + width), keys)
        with f.loop(0, seen, KEYS) as key:
            count = smaller(f, seen - key, f.integer(KEYS))
            f.product(count, depth, f.pointer(F32, k, key * k_row), k_row, 1, q_turned, scores, 0)
            with f.loop(0, width, lanes) as half:
                _soften(f, scores, half, count, first + half - key, highest, total, sums, depth, key)
            f.product(depth, count, f.pointer(F32, v, key * v_row), 1, v_row, scores, sums, key)
        with f.loop(0, width, lanes) as half:
            whole = f.load(F32, total, half, lanes)
            nothing = whole.equals(0.0)  # all is masked out
            share = 1.0 / f.choose(nothing, 1.0, whole)
            with f.loop(0, depth) as i:
                f.store(f.load(F32, sums, i * width + half, lanes) * share, sums, i * width + half)
            logarithm = f.choose(nothing, 0.0, f.load(F32, highest, half, lanes) + log(f, whole))
            store_some(f, logarithm, f.array(4), both * queries + first + half, lanes_within(f, half, rows, lanes))
        f.turn(sums, width, depth, rows, f.pointer(F32, out, first * out_row), out_row, depth, f.constant(1.0, F32))
    f.end()
    return [Stage(f, "units", "alone_below")]


def _soften(f: Attention, scores: Value, half: Value, count: Value, ahead: Value, highest: Value, total: Value, sums: Value,
            depth: Value, key: Value) -> None:
    """Turn the scores of some keys into weights, for a vector of queries. The first query is `ahead` of the first key."""
    lanes, width = f.lanes, f.width

    def place(row: Value) -> Value:
        return row * width + half

    before = f.load(F32, highest, half, lanes)
    most = f.variable(before)

    def consider(score: Value) -> None:
        so_far = most.get()
        most.set(f.choose(score > so_far, score, so_far))

    # Rows up to `free` are seen by all lanes.
    free = f.choose(f.causal, f.choose(ahead < 0, 0, smaller(f, ahead + 1, count)), count)
    with f.loop(0, free) as row:
        consider(f.load(F32, scores, place(row), lanes))
    numbers = lane_numbers(f, lanes) + ahead.to(I32).spread(lanes)
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
    with f.when(key > 0), f.loop(0, depth) as i:
        f.store(f.load(F32, sums, place(i), lanes) * shrink, sums, place(i))


# Arrays of the backward: query, key, value, result, its gradient, gradients of query, key and value, logarithms, workspace.

def _write_backward(module: Any, name: str) -> list[Stage]:
    f = Attention(module, name)
    width = f.width
    heads, group, queries, keys, depth = f.fields("heads group queries keys depth")
    panel = depth * width
    k_turned = f.workspace(9)
    v_turned, weights = (f.pointer(F32, k_turned, panel * i) for i in (1, 2))
    slopes = f.pointer(F32, weights, QUERIES * width)
    along = f.pointer(F32, slopes, QUERIES * width)  # for each query and head of the group: its result times the gradient
    with f.loop(f.low, f.high) as unit:
        sample, shared = unit // (heads // group), unit % (heads // group)
        k, k_row = f.place(1, sample, shared)
        v, v_row = f.place(2, sample, shared)
        with f.loop(0, group) as member:
            head = shared * group + member
            out, out_row = f.place(3, sample, head)
            g, g_row = f.place(4, sample, head)
            with f.loop(0, queries) as row:
                f.store(_dot(f, f.pointer(F32, out, row * out_row), f.pointer(F32, g, row * g_row), depth), along,
                        member * queries + row)
        with f.loop(0, keys, width) as key:
            count = smaller(f, keys - key, f.integer(width))
            here, there = f.pointer(F32, k, key * k_row), f.pointer(F32, v, key * v_row)
            f.turn(here, k_row, count, depth, k_turned, width, width, f.scale)
            f.turn(there, v_row, count, depth, v_turned, width, width, f.constant(1.0, F32))
            (g_k, g_k_row), (g_v, g_v_row) = ((f.pointer(F32, start, key * row), row)
                                              for start, row in (f.place(number, sample, shared) for number in (6, 7)))
            first_query = f.choose(f.causal, key, 0)
            with f.when(first_query >= queries), f.loop(0, count) as row:  # nobody sees these keys
                f.clear_row(g_k, row * g_k_row, depth)
                f.clear_row(g_v, row * g_v_row, depth)
            with f.loop(0, group) as member:
                head = shared * group + member
                q_start, q_row = f.place(0, sample, head)
                g_start, g_row = f.place(4, sample, head)
                g_q_start, g_q_row = f.place(5, sample, head)
                with f.loop(first_query, queries, QUERIES) as query:
                    some = smaller(f, queries - query, f.integer(QUERIES))
                    q, g, g_q = (f.pointer(F32, start, query * row)
                                 for start, row in ((q_start, q_row), (g_start, g_row), (g_q_start, g_q_row)))
                    f.product(some, depth, q, q_row, 1, k_turned, weights, 0)
                    f.product(some, depth, g, g_row, 1, v_turned, slopes, 0)
                    of_head = (sample * heads + head) * queries + query
                    _slope(f, weights, slopes, some, f.pointer(F32, f.array(8), of_head),
                           f.pointer(F32, along, member * queries + query), key, count, query)
                    more = member + (query - first_query)
                    f.product_into(count, some, weights, 1, width, g, g_row, g_v, g_v_row, more, depth)
                    f.product_into(count, some, slopes, 1, width, q, q_row, g_k, g_k_row, more, depth)
                    f.product_into(some, count, slopes, width, 1, here, k_row, g_q, g_q_row, key, depth)
    f.end()
    return [Stage(f, "units", "alone_below")]


def _dot(f: Attention, a: Value, b: Value, count: Value) -> Value:
    total = f.variable(f.zeros(F32, f.lanes))
    with f.loop(0, count, f.lanes) as i:
        there = lanes_within(f, i, count, f.lanes)
        total.set(f.fma(load_some(f, a, i, there), load_some(f, b, i, there), total.get()))
    return f.total(total.get())


def _slope(f: Attention, weights: Value, slopes: Value, some: Value, logarithms: Value, along: Value, key: Value, count: Value,
           query: Value) -> None:
    """Scores to weights, and gradients of weights to gradients of scores."""
    lanes, width = f.lanes, f.width
    with f.loop(0, some) as row:
        logarithm, dot = (f.load(F32, base, row).spread(lanes) for base in (logarithms, along))
        seen = f.choose(f.causal, smaller(f, query + row + 1 - key, count), count)
        for half in (0, lanes):
            place = row * width + half
            mask = lane_numbers(f, lanes) + half < seen.to(I32).spread(lanes)
            weight = f.choose(mask, _exp(f, f.load(F32, weights, place, lanes) - logarithm), 0.0)
            slope = weight * (f.load(F32, slopes, place, lanes) - dot) * f.scale.spread(lanes)
            f.store(weight, weights, place)
            f.store(f.choose(mask, slope, 0.0), slopes, place)


@lru_cache(maxsize=512)
def _plan(shape: tuple[int, ...], kv: tuple[int, ...], strides: tuple[tuple[int, ...], ...], scale: float, causal: bool,
          backward: bool) -> Any:
    """None if the kernels are not for such arrays."""
    samples, heads, queries, depth = shape
    _, shared, keys, _ = kv
    if any(s[3] != 4 or any(n % 4 for n in s) for s in strides) or queries < FEWEST_QUERIES:
        return None
    width, group = panel_width(), heads // shared
    blocks = -(-queries // width)
    units = samples * (shared if backward else heads * blocks)
    floats = 2 * depth * width + 2 * QUERIES * width + group * queries if backward else (2 * depth + KEYS + 2) * width
    each = -(-floats // host().lanes) * host().lanes
    alone = samples * heads * queries * keys * depth < ALONE_WORK
    (bits,) = struct.unpack("q", struct.pack("d", scale))
    plan = AttentionPlan(
        each=each, shared=0, units=units, alone_below=ALONE if alone else 0, heads=heads, group=group, queries=queries,
        keys=keys, depth=depth, blocks=blocks, causal=int(causal), scale=bits)
    return plan.array(strides=[n // 4 for s in strides for n in s[:3]])


@lru_cache(maxsize=512)
def _order(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of a new array that lies in memory as one with these strides does, and how to transpose it then."""
    order = axes_by_stride(shape, [[abs(n) for n in strides]])
    return tuple([shape[axis] for axis in order]), tuple([order.index(axis) for axis in range(len(shape))])


@lru_cache(maxsize=512)
def _forward_plan(shape: tuple[int, ...], lying: tuple[int, ...], kv: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...],
                  scale: float, causal: bool) -> tuple[Any, ...]:
    """(plan, shape of the result as it lies in memory, how to transpose it), for arrays of these shapes and strides."""
    in_memory, axes = _order(shape, lying)
    strides = np.empty(in_memory, FLOAT32).transpose(axes).strides
    return _plan(shape, kv, (lying, k, v, strides), scale, causal, False), in_memory, axes


def scaled_dot_product_flash_attention_for_cpu(numpy: Callable[..., Any]) -> Callable[..., Any]:
    functions()
    kernel = staged("attention", "attention", "vvvvfw", _write_forward)

    def run(q: Any, k: Any, v: Any, *masks: Any, scale: float, causal: bool) -> Any:
        if not masks and q.dtype is k.dtype is v.dtype is FLOAT32:
            plan, in_memory, axes = _forward_plan(q.shape, q.strides, k.shape, k.strides, v.strides, scale, causal)
            if plan is not None:
                out, logarithms = np.empty(in_memory, FLOAT32).transpose(axes), np.empty(q.shape[:3], FLOAT32)
                kernel(plan, q, k, v, out, logarithms, workspace(plan))
                return out, logarithms
        return numpy(q, k, v, *masks, scale=scale, causal=causal)

    return run


def _new_gradients(q: Any, k: Any, v: Any) -> tuple[Any, ...]:
    """As torch has them: of one sample all heads of a row side by side. If the arrays are parts of one, as parts of one."""
    if q.base is not None and q.base is k.base is v.base and q.strides == k.strides == v.strides and q.shape == k.shape:
        samples, heads, rows, depth = q.shape
        together = np.empty((samples, rows, 3, heads, depth), FLOAT32).transpose(2, 0, 3, 1, 4)
        return together[0], together[1], together[2]
    return tuple([np.empty((n, t, h, d), FLOAT32).transpose(0, 2, 1, 3) for n, h, t, d in (x.shape for x in (q, k, v))])


def scaled_dot_product_flash_attention_for_cpu_backward(numpy: Callable[..., Any]) -> Callable[..., Any]:
    functions()
    kernel = staged("attention_backward", "attention backward", "vvvvvvvvfw", _write_backward)

    def run(grad: Any, q: Any, k: Any, v: Any, out: Any, logarithms: Any, *masks: Any, scale: float, causal: bool) -> Any:
        if not masks and grad.dtype is q.dtype is k.dtype is v.dtype is FLOAT32:
            if grad.strides[3] != 4:
                grad = np.ascontiguousarray(grad)
            g_q, g_k, g_v = gradients = _new_gradients(q, k, v)
            plan = _plan(q.shape, k.shape, (q.strides, k.strides, v.strides, out.strides, grad.strides, g_q.strides, g_k.strides,
                                            g_v.strides), scale, causal, True)
            if plan is not None:
                kernel(plan, q, k, v, out, grad, g_q, g_k, g_v, np.ascontiguousarray(logarithms), workspace(plan))
                return gradients
        return numpy(grad, q, k, v, out, logarithms, *masks, scale=scale, causal=causal)

    return run
