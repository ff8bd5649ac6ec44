"""One pass over the elements: a traced formula as a Python callable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.kernels.code import address_of
from whygrad.kernels.host import host
from whygrad.kernels.machine import SINGLE_ONLY, Writer
from whygrad.kernels.pool import pool
from whygrad.kernels.trace import Symbol, Untraceable

_whygrad_internal_ = True

# Below so many elements one thread is quicker than two.
ALONE_BELOW = 16384
UNROLL = 4


def inputs(kinds: str) -> list[Symbol | None]:
    """Symbols for arguments: "a" an array, "m" a boolean one, "s" a number; "n" is None."""
    return [None if kind == "n" else Symbol("input", (i,), kind == "m") for i, kind in enumerate(kinds)]


def compile_formula(name: str, formula: Symbol, kinds: str, fallback: Any,
                    code: str = "f4", into: bool = False) -> Callable[..., Any]:
    """A function of arrays (and numbers) that computes `formula` if they are alike, else calls one of `fallback`.

    With `into` it has one argument more: the array to write to, which may be one of the others.
    """
    text = repr(formula)
    if code == "f8" and any(f"{word}(" in text for word in SINGLE_ONLY):
        raise Untraceable("in float64")
    if "a" not in kinds:
        raise Untraceable("of masks and numbers alone: the dtype of the result is another matter")
    pool()
    address = address_of(f"pointwise {code} {kinds}{' into' if into else ''}: {text}",
                         lambda module, symbol: _write(module, symbol, formula, kinds, code, into))
    from whygrad.kernels.calls import python_function

    return python_function(name, address, fallback)


def _write(module: Any, name: str, formula: Symbol, kinds: str, code: str, into: bool) -> None:
    from whygrad.kernels.calls import Entry, data_of
    from whygrad.kernels.values import ELEMENT, F64, I8, I64, POINTER, VOID, Function

    element = ELEMENT[code]
    out_code = "?" if formula.is_mask else code
    lanes = host().lanes * 4 // (8 if code == "f8" else 4)

    task = Function(module, f"{name}_task", VOID, [POINTER, I64, I64], internal=True)
    slots, low, high = task.arguments
    arguments = [task.load(F64, slots, i).to(element) if kind in "sn" else task.load(POINTER, slots, i)
                 for i, kind in enumerate(kinds)]
    out = task.load(POINTER, slots, len(kinds))
    spread = {i: value.spread(lanes) for i, value in enumerate(arguments) if kinds[i] in "sn"}

    def at(i: Any, width: int) -> None:
        values = []
        for number, (kind, argument) in enumerate(zip(kinds, arguments, strict=True)):
            if kind in "sn":
                values.append(spread[number] if width > 1 else argument)
            elif kind == "m":
                values.append(task.load(I8, argument, i, width).differs(0))
            else:
                values.append(task.load(element, argument, i, width))
        writer = Writer(task, values, element, width)
        result = writer.write(formula)
        task.store(result.to(I8) if formula.is_mask else writer.as_number(result), out, i)

    block = lanes * UNROLL
    whole = low + (high - low) // block * block
    vectors = low + (high - low) // lanes * lanes
    with task.loop(low, whole, block) as i:
        for part in range(UNROLL):
            at(i + part * lanes, lanes)
    with task.loop(whole, vectors, lanes) as i:
        at(i, lanes)
    with task.loop(vectors, high) as i:
        at(i, 1)
    task.b.ret_void()

    entry = Entry(module, name, len(kinds) + into)
    values: list[Any] = []
    first = None
    for number, kind in enumerate(kinds):
        if kind == "s":
            values.append(entry.number(entry.argument(number)))
            continue
        if kind == "n":
            entry.require(entry.same(entry.argument(number), "_Py_NoneStruct"))
            values.append(entry.f.constant(0, F64))
            continue
        array = entry.array(entry.argument(number), "?" if kind == "m" else code)
        if first is None:
            first = array
        else:
            entry.same_shape(first, array)
        values.append(array.data)
    assert first is not None
    n = first.size()
    if into:
        made = entry.argument(len(kinds))
        entry.same_shape(first, entry.array(made, out_code, writeable=True))
        entry.f.call("Py_IncRef", VOID, made)
    else:
        made = entry.new_array(out_code, first.ndim, first.shape)
    entry.run(task.function, entry.slots([*values, data_of(entry.f, made)]), n, ALONE_BELOW, block)
    entry.give(made)
