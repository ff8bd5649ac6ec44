"""The watch of `whygrad ask`: records every read, backward call and error, surprising or not."""

from __future__ import annotations

import ast
import itertools
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from whygrad.base.frames import user_frame
from whygrad.why.answers import Answer, Explanation
from whygrad.why.causes import at
from whygrad.why.edits.backward_calls import backward_call
from whygrad.why.edits.fix_context import span_at
from whygrad.why.engine import Tensor, is_module, is_tensor, node_of
from whygrad.why.explain import explain, verdicts_on
from whygrad.why.gradient_flow import gradient_state
from whygrad.why.locations import SourceLocation, locate
from whygrad.why.program_text import called_name
from whygrad.why.question import Question
from whygrad.why.rules import first_confirmed
from whygrad.why.source_tree import keyword, receiver
from whygrad.why.watch import Watch

# Bounds memory: a loop may read gradients for hours.
MAX_EVENTS = 2000
# Frames of functions around a backward() whose variables are looked at.
MAX_FRAMES = 12


@dataclass
class Event:
    """A read or an error that a question may refer to: `what` is "grad", "requires_grad" or "error"."""

    what: str
    answer: Answer
    # "none", "zero", "nan", "value"; "true", "false"; "error".
    outcome: str
    # Other names of the tensor: `encoder.weight` for the `w` of `w.grad`.
    names: list[str] = field(default_factory=list)
    requires_grad: bool = True


@dataclass
class BackwardCall:
    """A call of backward() or autograd.grad()."""

    location: SourceLocation | None
    create_graph: bool
    # The tensor as written, its shape if known, and whether a gradient was passed.
    subject: str
    shape: tuple[int, ...] | None
    given: bool


class QuestionWatch(Watch):
    """`namespace` returns the program's global variables; it is called at the end of the run."""

    def __init__(self, question: str, script: str, namespace: Callable[[], dict[str, Any]] | None = None) -> None:
        super().__init__()
        self.question = question
        self.script = script
        self.namespace = namespace or (lambda: vars(sys.modules["__main__"]))
        self.events: list[Event] = []
        self.backward_calls: list[BackwardCall] = []
        self._seen: set[Any] = set()
        # Local variables of functions that call backward(): modules, and tensors that the question names.
        self._locals: dict[str, Any] = {}

    def begin(self, backward: Any, *more: Any) -> None:
        super().begin(backward, *more)
        frame: FrameType | None = user_frame(1)
        assert frame is not None
        if len(self.backward_calls) < MAX_EVENTS:
            self.backward_calls.append(_backward_call(backward, frame))
        named = set(re.findall(r"[A-Za-z_]\w*", self.question))
        for _ in range(MAX_FRAMES):
            if frame is None or frame.f_locals is frame.f_globals:
                break
            is_new = len(self.backward_calls) <= MAX_FRAMES
            if is_new or named & set(frame.f_code.co_varnames):
                self._locals.update((name, value) for name, value in frame.f_locals.items()
                                    if is_module(value) or (name in named and is_tensor(value)))
            frame = frame.f_back

    def scope(self) -> dict[str, Any]:
        """Variables of the program: globals, and what is known of locals."""
        return {**self._locals, **self.namespace()}

    def modules_in_variables(self) -> list[tuple[str, Any]]:
        return [(name, value) for name, value in self.scope().items() if is_module(value) and not name.startswith("_")]

    def read(self, t: Tensor, what: str, value: Any, frame: FrameType) -> None:
        before = len(self.answers)
        super().read(t, what, value, frame)
        where = locate((frame.f_code, frame.f_lasti))
        if where is None or what not in ("grad", "requires_grad") or len(self.events) >= MAX_EVENTS:
            return
        if len(self.answers) > before:
            explanation = self.answers[-1].explanation
        elif what == "grad":
            explanation = first_confirmed(verdicts_on(Question(t, frame=frame))) or explain(t)
        else:
            explanation = _about_flag(t, bool(value))
        key = (where, id(t), explanation.category)
        if key in self._seen:
            return
        self._seen.add(key)
        outcome = ("true" if value else "false") if what == "requires_grad" else _outcome(value)
        names = [*names_of(t, frame), *(self._own_name(t) if explanation.category != "ok" else [])]
        self.events.append(Event(what, Answer(where, explanation), outcome, names, t.requires_grad))

    def error(self, error: Exception, category: str, text: str, sites: tuple[Any, ...]) -> None:
        before = len(self.answers)
        super().error(error, category, text, sites)
        for answer in self.answers[before:]:
            self.events.append(Event("error", answer, "error"))

    def answer(self, error: str, line: int) -> dict[str, Any] | None:
        """The answer to the question at the end of the run; `error` and `line` if the program raised."""
        from whygrad.why.ask import reply

        for event in self.events:
            # A provisional answer may be confirmed by now.
            final = next((answer for answer in self.answers if answer.location == event.answer.location), None)
            if final is not None and event.answer.explanation.category != "ok":
                event.answer = final
        return reply(self, error, line)


def _outcome(grad: Any) -> str:
    return {"none": "none", "zero": "zero", "bad": "nan"}.get(gradient_state(grad), "value")


def _about_flag(t: Tensor, value: bool) -> Explanation:
    if not value:
        explanation = explain(t)
        return Explanation("requires_grad is False", explanation.category, explanation.text, explanation.fix, explanation.causes)
    node = node_of(t)
    if node is None:
        return Explanation("requires_grad is True", "ok", "It is a leaf that was asked to require grad.")
    site = getattr(node, "site", None)
    made = locate(site)
    text = f"It was computed {at(site)} from tensors that require grad, so it does too."
    return Explanation("requires_grad is True", "ok", text, causes=[] if made is None else [made])


def names_of(t: Tensor, frame: FrameType) -> list[str]:
    """Names of a tensor in a frame: variables, and paths in models."""
    found = []
    for name, value in itertools.chain(frame.f_globals.items(), frame.f_locals.items()):
        if value is t:
            found.append(name)
        elif is_module(value) and not name.startswith("_"):
            found += [f"{name}.{path}" for path, p in value.named_parameters() if p is t]
    return found


def _backward_call(backward: Any, frame: FrameType) -> BackwardCall:
    where = locate((frame.f_code, frame.f_lasti))
    call = backward_call(span_at(where))
    if call is None:
        return BackwardCall(where, backward.create_graph, "", None, False)
    subject = call.args[0] if called_name(call) == "grad" and call.args else receiver(call)
    value = named_value(subject, {**frame.f_globals, **frame.f_locals}) if subject is not None else None
    given = bool(keyword(call, "gradient") or keyword(call, "grad_outputs") or (called_name(call) == "backward" and call.args))
    return BackwardCall(where, backward.create_graph, ast.unparse(subject) if subject is not None else "",
                        tuple(value.shape) if is_tensor(value) else None, given)


def named_value(node: ast.AST, namespace: dict[str, Any]) -> Any:
    """The value of an expression such as `model.blocks[0].weight`, without calling functions; None if it has calls."""
    try:
        if isinstance(node, ast.Name):
            return namespace.get(node.id)
        if isinstance(node, ast.Attribute):
            return getattr(named_value(node.value, namespace), node.attr)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Constant, ast.UnaryOp)):
            return named_value(node.value, namespace)[ast.literal_eval(node.slice)]
    except Exception:  # __getattr__ and __getitem__ of the program's own objects
        return None
    return None
