"""Fixers that remove a cut between a tensor and the loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from whygrad.why.edits.bindings import assigned, binding_before, is_function, is_list, module_name
from whygrad.why.edits.changes import Changes
from whygrad.why.edits.fix_context import AstSpan, FixContext, torch
from whygrad.why.program_text import called_name
from whygrad.why.source_tree import Function, SourceTree, end, receiver, root_name, same_text, start

DETACHING = {"detach", "detach_"}
# Methods that return plain numbers, and functions that create a tensor from numbers.
COPYING_OUT = {"item", "tolist", "numpy", "float", "int"}
COPYING_IN = {"tensor", "as_tensor", "from_numpy", "FloatTensor", "Tensor", "asarray", "DoubleTensor", "new_tensor"}
INTEGER_CASTS = {"long", "int", "bool", "short", "byte"}
SAME_IN_TORCH = {"exp", "log", "sqrt", "sin", "cos", "tanh", "abs", "mean", "sum", "maximum", "minimum", "log1p", "square",
                 "clip"}


def drop_detach(context: FixContext) -> Iterator[Changes]:
    """Remove `.detach()` or `.data`; values that are stored for later keep it."""
    cut = context.cause
    if cut is None:
        return
    own = [t for t in assigned(cut.statement) if context.tensor is not None and same_text(t, context.tensor)]
    if own and isinstance(cut.statement, ast.Assign) and context.explanation.symptom != "not-tracked":
        # `w = (w - lr * g).detach()`: the name is to be a leaf, and requires_grad_() is missing.
        yield Changes(cut.source).suffix(cut.statement.value, ".requires_grad_()")
    changes = Changes(cut.source)
    if remove_detach(changes, cut):
        _detach_stored_copies(changes, cut)
        yield changes


def remove_detach(changes: Changes, cut: AstSpan) -> bool:
    for node in _outermost_first(cut):
        if isinstance(node, ast.Call) and called_name(node) == "state_dict":
            changes.set_keyword(node, "keep_vars", "True")
            return True
        wrapped = changes.source.parents.get(node)
        if isinstance(wrapped, ast.Call) and called_name(wrapped) == "Variable" and _cuts(node):
            _unwrap(changes, wrapped)
            return True
        if isinstance(node, ast.Call) and called_name(node) in DETACHING:
            if is_function(changes.source, node) and node.args:
                changes.replace(node, changes.source.text(node.args[0]))
            elif isinstance(node.func, ast.Attribute):
                statement = changes.source.parents.get(node)
                if isinstance(statement, ast.Expr) or (isinstance(statement, ast.Assign) and len(statement.targets) == 1
                                                       and same_text(statement.targets[0], node.func.value)):
                    changes.delete(statement)  # `h.detach_()`, or `h = h.detach()`
                    return True
                changes.drop_suffix(node.func, _with_requires_grad(changes.source, node))
            return True
        if isinstance(node, ast.Attribute) and node.attr == "data" and isinstance(node.ctx, ast.Load):
            changes.drop_suffix(node, node)
            return True
    return False


def _cuts(node: ast.AST) -> bool:
    return called_name(node) in DETACHING or (isinstance(node, ast.Attribute) and node.attr == "data")


def _unwrap(changes: Changes, call: ast.Call) -> None:
    """`Variable(x.data, requires_grad=True)` -> `x`; a resulting `x = x` is deleted."""
    source, given = changes.source, call.args[0]
    inner = given.value if isinstance(given, ast.Attribute) else receiver(given) or given
    statement = source.parents.get(call)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and same_text(statement.targets[0], inner):
        changes.delete(statement)
    else:
        changes.replace(call, source.text(inner))


def _outermost_first(cut: AstSpan) -> Iterator[ast.AST]:
    yield from ast.walk(cut.node)
    if cut.node is not cut.statement and not isinstance(cut.statement, (*Function, ast.ClassDef, ast.For, ast.While, ast.With)):
        yield from ast.walk(cut.statement)


def _with_requires_grad(source: SourceTree, node: ast.expr) -> ast.expr:
    """Extend `x.detach()` to `x.detach().requires_grad_()`, which is removed as a whole."""
    parent = source.parents.get(node)
    outer = source.parents.get(parent) if parent is not None else None
    if isinstance(parent, ast.Attribute) and parent.attr == "requires_grad_" and isinstance(outer, ast.Call):
        return outer
    return node


def _detach_stored_copies(changes: Changes, cut: AstSpan) -> None:
    """`history.append(z)` stored the detached z, and still should."""
    source, targets = cut.source, assigned(cut.statement)
    if len(targets) != 1:
        return
    for node in ast.walk(source.scope(cut.node)):
        appends = isinstance(node, ast.Call) and called_name(node) == "append" and start(node) > start(cut.statement)
        if isinstance(node, ast.Call) and appends and len(node.args) == 1 and same_text(node.args[0], targets[0]):
            changes.suffix(node.args[0], ".detach()")


def stay_in_tensors(context: FixContext) -> Iterator[Changes]:
    """Replace values copied out as numbers by the tensors."""
    for cut in context.causes:
        changes = Changes(cut.source)
        if keep_tensors(changes, cut):
            yield changes


def keep_tensors(changes: Changes, cut: AstSpan) -> bool:
    for node in _outermost_first(cut):
        if isinstance(node, ast.Call) and called_name(node) in COPYING_IN and node.args:
            text = _tensor_expression(changes, node, cut)
            if text is not None:
                outer = _with_requires_grad(changes.source, node)
                changes.replace(outer, text)
                return True
    copies = [node for node in ast.walk(cut.node) if _copies_out(node)] or [
        node for node in ast.walk(cut.statement) if _copies_out(node)]
    for node in copies:
        assert isinstance(node, ast.Call)
        changes.replace(node, changes.source.atom(node.args[0] if isinstance(node.func, ast.Name) else receiver(node) or node))
        break
    return bool(copies)


def _copies_out(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name):
        return node.func.id in ("float", "int") and len(node.args) == 1
    return called_name(node) in ("item", "tolist", "numpy") and not node.args


def _tensor_expression(changes: Changes, node: ast.Call, cut: AstSpan) -> str | None:
    """The replacement for `torch.tensor(...)`."""
    source, given = changes.source, node.args[0]
    name = torch(changes)
    if isinstance(given, (ast.List, ast.Tuple)):
        if any(isinstance(e, ast.Constant) for e in given.elts):
            return None
        return f"{name}.stack([{', '.join(_without_conversions(source, e) for e in given.elts)}])"
    if isinstance(given, (ast.ListComp, ast.GeneratorExp)):
        over = given.generators[0].iter
        opening, middle, closing = (source.text_between(*two) for two in (
            (start(given), start(given.elt)), (end(given.elt), start(over)), (end(over), end(given))))
        element, iterated = (_without_conversions(source, part) for part in (given.elt, over))
        return f"{name}.stack({opening}{element}{middle}{iterated}{closing})"
    if isinstance(given, (ast.Name, ast.Attribute)) and is_list(source, given, node):
        for call in ast.walk(source.scope(node)):
            if isinstance(call, ast.Call) and called_name(call) == "append" and receiver(call) is not None and call.args and (
                    same_text(receiver(call) or call, given)):
                bare = _without_conversions(source, call.args[0])
                if bare != source.text(call.args[0]):
                    changes.replace(call.args[0], bare)
        return f"{name}.stack({source.text(given)})"
    if isinstance(given, ast.Name):
        bound = binding_before(source, given, node)
        if bound is not None and bound.value is not None:
            bare = _without_conversions(source, bound.value)
            if bare != source.text(bound.value):
                changes.replace(bound.value, bare)
    return _without_conversions(source, given)


def _without_conversions(source: SourceTree, node: ast.expr) -> str:
    """The text of an expression without the calls that convert tensors to numbers."""
    inner: ast.expr | None = node
    if isinstance(node, ast.BinOp):
        left, right = (_operand_without_conversions(source, operand) for operand in (node.left, node.right))
        opening, operator, closing = (source.text_between(*two) for two in (
            (start(node), start(node.left)), (end(node.left), start(node.right)), (end(node.right), end(node))))
        return f"{opening}{left}{operator}{right}{closing}"
    while isinstance(inner, ast.Call):
        if called_name(inner) in (*COPYING_OUT, "detach", "cpu") and isinstance(inner.func, ast.Attribute) and not inner.args:
            inner = receiver(inner)
        elif isinstance(inner.func, ast.Name) and inner.func.id in ("float", "int") and len(inner.args) == 1:
            inner = inner.args[0]
        elif called_name(inner) in SAME_IN_TORCH and root_name(inner.func) in ("np", "numpy", "math") and inner.args:
            given = [*[_without_conversions(source, a) for a in inner.args], *[source.text(k) for k in inner.keywords]]
            return f"{module_name(source, 'torch')}.{called_name(inner)}({', '.join(given)})"
        else:
            break
    return source.text(inner) if inner is not None else source.text(node)


def _operand_without_conversions(source: SourceTree, node: ast.expr) -> str:
    text = _without_conversions(source, node)
    bare = ast.parse(text.strip(), mode="eval").body
    return f"({text})" if text != source.text(node) and not isinstance(bare, (ast.Name, ast.Attribute, ast.Call)) else text


def enable_recording(context: FixContext) -> Iterator[Changes]:
    """Replace or remove the grad mode that switched recording off, or switch recording on again."""
    for switch in reversed(context.causes):
        found = list(_reenabled(context, switch))
        yield from found
        if found:
            return


def _reenabled(context: FixContext, switch: AstSpan) -> Iterator[Changes]:
    source = switch.source
    inference = next((n for n in _outermost_first(switch) if called_name(n) == "inference_mode"), None)
    decorator, block = _decorator(switch), _with_item(switch)
    if "nference tensor" in context.explanation.headline:
        entered = inference or decorator or block
        if entered is not None:
            changes = Changes(source)
            yield changes.replace(entered, f"{torch(changes)}.no_grad()")
    elif decorator is not None:
        if decorator.lineno == decorator.end_lineno:
            yield Changes(source).delete_line(decorator.lineno)
    elif block is not None:
        changes = Changes(source)
        yield changes.replace(block, f"{torch(changes)}.enable_grad()")
    else:
        call = next((n for n in _outermost_first(switch) if called_name(n) == "set_grad_enabled"), None)
        if isinstance(call, ast.Call):
            yield from _switch_back(context, source, call)
        yield from _exit_entered_mode(context, switch)


def _exit_entered_mode(context: FixContext, switch: AstSpan) -> Iterator[Changes]:
    """`mode.__enter__()` without `__exit__`: exit before the computation, or do not enter."""
    entered, computed, source = switch.statement, context.causes[0], switch.source
    if not isinstance(entered, ast.Expr) or called_name(entered.value) != "__enter__":
        return
    mode = receiver(entered.value)
    outermost = source.sibling(computed.statement, entered) if computed.source is source else None
    if isinstance(mode, (ast.Name, ast.Attribute)) and outermost is not None and start(outermost) > start(entered):
        yield Changes(source).before(outermost, f"{source.text(mode)}.__exit__(None, None, None)")
    yield Changes(source).delete(entered)


def _decorator(switch: AstSpan) -> ast.expr | None:
    for node in (switch.node, *switch.source.ancestors(switch.node), switch.statement):
        for decorator in getattr(node, "decorator_list", ()):
            if switch.node in ast.walk(decorator) or (switch.node is node and _is_grad_mode(decorator)):
                found: ast.expr = decorator
                return found
    return None


def _is_grad_mode(node: ast.AST) -> bool:
    return any(word in ast.unparse(node) for word in ("no_grad", "inference_mode", "set_grad_enabled"))


def _with_item(switch: AstSpan) -> ast.expr | None:
    for node in (switch.node, *switch.source.ancestors(switch.node)):
        if isinstance(node, (ast.With, ast.AsyncWith)):
            found = next((item.context_expr for item in node.items if _is_grad_mode(item.context_expr)), None)
            if found is not None:
                return found
    return None


def _switch_back(context: FixContext, source: SourceTree, call: ast.Call) -> Iterator[Changes]:
    """`torch.set_grad_enabled(False)` without a later `set_grad_enabled(True)`."""
    function = source.scope(call)
    if isinstance(function, Function):
        changes = Changes(source)
        statement = source.statement(call)
        changes.before(function, f"@{torch(changes)}.no_grad()")
        if statement is not None and isinstance(statement, ast.Expr):
            changes.delete(statement)
        yield changes
    computed = context.causes[0]
    later = [n for n in source.walk(function) if called_name(n) == "set_grad_enabled" and start(n) > start(computed.node)
             and source.scope(n) is function]
    if later and call.args:  # it is switched on again, but too late
        yield Changes(source).replace(call.args[0], "True")
    if computed.source is source and source.scope(computed.node) is source.tree and computed.node is not call:
        outermost = computed.statement
        for outer in source.ancestors(computed.statement):
            if isinstance(outer, (ast.For, ast.While)) and start(outer) > start(call):
                outermost = outer
        changes = Changes(source)
        yield changes.before(outermost, f"{torch(changes)}.set_grad_enabled(True)")
    if call.args:
        yield Changes(source).replace(call.args[0], "True")


def use_surrogate(context: FixContext) -> Iterator[Changes]:
    """Replace an op without derivative: drop a cast, use rsample(), cross_entropy instead of counted errors."""
    for cut in context.causes:
        source = cut.source
        for node in ast.walk(cut.node):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sample":
                yield Changes(source).splice(end(node.func.value), end(node.func), ".rsample")
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in INTEGER_CASTS:
                yield Changes(source).drop_suffix(node.func, node)
        yield from _cross_entropy(cut)
        yield from _use_probability(cut)
        yield from _straight_through(cut)


def _straight_through(cut: AstSpan) -> Iterator[Changes]:
    """Straight-through `one_hot(scores.argmax(-1), n)`: the same value with the gradient of softmax(scores)."""
    source = cut.source
    hot = next((n for n in (cut.node, *source.ancestors(cut.node)) if called_name(n) == "one_hot"), None)
    chosen = hot.args[0] if isinstance(hot, ast.Call) and hot.args else None
    if not isinstance(hot, ast.Call) or not isinstance(chosen, ast.Call) or called_name(chosen) != "argmax":
        return
    scores, *more = chosen.args if is_function(source, chosen) else [receiver(chosen), *chosen.args]
    dim = next((source.text(a) for a in (*more, *[k.value for k in chosen.keywords if k.arg == "dim"])), "")
    if not isinstance(scores, (ast.Name, ast.Attribute)) or not dim:
        return
    cast = source.parents.get(hot)
    whole = source.parents.get(cast) if isinstance(cast, ast.Attribute) and cast.attr == "float" else None
    soft = f"{source.text(scores)}.softmax({dim})"
    kept = whole if isinstance(whole, ast.Call) else hot
    yield Changes(source).replace(kept, f"({source.text(kept)} + {soft} - {soft}.detach())")


def _use_probability(cut: AstSpan) -> Iterator[Changes]:
    """`(p > 0.5).float()` -> the probability `p`; a score is passed through sigmoid."""
    source, compared = cut.source, cut.node
    if not isinstance(compared, ast.Compare) or len(compared.ops) != 1:
        return
    left, right = compared.left, compared.comparators[0]
    if isinstance(compared.ops[0], (ast.Lt, ast.LtE)):
        left, right = right, left
    elif not isinstance(compared.ops[0], (ast.Gt, ast.GtE)):
        return
    changes = Changes(source)
    bound = binding_before(source, left, compared) if isinstance(left, ast.Name) else None
    is_share = called_name(left if bound is None or bound.value is None else bound.value) in ("sigmoid", "softmax")
    text = source.text(left) if is_share else f"{torch(changes)}.sigmoid({source.text(left)} - {source.atom(right)})"
    cast = source.parents.get(compared)
    whole = source.parents.get(cast) if isinstance(cast, ast.Attribute) and cast.attr in ("float", "double") else None
    yield changes.replace(whole if isinstance(whole, ast.Call) else compared, text)


def _cross_entropy(cut: AstSpan) -> Iterator[Changes]:
    """`(logits.argmax(1) != y).float().mean()`, an error rate -> `cross_entropy(logits, y)`."""
    source = cut.source
    argmax = next((n for n in ast.walk(cut.statement) if called_name(n) == "argmax"), None)
    if not isinstance(argmax, ast.Call):
        return
    logits = receiver(argmax) if not is_function(source, argmax) else argmax.args[0] if argmax.args else None
    guess = assigned(cut.statement)
    for node in ast.walk(source.scope(cut.node)):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Eq, ast.NotEq)) and logits is not None:
            sides = [node.left, node.comparators[0]]
            other = [s for s in sides if not (any(same_text(s, g) for g in guess) or argmax in ast.walk(s))]
            counted = source.statement(node)
            loss = _error_rate(source, node, counted) if isinstance(counted, ast.Assign) else None
            if len(other) == 1 and loss is not None and start(loss) >= start(cut.statement):
                changes = Changes(source)
                functional = torch(changes, "torch.nn.functional")
                yield changes.replace(loss.value, f"{functional}.cross_entropy({source.text(logits)}, {source.text(other[0])})")
                return


def _error_rate(source: SourceTree, compared: ast.Compare, counted: ast.Assign) -> ast.Assign | None:
    """The statement that computes the error rate: `(guess != y)...`, or the negated hit rate."""
    if isinstance(compared.ops[0], ast.NotEq) or _is_negated(counted.value, compared):
        return counted
    for statement in ast.walk(source.scope(counted)):
        if isinstance(statement, ast.Assign) and any(
                _is_negated(statement.value, n) for n in ast.walk(statement.value)
                if isinstance(n, ast.expr) and any(same_text(n, target) for target in assigned(counted))):
            return statement
    return None


def _is_negated(value: ast.expr, inner: ast.expr) -> bool:
    """True for `1 - x` and `-x` around `inner`."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub):
        return inner in ast.walk(value.right)
    return isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub) and inner in ast.walk(value)


def unwrap_parameter(context: FixContext) -> Iterator[Changes]:
    """`nn.Parameter(expression)` -> the expression itself."""
    cut = context.cause
    if cut is None:
        return
    for node in _outermost_first(cut):
        if isinstance(node, ast.Call) and called_name(node) == "Parameter" and node.args:
            changes = Changes(cut.source).replace(node, cut.source.text(node.args[0]))
            for target in assigned(cut.statement):
                if isinstance(target, ast.Attribute) and root_name(target) != "self":
                    # A module rejects a plain tensor under the name of a registered parameter.
                    changes.before(cut.statement, f"del {cut.source.text(target)}")
            yield changes
            return


def remove_requires_grad_patch(context: FixContext) -> Iterator[Changes]:
    """Delete `loss.requires_grad = True` and remove the cut that it hid."""
    if not context.causes:
        return
    patch, *others = context.causes
    cuts = [cut for cut in others if cut.source is patch.source]
    by_call = isinstance(patch.statement, ast.Expr) and called_name(patch.statement.value) == "requires_grad_"
    goes = by_call or isinstance(patch.statement, ast.Assign)
    # A value may be copied out at one location and made a tensor at another: first try to remove both.
    for some in ([cuts] if len(cuts) > 1 else []) + [[cut] for cut in cuts]:
        changes = Changes(patch.source)
        connected = [remove_cut(changes, cut) for cut in some]
        for mended in [changes] if all(connected) else [*_cross_entropy(some[0]), *_use_probability(some[0])]:
            if goes and all(patch.statement is not cut.statement for cut in some):
                mended.delete(patch.statement)
            yield mended


def remove_cut(changes: Changes, cut: AstSpan) -> bool:
    """Remove the cut at this span, whatever its kind."""
    makes = any(called_name(n) in COPYING_IN for n in ast.walk(cut.node))
    if makes and keep_tensors(changes, cut):
        return True
    if remove_detach(changes, cut):
        return True
    item = _with_item(cut)
    if item is not None:
        changes.replace(item, f"{torch(changes)}.enable_grad()")
        return True
    return keep_tensors(changes, cut)
