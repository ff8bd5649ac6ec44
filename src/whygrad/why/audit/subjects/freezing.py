"""Freezing: is the layer that makes the output trained, if it has the random weights that it was made with?"""

from __future__ import annotations

import ast
import re
import weakref
from collections.abc import Iterator
from typing import Any

from whygrad.why.audit.finding import Finding, count_of, finding, listed
from whygrad.why.audit.observation import ModuleCall
from whygrad.why.audit.optimizer_record import OptimizerRecord
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import array_of, is_tensor, notes_of
from whygrad.why.locations import expression_at, locate, location_of_line, source_lines
from whygrad.why.program_text import lines_matching, statements
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest, was_reached

MIN_STEPS = 5
MAX_LAYERS = 64
LOADING = re.compile(r"from_pretrained|load_state_dict|load_from_checkpoint|\b(torch|pickle)\.load\b")
MAX_MODULES = 20_000


class Freezing(Subject):
    every_round = frozenset({"state_loaded"})
    checks = {"new-layer": "a new output layer is not frozen"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # Modules whose state was loaded, by id; the layer with weights that was called last, and those that made outputs.
        self._loaded: dict[int, weakref.ref[Any]] = {}
        self._last: Any = None
        self._outputs: dict[int, Any] = {}

    def state_loaded(self, owner: Any, site: Site) -> None:
        for module in owner.modules() if hasattr(owner, "modules") else ():
            self._loaded[id(module)] = weakref.ref(module)
        drop_oldest(self._loaded, MAX_MODULES)

    def module_called(self, call: ModuleCall) -> None:
        has_weights = any(p is not None for p in vars(call.module).get("_parameters", {}).values())
        if has_weights and call.module.training and is_tensor(call.output) and call.output.requires_grad:
            self._last = call.module

    def backward_begun(self, backward: Any, root: Any) -> None:
        if self._last is not None:
            self._outputs[id(self._last)] = self._last
            drop_oldest(self._outputs, MAX_LAYERS)
        self._last = None

    def was_seen(self, check: str) -> bool:
        return bool(self._outputs)

    def _idle_adapters(self) -> Iterator[Finding]:
        """An adapter of peft that was added to a model in training, and does nothing: its second factor is still zero."""
        for root in list(self.audit.modules.roots.values()):
            adapted = next((m for m in root.modules() if isinstance(getattr(m, "peft_config", None), dict)), None)
            record = None if adapted is None else self._trainer_of(root)
            if adapted is None or record is None or len(adapted.peft_config) < 2:
                continue
            for name in adapted.peft_config:
                own = [(path, p) for path, p in root.named_parameters() if "lora_" in path and f".{name}." in path]
                last = [p for path, p in own if "lora_B" in path]
                if last and not any(was_reached(p) for _, p in own) and not any(array_of(p).any() for p in last):
                    here = locate(record.made_at)
                    lines = [] if here is None else lines_matching(here.file, rf"add_adapter\(|[\"']{name}[\"']")
                    yield finding("new-layer", "frozen", f"the adapter {name!r} is never trained",
                                  f"The model has the adapters {listed(list(adapted.peft_config))}, but no gradient ever reached "
                                  f"{name!r}: add_adapter() does not make it the active one, so that the steps "
                                  f"{at(record.stepped_at)} change another, and this one still does nothing.",
                                  f"call model.set_adapter({name!r}) before it is trained, and make the optimizer after that.",
                                  at=record.stepped_at, causes=(*lines[:3], record.made_at), parameters=[path for path, _ in own])

    def findings(self) -> Iterator[Finding]:
        yield from self._idle_adapters()
        yield from self._by_a_part_of_names()
        for module in self._outputs.values():
            weights = [p for p in module._parameters.values() if p is not None]
            owner = self.audit.modules.owner(weights[0])
            record = None if owner is None else self._trainer_of(owner[0])
            switched = [notes_of(p).switched_at for p in weights]
            if owner is None or record is None or any(p.requires_grad or was_reached(p) for p in weights) or None in switched:
                continue
            frozen_at = [state[1] for state in switched if state is not None]
            names = [self.audit.name_of(p) for p in weights]
            adapted = next((m for m in owner[0].modules() if getattr(m, "peft_config", None)), None)
            if adapted is not None and not self._is_vocabulary(module, owner[0]) and not self._is_loaded(module):
                yield self._beside_adapters(module, adapted, names, record, frozen_at[-1])
                continue
            made = self.audit.modules.made_at(module)
            if not self._is_new(module, made):
                continue
            name = self.audit.path_of(module)
            yield finding(
                "new-layer", "frozen", "the new output layer is frozen",
                f"`{name}` ({type(module).__name__}) makes the output. It was made {at(made)}; unlike the rest of the model, "
                f"it has learned nothing yet, and requires_grad of {listed(names)} was set to False {at(frozen_at[-1])}: in "
                f"{count_of(record.steps, 'step')} it stays as it was drawn at random.",
                "freeze the pretrained layers only, and let the new ones require grad.",
                at=record.stepped_at, causes=(frozen_at[-1], made, record.made_at), parameters=names)

    def _by_a_part_of_names(self) -> Iterator[Finding]:
        """`if "enc" in name: p.requires_grad = False` also finds dec.enc_attn."""
        for root in list(self.audit.modules.roots.values()):
            record = self._trainer_of(root)
            here = None if record is None else locate(record.stepped_at)
            for statement in statements(here.file) if record is not None and here is not None else ():
                word = _word_of(statement)
                if word is None or here is None or record is None:
                    continue
                found: dict[int, list[str]] = {}
                for name, p in root.named_parameters():
                    place = next((i for i, part in enumerate(name.split(".")) if word in part), None)
                    if place is not None and not p.requires_grad:
                        found.setdefault(place, []).append(name)
                names = [name for place, several in found.items() if place for name in several]
                if len(found) > 1 and 0 in found and len({name.split(".")[0] for name in found[0]}) == 1:
                    line = location_of_line(here.file, statement.lineno)
                    yield finding("new-layer", "frozen", "more is frozen than the part that is named",
                                  f"Line {line.line} freezes each parameter whose name contains {word!r}: those of "
                                  f"`{found[0][0].split('.')[0]}`, but also {count_of(len(names), 'parameter')} elsewhere "
                                  f"({listed(names)}), which stay as they were made.",
                                  f"compare the beginning: name.startswith('{found[0][0].split('.')[0]}.').",
                                  at=record.stepped_at, causes=(line, *[location_of_line(here.file, statement.lineno + 1)]),
                                  parameters=names)
                    return

    def _trainer_of(self, root: Any) -> OptimizerRecord | None:
        """The optimizer that trains other parameters of a model."""
        own = {id(p) for p in root.parameters()}
        return next((record for record in self.audit.optimizers.values() if record.steps >= MIN_STEPS and own & record.held_ids),
                    None)

    def _is_vocabulary(self, module: Any, root: Any) -> bool:
        """Whether a layer gives a score for each word: then it belongs to what was pretrained."""
        words = {m.num_embeddings for m in root.modules() if hasattr(m, "num_embeddings")}
        return any(p.shape[0] in words for p in module._parameters.values() if p is not None)

    def _beside_adapters(self, module: Any, adapted: Any, names: list[str], record: OptimizerRecord, frozen_at: Site) -> Finding:
        made = self.audit.modules.making(adapted)
        here = locate(record.made_at) or locate(frozen_at)
        lines = [] if here is None else lines_matching(here.file, r"LoraConfig\(|get_peft_model\(|\w+Config\([^)]*target_modules")
        return finding(
            "new-layer", "frozen", "the output layer is frozen with the base model",
            f"`{self.audit.path_of(module)}` ({type(module).__name__}) makes the output, and no weights were loaded into it. "
            f"peft froze everything but its adapters {at(frozen_at)}, so that {listed(names)} do not require grad: in "
            f"{count_of(record.steps, 'step')} the layer stays as it was drawn at random.",
            'let peft train it as well: LoraConfig(..., modules_to_save=["classifier"]), or with the task_type of the model.',
            at=record.stepped_at, causes=(*lines[:3], frozen_at, *made[:1]), parameters=names)

    def _is_new(self, module: Any, made: Site | None) -> bool:
        """Whether the program itself made it, and others of its model have learned something: a state was loaded into them, or
        gradients have reached them before they were frozen."""
        line, owner = locate(made), self.audit.modules.owner(next(iter(module.parameters())))
        if owner is not None and line is not None and "site-packages" in line.file and not self._is_loaded(module):
            here = next((place for site in self.audit.modules.making(owner[0])
                         if (place := locate(site)) is not None and "site-packages" not in place.file), None)
            # A model of a library that the program made from its configuration has no weights that were loaded.
            return here is not None and not self._is_vocabulary(module, owner[0]) and not any(
                map(LOADING.search, source_lines(here.file)))
        is_own = line is not None and "site-packages" not in line.file and "load" not in expression_at(made)
        if not is_own or owner is None or self._is_loaded(module):
            return False
        frozen = [p for p in owner[0].parameters() if not p.requires_grad]
        return any(map(self._is_loaded, owner[0].modules())) or any(map(was_reached, frozen))

    def _is_loaded(self, module: Any) -> bool:
        known = self._loaded.get(id(module))
        return known is not None and known() is module


def _word_of(statement: ast.stmt) -> str | None:
    """The word of `if word in name: p.requires_grad = False`."""
    test = statement.test if isinstance(statement, ast.If) else None
    if not isinstance(statement, ast.If) or not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.In):
        return None
    body = "\n".join(map(ast.unparse, statement.body))
    word = test.left.value if isinstance(test.left, ast.Constant) else None
    return word if isinstance(word, str) and re.search(r"requires_grad(_\(False| = False)", body) else None
