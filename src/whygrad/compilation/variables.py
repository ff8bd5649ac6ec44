"""Variables of a function's text: what statements read and write."""

from __future__ import annotations

import ast
from typing import Any

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def names_in(nodes: Any, kind: type[ast.expr_context], hidden: frozenset[str] = frozenset()) -> set[str]:
    """The variables that are read or written, but for those of comprehensions."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name):
            found |= {node.id} - hidden if isinstance(node.ctx, kind) else set()
        elif isinstance(node, COMPREHENSIONS):
            first = node.generators[0].iter
            own = hidden | names_in([g.target for g in node.generators], ast.Store)
            rest = [x for g in node.generators for x in (g.target, *g.ifs, g.iter) if x is not first]
            ends = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            found |= names_in([first], kind, hidden) | names_in([*rest, *ends], kind, own)
        else:
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and kind is ast.Load:
                found.add(node.target.id)
            found |= names_in(ast.iter_child_nodes(node), kind, hidden)
    return found


def exposed(statements: list[ast.stmt], bound: set[str]) -> tuple[set[str], set[str]]:
    """The variables that a block reads before it has given them a value for sure; and all that have one at its end."""
    read: set[str] = set()
    own: set[str] = set()

    def block(inner: list[ast.stmt], more: set[str]) -> set[str]:
        found, definite = exposed(inner, more)
        read.update(found - own)
        return definite

    for statement in statements:
        if isinstance(statement, ast.For):
            read |= names_in([statement.iter], ast.Load) - own
            target = names_in([statement.target], ast.Store)
            for inner in (statement.body, statement.orelse):
                found, _ = exposed(inner, set())
                read |= found - own - target
        elif isinstance(statement, ast.While):
            read |= names_in([statement.test], ast.Load) - own
            for inner in (statement.body, statement.orelse):
                block(inner, set())
        elif isinstance(statement, ast.If):
            read |= names_in([statement.test], ast.Load) - own
            own |= block(statement.body, set()) & block(statement.orelse, set())
        elif isinstance(statement, ast.With):
            for item in statement.items:
                read |= names_in([item.context_expr], ast.Load) - own
                own |= names_in([item.optional_vars] if item.optional_vars else [], ast.Store)
            own |= block(statement.body, set())
        else:
            read |= names_in([statement], ast.Load) - own
            own |= names_in([statement], ast.Store)
    return read, bound | own
