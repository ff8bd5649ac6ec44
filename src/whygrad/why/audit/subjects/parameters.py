"""Parameters: do those of an optimizer get gradients? Is any that gets a gradient in no optimizer?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise, takewhile
from typing import Any

from whygrad.why.answers import Explanation
from whygrad.why.audit.finding import Finding, count_of, finding, listed
from whygrad.why.audit.observation import ModuleCall
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.audit.subjects.terms import Terms
from whygrad.why.audit.values import same, sample
from whygrad.why.causes import at
from whygrad.why.engine import causes_of, is_parameter, notes_of, shape_of
from whygrad.why.explain import verdicts_on
from whygrad.why.locations import locate, locate_all
from whygrad.why.module_owners import Owner, owner_of
from whygrad.why.program_text import lines_matching
from whygrad.why.question import Question
from whygrad.why.record import Site
from whygrad.why.rules import Verdict, first_confirmed
from whygrad.why.rules.altered import hook_modified
from whygrad.why.rules.unwanted import not_in_optimizer_explanation, unregistered_of
from whygrad.why.rules.vanished import zero
from whygrad.why.run_facts import drop_oldest, ledger_of, was_reached

# Steps of an optimizer after which a parameter without a gradient is examined, while the graph is still there.
EXAMINED_AFTER = 3
MAX_SAMPLES = 1024
# Lines that are kept of the calls of one module.
MAX_LINES = 4
# Fewer steps of an optimizer say nothing; that nobody uses a parameter needs more (an expert may wait for its turn).
MIN_STEPS, MIN_STEPS_UNUSED = 2, 5
# What the replacement of a parameter looks like to the one that the optimizer still holds.
LEFT_BEHIND = {"unused-in-loss", "parameter-rewrapped", "leaf-replaced"}


def _why_zero(q: Question) -> Verdict | None:
    return hook_modified(q) or zero(q)


class Parameters(Subject):
    checks = {
        "no-gradient": "every parameter that an optimizer holds gets a gradient",
        "zero-gradient": "no parameter gets gradients of zeros only",
        "not-held": "every parameter that gets gradients is held by an optimizer",
    }

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # Parameters without a gradient, or with zeros only, by id: what the rules said when they were examined.
        self._unreached: dict[int, tuple[Any, list[Verdict]]] = {}
        self._zero: dict[int, tuple[Any, Verdict | None]] = {}
        # Where modules were called, by id: the latest lines last.
        self._called: dict[int, tuple[Any, dict[Site, None]]] = {}
        # Parameters that no optimizer held when a gradient first reached them, by id, and a sample of their values then.
        self._first: dict[int, tuple[Any, Any]] = {}
        # Ids of modules and optimizers whose gradients were cleared.
        self._cleared: set[int] = set()

    def module_called(self, call: ModuleCall) -> None:
        sites = self._called.setdefault(id(call.module), (call.module, {}))[1]
        sites.pop(call.site, None)
        sites[call.site] = None
        drop_oldest(sites, MAX_LINES)

    def after_step(self, record: OptimizerRecord) -> None:
        if record.steps == EXAMINED_AFTER:
            self._examine(record)

    def optimizer_forgotten(self, record: OptimizerRecord) -> None:
        self._examine(record)

    def _examine(self, record: OptimizerRecord) -> None:
        for p in record.parameters:
            if not p.requires_grad or id(p) in self._unreached or id(p) in self._zero:
                continue
            if not was_reached(p):
                self._unreached[id(p)] = p, verdicts_on(Question(p))
            elif (ledger := ledger_of(p)) is not None and not ledger.last_nonzero:
                self._zero[id(p)] = p, _why_zero(Question(p))

    def was_seen(self, check: str) -> bool:
        return any(record.steps >= MIN_STEPS for record in self.audit.optimizers.values())

    def findings(self) -> Iterator[Finding]:
        records = [record for record in self.audit.optimizers.values() if record.steps >= MIN_STEPS]
        explained = {id(p) for p in self.audit.watch.explained}
        left_behind: set[int] = set()
        for record in records:
            not_held = self._not_held(record)
            if not_held is not None:
                yield not_held
            if not_held is not None or "not-in-optimizer" in self.audit.watch.reported_categories():
                left_behind.add(id(record))
        for record in records:
            yield from self._adapters(record)
            if not any(map(was_reached, record.parameters)) and self.audit.watch.is_useless(record.optimizer):
                continue  # that no step had an effect is told already
            self._examine(record)
            for p in record.parameters:
                if id(p) in explained or not p.requires_grad:
                    continue
                if not was_reached(p):
                    yield from self._without_gradient(record, p, id(record) in left_behind)
                elif id(p) in self._zero:
                    yield from self._always_zero(record, p)

    def _adapters(self, record: OptimizerRecord) -> Iterator[Finding]:
        """An adapter of peft that was loaded for inference, in a model that is trained."""
        for root in list(self.audit.modules.roots.values()):
            if not any(id(p) in record.held_ids for p in root.parameters()):
                continue
            for module in root.modules():
                configs = getattr(module, "peft_config", None)
                if isinstance(configs, dict) and configs and all(getattr(c, "inference_mode", False) for c in configs.values()):
                    names = [name for name, p in root.named_parameters() if "lora_" in name and not p.requires_grad]
                    here = locate(record.made_at)
                    lines = [] if here is None else lines_matching(here.file, r"Peft\w*\.from_pretrained\(")
                    yield finding("no-gradient", "frozen", "the adapter is frozen, and only what is around it is trained",
                                  f"The adapter {listed(list(configs))} was loaded for inference: its "
                                  f"{count_of(len(names), 'parameter')} ({listed(names)}) do not require grad, and the "
                                  f"optimizer made {at(record.made_at)} trains other parameters of the model only.",
                                  "load it with is_trainable=True: PeftModel.from_pretrained(base, folder, is_trainable=True).",
                                  at=record.stepped_at, causes=(*lines[:2], record.made_at), parameters=names)
                    return

    def _without_gradient(self, record: OptimizerRecord, p: Any, was_replaced: bool) -> Iterator[Finding]:
        explanation = first_confirmed(self._unreached[id(p)][1]) or first_confirmed(verdicts_on(Question(p)))
        if explanation is None or explanation.category in ("ok", "no-backward", "not-seen"):
            return
        if was_replaced and explanation.category in LEFT_BEHIND and not self.audit.name_of(p):
            return
        if explanation.category == "unused-in-loss":
            if record.steps < MIN_STEPS_UNUSED:
                return
            self._say_where_it_is(explanation, p)
        yield self._finding("no-gradient", explanation, p, record, "never gets a gradient")

    def _say_where_it_is(self, explanation: Explanation, p: Any) -> None:
        """Name the line that made an unused parameter, and the call of its module whose result nobody uses."""
        part = self._unused_part(p)
        called = self._called.get(id(part))
        made = [cause.site for cause in causes_of(p)]
        lost = self.audit.subject(Terms).unused_with(p)
        twin = [] if called is not None or part is None else self._called_in_place_of(part)
        here = None if called is None else next(reversed(called[1]))
        explanation.causes = locate_all(*twin, here, *lost, *made) + explanation.causes
        if lost:
            explanation.text += f" A scalar is computed from it {at(lost[-1])}, but is no part of the loss."
        if called is not None:
            path = self.audit.path_of(part)
            explanation.text += f" `{path}` is called {at(here)}, but the loss does not depend on what it returns."
        elif part is not None:
            explanation.text += f" `{self.audit.path_of(part)}` is never called."
        if twin:
            explanation.text += f" Another layer of its kind is called at {len(twin)} places, last {at(twin[0])}."

    def _called_in_place_of(self, part: Any) -> list[Site]:
        """The lines of the calls of a layer beside one that is never called, if it is like it and is called at several."""
        found = self.audit.modules.path_of(part)
        if found is None:
            return []
        shapes = list(map(shape_of, part.parameters()))
        parent = found[0].get_submodule(found[1].rpartition(".")[0])
        for beside in parent.children():
            sites = self._called.get(id(beside), (None, {}))[1]
            if beside is not part and type(beside) is type(part) and len(sites) > 1 and (
                    list(map(shape_of, beside.parameters())) == shapes):
                return list(reversed(sites))
        return []

    def _unused_part(self, p: Any) -> Any:
        """The largest part of the model that has this parameter and none that a gradient reaches."""
        return next((module for module in self.audit.modules.modules_around(p)
                     if not any(map(was_reached, module.parameters()))), None)

    def _always_zero(self, record: OptimizerRecord, p: Any) -> Iterator[Finding]:
        verdict, ledger = self._zero[id(p)][1], ledger_of(p)
        if ledger is None or ledger.last_nonzero or verdict is None:
            return
        counts = [known.deposit_count for q in record.parameters if (known := ledger_of(q)) is not None]
        if ledger.deposit_count < 0.3 * max(counts, default=0):
            return  # an expert that was hardly used
        explanation = first_confirmed([verdict])
        if explanation is not None and explanation.category != "ok" and not explanation.harmless:
            yield self._finding("zero-gradient", explanation, p, record, "gets gradients of zeros only")

    def _finding(self, check: str, explanation: Explanation, p: Any, record: OptimizerRecord, what: str) -> Finding:
        explanation.headline = f"a parameter that the optimizer holds {what}"
        explanation.symptom = "no-update"
        explanation.parameters = [self.audit.name_of(p) or f"a tensor of shape {tuple(p.shape)}"]
        return Finding(check, locate(record.stepped_at), explanation)

    def zeroed(self, owner: Any, site: Site) -> None:
        self._cleared.add(id(owner))

    def _is_cleared(self, root: Any) -> bool:
        """Whether the program calls zero_grad() of a model that is in training mode: it means to train it."""
        return root.training and id(root) in self._cleared

    def _is_meant_to_train(self, root: Any, p: Any, record: OptimizerRecord) -> bool:
        """Whether a parameter that no optimizer holds is one that the program forgot, rather than one it leaves alone."""
        if self._is_cleared(root):
            return True
        if (notes_of(p).switched_at or (False,))[0]:
            return True  # it was frozen, and has been unfrozen since
        around = list(self.audit.modules.modules_around(p))
        if any(id(q) in record.held_ids for q in around[-1].parameters(recurse=False)):
            return True  # another parameter of the same layer is held
        children = [q for child in around[-1].children() for q in child.parameters()]
        if children and all(id(q) in record.held_ids for q in children):
            return True  # all layers beside it are held
        if self.audit.modules.is_younger(around[-1], record.made_number):
            return True  # made after the optimizer
        before = takewhile(lambda q: q is not p, root.parameters())
        return any(id(q) in record.held_ids for q in before) and _is_scattered(root, record)

    def deposited(self, leaf: Any, backward: Any, gradient: Any) -> None:
        if (is_parameter(leaf) and id(leaf) not in self._first and len(self._first) < MAX_SAMPLES
                and not any(id(leaf) in record.held_ids for record in self.audit.optimizers.values())):
            self._first[id(leaf)] = leaf, sample(leaf)

    def _is_unchanged(self, p: Any) -> bool:
        """Whether nobody has written a parameter, or only moved it to another place, since a gradient first reached it."""
        known = self._first.get(id(p))
        return self.audit.watch.is_unchanged(p) or (
            known is not None and known[0] is p and shape_of(p) != () and same(known[1], sample(p)))

    def _not_held(self, record: OptimizerRecord) -> Finding | None:
        """Parameters that get gradients and are in no optimizer, while this one trains or holds others of their model."""
        watch, modules = self.audit.watch, self.audit.modules
        held = {id(p) for known in self.audit.optimizers.values() for p in known.parameters}
        # An optimizer that made its last step before this one began trains nothing any more.
        ended = held - {id(p) for known in self.audit.optimizers.values() if known.last_round >= record.first_round
                        for p in known.parameters}
        orphans = []
        for p in watch.reached:
            ledger = ledger_of(p)
            if not is_parameter(p) or not p.requires_grad or ledger is None or ledger.deposit_count < MIN_STEPS:
                continue
            is_left = id(p) in ended and (notes_of(p).switched_at or (False,))[0]
            if is_left or (id(p) not in held and not ledger.held and self._is_unchanged(p) and not watch.is_read_by_program(p)):
                orphans.append(p)
        if not orphans:
            return None
        ours = {id(p) for p in record.parameters}
        left_behind = not all(was_reached(p) and self.audit.name_of(p) for p in record.parameters)
        for root in list(modules.roots.values()):
            hidden = unregistered_of(root)
            own = {id(p) for p in root.parameters()}
            found = [p for p in orphans
                     if id(p) in hidden or (id(p) in own and (left_behind or self._is_meant_to_train(root, p, record)))]
            if not found or not (own & ours or self._is_cleared(root)):
                continue
            path = hidden.get(id(found[0]), "")
            owner = Owner("model", root, f"model.{path}", False) if path else None
            names = [hidden.get(id(p)) or self.audit.name_of(p) for p in found]
            visible = [named.path if named is not None else name for p, name in zip(found, names, strict=True)
                       for named in [owner_of(p, vars(sys.modules["__main__"]))]]
            made = [record.made_at] if record.made_at is not None else []
            explanation = not_in_optimizer_explanation(owner, made, listed(visible))
            explanation.headline = f"{count_of(len(names), 'parameter')} that get gradients, but no optimizer updates them"
            switched = notes_of(found[0]).switched_at
            if switched is not None and switched[0]:
                explanation.text += f" requires_grad was switched on {at(switched[1])}, after the optimizer was made."
                explanation.causes += locate_all(switched[1])
            if not path:
                explanation.causes += locate_all(*[cause.site for cause in causes_of(found[0])])
            explanation.parameters = names
            return Finding("not-held", locate(record.stepped_at), explanation)
        return self._without_module(record, orphans)

    def _without_module(self, record: OptimizerRecord, orphans: list[Any]) -> Finding | None:
        """A parameter that no module has: an operation on nn.Parameter(...) gives a plain tensor, which is not registered."""
        lost = [p for p in orphans if self.audit.modules.owner(p) is None and (ledger := ledger_of(p)) is not None
                and ledger.deposit_count >= MIN_STEPS_UNUSED]
        if not lost:
            return None
        made = [record.made_at] if record.made_at is not None else []
        explanation = not_in_optimizer_explanation(None, made, f"a parameter of shape {tuple(lost[0].shape)}")
        explanation.text += (" No module has it: what is stored in its place was computed from it (an operation on "
                             "nn.Parameter(...) gives a plain tensor), so parameters() does not find it.")
        explanation.headline = "a parameter gets gradients, but no optimizer updates it"
        explanation.causes = locate_all(*[cause.site for cause in causes_of(lost[0])]) + explanation.causes
        return Finding("not-held", locate(record.stepped_at), explanation)


def _is_scattered(root: Any, record: OptimizerRecord) -> bool:
    """Whether the parameters that are held alternate with others more than once: they were picked by kind, not by part."""
    flags = [id(p) in record.held_ids for p in root.parameters()]
    return sum(a != b for a, b in pairwise(flags)) > 2
