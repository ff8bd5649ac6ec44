"""Programs made shorter: instructions that nobody needs, and those that compute the same again, are left out."""

from __future__ import annotations

from typing import Any

from whygrad.compilation.fusion import fused, without_identities
from whygrad.compilation.program import Instruction, RowCall, Value, Write, replaced


def optimise(instructions: list[Instruction], results: list[Value]) -> list[Instruction]:
    for shorten in (without_unused, without_repeated, without_identities, fused):
        instructions = shorten(instructions, results)
    return instructions


def written_memory(instructions: list[Instruction]) -> bool:
    """Whether the program itself writes arrays in place, or calls somebody who may."""
    return any(isinstance(i, Write) or not i.pure for i in instructions)


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
