"""A compiled function: for each kind of call a program, and eager execution wherever there is none."""

from __future__ import annotations

import ast
import contextlib
import re
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from whygrad.base import autocast_state, dtypes
from whygrad.base import door as function_door
from whygrad.base.forking import hold_while_forking
from whygrad.compilation import config, logs
from whygrad.compilation.build import Compiled, checksums
from whygrad.compilation.capture import Capture, captured
from whygrad.compilation.exc import Unsupported
from whygrad.compilation.guards import Break, Guards
from whygrad.compilation.split import Cannot, Divided, code_of
from whygrad.core.modes import grad_state, process_state
from whygrad.core.node import next_sequence_number
from whygrad.core.tensor import Tensor
from whygrad.functional.determinism import determinism
from whygrad.nn.hooks import everywhere
from whygrad.why import record as why

# Runs that may be captured without becoming a program: state that changes with every call. Shapes return more often.
MAX_CAPTURES = 32
COST_OF_A_SHAPE = 0.25
# Kinds of calls of which one was seen.
MAX_PENDING = 64

_compiling = threading.RLock()
hold_while_forking(_compiling)
ALL: weakref.WeakSet[CompiledFunction] = weakref.WeakSet()


class Thread(threading.local):
    capturing = False
    disabled = 0


thread = Thread()


STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile", "aot_eager_then_compile")


class set_stance:
    """What compiled functions do from now on, or in a block."""

    now = "default"

    def __init__(self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None) -> None:
        if stance not in STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}'")
        self.before, set_stance.now = set_stance.now, stance

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        set_stance.now = self.before


class Limit(Break):
    """There are too many kinds of calls."""


class Entry(NamedTuple):
    """What a run found: the tensors, their checksums, and whether they had no gradient."""

    tensors: tuple[Tensor, ...]
    sums: list[int]
    gradients: list[bool]


class CompiledFunction:
    """What `torch.compile(function)` calls."""

    def __init__(self, function: Callable[..., Any], *, fullgraph: bool = False, limit: int | None = None,
                 tree: ast.FunctionDef | None = None) -> None:
        self.function = function
        self.tree = tree  # its text, if that is not in a file
        self.fullgraph = fullgraph
        self.limit = limit
        self.reset()
        ALL.add(self)

    def __reduce__(self) -> Any:
        return CompiledFunction._again, (self.function, self.fullgraph, self.limit)  # programs are not copied

    @staticmethod
    def _again(function: Callable[..., Any], fullgraph: bool, limit: int | None) -> CompiledFunction:
        return CompiledFunction(function, fullgraph=fullgraph, limit=limit)

    def reset(self) -> None:
        self.programs: list[Compiled] = []
        # Runs that were captured once, and wait for a second one that does the same.
        self.pending: list[Compiled] = []
        # Why calls have been eager: every reason once.
        self.reasons: list[str] = []
        self.failed_guards: list[str] = []
        self.captures = 0.0
        self.calls = {"compiled": 0, "eager": 0}
        self.gave_up = False
        self.divided: Divided | None = None  # what is called instead if it cannot be compiled as a whole

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        mode = current_mode()
        if mode is not None and set_stance.now != "force_eager":
            for compiled in self.programs:
                if compiled.mode == mode and type(tensors := compiled.guards.check(args, kwargs)) is tuple and (
                        compiled.gradients is None or compiled.gradients == [t._grad is None for t in tensors]):
                    self.calls["compiled"] += 1
                    if compiled is not self.programs[0]:  # it is likely to be the next one too
                        self.programs = [compiled, *[other for other in self.programs if other is not compiled]]
                    return compiled.run(tensors)
        self.calls["eager"] += 1
        if mode is None or self.gave_up or set_stance.now != "default":
            if set_stance.now == "fail_on_recompile":
                raise RuntimeError("Detected recompile when torch.compile stance is 'fail_on_recompile'. "
                                   f"function name: {self.name!r}")
            if mode is not None and self.divided is not None and set_stance.now == "default":
                return self.divided(*args, **kwargs)
            return self.function(*args, **kwargs)
        return self._observed(mode, args, kwargs)

    def _observed(self, mode: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run eagerly, and write down what happens."""
        if sys.getprofile() is not None or not _compiling.acquire(blocking=False):
            return self.function(*args, **kwargs)
        try:
            if self.programs:
                self.note_failed(self.programs[0].guards.failing(args, kwargs))
            waiting = [c for c in self.pending if c.mode == mode and type(c.guards.check(args, kwargs)) is tuple]
            cost = 1.0
            if not waiting and self.pending:
                failed = self.pending[-1].guards.failing(args, kwargs) or ""
                self.note_failed(failed or None)
                cost = COST_OF_A_SHAPE if failed.startswith("shape") else 1.0
            entry = waiting[0].guards.check(args, kwargs) if waiting else ()
            sums = checksums(entry)
            gradients = [t._grad is None for t in entry]
            before = next_sequence_number()
            self.captures += cost
            thread.capturing = True
            try:
                with captured(code_of(self.function)) as capture:
                    result = self.function(*args, **kwargs)
            finally:
                thread.capturing = False
            self._learn(mode, capture, args, kwargs, result, before, waiting, Entry(entry, sums, gradients))
            return result
        finally:
            _compiling.release()

    def _learn(self, mode: Any, capture: Capture, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, before: int,
               waiting: list[Compiled], entry: Entry) -> None:
        try:
            if capture.reason is not None:
                raise Break(capture.reason)
            if current_mode() != mode:
                raise Break("a mode (grad, autocast, dtype ...) is another one after the call")
            if waiting and type(waiting[0].guards.check(args, kwargs)) is int:
                raise Break(f"the call changes what it reads: {waiting[0].guards.failing(args, kwargs)}")
            found = Compiled(capture, Guards(args, kwargs, self.function, capture.executed), result, before)
            found.mode = mode
            if not waiting:
                found.wait()
                self.pending = [*self.pending[1 - MAX_PENDING:], found]
                if self.captures >= MAX_CAPTURES:
                    raise Limit("what it reads is different in every call: " + "; ".join(self.failed_guards))
                return
            first = waiting[0]
            if difference := first.differs_from(found):
                found.wait()
                self.pending[self.pending.index(waiting[0])] = found
                if self.captures >= MAX_CAPTURES:
                    raise Break(difference)
                return
            if any(outer.tensor is not t for outer, t in zip(found.guards.tensors, entry.tensors, strict=True)):
                raise Break("a tensor is put into an object from outside")
            if unseen := found.unseen_writes(entry.tensors, entry.sums):
                raise Break(unseen)
            if capture.executed.reads_gradients:
                found.gradients = entry.gradients
            limit = self._limit(args, kwargs)
            if len(self.programs) >= limit:
                raise Limit(f"there are {limit} programs for other arguments already (recompile_limit)")
            found.build()
            self.programs = [*self.programs, found]
            logs.tell("guards", self.name, "; ".join(found.guards.texts))
            logs.tell("output_code", self.name, found.text())
            self.pending.remove(waiting[0])
            self.captures = 0
        except Break as reason:
            self.give_up(str(reason))
            if self.gave_up:
                self._divide(reason, capture, args, kwargs)
        except Exception as error:  # of ours: the call itself went well
            self.give_up(f"internal error: {type(error).__name__}: {error}")

    def _limit(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        limit = config.current_limit() if self.limit is None else self.limit
        if self.limit is None and limit == config.RECOMPILE_LIMIT <= len(self.programs) and all(
                (compiled.guards.failing(args, kwargs) or "").startswith("shape") for compiled in self.programs[:limit]):
            return config.SHAPES_LIMIT
        return limit

    def _divide(self, reason: Break, capture: Capture, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Compile what comes before and after the statement that cannot be compiled."""
        causes: list[int | str | None] = [capture.line]
        with contextlib.suppress(Break):
            if isinstance(reason, Limit):
                found = [re.fullmatch(r"argument (\w+)", text) for text in self.failed_guards]
                causes = [match[1] for match in found if match][:1]
            elif capture.line is None:
                known = Guards(args, kwargs, self.function, capture.executed).known if capture.mutated else {}
                causes = [*[where for x, where in capture.mutated if id(x) in known][:1], None, *filter(None, [capture.storing])]
        for cause in causes:
            with contextlib.suppress(Cannot):
                self.divided = Divided(self.function, self.tree, cause,
                                       lambda part, tree: CompiledFunction(part, limit=self.limit, tree=tree))
                return

    def give_up(self, reason: str) -> None:
        # What happens once may be that something is loaded.
        self.gave_up = len(self.reasons) > 0 or self.fullgraph or self.captures >= MAX_CAPTURES
        self.pending = []
        if reason not in self.reasons:
            self.reasons.append(reason)
            logs.tell("graph_breaks", self.name, reason)
        if self.fullgraph and not config.suppress_errors:
            raise Unsupported(f"{self.name} cannot be compiled as a whole: {reason}")

    @property
    def name(self) -> str:
        if self.tree is not None:
            return f"{self.tree.name}, lines {self.tree.body[0].lineno} to {self.tree.body[-2].end_lineno}"
        return str(getattr(self.function, "__qualname__", type(self.function).__name__))

    def explanation(self) -> str:
        """What is compiled, what is not, and why."""
        calls = f"{self.calls['compiled']} compiled calls, {self.calls['eager']} eager ones"
        lines = [f"{self.name}: {len(self.programs)} programs, {calls}"]
        for number, compiled in enumerate(self.programs):
            lines += [f"  program {number}: {line}" for line in compiled.summary()]
        lines += [f"  eager: {reason}" for reason in self.reasons]
        lines += [f"  a guard failed: {text}" for text in self.failed_guards]
        if self.divided is not None:
            lines.append(f"  in {len(self.divided.parts)} parts:")
            lines += [f"    {line}" for line in self.divided.explanation()]
        if self.pending and not self.gave_up:
            lines.append("  one more call like the last is needed: a program is made of two runs that did the same")
        return "\n".join(lines)

    def note_failed(self, text: str | None) -> None:
        if text is not None and text not in self.failed_guards:
            self.failed_guards = [*self.failed_guards[-20:], text]
            logs.tell("recompiles", self.name, f"another program is needed: {text}")


def current_mode() -> Any:
    """The modes that a program is compiled for; None where everything has to be eager."""
    if (process_state.any_mode_active and (process_state.listeners or process_state.meta or process_state.anomaly
            or grad_state.saved_hooks or grad_state.levels or grad_state.mutation is not None or grad_state.entered
            or grad_state.inference)):
        return None
    if (thread.capturing or thread.disabled or why.watching is not None or process_state.derivatives
            or (function_door.active and not function_door.is_idle())
            or everywhere.on or not process_state.grad_follows_leaf
            or grad_state.running is not None or autocast_state.state.enabled):
        return None
    return grad_state.grad, dtypes.get_default_dtype(), determinism.enabled
