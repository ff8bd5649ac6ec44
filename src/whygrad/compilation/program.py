"""A captured program: instructions on arrays, in the order in which they ran, and their text as one Python function.

Every instruction calls what the eager engine calls: the forward of a row, the rule of a derivative, a write, a function that
works past the rows. What is gone is everything around it: tensors, nodes, doors, promotion, and checks, which the guards make
constant.
"""

from __future__ import annotations

import types
import zlib
from collections.abc import Iterator
from functools import partial
from sys import getrefcount
from typing import Any

import numpy as np

from whygrad.autograd.accumulation import owned_copy
from whygrad.backends import raw
from whygrad.backends.fp_warnings import restore, silence
from whygrad.backends.memory_order import follow, in_columns, with_channels_as_in
from whygrad.base import acceleration
from whygrad.core.record import RowSpecialization
from whygrad.core.tensor import Tensor, wrap
from whygrad.core.write import bump


class Value:
    """One array of a program: `made` by an instruction, a `constant`, or of a tensor from `outer` code."""

    __slots__ = ("array", "number", "source")

    def __init__(self, number: int, array: Any = None, source: str = "made") -> None:
        self.number = number
        # While a program is captured: the array itself. Later only that of a constant.
        self.array = array
        self.source = source

    def __repr__(self) -> str:
        return f"v{self.number}"


def values_in(x: Any) -> Iterator[Value]:
    """The values among nested arguments."""
    if isinstance(x, Value):
        yield x
    elif isinstance(x, (tuple, list)):
        for part in x:
            yield from values_in(part)
    elif isinstance(x, dict):
        yield from values_in(tuple(x.values()))


def frozen(x: Any) -> Any:
    """A key that is equal for equal arguments only."""
    if isinstance(x, Value):
        return "value", x.number
    if isinstance(x, (tuple, list)):
        return type(x), *map(frozen, x)
    if isinstance(x, dict):
        return dict, *[(name, frozen(value)) for name, value in x.items()]
    if isinstance(x, types.FunctionType) and x.__closure__:
        return x.__code__, frozen([cell.cell_contents for cell in x.__closure__])
    if isinstance(x, OuterTensor):
        return "outer", x.number
    if isinstance(x, slice):
        return slice, frozen((x.start, x.stop, x.step))
    if x is None or isinstance(x, (bool, int, float, complex, str, bytes, np.generic, np.dtype)):
        return type(x), repr(x)
    return type(x), id(x)


def replaced(x: Any, same: dict[Value, Value]) -> Any:
    if not same:
        return x
    if isinstance(x, Value):
        return same.get(x, x)
    if isinstance(x, (tuple, list)):
        return type(x)([replaced(part, same) for part in x])
    if isinstance(x, dict):
        return {name: replaced(part, same) for name, part in x.items()}
    return x


class Instruction:
    """`outputs` = something of `args`, nested values and constants."""

    # Whether it may be left out if nobody needs its outputs, and be done once instead of twice.
    pure = True

    def __init__(self, args: Any, outputs: list[Value], site: Any = None) -> None:
        self.args = args
        self.outputs = outputs
        self.site = site

    @property
    def inputs(self) -> list[Value]:
        return list(values_in(self.args))

    def what(self) -> Any:
        """What it does, for a comparison of two instructions."""
        return None

    def key(self) -> Any:
        return type(self), frozen(self.what()), frozen(self.args), len(self.outputs)

    def lines(self, p: Printer) -> list[str]:
        raise NotImplementedError

    def on(self, xp: Any, args: Any) -> Any:
        """The same in a vocabulary, of which `args` are arrays or expressions."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        return type(self).__name__.lower()


class RowCall(Instruction):
    """The forward of a row."""

    def __init__(self, spec: RowSpecialization, args: Any, statics: dict[str, Any], outputs: list[Value], site: Any,
                 lies_as_inputs: bool, history: tuple[bool, ...]) -> None:
        super().__init__((args, statics), outputs, site)
        self.spec = spec
        # Which arguments had a history, and at last whether the result got one.
        self.history = history
        # Whether all arrays were contiguous, so that the result is too.
        self.lies_as_inputs = lies_as_inputs

    def what(self) -> Any:
        return self.spec, self.lies_as_inputs, self.history

    @property
    def name(self) -> str:
        return self.spec.row.name

    def on(self, xp: Any, args: Any) -> Any:
        return getattr(xp, self.name)(*args[0], **args[1])

    def lines(self, p: Printer) -> list[str]:
        args, statics = self.args
        row = self.spec.row
        call = p.call(p.bound(self.spec.scope, "forward"), args, statics)
        if row.outputs == "list" or not self.spec.one_output:
            lines = [f"{', '.join(map(repr, self.outputs))}, = {call}"]
        else:
            lines = [f"{self.outputs[0]} = {call}"]
        for i, out in enumerate(self.outputs):
            lines += self._memory_lines(p, i, out)
        return lines

    def _memory_lines(self, p: Printer, i: int, out: Value) -> list[str]:
        """Results lie in memory as those of eager code do (see `_memory_order_lines` in backends/row_text.py)."""
        row, ndim = self.spec.row, np.ndim(out.array)
        if ndim == 0:
            return [f"if {out}.__class__ is not ndarray: {out} = asarray({out})"]
        if ndim == 1 or row.memory == "own":
            return []
        arrays = [x for x in self.args[0] if isinstance(x, Value)]
        if row.memory == "follow":
            return [] if self.lies_as_inputs else [f"{out} = follow({out}, {p.text(tuple(arrays))})"]
        if row.memory == "channels":
            return [f"{out} = with_channels_as_in({out}, {arrays[0]})"]
        if row.memory == "columns" and i in row.matrices:
            return [f"{out} = in_columns({out})"]
        return [f"if not {out}.flags.c_contiguous: {out} = ascontiguousarray({out})"]


class RuleCall(Instruction):
    """The rule of one argument of a row; or, for `at_once`, of all. `args` are those that the rule names."""

    def __init__(self, spec: RowSpecialization, argument: str, args: Any, outputs: list[Value], site: Any) -> None:
        super().__init__(args, outputs, site)
        self.spec, self.argument = spec, argument

    def what(self) -> Any:
        return self.spec, self.argument

    @property
    def name(self) -> str:
        return f"d_{self.spec.row.name}_d_{self.argument}"

    def on(self, xp: Any, args: Any) -> Any:
        rule, given = self.spec.rules[self.argument], iter(args)
        return rule.function(*[xp if name == "xp" else next(given) for name in rule.names])

    def compute(self) -> None:
        """While a backward is derived: the arrays themselves."""
        found = rules_of(self.spec)[self.argument](*arrays_for(self.args))
        several = self.argument == "at once" or self.spec.row.variadic
        for v, array in zip(self.outputs, found if several else [found], strict=True):
            v.array = array if array is None else np.asarray(array)

    def lines(self, p: Printer) -> list[str]:
        call = p.call(p.bound(rules_of(self.spec), self.argument), self.args, {})
        several = self.argument == "at once" or self.spec.row.variadic
        lines = [f"{', '.join(map(repr, self.outputs))}{',' if several else ''} = {call}"]
        scalars = [v for v in self.outputs if v.array is not None and v.array.ndim == 0]
        return [*lines, *[f"if {v}.__class__ is not ndarray: {v} = asarray({v})" for v in scalars]]


_rules: dict[RowSpecialization, dict[str, Any]] = {}


def rules_of(spec: RowSpecialization) -> dict[str, Any]:
    """The rules of a row on arrays. Unlike the engine's, their kernels never write over an argument."""
    found = _rules.get(spec)
    if found is not None:
        return found
    row = spec.row
    found = _rules[spec] = {}
    for name, rule in spec.rules.items():
        function = partial(rule.function, raw) if rule.names[:1] == ("xp",) else _with_vocabulary(rule)
        if row.broadcasts:
            acceleration.bind_elementwise(found, name, f"d_{row.name}_d_{name}", function, rule.function,
                                          takes_vocabulary="xp" in rule.names)
        else:
            found[name] = function
    if row.at_once is not None:
        found["at once"] = _with_vocabulary(row.at_once)
    return found


def _with_vocabulary(rule: Any) -> Any:
    if "xp" not in rule.names:
        return rule.function
    place = rule.names.index("xp")
    return lambda *args: rule.function(*args[:place], raw, *args[place:])


def arrays_for(x: Any) -> Any:
    """Arguments with arrays in the place of values."""
    if isinstance(x, Value):
        return x.array
    return type(x)([arrays_for(part) for part in x]) if type(x) in (tuple, list) else x


class SumTo(Instruction):
    """A gradient in the shape of a broadcast argument."""

    def on(self, xp: Any, args: Any) -> Any:
        return args[0]  # where there is nothing to sum

    def compute(self) -> None:
        g, shape = self.args
        self.outputs[0].array = g.array if g.array.shape == shape else raw.sum_to(g.array, shape=shape)

    def lines(self, p: Printer) -> list[str]:
        g, shape = self.args
        out = self.outputs[0]
        return [f"{out} = {g} if {g}.shape == {shape!r} else {p.bind(raw.sum_to)}({g}, shape={shape!r})"]


class Add(Instruction):
    """The sum of two contributions to a gradient."""

    def on(self, xp: Any, args: Any) -> Any:
        return xp.add(*args)

    def compute(self) -> None:
        self.outputs[0].array = self.args[0].array + self.args[1].array

    def lines(self, p: Printer) -> list[str]:
        return [f"{self.outputs[0]} = {p.bound(ADDING, 'add')}({p.text(self.args[0])}, {p.text(self.args[1])})"]


ADDING: dict[str, Any] = {}
acceleration.bind_elementwise(ADDING, "add", "add", np.add, lambda a, b: a + b, takes_vocabulary=False)


class Fused(Instruction):
    """Elementwise instructions in one pass over the elements."""

    def __init__(self, parts: list[Instruction], inputs: list[Value], output: Value) -> None:
        super().__init__(inputs, [output], parts[-1].site)
        self.parts = parts

    @property
    def name(self) -> str:
        return " ".join(part.name for part in self.parts)

    def definition(self, xp: Any, *given: Any) -> Any:
        known = dict(zip(self.args, given, strict=True))
        for part in self.parts:
            known[part.outputs[0]] = part.on(xp, with_values(part.args, known))
        return known[self.outputs[0]]

    def lines(self, p: Printer) -> list[str]:
        scope: dict[str, Any] = {}
        name = f"fused_{zlib.crc32(self.name.encode()):08x}"
        acceleration.bind_elementwise(scope, name, name, partial(self.definition, raw), self.definition, is_hot=True)
        p.kept.append(scope)
        out = self.outputs[0]
        return [f"{out} = {p.call(p.bound(scope, name), self.args, {})}",
                f"if {out}.__class__ is not ndarray: {out} = asarray({out})"]


def with_values(x: Any, known: dict[Value, Any]) -> Any:
    """Arguments with something else in the place of values."""
    if isinstance(x, Value):
        return known[x]
    if type(x) in (tuple, list):
        return type(x)([with_values(part, known) for part in x])
    return {name: with_values(part, known) for name, part in x.items()} if type(x) is dict else x


class Call(Instruction):
    """A function that works past the rows."""

    pure = False

    def __init__(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], outputs: list[Value], site: Any,
                 several: bool, pure: bool = False) -> None:
        super().__init__((args, kwargs), outputs, site)
        self.function, self.several, self.pure = function, several, pure

    def what(self) -> Any:
        return self.function, self.several

    def compute(self) -> None:
        self.outputs[0].array = self.function(*arrays_for(self.args[0]))

    @property
    def name(self) -> str:
        return str(getattr(self.function, "__qualname__", self.function))

    def lines(self, p: Printer) -> list[str]:
        call = p.call(p.bind(self.function), *self.args)
        if not self.outputs:
            return [call]
        return [f"{', '.join(map(repr, self.outputs))}{',' if self.several else ''} = {call}"]


class Write(Instruction):
    """A row whose result is written into an array; `counts` is the outer tensor whose version it changes."""

    pure = False

    def __init__(self, spec: RowSpecialization, args: Any, statics: dict[str, Any], target: Value, position: int,
                 site: Any) -> None:
        super().__init__((args, statics, target), [], site)
        self.spec, self.position, self.target = spec, position, target
        self.counts: OuterTensor | None = None

    def what(self) -> Any:
        return self.spec, self.position, self.counts is None

    @property
    def name(self) -> str:
        return f"{self.spec.row.name}_"

    def lines(self, p: Printer) -> list[str]:
        args, statics, target = self.args
        compute = p.bind(self.spec.compute)
        lines = [f"{compute}({p.text(list(args))}, {target}, {p.text(statics)}, {self.position})"]
        return lines if self.counts is None else [*lines, f"{p.bind(bump)}({self.counts.name}, None, {p.bind(self.site)})"]


class Deposit(Instruction):
    """A gradient that reaches a leaf; the output is the array of its `.grad` afterwards."""

    pure = False

    def __init__(self, leaf: OuterTensor, g: Value, output: Value, backward: Any) -> None:
        super().__init__((g,), [output])
        self.leaf, self.backward = leaf, backward
        # Whether no other instruction needs the gradient, so that it may become `.grad` without a copy.
        self.is_last = False

    def what(self) -> Any:
        return self.leaf.number

    def lines(self, p: Printer) -> list[str]:
        call = f"{p.bind(deposit)}({self.leaf.name}, {self.args[0]}, {self.is_last}, {p.bind(self.backward)})"
        return [f"{self.outputs[0]} = {call}"]


def deposit(leaf: Tensor, g: Any, is_last: bool, backward: Any) -> np.ndarray:
    """`deposit` of autograd/accumulation.py, for a gradient whose shape and dtype are known to be right."""
    grad = leaf._grad
    if grad is None:
        if not (is_last and getrefcount(g) <= HELD and g.base is None and g.strides == leaf._array.strides):
            g = owned_copy(g, leaf._array)
        leaf._grad = grad = wrap(g)
        grad._cause = backward.causes
    else:
        ADD_INTO["add_into"](grad._array, g, grad._array)
        grad._version_counter.value += 1
    (leaf._meta or leaf.meta).reached_by = backward
    return grad._array


ADD_INTO: dict[str, Any] = {}
acceleration.bind_ufunc_write(ADD_INTO, "add_into", "add", np.add)


def _held() -> int:
    """How many references to an array a program has when it deposits it, if nobody else has any."""
    scope: dict[str, Any] = {"make": lambda: np.zeros(1), "count": lambda leaf, g: getrefcount(g)}
    exec("def probe(leaf):\n    v = make()\n    return count(leaf, v)", scope)
    return scope["probe"](None)  # type: ignore[no-any-return]


HELD = _held()


class OuterTensor:
    """A tensor that the program gets from outside: an argument, a parameter, a buffer."""

    __slots__ = ("number", "tensor", "text", "value")

    def __init__(self, number: int, tensor: Tensor) -> None:
        self.number = number
        self.tensor: Any = tensor  # while the program is made
        self.text = f"{tensor.dtype} {list(tensor._array.shape)}"
        self.value: Value | None = None

    @property
    def name(self) -> str:
        return f"t{self.number}"


class Printer:
    """Writes the text of a program, and collects the globals that it needs."""

    def __init__(self) -> None:
        self.scope: dict[str, Any] = {
            "__name__": __name__, "ndarray": np.ndarray, "asarray": np.asarray, "ascontiguousarray": np.ascontiguousarray,
            "follow": follow,
            "in_columns": in_columns, "with_channels_as_in": with_channels_as_in, "silence": silence, "restore": restore}
        self.names: dict[Any, str] = {}
        self.kept: list[Any] = []  # objects whose ids are in `names`

    def bind(self, x: Any) -> str:
        name = self.names.get(id(x))
        if name is None:
            name = self.names[id(x)] = f"c{len(self.names)}"
            self.scope[name] = x
        return name

    def bound(self, scope: dict[str, Any], key: str) -> str:
        """The function that is now in a scope, and the kernel that will replace it."""
        name = self.names.get((id(scope), key))
        if name is None:
            name = self.names[id(scope), key] = f"f{len(self.names)}"
            acceleration.bind_again(self.scope, name, scope[key])
        return name

    def text(self, x: Any) -> str:
        if isinstance(x, Value):
            return repr(x)
        if isinstance(x, OuterTensor):
            return x.name
        if x is None or isinstance(x, (bool, int, str)) or (type(x) is float and x - x == 0):
            return repr(x)
        if type(x) is tuple:
            return f"({''.join(f'{self.text(part)}, ' for part in x)})"
        if type(x) is list:
            return f"[{', '.join(map(self.text, x))}]"
        if type(x) is dict and all(isinstance(name, str) for name in x):
            return f"{{{', '.join(f'{name!r}: {self.text(value)}' for name, value in x.items())}}}"
        return self.bind(x)

    def call(self, function: str, args: Any, kwargs: dict[str, Any]) -> str:
        given = [self.text(x) for x in args] + [f"{name}={self.text(value)}" for name, value in kwargs.items()]
        return f"{function}({', '.join(given)})"


class Program:
    """Instructions, the values that come from outside, and those that are given back."""

    def __init__(self, instructions: list[Instruction], outer: list[OuterTensor], results: list[Value]) -> None:
        self.instructions = instructions
        self.outer = outer
        self.results = results

    def text(self, name: str, parameters: list[str], p: Printer, others: bool) -> str:
        """`parameters`: names of outer tensors and of values that are given; `others`: more arguments are, and ignored."""
        star = ["*others"] if others else []
        lines = [f"def {name}({', '.join([*parameters, *star])}):", "    token = silence()", "    try:"]
        needed = {v for i in self.instructions for v in i.inputs} | set(self.results)
        body = [f"{t.value} = {t.name}._array" for t in self.outer if t.value in needed]
        changed = self.escaping()
        for v in sorted((v for v in needed if v.source == "constant"), key=lambda v: v.number):
            body.append(f"{v} = {p.bind(v.array)}{'.copy()' if v in changed else ''}")
        last = self._last_uses()
        for number, instruction in enumerate(self.instructions):
            body += instruction.lines(p)
            if dead := [repr(v) for v in last.get(number, ())]:
                body.append(f"del {', '.join(dead)}")
        body.append(f"return {p.text(tuple(self.results))}")
        return "\n".join([*lines, *[f"        {line}" for line in body], "    finally: restore(token)"]) + "\n"

    def function(self, name: str, parameters: list[str], others: bool = False) -> Any:
        p = Printer()
        text = self.text(name, parameters, p, others)
        exec(compile(text, f"<whygrad compiled {name}>", "exec"), p.scope)
        function = p.scope[name]
        function.text = text
        return function

    def escaping(self) -> set[Value]:
        """Values that are written, or that are given to somebody who may write them, with those that may share their memory."""
        found = set(self.results)
        for i in self.instructions:
            if not i.pure:
                found.update(i.inputs)
        for i in reversed(self.instructions):
            if not found.isdisjoint(i.outputs) and isinstance(i, (RowCall, SumTo)):
                found.update(i.inputs)
        return found

    def _last_uses(self) -> dict[int, list[Value]]:
        """For each instruction: the values that nobody needs after it."""
        kept, seen = set(self.results), set(self.results)
        last: dict[int, list[Value]] = {}
        for number in range(len(self.instructions) - 1, -1, -1):
            i = self.instructions[number]
            for v in (*i.inputs, *i.outputs):
                if v not in seen and v.source == "made":
                    seen.add(v)
                    last.setdefault(number, []).append(v)
        return {number: [v for v in values if v not in kept] for number, values in last.items()}
