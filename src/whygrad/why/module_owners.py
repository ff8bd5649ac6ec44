"""Which module owns a tensor, and the name of a tensor in an answer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any, NamedTuple

from whygrad.why.engine import Tensor, is_module, is_tensor
from whygrad.why.locations import SourceLocation
from whygrad.why.program_text import parse_expression, subject_of

# Items of a list, dict or object that are searched for modules.
MAX_ITEMS = 200


class Owner(NamedTuple):
    """A module that a variable of the program refers to, and the path of the tensor in it."""

    name: str
    module: Any
    path: str
    # False if the tensor is in a plain list or a plain attribute, where parameters() does not find it.
    registered: bool


def visible_variables(frame: FrameType | None) -> dict[str, Any]:
    """Globals and locals of a frame; locals win."""
    if frame is None:
        return {}
    return {**frame.f_globals, **frame.f_locals}


def owner_of(t: Tensor, scope: dict[str, Any]) -> Owner | None:
    """The outermost module among the variables in `scope` that contains the tensor."""
    found: Owner | None = None
    for name, value in _modules_in(scope):
        here = _find_in_module(name, value, t)
        if here is not None and (found is None or len(here.path) - len(here.name) > len(found.path) - len(found.name)):
            found = here
    return found


def _modules_in(scope: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Modules in variables, and in lists, dicts and plain objects that are in variables."""
    for name, value in list(scope.items()):
        if name.startswith("_") or is_tensor(value) or isinstance(value, (type, ModuleType)):
            continue
        if is_module(value):
            yield name, value
            continue
        inside = getattr(value, "__dict__", {})
        items = ([*_named_items(name, value)] if isinstance(value, (dict, list, tuple)) else
                 [(f"{name}.{key}", item) for key, item in inside.items()] if isinstance(inside, dict) else [])
        yield from ((path, item) for path, item in items[:MAX_ITEMS] if is_module(item))


def parameters_in(scope: dict[str, Any]) -> Iterator[tuple[str, Tensor]]:
    for name, module in _modules_in(scope):
        yield from ((f"{name}.{path}", p) for path, p in module.named_parameters())


def is_buffer(t: Tensor, scope: dict[str, Any]) -> bool:
    return any(buffer is t for _, module in _modules_in(scope) for buffer in module.buffers())


def parts_leading_to(owner: Owner) -> Iterator[tuple[str, Any]]:
    """The module and its submodules that contain the tensor, outermost first, with their names."""
    name, module = owner.name, owner.module
    yield name, module
    for part in owner.path.removeprefix(f"{owner.name}.").split(".")[:-1]:
        module = getattr(module, "_modules", {}).get(part)
        if module is None:
            return
        name = f"{name}.{part}"
        yield name, module


def _find_in_module(name: str, module: Any, t: Tensor) -> Owner | None:
    for path, parameter in module.named_parameters(remove_duplicate=False):
        if parameter is t:
            return Owner(name, module, f"{name}.{path}", True)
    for path, value in unregistered(module):
        if value is t:
            return Owner(name, module, f"{name}.{path}", False)
    return None


def unregistered(module: Any) -> Iterator[tuple[str, Tensor]]:
    """Tensors in plain attributes, lists and dicts of a module, which `parameters()` does not search."""
    for prefix, inner in module.named_modules():
        base = f"{prefix}." if prefix else ""
        for name, value in list(vars(inner).items()):
            if name.startswith("_"):
                continue
            for path, item in _flattened(name, value):
                if is_module(item):
                    yield from ((f"{base}{path}.{n}", p) for n, p in item.named_parameters())
                elif is_tensor(item):
                    yield f"{base}{path}", item


def _flattened(name: str, value: Any, depth: int = 3) -> Iterator[tuple[str, Any]]:
    """The items of lists and dicts, those inside of others as well."""
    for path, item in _named_items(name, value):
        if item is not value and isinstance(item, (dict, list, tuple)) and depth:
            yield from _flattened(path, item, depth - 1)
        else:
            yield path, item


def _named_items(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield f"{name}[{key!r}]", item
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield f"{name}[{i}]", item
    else:
        yield name, value


def name_of(t: Tensor, read: SourceLocation | None, frame: FrameType | None) -> str:
    """The name of a tensor in an answer: the expression that was read, or the path in its model for a plain variable."""
    subject = subject_of(read)
    if subject and not isinstance(parse_expression(subject), ast.Name):
        return subject
    owner = owner_of(t, visible_variables(frame))
    if owner is not None:
        return owner.path
    return subject
