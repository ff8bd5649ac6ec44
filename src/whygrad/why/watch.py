"""The watch of `whygrad run`: sees what the program does and collects an answer for each surprising outcome.

It listens through three doors: the properties of Tensor that a program reads (`grad`, `requires_grad`), the errors that
autograd raises, and the engine's walk. Nothing of it is there unless a program is run under it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from whygrad._tensor import Tensor
from whygrad.autograd import engine
from whygrad.why import record
from whygrad.why.answers import Answer, Explanation
from whygrad.why.explain import explain, no_history, places
from whygrad.why.flow import Step, state
from whygrad.why.places import place
from whygrad.why.rules import is_guard, refine

_whygrad_internal_ = True

# How many backward passes back the flow of gradients is remembered.
REMEMBERED = 4


class Deposit:
    """One backward's contribution to a leaf, and the leaf's version at that moment."""

    __slots__ = ("backward", "reads", "version")

    def __init__(self, backward: Any, version: int) -> None:
        self.backward = backward
        self.version = version
        # How often the program has looked at the gradient since.
        self.reads = 0


class GradFacts:
    """Who has written a leaf's gradient since it was last cleared."""

    __slots__ = ("deposits",)

    def __init__(self) -> None:
        self.deposits: list[Deposit] = []

    def piled_up(self) -> bool:
        """True if a further backward added to a gradient that had been used: read, or applied to the leaf.

        A gradient that another loss adds to after a step (a discriminator's, while the generator learns) is none.
        """
        return any(earlier.reads or (earlier.version != later.version and earlier.backward.site == later.backward.site)
                   for earlier, later in zip(self.deposits, self.deposits[1:], strict=False))


class Watch:
    """`on_answer` is called with each answer when it is found."""

    def __init__(self, on_answer: Callable[[Answer], None] | None = None) -> None:
        self.answers: list[Answer] = []
        self._on_answer = on_answer
        self._undo: list[Callable[[], None]] = []
        self._told: set[Any] = set()
        self._steps: dict[int, list[Step]] = {}
        self._stepped: set[int] = set()

    def start(self) -> None:
        record.watching = self
        record.reach = 1_000_000
        for name in ("grad", "requires_grad"):
            self._watch_property(name)
        from whygrad.optim import optimizer

        after = optimizer.register_optimizer_step_post_hook(lambda stepped, args, kwargs: self._stepped.add(id(stepped)))
        before = optimizer.register_optimizer_step_pre_hook(lambda stepping, args, kwargs: self._before_step(stepping))
        self._undo += [after.remove, before.remove]

    def stop(self) -> list[Answer]:
        """Stop watching, and give the answers in the order they were found."""
        record.watching = None
        record.reach = 32
        for undo in self._undo:
            undo()
        return self.answers

    def _watch_property(self, name: str) -> None:
        plain: property = Tensor.__dict__[name]
        assert plain.fget is not None
        get = plain.fget

        def watched(t: Tensor) -> Any:
            value = get(t)
            frame = sys._getframe(1)
            if "_whygrad_internal_" not in frame.f_globals:
                self.read(t, name, value, frame)
            return value

        setattr(Tensor, name, property(watched, plain.fset, plain.fdel, plain.__doc__))
        self._undo.append(lambda: setattr(Tensor, name, plain))

    def has_stepped(self, optimizer: Any) -> bool:
        return id(optimizer) in self._stepped

    def _before_step(self, optimizer: Any) -> None:
        """A step that has nothing to apply, although backward did its work."""
        held = [p for group in optimizer.param_groups for p in group["params"]]
        if not held or any(p._grad is not None for p in held):
            return
        cleared = [p for p in held if p._meta is not None and p._meta.grad_log and p._meta.grad_log[-1][0] == "cleared"
                   and p._meta.reached_by is engine.last_backward()]
        if cleared:
            told = explain(cleared[0])
            told.symptom = "this step changes nothing: all gradients are None"
            self._answer(record.user_frame(2), told, "step")

    # The engine's side.

    def begin(self, backward: Any) -> None:
        self._steps[backward.number] = []
        for number in sorted(self._steps)[:-REMEMBERED]:
            del self._steps[number]

    def ran(self, backward: Any, node: Any, g: Any, edges: tuple[Any, ...], grads: tuple[Any, ...]) -> None:
        steps = self._steps.get(backward.number)
        if steps is not None:
            steps.append(Step(node, edges, state(g), tuple([state(x) for x in grads])))

    def depositing(self, leaf: Tensor, backward: Any) -> None:
        """Called before a gradient is added to a leaf."""
        meta = leaf.meta
        if meta.watched is None or leaf._grad is None or not leaf._grad._array.any():
            meta.watched = GradFacts()
        if meta.reached_by is None:
            meta.watched_version = leaf._counter[0]
        meta.watched.deposits.append(Deposit(backward, leaf._counter[0]))
        del meta.watched.deposits[:-3]

    def steps_of(self, backward: Any) -> list[Step]:
        return self._steps.get(backward.number, [])

    # The program's side.

    def read(self, t: Tensor, what: str, value: Any, frame: FrameType) -> None:
        """The program looked at a property of a tensor."""
        if not _is_users(frame):
            return
        if what == "grad":
            self._read_grad(t, value, frame)
        elif what == "requires_grad" and value is False:
            self._read_not_tracked(t, frame)

    def _read_grad(self, t: Tensor, value: Any, frame: FrameType) -> None:
        facts = t.meta.watched
        if value is None and engine.last_backward() is None:
            return  # nothing has happened yet
        told = explain(t)
        if facts is not None and facts.deposits:
            facts.deposits[-1].reads += 1
        if told.category in ("ok", "no-backward", "grad-assigned"):
            return
        if told.category in ("frozen", "never-required-grad", "grad-cleared") and is_guard(place((frame.f_code, frame.f_lasti))):
            return  # `if p.grad is not None:` expects that there may be none
        self._answer(frame, told, id(t))

    def _read_not_tracked(self, t: Tensor, frame: FrameType) -> None:
        cause = next((c for c in t._cause if c.kind not in ("created", "frozen")), None)
        if cause is None:
            return
        here = cause.origin or cause.site
        if cause.kind in ("detach", "grad-mode-off") and here is not None and here[0] is frame.f_code:
            return  # asked for in the same function, in plain sight
        told = no_history(t, "requires_grad is False, although it was computed from tensors that require grad")
        self._answer(frame, told, id(t))

    def error(self, error: Exception, category: str, text: str, sites: tuple[Any, ...]) -> None:
        """Autograd is about to raise."""
        frame = record.user_frame(2)
        symptom = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
        text, _, fix = text.partition(" Fix: ")
        self._answer(frame, Explanation(symptom, category, text, fix, places(*sites)), "error")

    def _answer(self, frame: FrameType, told: Explanation, about: Any) -> None:
        where = place((frame.f_code, frame.f_lasti))
        if where is None:
            return
        told = refine(told, where)
        key = (where.file, where.line, told.category)
        if key in self._told:
            return
        self._told.add(key)
        answer = Answer(where, told)
        self.answers.append(answer)
        if self._on_answer is not None:
            self._on_answer(answer)


def _is_users(frame: FrameType) -> bool:
    return "site-packages" not in frame.f_code.co_filename and not frame.f_code.co_filename.startswith("<frozen")
