"""Writing LLVM IR as if it were Python: values with operators, and a function being built.

A Value is one number or a vector of them. Arithmetic is IEEE's, nothing is reordered or contracted, so a kernel gives the
same numbers as NumPy; `fma` is written where it is wanted.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Self

from llvmlite import ir

F16, F32, F64 = ir.HalfType(), ir.FloatType(), ir.DoubleType()
I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
FLOATS = (F16, F32, F64)
POINTER = I8.as_pointer()
VOID = ir.VoidType()
_ITSELF = ir.FunctionType(I64, [I64])

# How an element of each NumPy dtype lies in memory.
ELEMENT = {"f4": F32, "f8": F64, "?": I8, "i8": I64}
CODES = {F16: "f16", F32: "f32", F64: "f64", I8: "i8", I16: "i16", I32: "i32", I64: "i64"}


@cache
def vector(element: Any, lanes: int) -> Any:
    return element if lanes == 1 else ir.VectorType(element, lanes)


def lanes_of(kind: Any) -> int:
    return int(kind.count) if isinstance(kind, ir.VectorType) else 1


def element_of(kind: Any) -> Any:
    return kind.element if isinstance(kind, ir.VectorType) else kind


def rounded(number: float) -> float:
    """As a float32."""
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


class Some(int):
    """A number of lanes of which only some are in use, as at the end of a row: `mask` says which."""

    mask: Value

    def __new__(cls, lanes: int, mask: Value) -> Self:
        made = super().__new__(cls, lanes)
        made.mask = mask
        return made


class _Splat(ir.FormattedConstant):  # type: ignore[misc]
    """A vector of the same number, written as one: programs are text before they are compiled."""

    def __init__(self, scalar: Any, lanes: int) -> None:
        self.type = ir.VectorType(scalar.type, int(lanes))
        self.constant = f"splat ({scalar.type} {scalar.get_reference()})"


@cache
def _constant(value: Any, element: Any, lanes: int = 1) -> Any:
    return ir.Constant(vector(element, lanes), value)


def _number(number: Any, element: Any, lanes: int = 1) -> Any:
    """The same one each time."""
    key = number if type(number) is int else repr(number), element, lanes  # 0.0 == -0.0 == 0
    found = _numbers.get(key)
    if found is None:
        convert: Any = {F32: rounded, F64: float}.get(element, int)
        scalar = ir.Constant(element, convert(number))
        found = _numbers[key] = _Splat(scalar, lanes) if lanes > 1 else scalar
    return found


_numbers: dict[tuple[Any, ...], Any] = {}


class _Builder(ir.IRBuilder):  # type: ignore[misc]
    def store(self, value: Any, ptr: Any, align: int | None = None) -> Any:
        """LLVM's pointers are of one kind; llvmlite would have them cast."""
        made = ir.instructions.StoreInstr(self.block, value, ptr)
        made.align = align
        self._insert(made)
        return made

    def address(self, base: Any, index: Any, element: Any) -> Any:
        return self.gep(base, [index], source_etype=element)


class Value:
    """A number, or a vector of numbers, of a function being built."""

    __slots__ = ("f", "v")

    def __init__(self, f: Function, v: Any) -> None:
        self.f = f
        self.v = v

    @property
    def kind(self) -> Any:
        return self.v.type

    @property
    def lanes(self) -> int:
        return lanes_of(self.v.type)

    @property
    def is_float(self) -> bool:
        return element_of(self.v.type) in FLOATS

    def like(self, other: Any) -> Value:
        """A Python number as a value of this one's kind."""
        if isinstance(other, Value):
            return other
        return self.f.constant(other, element_of(self.v.type), self.lanes)

    def _binary(self, other: Any, floating: str, integer: str, swapped: bool = False, neutral: int | None = None) -> Value:
        operation = floating if self.is_float else integer
        if type(other) is int and other == neutral and operation is integer:
            return self
        a, b = self.v, self.like(other).v
        if swapped:
            a, b = b, a
        return self.f.once(operation, a, b)

    def __add__(self, other: Any) -> Value:
        return self._binary(other, "fadd", "add", neutral=0)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Value:
        return self._binary(other, "fsub", "sub", neutral=0)

    def __rsub__(self, other: Any) -> Value:
        return self._binary(other, "fsub", "sub", swapped=True)

    def __mul__(self, other: Any) -> Value:
        return self._binary(other, "fmul", "mul", neutral=1)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Value:
        return self._binary(other, "fdiv", "sdiv")

    def __rtruediv__(self, other: Any) -> Value:
        return self._binary(other, "fdiv", "sdiv", swapped=True)

    def __floordiv__(self, other: Any) -> Value:
        return Value(self.f, self.f.b.udiv(self.v, self.like(other).v))

    def __mod__(self, other: Any) -> Value:
        return Value(self.f, self.f.b.urem(self.v, self.like(other).v))

    def __neg__(self) -> Value:
        return Value(self.f, self.f.b.fneg(self.v) if self.is_float else self.f.b.neg(self.v))

    def __and__(self, other: Any) -> Value:
        return Value(self.f, self.f.b.and_(self.v, self.like(other).v))

    def __or__(self, other: Any) -> Value:
        return Value(self.f, self.f.b.or_(self.v, self.like(other).v))

    def __xor__(self, other: Any) -> Value:
        return Value(self.f, self.f.b.xor(self.v, self.like(other).v))

    def __invert__(self) -> Value:
        return Value(self.f, self.f.b.not_(self.v))

    def __lshift__(self, other: Any) -> Value:
        return Value(self.f, self.f.b.shl(self.v, self.like(other).v))

    def __rshift__(self, other: Any) -> Value:
        """With the sign of what is shifted."""
        return Value(self.f, self.f.b.ashr(self.v, self.like(other).v))

    def _compare(self, how: str, other: Any) -> Value:
        compare = (self.f.b.fcmp_unordered if how == "!=" else self.f.b.fcmp_ordered) if self.is_float else self.f.b.icmp_signed
        return Value(self.f, compare(how, self.v, self.like(other).v))

    def __lt__(self, other: Any) -> Value:
        return self._compare("<", other)

    def __le__(self, other: Any) -> Value:
        return self._compare("<=", other)

    def __gt__(self, other: Any) -> Value:
        return self._compare(">", other)

    def __ge__(self, other: Any) -> Value:
        return self._compare(">=", other)

    def equals(self, other: Any) -> Value:
        return self._compare("==", other)

    def differs(self, other: Any) -> Value:
        return self._compare("!=", other)

    def bits_as(self, element: Any) -> Value:
        """The same bits, read as another type of the same size."""
        return Value(self.f, self.f.b.bitcast(self.v, vector(element, self.lanes)))

    def to(self, element: Any) -> Value:
        """Converted: between float sizes, and between floats and signed integers."""
        old, kind, b = element_of(self.v.type), vector(element, self.lanes), self.f.b
        if old == element:
            return self
        if self.is_float and element in FLOATS:
            return Value(self.f, (b.fpext if FLOATS.index(element) > FLOATS.index(old) else b.fptrunc)(self.v, kind))
        if self.is_float:
            return Value(self.f, b.fptosi(self.v, kind))
        if element in FLOATS:
            return Value(self.f, (b.uitofp if old == I1 else b.sitofp)(self.v, kind))
        if old == I1:
            return Value(self.f, b.zext(self.v, kind))
        return Value(self.f, b.sext(self.v, kind) if old.width < element.width else b.trunc(self.v, kind))

    def as_integer(self) -> Value:
        """An address as a number."""
        return Value(self.f, self.f.b.ptrtoint(self.v, I64))

    def spread(self, lanes: int) -> Value:
        """One number in all lanes."""
        if lanes == 1:
            return self
        undefined, places = _constant(ir.Undefined, self.v.type, lanes), _constant(None, I32, lanes)
        first = self.f.b.insert_element(undefined, self.v, _constant(0, I32))
        return Value(self.f, self.f.b.shuffle_vector(first, undefined, places))

    def lane(self, i: int) -> Value:
        return self if self.lanes == 1 else Value(self.f, self.f.b.extract_element(self.v, ir.Constant(I32, i)))


class Variable:
    """A place in the function's frame, for what changes in a loop."""

    __slots__ = ("f", "place")

    def __init__(self, f: Function, start: Value) -> None:
        self.f = f
        with f.b.goto_entry_block():
            self.place = f.b.alloca(start.v.type)
        self.set(start)

    def get(self) -> Value:
        return Value(self.f, self.f.b.load(self.place))

    def set(self, value: Value) -> None:
        self.f.b.store(value.v, self.place)

    def add(self, value: Value) -> None:
        self.set(self.get() + value)


class Function:
    """An LLVM function being built. `arguments` are Values."""

    def __init__(self, module: Any, name: str, result: Any, kinds: list[Any], *, internal: bool = False) -> None:
        self.module = module
        self.function = ir.Function(module, ir.FunctionType(result, kinds), name)
        if internal:
            self.function.linkage = "internal"
        self.b = _Builder(self.function.append_basic_block("entry"))
        self.arguments = [Value(self, argument) for argument in self.function.args]
        self._done: dict[tuple[Any, ...], Value] = {}

    def once(self, operation: str, *operands: Any, **more: Any) -> Value:
        """What the builder makes of it; or made of the same before, in this block."""
        key = (operation, self.b.block.name, *map(id, operands), *map(id, more.values()))
        found = self._done.get(key)
        if found is None:
            found = self._done[key] = Value(self, getattr(self.b, operation)(*operands, **more))
        return found

    def constant(self, number: Any, element: Any, lanes: int = 1) -> Value:
        return Value(self, _number(number, element, int(lanes)))

    def integer(self, number: int) -> Value:
        return self.constant(number, I64)

    def _index(self, i: Any) -> Any:
        return i.v if isinstance(i, Value) else _number(i, I64)

    def pointer(self, element: Any, base: Value, index: Any = 0) -> Value:
        """The address of element `index` of an array of `element` that starts at `base`."""
        if isinstance(index, int) and not index:
            return base
        return self.once("address", base.v, self._index(index), element=element)

    def load(self, element: Any, base: Value, index: Any = 0, lanes: int = 1) -> Value:
        """Lanes that are not in use are 0."""
        place = self.pointer(element, base, index)
        if isinstance(lanes, Some):
            return self.call(f"llvm.masked.load.v{lanes:d}{CODES[element]}.p0", vector(element, int(lanes)), place,
                             self.constant(_alignment(element), I32), lanes.mask, _constant(None, element, int(lanes)))
        return Value(self, self.b.load(place.v, align=_alignment(element), typ=vector(element, int(lanes))))

    def store(self, value: Value, base: Value, index: Any = 0, lanes: int = 1) -> None:
        """`lanes` need be said only if not all are in use."""
        element = element_of(value.v.type)
        if isinstance(lanes, Some):
            self.call(f"llvm.masked.store.v{lanes:d}{CODES[element]}.p0", VOID, value, self.pointer(element, base, index),
                      self.constant(_alignment(element), I32), lanes.mask)
            return
        self.b.store(value.v, self.pointer(element, base, index).v, align=_alignment(element))

    @contextmanager
    def loop(self, start: Any, stop: Any, step: Any = 1, *, running: bool = False) -> Iterator[Value]:
        """for i in range(start, stop, step): i is an int64.

        If `running`, LLVM finds registers for addresses that run along with i. To think about that takes it a third of all its
        time, and gains something only in the innermost loops of products; so elsewhere it is not told how i goes on.
        """
        if all(isinstance(limit, int) for limit in (start, stop, step)) and len(range(start, stop, step)) == 1:
            yield self.integer(start)
            return
        start, stop, step = self._index(start), self._index(stop), self._index(step)
        before = self.b.block
        body = self.function.append_basic_block("body")
        after = self.function.append_basic_block("after")
        self.b.cbranch(self.b.icmp_signed("<", start, stop), body, after)
        self.b.position_at_end(body)
        place = i = self.b.phi(I64)
        place.add_incoming(start, before)
        if not running:
            i = self.b.asm(_ITSELF, "", "=r,0", [place], side_effect=False)
        yield Value(self, i)
        following = self.b.add(i, step, flags=("nsw",))
        place.add_incoming(following, self.b.block)
        self.b.cbranch(self.b.icmp_signed("<", following, stop), body, after)
        self.b.position_at_end(after)

    @contextmanager
    def repeat_while(self, condition: Callable[[], Value]) -> Iterator[None]:
        top, body, after = (self.function.append_basic_block(name) for name in ("top", "body", "after"))
        self.b.branch(top)
        self.b.position_at_end(top)
        self.b.cbranch(condition().v, body, after)
        self.b.position_at_end(body)
        yield
        self.b.branch(top)
        self.b.position_at_end(after)

    def rest(self, start: Value, stop: Value, lanes: int, body: Callable[[Value, int], None]) -> None:
        """`body(i, width)` for what is left from start to stop: fewer elements than lanes."""
        if lanes < 8:  # processors without masks
            with self.loop(start, stop) as i:
                body(i, 1)
            return
        with self.when(start < stop):
            count = Value(self, ir.Constant(ir.VectorType(I32, lanes), list(range(lanes))))
            body(start, Some(lanes, count < (stop - start).to(I32).spread(lanes)))

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        with self.b.if_then(condition.v):
            yield

    def choose(self, condition: Value, a: Any, b: Any) -> Value:
        model = a if isinstance(a, Value) else b
        return Value(self, self.b.select(condition.v, model.like(a).v, model.like(b).v))

    def smaller(self, a: Value, b: Any) -> Value:
        """Of two integers."""
        return self.choose(a < b, a, b)

    def larger(self, a: Value, b: Any) -> Value:
        return self.choose(a > b, a, b)

    def magnitude(self, a: Value) -> Value:
        return self.choose(a < 0, -a, a)

    def variable(self, start: Value) -> Variable:
        return Variable(self, start)

    def zeros(self, element: Any, lanes: int = 1) -> Value:
        return self.constant(0, element, lanes)

    def call(self, name: str, result: Any, *arguments: Any, variadic: bool = False) -> Value:
        """Call a C function by name."""
        values = [argument.v if isinstance(argument, Value) else argument for argument in arguments]
        found = self.module.globals.get(name)
        if found is None:
            found = ir.Function(self.module, ir.FunctionType(result, [v.type for v in values], var_arg=variadic), name)
        return Value(self, self.b.call(found, values))

    def symbol(self, name: str) -> Value:
        """The address of what is called so."""
        return Value(self, self.module.globals.get(name) or ir.GlobalVariable(self.module, I8, name))

    def intrinsic(self, name: str, *arguments: Value) -> Value:
        """llvm.<name> for the type of its first argument."""
        kind = arguments[0].v.type
        element = element_of(kind)
        code = CODES[element]
        suffix = f"v{kind.count}{code}" if isinstance(kind, ir.VectorType) else code
        return self.call(f"llvm.{name}.{suffix}", kind, *arguments)

    def fma(self, a: Value, b: Any, c: Any) -> Value:
        return self.intrinsic("fma", a, a.like(b), a.like(c))

    def polynomial(self, x: Value, coefficients: list[float]) -> Value:
        """Highest power first."""
        total = x.like(coefficients[0])
        for coefficient in coefficients[1:]:
            total = self.fma(total, x, coefficient)
        return total

    def total(self, x: Value) -> Value:
        """The sum of a vector's lanes, by halves."""
        return self._fold(x, lambda a, b: a + b)

    def highest(self, x: Value) -> Value:
        return self._fold(x, self.maximum)

    def maximum(self, a: Value, b: Any) -> Value:
        """NaN if either is; of two equal ones the first, which tells 0 from -0."""
        b = a.like(b)
        return self._unless_missing(b, self.choose(b > a, b, a))  # one instruction, which gives `a` beside a NaN

    def minimum(self, a: Value, b: Any) -> Value:
        b = a.like(b)
        return self._unless_missing(b, self.choose(b < a, b, a))

    def _unless_missing(self, b: Value, extreme: Value) -> Value:
        return self.choose(b.differs(b), b, extreme)

    def _fold(self, x: Value, combine: Any) -> Value:
        lanes = x.lanes
        while lanes > 1:
            lanes //= 2
            halves = [Value(self, self.b.shuffle_vector(x.v, x.v, ir.Constant(ir.VectorType(I32, lanes), list(places))))
                      if lanes > 1 else x.lane(places[0]) for places in (range(lanes), range(lanes, 2 * lanes))]
            x = combine(*halves)
        return x

    def any(self, mask: Value) -> Value:
        if mask.lanes == 1:
            return mask
        return self.call(f"llvm.vector.reduce.or.v{mask.lanes}i1", I1, mask)

    def with_lane(self, x: Value, i: int, value: Value) -> Value:
        return value if x.lanes == 1 else Value(self, self.b.insert_element(x.v, value.v, ir.Constant(I32, i)))

    def shuffle(self, a: Value, b: Value, places: list[int]) -> Value:
        return Value(self, self.b.shuffle_vector(a.v, b.v, ir.Constant(ir.VectorType(I32, len(places)), places)))


def _alignment(element: Any) -> int:
    return {F64: 8, I64: 8, F16: 2, I16: 2, I8: 1, I1: 1}.get(element, 4)
