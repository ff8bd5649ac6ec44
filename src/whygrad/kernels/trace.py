"""The kernel reader: runs a row's forward or rule on symbols, and keeps what it would compute.

Symbols know the operators; the vocabulary knows the words of elementwise rows, down to the primitives that can be
written as machine code (see machine.py). In the end all elements may be added up. Whatever else a row does (shapes, sums
along an axis, questions about values) cannot be traced, and stays with NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from whygrad.kernels.machine import PRIMITIVES
from whygrad.ops import TABLE
from whygrad.ops.table import Row
from whygrad.ops.vocabulary import Vocabulary

Number = (bool, int, float)


class Untraceable(Exception):
    """This cannot be written as one pass over the elements."""


class Symbol:
    """An element of a result: an input, or a primitive applied to symbols and numbers."""

    __slots__ = ("arguments", "is_mask", "word")

    def __init__(self, word: str, arguments: tuple[Any, ...], is_mask: bool = False) -> None:
        self.word = word
        self.arguments = arguments
        self.is_mask = is_mask

    def __repr__(self) -> str:
        """The formula: equal formulas share their code."""
        return f"{self.word}({', '.join(map(repr, self.arguments))})"

    def __bool__(self) -> bool:
        raise Untraceable("a branch on a value")

    __hash__ = None  # type: ignore[assignment]

    def __pow__(self, exponent: Any) -> Symbol:
        if isinstance(exponent, Number):
            if exponent in (1, 2, 3):
                result = self
                for _ in range(int(exponent) - 1):
                    result = apply("mul", result, self)
                return result
            if exponent == 0.5:
                return apply("sqrt", self)
            if exponent == -1:
                return apply("reciprocal", self)
        raise Untraceable(f"the power {exponent}")

    def __neg__(self) -> Symbol:
        return apply("neg", self)

    def __invert__(self) -> Symbol:
        return apply("logical_not", self)


def _operator(word: str, swapped: bool = False) -> Callable[[Any, Any], Symbol]:
    def operator(self: Symbol, other: Any) -> Symbol:
        return apply(word, other, self) if swapped else apply(word, self, other)

    return operator


for _sign, _word in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
                     "eq": "eq", "ne": "ne", "and": "logical_and", "or": "logical_or"}.items():
    setattr(Symbol, f"__{_sign}__", _operator(_word))
    if _sign in ("add", "sub", "mul", "truediv"):
        setattr(Symbol, f"__r{_sign}__", _operator(_word, swapped=True))

MASKS = frozenset({"lt", "le", "gt", "ge", "eq", "ne", "logical_and", "logical_or", "logical_not", "isnan", "isfinite"})


# Words for all elements together: with them a formula ends.
TOTALS = ("sum", "mean")


def apply(word: str, *arguments: Any) -> Symbol:
    for argument in arguments:
        if not isinstance(argument, (Symbol, *Number)):
            raise Untraceable(f"{word} of a {type(argument).__name__}")
        if isinstance(argument, Symbol) and argument.word in TOTALS:
            raise Untraceable(f"{word} of a {argument.word}: a second pass")
    if word in ("logical_and", "logical_or", "logical_not") and not all(isinstance(a, Symbol) and a.is_mask for a in arguments):
        raise Untraceable(f"{word} of numbers")
    if word == "where" and not (isinstance(arguments[0], Symbol) and arguments[0].is_mask):
        raise Untraceable("where of numbers")
    return vocabulary.rounded(Symbol(word, arguments, word in MASKS))


# Words whose results need no rounding: they are one of the arguments, or have their digits.
EXACT = frozenset({"neg", "abs", "where", "maximum", "minimum", "sign", "sgn", "constant", "as_float16", "as_bfloat16", *TOTALS})


class SymbolVocabulary(Vocabulary):
    """`xp` for symbols."""

    def __init__(self) -> None:
        self._inside: list[str] = []  # the rows whose definitions are being read
        self.rounds: str | None = None  # the word for what happens to each result of a rule

    def rounded(self, symbol: Symbol) -> Symbol:
        """float16 and bfloat16 are computed in float32. torch rounds what each of its kernels gives, and a rule is several.

        A row that is read inside a rule is one kernel, and is rounded at its end.
        """
        if self.rounds is None or self._inside or symbol.is_mask or symbol.word in EXACT:
            return symbol
        return Symbol(self.rounds, (symbol,))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in PRIMITIVES:
            def primitive(*arguments: Any) -> Symbol:
                return apply(name, *arguments)
            return primitive
        row = TABLE.get(name)
        if row is None or not row.broadcasts or row.variadic or name in self._inside:
            raise Untraceable(name)  # no row, no elementwise one, or one that is NumPy's own
        return lambda *arguments, **statics: self._define(row, arguments, statics)

    def _define(self, row: Row, arguments: tuple[Any, ...], statics: dict[str, Any]) -> Any:
        self._inside.append(row.name)
        try:
            result = row.forward(self, *arguments, **statics)
        finally:
            self._inside.pop()
        return self.rounded(result) if isinstance(result, Symbol) and result.word != "input" else result

    def sum(self, x: Symbol) -> Symbol:
        return apply("sum", x)

    def mean(self, x: Symbol) -> Symbol:
        return apply("mean", x)

    def zeros_like(self, x: Symbol) -> Symbol:
        return apply("constant", 0.0)

    def gelu(self, x: Symbol, *, approximate: str) -> Symbol:
        return self._gelu("gelu", (x,), approximate)

    def gelu_backward(self, grad: Symbol, x: Symbol, *, approximate: str) -> Symbol:
        return self._gelu("gelu_backward", (grad, x), approximate)

    def _gelu(self, name: str, arguments: tuple[Any, ...], approximate: str) -> Any:
        """With the normal distribution itself, not through erf: fewer steps, and accurate where it is small."""
        if approximate != "none":
            return self._define(TABLE[name], arguments, {"approximate": approximate})
        factor = Symbol("normal_cdf" if name == "gelu" else "gelu_slope", arguments[-1:])
        return self.rounded(Symbol("mul", (arguments[0], factor)))

    def polygamma(self, x: Symbol, *, n: int) -> Symbol:
        if n > 1:
            raise Untraceable("a derivative of the gamma function beyond the second")
        return apply("trigamma" if n else "digamma", x)

    def nan_to_num(self, x: Symbol, *, nan: float, posinf: float, neginf: float) -> Symbol:
        finite = apply("where", apply("eq", x, math.inf), posinf, apply("where", apply("eq", x, -math.inf), neginf, x))
        return apply("where", apply("isnan", x), nan, finite)

    def clamp(self, x: Symbol, low: Any, high: Any) -> Symbol:
        """As NumPy's clip: the lower bound first, and NaN goes through."""
        if low is not None:
            x = apply("maximum", x, low)
        return x if high is None else apply("minimum", x, high)


vocabulary = SymbolVocabulary()


def as_traced(forward: Callable[..., Any]) -> Callable[..., Any]:
    """A row's forward, or the word that this vocabulary has instead of it."""
    for name in SHORTER:
        if TABLE[name].forward is forward:
            return lambda xp, *arguments, **statics: getattr(xp, name)(*arguments, **statics)
    return forward


SHORTER = ("gelu", "gelu_backward", "clamp", "nan_to_num", "polygamma")


def trace(function: Callable[..., Any], *arguments: Any, rounds: str | None = None, **statics: Any) -> Symbol:
    """What `function` computes of each element, `rounds` after each step. Raises Untraceable."""
    vocabulary.rounds = rounds
    try:
        result = function(*arguments, **statics)
    except Untraceable:
        raise
    except Exception as error:  # a word that symbols do not know: .shape, a reduction, a table of numbers
        raise Untraceable(str(error)) from error
    finally:
        vocabulary.rounds = None
    if not isinstance(result, Symbol):
        raise Untraceable("a result that is no array")
    return result
