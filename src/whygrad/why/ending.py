"""When the program has ended: what is wrong although nobody looked at a gradient."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Any

from whygrad.core.node import Node
from whygrad.why.answers import Explanation
from whygrad.why.causes import at
from whygrad.why.names import Owner, owner_of
from whygrad.why.places import Place, place, place_of_line, places
from whygrad.why.rules.altered import broadcast_words
from whygrad.why.rules.optimizing import why_never_reached, why_zero, with_uncalled
from whygrad.why.rules.untracked import copied, copy_feeding
from whygrad.why.rules.unwanted import not_held_words, unregistered_of
from whygrad.why.source import called, statements
from whygrad.why.usage import held_by


def what_nobody_read(watch: Any) -> Iterator[tuple[Place | None, Explanation]]:
    """Each with the line it is told for; nothing that was told before."""
    told = {answer.explanation.category for answer in watch.answers}
    for category, look in _LOOKS.items():
        if category not in told:
            yield from look(watch)


def never_cleared(watch: Any) -> Iterator[tuple[Place | None, Explanation]]:
    """A loop of backward and step without zero_grad."""
    for leaf in watch.reached:
        ledger = leaf._meta.watched
        if ledger.stepped_between() and ledger.held:
            site = ledger.deposits[-1].backward.site
            yield place(site), with_uncalled(Explanation(
                "gradients are never cleared", "grad-accumulated",
                f"{ledger.total} backward passes have added to the same .grad {at(site)}, with steps of the optimizer in "
                "between: backward() accumulates (it adds to what is there), so each step applies the gradients of all earlier "
                "ones again.",
                "call optimizer.zero_grad() before each backward().", places(site), symptom="wrong-value"), "zero_grad")
            return


def _broadcast(watch: Any) -> Iterator[tuple[Place | None, Explanation]]:
    for site, found in watch.broadcasts.items():
        yield place(site), broadcast_words(found)


def _modules() -> list[Any]:
    import gc

    from whygrad.nn.module import Module

    return [x for x in gc.get_objects() if isinstance(x, Module) and "_modules" in vars(x)]


def _not_held(watch: Any) -> Iterator[tuple[Place | None, Explanation]]:
    """Parameters that get gradients, belong to a model that an optimizer trains, and are not held by it."""
    orphans = [p for p in watch.reached
               if p.is_leaf and p._meta.watched_version >= p._version_counter[0] and not watch.holders(p)]
    if not orphans or not watch.step_log:
        return
    for optimizer in watch.optimizers():
        held = [p for group in optimizer.param_groups for p in group["params"]]
        held_ids = {id(p) for p in held}
        left_behind = any(p._meta is None or p._meta.reached_by is None for p in held)
        for module in _modules():
            own = {id(p) for p in module.parameters()}
            if not own & held_ids:
                continue
            hidden = unregistered_of(module)
            for p in orphans:
                # Not registered; or swapped in after the optimizer was made, which still holds the old one.
                if id(p) in hidden or (id(p) in own and left_behind):
                    path = hidden.get(id(p), "")
                    owner = Owner("model", module, f"model.{path}", False) if path else None
                    named = owner_of(p, vars(sys.modules["__main__"])) if owner is None else None
                    it = path or (named.path if named is not None else "")
                    made = [] if path else places(*[cause.site for cause in p._cause])
                    line = next((entry[2] for entry in reversed(watch.step_log) if entry[1]() is optimizer), None)
                    told = not_held_words(owner, [vars(optimizer)["_site"]], f"`{it}`" if it else "a parameter")
                    told.causes += made
                    yield place(line), told
                    return


def _never_reached(watch: Any) -> Iterator[tuple[Place | None, Explanation]]:
    """Parameters that an optimizer holds and no backward ever reached, because something cuts them off."""
    if watch.answers:
        return  # most likely the same was told of what the program did look at
    for _, reference, line in {id(entry[1]()): entry for entry in watch.step_log}.values():
        optimizer = reference()
        held = [] if optimizer is None else [p for group in optimizer.param_groups for p in group["params"]]
        for p in held:
            if p.requires_grad and (p._meta is None or p._meta.reached_by is None):
                told = why_never_reached(p)
                if told is not None:
                    told.headline, told.symptom = "a parameter that the optimizer holds never gets a gradient", "no-update"
                    yield place(line), told
                    return


def _never_moved(watch: Any) -> Iterator[tuple[Place | None, Explanation]]:
    """An optimizer stepped again and again, and every gradient it was given was exactly zero."""
    if watch.answers:
        return
    for _, reference, line in {id(entry[1]()): entry for entry in watch.step_log}.values():
        optimizer = reference()
        reached = [] if optimizer is None else [p for p in held_by(optimizer) if p in watch.reached]
        ledgers = [p._meta.watched for p in reached]
        if not reached or any(ledger.flowed or len(ledger.applied) < 2 for ledger in ledgers):
            continue
        told = why_zero(reached[-1])
        if told is not None:
            told.headline, told.symptom = "the parameters never change: every gradient is exactly zero", "no-update"
            yield place(line), told
            return


def _patched_root(watch: Any) -> Iterator[tuple[Place | None, Explanation]]:
    """backward() of a loss that was made to require grad by hand."""
    for trace in watch.latest_first():
        if trace.root is None or isinstance(trace.root, Node) or trace.root._meta is None:
            continue
        from whygrad.why.rules.cut_off import patched

        told = patched(trace.root)
        if told is not None:
            yield place(trace.backward.site), told
            return


def _number_differentiated(watch: Any) -> Iterator[tuple[Place | None, Explanation]]:
    """`total.backward()` of a plain number: Python refuses, and autograd never hears of it."""
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None) or ""
    ran = {here.line for leaf in watch.reached for site in leaf._meta.watched.sites if (here := place(site)) is not None}
    for statement in statements(file):
        call = statement.value if isinstance(statement, ast.Expr) else None
        loss = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
        if not isinstance(loss, ast.Name) or called(call) != "backward" or statement.lineno in ran:  # type: ignore[arg-type]
            continue
        number = vars(main).get(loss.id)
        here = place_of_line(file, statement.lineno)
        copy = copy_feeding(watch, here) if isinstance(number, (int, float)) and _was_refused(statement, file) else None
        if copy is not None:
            error = f"AttributeError: '{type(number).__name__}' object has no attribute 'backward'"
            yield here, copied(copy, error, "error", [])


def _was_refused(statement: ast.stmt, file: str) -> bool:
    """It stands in a `try`, or has ended the program: else it may as well never have run."""
    error = sys.exc_info()[1]
    ended = isinstance(error, AttributeError) and error.name == "backward"
    tries = [s for s in statements(file) if isinstance(s, ast.Try)]
    return ended or any(statement in ast.walk(inner) for s in tries for inner in s.body)


_LOOKS = {"grad-accumulated": never_cleared, "broadcast-loss": _broadcast, "not-in-optimizer": _not_held,
          "loss-requires-grad-patch": _patched_root, "zero-local-derivative": _never_moved,
          "value-copied-out": _number_differentiated, "": _never_reached}
