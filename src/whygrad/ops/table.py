"""The table of ops: the class Row, and the decorators that declare rows.

A row is a forward function plus one derivative rule per array argument. Both are written against an array namespace
`xp`, so that several readers can run them: on NumPy arrays, on Tensors that record a graph, on symbolic expressions.
This package only declares; it does not depend on tensors, graphs or NumPy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class NoGrad(NamedTuple):
    """Replaces a rule: this argument or output cannot carry a gradient, for this reason."""

    reason: str


class Rule:
    """The derivative for one argument: `function(g, ...)`, where every other parameter is a saved value."""

    __slots__ = ("function", "names")

    def __init__(self, function: Callable[..., Any], row_name: str, argument: str) -> None:
        # Tracebacks then show `d_mul_d_a` instead of `<lambda>`.
        label = f"d_{row_name}_d_{argument}"
        function.__code__ = function.__code__.replace(co_name=label, co_qualname=label)
        function.__name__ = function.__qualname__ = label
        self.function = function
        self.names = _parameters(function)


class Traits(NamedTuple):
    """Properties of a row beyond its mathematics, for its readers. The decorators set each family's defaults."""

    # vmap: the function of autograd/batching that applies the row to a batch; "own" is the function of the row's own name.
    batch: str = ""
    # How float16 and bfloat16 are computed, see HALF.
    half: str = "native"
    # False: NumPy's warnings about inf and nan are not silenced, because that would cost a fast row a tenth of its time.
    quiet: bool = True
    # The module of kernels/ whose function of the row's name compiles the kernel. Elementwise rows need none: their kernels
    # are generated from the row itself.
    kernel: str = ""
    # torch's names for the row's saved values, where saved_names.py does not derive them: {"out1": "indices"}.
    saved: Mapping[str, str] = MappingProxyType({})
    # The parts of torch's surface that are generated from the row, see PUBLIC.
    public: str = ""
    # The shape of the function, which explanations of gradients use, see CURVES.
    curve: str = ""
    # Derivatives in words, by argument, where the rule is too long to be read as a formula.
    words: Mapping[str, str] = MappingProxyType({})
    # The op's public name.
    called: str = ""


TRAITS = frozenset(Traits._fields)

HALF = {
    "float32": "in float32, and rounded once at the end",
    "bfloat16": "bfloat16 like that, float16 step by step",
    "native": "by the backend's function, which rounds as torch's does",
}

# The values of `curve`, several separated by spaces.
CURVES = {
    "saturating": "has a derivative that underflows to zero far out",
    "stepwise": "constant but for its jumps",
    "bounded": "constant outside of an interval",
    "rectified": "constant, or nearly so, on one side",
    "selecting": "passes on some of its elements",
    "comparing": "compares a prediction with a target",
    "distance": "a norm or loss, whose derivative is 0 where it is 0",
    "picking": "gives elements at positions that are data",
    "masking": "leaves elements out: their gradient is 0",
    "product": "the gradient of one argument is multiplied by another one",
    "arithmetic": "adds up terms of a loss, or scales them",
    "total": "a sum or a mean of elements",
    "kinked": "has no derivative where its result is 0; by convention it is 0 there",
    "analytic": "elementwise, with a complex derivative: the rule goes both ways for complex numbers too",
    "layer": "applies the parameters of a layer, which come after what it is applied to",
}

# The values of `public`, several separated by spaces.
PUBLIC = {
    "float": "a torch function of the row's name; integers become floating first",
    "test": "a torch function of the row's name that gives booleans, without out=",
    "special": "torch.special.<name>",
    "foreach": "torch._foreach_<name>",
    "overloaded": "torch's function of the row's name has several signatures",
    "sparse": "zero of zero: on a sparse tensor the stored values are changed",
}

# Combinations of trait values that were already checked: there are few distinct ones.
_known: set[tuple[str, str, str]] = set()

# Suffixes of rows that are variants of one op: `x * 2` is mul_number, a batch times one matrix matmul_folded.
_VARIANT = re.compile("_(number|scaled|all|along|folded|inplace|vector)$")


def _empty() -> None: ...


def _documented() -> None:
    """An empty body with a docstring, whose code differs by the number of a constant."""


EMPTY_BODIES = (_empty.__code__.co_code, _documented.__code__.co_code)


def _named(name: str, defaults: dict[str, Any]) -> Callable[..., Any]:
    """The forward of a primitive, which is declared without a body: the vocabulary's function of that name."""

    def forward(xp: Any, *arrays: Any, **statics: Any) -> Any:
        return getattr(xp, name)(*arrays, **{**defaults, **statics})

    forward.__name__ = name
    return forward


class Row:
    """One op: its forward, the rules of its arguments, and the name of its graph node."""

    __slots__ = ("at_once", "broadcasts", "forward", "inputs", "linear", "matrices", "memory", "name", "node",
                 "output_names", "outputs", "partial", "rules", "static_defaults", "statics", "symmetric", "traits", "variadic",
                 "view")

    def __init__(self, forward: Callable[..., Any], rules: dict[str, Any], *, broadcasts: bool, view: bool,
                 node: str | Callable[..., str] | None, outputs: tuple[Any, ...] | str,
                 partial: bool = False, memory: str = "own", linear: str = "", symmetric: bool | None = None,
                 at_once: Callable[..., Any] | None = None, traits: dict[str, Any]) -> None:
        code = forward.__code__
        self.name = forward.__name__.rstrip("_")
        self.variadic = bool(code.co_flags & 0x04)
        positional = code.co_varnames[1:code.co_argcount]
        self.statics = code.co_varnames[code.co_argcount:code.co_argcount + code.co_kwonlyargcount]
        if self.variadic:
            positional += (code.co_varnames[code.co_argcount + code.co_kwonlyargcount],)
        self.inputs = positional
        self.static_defaults = forward.__kwdefaults__ or {}
        self.forward = _named(self.name, self.static_defaults) if code.co_code in EMPTY_BODIES else forward
        self.broadcasts = broadcasts
        self.view = view
        self.node = node or f"{camel(self.name)}Backward0"
        self.outputs = outputs
        # Parameter names by which a rule receives the results.
        self.output_names = (() if outputs == "list" else ("out",) if len(outputs) == 1 else
                             tuple([f"out{i}" for i in range(len(outputs))]))
        self.partial = partial
        self.memory, _, matrices = memory.partition(" ")
        self.matrices = tuple(map(int, matrices.split())) if matrices else (0,)
        self.linear = tuple([tuple(group.split("+")) for group in linear.split()]) if not view else (self.inputs[:1],)
        self.symmetric = broadcasts if symmetric is None else symmetric
        self.rules = {argument: rule if isinstance(rule, NoGrad) else Rule(rule, self.name, argument)
                      for argument, rule in rules.items()}
        self.at_once = None if at_once is None else Rule(at_once, self.name, "all")
        traits.setdefault("called", _VARIANT.sub("", self.name))
        self.traits = Traits(**traits)
        self._check()
        self._check_traits()

    def _check(self) -> None:
        reserved = RESERVED.intersection((*self.inputs, *self.statics)) | TRAITS.intersection(self.inputs)
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

    def _check_traits(self) -> None:
        traits = self.traits
        if not traits.batch:
            raise TypeError(f"op '{self.name}': say how it is applied to a batch, with batch= (see ops/README.md)")
        combination = traits.half, traits.curve, traits.public
        if combination in _known:
            return
        for name, value, known in zip(("half", "curve", "public"), combination, (HALF, CURVES, PUBLIC), strict=True):
            if not known.keys() >= set(value.split()):
                raise TypeError(f"op '{self.name}': {name}={value!r}, but it is made of {sorted(known)}")
        _known.add(combination)

    @property
    def saveable(self) -> tuple[str, ...]:
        return (*self.inputs, *[f"{name}_shape" for name in self.inputs], *self.output_names)

    def __repr__(self) -> str:
        return f"<row {self.name}({', '.join((*self.inputs, *self.statics))})>"


# Names that the generated functions use themselves (see backends/row_text.py).
RESERVED = frozenset({"arrays", "busy", "forward", "frame", "grad_state", "inputs", "new", "nodes", "outs", "process_state",
                      "record", "row", "source"})

TABLE: dict[str, Row] = {}


def op(*, node: str | Callable[..., str] | None = None, outputs: tuple[Any, ...] | str = ("out",),
       broadcasts: bool = False, view: bool = False, partial: bool = False, memory: str = "contiguous",
       linear: str = "", symmetric: bool | None = None, at_once: Callable[..., Any] | None = None,
       **rules_and_traits: Any) -> Callable[[Callable[..., Any]], Row]:
    """Declare a row.

    `node` is torch's name of the graph node where it is not `<Name>Backward0`; a function `(kinds, statics) -> name`
    if torch has several. `outputs` lists the results (a `NoGrad` for one that has no gradient), or is "list" for as
    many as the forward returns; with `partial=True` the rules get None instead of zeros for results without gradient.
    `memory` is the memory order of the results: "contiguous", "follow" (the order of the inputs' axes, see
    backends/memory_order.py), "channels" (channels_last if the first input is, else contiguous), "columns" (column-major
    matrices; "columns 0 2" if these results are matrices, and not the first one alone), or "own" (as the forward creates
    them).

    `at_once` computes the gradients of all arguments together, as a tuple: it is used on arrays (not Tensors) if all are
    needed, and its parameters are among those of the rules.

    Forward mode is derived from the same rules, by transposing them unless the row declares something simpler: `linear`
    names the arguments in each of which the forward is linear ("a+b": in both together), once an argument that is only
    added is left out; `symmetric` declares that the Jacobian is symmetric, as for elementwise rows: then the rule serves
    both directions.

    The other keywords are traits (see `Traits`), or rules by the names of their arguments.
    """
    traits = {name: rules_and_traits.pop(name) for name in TRAITS.intersection(rules_and_traits)}
    rules = rules_and_traits

    def declare(forward: Callable[..., Any]) -> Row:
        row = Row(forward, rules, broadcasts=broadcasts, view=view, node=node, outputs=outputs,
                  partial=partial, memory=memory, linear=linear, symmetric=symmetric, at_once=at_once, traits=traits)
        if row.name in TABLE:
            raise TypeError(f"op '{row.name}' is declared twice")
        TABLE[row.name] = row
        return row

    return declare


def elementwise(**options: Any) -> Callable[[Callable[..., Any]], Row]:
    """An elementwise row, which broadcasts; its rules may ignore broadcasting."""
    return op(**{"broadcasts": True, "memory": "follow", "batch": "elementwise", "half": "float32", **options})


def view(**options: Any) -> Callable[[Callable[..., Any]], Row]:
    """A row whose result shares memory with its first argument."""
    return op(**{"view": True, "memory": "own", "batch": "shifted", **options})


def along_axes(**options: Any) -> Callable[[Callable[..., Any]], Row]:
    """A row along the axes named by its statics: a reduction, a scan, a sort."""
    return op(**{"batch": "shifted", **options})


def last_axes(**options: Any) -> Callable[[Callable[..., Any]], Row]:
    """A row on its last axes, matrices or images, with any number of leading batch axes."""
    return op(**{"batch": "leading", **options})


def camel(name: str) -> str:
    return "".join([part.capitalize() for part in name.split("_")])


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[:code.co_argcount]


def rule_names(rules: Iterable[Rule]) -> set[str]:
    """The names of all values that these rules need saved."""
    return {name for rule in rules for name in rule.names} - {"xp", "g"}
