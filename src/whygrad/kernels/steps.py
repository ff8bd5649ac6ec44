"""The kernel reader of optimizers: their `update`, written with `+=` for arrays, as one pass over parameters and buffers.

`update` runs once on expressions. Those of arrays become the formulas of a kernel, and the scalars among them (learning rate,
bias corrections ...), which change from step to step, its arguments. How they follow from the options is remembered (see
options.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Self

from whygrad.base.expression import Expr, Tracer, Untraceable, give_operators, text_of, walk
from whygrad.kernels.options import Scalars, TracedOptions, compile_guarded
from whygrad.kernels.pointwise import compile_update
from whygrad.kernels.trace import Number, vocabulary


class StepTracer(Tracer):
    """Traces one `update`. Leaves are arrays ("input"), options, and plain numbers, each of which is a scalar of its own."""

    def __init__(self, options: dict[str, Any], *, pure: bool) -> None:
        super().__init__()
        self.options: Any = TracedOptions(options, lambda value, text: self.make("option", value, text)) if pure else options
        self.numbers = 0

    def apply(self, op: str, *args: Any) -> Expr:
        args = tuple([arg.expr if isinstance(arg, MutableArray) else arg for arg in args])
        if not all(isinstance(arg, (Expr, *Number)) for arg in args):
            raise Untraceable(f"{op} of {', '.join(type(arg).__name__ for arg in args)}")
        if not any(isinstance(arg, Expr) and not is_scalar(arg) for arg in args):
            return self.make(op, *args)
        if op == "pow":
            if args[1] != 2:
                raise Untraceable(f"the power {args[1]}")
            return self.make("mul", args[0], args[0])
        return self.make(op, *[arg if isinstance(arg, Expr) else self._number(arg) for arg in args])

    def _number(self, value: Any) -> Expr:
        """A number may be another one in the next step, so it is told from an equal one."""
        self.numbers += 1
        return self.make("number", value, self.numbers)

    def filled(self, value: Any) -> Expr:
        """An array as it is; a number in every element."""
        if isinstance(value, Expr):
            return self.make("filled", value) if is_scalar(value) else value
        return self.make("filled", self._number(value))

    def truth(self, expr: Expr) -> bool:
        if not is_scalar(expr):
            raise Untraceable("a branch on a value")
        return bool(self.options.branch(expr))


def is_scalar(expr: Expr) -> bool:
    return all(part.op not in ("input", "filled") for part in walk(expr))


class MutableArray:
    """An array that `update` writes to: the expression it holds now."""

    def __init__(self, tracer: StepTracer, expr: Expr) -> None:
        self.tracer = tracer
        self.expr = expr

    def __bool__(self) -> bool:
        raise Untraceable("a branch on a value")

    def __setitem__(self, key: Any, value: Any) -> None:
        if key is not ...:
            raise Untraceable("a part of an array is written")
        self.expr = self.tracer.filled(_current(value))

    __hash__ = None  # type: ignore[assignment]


def _current(value: Any) -> Any:
    return value.expr if isinstance(value, MutableArray) else value


def _in_place(op: str) -> Callable[[Any, Any], Any]:
    def operator(self: MutableArray, other: Any) -> Self:  # type: ignore[misc]
        self.expr = self.tracer.apply(op, self, other)
        return self

    return operator


give_operators(MutableArray)
for _name, _op in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div"}.items():
    setattr(MutableArray, f"__i{_name}__", _in_place(_op))


def _function(name: str) -> Callable[..., Expr]:
    def function(*args: Any) -> Expr:
        tracer = next(x for x in args if isinstance(x, (Expr, MutableArray))).tracer
        return tracer.apply(name, *args)  # type: ignore[no-any-return]

    return function


_maximum, _minimum = _function("maximum"), _function("minimum")

# `xp` of an update.
VOCABULARY = SimpleNamespace(**{name: _function(name) for name in ("sqrt", "abs", "sign", "maximum", "where")},
                             clip=lambda x, low, high: _minimum(_maximum(x, low), high), detach=_current)


class Step:
    """A kernel, and the scalars of one step."""

    def __init__(self, function: Callable[..., Any], values: list[float]) -> None:
        self.function = function
        self.values = values

    def __call__(self, arrays: list[Any]) -> int:
        """Change as many parameters as suit kernels, up to the first that does not; gives their number.

        `arrays` are those of one parameter after the other.
        """
        done: int = self.function(tuple(arrays), *self.values)
        return done


def make_step(update: Callable[..., None], options: dict[str, Any], count: int, *, pure: bool) -> Step | None:
    """The step by `update(xp, options, p, g, *buffers)`, for `count` arrays in all. None if it cannot be traced.

    A `pure` update computes its scalars from the options alone: then how it does is remembered.
    """
    known = _known_steps(update, count) if pure else []
    for compute_scalars, function in known:
        values = compute_scalars(options)
        if values is not None:
            return Step(function, values)
    try:
        tracer, scalars, function = _traced(update, options, count, pure=pure)
        if not pure:
            return Step(function, [float(scalar.args[0]) for scalar in scalars])
        compute_scalars = compile_guarded([s.args[0] if s.op == "number" else s for s in scalars], tracer.options.guards)
    except Exception:  # Untraceable, or something that arrays and numbers can do and expressions cannot
        return None
    known.append((compute_scalars, function))
    if len(known) > MAX_KNOWN_STEPS:
        known.pop(0)
    return Step(function, compute_scalars(options))  # type: ignore[arg-type]  # the guards hold for the options traced


MAX_KNOWN_STEPS = 16


@lru_cache(maxsize=64)
def _known_steps(update: Callable[..., None], count: int) -> list[tuple[Scalars, Callable[..., Any]]]:
    """For each trace so far: what computes its scalars from options of the same kind, and its kernel."""
    return []


_kernels: dict[Any, Callable[..., Any]] = {}


def _traced(update: Callable[..., None], options: dict[str, Any], count: int, *,
            pure: bool) -> tuple[StepTracer, list[Expr], Callable[..., Any]]:
    """What was asked of the options, the scalars that the kernel takes, and the kernel."""
    tracer = StepTracer(options, pure=pure)
    arrays = [MutableArray(tracer, tracer.make("input", i)) for i in range(count)]
    update(VOCABULARY, tracer.options, *arrays)
    written = [(i, array.expr) for i, array in enumerate(arrays) if array.expr is not tracer.make("input", i)]
    scalars, formulas = _lowered(count, [expr for _, expr in written])
    targets = [i for i, _ in written]
    key = count, len(scalars), tuple(targets), text_of(*formulas)
    found = _kernels.get(key)
    if found is None:
        found = _kernels[key] = compile_update(list(zip(targets, formulas, strict=True)), count, len(scalars))
    return tracer, scalars, found


def _lowered(count: int, roots: list[Expr]) -> tuple[list[Expr], list[Expr]]:
    """Formulas of a kernel whose inputs are the arrays, and after them the scalars."""
    formulas: dict[Expr, Expr] = {}
    scalars: list[Expr] = []
    for expr in walk(*roots):
        if expr.op == "input":
            formulas[expr] = vocabulary.make("input", expr.args[0])
        elif not is_scalar(expr):
            args: list[Expr] = []
            for arg in expr.args:
                if arg not in formulas:
                    formulas[arg] = vocabulary.make("input", count + len(scalars))
                    scalars.append(arg)
                args.append(formulas[arg])
            formulas[expr] = args[0] if expr.op == "filled" else vocabulary.apply(expr.op, *args)
    return scalars, [formulas[root] for root in roots]
