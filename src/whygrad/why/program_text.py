"""Queries about the program's text: the statement at a location, its targets, earlier assignments, how a read is used."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from whygrad.why.locations import SourceLocation, location_of_line, source_lines
from whygrad.why.source_tree import Function, Loop, SourceTree, end, source_of, start


def syntax_tree(file: str) -> ast.Module | None:
    """The syntax tree of a source file; None if there is no text, or none that parses."""
    source = source_of(file)
    return None if source is None else source.tree


@lru_cache(maxsize=256)
def parse_expression(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def statement_at(file: str, line: int, column: int | None = None) -> ast.stmt | None:
    """The innermost statement that covers a line; with a column, the one of several on that line."""
    source = source_of(file)
    return None if source is None else _statement_at(source, line, column)


_statement_at = lru_cache(maxsize=1024)(SourceTree.statement_at)


def statement_of(location: SourceLocation | None) -> ast.stmt | None:
    """The innermost statement that contains a location."""
    return None if location is None else statement_at(location.file, location.line, location.column)


def statements(file: str) -> list[ast.stmt]:
    """All statements of a file, breadth first."""
    source = source_of(file)
    return [] if source is None else source.statements


def subject_of(read: SourceLocation | None) -> str:
    """The object of an attribute read: `model[0].weight` of `model[0].weight.grad`; empty for any other expression."""
    node = None if read is None else parse_expression(read.expression)
    return ast.unparse(node.value) if isinstance(node, ast.Attribute) else ""


def targets_of(statement: ast.stmt | None) -> set[str]:
    """The targets of a statement, as text: `w`, `self.w`."""
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)):
        targets = [statement.target]
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        targets = [item.optional_vars for item in statement.items if item.optional_vars is not None]
    else:
        return set()
    found = set()
    for target in targets:
        for node in ast.walk(target):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
                found.add(ast.unparse(node))
            elif isinstance(node, ast.Subscript):
                found |= {ast.unparse(node), ast.unparse(node.value)}
    return found


def value_of(statement: ast.stmt | None) -> ast.expr | None:
    return statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)) else None


def dotted_names(node: ast.AST | None) -> set[str]:
    """Names, attributes and subscripts that occur in an expression, as text."""
    found = set()
    for n in ast.walk(node) if node is not None else ():
        if isinstance(n, ast.Name):
            found.add(n.id)
        elif isinstance(n, (ast.Attribute, ast.Subscript)):
            found.add(ast.unparse(n))
    return found


def rebound_names(statement: ast.stmt | None) -> list[str]:
    """The targets that a statement computes from their own old value: `w` of `w = w - ...`."""
    return sorted(targets_of(statement) & dotted_names(value_of(statement)))


def called_name(node: ast.AST | None) -> str:
    """The last name of a call's function: `sqrt` of `torch.sqrt(x)` and of `x.sqrt()`; empty if the node is no call."""
    function = node.func if isinstance(node, ast.Call) else None
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


def last_assignment(file: str, name: str, before: int) -> ast.stmt | None:
    """The last assignment of a name before a line; by position, control flow is ignored."""
    source = source_of(file)
    found = [s for s in _assignments(source).get(name, ()) if s.lineno < before] if source is not None else []
    return max(found, key=lambda s: s.lineno, default=None)


@lru_cache(maxsize=64)
def _assignments(source: SourceTree) -> dict[str, list[ast.stmt]]:
    found: dict[str, list[ast.stmt]] = {}
    for statement in source.statements:
        if not isinstance(statement, (ast.For, ast.With)):
            for name in targets_of(statement):
                found.setdefault(name, []).append(statement)
    return found


def _around(file: str, statement: ast.stmt, *kinds: type[ast.stmt]) -> ast.AST | None:
    """The innermost statement of some kinds around another one."""
    source = source_of(file)
    return None if source is None else next((a for a in source.ancestors(statement) if isinstance(a, kinds)), None)


def scope_around(file: str, statement: ast.stmt) -> ast.AST:
    """The function or class that a statement is in, or the module."""
    return _around(file, statement, *Function, ast.ClassDef) or syntax_tree(file) or ast.Module([], [])


def loop_around(file: str, statement: ast.stmt) -> ast.stmt | None:
    """The innermost loop that a statement is in, within its function."""
    found = _around(file, statement, *Function, ast.ClassDef, *Loop)
    return found if isinstance(found, Loop) else None


def is_tried(file: str, statement: ast.stmt) -> bool:
    """True if a statement stands in a `try` with handlers, which may want to know no more than whether it raises."""
    around = _around(file, statement, ast.Try)
    return isinstance(around, ast.Try) and bool(around.handlers)


def is_overwritten(file: str, statement: ast.stmt, name: str) -> bool:
    """True if each turn of a loop binds a name anew, nobody reads it in the loop, and somebody does after the loop."""
    loop = loop_around(file, statement)
    if loop is None:
        return False
    reads = [n.lineno for n in ast.walk(scope_around(file, statement))
             if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    last = end(loop).line
    return any(line > last for line in reads) and not any(loop.lineno <= line <= last for line in reads)


def is_read_after(file: str, statement: ast.stmt, name: str) -> bool:
    """True if the value that a statement binds to a name may be read: below it, in the next turn of a loop around it, or by other
    functions and modules."""
    scope = scope_around(file, statement)
    if not isinstance(scope, Function):
        return True
    inner = [n for n in ast.walk(scope) if n is not scope and isinstance(n, (*Function, ast.Lambda))]
    declared = {n for s in ast.walk(scope) if isinstance(s, (ast.Global, ast.Nonlocal)) for n in s.names}
    if name in declared or any(isinstance(n, ast.Name) and n.id == name for f in inner for n in ast.walk(f)):
        return True
    innermost = loop_around(file, statement)
    if innermost is not None and name not in targets_of(innermost):
        return True  # the next turn may read it
    last = None if innermost is None else innermost.end_lineno
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and start(n) >= end(statement)
               and (last is None or n.lineno <= last) for n in ast.walk(scope))


def inside_no_grad(file: str, line: int) -> bool:
    """True if a line is in a `with` block or decorated function that switches gradients off."""
    for statement in statements(file):
        if not statement.lineno <= line <= end(statement).line:
            continue
        switches: list[ast.expr] = []
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            switches = [item.context_expr for item in statement.items]
        elif isinstance(statement, Function):
            switches = statement.decorator_list
        if any(word in ast.unparse(s) for s in switches for word in ("no_grad", "inference_mode", "set_grad_enabled")):
            return True
    return False


def _compares_with_none(node: ast.AST, read: SourceLocation, operator: type[ast.cmpop]) -> bool:
    return (isinstance(node, ast.Compare) and isinstance(node.ops[0], operator) and node.left.lineno == read.line
            and isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None
            and ast.unparse(node.left) == _unparsed(read.expression))


def _unparsed(text: str) -> str:
    node = parse_expression(text)
    return "" if node is None else ast.unparse(node)


def is_guard(read: SourceLocation | None) -> bool:
    """True if a read only tests whether there is a gradient, and the program handles its absence.

    `if p.grad is not None: ...`, the same in a comprehension or a conditional expression, `if p.grad is None: continue`.
    """
    statement = statement_of(read)
    if statement is None or read is None:
        return False
    tests: list[ast.expr] = []
    for node in ast.walk(statement):
        if isinstance(node, (ast.If, ast.IfExp, ast.While)):
            tests.append(node.test)
        elif isinstance(node, ast.comprehension):
            tests += node.ifs
    if any(_compares_with_none(n, read, ast.IsNot) for test in tests for n in ast.walk(test)):
        return True
    if isinstance(statement, ast.If) and any(_compares_with_none(n, read, ast.Is) for n in ast.walk(statement.test)):
        return all(isinstance(s, (ast.Continue, ast.Pass, ast.Return)) or _assigns_grad(s) for s in statement.body)
    return False


def _assigns_grad(statement: ast.stmt) -> bool:
    return any(name.endswith(".grad") for name in targets_of(statement))


def uncalled_method(file: str, method: str) -> ast.stmt | None:
    """A statement such as `loss.backward` that names a method without calling it."""
    return next((s for s in statements(file) if isinstance(s, ast.Expr) and isinstance(s.value, ast.Attribute)
                 and s.value.attr == method), None)


def is_dereferenced(read: SourceLocation | None) -> bool:
    """True if an attribute of the value is used, which None does not have: `w.grad.zero_()`."""
    statement = statement_of(read)
    return read is not None and statement is not None and any(
        isinstance(n, ast.Attribute) and isinstance(n.value, ast.Attribute) and n.value.lineno == read.line
        and n.value.col_offset == read.column and ast.unparse(n.value) == _unparsed(read.expression) for n in ast.walk(statement))


def expects_none(read: SourceLocation | None, how: type[ast.cmpop] = ast.Is) -> bool:
    """True if the read is compared by `is None` (or by `is not None`, if `how` says so): the program may expect it."""
    statement = statement_of(read)
    return read is not None and statement is not None and any(
        _compares_with_none(n, read, how) for n in ast.walk(statement))


def switches_requires_grad_on(file: str) -> bool:
    """True if the file sets requires_grad somewhere: `p.requires_grad = True`, `head.requires_grad_()`."""
    for node in ast.walk(syntax_tree(file) or ast.Module([], [])):
        switch = node.value if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Attribute) and t.attr == "requires_grad" for t in node.targets) else None
        if isinstance(node, ast.Call) and called_name(node) == "requires_grad_":
            switch = node.args[0] if node.args else ast.Constant(True)
        if switch is not None and not (isinstance(switch, ast.Constant) and not switch.value):
            return True
    return False


def is_asserted(read: SourceLocation | None) -> bool:
    return read is not None and isinstance(statement_of(read), ast.Assert)


def is_difference(read: SourceLocation | None) -> bool:
    """True if something is subtracted from the value that was read: `w.grad - before`."""
    statement = statement_of(read)
    for node in ast.walk(statement) if statement is not None else ():
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            texts = {ast.unparse(n) for n in ast.walk(node.left) if isinstance(n, ast.Attribute)}
            if read is not None and _unparsed(read.expression) in texts:
                return True
    return False


def argument_text(here: SourceLocation, position: int) -> str:
    """The text of one positional argument of the call at a location, or of one operand."""
    node = parse_expression(here.expression)
    if isinstance(node, ast.Call) and position < len(node.args):
        return ast.unparse(node.args[position])
    if isinstance(node, ast.BinOp):
        return ast.unparse(node.left if position == 0 else node.right)
    return ""


def lines_matching(file: str, pattern: str) -> list[SourceLocation]:
    """The lines of a file whose code matches a regular expression."""
    return [location_of_line(file, number) for number, line in enumerate(source_lines(file), 1)
            if re.search(pattern, line.partition("#")[0])]
