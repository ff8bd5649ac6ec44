"""The kernel reader of optimizers: their `update`, written with `+=` for arrays, as one pass over parameters and buffers.

The numbers of a step (learning rate, bias corrections ...) change, its formula does not. So `update` runs on marks that do no
more than write down what is done, which costs as much as a few small operations. What they wrote, without the numbers, says
which kernel it is; the numbers become its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Self

from whygrad.kernels.pointwise import compile_update
from whygrad.kernels.trace import Number, Symbol, Untraceable, apply

_whygrad_internal_ = True


class Tape:
    """What was done: words, each with the places of its arguments. Places below 0 are numbers, in order from -1 down."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.done: list[Any] = []
        self.numbers: list[float] = []

    def add(self, word: str, *arguments: Any) -> int:
        """Write down an operation; gives the place of its result."""
        places = []
        for argument in arguments:
            if isinstance(argument, Mark):
                places.append(argument.place)
            elif isinstance(argument, Number):
                self.numbers.append(float(argument))
                places.append(-len(self.numbers))
            else:
                raise Untraceable(f"{word} of a {type(argument).__name__}")
        self.done.append((word, *places))
        return self.count + len(self.done) - 1

    def symbols(self) -> list[Symbol]:
        """The results, as formulas."""
        found = [Symbol("input", (i,)) for i in range(self.count)]
        for word, *places in self.done:
            found.append(apply(word, *[found[i] if i >= 0 else Symbol("input", (self.count - i - 1,)) for i in places]))
        return found


class Mark:
    """A result."""

    __slots__ = ("place", "tape")

    def __init__(self, tape: Tape, place: int) -> None:
        self.tape = tape
        self.place = place

    def __bool__(self) -> bool:
        raise Untraceable("a branch on a value")

    __hash__ = None  # type: ignore[assignment]

    def __neg__(self) -> Mark:
        return Mark(self.tape, self.tape.add("neg", self))

    def __pow__(self, exponent: Any) -> Mark:
        if exponent != 2:
            raise Untraceable(f"the power {exponent}")
        return Mark(self.tape, self.tape.add("mul", self, self))


class Cell(Mark):
    """An array that may be written to."""

    __slots__ = ()

    def __setitem__(self, key: Any, value: Any) -> None:
        if key is not ...:
            raise Untraceable("a part of an array is written")
        self.place = value.place if isinstance(value, Mark) else self.tape.add("add", value, 0.0)


def _operator(word: str, swapped: bool) -> Callable[[Any, Any], Mark]:
    def operator(self: Mark, other: Any) -> Mark:
        return Mark(self.tape, self.tape.add(word, other, self) if swapped else self.tape.add(word, self, other))

    return operator


def _in_place(word: str) -> Callable[[Any, Any], Any]:
    def operator(self: Cell, other: Any) -> Self:  # type: ignore[misc]
        self.place = self.tape.add(word, self, other)
        return self

    return operator


for _sign, _word in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div"}.items():
    setattr(Mark, f"__{_sign}__", _operator(_word, swapped=False))
    setattr(Mark, f"__r{_sign}__", _operator(_word, swapped=True))
    setattr(Cell, f"__i{_sign}__", _in_place(_word))
for _word in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Mark, f"__{_word}__", _operator(_word, swapped=False))


def _function(name: str) -> Callable[..., Mark]:
    def function(*arguments: Any) -> Mark:
        tape = next(x for x in arguments if isinstance(x, Mark)).tape
        return Mark(tape, tape.add(name, *arguments))

    return function


_maximum, _minimum = _function("maximum"), _function("minimum")

VOCABULARY = SimpleNamespace(**{name: _function(name) for name in ("sqrt", "abs", "sign", "maximum", "where")},
                             clip=lambda x, low, high: _minimum(_maximum(x, low), high),
                             detach=lambda x: Mark(x.tape, x.place))

_functions: dict[Any, Callable[..., Any]] = {}


class Step:
    """One step's formula, and its numbers."""

    def __init__(self, update: Callable[..., None], numbers: dict[str, Any], count: int) -> None:
        """`update(xp, numbers, p, g, *buffers)`, for `count` arrays in all."""
        tape = Tape(count)
        cells = [Cell(tape, i) for i in range(count)]
        update(VOCABULARY, numbers, *cells)
        self.values = tape.numbers
        places = [cell.place for cell in cells]
        key = count, tuple(tape.done), tuple(places)
        found = _functions.get(key)
        if found is None:
            symbols = tape.symbols()
            written = [(i, symbols[place]) for i, place in enumerate(places) if place != i]
            found = _functions[key] = compile_update(written, count, len(self.values))
        self.function = found

    def __call__(self, arrays: list[Any]) -> int:
        """Change as many parameters as suit kernels, up to the first that does not; gives how many.

        `arrays` are those of one parameter after the other.
        """
        done: int = self.function(tuple(arrays), *self.values)
        return done


def make_step(update: Callable[..., None], numbers: dict[str, Any], count: int) -> Step | None:
    """None if this update cannot be traced."""
    try:
        return Step(update, numbers, count)
    except Untraceable:
        return None
    except Exception:  # what arrays can do and marks cannot
        return None
