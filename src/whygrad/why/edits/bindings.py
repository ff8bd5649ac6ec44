"""What names in the program are bound to, as far as its text shows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from whygrad.why.program_text import called_name
from whygrad.why.source_tree import Function, SourceTree, keyword, names_in, receiver, root_name, same_text, start

OPTIMIZERS = {"SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "ASGD", "LBFGS", "NAdam", "RAdam", "RMSprop", "Rprop",
              "SparseAdam", "Adafactor", "Muon"}
# Factory functions, which take requires_grad=.
FACTORIES = {"tensor", "zeros", "ones", "rand", "randn", "empty", "full", "eye", "linspace", "logspace", "arange", "zeros_like",
             "ones_like", "rand_like", "randn_like", "empty_like", "full_like", "normal", "randint", "randperm"}
BACKWARDS = {"backward", "grad"}


class Binding(NamedTuple):
    """A statement that binds a name; `value` is the expression, or None if it is not in the text."""

    statement: ast.AST
    value: ast.expr | None


def module_name(source: SourceTree, module: str) -> str | None:
    """The program's name for `torch`, `torch.nn` or `torch.nn.functional`, also if imported from whygrad; None if none."""
    parent, _, last = module.rpartition(".")
    names, parents = ({name, name.replace("torch", "whygrad", 1)} for name in (module, parent))
    for node in source.walk():
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in names and alias.asname:
                    return alias.asname
                if not parent and alias.asname is None and alias.name.split(".")[0] in names:
                    return alias.name.split(".")[0]
        if isinstance(node, ast.ImportFrom) and parent and node.module in parents:
            for alias in node.names:
                if alias.name == last:
                    return alias.asname or last
    above = module_name(source, parent) if parent else None
    return None if above is None else f"{above}.{last}"


def is_function(source: SourceTree, call: ast.Call) -> bool:
    """True for `torch.sqrt(x)`, `F.relu(x)` and `sqrt(x)`; False for the method `x.sqrt()`."""
    modules = [module_name(source, module) for module in ("torch", "torch.nn", "torch.nn.functional")]
    return isinstance(call.func, ast.Name) or root_name(call.func) in {name.split(".")[0] for name in modules if name}


def bindings(source: SourceTree, target: ast.expr, within: ast.AST) -> list[Binding]:
    """The bindings of `target` (a name, or `self.x`) in a function or module, in the order of the text."""
    found = [b for node in source.walk(within) if source.scope(node) is within or node is within for b in _bound_by(node, target)]
    return sorted(found, key=lambda b: start(b.statement))


def _bound_by(node: ast.AST, target: ast.expr) -> Iterator[Binding]:
    if isinstance(node, ast.Assign):
        for t in node.targets:
            yield from _matched(node, t, node.value, target)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and same_text(node.target, target):
        yield Binding(node, node.value if not isinstance(node, ast.AugAssign) else None)
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        if any(same_text(t, target) for t in ast.walk(node.target) if isinstance(t, ast.expr)):
            yield Binding(node, None)
    elif isinstance(node, ast.With):
        for item in node.items:
            if item.optional_vars is not None and same_text(item.optional_vars, target):
                yield Binding(node, None)
    elif isinstance(node, (*Function, ast.Lambda)) and isinstance(target, ast.Name):
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        if target.id in {a.arg for a in every}:
            yield Binding(node, None)


def _matched(node: ast.stmt, t: ast.expr, value: ast.expr, target: ast.expr) -> Iterator[Binding]:
    """Pair the targets of `a, b = x, y` with their values."""
    if same_text(t, target):
        yield Binding(node, value)
    elif isinstance(t, (ast.Tuple, ast.List)):
        values = value.elts if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(t.elts) else None
        for i, part in enumerate(t.elts):
            if values is not None:
                yield from _matched(node, part, values[i], target)
            elif same_text(part, target):
                yield Binding(node, None)


def binding_before(source: SourceTree, target: ast.expr, at: ast.AST) -> Binding | None:
    """The binding of a name that most likely applies at a node: the last one above it, in its function or outside."""
    for outer in source.ancestors(at):
        for loop in getattr(outer, "generators", ()):
            if any(same_text(t, target) for t in ast.walk(loop.target) if isinstance(t, ast.expr)):
                return Binding(loop, None)
    scope = source.scope(at)
    while True:
        found = bindings(source, target, scope)
        earlier = [b for b in found if b.statement is scope or not hasattr(at, "lineno") or start(b.statement) < start(at)]
        if earlier or found:
            return (earlier or found)[-1]
        if scope is source.tree:
            return None
        scope = source.scope(scope)


def statements_in(source: SourceTree, scope: ast.AST) -> list[ast.stmt]:
    """All statements of a function or module in order, nested ones included, without those of inner functions."""
    found = [node for node in source.walk(scope) if isinstance(node, ast.stmt) and node is not scope and
             source.scope(node) is scope]
    return sorted(found, key=start)


def is_optimizer(call: ast.AST) -> bool:
    return isinstance(call, ast.Call) and called_name(call) in OPTIMIZERS


def optimizers(source: SourceTree, at: ast.AST) -> list[str]:
    """Names of optimizers whose `.step()` is called in the function of `at`, else in the module."""
    known = {ast.unparse(target) for node in source.walk() if isinstance(node, ast.Assign) and is_optimizer(node.value)
             for target in node.targets}
    stepped: dict[str, list[ast.AST]] = {}
    for node in source.walk():
        holder = receiver(node)
        name = ast.unparse(holder) if called_name(node) == "step" and isinstance(holder, (ast.Name, ast.Attribute)) else ""
        if name and (name in known or "opt" in name.lower()):
            stepped.setdefault(name, []).append(source.scope(node))
    here = [name for name, scopes in stepped.items() if source.scope(at) in scopes]
    # A module-level optimizer is visible in functions; one of another function is not.
    return here or [name for name, scopes in stepped.items() if source.tree in scopes]


def classes(source: SourceTree) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in source.walk() if isinstance(node, ast.ClassDef)}


def is_module(source: SourceTree, node: ast.expr, at: ast.AST) -> bool | None:
    """True if an expression is an nn.Module, False if it is a tensor, None if the text does not show it."""
    if isinstance(node, ast.Attribute) and node.attr in ("weight", "bias", "data", "grad"):
        return False
    if isinstance(node, ast.Call):
        name = called_name(node)
        if name in FACTORIES or name in ("Parameter", "parameters"):
            return False
        layer = root_name(node.func) == "nn" or ast.unparse(node.func).startswith("torch.nn.")
        if name in classes(source) or (layer and name[:1].isupper()):
            return True
        inner = receiver(node)
        if inner is not None and name in ("to", "cuda", "cpu", "eval", "train", "requires_grad_", "float", "double"):
            return is_module(source, inner, at)
        return None
    bound = binding_before(source, node, at) if isinstance(node, (ast.Name, ast.Attribute)) else None
    if bound is None and isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        bound = _attribute_binding(source, node)
    if bound is None:
        return None
    if isinstance(bound.statement, (ast.For, ast.comprehension)):
        over = called_name(bound.statement.iter)
        return False if over in ("parameters", "named_parameters") else True if over in ("children", "modules") else None
    return is_module(source, bound.value, bound.statement) if bound.value is not None and bound.value is not node else None


def _attribute_binding(source: SourceTree, node: ast.Attribute) -> Binding | None:
    """The binding `self.enc = ...` in a class, for `model.enc`."""
    as_self = ast.Attribute(ast.Name("self"), node.attr)
    for definition in classes(source).values():
        for inner in ast.walk(definition):
            found = next(_bound_by(inner, as_self), None)
            if found is not None:
                return found
    return None


def is_list(source: SourceTree, node: ast.expr, at: ast.AST) -> bool:
    if isinstance(node, (ast.List, ast.ListComp, ast.Tuple)) or called_name(node) in ("list", "tuple"):
        return True
    if isinstance(node, (ast.Name, ast.Attribute)):
        bound = binding_before(source, node, at)
        if bound is not None and bound.value is not None and not isinstance(bound.value, (ast.Name, ast.Attribute)):
            return is_list(source, bound.value, bound.statement)
    return False


def assigned(statement: ast.AST | None) -> list[ast.expr]:
    """The targets of an assignment, with tuples unpacked."""
    if isinstance(statement, ast.Assign):
        targets: list[ast.expr] = list(statement.targets)
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)):
        targets = [statement.target]
    else:
        return []
    return [part for t in targets for part in ast.walk(t) if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript)) and
            isinstance(part.ctx, ast.Store)]


def is_backward(node: ast.AST) -> bool:
    return called_name(node) in BACKWARDS and isinstance(node, ast.Call) and (
        called_name(node) == "backward" or "autograd" in ast.unparse(node.func) or isinstance(node.func, ast.Name))


def backward_above(source: SourceTree, at: ast.AST) -> ast.stmt | None:
    """The last backward above a node, in the same function."""
    scope = source.scope(at)
    found = [source.statement(node) for node in source.walk(scope) if is_backward(node) and source.scope(node) is scope and
             start(node) < start(at)]
    return max((s for s in found if s is not None), key=start, default=None)


def uses(node: ast.AST | None, target: ast.expr) -> bool:
    """True if `target` occurs inside a node."""
    if isinstance(target, ast.Name):
        return target.id in names_in(node)
    return node is not None and any(isinstance(n, ast.expr) and same_text(n, target) for n in ast.walk(node))


def makes_leaf(value: ast.expr) -> bool:
    """True if an expression contains a call that creates a leaf that requires grad."""
    calls = [n for n in ast.walk(value) if isinstance(n, ast.Call)]
    return any(called_name(n) in ("Parameter", "requires_grad_") or keyword(n, "requires_grad") is not None for n in calls)
