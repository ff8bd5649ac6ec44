"""One pass over the elements: a traced formula as a loop, and as a Python callable (through elementwise.py or totals.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.base.dtypes import bfloat16
from whygrad.base.expression import Expr, Untraceable, text_of, walk
from whygrad.kernels import elementwise, functions
from whygrad.kernels.code import address_of
from whygrad.kernels.host import DTYPES, host
from whygrad.kernels.machine import SINGLE_ONLY, Writer
from whygrad.kernels.totals import PIECE, total_function
from whygrad.kernels.trace import TOTALS, inputs, is_mask, trace
from whygrad.kernels.updates import update_function
from whygrad.kernels.values import F32, F64, I8, I64, POINTER, VOID, Function, Some, Value

# The codes of float16 and bfloat16, which are computed in float32, and the primitives that round to them.
HALF = {"f2": "as_float16", "b2": "as_bfloat16"}
# Elements below which one thread is quicker than two.
SERIAL_BELOW = 16384
# Operations from which on a loop is not unrolled.
LONG = 14


def compile_traced(name: str, traced: Callable[..., Any], kinds: str, fallback: Any, code: str, *, rounds: bool, into: bool,
                   references: int) -> tuple[Callable[..., Any] | None, str]:
    """`compile_formula` of what a function computes; or None, and why: "no formula", "an argument" (it gives one back, which
    costs nothing), or "dtype". `rounds`: torch rounds float16 and bfloat16 after each step."""
    try:
        formula = trace(traced, *inputs(kinds), rounding=HALF.get(code) if rounds else None)
    except Untraceable:
        return None, "no formula"
    if formula.op in ("input", "mask") and not into:
        return None, "an argument"
    try:
        return compile_formula(name, formula, kinds, fallback, code, into, references), ""
    except Untraceable:
        return None, "dtype"


def compile_formula(name: str, formula: Expr, kinds: str, fallback: Any,
                    code: str = "f4", into: bool = False, references: int = 0) -> Callable[..., Any]:
    """A function of arrays (and numbers) that computes `formula`, and calls one of `fallback` where it cannot.

    With `into` it has one argument more: the array to write to, which may be one of the others. `references`: see
    `elementwise_function`.
    """
    if code == "f8" and any(expr.op in SINGLE_ONLY for expr in walk(formula)):
        raise Untraceable("in float64")
    if "a" not in kinds:
        raise Untraceable("of masks and numbers alone: the dtype of the result is another matter")
    if len(kinds) > elementwise.MOST:
        raise Untraceable("too many arguments")
    if formula.op in TOTALS:
        return _compile_total(name, formula, kinds, fallback, code)
    result = elementwise.GIVEN if into else elementwise.NEW
    if formula.op == HALF.get(code):
        formula = formula.args[0]  # what is stored is rounded in any case
    out = DTYPES["?"] if is_mask(formula) else dtype_of(code)
    address = _address([(elementwise.OUT, formula)], kinds, code)
    return elementwise.elementwise_function(name, address, _arguments(kinds, code), out, fallback, result=result,
                                            serial_below=SERIAL_BELOW, references=references)


def _compile_total(name: str, formula: Expr, kinds: str, fallback: Any, code: str) -> Callable[..., Any]:
    if code in HALF:
        raise Untraceable("in float16 or bfloat16: each element is rounded before it is added, which NumPy's function does")
    (term,) = formula.args
    kinds = kinds.replace("s", "a")
    address = address_of(f"total {code} {kinds}: {text_of(term)}",
                         lambda module, symbol: _write_total(module, symbol, term, kinds, code))
    return total_function(name, address, _arguments(kinds, code), dtype_of(code), fallback, mean=formula.op == "mean",
                          serial_below=SERIAL_BELOW)


def compile_update(written: list[tuple[int, Expr]], arrays: int, numbers: int) -> Callable[..., Any]:
    """A function of many sets of `arrays` arrays, and of numbers: each formula is written into the array of that position, in
    one pass over all sets (see updates.py)."""
    text = f"{arrays} {numbers} {_text(written)}"
    found = _updates.get(text)
    if found is None:
        if arrays + numbers > elementwise.MOST:
            raise Untraceable("too many arguments")
        address = _address(written, "a" * (arrays + numbers), "f4")
        found = _updates[text] = update_function(address, arrays, numbers, {target for target, _ in written}, SERIAL_BELOW)
    return found


_updates: dict[str, Callable[..., Any]] = {}


def _text(written: list[tuple[int, Expr]]) -> str:
    targets, formulas = zip(*written, strict=True)
    return f"{targets} = {text_of(*formulas)}"


def _arguments(kinds: str, code: str) -> list[tuple[int, Any]]:
    """What elementwise.py wants to know of each argument: its kind and dtype."""
    dtype = dtype_of(code)
    if code in HALF:
        known = {"a": (elementwise.ARRAY, dtype), "s": (elementwise.NUMBER, None)}
    else:
        known = {"a": (elementwise.ANY, dtype), "s": (elementwise.ANY, dtype)}
    known |= {"m": (elementwise.MASK, DTYPES["?"]), "n": (elementwise.NOTHING, None)}
    return [known[kind] for kind in kinds]


def dtype_of(code: str) -> Any:
    return bfloat16.numpy if code == "b2" else DTYPES[code]


def _address(written: list[tuple[int, Expr]], kinds: str, code: str) -> int:
    """The code of a loop. The same code takes a number or an array as an argument."""
    if code not in HALF:
        kinds = kinds.replace("s", "a")
    return address_of(f"formula {code} {kinds}: {_text(written)}",
                      lambda module, symbol: _write(module, symbol, written, kinds, code))


def _write(module: Any, name: str, written: list[tuple[int, Expr]], kinds: str, code: str) -> None:
    """formula(slots, low, high); `written` says which slot gets which formula."""
    f = Function(module, name, VOID, [POINTER, I64, I64])
    slots, low, high = f.arguments
    lanes = _lanes(code)
    read = _reader(f, slots, kinds, code)
    targets = [f.load(POINTER, slots, target) for target, _ in written]

    def at(i: Value, part: int, width: int) -> None:
        writer = read(i, part, width)
        results = [writer.write(formula) for _, formula in written]
        for target, result, (_, formula) in zip(targets, results, written, strict=True):
            result = result.to(I8) if is_mask(formula) else writer.as_number(result)
            if code in HALF and not is_mask(formula):
                result = functions.as_float16_bits(f, result) if code == "f2" else functions.as_bfloat16_bits(f, result)
            f.store(result, target, i + part * lanes, width)

    _walk(f, low, high, lanes, 1 if _is_long(*[formula for _, formula in written]) else 2, at)
    f.give()


def _write_total(module: Any, name: str, term: Expr, kinds: str, code: str) -> None:
    """total(slots, low, high): the sums of pieces (see totals.py), of which the first begins at low."""
    element, lanes, unroll = F64 if code == "f8" else F32, _lanes(code), 1 if _is_long(term) else 4
    f = Function(module, name, VOID, [POINTER, I64, I64])
    slots, low, high = f.arguments
    read = _reader(f, slots, kinds, code)
    with f.loop(low, high, PIECE) as start:
        several = [f.variable(f.zeros(element, lanes)) for _ in range(unroll)]
        single = f.variable(f.zeros(element))

        def add(i: Value, part: int, width: int) -> None:
            writer = read(i, part, width)
            value = writer.as_number(writer.write(term))
            if isinstance(width, Some):
                value = f.choose(width.mask, value, 0.0)
            (single if width == 1 else several[part]).add(value)

        _walk(f, start, f.smaller(start + PIECE, high), lanes, unroll, add)
        total = several[0].get()
        for other in several[1:]:
            total = total + other.get()
        f.store((f.total(total) + single.get()).to(F64), f.load(POINTER, slots, elementwise.OUT), start // PIECE)
    f.give()


def _lanes(code: str) -> int:
    return host().lanes // 2 if code == "f8" else host().lanes


def _is_long(*formulas: Expr) -> bool:
    """Long formulas keep the processor busy by themselves, and unrolled they take long to compile."""
    ops = [expr.op for expr in walk(*formulas)]
    return not SINGLE_ONLY.keys().isdisjoint(ops) or len(ops) - ops.count("input") > LONG


def _reader(f: Any, slots: Any, kinds: str, code: str) -> Callable[[Any, int, int], Writer]:
    """`read(i, part, width)` gives a Writer for the elements i + part * lanes up to `width` further ones."""
    element, lanes = F64 if code == "f8" else F32, _lanes(code)
    places = [f.load(POINTER, slots, i) for i in range(len(kinds))]
    steps = [f.load(I64, slots, i + elementwise.STEPS) for i in range(len(kinds))]

    def read(i: Any, part: int, width: int) -> Writer:
        values: list[Any] = []
        for kind, place, step in zip(kinds, places, steps, strict=True):
            where = (i & step) + part * lanes
            if kind == "n":
                values.append(None)
            elif kind == "m":
                values.append(f.load(I8, place, where, width).differs(0))
            elif kind == "a" and code in HALF:
                values.append(functions.load_half(f, code, place, where, width))
            else:
                values.append(f.load(element, place, where, width))
        return Writer(f, values, element, int(width))

    return read


def _walk(f: Any, low: Any, high: Any, lanes: int, unroll: int, at: Callable[[Any, int, int], None]) -> None:
    """`at(i, part, width)` for all elements: `unroll` vectors from i on, one by one, then what is left."""
    block = lanes * unroll
    assert block <= elementwise.FILLED
    whole = low + (high - low) // block * block
    vectors = low + (high - low) // lanes * lanes
    with f.loop(low, whole, block) as i:
        for part in range(unroll):
            at(i, part, lanes)
    if unroll > 1:
        with f.loop(whole, vectors, lanes) as i:
            at(i, 0, lanes)
    f.rest(vectors, high, lanes, lambda i, width: at(i, 0, width))
