"""Fixers for in-place writes to leaves and to values that backward needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from whygrad.why.edits.backward_calls import backward_call, is_forward, loaded
from whygrad.why.edits.bindings import assigned
from whygrad.why.edits.changes import Changes
from whygrad.why.edits.fix_context import AstSpan, FixContext, torch
from whygrad.why.edits.leaves import is_leaf_name
from whygrad.why.program_text import called_name
from whygrad.why.source_tree import Position, SourceTree, end, keyword, receiver, start

OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.FloorDiv: "//", ast.Mod: "%",
             ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}
# In-place methods whose out-of-place form is not the name without the underscore; None if there is no such form.
COUNTERPARTS = {"zero_": "{torch}.zeros_like({x})", "fill_": "{torch}.full_like({x}, {arguments})",
                "copy_": "{arguments}.clone()", "uniform_": None, "normal_": None, "requires_grad_": None, "detach_": None}


def wrap_in_no_grad(context: FixContext) -> Iterator[Changes]:
    """Wrap the update of a leaf, and the updates of other leaves right after it, in no_grad."""
    read = context.read or context.cause
    if read is None or isinstance(read.statement, (ast.For, ast.While, ast.If, ast.With, ast.Return)):
        return
    source, statement = read.source, read.statement
    block = source.block(statement)
    at = block.index(statement)
    changes = Changes(source)
    if at and _is_no_grad(block[at - 1]) and end(block[at - 1]).line + 1 == start(statement).line:
        changes.into_block_above(statement)
    else:
        changes.wrap(statement, f"with {torch(changes)}.no_grad():")
    for above, update in zip(block[at:], block[at + 1:], strict=False):
        if not isinstance(update, ast.AugAssign) or not is_leaf_name(source, update.target):
            break
        if end(above).line + 1 != start(update).line:
            break
        changes.into_block_above(update)
    yield changes


def _is_no_grad(statement: ast.stmt) -> bool:
    """True for a no_grad block whose body is on its own lines."""
    return isinstance(statement, ast.With) and len(statement.items) == 1 and (
        called_name(statement.items[0].context_expr) == "no_grad" and start(statement.body[0]).line > statement.lineno)


def write_out_of_place(context: FixContext) -> Iterator[Changes]:
    """Create a new tensor instead of overwriting the one that backward needs."""
    written = context.cause
    if written is None:
        return
    source, statement = written.source, written.statement
    if context.read is not None and any(isinstance(outer, ast.stmt) and _is_no_grad(outer)
                                        for outer in source.ancestors(statement)):
        # The update of a leaf is intended, but comes too early.
        yield from _moved_behind(written, context.read)
    if isinstance(statement, ast.AugAssign):
        if isinstance(statement.target, ast.Subscript):
            yield _on_a_clone(source, statement, statement.target)
            return
        operator = OPERATORS.get(type(statement.op))
        if operator is not None:
            target = source.text(statement.target)
            right = source.text(statement.value)
            if isinstance(statement.value, (ast.BinOp, ast.IfExp, ast.Compare, ast.BoolOp, ast.UnaryOp)) and not (
                    isinstance(statement.op, ast.Add) and isinstance(statement.value, ast.BinOp) and
                    isinstance(statement.value.op, (ast.Mult, ast.Div, ast.Pow))):
                right = f"({right})"
            yield Changes(source).replace(statement, f"{target} = {target} {operator} {right}")
        return
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
        yield _on_a_clone(source, statement, statement.targets[0])
        return
    for node in ast.walk(written.node if not isinstance(written.node, ast.stmt) else statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "step":
                yield from _step_later(context, written)
                return
            if node.func.attr.endswith("_") and not node.func.attr.endswith("__"):
                changes = Changes(source)
                if _without_underscore(changes, node, statement):
                    yield changes
                    return
        if isinstance(node, ast.Call) and keyword(node, "inplace") is not None:
            yield Changes(source).drop_keyword(node, "inplace")
            return
    yield from _layers_out_of_place(source)


def _on_a_clone(source: SourceTree, statement: ast.stmt, target: ast.Subscript) -> Changes:
    """Insert `h = h.clone()` before `h[0] = 1`."""
    whole: ast.expr = target
    while isinstance(whole, ast.Subscript):
        whole = whole.value
    name = ast.unparse(whole)
    return Changes(source).before(statement, f"{name} = {name}.clone()")


def _without_underscore(changes: Changes, call: ast.Call, statement: ast.stmt) -> bool:
    source = changes.source
    assert isinstance(call.func, ast.Attribute)
    name, x = call.func.attr, receiver(call)
    assert x is not None
    if name in COUNTERPARTS:
        form = COUNTERPARTS[name]
        if form is None:
            return False
        text = form.format(torch=torch(changes), x=source.text(x), arguments=", ".join(source.text(a) for a in call.args))
        changes.replace(call, text)
    else:
        line, column = end(call.func)
        changes.splice(Position(line, column - 1), Position(line, column), "")
    if isinstance(statement, ast.Expr) and statement.value is call:
        changes.splice(start(statement), start(statement), f"{source.text(x)} = ")
    return True


def _layers_out_of_place(source: SourceTree) -> Iterator[Changes]:
    """Drop inplace=True of all layers, such as `nn.ReLU(inplace=True)`."""
    changes = Changes(source)
    for node in source.walk():
        found = keyword(node, "inplace") if isinstance(node, ast.Call) else None
        if found is not None and isinstance(found.value, ast.Constant) and found.value.value is True:
            changes.drop_keyword(node, "inplace")  # type: ignore[arg-type]
    yield changes


def _step_later(context: FixContext, written: AstSpan) -> Iterator[Changes]:
    """For a step between a forward and its backward: repeat the forward after the step, or move the step."""
    read = context.read
    if read is None or read.source is not written.source:
        return
    source = read.source
    back = source.sibling(read.statement, written.statement)
    if back is None or start(back) < start(written.statement):
        return
    saved = next((span.statement for span in context.causes[1:] if span.source is source), None)
    yield from _forward_again(source, read, written.statement, saved)
    others = {ast.unparse(receiver(n) or n) for n in ast.walk(source.scope(back)) if called_name(n) == "step"}
    if others <= {ast.unparse(receiver(n) or n) for n in ast.walk(written.statement) if called_name(n) == "step"}:
        # With several optimizers, the moved step would also apply the gradients of this backward.
        yield Changes(source).move(written.statement, after=back)


def _forward_again(source: SourceTree, read: AstSpan, step: ast.stmt, saved: ast.stmt | None) -> Iterator[Changes]:
    """Repeat the statements that compute the loss after the step, from the one that saved the value on."""
    call = backward_call(read)
    loss = receiver(call) if call is not None else None
    wanted = {loss.id} if isinstance(loss, ast.Name) else set()
    chosen: list[ast.stmt] = []
    above = [s for s in source.block(step) if end(s) < start(step)]
    for statement in reversed(above[above.index(saved):] if saved in above else above):
        names = {ast.unparse(target) for target in assigned(statement)}
        if isinstance(statement, ast.Assign) and names & wanted and is_forward(source, statement):
            chosen.insert(0, statement)
            wanted |= loaded(statement.value)
    changes = Changes(source)
    for statement in chosen:
        changes.after(step, source.text(statement))
    if chosen:
        yield changes


def update_after_backward(context: FixContext) -> Iterator[Changes]:
    """Move a write through .data after the backward."""
    if context.cause is not None and context.backward is not None:
        yield from _moved_behind(context.cause, context.backward)


def _moved_behind(written: AstSpan, back: AstSpan) -> Iterator[Changes]:
    """Move the write, with its enclosing loop or block, after the backward."""
    if written.source is not back.source:
        return
    source = written.source
    for outer in (written.statement, *source.ancestors(written.statement)):
        after = source.sibling(back.statement, outer) if isinstance(outer, ast.stmt) else None
        if isinstance(outer, ast.stmt) and after is not None and after is not outer and start(outer) < start(after):
            yield Changes(source).move(outer, after=after)
            return


def clone_view(context: FixContext) -> Iterator[Changes]:
    """Clone a view before an in-place write."""
    read = context.read
    if read is None:
        return
    statement = read.statement
    target: ast.expr | None = statement.target if isinstance(statement, ast.AugAssign) else None
    if isinstance(statement, ast.Expr) and called_name(statement.value).endswith("_"):
        target = receiver(statement.value)
    while isinstance(target, ast.Subscript):
        target = target.value
    if target is not None:
        name = ast.unparse(target)
        yield Changes(read.source).before(statement, f"{name} = {name}.clone()")
