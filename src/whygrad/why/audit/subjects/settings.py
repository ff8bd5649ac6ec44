"""Settings: options that cannot be meant, and things that pile up: hooks, parameters on one memory, flags on modules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from whygrad.why.audit.finding import Finding, count_of, finding, listed
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import address_of, array_of, causes_of, is_module, is_tensor, size_of
from whygrad.why.locations import locate
from whygrad.why.program_text import lines_matching

MIN_STEPS = 5
# An eps of an adaptive optimizer from which on it may decide the size of the steps.
LARGE_EPS = 1e-2
# Names that look like requires_grad.
MISSPELLED = re.compile(r"requires?_?grads?(ient)?s?")
# Hooks of one function on one module from which on they pile up.
MIN_HOOKS = 3


class Settings(Subject):
    checks = {
        "options": "options of optimizers, schedules and layers let them work",
        "apart": "parameters have memory of their own, and hooks do not pile up",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # Pairs of parameters of one optimizer that lie on the same memory.
        self._shared: list[tuple[Any, Any, OptimizerRecord]] = []

    def before_step(self, record: OptimizerRecord) -> None:
        if record.steps:
            return
        places: dict[int, Any] = {}
        for p in record.parameters:
            if size_of(p):
                other = places.setdefault(address_of(p), p)
                if other is not p and size_of(other) == size_of(p):
                    self._shared.append((other, p, record))
        del self._shared[16:]

    def was_seen(self, check: str) -> bool:
        return any(record.steps >= MIN_STEPS for record in self.audit.optimizers.values())

    def findings(self) -> Iterator[Finding]:
        yield from self._same_memory()
        if not self.was_seen(""):
            return
        for record in self.audit.optimizers.values():
            yield from self._dampened(record)
            yield from self._adaptive(record)
            yield from self._misspelled(record)
        yield from self._one_cycle()
        for root in list(self.audit.modules.roots.values()):
            for path, module in root.named_modules():
                yield from self._piled_up(path, module)
                yield from self._without_momentum(path, module)
        yield from self._flagged()
        yield from self._late_bound()

    def _late_bound(self) -> Iterator[Finding]:
        for code, (name, hooks) in self.audit.watch.late_hooks.items():
            sites = self.audit.watch.hook_sites(code)
            yield finding("apart", "hook-late-binding", "hooks made in a loop all use the last value of a variable",
                          f"{count_of(len(hooks), 'hook')} of the function in line {code.co_firstlineno} ran with another "
                          f"`{name}` than they were registered with{'' if not sites else f' {at(sites[-1])}'}: a function looks "
                          "a variable up when it runs, and by then the loop has bound it anew. All of them see the last one.",
                          f"bind the value when the hook is made: lambda g, {name}={name}: ..., or functools.partial.",
                          causes=(*sites[-1:], (code, 0)), symptom="wrong-value")

    def _misspelled(self, record: OptimizerRecord) -> Iterator[Finding]:
        """`p.require_grad = False` sets an attribute that nobody reads."""
        wrong = {name: p for p in record.parameters for name in vars(p)
                 if MISSPELLED.fullmatch(name) and name != "requires_grad"}
        here = locate(record.made_at)
        for name, p in wrong.items():
            lines = [] if here is None else lines_matching(here.file, rf"\.{name}\s*=")
            yield finding("options", "frozen", "this parameter was to be frozen, but is trained",
                          f"`{name}` was set on {self.audit.name_of(p) or 'a parameter'} and others: PyTorch knows no attribute "
                          "of this name, so nothing is frozen, and the optimizer changes them.",
                          f"write requires_grad instead of {name}.", at=record.stepped_at, causes=(*lines, record.made_at),
                          parameters=[self.audit.name_of(p)], symptom="unwanted")

    def _same_memory(self) -> Iterator[Finding]:
        for p, q, record in self._shared:
            names = [self.audit.name_of(x) or f"a tensor of shape {tuple(x.shape)}" for x in (p, q)]
            sites = [cause.site for x in (q, p) for cause in causes_of(x) if cause.site is not None]
            written = [site for x in (q, p) if (site := self.audit.watch.data_replaced_at(x)) is not None]
            yield finding("apart", "weights-shared", "two parameters share one memory",
                          f"{listed(names)} are two parameters on the same memory (one was given the other's .data): the "
                          f"optimizer made {at(record.made_at)} updates it twice in every step, and they can never differ.",
                          "copy the values: p.data.copy_(q.data), or q.data.clone().",
                          causes=(*written, *sites[:2], record.made_at), parameters=names, symptom="wrong-value")

    def _dampened(self, record: OptimizerRecord) -> Iterator[Finding]:
        for group in record.groups:
            if group.get("momentum") and group.get("dampening", 0) >= 1 and record.steps >= MIN_STEPS:
                yield finding("options", "option-disables", "dampening=1 keeps new gradients out of the momentum",
                              f"{record.kind}, made {at(record.made_at)}, has momentum={group['momentum']:g} and "
                              f"dampening={group['dampening']:g}: every new gradient is multiplied by 1 - dampening = 0, "
                              "so only the first one ever counts.",
                              "use dampening=0 (the default).", at=record.stepped_at, causes=(record.made_at,))
                return

    def _adaptive(self, record: OptimizerRecord) -> Iterator[Finding]:
        """Options of Adam and its relatives: averages of squares that forget faster than those of gradients, a large eps."""
        state = vars(record.optimizer).get("state", {}) if record.optimizer is not None else {}
        squares = [array_of(values["exp_avg_sq"]) for values in state.values()
                   if isinstance(values, dict) and is_tensor(values.get("exp_avg_sq"))]
        for group in record.groups:
            betas, eps = group.get("betas"), group.get("eps", 0.0)
            if isinstance(betas, (tuple, list)) and len(betas) == 2 and betas[0] >= 0.99 and betas[0] > betas[1]:
                yield finding("options", "option-disables", "the two factors of the averages are exchanged",
                              f"{record.kind}, made {at(record.made_at)}, has betas=({betas[0]:g}, {betas[1]:g}): the average "
                              "of the gradients remembers a thousand steps, and that of their squares ten; each step is as "
                              "large as the last gradient was small, in the direction of old ones.",
                              "use betas=(0.9, 0.999).", at=record.stepped_at, causes=(record.made_at, *record.callers[:1]),
                              symptom="wrong-value")
                return
            typical = max([float(np.sqrt(np.abs(values)).mean()) for values in squares if values.size], default=0.0)
            if eps >= LARGE_EPS and eps > 10 * typical > 0:
                yield finding("options", "option-disables", "eps makes all steps small",
                              f"{record.kind}, made {at(record.made_at)}, has eps={eps:g}. It divides by the root of the "
                              f"average square of the gradients, {typical:.2g} here, plus eps: so eps decides, and the steps "
                              f"are {eps / typical:.0f} times smaller than the rate means them to be.",
                              "use eps=1e-8 (the default).", at=record.stepped_at, causes=(record.made_at, *record.callers[:1]),
                              symptom="wrong-value")
                return

    def _one_cycle(self) -> Iterator[Finding]:
        for known in self.audit.schedulers.values():
            total = getattr(known.scheduler, "total_steps", None)
            record = next((r for r in self.audit.optimizers.values() if r.optimizer is known.optimizer), None)
            if known.kind == "OneCycleLR" and isinstance(total, int) and record is not None and known.steps < 0.3 * total and (
                    record.steps >= 0.8 * total):
                here = locate(known.made_at)  # Lightning steps a schedule once per epoch, unless it is told otherwise
                told = [] if here is None else lines_matching(here.file, r"[\"']lr_scheduler[\"']")
                yield finding("options", "schedule-wrong", "the schedule is stepped too seldom",
                              f"OneCycleLR, made {at(known.made_at)}, is meant for {total} steps, but was stepped "
                              f"{count_of(known.steps, 'time')} {at(known.stepped_at)} in {count_of(record.steps, 'step')} "
                              "of the optimizer: the learning rate stays near its small beginning.",
                              "call scheduler.step() after every batch (OneCycleLR counts batches)"
                              + (', with "interval": "step" in what configure_optimizers() returns.' if told else "."),
                              causes=(known.stepped_at, known.made_at, *told[:2]), symptom="wrong-value")

    def _piled_up(self, path: str, module: Any) -> Iterator[Finding]:
        codes = Counter(getattr(getattr(hook, "hook", hook), "__code__", None) for hook in module._forward_hooks.values())
        for code, count in codes.items():
            if code is not None and count >= MIN_HOOKS:
                yield finding("apart", "hooks-piled-up", "one hook is registered again and again",
                              f"`{path or type(module).__name__}` has {count} forward hooks of the same function, line "
                              f"{code.co_firstlineno}: each registration adds one, and all of them run in every forward.",
                              "register it once, before the loop, or remove the old one (handle.remove()).",
                              causes=(*self.audit.watch.hook_sites(code), (code, 0)), symptom="wrong-value")

    def _without_momentum(self, path: str, module: Any) -> Iterator[Finding]:
        if "BatchNorm" in type(module).__name__ and getattr(module, "momentum", None) == 0 and module.track_running_stats:
            yield finding("options", "option-disables", "batch norm never learns its running statistics",
                          f"`{path}` has momentum=0: in this formula the running mean and variance keep their old values "
                          "(0 and 1) for ever, and evaluation normalises with them.",
                          "use momentum=0.1 (the default), or None for a plain average.",
                          causes=(self.audit.modules.made_at(module),), symptom="wrong-value")

    def _flagged(self) -> Iterator[Finding]:
        for module, site, value in self.audit.watch.flagged_modules():
            frozen = [name for name, p in module.named_parameters() if not p.requires_grad]
            if is_module(module) and value and frozen:
                yield finding("options", "frozen", "setting requires_grad on a module does nothing",
                              f"`module.requires_grad = True` {at(site)} only sets an attribute of the module (of "
                              f"{type(module).__name__}): its {count_of(len(frozen), 'parameter')} ({listed(frozen)}) stay "
                              "frozen, requires_grad is False.",
                              "call module.requires_grad_(True), or set it on each parameter.", causes=(site,), parameters=frozen)
