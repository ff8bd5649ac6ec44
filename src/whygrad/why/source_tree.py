"""A file's text with its AST: the node at a location, the text of a node, enclosing blocks and scopes."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from whygrad.why.locations import SourceLocation, source_lines

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
Function = (ast.FunctionDef, ast.AsyncFunctionDef)
Loop = (ast.For, ast.AsyncFor, ast.While)


class Position(NamedTuple):
    """A line (from 1) and a column in UTF-8 bytes, as in ast nodes."""

    line: int
    column: int


class SourceTree:
    def __init__(self, file: str, lines: list[str]) -> None:
        self.file = file
        self.lines = lines
        self.tree = ast.parse("\n".join(lines) + "\n")

    @cached_property
    def raw(self) -> list[bytes]:
        return [line.encode() for line in self.lines]

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in self.walk() for child in ast.iter_child_nodes(node)}

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """All statements, breadth first."""
        return [node for node in self.walk() if isinstance(node, ast.stmt)]

    def walk(self, under: ast.AST | None = None) -> Iterator[ast.AST]:
        return ast.walk(self.tree if under is None else under)

    def node_at(self, location: SourceLocation) -> ast.AST | None:
        """The node with exactly this range; else the innermost statement on its line."""
        found = self._by_range.get((location.line, location.column, location.end_line, location.end_column))
        return found or self.statement_on(location.line)

    @cached_property
    def _by_range(self) -> dict[tuple[int | None, ...], ast.AST]:
        """Of several nodes with one range, the last one that is walked: the innermost."""
        return {(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset): node
                for node in self.walk() if isinstance(node, (ast.expr, ast.stmt))}

    def statement_on(self, line: int) -> ast.stmt | None:
        """The innermost statement that covers a line."""
        covering = [node for root in covering_statements(self.tree.body, line) for node in self.walk(root)
                    if isinstance(node, ast.stmt) and node.lineno <= line <= end(node).line]
        return max(covering, key=lambda node: (node.lineno, -end(node).line), default=None)

    def statement_at(self, line: int, column: int | None = None) -> ast.stmt | None:
        """The innermost statement that covers a line, decorators included; with a column, the one of several on that line."""
        found: ast.stmt | None = None
        body = self.tree.body
        while body:
            covering = covering_statements(body, line)
            begun = [s for s in covering if start(s).line < line or column is None or s.col_offset <= column]
            if not begun:
                break  # `if test: body` on one line, and the column is in the test
            found = covering[0] if column is None else begun[-1]
            body = list(_child_statements(found))
        return found

    def parses_with(self, changed: dict[int, str]) -> bool:
        """Whether the file still parses with these lines replaced. Only the outermost statements around them are parsed."""
        around = [s for line in changed for s in covering_statements(self.tree.body, line)]
        first = min([*changed, *[start(s).line for s in around]])
        last = max([*changed, *[end(s).line for s in around]])
        text = "\n".join([changed.get(line, self.lines[line - 1]) for line in range(first, last + 1)])
        try:
            ast.parse(text + "\n")
        except (SyntaxError, ValueError):
            return False
        return True

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The statement a node belongs to."""
        found: ast.AST | None = node
        while found is not None and not isinstance(found, ast.stmt):
            found = self.parents.get(found)
        return found

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The enclosing nodes, innermost first."""
        found = self.parents.get(node)
        while found is not None:
            yield found
            found = self.parents.get(found)

    def scope(self, node: ast.AST) -> ast.AST:
        """The function that contains a node, or the module."""
        return next((a for a in self.ancestors(node) if isinstance(a, (*Function, ast.Lambda))), self.tree)

    def loop(self, node: ast.AST) -> ast.For | ast.AsyncFor | ast.While | None:
        """The innermost loop of the same function around a node."""
        for outer in self.ancestors(node):
            if isinstance(outer, Function):
                return None
            if isinstance(outer, Loop):
                return outer
        return None

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that contains this one."""
        parent = self.parents.get(statement)
        for _, value in ast.iter_fields(parent) if parent is not None else ():
            if isinstance(value, list) and statement in value:
                return value
        return [statement]

    def sibling(self, node: ast.AST, of: ast.stmt) -> ast.stmt | None:
        """The statement in the block of `of` that contains a node (or is it)."""
        block = self.block(of)
        return next((s for s in (node, *self.ancestors(node)) if isinstance(s, ast.stmt) and s in block), None)

    def text(self, node: ast.AST) -> str:
        return self.text_between(start(node), end(node))

    def text_between(self, first: Position, last: Position) -> str:
        lines = self.raw[first.line - 1:last.line]
        if len(lines) == 1:
            return lines[0][first.column:last.column].decode()
        return b"\n".join([lines[0][first.column:], *lines[1:-1], lines[-1][:last.column]]).decode()

    def text_before(self, position: Position) -> str:
        """The text before a position in its line."""
        return self.raw[position.line - 1][:position.column].decode()

    def text_after(self, position: Position) -> str:
        return self.raw[position.line - 1][position.column:].decode()

    def indentation(self, statement: ast.stmt) -> str:
        line = self.lines[start(statement).line - 1]
        return line[:len(line) - len(line.lstrip())]

    @property
    def indent_unit(self) -> str:
        """One level of indentation in this file."""
        for statement in self.walk():
            outer = self.parents.get(statement)
            if isinstance(statement, ast.stmt) and isinstance(outer, ast.stmt) and statement.lineno > outer.lineno:
                inner, own = self.indentation(statement), self.indentation(outer)
                if inner.startswith(own) and inner != own:
                    return inner[len(own):]
        return "    "

    def atom(self, node: ast.expr) -> str:
        """A node's text, in parentheses if an appended suffix would bind to a part of it."""
        text = self.text(node)
        simple = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Dict, ast.ListComp, ast.JoinedStr)
        return text if isinstance(node, simple) or is_parenthesized(text) else f"({text})"


def start(node: ast.AST) -> Position:
    decorators = getattr(node, "decorator_list", None)
    if decorators:
        first = decorators[0]
        return Position(first.lineno, node.col_offset)  # type: ignore[attr-defined]
    return Position(node.lineno, node.col_offset)  # type: ignore[attr-defined]


def end(node: ast.AST) -> Position:
    return Position(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


def covering_statements(body: list[ast.stmt], line: int) -> list[ast.stmt]:
    """The statements of a block that cover a line, in order. They follow each other, so that few of them are looked at."""
    after = bisect_right(body, line, key=lambda statement: start(statement).line)
    first = after
    while first and end(body[first - 1]).line >= line:
        first -= 1
    return body[first:after]


def _child_statements(statement: ast.stmt) -> Iterator[ast.stmt]:
    for name in ("body", "orelse", "finalbody"):
        yield from getattr(statement, name, [])
    for inner in (*getattr(statement, "handlers", []), *getattr(statement, "cases", [])):
        yield from inner.body


def is_parenthesized(text: str) -> bool:
    """True if the first and the last character are a pair of parentheses."""
    if not text.startswith("(") or not text.endswith(")"):
        return False
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return i == len(text) - 1
    return False


def same_text(a: ast.AST, b: ast.AST) -> bool:
    """True if two expressions have the same text, whether loaded or stored."""
    return ast.unparse(a) == ast.unparse(b)


def receiver(node: ast.AST | None) -> ast.expr | None:
    """`x` of `x.backward()`."""
    return node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None


def root_name(node: ast.expr) -> str | None:
    """The name at the beginning of `model.blocks[0].weight`."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def names_in(node: ast.AST | None) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} if node is not None else set()


def keyword(call: ast.Call, name: str) -> ast.keyword | None:
    return next((k for k in call.keywords if k.arg == name), None)


# file -> (its lines, the tree of them): to compare the lines for every query is slow.
_trees: dict[str, tuple[list[str], SourceTree | None]] = {}


def source_of(file: str) -> SourceTree | None:
    """The source tree of a file as the program was started from; None if it cannot be read or parsed."""
    lines = source_lines(file)
    known = _trees.get(file)
    if known is None or (known[0] is not lines and known[0] != lines):
        known = _trees[file] = lines, _parsed(file, lines)
    return known[1]


def _parsed(file: str, lines: list[str]) -> SourceTree | None:
    try:
        return SourceTree(file, [line.rstrip("\r\n") for line in lines]) if lines else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
