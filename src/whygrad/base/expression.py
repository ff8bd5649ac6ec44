"""Symbolic values: what a function would compute, written down instead of computed.

An `Expr` is an operation applied to expressions and constants. Everything symbolic is made of it: kernels, steps of optimizers
and printed derivatives differ only in who reads the expression (machine code, Python text, a formula for people).

Expressions are hash-consed: the same operation of the same arguments is the same object. So equality is identity, and a reader
that remembers objects visits a shared subexpression once, however often it is used.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Untraceable(Exception):
    """The function asks a symbolic value for something that only a real one can tell."""


class Tracer:
    """Answers what an expression is asked during a trace. Who wants to allow more overrides it."""

    def __init__(self) -> None:
        self._interned: weakref.WeakValueDictionary[Any, Expr] = weakref.WeakValueDictionary()

    def make(self, op: str, *args: Any, **options: Any) -> Expr:
        """The expression itself, without any check."""
        key = op, *map(_identity, args), *[(name, _identity(value)) for name, value in options.items()]
        found = self._interned.get(key)
        if found is None:
            found = self._interned[key] = Expr(self, op, args, options)
        return found

    def apply(self, op: str, *args: Any) -> Any:
        """What an operator of Python gives."""
        return self.make(op, *args)

    def truth(self, expr: Expr) -> bool:
        raise Untraceable("a branch on a value")

    def attribute(self, expr: Expr, name: str) -> Any:
        raise Untraceable(f"the {name} of a value")

    def text(self, expr: Expr) -> str:
        return text_of(expr)


def _identity(value: Any) -> Any:
    """A key that tells constants apart which compare equal (1, 1.0 and True; 0.0 and -0.0)."""
    if isinstance(value, Expr):
        return id(value)  # an expression keeps its arguments alive, so the id is not given to another
    if isinstance(value, (tuple, list)):
        return type(value), *map(_identity, value)
    return type(value), value if isinstance(value, str) else repr(value)


class Expr:
    """`op` applied to `args`, which are expressions and constants; `options` are what was passed by keyword."""

    __slots__ = ("__weakref__", "args", "op", "options", "tracer")

    def __init__(self, tracer: Tracer, op: str, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.tracer = tracer
        self.op = op
        self.args = args
        self.options = options

    def __repr__(self) -> str:
        return self.tracer.text(self)

    def __bool__(self) -> bool:
        return self.tracer.truth(self)

    def __getitem__(self, index: Any) -> Any:
        return self.tracer.apply("item", self, index)

    @property
    def shape(self) -> Any:
        return self.tracer.attribute(self, "shape")

    @property
    def dtype(self) -> Any:
        return self.tracer.attribute(self, "dtype")

    @property
    def ndim(self) -> Any:
        return len(self.shape)

    def _refuse(self, *_: Any) -> Any:
        raise Untraceable("the value itself")

    __len__ = __iter__ = __index__ = __int__ = __float__ = __contains__ = _refuse
    __hash__ = object.__hash__


class Operator(NamedTuple):
    """One of Python's operators: the method of classes, how it is written, how strongly it binds, and what it computes."""

    method: str
    sign: str
    strength: int
    function: Callable[..., Any]


# Binding strength; a name or a call binds strongest.
TEST, SUM, PRODUCT, SIGN, POWER, NAME = 0, 1, 2, 3, 4, 9

OPERATORS = {
    "add": Operator("add", "+", SUM, operator.add), "sub": Operator("sub", "-", SUM, operator.sub),
    "mul": Operator("mul", "*", PRODUCT, operator.mul), "div": Operator("truediv", "/", PRODUCT, operator.truediv),
    "matmul": Operator("matmul", "@", PRODUCT, operator.matmul), "remainder": Operator("mod", "%", PRODUCT, operator.mod),
    "floor_divide": Operator("floordiv", "//", PRODUCT, operator.floordiv), "pow": Operator("pow", "**", POWER, operator.pow),
    "logical_and": Operator("and", "&", TEST, operator.and_), "logical_or": Operator("or", "|", TEST, operator.or_),
    "lt": Operator("lt", "<", TEST, operator.lt), "le": Operator("le", "<=", TEST, operator.le),
    "gt": Operator("gt", ">", TEST, operator.gt), "ge": Operator("ge", ">=", TEST, operator.ge),
    "eq": Operator("eq", "==", TEST, operator.eq), "ne": Operator("ne", "!=", TEST, operator.ne),
}
PREFIXES = {"neg": Operator("neg", "-", SIGN, operator.neg), "logical_not": Operator("invert", "~", SIGN, operator.invert)}


def _method(op: str, swapped: bool = False) -> Callable[..., Any]:
    if swapped:
        return lambda self, other: self.tracer.apply(op, other, self)
    return lambda self, *other: self.tracer.apply(op, self, *other)


def give_operators(cls: type) -> None:
    """Python's operators, for a class with a `tracer`."""
    for op, (name, _, strength, _) in {**OPERATORS, **PREFIXES}.items():
        setattr(cls, f"__{name}__", _method(op))
        if op not in PREFIXES and (strength > TEST or name in ("and", "or")):  # Python swaps comparisons itself
            setattr(cls, f"__r{name}__", _method(op, swapped=True))


give_operators(Expr)


def walk(*roots: Expr) -> Iterator[Expr]:
    """Every expression that the roots are made of, once, arguments first."""
    seen: set[int] = set()
    pending: list[tuple[Expr, bool]] = [(root, False) for root in reversed(roots)]
    while pending:
        expr, is_ready = pending.pop()
        if is_ready:
            yield expr
        elif id(expr) not in seen:
            seen.add(id(expr))
            pending.append((expr, True))
            pending += [(arg, False) for arg in reversed(expr.args) if isinstance(arg, Expr)]


def text_of(*roots: Expr) -> str:
    """One line for each operation, numbered: equal for equal expressions, and as long as they have parts."""
    numbers: dict[int, str] = {}
    lines = []
    for expr in walk(*roots):
        numbers[id(expr)] = f"%{len(numbers)}"
        args = [numbers[id(arg)] if isinstance(arg, Expr) else repr(arg) for arg in expr.args]
        args += [f"{name}={value!r}" for name, value in expr.options.items()]
        lines.append(f"{expr.op}({', '.join(args)})")
    return "; ".join([*lines, " ".join(numbers[id(root)] for root in roots)])
