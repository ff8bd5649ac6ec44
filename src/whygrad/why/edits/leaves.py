"""Fixers for gradients of the wrong tensor: non-leaves, leaves that do not require grad, frozen ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from whygrad.why.edits import bindings
from whygrad.why.edits.changes import Changes
from whygrad.why.edits.fix_context import AstSpan, FixContext, torch
from whygrad.why.program_text import called_name
from whygrad.why.source_tree import Function, SourceTree, end, keyword, names_in, receiver, root_name, same_text, start


def retain_grad(context: FixContext) -> Iterator[Changes]:
    """Call retain_grad() after the assignment of the tensor, or before backward."""
    made = context.cause
    if made is not None and _is_after_backward(context, made):
        yield from _retain_as_it_was_stored(context, made)
    elif made is not None:
        targets, wanted = bindings.assigned(made.statement), context.tensor
        whole = len(targets) == 1 and getattr(made.statement, "value", None) is made.node
        for target in targets:
            if whole or (wanted is not None and (same_text(target, wanted) or _same_attribute(target, wanted))):
                yield Changes(made.source).after(made.statement, f"{ast.unparse(target)}.retain_grad()")
    yield from _retain_before_backward(context)
    yield from _retain_where_stored(context)


def _is_after_backward(context: FixContext, made: AstSpan) -> bool:
    back, source = context.backward, made.source
    if back is None or back.source is not source or source.loop(made.node) is not None:
        return False
    return source.sibling(back.statement, made.statement) is not None and start(back.statement) < start(made.statement)


def _retain_as_it_was_stored(context: FixContext, made: AstSpan) -> Iterator[Changes]:
    """For `z = acts["conv"]` after the backward: `acts["conv"].retain_grad()` before it."""
    back, value = context.backward, getattr(made.statement, "value", None)
    if back is not None and isinstance(value, (ast.Subscript, ast.Attribute, ast.Name)):
        yield Changes(made.source).before(back.statement, f"{made.source.text(value)}.retain_grad()")


def _retain_where_stored(context: FixContext) -> Iterator[Changes]:
    """Call retain_grad() before `acts["tanh"] = out` or `acts.append(out)`, for example in a hook."""
    wanted, read = context.tensor, context.read
    if read is None or wanted is None:
        return
    stored_under, appended = _stores(read.source)
    for node in stored_under.get(ast.unparse(wanted), ()):
        yield Changes(read.source).before(node, f"{read.source.text(node.value)}.retain_grad()")
    for statement, stored in appended.get(root_name(wanted), ()):
        yield Changes(read.source).before(statement, f"{stored.id}.retain_grad()")


@lru_cache(maxsize=16)
def _stores(source: SourceTree) -> tuple[dict[str, list[ast.Assign]], dict[str | None, list[tuple[ast.Expr, ast.Name]]]]:
    """`a.b = name` by the text of its targets; and `xs.append(name)`, with the name, by the name at the beginning of xs."""
    assigned: dict[str, list[ast.Assign]] = {}
    appended: dict[str | None, list[tuple[ast.Expr, ast.Name]]] = {}
    for node in source.statements:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            for text in dict.fromkeys(ast.unparse(target) for target in node.targets):
                assigned.setdefault(text, []).append(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and called_name(node.value) == "append":
            holder = receiver(node.value)
            if holder is not None and node.value.args and isinstance(stored := node.value.args[0], ast.Name):
                appended.setdefault(root_name(holder), []).append((node, stored))
    return assigned, appended


def _same_attribute(a: ast.expr, b: ast.expr) -> bool:
    """True for `self.hidden` in a class and `net.hidden` outside."""
    return isinstance(a, ast.Attribute) and isinstance(b, ast.Attribute) and a.attr == b.attr


def _retain_before_backward(context: FixContext) -> Iterator[Changes]:
    back, read = context.backward, context.read
    if back is None or read is None or context.tensor is None or back.source is not read.source:
        return
    text = ast.unparse(context.tensor)
    source = read.source
    if context.visible_at(back):
        yield Changes(source).before(back.statement, f"{text}.retain_grad()")
        return
    # The read is in a loop over tensors: call retain_grad() in the same loop.
    for outer in source.ancestors(read.node):
        for loop in getattr(outer, "generators", [outer]):
            if isinstance(loop, (ast.For, ast.comprehension)) and bindings.uses(
                    loop.target, ast.Name(root_name(context.tensor) or "")):
                header = f"for {ast.unparse(loop.target)} in {ast.unparse(loop.iter)}:"
                yield Changes(source).before(back.statement, f"{header}\n{source.indent_unit}{text}.retain_grad()")


def require_grad(context: FixContext) -> Iterator[Changes]:
    """Make a leaf require grad: at the binding of the name that was read, else where the leaf is created."""
    if "is a buffer" in context.explanation.text:
        if isinstance(context.tensor, ast.Attribute):
            yield from _require_attribute(context, context.tensor.attr)
        return
    if context.read is not None and context.tensor is not None:
        source = context.read.source
        bound = bindings.binding_before(source, context.tensor, context.read.node)
        if bound is not None:
            yield from _require_at_binding(source, context.tensor, bound)
            return
    if context.tensor is not None and isinstance(context.tensor, ast.Attribute):
        yield from _require_attribute(context, context.tensor.attr)
    if "floating point" in context.explanation.headline:
        yield from _as_floats(context)
        return
    wanted = [c for c in context.causes if isinstance(c.statement, (ast.Assign, ast.AnnAssign))]
    if context.tensor is None:  # an error: no tensor required grad
        wanted = [c for c in wanted if _is_trained(c)] or (wanted if len(wanted) == 1 else [])
    for made in wanted:
        targets = bindings.assigned(made.statement)
        if len(targets) == 1 and isinstance(made.statement, (ast.Assign, ast.AnnAssign)):
            yield from _require_at_binding(made.source, targets[0], bindings.Binding(made.statement, made.statement.value))
    if context.tensor is None and not wanted:
        yield from _trained_leaves(context)


def _as_floats(context: FixContext) -> Iterator[Changes]:
    """Create a float tensor: integer tensors cannot require grad."""
    if context.read is None:
        return
    for node in ast.walk(context.read.node):
        changes = Changes(context.read.source)
        if isinstance(node, ast.Call) and keyword(node, "requires_grad") is not None:
            yield changes.set_keyword(node, "dtype", f"{torch(changes)}.float32")
        elif called_name(node) == "requires_grad_" and isinstance(node, ast.Call):
            x = receiver(node)
            assert x is not None
            changes.suffix(x, ".float()")
            if context.read.statement is changes.source.parents.get(node) and isinstance(context.read.statement, ast.Expr):
                changes.splice(start(node), start(node), f"{changes.source.text(x)} = ")
            yield changes


def _is_trained(made: AstSpan) -> bool:
    """True if the program reads the gradient of the tensor created here, or gives it to an optimizer."""
    return any(_is_trained_name(made.source, target) for target in bindings.assigned(made.statement))


def _is_trained_name(source: SourceTree, target: ast.expr) -> bool:
    for node in source.walk():
        if isinstance(node, ast.Attribute) and node.attr == "grad" and same_text(node.value, target):
            return True
        if isinstance(node, ast.List) and any(same_text(e, target) for e in node.elts) and "optim" in source.text(
                source.statement(node) or node).lower():
            return True
    return False


def _trained_leaves(context: FixContext) -> Iterator[Changes]:
    """Make all leaves require grad whose gradient the program reads."""
    source = context.read.source if context.read is not None else None
    if source is None:
        return
    made = [s for s in bindings.statements_in(source, source.tree) if isinstance(s, ast.Assign) and len(s.targets) == 1 and
            called_name(s.value) in bindings.FACTORIES and _is_trained_name(source, s.targets[0])]
    if made:
        changes = Changes(source)
        for s in made:
            assert isinstance(s, ast.Assign)
            _require(changes, s.value)
        yield changes


def _require_at_binding(source: SourceTree, target: ast.expr, bound: bindings.Binding) -> Iterator[Changes]:
    name = ast.unparse(target)
    statement = bound.statement
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        yield Changes(source).before(statement.body[0], f"{name}.requires_grad_()")
    elif isinstance(statement, Function):
        if statement.args.args and statement.args.args[0].arg == "ctx":
            return  # arguments of a custom Function's forward
        has_docstring = ast.get_docstring(statement) is not None and len(statement.body) > 1
        yield Changes(source).before(statement.body[1 if has_docstring else 0], f"{name}.requires_grad_()")
    elif bound.value is not None:
        if isinstance(target, ast.Attribute) and _in_module_class(source, statement):
            changes = Changes(source)
            yield _as_parameter(changes, bound.value)
        changes = Changes(source)
        _require(changes, bound.value)
        yield changes
        if isinstance(statement, ast.stmt):
            yield Changes(source).after(statement, f"{name}.requires_grad_()")
    elif isinstance(statement, ast.stmt):
        yield Changes(source).after(statement, f"{name}.requires_grad_()")


def _require_attribute(context: FixContext, attribute: str) -> Iterator[Changes]:
    """Make `model.gain` require grad where a class assigns `self.gain`."""
    files = [s.source for s in (context.read, *context.causes) if s is not None]
    for source in dict.fromkeys(files):
        for definition in bindings.classes(source).values():
            for node in ast.walk(definition):
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == f"self.{attribute}":
                    yield from _require_at_binding(source, node.targets[0], bindings.Binding(node, node.value))
                    return
                call = node.value if isinstance(node, ast.Expr) else None
                if isinstance(call, ast.Call) and called_name(call) == "register_buffer":
                    given = call.args
                    if len(given) > 1 and isinstance(given[0], ast.Constant) and given[0].value == attribute:
                        changes = Changes(source)
                        nn = torch(changes, "torch.nn")
                        yield changes.replace(node, f"self.{attribute} = {nn}.Parameter({source.text(given[1])})")
                        return


def _in_module_class(source: SourceTree, node: ast.AST) -> bool:
    definition = next((a for a in source.ancestors(node) if isinstance(a, ast.ClassDef)), None)
    return definition is not None and any("Module" in ast.unparse(base) for base in definition.bases)


def _as_parameter(changes: Changes, value: ast.expr) -> Changes:
    if isinstance(value, ast.Call):
        changes.drop_keyword(value, "requires_grad")
    nn = torch(changes, "torch.nn")
    return changes.splice(start(value), start(value), f"{nn}.Parameter(").splice(end(value), end(value), ")")


def _require(changes: Changes, value: ast.expr) -> None:
    """Change an expression so that it returns a leaf that requires grad."""
    if isinstance(value, ast.Call) and (called_name(value) in bindings.FACTORIES or called_name(value) == "Parameter"):
        if _holds_integers(value) and keyword(value, "dtype") is None:
            changes.argument(value, f"dtype={torch(changes)}.float32")
        changes.set_keyword(value, "requires_grad", "True")
    else:
        changes.suffix(value, ".requires_grad_()")


def _holds_integers(call: ast.Call) -> bool:
    """True for `torch.tensor([1, 2])`, `torch.arange(3)`, `torch.full((2,), 1)`."""
    if called_name(call) not in ("tensor", "arange", "full"):
        return False
    values = call.args[1:] if called_name(call) == "full" else call.args
    numbers = [n.value for v in values for n in ast.walk(v) if isinstance(n, ast.Constant)]
    plain = not any(isinstance(n, (ast.Name, ast.Call)) for v in values for n in ast.walk(v))
    return plain and bool(numbers) and all(isinstance(n, int) for n in numbers)


def unfreeze(context: FixContext) -> Iterator[Changes]:
    """Undo requires_grad=False for the tensor that was read."""
    frozen = context.cause
    if frozen is None:
        return
    source = frozen.source
    # `module.requires_grad = True` only sets an attribute.
    for node in source.walk():
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute) and (
                node.targets[0].attr == "requires_grad") and isinstance(node.value, ast.Constant) and node.value.value is True:
            holder = node.targets[0].value
            if start(node) > start(frozen.statement) and bindings.is_module(source, holder, node) is not False:
                yield Changes(source).replace(node, f"{source.text(holder)}.requires_grad_(True)")
    thing = _frozen_object(frozen)
    if thing is not None and context.tensor is not None and same_text(thing, context.tensor):
        yield _set_to(frozen, "True")
    if context.tensor is not None and context.read is not None and context.read.source is source and not _is_loop_name(context):
        outermost = frozen.statement
        for outer in source.ancestors(frozen.statement):
            if isinstance(outer, (ast.For, ast.While)):
                outermost = outer
        if source.scope(outermost) is source.scope(context.read.node):
            yield Changes(source).after(outermost, f"{ast.unparse(context.tensor)}.requires_grad_(True)")
    yield _set_to(frozen, "True")


def _is_loop_name(context: FixContext) -> bool:
    assert context.read is not None
    assert context.tensor is not None
    bound = bindings.binding_before(context.read.source, ast.Name(root_name(context.tensor) or ""), context.read.node)
    return bound is not None and isinstance(bound.statement, (ast.For, ast.comprehension))


def _frozen_object(frozen: AstSpan) -> ast.expr | None:
    """`x` of `x.requires_grad_(False)` and of `x.requires_grad = False`."""
    statement = frozen.statement
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute):
        return statement.targets[0].value
    return next((receiver(n) for n in ast.walk(statement) if called_name(n) == "requires_grad_"), None)


def _set_to(frozen: AstSpan, value: str) -> Changes:
    changes = Changes(frozen.source)
    if isinstance(frozen.statement, ast.Assign) and isinstance(frozen.statement.value, ast.Constant):
        return changes.replace(frozen.statement.value, value)
    for node in ast.walk(frozen.statement):
        if isinstance(node, ast.Call) and called_name(node) == "requires_grad_" and (node.args or node.keywords):
            given = node.args[0] if node.args else node.keywords[0].value
            return changes.replace(given, value)
        if isinstance(node, ast.Call) and keyword(node, "requires_grad") is not None:
            return changes.set_keyword(node, "requires_grad", value)
    return changes


def detach_instead(context: FixContext) -> Iterator[Changes]:
    """`z.requires_grad = False` on a non-leaf -> `z = z.detach()`."""
    flagged = context.read
    thing = _frozen_object(flagged) if flagged is not None else None
    if flagged is None or thing is None:
        return
    off = any(isinstance(n, ast.Constant) and n.value is False for n in ast.walk(flagged.statement))
    text = flagged.source.text(thing)
    changes = Changes(flagged.source)
    yield changes.replace(flagged.statement, f"{text} = {text}.detach()") if off else changes.delete(flagged.statement)


def store_detached(context: FixContext) -> Iterator[Changes]:
    """A module stores a tensor with history: `self.last = out` -> `self.last = out.detach()`."""
    made = context.cause
    if made is None:
        return
    for node in ast.walk(made.source.scope(made.node)):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute) and (
                any(same_text(node.value, target) for target in bindings.assigned(made.statement))):
            yield Changes(made.source).suffix(node.value, ".detach()")


def clear_when_freezing(context: FixContext) -> Iterator[Changes]:
    """Clear the gradient when the tensor is frozen."""
    for frozen in context.causes:
        holder = _frozen_object(frozen)
        if holder is None:
            continue
        name = ast.unparse(holder)
        as_tensor, as_module = f"{name}.grad = None", f"{name}.zero_grad()"
        tensor_first = bindings.is_module(frozen.source, holder, frozen.node) is False or isinstance(frozen.statement, ast.Assign)
        for text in (as_tensor, as_module) if tensor_first else (as_module, as_tensor):
            yield Changes(frozen.source).after(frozen.statement, text)
        return


def keep_leaf(context: FixContext) -> Iterator[Changes]:
    """The name was rebound to a non-leaf: update the leaf in place, or create it in its final form."""
    made = context.cause
    if made is None:
        return
    source, statement = made.source, made.statement
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        yield from _leaf_for_optimizer(context)
        return
    target = bindings.assigned(statement)[0]
    if bindings.makes_leaf(statement.value):
        yield from _require_at_the_end(source, statement.value)
    elif bindings.uses(statement.value, target):
        if bindings.backward_above(source, statement) is not None:
            yield _updated_in_place(source, statement)
        yield Changes(source).after(statement, f"{ast.unparse(target)}.retain_grad()")
    yield from retain_grad(context)


def _require_at_the_end(source: SourceTree, value: ast.expr) -> Iterator[Changes]:
    """`torch.randn(3, requires_grad=True) * 0.01` -> `(torch.randn(3) * 0.01).requires_grad_()`."""
    changes = Changes(source)
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and called_name(node) == "Parameter" and node.args:
            inner = node.args[0]
            name = source.text(node.func)
            changes.splice(start(node), start(inner), "").splice(end(inner), end(node), "")
            yield changes.splice(start(value), start(value), f"{name}(").splice(end(value), end(value), ")")
            return
        if isinstance(node, ast.Call) and keyword(node, "requires_grad") is not None:
            yield changes.drop_keyword(node, "requires_grad").suffix(value, ".requires_grad_()")
            return
        if isinstance(node, ast.Call) and called_name(node) == "requires_grad_" and isinstance(node.func, ast.Attribute):
            yield changes.drop_suffix(node.func, node).suffix(value, ".requires_grad_()")
            return


def _updated_in_place(source: SourceTree, statement: ast.Assign | ast.AnnAssign) -> Changes:
    """`w = w - lr * g` -> `w -= lr * g` under no_grad; the same for adjacent updates of other leaves."""
    changes = Changes(source)
    block = source.block(statement)
    updates = [s for s in block if s is statement or _updates_leaf(source, s)]
    for update in updates:
        assert isinstance(update, (ast.Assign, ast.AnnAssign))
        assert update.value is not None
        target = bindings.assigned(update)[0]
        lines = [_in_place(source, update.value, target)]
        if not any(isinstance(n, ast.Attribute) and n.attr == "grad" and same_text(n.value, target) and _is_clearing(source, n)
                   for n in source.walk()):
            lines.append(f"{ast.unparse(target)}.grad = None")
        above = block[block.index(update) - 1] if block.index(update) else None
        if any(isinstance(a, ast.With) and called_name(a.items[0].context_expr) == "no_grad" for a in source.ancestors(update)):
            changes.replace(update, f"\n{source.indentation(update)}".join(lines))
        elif above in updates and end(above).line + 1 == start(update).line:
            changes.into_block_above(update, lines)
        else:
            changes.wrap(update, f"with {torch(changes)}.no_grad():", lines)
    return changes


def _updates_leaf(source: SourceTree, statement: ast.stmt) -> bool:
    """True for `b = b - lr * g` with a leaf `b`."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or len(bindings.assigned(statement)) != 1:
        return False
    value, target = statement.value, bindings.assigned(statement)[0]
    updates = isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Sub, ast.Add)) and same_text(value.left, target)
    return updates and is_leaf_name(source, target)


def _is_clearing(source: SourceTree, grad: ast.Attribute) -> bool:
    parent = source.parents.get(grad)
    return isinstance(grad.ctx, ast.Store) or (isinstance(parent, ast.Attribute) and parent.attr in ("zero_", "data", "fill_"))


def is_leaf_name(source: SourceTree, target: ast.expr) -> bool:
    """True if the text assigns a leaf that requires grad to a name."""
    return any(isinstance(n, ast.Assign) and bindings.makes_leaf(n.value) and any(
        same_text(t, target) for t in bindings.assigned(n)) for n in source.walk())


def _in_place(source: SourceTree, value: ast.expr, target: ast.expr) -> str:
    name = ast.unparse(target)
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Sub, ast.Add)) and same_text(value.left, target):
        return f"{name} {'-' if isinstance(value.op, ast.Sub) else '+'}= {source.text(value.right)}"
    return f"{name}.copy_({ast.unparse(value)})"


def _leaf_for_optimizer(context: FixContext) -> Iterator[Changes]:
    """An optimizer was given a non-leaf: create the tensors in its list so that requires_grad comes last."""
    read = context.read
    if read is None:
        return
    for call in ast.walk(read.node):
        if isinstance(call, ast.Call) and call.args:
            for name in sorted(names_in(call.args[0])):
                bound = bindings.binding_before(read.source, ast.Name(name), call)
                if bound is not None and bound.value is not None and bindings.makes_leaf(bound.value):
                    yield from _require_at_the_end(read.source, bound.value)
