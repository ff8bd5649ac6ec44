"""The watch of `whygrad run`: sees what the program does and collects an answer for each surprising outcome.

It listens through doors.py (what the program reads and calls), through the errors that autograd raises, and through the
engine's walk. Nothing of it is there unless a program is run under it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import FrameType
from typing import Any

from whygrad.base.frames import program_frame
from whygrad.core import engine
from whygrad.core.modes import grad_state, process_state
from whygrad.core.node import next_sequence_number
from whygrad.core.tensor import Tensor
from whygrad.why import ending, record
from whygrad.why.answers import Answer, Explanation
from whygrad.why.doors import Undo, open_doors
from whygrad.why.explain import verdicts_on
from whygrad.why.flow import state
from whygrad.why.memory import Memory, guarded
from whygrad.why.places import place, places
from whygrad.why.question import Question
from whygrad.why.reads import needs_no_answer, not_tracked, still_tracked
from whygrad.why.rules import Doubtful, Verdict, settle
from whygrad.why.rules.cut_off import before_backward
from whygrad.why.rules.optimizing import (
    EarlyClip,
    clip_misplaced,
    clip_while_scaled,
    never_stepped,
    useless_closure,
    useless_step,
    was_reached,
)
from whygrad.why.source import is_taken_for_granted
from whygrad.why.usage import Usage, held_by, usage_of

# So often a line is looked at once it has an answer; so many causes an answer names.
MOST_ON_A_LINE, MOST_CAUSES = 20, 4
# After so many reads at which nothing was wrong, a line is trusted as long as its gradients are finite and not zero.
FINE = 50


class Watch(Memory):
    """`on_answer` is called with each answer when it is found."""

    def __init__(self, on_answer: Callable[[Answer], None] | None = None) -> None:
        super().__init__()
        self.answers: list[Answer] = []
        self._on_answer = on_answer
        # The number of the last backward that raised, and the answer.
        self.failed: dict[int, Explanation] = {}
        self._undo: list[Undo] = []
        self._moment = itertools.count().__next__
        self._by_line: dict[Any, Answer] = {}
        self._asked: dict[Any, int] = {}
        self._fine: dict[Any, int] = {}
        self._doubtful: list[tuple[Any, int, list[Verdict]]] = []
        # What is to be said of optimizers, each line once.
        self._of_optimizers: dict[Any, tuple[Any, Explanation, int]] = {}
        self._clips: dict[Any, EarlyClip] = {}
        # Gradients of a scaled loss that nobody has scaled back: the number of backward passes before it, and where.
        self.scaled: tuple[int, Any] | None = None

    @property
    def live(self) -> bool:
        """Answers are told as they are found: then nothing waits for what may come."""
        return self._on_answer is not None

    def start(self) -> None:
        record.watching = self
        record.reach = 1_000_000
        self._undo = open_doors(self)

    def stop(self) -> list[Answer]:
        """Stop watching, and give the answers in the order in which the program ran into them."""
        for undo in reversed(self._undo):
            undo()
        self._conclude()
        record.watching = None
        record.reach = record.NEAR
        self.answers.sort(key=lambda answer: answer.moment)
        return self.answers

    @guarded
    def _conclude(self) -> None:
        for where, moment, found in self._doubtful:
            explanation = settle(found)
            if explanation is not None and explanation.category != "ok":
                self._tell(where, explanation, moment)
        for optimizer in self.optimizers():
            self.leaving(optimizer)
        for where, explanation, moment in self._of_optimizers.values():
            if not self._is_told(explanation):
                self._tell(where, explanation, moment)
        for clip in self._clips.values():
            told = clip.told()
            if told is not None:
                self._tell(clip.where, told, clip.moment)
        for where, explanation in ending.what_nobody_read(self):
            if not self._is_told(explanation):
                self._tell(where, explanation, self._moment())

    def _is_told(self, explanation: Explanation) -> bool:
        """The same cause was the answer to another question."""
        first = explanation.causes[0].line if explanation.causes else None
        return any(known.explanation.category == explanation.category
                   and first in [cause.line for cause in known.explanation.causes] for known in self.answers)

    # The program's side.

    @guarded
    def read(self, t: Tensor, what: str, value: Any, frame: FrameType) -> None:
        """The program looked at a property of a tensor."""
        if not _is_users(frame) or self._asked.get((frame.f_code, frame.f_lasti), 0) >= MOST_ON_A_LINE:
            return
        question = Question(t, frame=frame)
        if what == "grad":
            self._read_grad(question, value)
        elif value is False or (what == "grad_fn" and value is None):
            self._answer(question, not_tracked(question))
        else:
            self._answer(question, still_tracked(question))

    def _read_grad(self, question: Question, value: Any) -> None:
        if value is None and not self.latest_first():
            # Nothing has happened yet; who takes it for granted gets an AttributeError.
            if is_taken_for_granted(question.read) and question.t.requires_grad:
                self._tell(question.read, before_backward(question), self._moment())
            return
        frame, ledger = question.frame, question.ledger
        assert frame is not None
        site = frame.f_code, frame.f_lasti
        if self._fine.get(site, 0) > FINE and value is not None and ledger is not None and ledger.total == 1 and (
                state(value._array) == "fine"):
            return  # a line in a loop, where all has been well for long and still is
        found = verdicts_on(question)
        if ledger is not None and value is not None:
            ledger.look()
        if not found:
            self._fine[site] = self._fine.get(site, 0) + 1
        elif not needs_no_answer(question, found[0]):
            self._answer(question, found)

    @guarded
    def before_step(self, optimizer: Any) -> None:
        usage = usage_of(optimizer)
        if not usage.useful and usage.useless is None:
            self._useless(usage, useless_step(self, optimizer))
            usage.begun = next_sequence_number(), engine.count_backwards()

    def _useless(self, usage: Usage, told: Explanation | None) -> None:
        if told is not None:
            usage.useless = _here(), told, self._moment()

    @guarded
    def after_step(self, optimizer: Any) -> None:
        usage = usage_of(optimizer)
        if not usage.useful and usage.useless is None:
            self._useless(usage, useless_closure(optimizer))
        super().after_step(optimizer)
        if self.live and not any(answer.explanation.category == "grad-accumulated" for answer in self.answers):
            for where, told in ending.never_cleared(self):
                self._tell(where, told, self._moment())

    @guarded
    def leaving(self, optimizer: Any) -> None:
        """An optimizer goes, or the program has ended: has it ever changed anything?"""
        usage = usage_of(optimizer)
        if usage.useful:
            return
        if usage.useless is not None:
            where, told, moment = usage.useless
            if told.category == "grad-cleared" or not was_reached(held_by(optimizer)):
                self._of_optimizers.setdefault((where, told.category), (where, told, moment))
        elif usage.nodes is None:
            missing = never_stepped(self, optimizer)
            if missing is not None:
                where = missing.causes[0] if missing.causes else None
                self._of_optimizers.setdefault((where, missing.category), (where, missing, self._moment()))

    @guarded
    def clipping(self, parameters: Any, *args: Any) -> None:
        told = clip_misplaced(parameters)
        if told is not None:
            self._tell(_here(), told, self._moment())
        elif self.scaled is not None and engine.count_backwards() > self.scaled[0]:
            self._tell(_here(), clip_while_scaled(self.scaled[1]), self._moment())
        site = record.site()
        if site not in self._clips:
            self._clips[site] = EarlyClip(_here(), self._moment())
        self._clips[site].again(parameters)

    @guarded
    def scaling(self, scaler: Any, *args: Any) -> None:
        """A GradScaler multiplies a loss."""
        if scaler.is_enabled():
            self.scaled = engine.count_backwards(), record.site()

    @guarded
    def unscaling(self, *args: Any) -> None:
        self.scaled = None

    @guarded
    def error(self, error: Exception, category: str, text: str, sites: tuple[Any, ...]) -> None:
        """Autograd is about to raise."""
        first = str(error).splitlines()[0] if str(error) else ""
        headline = f"{type(error).__name__}: {first if len(first) <= 200 else first[:199] + '…'}"
        text, _, fix = text.partition(" Fix: ")
        told = Explanation(headline, category, text, fix, places(*sites), symptom="error")
        if grad_state.running is not None:
            self.failed = {grad_state.running.number: told}
        self._tell(_here(), told, self._moment())

    def _answer(self, question: Question, found: list[Verdict]) -> None:
        """Tell it now if it is certain, else when the program has ended."""
        if not found or question.read is None or question.frame is None:
            return
        where, moment = question.read, self._moment()
        first = found[0]
        if isinstance(first, Explanation):
            if first.category not in ("ok", "no-backward", "grad-assigned"):
                site = question.frame.f_code, question.frame.f_lasti
                self._asked[site] = self._asked.get(site, 0) + 1
                self._tell(where, first, moment)
        elif isinstance(first, Doubtful):
            key = (where.file, where.line, tuple([_category(v) for v in found]))
            if self._asked.setdefault(key, 0) < MOST_ON_A_LINE:
                self._asked[key] += 1
                self._doubtful.append((where, moment, found))
                last = process_state.last_backward
                for verdict in found:
                    told = verdict if isinstance(verdict, Explanation) else verdict.explanation
                    told.backward = None if last is None else place(last.site)

    def _tell(self, where: Any, told: Explanation, moment: int) -> bool:
        if where is None:
            return False
        line = (where.file, where.line, told.category)
        known = self._by_line.get(line)
        if known is not None:
            # The same again, perhaps of another tensor with a cause of its own.
            lines = {cause.line for cause in known.explanation.causes}
            if len(known.explanation.causes) < MOST_CAUSES:
                known.explanation.causes += [cause for cause in told.causes if cause.line not in lines]
            return False
        answer = self._by_line[line] = Answer(where, told, moment)
        self.answers.append(answer)
        if self._on_answer is not None:
            self._on_answer(answer)
        return True


def _category(verdict: Verdict) -> str:
    return verdict.category if isinstance(verdict, Explanation) else verdict.explanation.category


def _here() -> Any:
    frame = program_frame(2)
    return place((frame.f_code, frame.f_lasti))


def _is_users(frame: FrameType) -> bool:
    return "site-packages" not in frame.f_code.co_filename and not frame.f_code.co_filename.startswith("<frozen")
