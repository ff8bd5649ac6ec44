"""Writing LLVM IR as if it were Python: values with operators, and a function being built.

A Value is one number or a vector of them. Arithmetic is IEEE's, nothing is reordered or contracted, so a kernel gives the
same numbers as NumPy; `fma` is written where it is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Self

from whygrad.kernels import ir
from whygrad.kernels.host import host
from whygrad.kernels.ir import F16, F32, F64, FLOATS, I1, I8, I16, I32, I64, POINTER, VOID, vector

__all__ = ["ELEMENT", "F16", "F32", "F64", "I1", "I8", "I16", "I32", "I64", "POINTER", "VOID", "Function", "Some", "Value",
           "Variable", "vector"]

# How an element of each NumPy dtype lies in memory.
ELEMENT = {"f4": F32, "f8": F64, "?": I8, "i8": I64}
CODES = {F16: "f16", F32: "f32", F64: "f64", I8: "i8", I16: "i16", I32: "i32", I64: "i64"}


class Some(int):
    """A number of lanes of which only some are in use, as at the end of a row: `mask` says which."""

    mask: Value

    def __new__(cls, lanes: int, mask: Value) -> Self:
        made = super().__new__(cls, lanes)
        made.mask = mask
        return made


def _number(number: Any, element: Any, lanes: int = 1) -> ir.Operand:
    """The same one each time."""
    key = number if type(number) is int else repr(number), element, lanes  # 0.0 == -0.0 == 0
    found = _numbers.get(key)
    if found is None:
        found = _numbers[key] = ir.number(number, element, lanes)
    return found


_numbers: dict[tuple[Any, ...], ir.Operand] = {}


Operator = Callable[["Value", Any], "Value"]


def _arithmetic(floating: str, integer: str, *, swapped: bool = False, neutral: int | None = None) -> Operator:
    def method(self: Value, other: Any) -> Value:
        operation = floating if self.is_float else integer
        if type(other) is int and other == neutral and operation is integer:
            return self
        a, b = self.v, self.like(other).v
        if swapped:
            a, b = b, a
        return self.f.once("operation", operation, a, b)

    return method


def _operation(name: str) -> Operator:
    return lambda self, other: Value(self.f, self.f.b.operation(name, self.v, self.like(other).v))


def _comparison(how: str, *, unsigned: bool = False) -> Operator:
    def method(self: Value, other: Any) -> Value:
        sort = "u" if unsigned or (self.is_float and how == "!=") else "o" if self.is_float else "s"
        return Value(self.f, self.f.b.compare(sort, how, self.v, self.like(other).v))

    return method


class Value:
    """A number, or a vector of numbers, of a function being built."""

    __slots__ = ("f", "v")

    def __init__(self, f: Function, v: Any) -> None:
        self.f = f
        self.v = v

    kind = property(lambda self: self.v.type)
    lanes = property(lambda self: int(self.v.type.count))
    is_float = property(lambda self: self.v.type.element in FLOATS)

    def like(self, other: Any) -> Value:
        """A Python number as a value of this one's kind."""
        if isinstance(other, Value):
            return other
        return self.f.constant(other, self.v.type.element, self.lanes)

    __add__ = __radd__ = _arithmetic("fadd", "add", neutral=0)
    __sub__, __rsub__ = _arithmetic("fsub", "sub", neutral=0), _arithmetic("fsub", "sub", swapped=True)
    __mul__ = __rmul__ = _arithmetic("fmul", "mul", neutral=1)
    __truediv__, __rtruediv__ = _arithmetic("fdiv", "sdiv"), _arithmetic("fdiv", "sdiv", swapped=True)
    __floordiv__, __mod__ = _operation("udiv"), _operation("urem")
    __and__, __or__, __xor__ = _operation("and"), _operation("or"), _operation("xor")
    # `>>` keeps the sign; with `shifted_right` zeros come in.
    __lshift__, __rshift__, shifted_right = _operation("shl"), _operation("ashr"), _operation("lshr")
    __lt__, __le__, __gt__, __ge__ = _comparison("<"), _comparison("<="), _comparison(">"), _comparison(">=")
    equals, differs = _comparison("=="), _comparison("!=")
    # 0 <= self < other, of integers that have a sign.
    below = _comparison("<", unsigned=True)

    def __neg__(self) -> Value:
        return Value(self.f, self.f.b.fneg(self.v)) if self.is_float else 0 - self

    def __invert__(self) -> Value:
        return Value(self.f, self.f.b.not_(self.v))

    def bits_as(self, element: Any) -> Value:
        """The same bits, read as another type of the same size."""
        return self.cast("bitcast", element)

    def to(self, element: Any) -> Value:
        """Converted: between float sizes, and between floats and signed integers."""
        old = self.v.type.element
        if old is element:
            return self
        if self.is_float and element in FLOATS:
            how = "fpext" if FLOATS.index(element) > FLOATS.index(old) else "fptrunc"
        elif self.is_float:
            how = "fptosi"
        elif element in FLOATS:
            how = "uitofp" if old is I1 else "sitofp"
        else:
            how = "zext" if old is I1 else "sext" if old.width < element.width else "trunc"
        return self.cast(how, element)

    def cast(self, how: str, element: Any) -> Value:
        """Converted by that instruction."""
        return Value(self.f, self.f.b.cast(how, self.v, vector(element, self.lanes)))

    def as_integer(self) -> Value:
        """An address as a number."""
        return self.cast("ptrtoint", I64)

    def spread(self, lanes: int) -> Value:
        """One number in all lanes."""
        if lanes == 1:
            return self
        undefined = ir.undefined(vector(self.v.type, lanes))
        first = self.f.b.insert(undefined, self.v, 0)
        return Value(self.f, self.f.b.shuffle(first, undefined, ir.zero(vector(I32, lanes))))

    def lane(self, i: int) -> Value:
        return self if self.lanes == 1 else Value(self.f, self.f.b.extract(self.v, i))


class Variable:
    """A place in the function's frame, for what changes in a loop."""

    __slots__ = ("f", "kind", "place")

    def __init__(self, f: Function, start: Value) -> None:
        self.f = f
        self.kind = start.v.type
        with f.b.entry_block():
            self.place = f.b.alloca(self.kind)
        self.set(start)

    def get(self) -> Value:
        return Value(self.f, self.f.b.load(self.kind, self.place))

    def set(self, value: Value) -> None:
        self.f.b.store(value.v, self.place)

    def add(self, value: Value) -> None:
        self.set(self.get() + value)


class Function:
    """An LLVM function being built. `arguments` are Values."""

    def __init__(self, module: Any, name: str, result: Any, kinds: list[Any], *, internal: bool = False) -> None:
        self.module = module
        body = module.define(name, result, kinds, internal=internal)
        self.function = body.declared
        self.b = ir.Builder(body)
        self.arguments = [Value(self, argument) for argument in body.arguments]
        self.lanes = host().lanes  # of a vector of float32
        self._done: dict[tuple[Any, ...], Value] = {}

    def once(self, method: str, *operands: Any) -> Value:
        """What the builder makes of it; or made of the same before, in this block."""
        key = (method, self.b.block, *operands)
        found = self._done.get(key)
        if found is None:
            found = self._done[key] = Value(self, getattr(self.b, method)(*operands))
        return found

    def give(self, value: Any = None) -> None:
        """The function ends here, with that result."""
        self.b.ret(value.v if isinstance(value, Value) else value)

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
        return self.once("address", base.v, self._index(index), element)

    def load(self, element: Any, base: Value, index: Any = 0, lanes: int = 1) -> Value:
        """Lanes that are not in use are 0."""
        place = self.pointer(element, base, index)
        if isinstance(lanes, Some):
            return self.call(f"llvm.masked.load.v{lanes:d}{CODES[element]}.p0", vector(element, int(lanes)), place,
                             self.constant(_alignment(element), I32), lanes.mask, ir.zero(vector(element, int(lanes))))
        return Value(self, self.b.load(vector(element, int(lanes)), place.v, _alignment(element)))

    def store(self, value: Value, base: Value, index: Any = 0, lanes: int = 1) -> None:
        """`lanes` need be said only if not all are in use."""
        element = value.v.type.element
        if isinstance(lanes, Some):
            self.call(f"llvm.masked.store.v{lanes:d}{CODES[element]}.p0", VOID, value, self.pointer(element, base, index),
                      self.constant(_alignment(element), I32), lanes.mask)
            return
        self.b.store(value.v, self.pointer(element, base, index).v, _alignment(element))

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
        body, after = self.b.append_block(), self.b.append_block()
        self.b.branch_if(self.b.compare("s", "<", start, stop), body, after)
        self.b.continue_in(body)
        place = self.b.phi(I64)
        place.add(start, before)
        i = place.result if running else self.b.unknown(place.result)
        yield Value(self, i)
        following = self.b.operation("add nsw", i, step)
        place.add(following, self.b.block)
        self.b.branch_if(self.b.compare("s", "<", following, stop), body, after)
        self.b.continue_in(after)

    @contextmanager
    def repeat_while(self, condition: Callable[[], Value]) -> Iterator[None]:
        top, body, after = (self.b.append_block() for _ in range(3))
        self.b.branch(top)
        self.b.continue_in(top)
        self.b.branch_if(condition().v, body, after)
        self.b.continue_in(body)
        yield
        self.b.branch(top)
        self.b.continue_in(after)

    def rest(self, start: Value, stop: Value, lanes: int, body: Callable[[Value, int], None]) -> None:
        """`body(i, width)` for what is left from start to stop: fewer elements than lanes."""
        if lanes < 8:  # processors without masks
            with self.loop(start, stop) as i:
                body(i, 1)
            return
        with self.when(start < stop):
            body(start, Some(lanes, self.lane_numbers(lanes) < (stop - start).to(I32).spread(lanes)))

    def when(self, condition: Value, likely: bool | None = None) -> AbstractContextManager[None]:
        return self.b.if_then(condition.v, likely)

    def either(self, condition: Value, likely: bool | None = None) -> AbstractContextManager[Any]:
        """Gives two contexts: for what is done if the condition holds, and if not."""
        return self.b.if_else(condition.v, likely)

    def lane_numbers(self, lanes: int, element: Any = I32) -> Value:
        """0, 1, 2 ..."""
        return Value(self, ir.integers(element, tuple(range(lanes))))

    def frame(self, element: Any, count: int, align: int = 64) -> Value:
        """Memory in the function's frame."""
        with self.b.entry_block():
            return Value(self, self.b.alloca(element, count, align))

    @property
    def null(self) -> Value:
        return Value(self, ir.NULL)

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

    def call(self, name: str, result: Any, *arguments: Any) -> Value:
        """Call a function by name: one of C's, of another object, or of this module."""
        values = [argument.v if isinstance(argument, Value) else argument for argument in arguments]
        return Value(self, self.b.call(self.module.declare(name, result, [v.type for v in values]), values))

    def call_task(self, task: Any, *arguments: Any) -> None:
        """task(slots, low, high), a function or its address."""
        address = task.v if isinstance(task, Value) else task
        self.b.call(address, [argument.v for argument in arguments], VOID)

    def symbol(self, name: str) -> Value:
        """The address of what is called so."""
        return Value(self, self.module.variable(name))

    def intrinsic(self, name: str, *arguments: Value) -> Value:
        """llvm.<name> for the type of its first argument."""
        kind = arguments[0].v.type
        code = CODES[kind.element]
        suffix = f"v{kind.count}{code}" if kind.count > 1 else code
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
            low, high = range(lanes), range(lanes, 2 * lanes)
            x = combine(*[self.shuffle(x, x, half) if lanes > 1 else x.lane(half[0]) for half in (low, high)])
        return x

    def any(self, mask: Value) -> Value:
        if mask.lanes == 1:
            return mask
        return self.call(f"llvm.vector.reduce.or.v{mask.lanes}i1", I1, mask)

    def with_lane(self, x: Value, i: int, value: Value) -> Value:
        return value if x.lanes == 1 else Value(self, self.b.insert(x.v, value.v, i))

    def shuffle(self, a: Value, b: Value, places: Iterable[int]) -> Value:
        return Value(self, self.b.shuffle(a.v, b.v, ir.integers(I32, tuple(places))))


def _alignment(element: Any) -> int:
    return {F64: 8, I64: 8, F16: 2, I16: 2, I8: 1, I1: 1}.get(element, 4)
