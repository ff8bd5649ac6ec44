"""The input of a fixer: an explanation with the AST nodes at its locations."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from whygrad.why.answers import Explanation
from whygrad.why.edits.bindings import backward_above, module_name, uses
from whygrad.why.edits.changes import Changes
from whygrad.why.locations import SourceLocation
from whygrad.why.source_tree import SourceTree, names_in, source_of


class AstSpan(NamedTuple):
    """An AST node at a source location, and its statement."""

    source: SourceTree
    node: ast.AST
    statement: ast.stmt


def span_at(location: SourceLocation | None) -> AstSpan | None:
    source = source_of(location.file) if location is not None else None
    if location is None or source is None:
        return None
    node = source.node_at(location)
    statement = source.statement(node) if node is not None else None
    return None if node is None or statement is None else AstSpan(source, node, statement)


@dataclass
class FixContext:
    """An explanation, and the AST spans of its read, causes and backward."""

    explanation: Explanation

    @cached_property
    def read(self) -> AstSpan | None:
        return span_at(self.explanation.read)

    @cached_property
    def causes(self) -> list[AstSpan]:
        found = [span_at(location) for location in self.explanation.causes]
        return [s for s in found if s is not None]

    @property
    def cause(self) -> AstSpan | None:
        return self.causes[0] if self.causes else None

    @cached_property
    def tensor(self) -> ast.expr | None:
        """`x` of the read `x.grad`."""
        node = self.read.node if self.read is not None else None
        if isinstance(node, ast.Attribute) and node.attr in ("grad", "requires_grad", "grad_fn", "is_leaf"):
            return node.value
        return None

    @cached_property
    def backward(self) -> AstSpan | None:
        """The backward that ran last before the read, else the one above it in the text."""
        found = span_at(self.explanation.backward)
        if found is not None or self.read is None:
            return found
        statement = backward_above(self.read.source, self.read.node)
        return None if statement is None else AstSpan(self.read.source, statement, statement)

    def visible_at(self, where: AstSpan) -> bool:
        """True if the expression of the read tensor is valid at `where`: same file and function, no loop variable."""
        if self.tensor is None or self.read is None or self.read.source is not where.source:
            return False
        source = where.source
        if source.scope(self.read.node) is not source.scope(where.node) and source.scope(self.read.node) is not source.tree:
            return False
        return not any(uses(target, ast.Name(name)) for target in self.loop_targets(where) for name in names_in(self.tensor))

    def loop_targets(self, where: AstSpan) -> list[ast.expr]:
        """The variables of loops and comprehensions that enclose the read but not `where`."""
        assert self.read is not None
        source = self.read.source
        around = list(source.ancestors(where.node))
        found: list[ast.expr] = []
        for outer in source.ancestors(self.read.node):
            if isinstance(outer, (ast.For, ast.AsyncFor)) and outer not in around:
                found.append(outer.target)
            found += [g.target for g in getattr(outer, "generators", ())]
        return found


def torch(changes: Changes, module: str = "torch") -> str:
    """The name of `torch` (or `torch.nn`) in the changed file; adds an import if there is none."""
    found = module_name(changes.source, module)
    if found is not None:
        return found
    imports = [s for s in changes.source.tree.body if isinstance(s, (ast.Import, ast.ImportFrom)) and
               getattr(s, "module", "") != "__future__"]
    if imports:
        changes.before(imports[0], "import torch")
    return module
