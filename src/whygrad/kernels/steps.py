"""The kernel reader of optimizers: their `update`, written with `+=` for arrays, as one pass over parameters and buffers.

The numbers of a step (learning rate, bias corrections ...) change, its formula does not. So `update` runs on marks that do no
more than write down what is done. What they wrote, without the numbers, says which kernel it is; the numbers become its
arguments. How they are computed is written down as well (see options.py): mostly `update` runs once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Self

from whygrad.kernels.options import Known, Options
from whygrad.kernels.pointwise import compile_update
from whygrad.kernels.trace import Number, Symbol, Untraceable, apply


class Tape:
    """What was done: words, each with the places of its arguments. Places below 0 are numbers, in order from -1 down."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.done: list[Any] = []
        self.numbers: list[Any] = []

    def add(self, word: str, *arguments: Any) -> int:
        """Write down an operation; gives the place of its result."""
        places = []
        for argument in arguments:
            if isinstance(argument, Mark):
                places.append(argument.place)
            elif isinstance(argument, (Known, *Number)):
                self.numbers.append(argument)
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


class Step:
    """A kernel, and the numbers of one step."""

    def __init__(self, function: Callable[..., Any], values: list[float]) -> None:
        self.function = function
        self.values = values

    def __call__(self, arrays: list[Any]) -> int:
        """Change as many parameters as suit kernels, up to the first that does not; gives how many.

        `arrays` are those of one parameter after the other.
        """
        done: int = self.function(tuple(arrays), *self.values)
        return done


def make_step(update: Callable[..., None], options: dict[str, Any], count: int, *, pure: bool) -> Step | None:
    """The step by `update(xp, options, p, g, *buffers)`, for `count` arrays in all. None if it cannot be traced.

    If it is `pure`, it computes its numbers from the options and from nothing else. Then how it does is remembered.
    """
    known = _known_steps(update, count) if pure else []
    for recipe, function in known:
        values = recipe(options)
        if values is not None:
            return Step(function, values)
    try:
        if not pure:
            tape, function = _traced(update, options, count)
            return Step(function, [float(number) for number in tape.numbers])
        reading = Options(options)
        tape, function = _traced(update, reading, count)
    except Exception:  # Untraceable, or what arrays and numbers can do that marks cannot
        return None
    recipe = reading.recipe(tape.numbers)
    known.append((recipe, function))
    if len(known) > MOST_RECIPES:
        known.pop(0)
    return Step(function, recipe(options))  # type: ignore[arg-type]  # which are those it was made of


MOST_RECIPES = 16


@lru_cache(maxsize=64)
def _known_steps(update: Callable[..., None], count: int) -> list[tuple[Callable[..., Any], Callable[..., Any]]]:
    """What was traced so far: what computes the numbers if the options are as they were then, and the kernel."""
    return []


_functions: dict[Any, Callable[..., Any]] = {}


def _traced(update: Callable[..., None], options: Any, count: int) -> tuple[Tape, Callable[..., Any]]:
    tape = Tape(count)
    cells = [Cell(tape, i) for i in range(count)]
    update(VOCABULARY, options, *cells)
    places = [cell.place for cell in cells]
    key = count, tuple(tape.done), tuple(places)
    found = _functions.get(key)
    if found is None:
        symbols = tape.symbols()
        written = [(i, symbols[place]) for i, place in enumerate(places) if place != i]
        found = _functions[key] = compile_update(written, count, len(tape.numbers))
    return tape, found
