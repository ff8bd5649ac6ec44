"""One pass over the elements: a traced formula as a Python callable."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from whygrad.kernels.code import address_of
from whygrad.kernels.host import host
from whygrad.kernels.machine import SINGLE_ONLY, Writer
from whygrad.kernels.pool import pool
from whygrad.kernels.trace import Symbol, Untraceable

_whygrad_internal_ = True

# Below so many elements one thread is quicker than two.
ALONE_BELOW = 16384


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


def compile_update(written: list[tuple[int, Symbol]], kinds: str) -> Callable[..., Any]:
    """A function that writes each formula into the argument of that number, all in one pass.

    It gives None, or NotImplemented if the arguments are not float32 arrays of one shape, in one piece.
    """
    text = "; ".join(f"{target} = {formula!r}" for target, formula in written)
    found = _updates.get(kinds + text)
    if found is None:
        pool()
        address = address_of(f"update {kinds}: {text}", lambda module, symbol: _write_update(module, symbol, written, kinds))
        from whygrad.kernels.calls import python_function

        def declined(*args: Any) -> Any:
            return NotImplemented

        found = _updates[kinds + text] = python_function("update", address, (declined, declined))
    return found


_updates: dict[str, Callable[..., Any]] = {}


def _write(module: Any, name: str, formula: Symbol, kinds: str, code: str, into: bool) -> None:
    from whygrad.kernels.calls import Entry, data_of
    from whygrad.kernels.values import VOID

    out_code = "?" if formula.is_mask else code
    task, block = _write_task(module, f"{name}_task", [(len(kinds), formula)], kinds, code)
    entry = Entry(module, name, len(kinds) + into)
    values, first = _read_arguments(entry, kinds, code)
    n = first.size()
    if into:
        made = entry.argument(len(kinds))
        entry.same_shape(first, entry.array(made, out_code, writeable=True))
        entry.f.call("Py_IncRef", VOID, made)
    else:
        made = entry.new_array(out_code, first.ndim, first.shape)
    entry.run(task, entry.slots([*values, data_of(entry.f, made)]), n, ALONE_BELOW, block)
    entry.give(made)


def _write_update(module: Any, name: str, written: list[tuple[int, Symbol]], kinds: str) -> None:
    from whygrad.kernels.calls import Entry
    from whygrad.kernels.values import VOID

    task, block = _write_task(module, f"{name}_task", written, kinds, "f4")
    entry = Entry(module, name, len(kinds))
    values, first = _read_arguments(entry, kinds, "f4", writeable={target for target, _ in written})
    entry.run(task, entry.slots(values), first.size(), ALONE_BELOW, block)
    nothing = entry.object("_Py_NoneStruct")
    entry.f.call("Py_IncRef", VOID, nothing)
    entry.give(nothing)


def _read_arguments(entry: Any, kinds: str, code: str, writeable: Collection[int] = ()) -> tuple[list[Any], Any]:
    """What a task needs of each argument, and the first array; all arrays must have its shape."""
    from whygrad.kernels.values import F64

    values: list[Any] = []
    first = None
    for number, kind in enumerate(kinds):
        argument = entry.argument(number)
        if kind == "s":
            values.append(entry.number(argument))
        elif kind == "n":
            entry.require(entry.same(argument, "_Py_NoneStruct"))
            values.append(entry.f.constant(0, F64))
        else:
            array = entry.array(argument, "?" if kind == "m" else code, number in writeable)
            if first is None:
                first = array
            else:
                entry.same_shape(first, array)
            values.append(array.data)
    return values, first


def _write_task(module: Any, name: str, written: list[tuple[int, Symbol]], kinds: str, code: str) -> tuple[Any, int]:
    """The loop itself: slots hold the arguments, `written` says which slot gets which formula. Also gives its block size."""
    from whygrad.kernels.values import ELEMENT, F64, I8, I64, POINTER, VOID, Function

    element = ELEMENT[code]
    lanes = host().lanes * 4 // (8 if code == "f8" else 4)
    text = repr(written)
    # Long formulas keep the processor busy by themselves, and unrolled they take long to compile.
    unroll = 1 if any(f"{word}(" in text for word in SINGLE_ONLY) or len(text) > 400 else 4

    f = Function(module, name, VOID, [POINTER, I64, I64], internal=True)
    slots, low, high = f.arguments
    arguments = [f.load(F64, slots, i).to(element) if kind in "sn" else f.load(POINTER, slots, i)
                 for i, kind in enumerate(kinds)]
    targets = [f.load(POINTER, slots, target) for target, _ in written]
    spread = {i: value.spread(lanes) for i, value in enumerate(arguments) if kinds[i] in "sn"}

    def at(i: Any, width: int) -> None:
        values = []
        for number, (kind, argument) in enumerate(zip(kinds, arguments, strict=True)):
            if kind in "sn":
                values.append(spread[number] if width > 1 else argument)
            elif kind == "m":
                values.append(f.load(I8, argument, i, width).differs(0))
            else:
                values.append(f.load(element, argument, i, width))
        writer = Writer(f, values, element, width)
        results = [writer.write(formula) for _, formula in written]
        for target, result, (_, formula) in zip(targets, results, written, strict=True):
            f.store(result.to(I8) if formula.is_mask else writer.as_number(result), target, i)

    block = lanes * unroll
    whole = low + (high - low) // block * block
    vectors = low + (high - low) // lanes * lanes
    with f.loop(low, whole, block) as i:
        for part in range(unroll):
            at(i + part * lanes, lanes)
    if unroll > 1:
        with f.loop(whole, vectors, lanes) as i:
            at(i, lanes)
    with f.loop(vectors, high) as i:
        at(i, 1)
    f.b.ret_void()
    return f.function, lanes * 4
