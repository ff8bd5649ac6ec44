"""Static taint analysis of the program's text by names, for values that leave the graph as plain numbers.

A tensor's value may be copied out (`.item()`, `.numpy()`) and used in the loss. Nothing at run time connects the two, but
the text does: `sigma = t.item()` ... `loss = error / sigma`. The analysis ignores control flow and scopes.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from whygrad.why.program_text import called_name, dotted_names, targets_of, value_of
from whygrad.why.source_tree import SourceTree, source_of

# Methods that store their argument in the object they are called on.
_COLLECTING = ("append", "extend", "add", "insert", "update", "appendleft", "copy_", "fill_")


def flows_into(file: str, line: int, names: set[str]) -> bool:
    """True if the value that the statement in `line` computes may flow into one of `names`."""
    source = source_of(file)
    return source is not None and bool(_tainted(source, line) & names)


@lru_cache(maxsize=256)
def _tainted(source: SourceTree, line: int) -> frozenset[str]:
    start, every = source.statement_at(line), source.statements
    if start is None:
        return frozenset()
    tainted: set[str] = set()
    growing = _results(start, every)
    while growing - tainted:
        tainted |= growing
        for statement in every:
            if _own_names(statement) & tainted:
                growing = growing | _results(statement, every)
    return frozenset(tainted)


def _own_names(statement: ast.stmt) -> set[str]:
    """The names that a statement reads, without those of nested statements."""
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        return dotted_names(statement.iter)
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        return dotted_names(value_of(statement))
    if isinstance(statement, (ast.Expr, ast.Return)):
        return dotted_names(statement.value)
    return set()


def _results(statement: ast.stmt, every: list[ast.stmt]) -> set[str]:
    """Names that hold the value a statement computes: targets, containers it is added to, functions that return it."""
    found = set(targets_of(statement))
    value = value_of(statement) or getattr(statement, "value", None)
    for node in ast.walk(value) if value is not None else ():
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and called_name(node) in _COLLECTING:
            found.add(ast.unparse(node.func.value))
    if isinstance(statement, (ast.Return, ast.Expr)):
        returns = isinstance(statement, ast.Return) or isinstance(value, (ast.Yield, ast.YieldFrom))
        if returns:
            found |= {f.name for f in every if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef))
                      and f.lineno <= statement.lineno <= (f.end_lineno or f.lineno)}
            # A method is called through an object.
            found |= {n for name in set(found) for n in _calls_of(name, every)}
    return found


def _calls_of(name: str, every: list[ast.stmt]) -> set[str]:
    texts: set[str] = set()
    for statement in every:
        for n in _own_names(statement):
            if n.rpartition(".")[2] == name:
                texts.add(n)
        if name == "forward":
            # A module is called by its own name: every call may be one.
            texts |= {ast.unparse(n.func) for n in ast.walk(statement) if isinstance(n, ast.Call)
                      and isinstance(n.func, (ast.Name, ast.Attribute))} if not _is_definition(statement) else set()
    return texts


def _is_definition(statement: ast.stmt) -> bool:
    return isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
