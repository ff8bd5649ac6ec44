"""A watch that remembers all that a question may be about: every read, every backward, every error, surprising or not."""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from whygrad.base.frames import user_frame
from whygrad.core.tensor import Tensor, grad_fn
from whygrad.why.answers import Answer, Explanation
from whygrad.why.causes import at
from whygrad.why.edits.case import spot
from whygrad.why.edits.passes import backward_call
from whygrad.why.edits.source import called, keyword, receiver
from whygrad.why.explain import explain, verdicts_on
from whygrad.why.flow import state
from whygrad.why.places import Place, place
from whygrad.why.question import Question
from whygrad.why.rules import settle
from whygrad.why.watch import Watch

# A loop may read a gradient for hours.
MOST_EVENTS = 2000


@dataclass
class Event:
    """Something that a question may be about: `what` is "grad", "requires_grad" or "error"."""

    what: str
    answer: Answer
    # "none", "zero", "nan", "value"; "true", "false"; "error".
    outcome: str
    # Other ways to write the tensor: `encoder.weight` for the `w` of `w.grad`.
    names: list[str] = field(default_factory=list)
    requires_grad: bool = True


@dataclass
class Pass:
    """A call of backward() or grad()."""

    place: Place | None
    create_graph: bool
    # The text of what it was called on, its shape if that is known, and whether a gradient was given.
    subject: str
    shape: tuple[int, ...] | None
    given: bool


class Listener(Watch):
    """`namespace` has the names of the program when it has ended."""

    def __init__(self, question: str, script: str, namespace: Callable[[], dict[str, Any]] | None = None) -> None:
        super().__init__()
        self.question = question
        self.script = script
        self.namespace = namespace or _main_namespace
        self.events: list[Event] = []
        self.passes: list[Pass] = []
        self._seen: set[Any] = set()

    def begin(self, backward: Any, *more: Any) -> None:
        super().begin(backward, *more)
        if len(self.passes) < MOST_EVENTS:
            self.passes.append(_pass(backward, user_frame(1)))

    def read(self, t: Tensor, what: str, value: Any, frame: FrameType) -> None:
        before = len(self.answers)
        super().read(t, what, value, frame)
        where = place((frame.f_code, frame.f_lasti))
        if where is None or what not in ("grad", "requires_grad") or len(self.events) >= MOST_EVENTS:
            return
        told = self.answers[-1].explanation if len(self.answers) > before else None
        if told is None:
            told = _about_grad(t, frame) if what == "grad" else _about_flag(t, bool(value))
        key = (where, id(t), told.category)
        if key in self._seen:
            return
        self._seen.add(key)
        outcome = ("true" if value else "false") if what == "requires_grad" else _outcome(value)
        self.events.append(Event(what, Answer(where, told), outcome, names_of(t, frame), t.requires_grad))

    def error(self, error: Exception, category: str, text: str, sites: tuple[Any, ...]) -> None:
        before = len(self.answers)
        super().error(error, category, text, sites)
        for answer in self.answers[before:]:
            self.events.append(Event("error", answer, "error"))

    def answer(self, error: str, line: int) -> dict[str, Any] | None:
        """The answer to the question, when the program has ended (with `error` in `line`, if it did not end well)."""
        from whygrad.why.ask import reply

        for event in self.events:
            # What was in doubt at the read is settled now.
            final = next((answer for answer in self.answers if answer.place == event.answer.place), None)
            if final is not None and event.answer.explanation.category != "ok":
                event.answer = final
        return reply(self, error, line)


def _outcome(grad: Any) -> str:
    return {"none": "none", "zero": "zero", "bad": "nan"}.get(state(grad), "value")


def _about_flag(t: Tensor, value: bool) -> Explanation:
    if not value:
        told = explain(t)
        return Explanation("requires_grad is False", told.category, told.text, told.fix, told.causes)
    node = grad_fn(t)
    if node is None:
        return Explanation("requires_grad is True", "ok", "It is a leaf that was asked to require grad.")
    site = getattr(node, "site", None)
    made = place(site)
    text = f"It was computed {at(site)} from tensors that require grad, so it does too."
    return Explanation("requires_grad is True", "ok", text, causes=[] if made is None else [made])


def names_of(t: Tensor, frame: FrameType) -> list[str]:
    """What the program calls a tensor where it reads it: variables, and parameters of models by their path."""
    from whygrad.nn import Module

    found = []
    for name, value in itertools.chain(frame.f_globals.items(), frame.f_locals.items()):
        if value is t:
            found.append(name)
        elif isinstance(value, Module) and not name.startswith("_"):
            found += [f"{name}.{path}" for path, p in value.named_parameters() if p is t]
    return found


def _pass(backward: Any, frame: FrameType) -> Pass:
    where = place((frame.f_code, frame.f_lasti))
    call = backward_call(spot(where))
    if call is None:
        return Pass(where, backward.create_graph, "", None, False)
    subject = call.args[0] if called(call) == "grad" and call.args else receiver(call)
    value = named_value(subject, {**frame.f_globals, **frame.f_locals}) if subject is not None else None
    given = bool(keyword(call, "gradient") or keyword(call, "grad_outputs") or (called(call) == "backward" and call.args))
    return Pass(where, backward.create_graph, ast.unparse(subject) if subject is not None else "",
                tuple(value.shape) if isinstance(value, Tensor) else None, given)


def named_value(node: ast.AST, namespace: dict[str, Any]) -> Any:
    """What `model.blocks[0].weight` is, without calling anything; None if it cannot be said."""
    try:
        if isinstance(node, ast.Name):
            return namespace.get(node.id)
        if isinstance(node, ast.Attribute):
            return getattr(named_value(node.value, namespace), node.attr)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Constant, ast.UnaryOp)):
            return named_value(node.value, namespace)[ast.literal_eval(node.slice)]
    except Exception:  # whatever the program's own objects raise
        return None
    return None


def _main_namespace() -> dict[str, Any]:
    return vars(sys.modules["__main__"])


def _about_grad(t: Any, frame: Any) -> Any:
    return settle(verdicts_on(Question(t, frame=frame))) or explain(t)
