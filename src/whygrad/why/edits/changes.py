"""Changes of a program at AST nodes, collected into an Edit of whole lines."""

from __future__ import annotations

import ast
from typing import NamedTuple

from whygrad.why.answers import Edit
from whygrad.why.source_tree import Position, SourceTree, end, start


class Splice(NamedTuple):
    """Replace the text between two positions."""

    first: Position
    last: Position
    text: str


class Changes:
    """Changes of one file that make up one fix."""

    def __init__(self, source: SourceTree) -> None:
        self.source = source
        self._splices: list[Splice] = []
        self._above: dict[int, list[str]] = {}
        self._below: dict[int, list[str]] = {}
        self._gone: set[int] = set()
        # Changed lines in the order of the calls; the first one becomes the line of the Edit.
        self._lines: list[int] = []

    # Changes inside a line.

    def replace(self, node: ast.AST, text: str) -> Changes:
        return self.splice(start(node), end(node), text)

    def splice(self, first: Position, last: Position, text: str) -> Changes:
        if not any(span == Splice(first, last, text) for span in self._splices):
            self._splices.append(Splice(first, last, text))
            self._lines += range(first.line, last.line + 1)
        return self

    def suffix(self, node: ast.AST, text: str) -> Changes:
        """Append text to a node, in parentheses if needed."""
        atom = self.source.atom(node) if isinstance(node, ast.expr) else self.source.text(node)
        if atom == self.source.text(node):
            return self.splice(end(node), end(node), text)
        return self.splice(start(node), start(node), "(").splice(end(node), end(node), ")" + text)

    def drop_suffix(self, attribute: ast.Attribute, upto: ast.AST) -> Changes:
        """Remove `.name(...)`: the text from the dot of an attribute to the end of `upto`."""
        line, column = end(attribute)
        column -= len(attribute.attr.encode())
        raw = self.source.raw
        while not raw[line - 1][:column].rstrip().endswith(b"."):
            line -= 1
            column = len(raw[line - 1])
        return self.splice(Position(line, len(raw[line - 1][:column].rstrip()) - 1), end(upto), "")

    def argument(self, call: ast.Call, text: str) -> Changes:
        """Append an argument to a call."""
        closing = Position(end(call).line, end(call).column - 1)
        given = [end(argument) for argument in (*call.args, *call.keywords)]
        if not given:
            return self.splice(closing, closing, text)
        last = max(given)
        if last.line != closing.line:  # the closing parenthesis is on its own line
            return self.splice(last, last, f", {text}")
        has_comma = self.source.text_between(last, closing).strip().endswith(",")
        return self.splice(closing, closing, f" {text}" if has_comma else f", {text}")

    def set_keyword(self, call: ast.Call, name: str, value: str) -> Changes:
        found = next((k for k in call.keywords if k.arg == name), None)
        return self.replace(found.value, value) if found is not None else self.argument(call, f"{name}={value}")

    def drop_keyword(self, call: ast.Call, name: str) -> Changes:
        found = next((k for k in call.keywords if k.arg == name), None)
        if found is None:
            return self
        others = [*call.args, *[k for k in call.keywords if k is not found]]
        before = [end(o) for o in others if end(o) <= start(found)]
        after = [start(o) for o in others if start(o) >= end(found)]
        if before:
            return self.splice(max(before), end(found), "")
        return self.splice(start(found), min(after) if after else end(found), "")

    # Changes of whole statements.

    def before(self, statement: ast.stmt, text: str) -> Changes:
        if not self._stands_alone(statement):
            return self.splice(start(statement), start(statement), f"{text}; ")
        self._above.setdefault(start(statement).line, []).append(self._indented(statement, text))
        self._lines.append(start(statement).line)
        return self

    def after(self, statement: ast.stmt, text: str) -> Changes:
        rest = self.source.text_after(end(statement)).strip()
        if rest.startswith(";") or self._in_one_line_suite(statement):
            return self.splice(end(statement), end(statement), f"; {text}")
        self._below.setdefault(end(statement).line, []).append(self._indented(statement, text))
        self._lines.append(end(statement).line)
        return self

    def delete(self, statement: ast.stmt) -> Changes:
        rest = self.source.text_after(end(statement)).strip()
        alone = self._stands_alone(statement) and (not rest or rest.startswith("#"))
        if not alone or len(self.source.block(statement)) == 1:
            return self.replace(statement, "pass")
        lines = range(start(statement).line, end(statement).line + 1)
        self._gone |= set(lines)
        self._lines += lines
        return self

    def delete_line(self, line: int) -> Changes:
        self._gone.add(line)
        self._lines.append(line)
        return self

    def move(self, statement: ast.stmt, *, before: ast.stmt | None = None, after: ast.stmt | None = None) -> Changes:
        text = self.source.text(statement)
        if before is not None:
            self.before(before, text)
        if after is not None:
            self.after(after, text)
        return self.delete(statement)

    def wrap(self, statement: ast.stmt, header: str, lines: list[str] | None = None) -> Changes:
        """Put a statement, or `lines` instead of it, into a new block."""
        source = self.source
        on_its_lines = [s for s in source.block(statement) if start(s).line <= end(statement).line and
                        end(s).line >= start(statement).line]
        one_line = self._in_one_line_suite(statement)
        indent = source.indentation(statement) + (source.indent_unit if one_line else "")
        inner = f"\n{indent}{source.indent_unit}"
        # Statements that share the line get their own lines.
        for before, sibling in zip([None, *on_its_lines], on_its_lines, strict=False):
            if before is not None or one_line:
                left = Position(start(sibling).line, len(source.text_before(start(sibling)).rstrip().encode()))
                self.splice(end(before) if before is not None else left, start(sibling), f"\n{indent}")
        if lines is None:
            # Continuation lines keep their indentation.
            return self.splice(start(statement), start(statement), header + inner)
        return self.replace(statement, inner.join([header, *lines]))

    def into_block_above(self, statement: ast.stmt, lines: list[str] | None = None) -> Changes:
        """Move a statement into the block that ends above it."""
        unit, indent = self.source.indent_unit, self.source.indentation(statement)
        if lines is None:
            return self.splice(start(statement), start(statement), unit)
        return self.replace(statement, f"\n{indent}{unit}".join([unit + lines[0], *lines[1:]]))

    def _stands_alone(self, statement: ast.stmt) -> bool:
        return not self.source.text_before(start(statement)).strip()

    def _in_one_line_suite(self, statement: ast.stmt) -> bool:
        """True for the body of a one-line `if x: body`."""
        parent = self.source.parents.get(statement)
        first = self.source.block(statement)[0]
        return isinstance(parent, ast.stmt) and not isinstance(parent, ast.Module) and bool(
            self.source.text_before(start(first)).strip()) and start(first).line == start(statement).line

    def _indented(self, statement: ast.stmt, text: str) -> str:
        indent = self.source.indentation(statement)
        return "\n".join(indent + line for line in text.split("\n"))

    def lines(self) -> dict[int, str]:
        """The new text of each changed line; "" for a deleted line."""
        new: dict[int, list[bytes]] = {}
        for first, last, text in sorted(self._splices, reverse=True):
            head = new.get(first.line, [self.source.raw[first.line - 1]])
            tail = new.get(last.line, [self.source.raw[last.line - 1]])
            joined = head[0][:first.column] + text.encode() + tail[0][last.column:]
            for line in range(first.line + 1, last.line + 1):
                new[line] = [b""]
            new[first.line] = [joined]
        changed: dict[int, str] = {}
        for line in sorted(set(self._lines)):
            own = new[line][0].decode() if line in new else self.source.lines[line - 1]
            kept = [] if line in self._gone or (not own.strip() and self.source.lines[line - 1].strip()) else [own]
            changed[line] = "\n".join([*self._above.get(line, []), *kept, *self._below.get(line, [])])
        return {line: text for line, text in changed.items() if text != self.source.lines[line - 1]}

    def edit(self) -> Edit | None:
        """The changes as an Edit; None if nothing changes or the result does not parse."""
        changed = self.lines()
        if not changed:
            return None
        if not self.source.parses_with(changed):
            return None
        first = next(line for line in self._lines if line in changed)
        return Edit(self.source.file, first, changed.pop(first),
                    also=[Edit(self.source.file, line, new) for line, new in changed.items()])
