"""Checks at the end of the run: problems that the program never noticed by reading a gradient."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Any

from whygrad.core.node import Node
from whygrad.nn.module import Module
from whygrad.why.answers import Explanation
from whygrad.why.causes import at
from whygrad.why.locations import SourceLocation, locate, locate_all, location_of_line
from whygrad.why.module_owners import Owner, owner_of
from whygrad.why.optimizer_usage import optimizer_parameters
from whygrad.why.program_text import called_name, statements
from whygrad.why.record import Site
from whygrad.why.rules.altered import broadcast_explanation
from whygrad.why.rules.cut_off import patched
from whygrad.why.rules.optimizing import mention_uncalled_method, why_never_reached, why_zero
from whygrad.why.rules.untracked import copied_out_explanation, copy_flowing_into
from whygrad.why.rules.unwanted import not_in_optimizer_explanation, unregistered_of
from whygrad.why.run_facts import was_reached


def unread_problems(watch: Any) -> Iterator[tuple[SourceLocation | None, Explanation]]:
    """(location, explanation) of each problem, without categories that were reported before."""
    reported = {answer.explanation.category for answer in watch.answers}
    for category, look in _CHECKS.items():
        if category not in reported:
            yield from look(watch)


def never_cleared(watch: Any) -> Iterator[tuple[SourceLocation | None, Explanation]]:
    """A training loop without zero_grad()."""
    for leaf in watch.reached:
        ledger = leaf._meta.watched
        if ledger.stepped_between() and ledger.held:
            site = ledger.deposits[-1].backward.site
            yield locate(site), mention_uncalled_method(Explanation(
                "gradients are never cleared", "grad-accumulated",
                f"{ledger.total} backward passes have added to the same .grad {at(site)}, with steps of the optimizer in "
                "between: backward() accumulates (it adds to what is there), so each step applies the gradients of all earlier "
                "ones again.",
                "call optimizer.zero_grad() before each backward().", locate_all(site), symptom="wrong-value"), "zero_grad")
            return


def _broadcast(watch: Any) -> Iterator[tuple[SourceLocation | None, Explanation]]:
    for site, found in watch.broadcasts.items():
        yield locate(site), broadcast_explanation(found)


def _modules() -> list[Any]:
    import gc

    return [x for x in gc.get_objects() if isinstance(x, Module) and "_modules" in vars(x)]


def _not_held(watch: Any) -> Iterator[tuple[SourceLocation | None, Explanation]]:
    """Parameters of a trained model that get gradients but are in no optimizer."""
    orphans = [p for p in watch.reached
               if p.is_leaf and p._meta.watched_version >= p._version_counter.value and not watch.holders(p)]
    if not orphans or not watch.step_log:
        return
    for optimizer in watch.optimizers():
        held = optimizer_parameters(optimizer)
        held_ids = {id(p) for p in held}
        left_behind = not all(map(was_reached, held))
        for module in _modules():
            own = {id(p) for p in module.parameters()}
            if not own & held_ids:
                continue
            hidden = unregistered_of(module)
            for p in orphans:
                # Not registered, or put into the model after the optimizer, which still holds the old parameter.
                if id(p) in hidden or (id(p) in own and left_behind):
                    path = hidden.get(id(p), "")
                    owner = Owner("model", module, f"model.{path}", False) if path else None
                    named = owner_of(p, vars(sys.modules["__main__"])) if owner is None else None
                    it = path or (named.path if named is not None else "")
                    made = [] if path else locate_all(*[cause.site for cause in p._cause])
                    site = next((step.site for step in reversed(watch.step_log) if step.optimizer() is optimizer), None)
                    explanation = not_in_optimizer_explanation(owner, [vars(optimizer)["_site"]],
                                                               f"`{it}`" if it else "a parameter")
                    explanation.causes += made
                    yield locate(site), explanation
                    return


def _last_steps(watch: Any) -> Iterator[tuple[Any, Site]]:
    """Each optimizer that has stepped and still exists, and the site of its last step."""
    for step in {id(step.optimizer()): step for step in watch.step_log}.values():
        optimizer = step.optimizer()
        if optimizer is not None:
            yield optimizer, step.site


def _never_reached(watch: Any) -> Iterator[tuple[SourceLocation | None, Explanation]]:
    """Parameters of an optimizer that no backward reached because they are cut off from the loss."""
    if watch.answers:
        return  # most likely the same cause was reported for a read
    for optimizer, site in _last_steps(watch):
        for p in optimizer_parameters(optimizer):
            if p.requires_grad and not was_reached(p):
                explanation = why_never_reached(p)
                if explanation is not None:
                    explanation.headline = "a parameter that the optimizer holds never gets a gradient"
                    explanation.symptom = "no-update"
                    yield locate(site), explanation
                    return


def _never_moved(watch: Any) -> Iterator[tuple[SourceLocation | None, Explanation]]:
    """An optimizer that stepped at least twice, always with gradients of zeros."""
    if watch.answers:
        return
    for optimizer, site in _last_steps(watch):
        reached = [p for p in optimizer_parameters(optimizer) if p in watch.reached]
        ledgers = [p._meta.watched for p in reached]
        if not reached or any(ledger.last_nonzero or len(ledger.applied_backwards) < 2 for ledger in ledgers):
            continue
        explanation = why_zero(reached[-1])
        if explanation is not None:
            explanation.headline, explanation.symptom = "the parameters never change: every gradient is exactly zero", "no-update"
            yield locate(site), explanation
            return


def _patched_root(watch: Any) -> Iterator[tuple[SourceLocation | None, Explanation]]:
    """backward() of a loss on which the program set requires_grad itself."""
    for trace in watch.traces_latest_first():
        if trace.root is None or isinstance(trace.root, Node) or trace.root._meta is None:
            continue

        explanation = patched(trace.root)
        if explanation is not None:
            yield locate(trace.backward.site), explanation
            return


def _backward_of_number(watch: Any) -> Iterator[tuple[SourceLocation | None, Explanation]]:
    """`total.backward()` of a plain number: Python raises AttributeError, of which autograd is not notified."""
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None) or ""
    ran = {here.line for leaf in watch.reached for site in leaf._meta.watched.sites if (here := locate(site)) is not None}
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


_CHECKS = {"grad-accumulated": never_cleared, "broadcast-loss": _broadcast, "not-in-optimizer": _not_held,
           "loss-requires-grad-patch": _patched_root, "zero-local-derivative": _never_moved,
           "value-copied-out": _backward_of_number, "": _never_reached}
