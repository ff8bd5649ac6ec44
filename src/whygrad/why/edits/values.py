"""Fixers for gradients with wrong values: broadcast losses, nan, flat ops, custom backwards, hooks, attached targets."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from whygrad.why.edits.bindings import assigned, binding_before, classes, is_function
from whygrad.why.edits.changes import Changes
from whygrad.why.edits.fix_context import AstSpan, FixContext, torch
from whygrad.why.program_text import called_name
from whygrad.why.source_tree import SourceTree, end, keyword, receiver, root_name, same_text, start

EPSILON = "1e-8"
# Functions with an infinite derivative somewhere, and the suffix that keeps their input away from it.
INSIDE = ".clamp(-1 + 1e-6, 1 - 1e-6)"
SAFE_INPUT = {"sqrt": f" + {EPSILON}", "log": f" + {EPSILON}", "rsqrt": f" + {EPSILON}", "reciprocal": f" + {EPSILON}",
              "pow": f" + {EPSILON}", "log2": f" + {EPSILON}", "log10": f" + {EPSILON}",
              "acos": INSIDE, "asin": INSIDE, "arccos": INSIDE, "arcsin": INSIDE}
STRAIGHT_THROUGH = {"round", "floor", "ceil", "sign", "trunc"}
SIMPLE = (ast.Name, ast.Attribute, ast.Subscript)


def match_shapes(context: FixContext) -> Iterator[Changes]:
    """Give prediction and target the same shape."""
    for cause in context.causes:
        pair = _operands(cause)
        if pair is None:
            continue
        source = cause.source
        left, right = pair
        if isinstance(left, SIMPLE):
            yield Changes(source).suffix(right, f".reshape({source.text(left)}.shape)")
        if isinstance(right, SIMPLE):
            yield Changes(source).suffix(left, f".reshape({source.text(right)}.shape)")
        yield Changes(source).suffix(left, ".squeeze(-1)")
        yield Changes(source).suffix(right, ".squeeze(-1)")


def _operands(cause: AstSpan) -> tuple[ast.expr, ast.expr] | None:
    for node in ast.walk(cause.node):
        if isinstance(node, ast.BinOp):
            return node.left, node.right
        if isinstance(node, ast.Call) and len(node.args) >= 2:
            return node.args[0], node.args[1]
        if isinstance(node, ast.Call) and keyword(node, "input") and keyword(node, "target"):
            found = [keyword(node, "input"), keyword(node, "target")]
            return found[0].value, found[1].value  # type: ignore[union-attr]
        inner = receiver(node)
        if isinstance(node, ast.Call) and inner is not None and len(node.args) == 1 and called_name(node) in ("sub", "subtract"):
            return inner, node.args[0]
    return None


def guard_input(context: FixContext) -> Iterator[Changes]:
    """Keep the input of sqrt, log, a division ... away from where its derivative is infinite."""
    for cause in context.causes:
        source = cause.source
        for node in ast.walk(cause.node):
            value = _singular_input(source, node)
            if value is None:
                continue
            yield from _fuse_log(source, node, value)
            guard = _where_around(source, node)
            if guard is not None:
                condition, selected = guard
                x = source.text(value)
                changes = Changes(source)
                name = torch(changes)
                one = f"{name}.ones_like({x})"
                branches = f"{x}, {one}" if selected else f"{one}, {x}"
                yield changes.replace(value, f"{name}.where({source.text(condition)}, {branches})")
            how = SAFE_INPUT.get(called_name(node), f" + {EPSILON}")
            changes = Changes(source)
            if how.startswith("."):
                yield changes.suffix(value, how)
            elif (isinstance(node, ast.Call) and value in node.args) or _has_parentheses(source, value):
                yield changes.splice(end(value), end(value), how)
            else:
                yield changes.replace(value, f"({source.atom(value)}{how})")
            yield Changes(source).suffix(value, f".clamp(min={EPSILON})")
            return


# Functions that compute the logarithm of these in one step, without a value that may be 0.
LOG_OF = {"softmax": "log_softmax", "sigmoid": "logsigmoid"}
CHOOSING = {"gather", "squeeze", "flatten", "view", "reshape", "index_select", "unsqueeze", "select"}


def _fuse_log(source: SourceTree, node: ast.AST, value: ast.expr) -> Iterator[Changes]:
    """`log(softmax(x)[chosen])` -> `log_softmax(x)[chosen]`; also for sigmoid(x) and 1 - sigmoid(x)."""
    if called_name(node) != "log":
        return
    changes = Changes(source)
    functional = torch(changes, "torch.nn.functional")
    turned = _complement(value)
    inner = value if turned is None else turned
    while (isinstance(inner, ast.Subscript) or called_name(inner) in CHOOSING) and turned is None:
        inner = inner.value if isinstance(inner, ast.Subscript) else receiver(inner) or inner.args[0]  # type: ignore[attr-defined]
    made: ast.expr | None = inner
    if isinstance(inner, ast.Name):
        bound = binding_before(source, inner, node)
        made = bound.value if bound is not None else None
    if not isinstance(made, ast.Call) or called_name(made) not in (LOG_OF if turned is None else ("sigmoid",)):
        return
    of_function = is_function(source, made)
    x, *more = made.args if of_function else [receiver(made), *made.args]
    if x is None or any(isinstance(a, ast.Starred) for a in more):
        return
    sign = f"-{source.atom(x)}" if turned is not None else source.text(x)
    given = ", ".join([sign, *[source.text(a) for a in (*more, *made.keywords)]])
    before, behind = source.text_between(start(value), start(inner)), source.text_between(end(inner), end(value))
    text = f"{functional}.{LOG_OF[called_name(made)]}({given})"
    yield changes.replace(node, text if turned is not None else f"{before}{text}{behind}")


def _complement(value: ast.expr) -> ast.expr | None:
    """`p` of `1 - p`."""
    one = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub) and isinstance(value.left, ast.Constant)
    return value.right if isinstance(value, ast.BinOp) and one and value.left.value == 1 else None  # type: ignore[attr-defined]


def _has_parentheses(source: SourceTree, node: ast.expr) -> bool:
    """True if a node is directly in parentheses: `(x * y) ** 0.5`."""
    return source.text_before(start(node)).rstrip().endswith("(") and source.text_after(end(node)).lstrip().startswith(")")


def _singular_input(source: SourceTree, node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.Call) and called_name(node) in SAFE_INPUT:
        if is_function(source, node):
            return node.args[0] if node.args else None
        return receiver(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return node.right
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return node.left
    return None


def _where_around(source: SourceTree, node: ast.AST) -> tuple[ast.expr, bool] | None:
    """The condition of the torch.where that selects a node's value, and True if it is the first branch."""
    inside = node
    for outer in source.ancestors(node):
        if isinstance(outer, ast.Call) and called_name(outer) == "where" and len(outer.args) == 3 and inside is not outer.args[0]:
            return outer.args[0], inside is outer.args[1]
        if isinstance(outer, ast.stmt):
            break
        inside = outer
    targets = assigned(source.statement(node))
    for call in ast.walk(source.scope(node)):
        if isinstance(call, ast.Call) and called_name(call) == "where" and len(call.args) == 3 and targets:
            for position in (1, 2):
                if any(same_text(call.args[position], t) for t in targets):
                    return call.args[0], position == 1
    return None


def replace_flat_op(context: FixContext) -> Iterator[Changes]:
    """Replace an op with derivative zero: leaky_relu, straight-through rounding, reparameterized sampling."""
    if "hinge is satisfied" in context.explanation.text:
        return  # a satisfied hinge is flat on purpose
    if "dropout" in context.explanation.text:
        yield from _drop_less(context)
        return
    for cause in context.causes:
        source = cause.source
        for node in ast.walk(cause.node):
            if called_name(node) == "softmax" and isinstance(node, ast.Call) and "single element" in context.explanation.text:
                changes = Changes(source)
                x = receiver(node) if not is_function(source, node) else node.args[0] if node.args else None
                if x is not None:
                    yield changes.replace(node, f"{torch(changes)}.sigmoid({source.text(x)})")
                return
            if called_name(node) == "relu" and isinstance(node, ast.Call):
                changes = Changes(source)
                functional = torch(changes, "torch.nn.functional")
                x = node.args[0] if node.args else receiver(node)
                if x is not None:
                    yield changes.replace(node, f"{functional}.leaky_relu({source.text(x)})")
                return
            if isinstance(node, ast.Call) and called_name(node) == "normal" and len(node.args) == 2:
                mean, deviation = (source.atom(argument) for argument in node.args)
                changes = Changes(source)
                yield changes.replace(node, f"({mean} + {deviation} * {torch(changes)}.randn_like({deviation}))")
                return
            if isinstance(node, ast.Call) and called_name(node) in STRAIGHT_THROUGH:
                x = node.args[0] if node.args else receiver(node)
                if x is not None and not any(isinstance(n, ast.Call) for n in ast.walk(x)):
                    whole, once = source.text(x), source.atom(x)
                    yield Changes(source).replace(node, f"({whole} + ({source.text(node)} - {once}).detach())")
                return
        layers = [n for n in source.walk() if isinstance(n, ast.Call) and called_name(n) == "ReLU"]
        if "relu" in context.explanation.text.lower() and len(layers) == 1 and isinstance(layers[0].func, ast.Attribute):
            yield Changes(source).replace(layers[0].func, f"{source.text(layers[0].func.value)}.LeakyReLU")


def _drop_less(context: FixContext) -> Iterator[Changes]:
    """`Dropout(1.0)` -> `Dropout(0.5)`"""
    for source in dict.fromkeys(cause.source for cause in context.causes):
        for node in source.walk():
            if isinstance(node, ast.Call) and "dropout" in called_name(node).lower():
                given = keyword(node, "p")
                values = [given.value] if given is not None else node.args
                for p in values:
                    if isinstance(p, ast.Constant) and p.value == 1:
                        yield Changes(source).replace(p, "0.5")


def complete_backward(context: FixContext) -> Iterator[Changes]:
    """Complete a custom backward that returns nothing, or the wrong number of gradients; call apply()."""
    files = [s.source for s in (*context.causes, context.read) if s is not None]
    for source in dict.fromkeys(files):
        yield from _applied(context, source)
        for definition in _named_functions(context, source):
            methods = {m.name: m for m in definition.body if isinstance(m, ast.FunctionDef)}
            forward, backward = methods.get("forward"), methods.get("backward")
            if forward is not None and backward is not None:
                yield from _complete(context, source, forward, backward)


def _applied(context: FixContext, source: SourceTree) -> Iterator[Changes]:
    """`F.forward(None, x)` -> `F.apply(x)`"""
    names = {d.name for d in _named_functions(context, source)}
    for call in source.walk():
        if isinstance(call, ast.Call) and called_name(call) == "forward" and (root_name(call.func) in names) and call.args:
            rest = ", ".join(source.text(a) for a in (*call.args[1:], *call.keywords))
            yield Changes(source).replace(call, f"{root_name(call.func)}.apply({rest})")


def _named_functions(context: FixContext, source: SourceTree) -> list[ast.ClassDef]:
    text = context.explanation.headline + context.explanation.text
    found = [d for d in classes(source).values() if any("Function" in ast.unparse(b) for b in d.bases)]
    return [d for d in found if re.search(rf"\b{d.name}(Backward|\b)", text)] or (found if len(found) == 1 else [])


def _complete(context: FixContext, source: SourceTree, forward: ast.FunctionDef, backward: ast.FunctionDef) -> Iterator[Changes]:
    returns = [n for n in ast.walk(backward) if isinstance(n, ast.Return) and source.scope(n) is backward]
    last = backward.body[-1]
    changes = Changes(source)
    if not returns:
        others = ", None" * (len(forward.args.args) - 2)
        if isinstance(last, ast.Expr):
            yield changes.splice(start(last), start(last), "return ").splice(end(last), end(last), others)
        elif isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name):
            yield changes.after(last, f"return {last.targets[0].id}{others}")
        return
    wanted = re.search(r"expected (\d+), got (\d+)", context.explanation.headline)
    if wanted is None:
        for found in returns:
            pair = found.value.elts if isinstance(found.value, ast.Tuple) else []
            if len(pair) == 2 and not any(isinstance(e, ast.Constant) for e in pair):  # the two may be swapped
                yield changes.replace(pair[0], source.text(pair[1])).replace(pair[1], source.text(pair[0]))
        return
    expected, got = int(wanted[1]), int(wanted[2])
    for found in returns:
        value = found.value
        if value is None:
            continue
        if expected > got:
            behind = end(value.elts[-1] if isinstance(value, ast.Tuple) else value)
            changes.splice(behind, behind, ", None" * (expected - got))
        elif isinstance(value, ast.Tuple) and len(value.elts) > expected:
            changes.splice(end(value.elts[expected - 1]), end(value.elts[-1]), "")
    yield changes


def remove_hook(context: FixContext) -> Iterator[Changes]:
    """Remove a hook, or call its handle's remove() before the backward."""
    hook = context.cause
    if hook is None or _has_other_effects(hook):
        return
    if isinstance(hook.statement, ast.FunctionDef):
        for decorator in hook.statement.decorator_list:
            if "hook" in ast.unparse(decorator) and decorator.lineno == decorator.end_lineno:
                yield Changes(hook.source).delete_line(decorator.lineno)
    elif isinstance(hook.statement, ast.Expr):
        yield Changes(hook.source).delete(hook.statement)
    elif isinstance(hook.statement, ast.Assign) and context.backward is not None and context.backward.source is hook.source:
        back = context.backward
        yield Changes(hook.source).before(back.statement, f"{ast.unparse(hook.statement.targets[0])}.remove()")


# Functions called by hooks that do more than change a gradient.
DELIBERATE = {"print", "append", "log", "info", "write", "record", "save", "clamp", "clamp_", "clip", "clip_", "norm",
              "nan_to_num"}


def _has_other_effects(hook: AstSpan) -> bool:
    """True for a hook that also prints, stores or clips: the author has to decide whether to remove it."""
    given = [a for n in ast.walk(hook.statement) if isinstance(n, ast.Call) and "hook" in called_name(n) for a in n.args]
    names = {n.id if isinstance(n, ast.Name) else n.attr for a in given for n in ast.walk(a)
             if isinstance(n, (ast.Name, ast.Attribute))}
    bodies = [*given, *[n for n in hook.source.walk() if isinstance(n, ast.FunctionDef) and n.name in names]]
    return any(called_name(n) in DELIBERATE for body in bodies for n in ast.walk(body))


def detach_target(context: FixContext) -> Iterator[Changes]:
    """Detach a value that should be constant."""
    for cause in context.causes:
        statement = cause.statement
        if isinstance(cause.node, ast.BinOp) and context.explanation.symptom == "zero":
            # The value is compared with itself: the second operand is the old one.
            yield Changes(cause.source).suffix(cause.node.right, ".detach()")
        elif isinstance(statement, ast.AugAssign):
            yield Changes(cause.source).suffix(statement.value, ".detach()")
        elif isinstance(statement, ast.Expr) and called_name(statement.value) == "append":
            assert isinstance(statement.value, ast.Call)
            yield Changes(cause.source).suffix(statement.value.args[0], ".detach()")
        elif isinstance(cause.node, ast.expr):
            yield Changes(cause.source).suffix(cause.node, ".detach()")
        elif isinstance(statement, ast.Assign):
            yield Changes(cause.source).suffix(statement.value, ".detach()")


def use_non_reentrant_checkpoint(context: FixContext) -> Iterator[Changes]:
    """Pass use_reentrant=False to checkpoint()."""
    for cause in (*context.causes, *([context.read] if context.read else [])):
        for node in ast.walk(cause.statement):
            if isinstance(node, ast.Call) and called_name(node) == "checkpoint":
                yield Changes(cause.source).set_keyword(node, "use_reentrant", "False")
