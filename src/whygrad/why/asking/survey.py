"""What a run was looked at for, and what was seen: told when no finding fits a question, or a parameter is in order."""

from __future__ import annotations

import math
from typing import Any

from whygrad.why.answers import Answer
from whygrad.why.asking.mentions import Known
from whygrad.why.audit.finding import count_of, listed
from whygrad.why.audit.subjects.movement import Movement
from whygrad.why.audit.values import same, sample
from whygrad.why.causes import at
from whygrad.why.run_facts import ledger_of

# Lines of each kind that are listed.
MAX_LISTED = 6


def survey(watch: Any, known: list[Known]) -> list[str]:
    """Lines about parameters, losses, optimizers and checks."""
    audit = watch.audit
    trained = [k for k in known if k.p.requires_grad]
    lines = []
    if known:
        reached = [k for k in trained if _deposits(k.p)]
        moved = [k for k in known if has_moved(watch, k.p)]
        lines.append(f"{count_of(len(known), 'parameter')}: {len(trained)} require grad, {len(reached)} got gradients, "
                     f"{len(moved)} changed.")
    for loss in list(audit.losses.values())[:MAX_LISTED]:
        values = loss.values
        finite = "always finite" if loss.nonfinite_round is None else f"not finite from step {loss.nonfinite_round + 1} on"
        lines.append(f"The loss that is differentiated {at(loss.site)}: {count_of(values.count, 'time')}, "
                     f"first {_number(values.first)}, last {_number(values.last)}, {finite}.")
    for record in list(audit.optimizers.values())[:MAX_LISTED]:
        rates = ", ".join(sorted({f"{float(group['lr']):g}" for group in record.groups if "lr" in group}))
        lines.append(f"{record.kind} made {at(record.made_at)}: {count_of(record.steps, 'step')}, "
                     f"{count_of(len(record.parameters), 'parameter')}" + (f", lr {rates} at the end." if rates else "."))
    if audit.losses and not audit.optimizers:
        lines.append("No optimizer.")
    seen = [(subject, check) for subject in audit.subjects for check in subject.checks]
    could = [check for subject, check in seen if _was_seen(subject, check)]
    if audit.optimizers:
        lines.append(f"{len(could)} of {len(seen)} checks had something to look at.")
    return lines


def told_otherwise(answers: list[Answer]) -> list[str]:
    """One line for each answer."""
    return [f"  {answer.location}: {answer.explanation.headline} [{answer.explanation.category}]"
            + (" (odd)" if answer.explanation.odd else "") for answer in answers[:MAX_LISTED]]


def in_order(watch: Any, parameters: list[Known]) -> str:
    """What is known of parameters that no finding is about."""
    names = listed([k.qualified or k.name for k in parameters])
    changed = [k for k in parameters if has_moved(watch, k.p)]
    deposits = [_deposits(k.p) for k in parameters]
    holders = {id(record): record for k in parameters for record in watch.audit.optimizers.values() if id(k.p) in record.held_ids}
    do = "does" if len(parameters) == 1 else "do"
    text = f"{names} {do} change" if len(changed) == len(parameters) else (
        f"{len(changed)} of {len(parameters)} parameters ({names}) change" if changed else f"{names} {do} not change")
    if any(deposits):
        counted = str(min(deposits)) if min(deposits) == max(deposits) else f"{min(deposits)} to {max(deposits)}"
        text += f": {counted} observed backward passes gave {'it' if len(parameters) == 1 else 'each'} a gradient"
    else:
        text += ": no observed backward pass gave a gradient"
    it = "it" if len(parameters) == 1 else "them"
    held = " and ".join(f"{record.kind} made {at(record.made_at)} ({count_of(record.steps, 'step')})"
                        for record in holders.values())
    return f"{text}, and {held or 'no optimizer'} {'hold' if len(holders) > 1 else 'holds'} {it}."


def has_moved(watch: Any, p: Any) -> bool:
    """True if the values are others than before the first step of the optimizer, or somebody has written them."""
    movement = next((subject for subject in watch.audit.subjects if isinstance(subject, Movement)), None)
    moves = None if movement is None else movement.moves.get(id(p))
    if moves is None or not moves.samples:
        return ledger_of(p) is not None and not watch.is_unchanged(p)
    return not same(moves.samples[0][1], sample(p))


def _deposits(p: Any) -> int:
    ledger = ledger_of(p)
    return 0 if ledger is None else ledger.deposit_count


def _was_seen(subject: Any, check: str) -> bool:
    try:
        return bool(subject.was_seen(check))
    except Exception:  # a check that was never prepared has seen nothing
        return False


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else str(value)
