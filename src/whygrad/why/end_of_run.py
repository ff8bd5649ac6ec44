"""Checks at the end of the run: problems that the program never noticed by reading a gradient."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Any

from whygrad.why.answers import Explanation
from whygrad.why.causes import at
from whygrad.why.engine import is_node, notes_of
from whygrad.why.locations import SourceLocation, locate, locate_all, location_of_line
from whygrad.why.program_text import called_name, statement_of, statements
from whygrad.why.rules.altered import broadcast_explanation
from whygrad.why.rules.cut_off import patched
from whygrad.why.rules.optimizing import mention_uncalled_method
from whygrad.why.rules.untracked import copied_out_explanation, copy_flowing_into


def unread_problems(watch: Any) -> Iterator[tuple[SourceLocation | None, Explanation]]:
    """(location, explanation) of each problem, without categories that were reported before."""
    reported = {answer.explanation.category for answer in watch.answers}
    for category, look in _CHECKS.items():
        if category not in reported:
            yield from look(watch)


def never_cleared(watch: Any) -> Iterator[tuple[SourceLocation | None, Explanation]]:
    """A training loop without zero_grad()."""
    for leaf in watch.reached:
        ledger = notes_of(leaf).watched
        if ledger.stepped_between() and any(deposit.applied for deposit in ledger.deposits[-2:]):
            site = ledger.deposits[-1].backward.site
            known = watch.audit.losses.get(site)  # counts those too that were not recorded
            count = max(ledger.total, 0 if known is None else known.values.count)
            yield locate(site), mention_uncalled_method(Explanation(
                "gradients are never cleared", "grad-accumulated",
                f"{count} backward passes have added to the same .grad {at(site)}, with steps of the optimizer in "
                "between: backward() accumulates (it adds to what is there), so each step applies the gradients of all earlier "
                "ones again.",
                "call optimizer.zero_grad() before each backward().", locate_all(site, *_clearing_and_stepping(watch, leaf)),
                symptom="wrong-value"), "zero_grad")
            return


def _clearing_and_stepping(watch: Any, leaf: Any) -> list[Any]:
    """Where the gradient was last cleared, if ever, and where the optimizer steps."""
    log = notes_of(leaf).grad_log[-1] if notes_of(leaf).grad_log else None
    cleared = [log[1]] if log is not None and log[0] == "cleared" else []
    return cleared + [step.site for step in watch.step_log[-1:]]


def _broadcast(watch: Any) -> Iterator[tuple[SourceLocation | None, Explanation]]:
    for site, found in watch.broadcasts.items():
        yield locate(site), broadcast_explanation(found)


def _patched_root(watch: Any) -> Iterator[tuple[SourceLocation | None, Explanation]]:
    """backward() of a loss on which the program set requires_grad itself."""
    for trace in watch.traces_latest_first():
        if trace.root is None or is_node(trace.root) or notes_of(trace.root) is None:
            continue

        explanation = patched(trace.root)
        if explanation is not None:
            yield locate(trace.backward.site), explanation
            return


def _backward_of_number(watch: Any) -> Iterator[tuple[SourceLocation | None, Explanation]]:
    """`total.backward()` of a plain number: Python raises AttributeError, of which autograd is not notified."""
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None) or ""
    ran = {here.line for leaf in watch.reached for site in notes_of(leaf).watched.sites if (here := locate(site)) is not None}
    for statement in statements(file):
        call = statement.value if isinstance(statement, ast.Expr) else None
        loss = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
        if not isinstance(loss, ast.Name) or called_name(call) != "backward" or statement.lineno in ran:  # type: ignore[arg-type]
            continue
        number = vars(main).get(loss.id)
        here = location_of_line(file, statement.lineno)
        copy = copy_flowing_into(watch, here) if isinstance(number, (int, float)) and _has_raised(statement, file) else None
        if copy is not None:
            error = f"AttributeError: '{type(number).__name__}' object has no attribute 'backward'"
            yield here, copied_out_explanation(copy, error, "error", [])


def _has_raised(statement: ast.stmt, file: str) -> bool:
    """True if the statement is in a `try` or ended the program; otherwise it may never have run."""
    error = sys.exc_info()[1]
    ended = isinstance(error, AttributeError) and error.name == "backward"
    tries = [s for s in statements(file) if isinstance(s, ast.Try)]
    return ended or any(statement in ast.walk(inner) for s in tries for inner in s.body)


def has_raised_at(read: SourceLocation) -> bool:
    """True if the program ended with an exception in the statement of a read: `assert p.grad is not None`."""
    error = sys.exc_info()[1]
    statement = statement_of(read)
    traceback = error.__traceback__ if isinstance(error, Exception) else None
    while traceback is not None and statement is not None:
        if (traceback.tb_frame.f_code.co_filename == read.file
                and statement.lineno <= traceback.tb_lineno <= (statement.end_lineno or statement.lineno)):
            return True
        traceback = traceback.tb_next
    return False


_CHECKS = {"grad-accumulated": never_cleared, "broadcast-loss": _broadcast,
           "loss-requires-grad-patch": _patched_root, "value-copied-out": _backward_of_number}
