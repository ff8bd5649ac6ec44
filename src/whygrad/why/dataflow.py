"""Where a value goes in the program's text: a coarse analysis by names, for numbers that no engine can follow.

A tensor's value may leave as a plain number (`.item()`, `.numpy()`) and come back in the loss. Nothing at run time
connects the two, but the text does: `sigma = t.item()` ... `loss = error / sigma`.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from whygrad.why.source import called, names_in, statement_at, statements, targets_of, text_of, value_of

# Methods that put their argument into the object they are called on.
_COLLECTING = ("append", "extend", "add", "insert", "update", "appendleft", "copy_", "fill_")


def reaches(file: str, line: int, names: set[str]) -> bool:
    """True if what the statement in `line` computes may find its way into one of `names`."""
    return bool(_tainted(text_of(file), file, line) & names)


@lru_cache(maxsize=256)
def _tainted(text: str, file: str, line: int) -> frozenset[str]:
    start = statement_at(file, line)
    if start is None:
        return frozenset()
    every = statements(file)
    tainted: set[str] = set()
    growing = _results(start, every)
    while growing - tainted:
        tainted |= growing
        for statement in every:
            if _own_names(statement) & tainted:
                growing = growing | _results(statement, every)
    return frozenset(tainted)


def _own_names(statement: ast.stmt) -> set[str]:
    """The names that a statement itself uses, without those of the statements inside it."""
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        return names_in(statement.iter)
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        return names_in(value_of(statement))
    if isinstance(statement, (ast.Expr, ast.Return)):
        return names_in(statement.value)
    return set()


def _results(statement: ast.stmt, every: list[ast.stmt]) -> set[str]:
    """What holds the value that a statement computes: what it assigns, collects into, returns from, or hands over to."""
    found = set(targets_of(statement))
    value = value_of(statement) or getattr(statement, "value", None)
    for node in ast.walk(value) if value is not None else ():
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and called(node) in _COLLECTING:
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
