"""The watch of `whygrad run`: observes a program and collects an answer for each surprising outcome.

It is notified by instrumentation.py (reads and calls of the program), by errors that autograd raises, and by the engine during
backward. Nothing is installed unless a program runs under it.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from whygrad.base.frames import program_frame
from whygrad.why import end_of_run, engine, record
from whygrad.why.answers import Answer, Explanation
from whygrad.why.audit.audit import Audit
from whygrad.why.audit.observation import Clip
from whygrad.why.event_log import EventLog, guarded
from whygrad.why.explain import verdicts_on
from whygrad.why.gradient_flow import gradient_state
from whygrad.why.library_design import is_by_design
from whygrad.why.locations import SourceLocation, locate, locate_all
from whygrad.why.optimizer_usage import OptimizerUsage, is_used, optimizer_parameters, usage_of
from whygrad.why.program_text import is_dereferenced
from whygrad.why.property_reads import needs_no_answer, not_tracked, still_tracked
from whygrad.why.question import Question
from whygrad.why.rules import Verdict, explanation_of, first_confirmed, optimizing
from whygrad.why.rules.cut_off import before_backward
from whygrad.why.run_facts import WeakTensorSet, ledger_of, was_reached

# MAX_LOOKS: evaluations of a line after its first answer. MAX_CAUSES: causes listed in one answer.
MAX_LOOKS, MAX_CAUSES = 20, 4
# Reads without a problem after which a line is no longer evaluated while its gradients are finite and not zero.
TRUSTED_AFTER = 50


class Watch(EventLog):
    """`on_answer` is called with each answer when it is found."""

    # Whether the engine tells of every node and leaf of a backward pass. Off between observed rounds, while nobody reads
    # gradients.
    traces = True
    # False if a signal has interrupted the program: it may hold locks.
    may_run_again = True
    # Whether calls of losses, reads and copied values are heard of.
    _hears_calls = True

    def __init__(self, on_answer: Callable[[Answer], None] | None = None) -> None:
        super().__init__()
        self.answers: list[Answer] = []
        self._on_answer = on_answer
        # The explanation of the last backward that raised, by its number.
        self.failed: dict[int, Explanation] = {}
        self._undo: list[engine.Undo] = []
        # Reads of gradients by the program, and how many of each line were evaluated.
        self._reads = 0
        self._reading: dict[Any, int] = {}
        self._moment = itertools.count().__next__
        self._by_line: dict[Any, Answer] = {}
        self._looks: dict[Any, int] = {}
        self._fine_reads: dict[Any, int] = {}
        self._provisional: list[tuple[Any, int, list[Verdict]]] = []
        # The last read whose outcome the program tests itself: if the test then ends the program, it is answered.
        self.tested: tuple[Any, int, list[Verdict]] | None = None
        # Problems of optimizers, one for each location and category.
        self._optimizer_problems: dict[Any, tuple[Any, Explanation, int]] = {}
        self._clips: dict[Any, optimizing.EarlyClip] = {}
        # A loss was multiplied by a GradScaler and its gradients are not unscaled: (number of backward passes before, site).
        self.scaled: tuple[int, Any] | None = None
        # Tensors that an answer is about.
        self.explained = WeakTensorSet()
        self.audit = Audit(self)

    @guarded
    def told(self, event: str, *facts: Any) -> None:
        """A module, optimizer, scheduler, scaler or loader tells what it does (see audit/README.md)."""
        if event == "optimizer_constructed":
            usage_of(facts[0])
            self.audit.record_of(facts[0])
        elif self.audit.listeners(event):
            self.audit.tell(event, *facts, record.site())
        else:
            self.unheard.add(event)

    def differentiated(self, tensors: tuple[Any, ...], keep: bool) -> None:
        """backward() of these tensors begins. Every step of a long run has this event: it takes the shortest way."""
        try:
            self.audit.differentiated(tensors, keep, record.site())
        except Exception as error:
            self.failed_in("differentiated", error)

    def trace(self, on: bool) -> None:
        """Outside of observed rounds a backward is traced only if the program reads gradients, or wants answers at once."""
        self.traces = not self.audit.is_suspended and (on or (self.live and engine.current.records_always) or (
            self._reads > 0 and not self._trusts_reads()))
        record.search_limit = 1_000_000 if self.traces else record.DEFAULT_SEARCH_LIMIT
        engine.current.listen(self._hears_calls, self.traces)

    @guarded
    def suspend(self, on: bool) -> None:
        """Look at nothing for a while: values must not be read now."""
        self.audit.suspend(on)

    def _trusts_reads(self) -> bool:
        """True if all lines that read gradients were evaluated often enough, and tracing is dear."""
        return not engine.current.records_always and all(count > TRUSTED_AFTER for count in self._reading.values())

    def listen(self, on: bool) -> None:
        self.unheard.clear()
        self._hears_calls = on
        engine.current.listen(on, self.traces)

    def begin(self, backward: Any, captures: Any, deposits: bool) -> None:
        if self.traces:
            super().begin(backward, captures, deposits)
            self.audit.tell("backward_begun", backward, backward.root())

    def ran(self, backward: Any, node: Any, g: Any, edges: tuple[Any, ...], grads: tuple[Any, ...]) -> None:
        super().ran(backward, node, g, edges, grads)
        if self.audit.is_observing:
            self.audit.tell("node_ran", node, g, grads)

    def ended(self, backward: Any) -> None:
        """A backward has run, without an error."""
        trace = self.trace_of(backward)
        if trace is not None:
            self.audit.tell("backward_done", trace)

    def depositing(self, leaf: engine.Tensor, backward: Any, g: Any) -> None:
        super().depositing(leaf, backward, g)
        self.audit.tell("deposited", leaf, backward, g)

    @property
    def live(self) -> bool:
        """True if answers are reported at once; provisional ones are then not deferred."""
        return self._on_answer is not None

    def start(self) -> None:
        record.watching = self
        record.search_limit = 1_000_000
        self._undo = engine.current.instrument(self)
        self.audit.start()

    def pause(self) -> None:
        """Hear of nothing until `resume`: another watch has the engine for itself."""
        for undo in reversed(self._undo):
            undo()
        self.audit.pause()
        record.watching = None

    def resume(self) -> None:
        record.watching = self
        self._undo = engine.current.instrument(self)
        self.audit.resume()

    def stop(self) -> list[Answer]:
        """Stop watching, and return the answers in the order of the program's events."""
        if self.may_run_again and not isinstance(sys.exc_info()[1], Exception):
            self._run_again()
        self.audit.stop()
        for undo in reversed(self._undo):
            undo()
        self._conclude()
        record.watching = None
        record.search_limit = record.DEFAULT_SEARCH_LIMIT
        self.answers.sort(key=lambda answer: answer.moment)
        return self.answers

    @guarded
    def _run_again(self) -> None:
        self.audit.run_again()

    @guarded
    def _conclude(self) -> None:
        if self.tested is not None and end_of_run.has_raised_at(self.tested[0]):
            self._provisional.append(self.tested)
        for where, moment, found in self._provisional:
            explanation = first_confirmed(found)
            if explanation is not None and explanation.category not in ("ok", "not-seen"):
                self._add_answer(where, explanation, moment)
        for optimizer in self.optimizers():
            self._judge(optimizer)
        for where, explanation, moment in self._optimizer_problems.values():
            if self.reported(explanation) is None:
                self._add_answer(where, explanation, moment)
        for clip in self._clips.values():
            explanation = clip.explanation()
            if explanation is not None:
                self._add_answer(clip.where, explanation, clip.moment)
        for where, explanation in end_of_run.unread_problems(self):
            if self.reported(explanation) is None:
                self._add_answer(where, explanation, self._moment())
        for finding in self.audit.findings():
            known = self.reported(finding.explanation)
            if known is None:
                self._add_answer(finding.where, finding.explanation, self._moment(), by_cause=True)
            else:
                _merge(known.explanation, finding.explanation)

    def reported(self, explanation: Explanation) -> Answer | None:
        """The answer that has the same cause already. Two findings of the audit may have causes in one line."""
        first = explanation.causes[0] if explanation.causes else None
        return next((known for known in self.answers if known.explanation.category == explanation.category and (
            first in known.explanation.causes if known.explanation.check and explanation.check else
            (first and first.where) in [cause.where for cause in known.explanation.causes])), None)

    def was_read(self) -> bool:
        """True if the program has read a gradient."""
        return self._reads > 0

    def reported_categories(self) -> set[str]:
        return {answer.explanation.category for answer in self.answers}

    def is_useless(self, optimizer: Any) -> bool:
        """True if it is told of this optimizer that no step of it had an effect."""
        usage = usage_of(optimizer)
        return not usage.useful and usage.useless is not None

    def is_read_by_program(self, t: engine.Tensor) -> bool:
        """True if the program reads each gradient of a leaf: it may apply them itself."""
        ledger = ledger_of(t)
        return ledger is not None and ledger.read_count >= ledger.deposit_count > 0

    def reads_gradients(self) -> bool:
        return any((ledger := ledger_of(leaf)) is not None and ledger.read_count for leaf in self.reached)

    # Events from the program.

    @guarded
    def read(self, t: engine.Tensor, what: str, value: Any, frame: FrameType) -> None:
        """The program read the property `what` of a tensor."""
        if not _is_user_code(frame) or self._looks.get((frame.f_code, frame.f_lasti), 0) >= MAX_LOOKS:
            return
        question = Question(t, frame=frame)
        if what == "grad":
            self._reads += 1
            site = frame.f_code, frame.f_lasti
            self._reading.setdefault(site, 0)
            if not self.traces and self._trusts_reads():
                if value is None:
                    self.audit.arm()
                return
            self._reading[site] += self.traces
            if not self.traces and (not self._is_known(t) or not engine.current.records_always):
                self.trace(True)  # from now on
                return
            self._read_grad(question, value)
        elif value is False or (what == "grad_fn" and value is None):
            self._answer(question, not_tracked(question))
        else:
            self._answer(question, still_tracked(question))

    def _is_known(self, t: engine.Tensor) -> bool:
        """False if the last backward that reached a leaf was not traced."""
        reached = engine.notes_of(t).reached_by
        return reached is None or self.trace_of(reached) is not None or ledger_of(t) is None

    def _read_grad(self, question: Question, value: Any) -> None:
        if value is None and not self.traces_latest_first():
            # No backward has run yet: an attribute of None raises AttributeError.
            if is_dereferenced(question.read) and question.t.requires_grad:
                self._add_answer(question.read, before_backward(question), self._moment())
            return
        frame, ledger = question.frame, question.ledger
        assert frame is not None
        site = frame.f_code, frame.f_lasti
        if self._fine_reads.get(site, 0) > TRUSTED_AFTER and value is not None and ledger is not None and ledger.total == 1 and (
                gradient_state(engine.array_of(value)) == "fine"):
            return
        found = verdicts_on(question)
        if ledger is not None and value is not None:
            ledger.note_read()
        if not found:
            self._fine_reads[site] = self._fine_reads.get(site, 0) + 1
        elif needs_no_answer(question, found[0]):
            self.tested = question.read, self._moment(), found
            question.let_go_of_frame()
        else:
            self._answer(question, found)

    @guarded
    def before_step(self, optimizer: Any) -> None:
        if self.audit.is_resting:
            if not engine.current.records_always:
                self.audit.glance(optimizer)
            return
        self.audit.begin_step(optimizer)
        if not self.traces:
            return
        usage = usage_of(optimizer)
        if not usage.useful and usage.useless is None:
            self._set_useless(usage, optimizing.useless_step(self, optimizer))
            usage.begun = engine.next_sequence_number(), engine.count_backwards()

    def _set_useless(self, usage: OptimizerUsage, explanation: Explanation | None) -> None:
        if explanation is not None:
            usage.useless = _program_location(), explanation, self._moment()

    @guarded
    def after_step(self, optimizer: Any) -> None:
        if self.audit.is_resting:
            self.audit.count_step(optimizer)
            return
        if not self.traces:
            self.audit.end_step(optimizer)
            return
        usage = usage_of(optimizer)
        if not usage.useful and usage.useless is None:
            self._set_useless(usage, optimizing.useless_closure(optimizer))
        super().after_step(optimizer)
        self.audit.end_step(optimizer)
        if self.live and not any(answer.explanation.category == "grad-accumulated" for answer in self.answers):
            for where, explanation in end_of_run.never_cleared(self):
                self._add_answer(where, explanation, self._moment())

    @guarded
    def leaving(self, optimizer: Any) -> None:
        """An optimizer is deleted. One of an earlier program may be collected only now."""
        if is_used(optimizer):
            self._judge(optimizer)

    def _judge(self, optimizer: Any) -> None:
        """Report if an optimizer never had an effect: no more can come."""
        usage = usage_of(optimizer)
        if usage.useful:
            return
        if usage.useless is not None:
            where, explanation, moment = usage.useless
            explanation.parameters = self._names_of(optimizer_parameters(optimizer))
            if explanation.category == "grad-cleared" or not any(map(was_reached, optimizer_parameters(optimizer))):
                self._optimizer_problems.setdefault((where, explanation.category), (where, explanation, moment))
        elif usage.nodes is None:
            missing = optimizing.never_stepped(self, optimizer)
            if missing is not None:
                missing.parameters = self._names_of(optimizer_parameters(optimizer))
                where = missing.causes[0] if missing.causes else None
                self._optimizer_problems.setdefault((where, missing.category), (where, missing, self._moment()))

    def _names_of(self, parameters: list[engine.Tensor]) -> list[str]:
        return [self.audit.name_of(p) or f"a tensor of shape {tuple(p.shape)}" for p in parameters]

    @guarded
    def clipping(self, parameters: Any, *args: Any) -> None:
        if not self.traces:
            return  # what is known of the gradients is old
        explanation = optimizing.clip_misplaced(parameters)
        if explanation is not None:
            self._add_answer(_program_location(), explanation, self._moment())
        elif self.scaled is not None and engine.count_backwards() > self.scaled[0]:
            self._add_answer(_program_location(), optimizing.clip_while_scaled(self.scaled[1]), self._moment())
        site = record.site()
        if site not in self._clips:
            self._clips[site] = optimizing.EarlyClip(_program_location(), self._moment())
        self._clips[site].note_clip(parameters)

    @guarded
    def clipped(self, function: str, parameters: Any, limit: Any, total: Any) -> None:
        """Gradients were clipped. `total` is their norm before, if the function returns it."""
        if self.audit.is_resting and engine.is_tensor(total) and not engine.is_near(total):
            return  # the program would wait for the device
        listed = [parameters] if engine.is_tensor(parameters) else parameters
        norm = None if total is None else float(total)
        self.audit.tell("clipped", Clip(function.rpartition(".")[2], listed, float(limit), norm, record.site()))

    @guarded
    def scaling(self, scaler: Any, *args: Any) -> None:
        """A GradScaler multiplies a loss by its scale."""
        if scaler.is_enabled():
            self.scaled = engine.count_backwards(), record.site()

    @guarded
    def unscaling(self, *args: Any) -> None:
        self.scaled = None

    @guarded
    def error(self, error: Exception, category: str, text: str, sites: tuple[Any, ...]) -> None:
        """Autograd is about to raise: for the program, unless a rerun finds that a module cannot be copied or called."""
        if self.audit.is_rerunning:
            return
        first = str(error).splitlines()[0] if str(error) else ""
        headline = f"{type(error).__name__}: {first if len(first) <= 200 else first[:199] + '…'}"
        text, _, fix = text.partition(" Fix: ")
        explanation = Explanation(headline, category, text, fix, locate_all(*sites), symptom="error")
        if engine.running_backward() is not None:
            self.failed = {engine.running_backward().number: explanation}
        self._add_answer(_program_location(), explanation, self._moment())

    def _answer(self, question: Question, found: list[Verdict]) -> None:
        """Report the first verdict now if it is certain, otherwise at the end of the run."""
        if not found or question.read is None or question.frame is None:
            return
        where, moment = question.read, self._moment()
        first = found[0]
        if isinstance(first, Explanation):
            if first.category not in ("ok", "no-backward", "grad-assigned", "not-seen"):
                site = question.frame.f_code, question.frame.f_lasti
                self._looks[site] = self._looks.get(site, 0) + 1
                first.parameters = first.parameters or self._own_name(question.t)
                self._add_answer(where, first, moment)
                self.explained.add(question.t)
        else:
            key = (where.file, where.line, tuple([explanation_of(verdict).category for verdict in found]))
            if self._looks.setdefault(key, 0) < MAX_LOOKS:
                self._looks[key] += 1
                self._provisional.append((where, moment, found))
                question.let_go_of_frame()
                self.explained.add(question.t)
                last = engine.last_backward()
                for verdict in found:
                    explanation = explanation_of(verdict)
                    explanation.backward = None if last is None else locate(last.site)
                    explanation.parameters = explanation.parameters or self._own_name(question.t)

    def _own_name(self, t: engine.Tensor) -> list[str]:
        """The name of a tensor that is a parameter of a model."""
        name = self.audit.name_of(t) if engine.is_parameter(t) else ""
        return [name] if name else []

    def _nearest(self, explanation: Explanation) -> SourceLocation:
        """The location of an answer that has none of its own: its cause, else an optimizer's step or making, else a loss."""
        records = sorted(self.audit.optimizers.values(), key=lambda known: -known.steps)
        sites = [*[known.stepped_at for known in records], *[known.made_at for known in records], *self.audit.losses]
        return next(iter([*explanation.causes, *locate_all(*sites)]), None) or _script()

    def add_answer(self, where: Any, explanation: Explanation) -> bool:
        """Add what somebody else has found. False if the line has this answer already."""
        return self._add_answer(where, explanation, self._moment())

    def _add_answer(self, where: Any, explanation: Explanation, moment: int, by_cause: bool = False) -> bool:
        """With `by_cause` a line has an answer for each first cause, otherwise one for each category."""
        if is_by_design(explanation):
            return False
        where = where or self._nearest(explanation)
        cause = explanation.causes[0] if by_cause and explanation.causes else None
        line = (where.file, where.line, explanation.category, cause)
        known = self._by_line.get(line)
        if known is not None:
            # The line has this answer already; another tensor may add a cause.
            lines = {cause.where for cause in known.explanation.causes}
            if len(known.explanation.causes) < MAX_CAUSES:
                known.explanation.causes += [cause for cause in explanation.causes if cause.where not in lines]
            _merge(known.explanation, explanation)
            return False
        answer = self._by_line[line] = Answer(where, explanation, moment)
        self.answers.append(answer)
        if self._on_answer is not None:
            self._on_answer(answer)
        return True


def _script() -> SourceLocation:
    """The program as a whole."""
    return SourceLocation(getattr(sys.modules.get("__main__"), "__file__", None) or "", 0, 0, 0, 0, "", "")


def _merge(known: Explanation, other: Explanation) -> None:
    """Two explanations become one answer: it concerns the parameters of both."""
    known.parameters += [name for name in other.parameters if name not in known.parameters]
    known.check = known.check or other.check
    known.odd = known.odd and other.odd


def _program_location() -> Any:
    frame = program_frame(2)
    return locate((frame.f_code, frame.f_lasti))


def _is_user_code(frame: FrameType) -> bool:
    return "site-packages" not in frame.f_code.co_filename and not frame.f_code.co_filename.startswith("<frozen")
