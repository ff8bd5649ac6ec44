"""Rules for reads of `requires_grad` and `grad_fn`, and reads of `.grad` whose outcome the program visibly expects."""

from __future__ import annotations

import ast
import re
from typing import Any

from whygrad.why import program_text
from whygrad.why.answers import Explanation
from whygrad.why.causes import at
from whygrad.why.engine import causes_of, end_of, is_parameter, is_tensor, node_of, notes_of, version_of
from whygrad.why.gradient_flow import ARITHMETIC, TOTALS, row_name
from whygrad.why.locations import SourceLocation, expression_at, locate, locate_all, location_of_line
from whygrad.why.question import Question
from whygrad.why.rules import Provisional, Verdict, explanation_of
from whygrad.why.rules.untracked import copied_out_explanation, copy_flowing_into, no_history
from whygrad.why.rules.unwanted import mode_not_entered
from whygrad.why.run_facts import was_reached

UNTRACKED = "requires_grad is False, although it was computed from tensors that require grad"
# Names of functions whose results are not expected to be differentiable.
_EVALUATING = re.compile(r"eval|valid|test|predict|infer|sampl|metric|accura|report|log|generate", re.IGNORECASE)


def needs_no_answer(question: Question, verdict: Verdict) -> bool:
    """True if the program visibly expects the outcome of the read."""
    explanation = explanation_of(verdict)
    if explanation.category == "grad-cleared" and explanation.symptom == "zero":
        return _was_used_by_hand(question, explanation)
    read = question.read
    if explanation.symptom in ("zero", "partly-zero"):
        return program_text.expects_none(read, ast.IsNot)  # only whether there is one
    if explanation.symptom != "none":
        return False
    # A guard does not excuse an intermediate tensor: its .grad is always None.
    if program_text.is_asserted(read) or (
            program_text.is_guard(read) and explanation.category not in ("non-leaf-no-retain", "leaf-replaced")):
        return True
    if (explanation.category == "returned-not-stored" and program_text.expects_none(read)
            and not next(iter(question.watch.traces_latest_first())).stores):
        return True
    if explanation.category == "grad-cleared" and program_text.expects_none(read) and _was_applied(question):
        return True
    if explanation.category == "frozen" and (_optimizes_an_input(question) or _was_trained_before(question)):
        return True
    # `all(p.grad is None for p in target.parameters())`: no optimizer trains these.
    if not question.watch.optimizers() or question.watch.holders(question.t) or not question.t.is_leaf:
        return False
    return program_text.expects_none(read) or (explanation.category in ("frozen", "grad-mode-off", "detach")
                                               and _is_untrained_on_purpose(question))


def _was_used_by_hand(q: Question, explanation: Explanation) -> bool:
    """True after `w -= lr * w.grad` and `w.grad.zero_()`: the program applied and cleared the gradient itself."""
    latest = q.ledger.deposits[-1] if q.ledger is not None and q.ledger.deposits else None
    by_hand = any(cause.expression.endswith("grad.zero_()") for cause in explanation.causes)
    return by_hand and latest is not None and not latest.applied and latest.version < version_of(q.t).value


def _was_applied(q: Question) -> bool:
    """True if a step applied the gradient before it was cleared."""
    return q.ledger is not None and bool(q.ledger.deposits) and q.ledger.deposits[-1].applied


def _optimizes_an_input(q: Question) -> bool:
    """True if the whole model is frozen and the last backward reached only plain tensors: an image, a latent code."""
    latest = q.storing_trace()
    leaves = [] if latest is None else list(latest.leaves)
    if q.owner is None or not leaves or any(is_parameter(leaf) for leaf in leaves):
        return False
    return q.watch.module_flag_set(q.t) is None and not any(p.requires_grad for p in q.owner.module.parameters())


def _was_trained_before(q: Question) -> bool:
    """True for training in stages: it was trained, then frozen, and now another parameter is trained."""
    latest = q.storing_trace()
    if q.ledger is None or not q.ledger.applied_backwards or latest is None:
        return False
    if q.read is None or program_text.switches_requires_grad_on(q.read.file):
        return False
    return q.watch.module_flag_set(q.t) is None and any(q.watch.holders(leaf) for leaf in latest.leaves)


def _is_untrained_on_purpose(q: Question) -> bool:
    """True for a parameter of a model that is not trained on purpose: frozen or kept out of the graph, and in no optimizer."""
    if q.owner is None or not q.owner.registered or q.watch.module_flag_set(q.t) is not None:
        return False
    latest = q.storing_trace()
    if latest is None or not any(q.watch.holders(leaf) for leaf in latest.leaves):
        return False  # the backward trains no other parameter either
    if not any(q.watch.holders(p) for p in q.owner.module.parameters()):
        return True
    if q.t.requires_grad or q.read is None:
        return False
    # Other parameters of the model are trained. It is frozen on purpose, unless the program also sets requires_grad
    # somewhere and reads this one parameter.
    return not program_text.switches_requires_grad_on(q.read.file) or isinstance(
        program_text.parse_expression(program_text.subject_of(q.read)), ast.Name)


def not_tracked(q: Question) -> list[Verdict]:
    """`requires_grad` is False (or `grad_fn` None) although what it was computed from requires grad."""
    if (notes_of(q.t).switched_at is not None) or q.t.requires_grad:
        return []
    cause = next((c for c in causes_of(q.t) if c.kind not in ("created", "frozen")), None)
    if cause is None:
        return _made_of_copies(q)
    if cause.kind not in ("detach", "grad-mode-off"):
        answer = no_history(q, UNTRACKED, "not-tracked")
        if cause.kind == "no-create-graph":
            return [_unless_monitoring(q, answer, cause)]
        return [_unless_trained(q, answer, cause.behind) if cause.kind == "non-differentiable-op" else answer]
    sight = _visible_cut(q, cause)
    if sight == "whole":
        return []
    answer = no_history(q, UNTRACKED, "not-tracked")
    if sight == "part":
        # Targets are computed like this, but a program without a backward has no targets.
        return [] if q.watch.live else [Provisional(answer, lambda: not q.watch.traces_latest_first())]
    return [answer] if not _is_scoped(cause) else [_unless_trained(q, answer, cause.behind)]


def _unless_monitoring(q: Question, answer: Explanation, cause: Any) -> Verdict:
    """The norm of an applied gradient is for monitoring: a problem only if it is used in a loss, or nothing steps."""
    if q.watch.live or "backward(" not in expression_at(cause.site) or not q.watch.count_optimizers():
        return answer

    def is_part_of_a_loss() -> bool:
        nodes = [step.node for trace in q.watch.traces_latest_first() for step in trace.steps]
        return any(cause in causes for node in nodes for causes in node.cuts or ())

    return Provisional(answer, lambda: not q.watch.step_log or is_part_of_a_loss())


def _made_of_copies(q: Question) -> list[Verdict]:
    """torch.tensor(a.tolist()): a new tensor made of the values of one that requires grad."""
    for cause in causes_of(q.t):
        made = locate(cause.site)
        copy = copy_flowing_into(q.watch, made) if cause.kind == "created" else None
        if copy is not None and made is not None:
            return [_unless_trained(q, copied_out_explanation(copy, UNTRACKED, "not-tracked", [made]), copy.behind)]
    return []


def _unless_trained(q: Question, answer: Explanation, references: tuple[Any, ...]) -> Verdict:
    """If the leaves behind a cut are reached by a backward all the same, the cut is on purpose."""
    if q.watch.live:
        return answer
    behind = [reference for reference in references if is_tensor(reference())]
    # A function that returns x.detach() detaches on purpose.
    made = answer.causes[0] if answer.causes else None
    is_returned = made is not None and isinstance(program_text.statement_at(made.file, made.line), ast.Return)

    def cut_off_for_good() -> bool:
        leaves = [leaf for leaf in [reference() for reference in behind] if leaf is not None]
        if not leaves:
            return not is_returned
        return not all(map(was_reached, leaves))

    return Provisional(answer, cut_off_for_good)


def _is_scoped(cause: Any) -> bool:
    """True if recording was switched off by a block or a decorator, not by a call that leaves it off."""
    switched = locate(cause.origin)
    return switched is None or switched.source_line.strip().startswith(("with ", "@", "async with"))


def _visible_cut(q: Question, cause: Any) -> str:
    """"whole" if the value that was read visibly is the result of detach() or of a no_grad block; "part" if an operand is."""
    made, read = locate(cause.site), q.read
    if made is None or read is None:
        return ""
    if program_text.inside_no_grad(read.file, read.line):
        return "whole"
    subject = program_text.subject_of(read)
    statement = program_text.last_assignment(read.file, subject, read.line) if subject else None
    value = program_text.value_of(statement) if statement is not None else program_text.parse_expression(subject)
    if cause.kind == "grad-mode-off" and isinstance(value, ast.Call) and _EVALUATING.search(program_text.called_name(value)):
        return "whole"
    if statement is None:
        return "whole" if cause.kind == "detach" and made.line == read.line else ""
    if cause.kind == "grad-mode-off":
        return "whole" if program_text.inside_no_grad(read.file, statement.lineno) else ""
    if value is None or not any(word in ast.unparse(value) for word in ("detach", ".data", "Variable")):
        return ""
    return "part" if isinstance(value, (ast.BinOp, ast.UnaryOp)) else "whole"


def still_tracked(q: Question) -> list[Verdict]:
    """`requires_grad` is True for a sum or list of past losses, which keeps all their graphs alive."""
    node = end_of(node_of(q.t))
    in_vain = mode_not_entered(q) if node is not None else None
    if in_vain is not None:
        return [in_vain]
    if node is None or not len(q.watch.roots):
        return []
    past = _past_losses(q, node)
    site = node.site
    if len(past) > 1:
        collected = _append_location(locate(site))
        return [_keeps_history(q, ([] if collected is None else [collected]) + locate_all(site),
                               f"It was added up {at(site)} from losses that were differentiated already")]
    if node in q.watch.roots and _has_later_root(q, node):
        kept = _append_location(q.read)
        if kept is not None:
            return [_keeps_history(q, [kept], f"It was kept in {kept.place}, `{kept.expression}`, after it was "
                                              "differentiated")]
    return []


def _past_losses(q: Question, node: Any) -> set[Any]:
    """Roots of earlier backward passes that a value was summed from."""
    found: set[Any] = set()
    pending, seen = [node], {node}
    while pending and len(seen) < 10_000:
        current = pending.pop()
        if current in q.watch.roots:
            found.add(current)
            continue
        if row_name(current) not in ARITHMETIC | TOTALS | {"stack", "cat", "lerp"}:
            continue
        for edge in current.edges:
            end = end_of(edge)
            if end is not None and not is_tensor(end) and end not in seen:
                seen.add(end)
                pending.append(end)
    return found


def _has_later_root(q: Question, node: Any) -> bool:
    """True if the same line has differentiated another loss since."""
    site = q.watch.roots[node]
    return any(other is not node and q.watch.roots[other] == site and other.seq > node.seq for other in list(q.watch.roots))


def _append_location(read: SourceLocation | None) -> SourceLocation | None:
    """The line `losses.append(loss)` that fills the list which is read at a location."""
    match = re.match(r"\w+", program_text.subject_of(read)) if read is not None else None
    name = match.group() if match is not None else ""
    if read is None:
        return None
    iterated = program_text.statement_at(read.file, read.line)
    names = {name} | {n.id for n in ast.walk(iterated) if isinstance(n, ast.Name)} if iterated is not None else {name}
    for statement in program_text.statements(read.file):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if (isinstance(call, ast.Call) and program_text.called_name(call) == "append" and isinstance(call.func, ast.Attribute)
                and ast.unparse(call.func.value) in names):
            return location_of_line(read.file, statement.lineno)
    return None


def _keeps_history(q: Question, causes: list[SourceLocation], how: str) -> Explanation:
    return Explanation(
        "this value still carries its history", "missing-detach",
        f"{how}, and it was not detached: it keeps the graph of every one of them alive, so memory grows with each step, and it "
        "requires grad although it is only a record.",
        "add up plain numbers: total += loss.item(), or loss.detach().", causes, symptom="unwanted")
