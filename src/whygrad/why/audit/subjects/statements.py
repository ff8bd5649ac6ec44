"""Statements: is what the program computes from its parameters and tensors kept?"""

from __future__ import annotations

import ast
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

from whygrad.why import engine
from whygrad.why.audit.finding import Finding, finding
from whygrad.why.audit.observation import Call, ModuleCall
from whygrad.why.audit.subject import Subject
from whygrad.why.causes import at
from whygrad.why.engine import is_node, is_parameter, is_tensor, source_of
from whygrad.why.gradient_flow import summands_of
from whygrad.why.locations import SourceLocation, locate
from whygrad.why.program_text import called_name, is_overwritten, is_read_after, is_tried, rebound_names, statement_of
from whygrad.why.record import Site
from whygrad.why.run_facts import drop_oldest

MAX_SITES = 4096
MAX_FOUND = 8
MIN_ROUNDS = 3
# Modules have these methods too: `model.float()` is a statement of its own.
OF_MODULES = {"to", "float", "double", "half", "bfloat16", "type", "cpu", "cuda"}


def _overwritten(site: Site) -> list[tuple[int, str]]:
    """The names of `a, b = ...` in a loop that each turn overwrites, with their positions."""
    where = locate(site)
    statement = statement_of(where)
    if where is None or not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Tuple):
        return []
    return [(i, target.id) for i, target in enumerate(statement.targets[0].elts)
            if isinstance(target, ast.Name) and is_overwritten(where.file, statement, target.id)]


class Dropped(NamedTuple):
    """A statement whose result nobody keeps. `name` is the variable that it binds again, or empty."""

    where: SourceLocation
    function: str
    name: str
    # True if it computes with a parameter, or with what depends on one.
    concerns_parameters: bool


class Statements(Subject):
    checks = {"kept": "what is computed is kept"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        # Sites, by id of their code: its hash takes time in proportion to its length.
        self._seen: set[tuple[int, int]] = set()
        self._dropped: dict[int, Dropped] = {}
        # Statements in a loop whose names are overwritten in each turn, by line: (position in a tuple, name). What they made
        # since the last backward, and the rounds in which the last of several was a summand of the loss.
        self._overwriting: dict[Site, list[tuple[int, str]]] = {}
        self._made: dict[tuple[Site, str], list[tuple[weakref.ref[Any], int]]] = {}
        self._lost: dict[tuple[Site, str], dict[int, int]] = {}

    def called(self, call: Call) -> None:
        site = id(call.site[0]), call.site[1]
        if site in self._seen or len(self._seen) > MAX_SITES or call.site[0] is None:
            return
        self._seen.add(site)
        if not is_tensor(call.result) or any(call.result is a for a in call.args) or call.kwargs.keys() & {"out", "inplace"}:
            return
        tensors = [a for a in call.args if is_tensor(a)]
        if not tensors or len(self._dropped) >= MAX_FOUND:
            return
        where = locate(call.site)
        statement = statement_of(where)
        if where is None or statement is None:
            return
        function = call.name.rpartition(".")[2]
        name = ""
        if isinstance(statement, ast.Expr):
            is_dropped = (called_name(statement.value) == function and not function.endswith("_") and function not in OF_MODULES
                          and not is_tried(where.file, statement))
        else:
            name = next((n for n in rebound_names(statement) if n.isidentifier()), "")
            is_dropped = isinstance(statement, ast.Assign) and bool(name) and not is_read_after(where.file, statement, name)
        if is_dropped:
            concerns = any(is_parameter(t) or t.requires_grad for t in tensors) or ".grad" in ast.unparse(statement)
            self._dropped.setdefault(id(statement), Dropped(where, function, name, concerns))

    def module_called(self, call: ModuleCall) -> None:
        """A layer's second result, such as a log-determinant, may be meant to be summed over layers."""
        if not isinstance(call.output, tuple):
            return
        names = self._overwriting.get(call.site)
        if names is None:
            names = self._overwriting[call.site] = _overwritten(call.site)
            drop_oldest(self._overwriting, MAX_SITES)
        for position, name in names:
            output = call.output[position] if position < len(call.output) else None
            if is_tensor(output) and is_node(source := source_of(output)):
                self._made.setdefault((call.site, name), []).append((weakref.ref(source), id(call.module)))

    def backward_begun(self, backward: Any, root: Any) -> None:
        if not self._made:
            return
        summands = set(map(id, summands_of(root)))
        for key, made in self._made.items():
            alive = [node for reference, _ in made if (node := reference()) is not None]
            is_of_layers = len({module for _, module in made}) == len(made) > 1  # a recurrent cell is one module, for each place
            if is_of_layers and alive and id(alive[-1]) in summands and not any(id(n) in summands for n in alive[:-1]):
                self._lost.setdefault(key, {})[self.audit.round] = len(made)
        self._made.clear()

    def rebinding(self) -> list[SourceLocation]:
        """The lines that bind a name to a new tensor which nobody reads."""
        return [dropped.where for dropped in self._dropped.values() if dropped.name]

    def was_seen(self, check: str) -> bool:
        return bool(self._seen)

    def findings(self) -> Iterator[Finding]:
        for (site, name), rounds in self._lost.items():
            if len(rounds) >= MIN_ROUNDS:
                count = max(rounds.values())
                yield finding("kept", "term-without-influence", "only the last of several terms counts in the loss",
                              f"`{name}` is computed {count} times in a loop {at(site)}, and each turn overwrites it: only the "
                              f"last is added to the loss, the other {count - 1} are lost, in {len(rounds)} observed steps.",
                              f"add them up: {name} = {name} + ...", at=site, causes=(site,), symptom="wrong-value")
        for where, function, name, concerns in self._dropped.values():
            if name:
                yield finding("kept", "result-dropped", "a new value is bound to a name, and nobody reads it",
                              f"{where.quoted()} makes a new tensor and binds `{name}` to it. The tensor that `{name}` meant "
                              f"before keeps its values, and `{name}` is not read again: this line has no effect.",
                              f"write into the tensor: {name}.copy_(...), or in-place methods such as {name}.mul_(...), under "
                              "torch.no_grad().", at=where, causes=(where,), symptom="no-update", odd=not concerns)
            else:
                yield finding("kept", "result-dropped", "the result of a call is dropped",
                              f"{where.quoted()} returns a new tensor and changes nothing, and nobody keeps what it "
                              "returns: this line has no effect.",
                              "assign the result" + (f", or use the method that works in place ({function}_)."
                                                     if hasattr(engine.current.tensor_class, f"{function}_") else "."),
                              at=where, causes=(where,), symptom="no-update", odd=not concerns)
