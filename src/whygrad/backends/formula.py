"""The formula reader: computes nothing and writes a rule down, `d mul / d a = g * b`.

A rule is run on expressions. Statics that nobody knows are expressions as well, and taken to be nothing special (`exponent == 0`
is false of an exponent of which nothing is known). Where a rule branches on more than that, or the line gets too long, its own
source is shown instead.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from whygrad.base.expression import NAME, OPERATORS, PREFIXES, SIGN, TEST, Expr, Tracer, Untraceable
from whygrad.ops import TABLE
from whygrad.ops.table import NoGrad, Row, Rule
from whygrad.ops.vocabulary import Vocabulary

# A formula that is longer than this is not read any more.
LONGEST = 240

class FormulaTracer(Vocabulary, Tracer):
    """Writes rules down: an array is a "name", an option of which nothing is known a "static", a row's name a "call"."""

    def __init__(self, expanding: str = "") -> None:
        super().__init__()
        # The row whose definition is being written instead of its name.
        self.expanding = expanding

    def apply(self, op: str, *args: Any) -> Any:
        if op in ("eq", "ne") and is_static(args[0]):
            return op == "ne"  # an option about which nothing is known is taken to be nothing special
        return self.make(op, *args)

    def attribute(self, expr: Expr, name: str) -> Any:
        known = shape_of(expr) if name == "shape" else None
        return self.make("attribute", expr, name) if known is None else known

    def text(self, expr: Expr) -> str:
        return text_of(expr)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in TABLE:
            raise AttributeError(f"no row is called '{name}'")
        outputs = TABLE[name].outputs

        def call(*inputs: Any, **statics: Any) -> Any:
            if name.endswith("_backward") and not self.expanding:
                try:
                    return _expanded(name, inputs, statics)
                except Untraceable:
                    pass  # a primitive: its name has to do
            if name == self.expanding:
                raise Untraceable("a row that is made of nothing else")
            op = SAME_SIGN.get(name, name)
            if op in WRITTEN_AS_OPERATOR and not statics and isinstance(inputs[0], Expr):
                return self.make(op, *inputs)
            result = self.make(name, *inputs, **statics)
            if isinstance(outputs, str) or len(outputs) == 1:
                return result
            return tuple([self.make("item", result, i) for i in range(len(outputs))])

        return call


# A row that is written as another one's operator.
SAME_SIGN = {"mm": "matmul"}
# Comparisons of rows are written as calls: `where(gt(x, 0), ...)`.
WRITTEN_AS_OPERATOR = {op for op, known in OPERATORS.items() if known.strength > TEST and known.sign not in ("%", "//")} | {"neg"}


def is_static(expr: Any) -> bool:
    """Whether an expression is made of options and shapes alone."""
    if not isinstance(expr, Expr):
        return True
    if expr.op in ("name", "static", "attribute"):
        return expr.op != "name"
    return expr.op in {*OPERATORS, *PREFIXES, "item"} and all(map(is_static, expr.args))


def shape_of(expr: Expr) -> Any:
    """The shape, if it is known: that of an array whose node has kept it, or one that a row was given."""
    if expr.op in PREFIXES:
        return shape_of(expr.args[0])
    shape = expr.options.get("shape")
    return shape if isinstance(shape, tuple) else None


def text_of(value: Any, strength: int = TEST) -> str:
    """The formula as text, in brackets if it binds less than `strength`."""
    text, own = _text_and_strength(value)
    return text if own >= strength else f"({text})"


def _text_and_strength(value: Any) -> tuple[str, int]:
    if not isinstance(value, Expr):
        text = _text_of_constant(value)
        return text, SIGN if text.startswith("-") else NAME
    op, args = value.op, value.args
    if op in ("name", "static"):
        return args[0], NAME
    if op == "item":
        return f"{text_of(args[0], NAME)}[{text_of(args[1])}]", NAME
    if op == "attribute":
        return f"{text_of(args[0], NAME)}.{args[1]}", NAME
    if op in PREFIXES:
        return f"{PREFIXES[op].sign}{text_of(args[0], SIGN)}", SIGN
    if op in OPERATORS:
        _, sign, strength, _ = OPERATORS[op]
        # a - (b - c), a / (b / c), (a ** b) ** c and (a > b) & c need their brackets.
        left, right = strength + (sign in ("**", "&", "|")), strength + (sign in "-/@%&|")
        return _short(f"{text_of(args[0], left)} {sign} {text_of(args[1], right)}"), strength
    options = [f"{name}={text_of(x)}" for name, x in value.options.items()]
    return _short(f"{op}({', '.join([*map(text_of, args), *options])})"), NAME


def _short(text: str) -> str:
    """Refuses a text that is too long already: shared parts are written at each use."""
    if len(text) > 4 * LONGEST:
        raise Untraceable("too long")
    return text


def _text_of_constant(value: Any) -> str:
    if isinstance(value, slice):
        return ":".join("" if x is None else text_of(x) for x in (value.start, value.stop))
    if isinstance(value, (tuple, list)):
        inner = ", ".join(map(text_of, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.6g}" if isinstance(value, float) else repr(value) if isinstance(value, str) else str(value)


tracer = FormulaTracer()


def _expanded(name: str, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
    """What a derivative that is a row of its own (tanh_backward) is made of, if that is short."""
    result = TABLE[name].forward(FormulaTracer(name), *inputs, **statics)
    if not isinstance(result, Expr) or len(text_of(result)) > LONGEST / 3:
        raise Untraceable("too long")
    return result


def write(row: Row, argument: str, known: dict[str, Any] | None = None) -> str:
    """The derivative for one argument as text. `known` are shapes (`x_shape`) and options that one application had."""
    rule = row.rules[argument]
    if isinstance(rule, NoGrad):
        return f"none: {rule.reason}"
    if known:
        try:
            return _traced(row, rule, known)
        except Exception:  # what is known does not suit a formula: write the rule in general
            pass
    return _in_general(row, argument)


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
    if argument in row.traits.words:
        return row.traits.words[argument]
    rule = row.rules[argument]
    assert isinstance(rule, Rule)
    try:
        return _traced(row, rule, {})
    except Exception as error:  # any rule may want more of a value than an expression has
        return f"none: {error}" if "is not implemented" in str(error) else source_of_rule(rule)


def _traced(row: Row, rule: Rule, known: dict[str, Any]) -> str:
    result = rule.function(*[_argument_for(row, name, known) for name in rule.names])
    text = "0" if result is None else text_of(result)
    if len(text) > LONGEST or " object at 0x" in text:
        raise Untraceable("too long")
    return text


def _argument_for(row: Row, name: str, known: dict[str, Any]) -> Any:
    if name == "xp":
        return tracer
    if name == "g" and row.outputs != "list":
        differentiable = [i for i, out in enumerate(row.outputs) if not isinstance(out, NoGrad)]
        if len(differentiable) > 1:
            return [tracer.make("name", f"g{i}") for i in range(len(row.outputs))]
    if name in row.statics or (name.endswith("_shape") and name not in row.inputs):
        return known.get(name, row.static_defaults.get(name, tracer.make("static", name)))
    shape = known.get(f"{name}_shape")
    return tracer.make("name", name) if shape is None else tracer.make("name", name, shape=shape)


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
