"""The pen: a reader of rows that computes nothing and writes the formula down, `d mul / d a = g * b`.

A rule is run on `Ink`, values that note what is done to them. Statics that nobody knows are ink as well, and taken to be
nothing special (`exponent == 0` is false of an exponent of which nothing is known). Where a rule branches on more than
that, or the line gets too long, its own source is shown instead.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from functools import cache, partialmethod
from typing import Any

from whygrad.ops import TABLE
from whygrad.ops.table import NoGrad, Row, Rule
from whygrad.ops.vocabulary import Vocabulary

# A formula that is longer than this is not read any more.
LONGEST = 240

# How strongly an operator holds its operands together; a name or a call is strongest.
TEST, SUM, PRODUCT, SIGN, POWER, NAME = 0, 1, 2, 3, 4, 9


class Illegible(Exception):
    """The rule asks for something that only a real value can tell."""


class Ink:
    """A value that is only written down. `shape` is known or None; `static` marks an option rather than an array."""

    __slots__ = ("known_shape", "static", "strength", "text")

    def __init__(self, text: str, strength: int = NAME, shape: Any = None, static: bool = False) -> None:
        self.text = text
        self.strength = strength
        self.known_shape = shape
        self.static = static

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    @property
    def shape(self) -> Any:
        return Ink(f"{within(self, NAME)}.shape", static=True) if self.known_shape is None else self.known_shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> Ink:
        return Ink(f"{within(self, NAME)}.dtype", static=True)

    def __getitem__(self, index: Any) -> Ink:
        return Ink(f"{within(self, NAME)}[{written(index)}]", static=self.static)

    def __neg__(self) -> Ink:
        return Ink(f"-{within(self, SIGN)}", SIGN, self.known_shape, self.static)

    def __invert__(self) -> Ink:
        return Ink(f"~{within(self, SIGN)}", SIGN, self.known_shape, self.static)

    def _operator(self, other: Any, sign: str, strength: int, swapped: bool = False) -> Ink:
        left, right = (other, self) if swapped else (self, other)
        # a - (b - c), a / (b / c), (a ** b) ** c and (a > b) & c need their brackets.
        text = f"{within(left, strength + (sign in ('**', '&', '|')))} {sign} {within(right, strength + (sign in '-/@%&|'))}"
        return Ink(text, strength, static=self.static and not (isinstance(other, Ink) and not other.static))

    def _compare(self, other: Any, sign: str) -> Any:
        if self.static and sign in ("==", "!="):
            return sign == "!="  # of an option about which nothing is known
        return self._operator(other, sign, TEST)

    __add__, __radd__ = partialmethod(_operator, sign="+", strength=SUM), partialmethod(
        _operator, sign="+", strength=SUM, swapped=True)
    __sub__, __rsub__ = partialmethod(_operator, sign="-", strength=SUM), partialmethod(
        _operator, sign="-", strength=SUM, swapped=True)
    __mul__, __rmul__ = partialmethod(_operator, sign="*", strength=PRODUCT), partialmethod(
        _operator, sign="*", strength=PRODUCT, swapped=True)
    __truediv__, __rtruediv__ = partialmethod(_operator, sign="/", strength=PRODUCT), partialmethod(
        _operator, sign="/", strength=PRODUCT, swapped=True)
    __matmul__ = partialmethod(_operator, sign="@", strength=PRODUCT)
    __mod__ = partialmethod(_operator, sign="%", strength=PRODUCT)
    __floordiv__ = partialmethod(_operator, sign="//", strength=PRODUCT)
    __pow__, __rpow__ = partialmethod(_operator, sign="**", strength=POWER), partialmethod(
        _operator, sign="**", strength=POWER, swapped=True)
    __and__, __or__ = partialmethod(_operator, sign="&", strength=TEST), partialmethod(_operator, sign="|", strength=TEST)
    __eq__ = partialmethod(_compare, sign="==")  # type: ignore[assignment]
    __ne__ = partialmethod(_compare, sign="!=")  # type: ignore[assignment]
    __lt__, __le__ = partialmethod(_compare, sign="<"), partialmethod(_compare, sign="<=")
    __gt__, __ge__ = partialmethod(_compare, sign=">"), partialmethod(_compare, sign=">=")
    __hash__ = object.__hash__

    def _illegible(self, *_: Any) -> Any:
        raise Illegible(f"the value of {self.text}")

    __bool__ = __len__ = __iter__ = __index__ = __int__ = __float__ = __contains__ = _illegible


def within(value: Any, strength: int) -> str:
    """The text of an operand, in brackets if it holds together less than `strength`."""
    text = written(value)
    own = value.strength if isinstance(value, Ink) else SIGN if text.startswith("-") else NAME
    return text if own >= strength else f"({text})"


def written(value: Any) -> str:
    if isinstance(value, Ink):
        return value.text
    if isinstance(value, slice):
        return ":".join("" if x is None else written(x) for x in (value.start, value.stop))
    if isinstance(value, (tuple, list)):
        inner = ", ".join(written(x) for x in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.6g}" if isinstance(value, float) else repr(value) if isinstance(value, str) else str(value)


OPERATORS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "pow": lambda a, b: a ** b, "neg": lambda a: -a, "mm": lambda a, b: a @ b, "matmul": lambda a, b: a @ b,
}


class Pen(Vocabulary):
    """The vocabulary: a row's name becomes a word."""

    def __init__(self, expanding: str = "") -> None:
        # The row whose definition is being written instead of its name.
        self.expanding = expanding

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in TABLE:
            raise AttributeError(f"no row is called '{name}'")
        outputs = TABLE[name].outputs

        def word(*inputs: Any, **statics: Any) -> Any:
            if name.endswith("_backward") and not self.expanding:
                try:
                    return _expanded(name, inputs, statics)
                except Illegible:
                    pass  # a primitive: its name has to do
            if name == self.expanding:
                raise Illegible("a row that is made of nothing else")
            if name in OPERATORS and not statics and isinstance(inputs[0], Ink):
                return OPERATORS[name](*inputs)
            options = [f"{key}={written(value)}" for key, value in statics.items()]
            text = f"{name}({', '.join([*map(written, inputs), *options])})"
            shape = statics.get("shape")
            if isinstance(outputs, str) or len(outputs) == 1:
                return Ink(text, shape=shape if isinstance(shape, tuple) else None)
            return tuple([Ink(f"{text}[{i}]") for i in range(len(outputs))])

        return word


pen = Pen()


def _expanded(name: str, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """What a derivative that is a row of its own (tanh_backward) is made of, if that is short."""
    result = TABLE[name].forward(Pen(name), *inputs, **statics)
    if not isinstance(result, Ink) or len(result.text) > LONGEST / 3:
        raise Illegible("too long")
    return result


def write(row: Row, argument: str, known: dict[str, Any] | None = None) -> str:
    """The derivative for one argument as text. `known` are shapes (`x_shape`) and options that one application had."""
    rule = row.rules[argument]
    if isinstance(rule, NoGrad):
        return f"none: {rule.reason}"
    if known:
        try:
            return _traced(row, rule, known)
        except Exception:  # what was known does not suit a pen: write the rule in general
            pass
    return _in_general(row, argument)


def _back_through_standardized(g: str, over: str) -> str:
    return f"({g} - mean({g}, {over}) - standardized(x) * mean({g} * standardized(x), {over})) / deviation(x)"


# Rules that ask for the shape of x, or are long, and yet can be said shortly.
# standardized(x) = (x - mean(x)) / deviation(x), deviation(x) = sqrt(var(x) + eps)
IN_WORDS = {
    ("layer_norm", "x"): _back_through_standardized("g * weight", "axis"),
    ("layer_norm", "weight"): "sum(g * standardized(x), all axes but axis)",
    ("layer_norm", "bias"): "sum(g, all axes but axis)",
    ("batch_norm", "x"): _back_through_standardized("g * weight", "all axes but 1"),
    ("batch_norm", "weight"): "sum(g * standardized(x), all axes but 1)",
    ("batch_norm", "bias"): "sum(g, all axes but 1)",
    ("group_norm", "x"): _back_through_standardized("g * weight", "each group"),
    ("nll_loss", "x"): "-g * weight[target] at each target's class, 0 elsewhere; reduction='mean' divides by sum(weight[target])",
    ("gelu", "x"): "g * (normal_cdf(x) + x * normal_density(x)); the tanh approximation has the derivative of its own formula",
    ("embedding", "table"): "g added up in the rows that index names, 0 elsewhere; nothing in row padding_idx",
    ("max_pool", "x"): "g where the largest element of a window was, 0 elsewhere",
}

# Functions of torch that are made of rows with other names.
MADE_OF = {
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), ("convolution",)),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), ("convolution_transpose",)),
    **dict.fromkeys(("max_pool1d", "max_pool2d", "max_pool3d"), ("max_pool",)),
    **dict.fromkeys(("avg_pool1d", "avg_pool2d", "avg_pool3d"), ("avg_pool",)),
    "cross_entropy": ("log_softmax", "nll_loss"),
    "scaled_dot_product_attention": ("matmul", "softmax"),
}


@cache
def _in_general(row: Row, argument: str) -> str:
    known_words = IN_WORDS.get((row.name, argument))
    if known_words is not None:
        return known_words
    rule = row.rules[argument]
    assert isinstance(rule, Rule)
    try:
        return _traced(row, rule, {})
    except Exception as error:  # any rule may want more of a value than ink has
        return f"none: {error}" if "is not implemented" in str(error) else source_of_rule(rule)


def _traced(row: Row, rule: Rule, known: dict[str, Any]) -> str:
    result = rule.function(*[_ink_for(row, name, known) for name in rule.names])
    text = "0" if result is None else written(result)
    if len(text) > LONGEST or " object at 0x" in text:
        raise Illegible("too long")
    return text


def _ink_for(row: Row, name: str, known: dict[str, Any]) -> Any:
    if name == "xp":
        return pen
    if name == "g" and row.outputs != "list":
        differentiable = [i for i, out in enumerate(row.outputs) if not isinstance(out, NoGrad)]
        if len(differentiable) > 1:
            return [Ink(f"g{i}") for i in range(len(row.outputs))]
    if name in row.statics or (name.endswith("_shape") and name not in row.inputs):
        default = row.static_defaults.get(name, Ink(name, static=True))
        return known.get(name, default)
    return Ink(name, shape=known.get(f"{name}_shape"))


class _WithoutNamespace(ast.NodeTransformer):
    """`xp.exp(x)` reads `exp(x)`, and a helper is called without `xp`."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return ast.Name(node.attr) if isinstance(node.value, ast.Name) and node.value.id == "xp" else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.args = [x for x in node.args if not (isinstance(x, ast.Name) and x.id == "xp")]
        self.generic_visit(node)
        return node


@cache
def _functions(file: str) -> dict[tuple[int, tuple[str, ...]], ast.AST]:
    with open(file, encoding="utf-8") as text:
        tree = ast.parse(text.read())
    return {(node.lineno, tuple(x.arg for x in node.args.args)): node
            for node in ast.walk(tree) if isinstance(node, (ast.Lambda, ast.FunctionDef))}


def source_of_rule(rule: Rule) -> str:
    """What stands in the table: the expression of a lambda, the body of a function."""
    try:
        node = _functions(inspect.getfile(rule.function))[rule.function.__code__.co_firstlineno, rule.names]
    except (KeyError, OSError, SyntaxError, TypeError):
        return f"{rule.function.__name__}({', '.join(name for name in rule.names if name != 'xp')})"
    body: Any = node.body  # type: ignore[attr-defined]
    statements = body if isinstance(body, list) else [body]
    if len(statements) > 1 and isinstance(statements[0], ast.Expr) and isinstance(statements[0].value, ast.Constant):
        statements = statements[1:]
    if len(statements) == 1 and isinstance(statements[0], ast.Return) and statements[0].value is not None:
        statements = [statements[0].value]
    return "\n".join(ast.unparse(_WithoutNamespace().visit(ast.parse(ast.unparse(x)))) for x in statements)


class Formula:
    """The derivatives of one op, written down. `rules` has one text for each array argument."""

    def __init__(self, row: Row, known: dict[str, Any] | None = None) -> None:
        self.name = row.name
        self.arguments = (*row.inputs, *row.statics)
        self.rules = {argument: write(row, argument, known) for argument in row.inputs}

    def __str__(self) -> str:
        lines = [f"{self.name}({', '.join(self.arguments)})"]
        for argument, text in self.rules.items():
            head = f"  d {self.name} / d {argument}"
            if text.startswith("none: "):
                lines.append(f"{head}: {text}")
            elif "\n" in text:
                lines += [f"{head}:", *(f"      {line}" for line in text.splitlines())]
            else:
                lines.append(f"{head} = {text}")
        return "\n".join(lines)

    __repr__ = __str__


class Composition:
    """The formulas of the ops that a function of torch is made of."""

    def __init__(self, name: str, rows: tuple[str, ...]) -> None:
        self.name = name
        self.parts = tuple([Formula(TABLE[row]) for row in rows])

    def __str__(self) -> str:
        return "\n".join([f"{self.name} is made of {' and '.join(part.name for part in self.parts)}:", *map(str, self.parts)])

    __repr__ = __str__


def known_of(node: Any) -> dict[str, Any]:
    """The options and shapes that a node of the graph has kept."""
    layout = node.layout
    known = dict(zip(layout.static, getattr(node, "static", ()) or (), strict=False))
    saved = node.saved if type(node.saved) is tuple else ()
    for name, value in zip(layout.saved, saved[::3], strict=False):
        if hasattr(value, "shape"):
            known.setdefault(f"{name}_shape", value.shape)
    return known


def formula(op: Any) -> Formula | Composition:
    """The derivatives of an op: `formula("mul")`, of a tensor that an op computed, or of its `grad_fn`.

    In a formula `g` is the gradient of the result, `out` the result, and the other names are the op's arguments.
    """
    if not isinstance(op, str):
        from whygrad.core.node import Node, row_node
        from whygrad.core.tensor import Tensor, grad_fn

        node = row_node(grad_fn(op) if isinstance(op, Tensor) else op)[0]
        if not isinstance(node, Node) or not hasattr(type(node), "layout"):
            raise TypeError("formula() takes the name of an op, a tensor that an op computed or its grad_fn, "
                            f"not {'a leaf' if isinstance(op, Tensor) else type(op).__name__}")
        return Formula(node.layout.row, known_of(node))
    op = op.rpartition(".")[2]  # "torch.sin" and "torch.nn.functional.relu" are "sin" and "relu"
    found = TABLE.get(op) or next((row for row in TABLE.values() if row.node == op), None)
    if found is None and op in MADE_OF:
        return Composition(op, MADE_OF[op])
    if found is None:
        import difflib

        near = difflib.get_close_matches(op, [*TABLE, *MADE_OF], 3)
        raise ValueError(f"there is no op called {op!r}" + (f"; did you mean {' or '.join(map(repr, near))}?" if near else ""))
    return Formula(found)
