"""Elementwise instructions of a program joined into passes: what one instruction alone reads is computed where it is read.

A pass is a definition on a vocabulary, as a row is: on expressions it becomes a kernel, on arrays it runs its parts one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.base import acceleration
from whygrad.compilation.program import Add, Call, Deposit, Fused, Instruction, RowCall, RuleCall, SumTo, Value, Write, replaced

FLOAT32, BOOL = np.dtype(np.float32), np.dtype(np.bool_)
MOST_INPUTS = 12
MOST_PARTS = 24


class Form:
    """Shape and dtype of a value, as far as they are known."""

    def __init__(self) -> None:
        self.known: dict[Value, tuple[tuple[int, ...], Any] | None] = {}

    def __call__(self, v: Value) -> tuple[tuple[int, ...], Any] | None:
        if v.array is not None:
            return v.array.shape, v.array.dtype
        return self.known.get(v)


def fused(instructions: list[Instruction], results: list[Value]) -> list[Instruction]:
    """The program with passes in it."""
    if not acceleration.enabled:
        return instructions
    form = Form()
    uses = _uses(instructions, results)
    made: dict[Value, tuple[int, Fused, str]] = {}  # the pass that ends with a value, its era and what it is
    gone: set[Value] = set()
    passes: dict[int, Fused] = {}
    era = 0
    for number, i in enumerate(instructions):
        era += is_barrier(i)
        what = _kind(i, form)
        if not what or what.isdigit():
            continue
        shape = _shape(i, form)
        joined: list[Fused] = []
        for v in dict.fromkeys(i.inputs):
            before = made.get(v)
            if before is not None and uses[v] == i.inputs.count(v) == 1 and before[0] == era and before[2] == "elementwise" and (
                    (form(v) or ((), None))[0] == shape):
                joined.append(before[1])
        found = _join(joined, i)
        if found is None or (len(found.parts) > 1 and not _is_one_pass(found, form)):
            joined, found = [], Fused([i], list(dict.fromkeys(i.inputs)), i.outputs[0])
        gone.update(part.outputs[0] for part in joined)
        made[i.outputs[0]] = era, found, what
        passes[number] = found
    by_output = {f.outputs[0]: f for f in passes.values()}
    result: list[Instruction] = []
    for i in instructions:
        if i.outputs and i.outputs[0] in gone:
            continue
        f = by_output.get(i.outputs[0]) if i.outputs else None
        result.append(f if f is not None and len(f.parts) > 1 and any(not isinstance(part, SumTo) for part in f.parts) else i)
    return result


def without_identities(instructions: list[Instruction], results: list[Value]) -> list[Instruction]:
    """Rules that pass a gradient on as it is, and sums of nothing, are left out."""
    if not acceleration.enabled:
        return instructions
    form = Form()
    same: dict[Value, Value] = {}
    kept: list[Instruction] = []
    for i in instructions:
        i.args = replaced(i.args, same)
        what = _kind(i, form)
        if what and isinstance(i, (RuleCall, SumTo)) and (what.isdigit() or isinstance(i, SumTo)) and (
                i.outputs[0] not in results):
            same[i.outputs[0]] = list(dict.fromkeys(i.inputs))[int(what) if what.isdigit() else 0]
        else:
            kept.append(i)
    return kept


def _join(joined: list[Fused], i: Instruction) -> Fused | None:
    parts = [part for f in joined for part in f.parts]
    own = {part.outputs[0] for part in parts}
    inputs = list(dict.fromkeys(v for part in (*parts, i) for v in part.inputs if v not in own))
    if len(inputs) > MOST_INPUTS or len(parts) >= MOST_PARTS:
        return None
    return Fused([*parts, i], inputs, i.outputs[0])


def _uses(instructions: list[Instruction], results: list[Value]) -> dict[Value, int]:
    uses: dict[Value, int] = dict.fromkeys(results, 2)
    for i in instructions:
        for v in i.inputs:
            uses[v] = uses.get(v, 0) + 1
    return uses


def is_barrier(i: Instruction) -> bool:
    """Whether an instruction may write into arrays that others read, so that these must not be read later than they were."""
    if isinstance(i, Write):
        return True
    return isinstance(i, Call) and not i.pure and i.function.__name__ not in ("zero_grad", "_kept", "in_memory_order", "draw")


def _shape(i: Instruction, form: Form) -> Any:
    try:
        return np.broadcast_shapes(*{found[0] for v in i.inputs if (found := form(v)) is not None})
    except ValueError:
        return None


def _kind(i: Instruction, form: Form) -> str:
    """"elementwise", "total" or "": whether an instruction may be part of a pass; the form of its result is known then."""
    if isinstance(i, Deposit) or not i.inputs or len(i.outputs) != 1:
        return ""
    forms = [form(v) for v in i.inputs]
    if any(f is None or f[1] not in (FLOAT32, BOOL) for f in forms):
        return ""
    shape = _shape(i, form)
    if shape is None:
        return ""
    if isinstance(i, SumTo):
        what = "elementwise" if shape == i.args[1] else ""
    elif isinstance(i, Add):
        what = "elementwise" if len({f[0] for f in forms if f is not None}) == 1 else ""
    elif isinstance(i, RowCall):
        plain = i.spec.row.broadcasts or i.spec.row.name in ("sum_all", "mean_all")
        what = _pass_of(i, form) if plain and i.spec.one_output and i.lies_as_inputs and not i.spec.row.view else ""
    elif isinstance(i, RuleCall):
        what = _pass_of(i, form) if i.spec.row.broadcasts and i.argument != "at once" else ""
    else:
        what = ""
    if what and form(i.outputs[0]) is None:
        form.known[i.outputs[0]] = (() if what == "total" else shape), FLOAT32
    out = form(i.outputs[0])
    if what != "total" and out is not None and out[0] != shape:
        return ""
    return what if out is not None and out[1] in (FLOAT32, BOOL) else ""


def _pass_of(i: Instruction, form: Form) -> str:
    inputs = list(dict.fromkeys(i.inputs))
    return acceleration.pass_of(Fused([i], inputs, i.outputs[0]).definition, _kinds(inputs, form))


def _is_one_pass(found: Fused, form: Form) -> bool:
    return bool(acceleration.pass_of(found.definition, _kinds(found.args, form)))


def _kinds(inputs: list[Value], form: Form) -> str:
    return "".join("m" if (form(v) or ((), None))[1] == BOOL else "a" for v in inputs)
