"""Reads of `requires_grad` and `grad_fn`, and reads of `.grad` that a program makes knowingly."""

from __future__ import annotations

import ast
import re
from typing import Any

from whygrad.core.node import row_node
from whygrad.core.tensor import Tensor, grad_fn
from whygrad.functional.parameter import Parameter
from whygrad.why.answers import Explanation
from whygrad.why.causes import at
from whygrad.why.flow import row_name
from whygrad.why.places import Place, place, place_of_line, places
from whygrad.why.question import Question
from whygrad.why.rules import Doubtful, Verdict
from whygrad.why.rules.untracked import copied, copy_feeding, no_history
from whygrad.why.rules.unwanted import mode_not_entered
from whygrad.why.source import (
    called,
    expects_none,
    expression,
    inside_no_grad,
    is_asserted,
    is_guard,
    last_assignment,
    statement_at,
    statements,
    subject_of,
    thaws,
    value_of,
)

UNTRACKED = "requires_grad is False, although it was computed from tensors that require grad"
# Functions whose results nobody expects to be differentiable.
_EVALUATING = re.compile(r"eval|valid|test|predict|infer|sampl|metric|accura|report|log|generate", re.IGNORECASE)


def needs_no_answer(question: Question, verdict: Verdict) -> bool:
    """True if the program visibly expects what it finds."""
    told = verdict if isinstance(verdict, Explanation) else verdict.explanation
    if told.category == "grad-cleared" and told.symptom == "zero":
        return _was_used_by_hand(question, told)
    if told.symptom != "none":
        return False
    read = question.read
    # An intermediate has no gradient whatever is asked before.
    if (is_guard(read) and told.category not in ("non-leaf-no-retain", "leaf-replaced")) or is_asserted(read):
        return True
    if told.category == "returned-not-stored" and expects_none(read) and not next(iter(question.watch.latest_first())).stores:
        return True
    if told.category == "grad-cleared" and expects_none(read) and _was_applied(question):
        return True
    if told.category == "frozen" and (_optimises_an_input(question) or _has_been_trained(question)):
        return True
    # `all(p.grad is None for p in target.parameters())`: nobody trains these anyway.
    if not question.watch.optimizers() or question.watch.holders(question.t) or not question.t.is_leaf:
        return False
    return expects_none(read) or (told.category in ("frozen", "grad-mode-off", "detach") and _left_alone(question))


def _was_used_by_hand(q: Question, told: Explanation) -> bool:
    """`w -= lr * w.grad`, then `w.grad.zero_()`: who writes both knows what is left."""
    latest = q.ledger.deposits[-1] if q.ledger is not None and q.ledger.deposits else None
    by_hand = any(cause.expression.endswith("grad.zero_()") for cause in told.causes)
    return by_hand and latest is not None and not latest.applied and latest.version < q.t._version_counter[0]


def _was_applied(q: Question) -> bool:
    """A step used the gradient before it was cleared."""
    return q.ledger is not None and bool(q.ledger.deposits) and q.ledger.deposits[-1].applied


def _optimises_an_input(q: Question) -> bool:
    """The model is a constant as a whole, and the gradient is wanted of something else: an image, a latent code."""
    latest = next((trace for trace in q.watch.latest_first() if trace.stores), None)
    leaves = [] if latest is None else list(latest.leaves)
    if q.owner is None or not leaves or any(isinstance(leaf, Parameter) for leaf in leaves):
        return False
    return q.watch.module_attribute(q.t) is None and not any(p.requires_grad for p in q.owner.module.parameters())


def _has_been_trained(q: Question) -> bool:
    """It was trained, then frozen, and now something else is: a first and a second stage."""
    latest = next((trace for trace in q.watch.latest_first() if trace.stores), None)
    if q.ledger is None or not q.ledger.applied or latest is None or q.read is None or thaws(q.read.file):
        return False
    return q.watch.module_attribute(q.t) is None and any(q.watch.holders(leaf) for leaf in latest.leaves)


def _left_alone(q: Question) -> bool:
    """A parameter of a model that is a constant by intention: it is frozen or kept out of the graph, and nothing trains it."""
    if q.owner is None or not q.owner.registered or q.watch.module_attribute(q.t) is not None:
        return False
    latest = next((trace for trace in q.watch.latest_first() if trace.stores), None)
    if latest is None or not any(q.watch.holders(leaf) for leaf in latest.leaves):
        return False  # that backward trains nothing else either
    if not any(q.watch.holders(p) for p in q.owner.module.parameters()):
        return True
    if q.t.requires_grad or q.read is None:
        return False
    # Part of a model whose other part is trained: on purpose, unless the program also thaws, and asks for just this one.
    return isinstance(expression(subject_of(q.read)), ast.Name) or not thaws(q.read.file)


def not_tracked(q: Question) -> list[Verdict]:
    """`requires_grad` is False (or `grad_fn` None) although what it was computed from requires grad."""
    if (q.t._meta is not None and q.t._meta.switched_at is not None) or q.t.requires_grad:
        return []
    cause = next((c for c in q.t._cause if c.kind not in ("created", "frozen")), None)
    if cause is None:
        return _made_of_copies(q)
    if cause.kind not in ("detach", "grad-mode-off"):
        answer = no_history(q, UNTRACKED, "not-tracked")
        if cause.kind == "no-create-graph":
            return [_unless_only_looked_at(q, answer, cause)]
        return [_unless_trained(q, answer, cause.behind) if cause.kind == "non-differentiable-op" else answer]
    sight = _in_plain_sight(q, cause)
    if sight == "whole":
        return []
    answer = no_history(q, UNTRACKED, "not-tracked")
    if sight == "part":
        # A target is computed like this; a program that trains nothing has none.
        return [] if q.watch.live else [Doubtful(answer, lambda: not q.watch.latest_first())]
    return [answer] if not _is_scoped(cause) else [_unless_trained(q, answer, cause.behind)]


def _unless_only_looked_at(q: Question, answer: Explanation, cause: Any) -> Verdict:
    """The norm of a gradient that an optimizer applies is a number to look at, as long as it enters no loss."""
    made = place(cause.site)
    if q.watch.live or made is None or "backward(" not in made.expression or not q.watch.count_optimizers():
        return answer

    def is_part_of_a_loss() -> bool:
        return any(cause in causes for trace in q.watch.latest_first() for step in trace.steps for causes in step.node.cuts or ())

    return Doubtful(answer, lambda: not q.watch.step_log or is_part_of_a_loss())


def _made_of_copies(q: Question) -> list[Verdict]:
    """torch.tensor(a.tolist()): the numbers of a tensor that requires grad, in a new one."""
    for cause in q.t._cause:
        made = place(cause.site)
        copy = copy_feeding(q.watch, made) if cause.kind == "created" else None
        if copy is not None and made is not None:
            return [_unless_trained(q, copied(copy, UNTRACKED, "not-tracked", [made]), copy.behind)]
    return []


def _unless_trained(q: Question, answer: Explanation, references: tuple[Any, ...]) -> Verdict:
    """What is trained all the same is detached, evaluated without gradients, or copied, on purpose."""
    if q.watch.live:
        return answer
    behind = [reference for reference in references if isinstance(reference(), Tensor)]
    # A function that returns x.detach() and keeps nothing of x knows what it does.
    made = answer.causes[0] if answer.causes else None
    is_returned = made is not None and isinstance(statement_at(made.file, made.line), ast.Return)

    def cut_off_for_good() -> bool:
        leaves = [leaf for leaf in [reference() for reference in behind] if leaf is not None]
        if not leaves:
            return not is_returned
        return any(leaf._meta is None or leaf._meta.reached_by is None for leaf in leaves)

    return Doubtful(answer, cut_off_for_good)


def _is_scoped(cause: Any) -> bool:
    """Recording was switched off for a block or a function, and not by a call that leaves it off."""
    switched = place(cause.origin)
    return switched is None or switched.source_line.strip().startswith(("with ", "@", "async with"))


def _in_plain_sight(q: Question, cause: Any) -> str:
    """"whole": the tensor is the very result of a detach() or of a no_grad block; "part": its expression has one inside."""
    made, read = place(cause.site), q.read
    if made is None or read is None:
        return ""
    if inside_no_grad(read.file, read.line):
        return "whole"
    subject = subject_of(read)
    statement = last_assignment(read.file, subject, read.line) if subject else None
    value = value_of(statement) if statement is not None else expression(subject)
    if cause.kind == "grad-mode-off" and isinstance(value, ast.Call) and _EVALUATING.search(called(value)):
        return "whole"
    if statement is None:
        return "whole" if cause.kind == "detach" and made.line == read.line else ""
    if cause.kind == "grad-mode-off":
        return "whole" if inside_no_grad(read.file, statement.lineno) else ""
    if value is None or not any(word in ast.unparse(value) for word in ("detach", ".data", "Variable")):
        return ""
    return "part" if isinstance(value, (ast.BinOp, ast.UnaryOp)) else "whole"


def still_tracked(q: Question) -> list[Verdict]:
    """`requires_grad` is True: of a sum of losses that were differentiated long ago, it keeps all their graphs."""
    node = row_node(grad_fn(q.t))[0]
    in_vain = mode_not_entered(q) if node is not None else None
    if in_vain is not None:
        return [in_vain]
    if node is None or not len(q.watch.roots):
        return []
    past = _past_losses(q, node)
    site = node.site
    if len(past) > 1:
        collected = _collected_at(place(site))
        return [_keeps_history(q, ([] if collected is None else [collected]) + places(site),
                               f"It was added up {at(site)} from losses that were differentiated already")]
    if node in q.watch.roots and _later_one(q, node):
        kept = _collected_at(q.read)
        if kept is not None:
            return [_keeps_history(q, [kept], f"It was kept in line {kept.line}, `{kept.expression}`, after it was "
                                              "differentiated")]
    return []


def _past_losses(q: Question, node: Any) -> set[Any]:
    """Roots of earlier backwards that a value was added up from."""
    found: set[Any] = set()
    pending, seen = [node], {node}
    while pending and len(seen) < 10_000:
        current = pending.pop()
        if current in q.watch.roots:
            found.add(current)
            continue
        if row_name(current) not in ("add", "sub", "mul", "div", "mean", "sum", "stack", "cat", "lerp"):
            continue
        for edge in current.edges:
            end = row_node(edge)[0]
            if end is not None and not isinstance(end, Tensor) and end not in seen:
                seen.add(end)
                pending.append(end)
    return found


def _later_one(q: Question, node: Any) -> bool:
    """The same line has differentiated another loss since."""
    site = q.watch.roots[node]
    return any(other is not node and q.watch.roots[other] == site and other.seq > node.seq for other in list(q.watch.roots))


def _collected_at(read: Place | None) -> Place | None:
    """`losses.append(loss)`: where the list that is read at a place is filled."""
    match = re.match(r"\w+", subject_of(read)) if read is not None else None
    name = match.group() if match is not None else ""
    if read is None:
        return None
    iterated = statement_at(read.file, read.line)
    names = {name} | {n.id for n in ast.walk(iterated) if isinstance(n, ast.Name)} if iterated is not None else {name}
    for statement in statements(read.file):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if (isinstance(call, ast.Call) and called(call) == "append" and isinstance(call.func, ast.Attribute)
                and ast.unparse(call.func.value) in names):
            return place_of_line(read.file, statement.lineno)
    return None


def _keeps_history(q: Question, causes: list[Place], how: str) -> Explanation:
    return Explanation(
        "this value still carries its history", "missing-detach",
        f"{how}, and it was not detached: it keeps the graph of every one of them alive, so memory grows with each step, and it "
        "requires grad although it is only a record.",
        "add up plain numbers: total += loss.item(), or loss.detach().", causes, symptom="unwanted")
