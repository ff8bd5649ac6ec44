"""Symbolic expressions, obtained by tracing a function instead of running it.

An `Expr` is an operation applied to expressions and constants. Kernels, optimizer steps and printed derivatives all start from
it; they differ only in the printer that reads the expression (machine code, Python source, a formula for people).

Expressions are hash-consed: the same operation on the same arguments is the same object. So equality is identity, and a printer
that memoizes by object visits a shared subexpression once.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Untraceable(Exception):
    """The traced function needs a concrete value, such as the truth value of a comparison."""


class Tracer:
    """Builds the expressions of a trace and refuses what cannot be traced. Subclasses override it to allow more."""

    def __init__(self) -> None:
        self._interned: weakref.WeakValueDictionary[Any, Expr] = weakref.WeakValueDictionary()

    def make(self, op: str, *args: Any, **options: Any) -> Expr:
        """The expression for `op`, without any check."""
        key = op, *map(_identity, args), *[(name, _identity(value)) for name, value in options.items()]
        found = self._interned.get(key)
        if found is None:
            found = self._interned[key] = Expr(self, op, args, options)
        return found

    def apply(self, op: str, *args: Any) -> Any:
        """The result of a Python operator on expressions."""
        return self.make(op, *args)

    def truth(self, expr: Expr) -> bool:
        raise Untraceable("a branch on a value")

    def attribute(self, expr: Expr, name: str) -> Any:
        raise Untraceable(f"the {name} of a value")

    def text(self, expr: Expr) -> str:
        return text_of(expr)


def _identity(value: Any) -> Any:
    """A key that distinguishes constants that compare equal (1, 1.0 and True; 0.0 and -0.0)."""
    if isinstance(value, Expr):
        return id(value)  # an expression keeps its arguments alive, so the id is not reused
    if isinstance(value, (tuple, list)):
        return type(value), *map(_identity, value)
    return type(value), value if isinstance(value, str) else repr(value)


class Expr:
    """`op` applied to `args`, which are expressions and constants; `options` are the keyword arguments."""

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

    shape = property(lambda self: self.tracer.attribute(self, "shape"))
    dtype = property(lambda self: self.tracer.attribute(self, "dtype"))
    ndim = property(lambda self: len(self.shape))

    def _refuse(self, *_: Any) -> Any:
        raise Untraceable("the value itself")

    __len__ = __iter__ = __index__ = __int__ = __float__ = __contains__ = _refuse
    __hash__ = object.__hash__


class Operator(NamedTuple):
    """One of Python's operators: its special method, its symbol, its precedence, and the function that computes it."""

    method: str
    sign: str
    strength: int
    function: Callable[..., Any]


# Precedence, lowest first; names and calls bind strongest.
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
    """Define Python's operators on a class whose instances have a `tracer`."""
    for op, (name, _, strength, _) in {**OPERATORS, **PREFIXES}.items():
        setattr(cls, f"__{name}__", _method(op))
        if op not in PREFIXES and (strength > TEST or name in ("and", "or")):  # Python swaps comparisons itself
            setattr(cls, f"__r{name}__", _method(op, swapped=True))


give_operators(Expr)


def walk(*roots: Expr) -> Iterator[Expr]:
    """Every subexpression of the roots, once each, in topological order (arguments first)."""
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
    """One numbered line per operation: equal for equal expressions, linear in the number of distinct subexpressions."""
    numbers: dict[int, str] = {}
    lines = []
    for expr in walk(*roots):
        numbers[id(expr)] = f"%{len(numbers)}"
        args = [numbers[id(arg)] if isinstance(arg, Expr) else repr(arg) for arg in expr.args]
        args += [f"{name}={value!r}" for name, value in expr.options.items()]
        lines.append(f"{expr.op}({', '.join(args)})")
    return "; ".join([*lines, " ".join(numbers[id(root)] for root in roots)])
