"""Refining an answer with the source text at hand: what the statement at a place does to which name."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache

from whygrad.why.answers import Explanation
from whygrad.why.places import Place

_whygrad_internal_ = True


def refine(told: Explanation, read: Place) -> Explanation:
    """Look at the source of the read and of the cause; give a more exact answer where they allow one."""
    if told.category == "non-leaf-no-retain" and told.causes:
        return _leaf_replaced(told, read) or told
    return told


def _leaf_replaced(told: Explanation, read: Place) -> Explanation | None:
    """`w = w - lr * w.grad`: the name once meant a leaf, and now means the result of an operation on it."""
    name = root_name(read.expression)
    made = told.causes[0]
    statement = statement_at(made.file, made.line)
    if name is None or not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return None
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if name not in {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}:
        return None
    uses_itself = name in {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)}
    makes_leaf = any(isinstance(n, ast.keyword) and n.arg == "requires_grad" for n in ast.walk(statement.value)) or any(
        isinstance(n, ast.Call) and _called(n) == "Parameter" for n in ast.walk(statement.value))
    if not uses_itself and not makes_leaf:
        return None
    return Explanation(
        told.symptom, "leaf-replaced",
        f"The name `{name}` no longer refers to a leaf: line {made.line}, `{ast.unparse(statement)}`, assigned it a new tensor, "
        "the result of an operation. Only leaves keep .grad; the leaf it was made from is another object.",
        f"keep the leaf and update it in place without recording: with torch.no_grad(): {name} -= ...; or create it in its final "
        "form and then call requires_grad_().",
        told.causes, told.path)


def is_guard(read: Place | None) -> bool:
    """True if the read stands in `... is not None`."""
    statement = None if read is None else statement_at(read.file, read.line)
    for node in ast.walk(statement) if statement is not None else ():
        guards = isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.IsNot)
        if guards and read is not None and node.left.lineno == read.line:  # type: ignore[attr-defined]
            return True
    return False


def _called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


def root_name(expression: str) -> str | None:
    """The variable at the root of `w.grad` or `model.blocks[0].weight.grad`."""
    try:
        node: ast.AST = ast.parse(expression, mode="eval").body
    except SyntaxError:
        return None
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.value.id
    return None


@lru_cache(maxsize=64)
def _tree(file: str, text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def statement_at(file: str, line: int) -> ast.stmt | None:
    """The innermost statement that covers a line."""
    tree = _tree(file, "".join(linecache.getlines(file)))
    found: ast.stmt | None = None
    for node in ast.walk(tree) if tree is not None else ():
        covers = isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
        if isinstance(node, ast.stmt) and covers and (found is None or node.lineno >= found.lineno):
            found = node
    return found
