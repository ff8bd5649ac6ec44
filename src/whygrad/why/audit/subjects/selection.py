"""Selection: are the weights that are kept those of the best measurement?"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from whygrad.why.audit.finding import Finding, finding
from whygrad.why.audit.subject import Subject
from whygrad.why.gradient_flow import COMPARING
from whygrad.why.locations import location_of_line
from whygrad.why.program_text import called_name, syntax_tree, targets_of
from whygrad.why.record import Site

MAX_FILES = 16
ERRORS = re.compile(r"loss|error|\berr|mse|mae|rmse|nll|perplexity|\bppl|\bcer\b|\bwer\b", re.IGNORECASE)
MERITS = re.compile(r"(^|_|\b)(acc|accuracy|f1|auc|iou|dice|bleu|precision|recall|r2|psnr)(_|$|\b)", re.IGNORECASE)
# Names of what is meant to be the worst.
WORST = re.compile(r"worst|hard|peak|max|highest|largest|min|lowest|smallest", re.IGNORECASE)
KEEPING = {"state_dict", "deepcopy", "save", "save_checkpoint", "save_pretrained", "clone"}
LARGER, SMALLER = (ast.Gt, ast.GtE), (ast.Lt, ast.LtE)


class Selection(Subject):
    every_round = frozenset({"mode_set", "state_loaded"})
    checks = {"selection": "the weights that are kept are those of the best measurement"}

    def __init__(self, audit: Any) -> None:
        super().__init__(audit)
        self._files: set[str] = set()
        self._seen = False

    def mode_set(self, module: Any, training: bool, site: Site) -> None:
        self._add(site)

    def state_loaded(self, owner: Any, site: Site) -> None:
        self._add(site)

    def _add(self, site: Site) -> None:
        is_own = site[0] is not None and "site-packages" not in site[0].co_filename
        if is_own and len(self._files) < MAX_FILES:
            self._files.add(site[0].co_filename)

    def was_seen(self, check: str) -> bool:
        return self._seen

    def findings(self) -> Iterator[Finding]:
        for record in self.audit.optimizers.values():
            if record.stepped_at is not None:
                self._add(record.stepped_at)
        for file in self._files:
            tree = syntax_tree(file)
            yield from self._monitors(file, tree)
            for node in ast.walk(tree) if tree is not None else ():
                if isinstance(node, ast.If) and _keeps(node):
                    yield from self._keeping(file, tree, node)

    def _monitors(self, file: str, tree: ast.Module | None) -> Iterator[Finding]:
        """EarlyStopping(monitor="val_loss", mode="max"), and the like."""
        for call in ast.walk(tree) if tree is not None else ():
            given = {word.arg: word.value.value for word in call.keywords if isinstance(word.value, ast.Constant)} if isinstance(
                call, ast.Call) else {}
            what, mode = given.get("monitor", given.get("metric_for_best_model")), given.get("mode")
            if "greater_is_better" in given:
                mode = "max" if given["greater_is_better"] else "min"
            if not isinstance(call, ast.Call) or not isinstance(what, str) or mode not in ("min", "max"):
                continue
            self._seen = True
            is_error, is_merit = bool(ERRORS.search(what)), bool(MERITS.search(what))
            if is_error != is_merit and is_error == (mode == "max"):
                line = location_of_line(file, call.lineno)
                yield finding("selection", "selection-reversed", "the worst weights are kept, not the best",
                              f"{called_name(call)} in line {line.line} waits for `{what}` to become "
                              f"{'larger' if is_error else 'smaller'}: it takes the worst measurement for the best one, and "
                              "stops, or keeps the weights, when training goes well.",
                              f'use mode="{"min" if is_error else "max"}".', causes=(line,),
                              symptom="wrong-value")

    def _keeping(self, file: str, tree: ast.Module | None, node: ast.If) -> Iterator[Finding]:
        """`if value < best: best = value; keep the weights`."""
        test = node.test
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or tree is None:
            return
        value, best, operator = ast.unparse(test.left), ast.unparse(test.comparators[0]), test.ops[0]
        sign = isinstance(operator, LARGER) - isinstance(operator, SMALLER)
        bound = {name for statement in node.body for name in targets_of(statement)}
        if value in bound and best not in bound:
            value, best, sign = best, value, -sign
        if best not in bound or not sign or WORST.search(best):
            return
        self._seen = True
        is_error, is_merit = _is_error(tree, value), bool(MERITS.search(value))
        first = location_of_line(file, node.lineno)
        starts = [s for s in ast.walk(tree) if isinstance(s, ast.Assign) and s.lineno < node.lineno and best in targets_of(s)]
        if is_error != is_merit and is_error == (sign > 0):
            what = "an error, and the largest one" if is_error else "a merit, and the smallest one"
            yield finding("selection", "selection-reversed", "the worst weights are kept, not the best",
                          f"`{value}` is {what} is kept as `{best}` in line {node.lineno} (`{ast.unparse(test)}`): the weights "
                          "that are stored, or restored in the end, are those of the worst measurement.",
                          f"compare the other way: {value} {'<' if is_error else '>'} {best}.", causes=(first,),
                          symptom="wrong-value")
        elif is_error and sign < 0 and starts and all(_is_zero(s, best) for s in starts):
            start = location_of_line(file, starts[-1].lineno)
            yield finding("selection", "selection-reversed", "no weights are ever kept",
                          f"`{best}` begins as 0 in line {start.line}, and weights are kept if `{ast.unparse(test)}`: an error "
                          "is never below zero, so none are.", f"begin with {best} = float('inf').", causes=(start, first),
                          symptom="wrong-value")


def _keeps(node: ast.If) -> bool:
    return any(called_name(call) in KEEPING for statement in node.body for call in ast.walk(statement))


def _is_error(tree: ast.Module, value: str) -> bool:
    if ERRORS.search(value) and not MERITS.search(value):
        return True
    made = [s.value for s in ast.walk(tree) if isinstance(s, ast.Assign) and value in targets_of(s)]
    return bool(made) and all(any(called_name(call) in COMPARING for call in ast.walk(m)) for m in made)


def _is_zero(statement: ast.Assign, name: str) -> bool:
    """Whether a name is bound to 0, by itself or as one of several."""
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        value = next((v for t, v in zip(target.elts, value.elts, strict=True) if ast.unparse(t) == name), value)
    return isinstance(value, ast.Constant) and value.value == 0 and not isinstance(value.value, bool)
