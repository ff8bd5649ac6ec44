"""The text of LLVM IR: kinds, operands, and a builder of instructions, which are text as soon as they are made.

llvmlite has the same as trees of objects; to import them takes longer than to load the kernels of a small program.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, NamedTuple


class Kind:
    """A type. There is one object for each, so kinds are compared by identity."""

    def __init__(self, text: str, width: int = 0, element: Kind | None = None, count: int = 1) -> None:
        self.text = text
        self.width = width  # bits of an integer
        self.element = element or self
        self.count = count

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


F16, F32, F64 = Kind("half"), Kind("float"), Kind("double")
I1, I8, I16, I32, I64 = (Kind(f"i{bits}", bits) for bits in (1, 8, 16, 32, 64))
POINTER, VOID = Kind("ptr"), Kind("void")
FLOATS = (F16, F32, F64)


@cache
def vector(element: Kind, lanes: int) -> Kind:
    return element if lanes == 1 else Kind(f"<{lanes} x {element}>", 0, element, lanes)


class Operand(NamedTuple):
    """A value as instructions name it."""

    type: Kind
    text: str

    def __str__(self) -> str:
        return f"{self.type.text} {self.text}"


class Declared(NamedTuple):
    """A function by its name; `type` is that of its address."""

    text: str
    result: Kind
    type: Kind = POINTER

    def __str__(self) -> str:
        return f"ptr {self.text}"


NULL = Operand(POINTER, "null")


@cache
def undefined(kind: Kind) -> Operand:
    return Operand(kind, "undef")


@cache
def zero(kind: Kind) -> Operand:
    return Operand(kind, "zeroinitializer")


@cache
def integers(kind: Kind, numbers: tuple[int, ...]) -> Operand:
    """A constant vector of integers."""
    return Operand(vector(kind, len(numbers)), f"<{', '.join([f'{kind} {n}' for n in numbers])}>")


def number(value: Any, element: Kind, lanes: int = 1) -> Operand:
    """A constant; in all lanes of a vector."""
    if element in FLOATS:
        text = f"0x{struct.unpack('<Q', struct.pack('<d', _rounded(value) if element is F32 else value))[0]:016x}"
    else:
        text = str(int(value))
    return Operand(element, text) if lanes == 1 else Operand(vector(element, lanes), f"splat ({element} {text})")


def _rounded(value: float) -> float:
    """As a float32."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


class Module:
    """What becomes one object: functions, declarations and global variables by name."""

    def __init__(self) -> None:
        self.globals: dict[str, Any] = {}
        self._parts: list[Any] = []

    def declare(self, name: str, result: Kind, kinds: Sequence[Kind]) -> Declared:
        """A function that another object defines, or the one that was declared or defined by that name."""
        found = self.globals.get(name)
        if found is None:
            found = self.globals[name] = Declared(f'@"{name}"', result)
            self._parts.append(f"declare {result} {found.text}({', '.join(map(str, kinds))})")
        return found  # type: ignore[no-any-return]

    def define(self, name: str, result: Kind, kinds: Sequence[Kind], *, internal: bool) -> Body:
        body = Body(Declared(f'@"{name}"', result), kinds, internal)
        self.globals[name] = body.declared
        self._parts.append(body)
        return body

    def variable(self, name: str) -> Operand:
        """The address of what Python code, or another object, calls so."""
        found = self.globals.get(name)
        if found is None:
            found = self.globals[name] = Operand(POINTER, f'@"{name}"')
            self._parts.append(f"{found.text} = external global i8")
        return found  # type: ignore[no-any-return]

    def table(self, name: str, items: Sequence[Any]) -> Operand:
        """A constant struct of operands."""
        made = self.globals[name] = Operand(POINTER, f'@"{name}"')
        kinds = ", ".join([item.type.text for item in items])
        self._parts.append(f"{made.text} = internal constant {{{kinds}}} {{{', '.join(map(str, items))}}}")
        return made

    def text(self, triple: str, layout: str) -> str:
        weights = "\n".join([f'!{i} = !{{!"branch_weights", i32 {a}, i32 {b}}}' for i, (a, b) in enumerate(WEIGHTS)])
        return "\n".join([f'target triple = "{triple}"', f'target datalayout = "{layout}"', *map(str, self._parts), weights])


# Of branches of which one is unlikely, as numbers of metadata.
WEIGHTS = ((99, 1), (1, 99))


class Block:
    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[Any] = []
        self.terminator: str | None = None

    def __str__(self) -> str:
        return "\n".join([f"{self.name}:", *map(str, self.lines), self.terminator or "unreachable"])


class Phi:
    """A value that depends on the block from which control came."""

    def __init__(self, result: Operand) -> None:
        self.result = result
        self.incoming: list[str] = []

    def add(self, value: Operand, block: Block) -> None:
        self.incoming.append(f"[{value.text}, %{block.name}]")

    def __str__(self) -> str:
        return f"{self.result.text} = phi {self.result.type} {', '.join(self.incoming)}"


class Body:
    """A function's blocks."""

    def __init__(self, declared: Declared, kinds: Sequence[Kind], internal: bool) -> None:
        self.declared = declared
        self.arguments = [Operand(kind, f"%a{i}") for i, kind in enumerate(kinds)]
        self._internal = internal
        self.blocks: list[Block] = []

    def append_block(self) -> Block:
        made = Block(f"b{len(self.blocks)}")
        self.blocks.append(made)
        return made

    def __str__(self) -> str:
        head = f"define {'internal ' * self._internal}{self.declared.result} {self.declared.text}"
        return "\n".join([f"{head}({', '.join(map(str, self.arguments))}) {{", *map(str, self.blocks), "}"])


SIGNS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}


class Builder:
    """Writes instructions to the end of a block. Arguments and results are operands."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.block = body.append_block()
        self._values = 0

    def _result(self, kind: Kind, text: str) -> Operand:
        self._values += 1
        made = Operand(kind, f"%v{self._values}")
        self.block.lines.append(f"{made.text} = {text}")
        return made

    def _do(self, text: str) -> None:
        self.block.lines.append(text)

    def operation(self, name: str, a: Operand, b: Operand) -> Operand:
        """Of two values of one kind: fadd, add, udiv, and ..."""
        return self._result(a.type, f"{name} {a}, {b.text}")

    def fneg(self, a: Operand) -> Operand:
        return self._result(a.type, f"fneg {a}")

    def not_(self, a: Operand) -> Operand:
        return self.operation("xor", a, number(-1, a.type.element, a.type.count))

    def cast(self, how: str, a: Operand, kind: Kind) -> Operand:
        return a if a.type is kind else self._result(kind, f"{how} {a} to {kind}")

    def compare(self, sort: str, how: str, a: Operand, b: Operand) -> Operand:
        """`sort`: "s" and "u" of integers, with a sign or without, "o" and "u" of floats. `how`: a sign of SIGNS."""
        name = SIGNS[how]
        condition = f"fcmp {sort}{name}" if a.type.element in FLOATS else f"icmp {name if name in ('eq', 'ne') else sort + name}"
        return self._result(vector(I1, a.type.count), f"{condition} {a}, {b.text}")

    def select(self, condition: Operand, a: Operand, b: Operand) -> Operand:
        return self._result(a.type, f"select {condition}, {a}, {b}")

    def alloca(self, kind: Kind, count: int = 1, align: int = 0) -> Operand:
        many = f", i32 {count}" if count > 1 else ""
        return self._result(POINTER, f"alloca {kind}{many}{f', align {align}' if align else ''}")

    def load(self, kind: Kind, place: Operand, align: int = 0) -> Operand:
        return self._result(kind, f"load {kind}, {place}{f', align {align}' if align else ''}")

    def store(self, value: Any, place: Operand, align: int = 0) -> None:
        self._do(f"store {value}, {place}{f', align {align}' if align else ''}")

    def address(self, base: Operand, index: Operand, element: Kind) -> Operand:
        return self._result(POINTER, f"getelementptr {element}, {base}, {index}")

    def load_atomic(self, kind: Kind, place: Operand, ordering: str = "seq_cst") -> Operand:
        return self._result(kind, f"load atomic {kind}, {place} {ordering}, align {kind.width // 8}")

    def store_atomic(self, value: Operand, place: Operand, ordering: str = "seq_cst") -> None:
        self._do(f"store atomic {value}, {place} {ordering}, align {value.type.width // 8}")

    def change_atomic(self, how: str, place: Operand, value: Operand, ordering: str = "seq_cst") -> Operand:
        """Gives what was there before."""
        return self._result(value.type, f"atomicrmw {how} {place}, {value} {ordering}")

    def exchange_if(self, place: Operand, expected: Operand, value: Operand, ordering: str = "seq_cst") -> Operand:
        """Store `value` if what is there is as expected; gives whether it was."""
        kind = Kind(f"{{{value.type}, i1}}")
        both = self._result(kind, f"cmpxchg {place}, {expected}, {value} {ordering} monotonic")
        return self._result(I1, f"extractvalue {both}, 1")

    def insert(self, a: Operand, value: Operand, lane: int) -> Operand:
        return self._result(a.type, f"insertelement {a}, {value}, i32 {lane}")

    def extract(self, a: Operand, lane: int) -> Operand:
        return self._result(a.type.element, f"extractelement {a}, i32 {lane}")

    def shuffle(self, a: Operand, b: Operand, places: Operand) -> Operand:
        return self._result(vector(a.type.element, places.type.count), f"shufflevector {a}, {b}, {places}")

    def call(self, function: Any, arguments: Sequence[Any], result: Kind | None = None) -> Operand:
        """`function` is declared; or an address, with the kind of its result."""
        result = result or function.result
        text = f"call {result} {function.text}({', '.join(map(str, arguments))})"
        if result is VOID:
            self._do(text)
            return Operand(VOID, "")
        return self._result(result, text)

    def unknown(self, a: Operand) -> Operand:
        """The same number, of which LLVM does not know that it is."""
        return self._result(a.type, f'call {a.type} asm "", "=r,0"({a})')

    def phi(self, kind: Kind) -> Phi:
        self._values += 1
        made = Phi(Operand(kind, f"%v{self._values}"))
        self.block.lines.append(made)
        return made

    def append_block(self) -> Block:
        return self.body.append_block()

    def continue_in(self, block: Block) -> None:
        self.block = block

    @contextmanager
    def entry_block(self) -> Iterator[None]:
        """What is written here is done first of all."""
        here, self.block = self.block, self.body.blocks[0]
        yield
        self.block = here

    def _end(self, text: str) -> None:
        assert self.block.terminator is None
        self.block.terminator = text

    def branch(self, target: Block) -> None:
        self._end(f"br label %{target.name}")

    def branch_if(self, condition: Operand, yes: Block, no: Block, likely: bool | None = None) -> None:
        weights = "" if likely is None else f", !prof !{0 if likely else 1}"
        self._end(f"br {condition}, label %{yes.name}, label %{no.name}{weights}")

    def ret(self, value: Any = None) -> None:
        self._end("ret void" if value is None else f"ret {value}")

    @contextmanager
    def if_then(self, condition: Operand, likely: bool | None = None) -> Iterator[None]:
        yes, after = self.append_block(), self.append_block()
        self.branch_if(condition, yes, after, likely)
        with self._way(yes, after):
            yield
        self.block = after

    @contextmanager
    def if_else(self, condition: Operand, likely: bool | None = None
                ) -> Iterator[tuple[AbstractContextManager[None], AbstractContextManager[None]]]:
        yes, no, after = self.append_block(), self.append_block(), self.append_block()
        self.branch_if(condition, yes, no, likely)
        yield self._way(yes, after), self._way(no, after)
        self.block = after

    @contextmanager
    def _way(self, block: Block, after: Block) -> Iterator[None]:
        self.block = block
        yield
        if self.block.terminator is None:
            self.branch(after)
