"""Fixers for calls of backward(), autograd.grad(), zero_grad(), step() and gradient clipping."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from math import prod

from whygrad.why.edits import bindings
from whygrad.why.edits.changes import Changes
from whygrad.why.edits.fix_context import AstSpan, FixContext, torch
from whygrad.why.program_text import called_name
from whygrad.why.source_tree import Loop, SourceTree, end, keyword, receiver, same_text, start

LOSS_WORDS = ("loss", "cost", "err", "objective")


def backward_call(where: AstSpan | None) -> ast.Call | None:
    """The call of backward() or autograd.grad() at a span."""
    if where is None:
        return None
    for node in (*ast.walk(where.node), *ast.walk(where.statement)):
        if isinstance(node, ast.Call) and bindings.is_backward(node):
            return node
    return None


def reduce_loss(context: FixContext) -> Iterator[Changes]:
    """Reduce a loss with several elements, or pass grad_outputs= to autograd.grad()."""
    call = backward_call(context.read)
    if call is None or context.read is None:
        return
    source = context.read.source
    changes = Changes(source)
    if called_name(call) == "grad" and call.args:
        outputs = call.args[0]
        if isinstance(outputs, (ast.Name, ast.Attribute)):
            yield changes.argument(call, f"grad_outputs={torch(changes)}.ones_like({source.text(outputs)})")
        else:
            yield changes.suffix(outputs, ".sum()")
        return
    loss = receiver(call)
    if loss is None:
        return
    if bindings.is_function(source, call) and call.args:  # torch.autograd.backward(y)
        loss = call.args[0]
    made = source.text(context.cause.statement) if context.cause is not None and context.cause.source is source else ""
    is_loss = any(word in source.text(loss).lower() for word in LOSS_WORDS) or "reduction" in made
    yield changes.suffix(loss, ".mean()" if is_loss else ".sum()")


def match_gradient_shape(context: FixContext) -> Iterator[Changes]:
    """Give the gradient argument the shape of the tensor."""
    call = backward_call(context.read)
    if call is None or context.read is None or called_name(call) != "backward":
        return
    source, outputs = context.read.source, receiver(call)
    given = keyword(call, "gradient")
    value = given.value if given is not None else call.args[0] if call.args else None
    if value is None or outputs is None:
        return
    changes = Changes(source)
    written = re.findall(r"Size\(\[([\d, ]*)\]\)", context.explanation.headline)
    shapes = [[int(n) for n in re.findall(r"\d+", shape)] for shape in written]
    text = source.text(outputs)
    if len(shapes) == 2 and prod(shapes[0]) == prod(shapes[1]):
        yield changes.suffix(value, f".reshape({source.atom(outputs)}.shape)")
    elif len(shapes) == 2 and _broadcasts_to(*shapes):
        yield changes.suffix(value, f".expand_as({text})")
    else:
        yield changes.replace(value, f"{torch(changes)}.ones_like({text})")


def _broadcasts_to(small: list[int], large: list[int]) -> bool:
    return len(small) <= len(large) and all(a in (1, b) for a, b in zip(reversed(small), reversed(large), strict=False))


def pass_create_graph(context: FixContext) -> Iterator[Changes]:
    """Pass create_graph=True where the gradient was computed."""
    for where in context.causes:
        call = backward_call(where)
        if call is not None:
            yield Changes(where.source).set_keyword(call, "create_graph", "True")


def allow_unused(context: FixContext) -> Iterator[Changes]:
    call = backward_call(context.read)
    if context.read is not None and call is not None and called_name(call) == "grad" and "Error" in context.explanation.headline:
        yield Changes(context.read.source).set_keyword(call, "allow_unused", "True")
    yield from _add_forgotten_losses(context)


def _add_forgotten_losses(context: FixContext) -> Iterator[Changes]:
    """Add a loss that was computed and not used to the one that is differentiated."""
    back, call = context.backward, backward_call(context.backward)
    loss = receiver(call) if call is not None and called_name(call) == "backward" else None
    if back is None or not isinstance(loss, ast.Name):
        return
    source = back.source
    above = [s for s in bindings.statements_in(source, source.scope(back.node)) if end(s) < start(back.statement)]
    used = loaded(source.scope(back.node))
    for statement in above:
        for target in bindings.assigned(statement):
            forgotten = isinstance(target, ast.Name) and target.id not in used and any(w in target.id.lower() for w in LOSS_WORDS)
            if forgotten:
                yield Changes(source).replace(loss, f"({loss.id} + {source.text(target)})")


def clear_before_backward(context: FixContext) -> Iterator[Changes]:
    """Clear the gradients before the backward that added to them."""
    back = next((c for c in context.causes if backward_call(c) is not None), context.backward)
    if back is None:
        return
    source = back.source
    yield from _add_parentheses(context)
    for stepping in _rarer_steps(source, back):
        yield Changes(source).after(stepping, f"{source.text(receiver(stepping.value) or stepping)}.zero_grad()")
    for text in _clearings(context, back):
        yield Changes(source).before(back.statement, text)


def _rarer_steps(source: SourceTree, back: AstSpan) -> Iterator[ast.Expr]:
    """`if i % 4 == 0: optimizer.step()` after the backward: gradients are accumulated on purpose, and cleared after the step."""
    loop = source.loop(back.node)
    for node in ast.walk(loop) if loop is not None else ():
        inside = isinstance(node, ast.Expr) and called_name(node.value) == "step" and isinstance(source.parents.get(node), ast.If)
        if isinstance(node, ast.Expr) and inside and back.statement not in source.block(node):
            holder = receiver(node.value)
            if holder is not None and source.text(holder) in bindings.optimizers(source, back.node):
                yield node


def _clearings(context: FixContext, back: AstSpan) -> Iterator[str]:
    source = back.source
    names = bindings.optimizers(source, back.node)
    clears = {ast.unparse(receiver(n) or n) for n in source.walk() if called_name(n) == "zero_grad"}
    uncleared = [n for n in names if n not in clears]
    tensor = context.tensor
    if context.read is None or tensor is None:
        yield from (f"{n}.zero_grad()" for n in uncleared)
        return
    plain = isinstance(tensor, ast.Name) and _iterated_module(context) is None and not _may_be_in_optimizer(source, tensor)
    if plain and context.visible_at(back):
        yield f"{ast.unparse(tensor)}.grad = None"
    yield from (f"{n}.zero_grad()" for n in uncleared)
    if context.read.source is source:
        over = _iterated_module(context)
        if over is not None:
            yield f"{over}.zero_grad()"
        if context.visible_at(back):
            yield from _clear_by_module(source, tensor, context.read.node)
            yield f"{ast.unparse(tensor)}.grad = None"
    yield from (f"{n}.zero_grad()" for n in names)


def _may_be_in_optimizer(source: SourceTree, tensor: ast.expr) -> bool:
    """True if an optimizer's argument names this tensor, or may contain it."""
    made = [node for node in source.walk() if bindings.is_optimizer(node) and isinstance(node, ast.Call)]
    if any(call.args and (bindings.uses(call.args[0], tensor) or isinstance(call.args[0], ast.Name)) for call in made):
        return True
    bound = bindings.binding_before(source, tensor, made[0]) if made else None
    return bound is not None and bound.value is not None and isinstance(bound.value, ast.Attribute)


def _iterated_module(context: FixContext) -> str | None:
    """`model` of `for p in model.parameters(): p.grad`."""
    assert context.read is not None
    tensor = context.tensor
    bound = bindings.binding_before(context.read.source, tensor, context.read.node) if isinstance(tensor, ast.Name) else None
    for loop in [bound.statement] if bound is not None else []:
        if isinstance(loop, (ast.For, ast.comprehension)) and called_name(loop.iter) in ("parameters", "named_parameters"):
            module = receiver(loop.iter)
            return None if module is None else ast.unparse(module)
    return None


def _clear_by_module(source: SourceTree, tensor: ast.expr, at: ast.AST) -> Iterator[str]:
    """`model.zero_grad()` for `model.fc.weight`."""
    outermost: ast.expr | None = None
    inner = tensor
    while isinstance(inner, (ast.Attribute, ast.Subscript)):
        inner = inner.value
        if bindings.is_module(source, inner, at):
            outermost = inner
    if outermost is not None:
        yield f"{ast.unparse(outermost)}.zero_grad()"


def move_clearing_before_backward(context: FixContext) -> Iterator[Changes]:
    """Gradients are cleared between backward and their use: clear them before the backward instead."""
    cleared, back = context.cause, context.backward
    if cleared is None or back is None or cleared.source is not back.source:
        return
    source = cleared.source
    holder = receiver(cleared.statement.value) if isinstance(cleared.statement, ast.Expr) else None
    above = [s for s in source.block(back.statement) if start(s) < start(back.statement) and isinstance(s, ast.Expr)]
    if holder is not None and any(called_name(s.value) == "zero_grad" and same_text(receiver(s.value) or s, holder)
                                  for s in above):
        yield Changes(source).delete(cleared.statement)  # they are cleared there already
    if source.scope(cleared.node) is source.scope(back.node) and start(back.statement) < start(cleared.statement):
        yield Changes(source).move(cleared.statement, before=back.statement)
    yield Changes(source).delete(cleared.statement)


def _differentiated_in_the_closure(stepping: AstSpan) -> Iterator[Changes]:
    source = stepping.source
    steps = [n for n in ast.walk(stepping.statement) if isinstance(n, ast.Call) and called_name(n) == "step"]
    given = next((call.args[0] for call in steps if call.args), None)
    for function in source.walk():
        if isinstance(function, ast.FunctionDef) and isinstance(given, ast.Name) and function.name == given.id:
            last = function.body[-1]
            if isinstance(last, ast.Return) and isinstance(last.value, ast.Name):
                yield Changes(source).before(last, f"{last.value.id}.backward()")


def _add_parentheses(context: FixContext) -> Iterator[Changes]:
    """Add the parentheses to a statement such as `loss.backward`."""
    for cause in context.causes:
        if isinstance(cause.statement, ast.Expr) and isinstance(cause.statement.value, ast.Attribute):
            yield Changes(cause.source).suffix(cause.statement.value, "()")


def step(context: FixContext) -> Iterator[Changes]:
    """Call step() after the backward."""
    yield from _add_parentheses(context)
    made = [t for c in context.causes if bindings.is_optimizer(getattr(c.statement, "value", c.node))
            for t in bindings.assigned(c.statement)]
    back = next((c for c in context.causes if backward_call(c) is not None), context.backward)
    if back is not None:
        for optimizer in made:
            yield Changes(back.source).after(back.statement, f"{ast.unparse(optimizer)}.step()")


def add_backward(context: FixContext) -> Iterator[Changes]:
    """Call backward() before step(); replace a zero_() of a gradient that is None by `= None`."""
    stepping = context.read
    clears = stepping is not None and called_name(getattr(stepping.statement, "value", stepping.node)) == "zero_"
    named = list(_add_parentheses(context))
    if named:
        yield from named
        return
    if stepping is not None and clears and context.tensor is not None:
        yield Changes(stepping.source).replace(stepping.statement, f"{stepping.source.text(stepping.node)} = None")
        return
    if stepping is not None and "closure" in context.explanation.fix:
        yield from _differentiated_in_the_closure(stepping)
        return
    block = [] if stepping is None else stepping.source.block(stepping.statement)
    losses = [t for s in block if stepping is not None and start(s) < start(stepping.statement) for t in bindings.assigned(s)
              if any(word in ast.unparse(t).lower() for word in LOSS_WORDS)]
    if stepping is not None and losses:
        yield Changes(stepping.source).before(stepping.statement, f"{ast.unparse(losses[-1])}.backward()")


def store_returned_grads(context: FixContext) -> Iterator[Changes]:
    """Assign the gradients that autograd.grad() returns to .grad; drop inputs= of backward()."""
    computed = context.cause
    call = backward_call(computed)
    if computed is None or call is None:
        return
    source = computed.source
    if called_name(call) == "backward":
        yield Changes(source).drop_keyword(call, "inputs")
        return
    targets = bindings.assigned(computed.statement)
    if len(call.args) < 2 or not targets:
        return
    inputs = call.args[1]
    statement = computed.statement
    whole = isinstance(statement, ast.Assign) and statement.value is call and not isinstance(statement.targets[0], ast.Tuple)
    if isinstance(inputs, (ast.List, ast.Tuple)) and len(inputs.elts) == len(targets):
        left, right = (", ".join(texts) for texts in ([f"{source.text(x)}.grad" for x in inputs.elts], map(ast.unparse, targets)))
        yield Changes(source).after(computed.statement, f"{left} = {right}{'[0]' if whole else ''}")
    elif whole and not isinstance(inputs, (ast.Name, ast.Attribute)):
        text = f"for p, g in zip({source.text(inputs)}, {ast.unparse(targets[0])}):\n{source.indent_unit}p.grad = g"
        yield Changes(source).after(computed.statement, text)
    elif len(targets) == 1:
        value = ast.unparse(targets[0]) + ("[0]" if whole else "")
        yield Changes(source).after(computed.statement, f"{source.text(inputs)}.grad = {value}")


def clip_before_step(context: FixContext) -> Iterator[Changes]:
    """Move clipping between backward and step; unscale the gradients first."""
    clip = context.cause
    if clip is None:
        return
    block = clip.source.block(clip.statement)
    if "unscale_" in context.explanation.fix:
        calls = [n for s in block for n in ast.walk(s) if isinstance(n, ast.Call) and called_name(n) == "step" and n.args]
        for call in calls[:1]:  # scaler.step(optimizer)
            text = f"{clip.source.text(receiver(call) or call)}.unscale_({clip.source.text(call.args[0])})"
            yield Changes(clip.source).before(clip.statement, text)
        return
    steps = [s for s in block if isinstance(s, ast.Expr) and called_name(s.value) == "step"]
    earlier = [s for s in steps if start(s) < start(clip.statement)]
    for stepping in earlier[-1:] or steps[:1]:
        yield Changes(clip.source).move(clip.statement, before=stepping)


def separate_passes(context: FixContext) -> Iterator[Changes]:
    """For a second backward through a freed graph: detach the carried state, repeat the forward, or retain the graph."""
    read = context.read
    if read is None:
        return
    source = read.source
    loop = source.loop(read.node)
    freed = context.causes[0] if context.causes else None
    first = next((c for c in context.causes[1:] if backward_call(c) is not None), None)
    # Freed by the same statement in an earlier iteration: a state is carried over.
    if loop is not None and (first is None or first.statement is read.statement):
        yield from _detach_carried(context, source, loop, freed)
        yield from _compute_anew(source, loop, read, freed)
    if first is None or first.statement is read.statement:
        yield from _detach_carried_by_a_function(source, freed)
    call = backward_call(first)
    if call is not None and first is not None and (loop is None or first.statement is not read.statement):
        yield Changes(first.source).set_keyword(call, "retain_graph", "True")
    own = backward_call(read)
    if own is not None and loop is not None and "step" not in {called_name(n) for n in ast.walk(loop)}:
        yield Changes(source).set_keyword(own, "retain_graph", "True")


def _detach_carried(context: FixContext, source: SourceTree, loop: ast.AST, freed: AstSpan | None) -> Iterator[Changes]:
    """For `h = cell(x, h)` in a loop: start the next iteration from h.detach()."""
    read = context.read
    assert read is not None
    inside = [s for s in bindings.statements_in(source, source.scope(loop)) if loop in source.ancestors(s)]
    steps = [s for s in inside if isinstance(s, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and _carried(s)]
    if freed is not None:
        steps.sort(key=lambda s: s is not freed.statement)
    for step in steps:
        names = _carried(step)
        if isinstance(step, ast.Assign) and all(_starts_as_tensor(source, loop, n) for n in names):
            yield _with_detached(source, step, names)
        ways = ["{0} = {0}.detach()", "{0} = tuple(s.detach() for s in {0})"]
        for way in reversed(ways) if _gives_a_tuple(source, step) else ways:
            changes = Changes(source)
            for name in names:
                changes.after(read.statement, way.format(ast.unparse(name)))
            yield changes


def _gives_a_tuple(source: SourceTree, statement: ast.stmt) -> bool:
    """True for the state of an LSTM, which is a tuple."""
    value = getattr(statement, "value", None)
    layer = called_name(value) if isinstance(value, ast.Call) else ""
    for made in (s for s in source.walk() if isinstance(s, ast.Assign)):
        values = made.value.elts if isinstance(made.value, ast.Tuple) else [made.value] * len(bindings.assigned(made))
        if any(ast.unparse(target).split(".")[-1] == layer and called_name(x) in ("LSTM", "LSTMCell")
               for target, x in zip(bindings.assigned(made), values, strict=False)):
            return True
    return False


def _carried(statement: ast.stmt) -> list[ast.expr]:
    """The targets of a statement that are computed from their own old value."""
    if isinstance(statement, ast.AugAssign):
        return [statement.target] if not isinstance(statement.value, ast.Constant) else []
    value = getattr(statement, "value", None)
    if not isinstance(value, (ast.Call, ast.BinOp, ast.Tuple, ast.Subscript)):
        return []
    return [t for t in bindings.assigned(statement) if bindings.uses(value, t)]


def _starts_as_tensor(source: SourceTree, loop: ast.AST, name: ast.expr) -> bool:
    before = bindings.binding_before(source, name, loop)
    return before is not None and isinstance(before.value, (ast.Call, ast.BinOp))


def _is_part(source: SourceTree, node: ast.expr) -> bool:
    """True for the `h` in `h.shape` and for the name of a called function; False for the `h` in `h.expand(2)`."""
    parent = source.parents.get(node)
    if isinstance(parent, ast.Attribute):
        return not isinstance(source.parents.get(parent), ast.Call)
    return isinstance(parent, ast.Call) and parent.func is node


def _detach_carried_by_a_function(source: SourceTree, freed: AstSpan | None) -> Iterator[Changes]:
    """Detach a state that a method keeps as an attribute, or that a loop around the function call carries over."""
    if freed is not None:
        for name in _carried(freed.statement):
            if isinstance(name, ast.Attribute):
                text = ast.unparse(name)
                yield _with_detached(freed.source, freed.statement, [name])
                yield Changes(freed.source).after(freed.statement, f"{text} = {text}.detach()")
    for loop in (node for node in source.walk() if isinstance(node, Loop)):
        for statement in loop.body:
            for name in _carried(statement):
                text = ast.unparse(name)
                yield Changes(source).after(statement, f"{text} = {text}.detach()")


def _with_detached(source: SourceTree, statement: ast.stmt, names: list[ast.expr]) -> Changes:
    """`h = cell(x, h)` -> `h = cell(x, h.detach())`."""
    changes = Changes(source)
    for node in ast.walk(getattr(statement, "value", statement)):
        if isinstance(node, ast.expr) and any(same_text(node, n) for n in names) and not _is_part(source, node):
            changes.suffix(node, ".detach()")
    return changes


def _compute_anew(source: SourceTree, loop: ast.AST, read: AstSpan, freed: AstSpan | None) -> Iterator[Changes]:
    """Move a forward that is above the loop into it."""
    call = backward_call(read)
    loss = receiver(call) if call is not None else None
    if loss is None or not isinstance(loop, Loop):
        return
    around = [s for s in (loop, *source.ancestors(loop)) if isinstance(s, ast.stmt) and source.scope(s) is source.scope(loop)]
    above = sorted([s for outer in around for s in source.block(outer) if end(s) < start(outer) and isinstance(s, ast.Assign)],
                   key=start)
    inside = [s for s in bindings.statements_in(source, source.scope(loop)) if loop in source.ancestors(s)]
    wanted = {name for s in inside if start(s) <= start(read.statement) for name in loaded(s)}
    chosen: list[ast.Assign] = []
    for statement in reversed(above):
        names = {ast.unparse(t) for t in bindings.assigned(statement)}
        if names & wanted and is_forward(source, statement):
            chosen.insert(0, statement)
            wanted |= loaded(statement)
    if chosen:
        changes = Changes(source)
        for statement in chosen:
            changes.before(loop.body[0], source.text(statement))
            changes.delete(statement)
        yield changes


def loaded(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def is_forward(source: SourceTree, statement: ast.Assign) -> bool:
    """True for a computation, False for the creation of a model, of data or of an optimizer."""
    value = statement.value
    if isinstance(value, (ast.Constant, ast.List, ast.Dict, ast.Tuple, ast.Name)) or bindings.makes_leaf(value):
        return False
    if bindings.is_optimizer(value) or called_name(value) in bindings.FACTORIES or bindings.is_module(source, value, statement):
        return False
    if isinstance(value, ast.Call) and bindings.is_module(source, value.func, statement):
        return True
    name = called_name(value)
    return not (name[:1].isupper() or name in ("range", "list", "manual_seed", "parameters", "compile"))
