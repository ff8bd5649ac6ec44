"""Rules for `.grad` of a non-leaf tensor: only leaves keep it, and often the name once meant the leaf."""

from __future__ import annotations

import ast
import re
from typing import Any

from whygrad.why import program_text
from whygrad.why.answers import Explanation
from whygrad.why.causes import at
from whygrad.why.engine import end_of, is_tensor, node_of
from whygrad.why.gradient_flow import leaves_from, row_name, rows_with
from whygrad.why.locations import SourceLocation, locate, locate_all, location_of_line
from whygrad.why.module_owners import parameters_in, visible_variables
from whygrad.why.question import Question


def leaf_replaced(q: Question) -> Explanation | None:
    """`w = w - lr * w.grad`: the name was rebound from the leaf to the result of an operation on it."""
    node = end_of(node_of(q.t))
    made = locate(node.site)
    subject = program_text.subject_of(q.read)
    if made is None or not subject or q.t.retains_grad:
        return None
    statement = program_text.statement_of(made)
    if statement is None or not _comes_from_a_leaf(node, statement):
        return None
    found = rebound_explanation(made, subject)
    value = program_text.value_of(statement)
    if found is None and _is_whole(value, made) and _leaf_made_in(value) is not None:
        # It is read under another name: `for t in (w1, w2): t.grad`.
        answers = (rebound_explanation(made, name) for name in sorted(program_text.targets_of(statement)))
        found = next((answer for answer in answers if answer is not None), None)
    if found is None:
        # `params = [p - lr * p.grad for p in params]`
        names = program_text.rebound_names(statement)
        found = rebound_explanation(made, names[0]) if names and _is_collection(value) else None
    return found


def _is_whole(value: ast.expr | None, made: SourceLocation) -> bool:
    """True if the operation at a location is the whole value of the statement."""
    return value is not None and (value.lineno, value.col_offset, value.end_lineno, value.end_col_offset) == (
        made.line, made.column, made.end_line, made.end_column)


def _is_collection(value: ast.expr | None) -> bool:
    return isinstance(value, (ast.ListComp, ast.DictComp, ast.GeneratorExp, ast.Dict, ast.List, ast.Tuple)) or (
        isinstance(value, ast.Call) and program_text.called_name(value) in ("list", "tuple", "dict", "OrderedDict"))


# Rows of layers: the first argument is the input, the others are the layer's parameters.
_LAYERS = rows_with("layer")


def _comes_from_a_leaf(node: Any, statement: ast.stmt) -> bool:
    """True if the statement's value is computed from a leaf other than a layer's parameters."""
    pending, seen = [node], set()
    while pending:
        current = end_of(pending.pop())
        if is_tensor(current):
            return True
        if current is None or current in seen:
            continue
        seen.add(current)
        here = locate(current.site)
        if here is not None and statement.lineno <= here.line <= (statement.end_lineno or statement.lineno):
            pending += current.edges[:1] if row_name(current) in _LAYERS else current.edges
    return False


def rebound_explanation(made: SourceLocation, subject: str, headline: str = "", symptom: str = "none") -> Explanation | None:
    """The explanation if the statement at `made` rebinds the name `subject` to the result of an operation on its old value."""
    statement = program_text.statement_of(made)
    value = program_text.value_of(statement)
    if statement is None or value is None or not _names_subject(subject, program_text.targets_of(statement)):
        return None
    headline = headline or f"`{subject}.grad` is None: `{subject}` is not the leaf"
    fix = (f"keep the leaf and update it in place without recording: with torch.no_grad(): {subject} -= ... (and reset "
           f"{subject}.grad = None); or create it in its final form and then call requires_grad_().")
    if isinstance(statement, ast.AugAssign) or _names_subject(subject, program_text.dotted_names(value)):
        text = (f"The name `{subject}` no longer refers to the original leaf: {made.place}, `{_first_line(statement)}`, "
                "assigned it a new tensor, the result of an operation on the old one. Only leaves keep .grad; the leaf is "
                "another object now, and this one is not a leaf.")
        if "grad" in ast.unparse(value):
            text += (f" `{subject} = {subject} - lr * {subject}.grad` is often advised against the error about in-place changes "
                     "of a leaf, but it replaces the leaf instead of updating it.")
        return Explanation(headline, "leaf-replaced", text, fix, [made], symptom=symptom)
    creation = _leaf_made_in(value)
    if creation is None:
        return None
    return Explanation(
        headline, "leaf-replaced",
        f"The leaf was made in {made.place} by `{ast.unparse(creation)}`, but the name `{subject}` never referred to it: "
        f"`{made.expression}` is an operation on that leaf, and `{subject}` was assigned the result of it, a new tensor which is "
        "not a leaf. Only leaves keep .grad, and nothing else refers to this one.",
        "apply the operation first and ask for the gradient last: create the tensor in its final form (dtype, device, scale, "
        "shape) and then call .requires_grad_() on it.", [made], symptom=symptom)


def _names_subject(subject: str, names: set[str]) -> bool:
    """True if `subject` is among `names`; `m.w` may be assigned as `self.w`."""
    own = f"self.{subject.rpartition('.')[2]}" if "." in subject else subject
    return subject in names or own in names


def _leaf_made_in(value: ast.expr | None) -> ast.Call | None:
    """The call inside an expression that creates a leaf."""
    inside = ast.walk(value) if value is not None else ()
    return next((n for n in inside if isinstance(n, ast.Call) and n is not value and _makes_leaf(n)), None)


def _makes_leaf(call: ast.Call) -> bool:
    if program_text.called_name(call) in ("Parameter", "requires_grad_"):
        return True
    return any(k.arg == "requires_grad" and not (isinstance(k.value, ast.Constant) and k.value.value is False)
               for k in call.keywords)


def _first_line(statement: ast.stmt) -> str:
    return ast.unparse(statement).partition("\n")[0]


def without_retain_grad(q: Question) -> Explanation | None:
    """Only leaves keep `.grad`."""
    node = end_of(node_of(q.t))
    causes = own_assignment(q, locate_all(node.site)) + locate_all(node.site)
    text = (f"{q.label_start} is not a leaf but an intermediate (non-leaf) tensor: it was computed {at(node.site)} "
            f"({type(node).__name__}). backward() does pass a gradient through it, but only leaf tensors keep theirs in .grad, "
            "so that memory for intermediate results can be freed. Whether its inputs require grad has nothing to do with it.")
    if q.t.retains_grad:
        late = _retain_grad_line(q)
        text += (" retain_grad() was called, but after that backward() (or no backward has passed here since): it has to be "
                 "called before.")
        causes += [] if late is None else [late]
    subject = q.name or "tensor"
    behind = _parameter_behind(q)
    if behind:
        text += f" The module computes it anew from its parameter `{behind}`, and that is the leaf."
    instead = f"read {behind}.grad; or " if behind else ""
    return Explanation(
        "this tensor's .grad is None", "non-leaf-no-retain", text,
        f"{instead}call {subject}.retain_grad() before backward(), or use torch.autograd.grad(loss, {subject}).", causes)


def _parameter_behind(q: Question) -> str:
    """The parameter from which a module computes this tensor: `weight_orig` for a pruned `weight`; empty if none."""
    name = q.name.rpartition(".")[2]
    if not name.isidentifier() or "." not in q.name:
        return ""
    alike = re.compile(rf"\.{name}_\w+$|parametrizations\.{name}\.\w+$")
    found = [(path, p) for path, p in parameters_in(visible_variables(q.frame)) if alike.search(path)]
    leaves = leaves_from([node_of(q.t)]) if found else set()
    return next((path for path, p in found if p in leaves), "")


def own_assignment(q: Question, known: list[SourceLocation]) -> list[SourceLocation]:
    """The assignment of the name that was read, if it is on another line than the tensor's origin."""
    subject = program_text.subject_of(q.read)
    if q.read is None or not subject.isidentifier() or not known:
        return []
    statement = program_text.last_assignment(q.read.file, subject, q.read.line)
    if statement is None or known[0].file != q.read.file or statement.lineno <= known[0].line <= (statement.end_lineno or 0):
        return []
    return [location_of_line(q.read.file, statement.lineno)]


def _retain_grad_line(q: Question) -> SourceLocation | None:
    """The last line above the read that calls `<subject>.retain_grad()`."""
    subject = program_text.subject_of(q.read)
    if q.read is None or not subject:
        return None
    for line in range(q.read.line, 0, -1):
        here = location_of_line(q.read.file, line)
        if here.expression.startswith(f"{subject}.retain_grad("):
            return here
    return None
