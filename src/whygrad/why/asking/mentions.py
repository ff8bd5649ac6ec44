"""Which parameters of the program's models a question is about: by path, part of a path, class, or place ("first layer")."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from whygrad.why.engine import causes_of, is_tensor
from whygrad.why.locations import locate
from whygrad.why.module_owners import unregistered
from whygrad.why.program_text import statement_of, targets_of

# Attributes of a tensor that may stand at the end of an expression, and methods of modules.
_ENDS = {"grad", "grad_fn", "data", "requires_grad", "shape", "parameters", "named_parameters", "is_leaf", "values"}
# Words of a question that also occur in names, but name nothing.
_GENERIC = re.compile(
    r"weights?|bias|biases|params?|parameters?|layers?|model|module|net|network|grads?|gradients?|loss|losses|steps?|training|train|"
    r"learn|input|outputs?|the|and|not|all|any|out|one|two|are|why|does|its|for|from|that|this|self|batch|data|eval|values?|mean|sum|"
    r"log|test|memory|state|class|mask")
_ORDINALS = {"first": 0, "1st": 0, "input": 0, "early": 0, "earliest": 0, "lower": 0, "bottom": 0, "second": 1, "2nd": 1,
             "third": 2, "3rd": 2, "fourth": 3, "last": -1, "final": -1, "output": -1, "top": -1}
_PLACE = re.compile(rf"\b({'|'.join(_ORDINALS)}) (\w+ )?(layers?|blocks?|modules?|linear|conv\w*)\b")


class Known(NamedTuple):
    """A parameter of the program: its name in its model, the model's variables, and the classes of the modules around it."""

    p: Any
    name: str
    variables: tuple[str, ...]
    classes: tuple[str, ...]
    # The id of the model.
    root: int = 0
    # The name that findings give it, if it is another one: with the model, where two have parameters of this name.
    qualified: str = ""


def known_parameters(watch: Any) -> list[Known]:
    """Parameters of the models that the run had, and plain tensors that an optimizer holds."""
    modules = watch.audit.modules
    found: dict[int, Known] = {}
    variables: dict[int, list[str]] = {}
    for name, module in watch.modules_in_variables():
        variables.setdefault(id(module), []).append(name)
    roots = {id(m): m for m in (*modules.roots.values(), *[module for _, module in watch.modules_in_variables()])}
    for root in roots.values():
        classes = _classes(root)
        for name, p in (*root.named_parameters(remove_duplicate=False), *unregistered(root)):
            outer = [classes[path] for path in _prefixes(name) if path in classes]
            known = Known(p, name, tuple(variables.get(id(root), ())), tuple(outer), id(root), watch.audit.name_of(p))
            if id(p) not in found or len(known.name) > len(found[id(p)].name):
                found[id(p)] = known
    for name, value in watch.scope().items():
        if is_tensor(value) and value.requires_grad and value.is_leaf and id(value) not in found:
            found[id(value)] = Known(value, name, (), ())
    for record in watch.audit.optimizers.values():
        for p in record.parameters:
            if id(p) not in found and causes_of(p):
                names = [name for name in targets_of(statement_of(locate(causes_of(p)[0].site))) if "." not in name]
                if names:
                    found[id(p)] = Known(p, names[0], (), ())
    return list(found.values())


def _classes(root: Any) -> dict[str, str]:
    return {path: type(module).__name__.lower() for path, module in root.named_modules()}


def _prefixes(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:n]) for n in range(len(parts)))


def dotted(expression: str) -> str:
    """`model.encoder[0].weight.grad` as the path `model.encoder.0.weight`."""
    parts = [part.removesuffix("()") for part in re.sub(r"\[['\"]?([\w-]+)['\"]?\]", r".\1", expression).split(".")]
    while len(parts) > 1 and parts[-1] in _ENDS:
        parts.pop()
    return ".".join(parts)


def mentioned(words: str, expressions: list[str], known: list[Known]) -> list[Known]:
    """The parameters that a question (in lower case) names; empty if it is about none in particular."""
    for expression in expressions:
        found = _at_path(dotted(expression), known)
        if found:
            return found
    for word in re.findall(r"(?!a\b)[a-z_](?:[\w.]*\w)?", words):
        found = [] if _GENERIC.fullmatch(word) else _at_path(word, known)
        if found:
            return _narrowed(found, words)
    placed = _PLACE.search(words)
    if placed is not None:
        return _narrowed(_at_place(_ORDINALS[placed[1]], known), words)
    for word in re.findall(r"[a-z_]\w{2,}", words):
        found = [] if _GENERIC.fullmatch(word) else [k for k in known if _is_called(word, k)]
        if found and len(found) < len(known):
            return _narrowed(found, words)
    kinds = [kind for kind in ("bias", "weight") if re.search(rf"\b(all |the |my )?{kind}(es)?\b", words)]
    if kinds == ["bias"]:
        return [k for k in known if k.name.endswith("bias")]
    return []


def _at_path(path: str, known: list[Known]) -> list[Known]:
    """The parameters at a path, or below it; the path may begin with a variable that holds the model, or be misspelt."""
    path = path.lower()
    exact = [k for k in known if path in _full_names(k)]
    if exact:
        return exact
    below = [k for k in known if any(f".{name}.".find(f".{path}.") >= 0 for name in _full_names(k))]
    if below and len(below) < len(known):
        return below
    rest = path.partition(".")[2]
    if rest:
        inner = [k for k in known if f"{k.name.lower()}.".startswith(f"{rest}.")]
        if inner:
            return inner
        near = difflib.get_close_matches(path, [name for k in known for name in _full_names(k)], 1, 0.85)
        return [k for k in known if near and near[0] in _full_names(k)]
    return below if any(path in k.variables for k in below) else []


def _full_names(k: Known) -> list[str]:
    return [k.name.lower(), dotted(k.qualified).lower(), *[f"{variable}.{k.name}".lower() for variable in k.variables]]


def _is_called(word: str, k: Known) -> bool:
    """"embedding" for `emb.weight`, "convolutions" for a Conv2d, "critic" for a Critic."""
    stem = word.rstrip("s")
    parts = [part for part in k.name.lower().split(".")[:-1] if not part.isdigit()]
    return any(len(name) > 2 and (name.startswith(stem) or stem.startswith(name)) for name in (*parts, *k.classes)) or (
        k.name.lower().startswith(stem) and "." not in k.name)


def _at_place(position: int, known: list[Known]) -> list[Known]:
    """The parameters of the first, second ... last layer of the largest model."""
    models: dict[Any, dict[str, list[Known]]] = {}
    for k in known:
        if k.classes:
            models.setdefault(k.root, {}).setdefault(k.name.rpartition(".")[0], []).append(k)
    ordered = list(max(models.values(), key=len, default={}).values())
    return ordered[position] if -len(ordered) <= position < len(ordered) else []


def _narrowed(found: list[Known], words: str) -> list[Known]:
    """Only the biases, or only the weights, if the question says so."""
    for kind in ("bias", "weight"):
        own = [k for k in found if k.name.endswith(kind)]
        if re.search(rf"\b{kind}\b", words) and own:
            return own
    return found
