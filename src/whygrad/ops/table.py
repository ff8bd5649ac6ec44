"""The table of ops: what a row is, and the decorators that declare one.

A row is a forward function plus one derivative rule per array argument. Both are written against an array namespace
`xp`, so that several readers can run them: bare NumPy arrays, graph-recording Tensors, a pen that writes formulas.
This package knows nothing of tensors, graphs or NumPy; it only declares.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class NoGrad(NamedTuple):
    """Stands in for a rule: this argument or output cannot carry a gradient, and here is why."""

    reason: str


class Rule:
    """The derivative for one argument: `function(g, ...)`, where every other parameter is a saved value."""

    __slots__ = ("function", "names")

    def __init__(self, function: Callable[..., Any], row_name: str, argument: str) -> None:
        # A traceback should show `d_mul_d_a`, not `<lambda>`.
        label = f"d_{row_name}_d_{argument}"
        function.__code__ = function.__code__.replace(co_name=label, co_qualname=label)
        function.__name__ = function.__qualname__ = label
        self.function = function
        self.names = _parameters(function)


class Row:
    """One op: its forward, the rules of its arguments, and how its node in the graph is called."""

    __slots__ = ("at_once", "broadcasts", "forward", "holomorphic", "inputs", "linear", "matrices", "memory", "name", "node",
                 "output_names", "outputs", "partial", "rules", "static_defaults", "statics", "symmetric", "variadic", "view")

    def __init__(self, forward: Callable[..., Any], rules: dict[str, Any], *, broadcasts: bool, view: bool,
                 node: str | Callable[..., str] | None, outputs: tuple[Any, ...] | str, holomorphic: bool,
                 partial: bool = False, memory: str = "own", linear: str = "", symmetric: bool | None = None,
                 at_once: Callable[..., Any] | None = None) -> None:
        code = forward.__code__
        self.name = forward.__name__.rstrip("_")
        self.forward = forward
        self.variadic = bool(code.co_flags & 0x04)
        positional = code.co_varnames[1:code.co_argcount]
        self.statics = code.co_varnames[code.co_argcount:code.co_argcount + code.co_kwonlyargcount]
        if self.variadic:
            positional += (code.co_varnames[code.co_argcount + code.co_kwonlyargcount],)
        self.inputs = positional
        self.static_defaults = forward.__kwdefaults__ or {}
        self.broadcasts = broadcasts
        self.view = view
        self.node = node or f"{camel(self.name)}Backward0"
        self.outputs = outputs
        # Names under which a rule can ask for the results.
        self.output_names = (() if outputs == "list" else ("out",) if len(outputs) == 1 else
                             tuple([f"out{i}" for i in range(len(outputs))]))
        self.holomorphic = holomorphic
        self.partial = partial
        self.memory, _, matrices = memory.partition(" ")
        self.matrices = tuple(map(int, matrices.split())) if matrices else (0,)
        self.linear = tuple([tuple(group.split("+")) for group in linear.split()]) if not view else (self.inputs[:1],)
        self.symmetric = broadcasts if symmetric is None else symmetric
        self.rules = {argument: rule if isinstance(rule, NoGrad) else Rule(rule, self.name, argument)
                      for argument, rule in rules.items()}
        self.at_once = None if at_once is None else Rule(at_once, self.name, "all")
        self._check()

    def _check(self) -> None:
        reserved = RESERVED.intersection((*self.inputs, *self.statics))
        if reserved:
            raise TypeError(f"op '{self.name}': no argument can be called {sorted(reserved)}")
        unknown = {*self.rules, *[name for group in self.linear for name in group]} - set(self.inputs)
        if unknown:
            raise TypeError(f"op '{self.name}': rules for {sorted(unknown)}, but its arrays are {list(self.inputs)}")
        missing = set(self.inputs) - set(self.rules)
        if missing:
            raise TypeError(f"op '{self.name}': no rule for {sorted(missing)}; write one, or NoGrad('why not')")
        legal = {"xp", "g", *self.saveable, *self.statics}
        for argument, rule in (*self.rules.items(), ("all", self.at_once)):
            if isinstance(rule, Rule) and not set(rule.names) <= legal:
                wrong = sorted(set(rule.names) - legal)
                raise TypeError(f"op '{self.name}', rule for '{argument}': unknown names {wrong}; a rule may name "
                                f"{sorted(legal)}")

    @property
    def saveable(self) -> tuple[str, ...]:
        return (*self.inputs, *(f"{name}_shape" for name in self.inputs), *self.output_names)

    def __repr__(self) -> str:
        return f"<row {self.name}({', '.join((*self.inputs, *self.statics))})>"


# Names that the generated functions use for themselves (see backends/row_text.py).
RESERVED = frozenset({"arrays", "busy", "forward", "frame", "grad_state", "inputs", "new", "nodes", "outs", "process_state",
                      "record", "row", "source"})

TABLE: dict[str, Row] = {}


def op(*, node: str | Callable[..., str] | None = None, outputs: tuple[Any, ...] | str = ("out",),
       holomorphic: bool = True, broadcasts: bool = False, view: bool = False, partial: bool = False, memory: str = "contiguous",
       linear: str = "", symmetric: bool | None = None, at_once: Callable[..., Any] | None = None,
       **rules: Callable[..., Any] | NoGrad) -> Callable[[Callable[..., Any]], Row]:
    """Declare a row.

    `node` is torch's name of the graph node where it is not `<Name>Backward0`; a function `(kinds, statics) -> name`
    if torch has several. `outputs` lists the results (a `NoGrad` for one that has no gradient), or is "list" for as
    many as the forward returns; `partial=True` if the rules want None, not zeros, for results whose gradient is
    missing. `holomorphic=False` marks an op whose rule is not valid for complex numbers. `memory` says how the results
    lie in memory: "contiguous", "follow" (in the order of axes of the inputs, see backends/memory_order.py), "channels"
    (contiguous, or with the channels last if the first input has them there), "columns" (matrices column by column; "columns
    0 2" if these results are matrices, and not the first one alone), or "own" (as the forward makes them).

    `at_once` gives the gradients of all arguments in one go, as a tuple: it is for arrays (not Tensors) where all are
    wanted, and names no more than the rules do.

    Forward mode comes from the same rules. Where it can do with less than transposing them, the row says so: `linear`
    names the arguments in each of which the forward is linear ("a+b": in both together), once an argument that is only
    added is left out; `symmetric` says that the matrix of derivatives is, as it is for rows that work element by
    element: then the rule goes both ways.
    """

    def declare(forward: Callable[..., Any]) -> Row:
        row = Row(forward, rules, broadcasts=broadcasts, view=view, node=node, outputs=outputs, holomorphic=holomorphic,
                  partial=partial, memory=memory, linear=linear, symmetric=symmetric, at_once=at_once)
        if row.name in TABLE:
            raise TypeError(f"op '{row.name}' is declared twice")
        TABLE[row.name] = row
        return row

    return declare


def elementwise(**options: Any) -> Callable[[Callable[..., Any]], Row]:
    """A row that works element by element and broadcasts; its rules may ignore broadcasting."""
    return op(broadcasts=True, memory=options.pop("memory", "follow"), **options)


def view(**options: Any) -> Callable[[Callable[..., Any]], Row]:
    """A row whose result shares memory with its first argument."""
    return op(view=True, memory="own", **options)


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in re.split("_", name))


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[:code.co_argcount]


def rule_names(rules: Iterable[Rule]) -> set[str]:
    """Everything that these rules want saved."""
    return {name for rule in rules for name in rule.names} - {"xp", "g"}
