"""ModelNames: says which model a parameter belongs to, where two models have parameters of the same name.

A model is called by the variable that the line which made it assigns to, else by its class and that line.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from whygrad.why.audit.module_tree import ModuleTree
from whygrad.why.locations import SourceLocation, locate
from whygrad.why.program_text import statement_of


class ModelNames:
    """`is_trained` tells of a parameter whether an optimizer holds it or a gradient has reached it: others are not mistaken."""

    def __init__(self, modules: ModuleTree, is_trained: Callable[[Any], bool]) -> None:
        self._modules = modules
        self._is_trained = is_trained

    def parameter(self, p: Any) -> str:
        """The dotted name of a parameter, with its model where that is not clear; "" if no module has it."""
        found = self._modules.owner(p)
        if found is None:
            return ""
        root, name = found
        others = [q for q in self._modules.named(name) if q is not p and self._is_trained(q)]
        return self._qualified(name, root, [owner[0] for q in others if (owner := self._modules.owner(q)) is not None])

    def module(self, module: Any) -> str:
        """The dotted name of a module in its model, with the model where that is not clear; its class if it is the model."""
        found = self._modules.path_of(module)
        if found is None:
            return type(module).__name__
        root, path = found
        others = [other for other in self._modules.roots.values() if other is not root and _part(other, path) is not None
                  and any(map(self._is_trained, other.parameters()))]
        return self._qualified(path or type(module).__name__, root, others)

    def _qualified(self, name: str, root: Any, others: list[Any]) -> str:
        """Models that the program calls alike (the folds of a cross-validation) cannot be told apart, and need not be."""
        own = self._called(root)
        if all(self._called(other) == own for other in others):
            return name
        variable, kind = own
        return f"{variable}.{name}" if variable else f"{name} ({kind})"

    def _called(self, root: Any) -> tuple[str, str]:
        """The variable to which a model is assigned where it is made, or ""; and its class and the line."""
        places = [here for site in self._modules.making(root) if (here := locate(site)) is not None]
        made = next((here for here in places if here.function != "__init__"), None)
        kind = type(root).__name__ if made is None else f"{type(root).__name__} of {made.place}"
        for here in places:
            variable = _assigned(here)
            if variable.endswith("[]"):  # a comprehension makes several
                alike = [other for other in self._modules.roots.values()
                         if self._modules.making(other) == self._modules.making(root)]
                variable = f"{variable[:-1]}{next((i for i, other in enumerate(alike) if other is root), len(alike))}]"
            if variable:
                return variable, kind
        return "", kind


def _part(root: Any, path: str) -> Any:
    return dict(root.named_modules()).get(path)


def _assigned(here: SourceLocation) -> str:
    """The target to which the statement at a location assigns what is made there: `actor`, `nets[1]`, `nets[]` for a
    comprehension; "" if it assigns nothing."""
    statement = statement_of(here)
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return ""
    target: ast.expr = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    value = statement.value
    place = ""
    if isinstance(value, (ast.List, ast.Tuple)):
        number = next((i for i, item in enumerate(value.elts) if _has(item, here)), None)
        if isinstance(target, (ast.List, ast.Tuple)) and number is not None and len(target.elts) == len(value.elts):
            target = target.elts[number]
        elif number is not None:
            place = f"[{number}]"
    elif isinstance(value, ast.Dict):
        key = next((key for key, item in zip(value.keys, value.values, strict=True) if _has(item, here)), None)
        place = "" if key is None else f"[{ast.unparse(key)}]"
    elif isinstance(value, (ast.ListComp, ast.DictComp, ast.GeneratorExp)) or here.function in ("<listcomp>", "<dictcomp>"):
        place = "[]"
    if not isinstance(target, (ast.Name, ast.Attribute)):
        return ""
    return ast.unparse(target).removeprefix("self.") + place


def _has(node: ast.expr, here: SourceLocation) -> bool:
    begin, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    return begin <= (here.line, here.column) < end
