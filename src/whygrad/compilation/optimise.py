"""Programs made shorter: instructions that nobody needs, and those that compute the same again, are left out."""

from __future__ import annotations

from typing import Any

from whygrad.backends.fp_warnings import restore, silence
from whygrad.compilation.fusion import fused, without_identities
from whygrad.compilation.program import Add, Instruction, RowCall, RuleCall, SumTo, Value, Write, replaced


def optimise(instructions: list[Instruction], results: list[Value]) -> list[Instruction]:
    for shorten in (without_unused, with_constants, without_repeated, without_identities, without_unused, fused):
        instructions = shorten(instructions, results)
    return instructions


def written_memory(instructions: list[Instruction]) -> bool:
    """Whether the program itself writes arrays in place, or calls somebody who may."""
    return any(isinstance(i, Write) or not i.pure for i in instructions)


def with_constants(instructions: list[Instruction], results: list[Value]) -> list[Instruction]:
    """What rules make of constants alone is computed now: gradients of ones, as far as they are numbers."""
    kept = []
    token = silence()
    try:
        for i in instructions:
            if not isinstance(i, RuleCall | SumTo | Add) or not i.inputs or any(v.source != "constant" for v in i.inputs):
                kept.append(i)
                continue
            i.compute()
            for v in i.outputs:
                v.source = "constant"
    finally:
        restore(token)
    return kept


def without_unused(instructions: list[Instruction], results: list[Value]) -> list[Instruction]:
    needed = set(results)
    kept = []
    for i in reversed(instructions):
        if not i.pure or not needed.isdisjoint(i.outputs):
            kept.append(i)
            needed.update(i.inputs)
    return kept[::-1]


def without_repeated(instructions: list[Instruction], results: list[Value]) -> list[Instruction]:
    """Common subexpressions, where no memory is written in between."""
    if written_memory(instructions):
        return instructions
    seen: dict[Any, list[Value]] = {}
    same: dict[Value, Value] = {}
    kept: list[Instruction] = []
    for i in instructions:
        i.args = replaced(i.args, same)
        if isinstance(i, RowCall) and i.spec.row.view:
            kept.append(i)  # two views are two arrays
            continue
        before = seen.setdefault(i.key(), i.outputs)
        if before is i.outputs or any(v in results for v in i.outputs):
            kept.append(i)
        else:
            same.update(zip(i.outputs, before, strict=True))
    return kept
