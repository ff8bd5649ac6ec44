"""A recurrent layer over all steps of a sequence, and back: each thread takes some sequences of the batch through all of it,
so that nobody waits for anybody between two steps.

The hidden weight is laid out once, in panels: for each number k that is summed over, the vectors that are multiplied with
it. A panel is met by several sequences at a time, whose sums stay in registers. A sequence's numbers are added up in the
same order whatever its neighbours are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from whygrad.kernels.functions import sigmoid, tanh
from whygrad.kernels.host import host
from whygrad.kernels.panels import transposing
from whygrad.kernels.stages import Elsewhere, OfPlan, Part, Plan, Task, part, staged
from whygrad.kernels.tiles import LINE, lanes_within, load_some, prefetch, store_some
from whygrad.kernels.values import F32, I64, POINTER, Value
from whygrad.ops.cells import CELLS


class StepsPlan(Plan):
    # together: sequences in a unit; first: the step to begin with, and from there to the next
    numbers = "panels panels_serial units units_serial steps batch size together first onward"


def heights() -> tuple[int, ...]:
    """How many sequences are multiplied with a panel at a time: as many as there are, the largest first."""
    return (6, 4, 2, 1) if host().lanes == 16 else (3, 1)


def panel_blocks(blocks: int, gates: int) -> int:
    """The number of vectors of the hidden state that share a panel: about four vectors with all their gates."""
    return max(n for n in range(1, max(1, 4 // gates) + 1) if blocks % n == 0)


class Vectors:
    """Reads and writes vectors of `size` numbers; of the last one, if it is `ragged`, only what there is."""

    def __init__(self, f: OfPlan, ragged: bool) -> None:
        self.f = f
        self.size = f.field("size")
        self.ragged = ragged
        self.lanes = host().lanes

    def load(self, base: Value, place: Value, j: Value) -> Value:
        """The vector at `base[place + j]`, j being the number of its first element among `size`."""
        if self.ragged:
            return load_some(self.f, base, place + j, lanes_within(self.f, j, self.size, self.lanes))
        return self.f.load(F32, base, place + j, self.lanes)

    def store(self, value: Value, base: Value, place: Value, j: Value) -> None:
        if self.ragged:
            store_some(self.f, value, base, place + j, lanes_within(self.f, j, self.size, self.lanes))
        else:
            self.f.store(value, base, place + j)


class Tiles:
    """Products of sequences with panels `width` vectors wide: as many sequences at a time as there are registers for sums.

    The sums of the first `added` vectors begin with something.
    """

    def __init__(self, width: int, added: int, ragged: bool) -> None:
        self.width = width
        self.functions = {rows: _multiplying(rows, width, added, ragged) for rows in heights()}

    @contextmanager
    def each(self, f: Task, sequences: Value) -> Iterator[tuple[Value, Value]]:
        """(first sequence, number of sequences) of each tile."""
        done = f.variable(f.integer(0))
        with f.repeat_while(lambda: done.get() < sequences):
            first, rows = done.get(), f.integer(1)
            for height in reversed(heights()):
                rows = f.choose(sequences - first >= height, height, rows)
            yield first, rows
            done.add(rows)

    def multiply(self, f: Task, rows: Value, *arguments: Any) -> None:
        """For a tile of `rows` sequences. The other arguments are those of the functions."""
        values = [x if isinstance(x, Value) else f.integer(x) for x in arguments]
        for height, function in self.functions.items():
            with f.when(rows.equals(height)):
                f.do(function, f.plan, *values)


@part("recurrent products", [POINTER, I64, POINTER, I64, POINTER, I64, I64, POINTER, I64, I64, I64], StepsPlan)
def _multiplying(f: Part, rows: int, width: int, added: int, ragged: bool) -> None:
    """The name of multiply(plan, factors, factor_row, panel, count, start, start_row, start_vector, target, target_row, j,
    j_step): for each sequence r and vector v,

        target[r][v] = start[r][v] + the sum over k < count of factors[r][k] * (vector v of the panel for k)

    `..._row` and `..._vector` are how far apart rows and vectors are. Vector v is for hidden numbers from j + v * j_step on.
    """
    factors, factor_row, panel, count, start, start_row, start_vector, target, target_row, j, j_step = f.given
    lines = [f.pointer(F32, factors, factor_row * r) for r in range(rows)]
    there = [lanes_within(f, j + j_step * v, f.field("size"), f.lanes) if ragged else None for v in range(width)]

    def begin(r: int, v: int) -> Value:
        place, mask = start_row * r + start_vector * v, there[v]
        if v >= added:
            return f.zeros(F32, f.lanes)
        return f.load(F32, start, place, f.lanes) if mask is None else load_some(f, start, place, mask)

    totals = [[f.variable(begin(r, v)) for v in range(width)] for r in range(rows)]
    with f.loop(0, count) as k:
        here = f.pointer(F32, panel, k * (width * f.lanes))
        vectors = [f.load(F32, here, v * f.lanes, f.lanes) for v in range(width)]
        for line, row in zip(lines, totals, strict=True):
            factor = f.load(F32, line, k).spread(f.lanes)
            for vector, total in zip(vectors, row, strict=True):
                total.set(f.fma(factor, vector, total.get()))
    for r, row in enumerate(totals):
        for v, (total, mask) in enumerate(zip(row, there, strict=True)):
            place = target_row * r + v * f.lanes
            if mask is None:
                f.store(total.get(), target, place)
            else:
                store_some(f, total.get(), target, place, mask)


def _each_step(f: Task, visit: Callable[[Value, Value, Value, Value], None]) -> None:
    """`visit(first sequence, number of sequences, step, which one it is in the order of the walk)`."""
    steps, batch, together = f.fields("steps batch together")
    with f.loop(f.low, f.high) as unit:
        first = unit * together
        count = f.smaller(batch - first, together)
        with f.loop(0, steps) as walked:
            visit(first, count, f.field("first") + walked * f.field("onward"), walked)


def _fetch_part(f: Task, base: Value, floats: Value, number: Value, parts: Value) -> None:
    """Have a part of what the next step will read brought near, while products are computed."""
    each = (floats + (parts * LINE - 1)) // (parts * LINE) * LINE
    with f.loop(number * each, f.smaller((number + 1) * each, floats), LINE) as i:
        prefetch(f, base, i)


PRE, HIDDEN, BIAS, WORKSPACE, OUTPUTS, ACTIVATIONS, BEFORES, LAST = range(8)


@lru_cache(maxsize=256)
def forward(cell: str, blocks: int, ragged: bool, biased: bool) -> Callable[..., Any]:
    """run(plan, pre, hidden, bias, workspace, outputs, activations, befores, last). The first of `befores` is given.

    `blocks` is the number of a panel's vectors for each gate.
    """

    gates = CELLS[cell].gates
    turn = transposing()
    functions = Tiles(gates * blocks, (gates - CELLS[cell].has_pre) * blocks, ragged), _finishing(cell, blocks, ragged, biased)
    return staged("recurrent_layer", "ffowffff", StepsPlan, key=f"recurrent {cell} {blocks} {ragged} {biased}",
                  panels=Elsewhere(f"recurrent panels {gates} {blocks}", StepsPlan,
                                   lambda f: _write_panels(f, gates, blocks, turn)),
                  units=lambda f: _write_forward(f, cell, blocks, *functions))


def _rounded(f: Task, n: Value) -> Value:
    return (n + (f.lanes - 1)) // f.lanes * f.lanes


def _write_panels(f: Task, gates: int, blocks: int, turn: str) -> None:
    """For each k, `blocks` times the gates' vectors: the weight transposed."""
    lanes, width = host().lanes, gates * blocks
    size = f.field("size")
    height = _rounded(f, size)
    with f.loop(f.low, f.high) as number, f.loop(0, blocks) as block, f.loop(0, gates) as gate:
        j = (number * blocks + block) * lanes
        source = f.pointer(F32, f.array(HIDDEN), (gate * size + j) * size)
        target = f.pointer(F32, f.array(WORKSPACE), number * height * (width * lanes) + (block * gates + gate) * lanes)
        f.do(turn, source, size, f.smaller(size - j, f.integer(lanes)), size, target, f.integer(width * lanes),
               f.integer(lanes), f.constant(1.0, F32))


class CellVocabulary:
    """`xp` for the definitions in ops/cells.py, on vectors of elements."""

    def __init__(self, f: Part) -> None:
        self.f = f

    def sigmoid(self, x: Value) -> Value:
        return sigmoid(self.f, x)

    def tanh(self, x: Value) -> Value:
        return tanh(self.f, x)

    def relu(self, x: Value) -> Value:
        return self.f.maximum(x, 0.0)

    def threshold_backward(self, g: Value, x: Value, *, threshold: float) -> Value:
        return self.f.choose(x <= float(threshold), 0.0, g)


@part("recurrent finish", [I64, I64, I64, *[POINTER] * 7], StepsPlan)
def _finishing(f: Part, name: str, blocks: int, ragged: bool, biased: bool) -> None:
    """The name of finish(plan, row, rows, panel, sums, bias, pre, before, after, activations, outputs): some sequences' cells."""
    cell, lanes = CELLS[name], host().lanes
    first, rows, number, sums, bias, pre, before, after, activations, outputs = f.given
    size, vectors = f.field("size"), Vectors(f, ragged)
    with f.loop(0, rows) as r, f.loop(0, blocks) as block:
        row, j = first + r, (number * blocks + block) * lanes
        place = (r * blocks + block) * (cell.gates * lanes)
        totals = [f.load(F32, sums, place + gate * lanes, lanes) for gate in range(cell.gates)]
        if biased:
            totals = [total + vectors.load(bias, size * gate, j) for gate, total in enumerate(totals)]
        of_input = vectors.load(pre, (row * cell.gates + cell.gates - 1) * size, j)
        states = [vectors.load(before, (row * cell.states + i) * size, j) for i in range(cell.states)]
        state, kept = cell.forward(CellVocabulary(f), totals, of_input, states)
        for i, value in enumerate(kept):
            vectors.store(value, activations, (row * cell.activations + i) * size, j)
        for i, value in enumerate(state):
            vectors.store(value, after, (row * cell.states + i) * size, j)
        vectors.store(state[0], outputs, row * size, j)


def _write_forward(f: Task, name: str, blocks: int, tiles: Tiles, finish: str) -> None:
    cell, lanes = CELLS[name], host().lanes
    gates = cell.gates
    size, batch, panels = f.fields("size batch panels")
    height = _rounded(f, size)
    sums = f.frame(F32, heights()[0] * tiles.width * lanes)

    def visit(first: Value, count: Value, step: Value, walked: Value) -> None:
        before = f.pointer(F32, f.array(BEFORES), (step * batch + first) * (cell.states * size))
        following = f.pointer(F32, f.array(BEFORES), ((step + f.field("onward")) * batch + first) * (cell.states * size))
        is_last = walked.equals(f.field("steps") - 1)
        after = f.choose(is_last, f.pointer(F32, f.array(LAST), first * (cell.states * size)), following)
        pre = f.pointer(F32, f.array(PRE), (step * batch + first) * (gates * size))
        activations = f.pointer(F32, f.array(ACTIVATIONS), (step * batch + first) * (cell.activations * size))
        outputs = f.pointer(F32, f.array(OUTPUTS), (step * batch + first) * size)
        coming = f.pointer(F32, pre, f.field("onward") * batch * (gates * size))
        with f.loop(0, panels) as number:
            _fetch_part(f, coming, count * (gates * size), number, panels)
            panel = f.pointer(F32, f.array(WORKSPACE), number * height * (tiles.width * lanes))
            j = number * (blocks * lanes)
            # The vectors of a panel are gates of the same numbers, or neighbours of the only gate.
            apart, j_step = (size, 0) if gates > 1 else (lanes, lanes)
            with tiles.each(f, count) as (row, rows):
                tiles.multiply(f, rows, f.pointer(F32, before, row * (cell.states * size)), size * cell.states, panel, size,
                               f.pointer(F32, pre, row * (gates * size) + j), size * gates, apart, sums, tiles.width * lanes,
                               j, j_step)
                f.do(finish, f.plan, row, rows, number, sums, f.array(BIAS), pre, before, after, activations, outputs)

    _each_step(f, visit)


G_OUTPUTS, _, B_ACTIVATIONS, B_BEFORES, B_WORKSPACE, G_PRE, G_LINEAR, G_STATE = range(8)


@lru_cache(maxsize=256)
def backward(cell: str, blocks: int, ragged: bool) -> Callable[..., Any]:
    """run(plan, g_outputs, hidden, activations, befores, workspace, g_pre, g_linear, g_state).

    `g_state` begins as the gradient of the last state and ends as that of the first one; `g_pre` is None where it is the
    same as `g_linear`. `blocks` is the number of a panel's vectors.
    """

    gates = CELLS[cell].gates
    functions = Tiles(blocks, blocks, ragged), _cells_back(cell, ragged)
    return staged("recurrent_layer_backward", "ffffwoff", StepsPlan, key=f"recurrent back {cell} {blocks} {ragged}",
                  panels=Elsewhere(f"recurrent column panels {gates} {blocks} {ragged}", StepsPlan,
                                   lambda f: _write_column_panels(f, gates, blocks, ragged)),
                  units=lambda f: _write_backward(f, cell, blocks, *functions))


def _write_column_panels(f: Task, gates: int, blocks: int, ragged: bool) -> None:
    """For each k, `blocks` neighbouring vectors of row k of the weight."""
    size = f.field("size")
    vectors = Vectors(f, ragged)
    with f.loop(f.low, f.high) as number:
        target = f.pointer(F32, f.array(B_WORKSPACE), number * size * (gates * blocks * f.lanes))
        with f.loop(0, size * gates) as k:
            for block in range(blocks):
                value = vectors.load(f.array(HIDDEN), k * size, (number * blocks + block) * f.lanes)
                f.store(value, target, (k * blocks + block) * f.lanes)


@part("recurrent cells back", [I64, *[POINTER] * 6], StepsPlan)
def _cells_back(f: Part, name: str, ragged: bool) -> None:
    """The name of back(plan, rows, g_outputs, g_state, activations, before, g_linear, g_pre): the gradients of cells."""
    cell, lanes = CELLS[name], host().lanes
    count, g_outputs, g_state, activations, before, g_linear, g_pre = f.given
    size, vectors = f.field("size"), Vectors(f, ragged)
    with f.loop(0, count) as row, f.loop(0, size, lanes) as j:
        g = [vectors.load(g_state, (row * cell.states + i) * size, j) for i in range(cell.states)]
        g[0] = g[0] + vectors.load(g_outputs, row * size, j)
        kept = [vectors.load(activations, (row * cell.activations + i) * size, j) for i in range(cell.activations)]
        states = [vectors.load(before, (row * cell.states + i) * size, j) for i in range(cell.states)]
        xp = CellVocabulary(f)
        back = cell.back(xp, g, cell.slopes(xp, kept, states))
        for gate, value in enumerate(back.sums):
            vectors.store(value, g_linear, (row * cell.gates + gate) * size, j)
        if back.pre is not None:
            for gate, value in enumerate([*back.sums[:-1], back.pre]):
                vectors.store(value, g_pre, (row * cell.gates + gate) * size, j)
        if back.c is not None:
            vectors.store(back.c, g_state, (row * cell.states + 1) * size, j)
        vectors.store(f.zeros(F32, lanes) if back.h is None else back.h, g_state, row * cell.states * size, j)


def _write_backward(f: Task, name: str, blocks: int, tiles: Tiles, cells: str) -> None:
    cell, lanes = CELLS[name], host().lanes
    gates = cell.gates
    size, batch, panels = f.fields("size batch panels")

    def visit(first: Value, count: Value, step: Value, walked: Value) -> None:
        def of_step(array: int, width: int) -> Value:
            return f.pointer(F32, f.array(array), (step * batch + first) * (size * width))

        g_outputs, g_linear, before = of_step(G_OUTPUTS, 1), of_step(G_LINEAR, gates), of_step(B_BEFORES, cell.states)
        activations = of_step(B_ACTIVATIONS, cell.activations)
        g_state = f.pointer(F32, f.array(G_STATE), first * (cell.states * size))

        f.do(cells, f.plan, count, g_outputs, g_state, activations, before, g_linear, of_step(G_PRE, gates))
        with f.loop(0, panels) as number:
            for here, width in ((activations, cell.activations), (before, cell.states), (g_outputs, 1)):
                coming = f.pointer(F32, here, f.field("onward") * batch * (size * width))
                _fetch_part(f, coming, count * (size * width), number, panels)
            panel = f.pointer(F32, f.array(B_WORKSPACE), number * size * (gates * blocks * lanes))
            j = number * (blocks * lanes)
            with tiles.each(f, count) as (row, rows):
                carried = f.pointer(F32, g_state, row * (cell.states * size) + j)
                tiles.multiply(f, rows, f.pointer(F32, g_linear, row * (gates * size)), size * gates, panel, size * gates,
                               carried, size * cell.states, lanes, carried, size * cell.states, j, lanes)

    _each_step(f, visit)
