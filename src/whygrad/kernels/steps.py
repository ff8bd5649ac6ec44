"""The kernel reader of optimizers: their `update`, written with `+=` for arrays, as one pass over a parameter and its buffers.

The numbers of a step (learning rate, bias corrections ...) change, its formula does not: `update` is traced anew for
each step, which costs as much as a few small operations, and the numbers in it become arguments of the same kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from whygrad.kernels.pointwise import compile_update
from whygrad.kernels.trace import Cell, Number, Symbol, Untraceable, apply

_whygrad_internal_ = True


def _word(name: str) -> Callable[..., Symbol]:
    return lambda *arguments: apply(name, *arguments)


def _clip(x: Any, low: Any, high: Any) -> Symbol:
    return apply("minimum", apply("maximum", x, low), high)


VOCABULARY = SimpleNamespace(**{name: _word(name) for name in ("sqrt", "abs", "sign", "maximum", "where")}, clip=_clip,
                             detach=lambda x: apply("add", x, 0.0) if isinstance(x, Cell) else x)


class Step:
    """One step's formula, and its numbers."""

    def __init__(self, update: Callable[..., None], numbers: dict[str, Any], count: int) -> None:
        """`update(xp, numbers, p, g, *buffers)`, for `count` arrays in all."""
        cells = [Cell(i) for i in range(count)]
        update(VOCABULARY, numbers, *cells)
        self.values: list[float] = []
        self._slots: dict[str, Symbol] = {}
        self._count = count
        written = [(i, self._with_slots(cell.value)) for i, cell in enumerate(cells) if cell.value.word != "input"]
        self.function = compile_update(written, "a" * count + "s" * len(self.values))

    def _with_slots(self, formula: Any) -> Any:
        if isinstance(formula, Number):
            value = float(formula)
            found = self._slots.get(repr(value))
            if found is None:
                found = self._slots[repr(value)] = Symbol("input", (self._count + len(self.values),))
                self.values.append(value)
            return found
        if formula.word == "input":
            return formula
        return Symbol(formula.word, tuple([self._with_slots(a) for a in formula.arguments]), formula.is_mask)

    def __call__(self, arrays: list[Any]) -> bool:
        """Change the arrays; False if they are not of the kind kernels are for, and nothing was done."""
        return self.function(*arrays, *self.values) is not NotImplemented


def make_step(update: Callable[..., None], numbers: dict[str, Any], count: int) -> Step | None:
    """None if this update cannot be traced."""
    try:
        return Step(update, numbers, count)
    except Untraceable:
        return None
    except Exception:  # what arrays can do and symbols cannot
        return None
