"""Fixers for parameters that no optimizer holds: register them in the module, or give them to the optimizer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from whygrad.why.edits.bindings import Binding, assigned, binding_before, classes, is_module, is_optimizer
from whygrad.why.edits.changes import Changes
from whygrad.why.edits.fix_context import AstSpan, FixContext, torch
from whygrad.why.program_text import called_name
from whygrad.why.source_tree import SourceTree, end, keyword, names_in, receiver, root_name, same_text, start


class Missing(NamedTuple):
    """The expression that the optimizer lacks: a tensor, or a module with parameters."""

    node: ast.expr
    is_tensor: bool

    def as_element(self) -> str:
        """Its text inside a list of parameters."""
        return ast.unparse(self.node) if self.is_tensor else f"*{ast.unparse(self.node)}.parameters()"

    def as_group(self) -> str:
        """Its text as the parameters of a group."""
        return f"[{ast.unparse(self.node)}]" if self.is_tensor else f"{ast.unparse(self.node)}.parameters()"


def give_to_optimizer(context: FixContext) -> Iterator[Changes]:
    """Register a parameter in its module, add it to the optimizer's list, or create the optimizer later."""
    made = next((c for c in context.causes if any(is_optimizer(n) for n in ast.walk(c.statement))), None)
    files = [s.source for s in (context.read, *context.causes) if s is not None]
    for source in dict.fromkeys(files):
        yield from _register(context, source)
    if made is None:
        return
    source = made.source
    call = next(n for n in ast.walk(made.statement) if is_optimizer(n))
    assert isinstance(call, ast.Call)
    later = _created_later(context, made)
    if later is not None and isinstance(later.value, (ast.List, ast.ListComp)) and call.args:
        yield from _move_after(source, assigned(later)[0], Binding(later, later.value), made.statement, call)
        return
    missing = _missing_of_read(context, source) or (None if later is None else _missing_of(later))
    if missing is None or not call.args:
        yield from _move_to_first_use(source, made.statement)
        return
    replaced = _replaced_after(source, missing.node, made.statement)
    name = next((ast.unparse(t) for t in assigned(made.statement)), None)
    if replaced is not None and name is not None:
        yield Changes(source).after(replaced, f'{name}.add_param_group({{"params": {missing.as_group()}}})')
        return
    root = ast.Name(root_name(missing.node) or "")
    bound = binding_before(source, root, context.read.node) if context.read is not None else None
    if bound is not None and start(bound.statement) > start(made.statement):
        yield from _move_after(source, missing.node, bound, made.statement, call)
        return
    yield Changes(source).replace(call.args[0], _with_element(source, call.args[0], missing.as_element()))


def _move_to_first_use(source: SourceTree, made: ast.stmt) -> Iterator[Changes]:
    """A parameter was replaced after the optimizer was created: create the optimizer right before its first use."""
    names = {root_name(t) for t in assigned(made)}
    later = [s for s in source.block(made) if start(s) > start(made)]
    used = next((s for s in later if names & names_in(s)), None)
    if used is not None and used is not later[0]:
        yield Changes(source).move(made, before=used)


def _move_after(source: SourceTree, node: ast.expr, bound: Binding, made: ast.stmt, call: ast.Call) -> Iterator[Changes]:
    """The trained model, or list of models, is created after the optimizer: create the optimizer after it, for all of it."""
    several = isinstance(bound.value, (ast.List, ast.ListComp))
    held = (f"[p for model in {root_name(node)} for p in model.parameters()]" if several else
            f"{ast.unparse(node)}.parameters()")
    if isinstance(bound.statement, ast.stmt) and bound.statement in source.block(made):
        first = source.text_between(start(made), start(call.args[0]))
        rest = source.text_between(end(call.args[0]), end(made))
        yield Changes(source).after(bound.statement, f"{first}{held}{rest}").delete(made)


def _created_later(context: FixContext, made: AstSpan) -> ast.Assign | None:
    """For an answer without a read: the assignment among the causes that creates a layer after the optimizer."""
    for cause in context.causes if context.tensor is None else ():
        statement = cause.statement
        if cause.source is made.source and start(statement) > start(made.statement) and len(assigned(statement)) == 1:
            return statement if isinstance(statement, ast.Assign) else None
    return None


def _missing_of(statement: ast.Assign) -> Missing:
    return Missing(assigned(statement)[0], called_name(statement.value) == "Parameter")


def _missing_of_read(context: FixContext, source: SourceTree) -> Missing | None:
    """The module of the tensor that was read, or the tensor itself."""
    tensor = context.tensor
    if tensor is None or context.read is None or context.read.source is not source:
        return None
    inner: ast.expr = tensor
    if isinstance(inner, ast.Name):
        bound = binding_before(source, inner, context.read.node)
        if bound is None:
            return None
        if isinstance(bound.statement, (ast.For, ast.comprehension)):
            module = receiver(bound.statement.iter)
            return None if module is None else Missing(module, False)
        if not isinstance(bound.value, ast.Attribute):
            return Missing(inner, True)
        inner = bound.value
    if isinstance(inner, ast.Attribute) and is_module(source, inner.value, context.read.node) is not False:
        return Missing(inner.value, False)
    return Missing(inner, True)


def _replaced_after(source: SourceTree, node: ast.expr, made: ast.stmt) -> ast.stmt | None:
    """The assignment that replaces a layer after the optimizer was created."""
    for statement in source.block(made):
        if start(statement) > start(made) and any(same_text(t, node) for t in assigned(statement)):
            return statement
    return None


def _with_element(source: SourceTree, given: ast.expr, element: str) -> str:
    if isinstance(given, ast.List):
        return source.text(given)[:-1].rstrip().rstrip(",") + f", {element}]"
    return f"[*{source.atom(given)}, {element}]"


def _register(context: FixContext, source: SourceTree) -> Iterator[Changes]:
    """`self.blocks = [nn.Linear(...)]` -> nn.ModuleList; a plain tensor -> nn.Parameter."""
    mentioned = _attributes_at(context.read)
    found: list[tuple[str, Changes]] = []
    for definition in classes(source).values():
        for node in ast.walk(definition):
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            if not isinstance(target, ast.Attribute) or not isinstance(node, ast.Assign) or root_name(target) != "self":
                continue
            container = _container(definition, target, node.value)
            if container is None:
                continue
            changes = Changes(source)
            nn = torch(changes, "torch.nn")
            if container == "Parameter" and isinstance(node.value, ast.Call):
                changes.drop_keyword(node.value, "requires_grad")
            if isinstance(node.value, ast.List) and not node.value.elts:
                changes.replace(node.value, f"{nn}.{container}()")
            else:
                changes.splice(start(node.value), start(node.value), f"{nn}.{container}(")
                changes.splice(end(node.value), end(node.value), ")")
            found.append((target.attr, changes))
    yield from [c for name, c in found if name in mentioned] or [c for _, c in found if len(found) == 1]


def _attributes_at(read: AstSpan | None) -> set[str]:
    """The attributes in the statement of a read and in the loops around it."""
    if read is None:
        return set()
    loops = [outer.iter for outer in read.source.ancestors(read.node) if isinstance(outer, ast.For)]
    return {n.attr for part in (read.statement, *loops) for n in ast.walk(part) if isinstance(n, ast.Attribute)}


def _container(definition: ast.ClassDef, target: ast.Attribute, value: ast.expr) -> str | None:
    """The class of torch.nn that registers a value: ModuleList, ParameterDict, Parameter ...; None if there is nothing to."""
    if isinstance(value, (ast.List, ast.ListComp, ast.Dict, ast.DictComp)):
        appended = [n for n in ast.walk(definition) if isinstance(n, ast.Call) and called_name(n) == "append" and
                    receiver(n) is not None and same_text(receiver(n) or n, target)]
        inside = [n for part in (value, *appended) for n in ast.walk(part) if isinstance(n, ast.Call) and n not in appended]
        if any(called_name(n) == "Parameter" for n in inside):
            kind = "Parameter"
        elif any(called_name(n)[:1].isupper() for n in inside):
            kind = "Module"
        else:
            return None
        return kind + ("Dict" if isinstance(value, (ast.Dict, ast.DictComp)) else "List")
    if isinstance(value, ast.Call) and keyword(value, "requires_grad") is not None and called_name(value) != "Parameter":
        return "Parameter"
    return None
