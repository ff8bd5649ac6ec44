"""How the program calls a tensor, and which module it belongs to."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any, NamedTuple

from whygrad.core.tensor import Tensor
from whygrad.why.places import Place
from whygrad.why.source import expression, subject_of

# In a list or an object of the program so many items are looked at.
MOST_ITEMS = 200


class Owner(NamedTuple):
    """A module that the program can name, which has the tensor somewhere inside."""

    name: str
    module: Any
    path: str
    # False if the module does not know of it: in a plain list, or a plain tensor attribute.
    registered: bool


def variables(frame: FrameType | None) -> dict[str, Any]:
    """What the program can name here: locals of this function, then globals."""
    if frame is None:
        return {}
    return {**frame.f_globals, **frame.f_locals}


def owner_of(t: Tensor, scope: dict[str, Any]) -> Owner | None:
    """The outermost module in `scope` that has the tensor inside."""
    found: Owner | None = None
    for name, value in _modules_in(scope):
        here = _within(name, value, t)
        if here is not None and (found is None or len(here.path) - len(here.name) > len(found.path) - len(found.name)):
            found = here
    return found


def _modules_in(scope: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Modules that the program can name: variables, and what is in its lists, dicts and plain objects."""
    from whygrad.nn.module import Module

    for name, value in list(scope.items()):
        if name.startswith("_") or isinstance(value, (type, ModuleType, Tensor)):
            continue
        if isinstance(value, Module):
            yield name, value
            continue
        inside = getattr(value, "__dict__", {})
        items = ([*_flat(name, value)] if isinstance(value, (dict, list, tuple)) else
                 [(f"{name}.{key}", item) for key, item in inside.items()] if isinstance(inside, dict) else [])
        yield from ((path, item) for path, item in items[:MOST_ITEMS] if isinstance(item, Module))


def parameters_in(scope: dict[str, Any]) -> Iterator[tuple[str, Tensor]]:
    for name, module in _modules_in(scope):
        yield from ((f"{name}.{path}", p) for path, p in module.named_parameters())


def is_buffer(t: Tensor, scope: dict[str, Any]) -> bool:
    return any(buffer is t for _, module in _modules_in(scope) for buffer in module.buffers())


def parts_leading_to(owner: Owner) -> Iterator[tuple[str, Any]]:
    """The module itself and those inside it that hold the tensor, outermost first, with their names."""
    name, module = owner.name, owner.module
    yield name, module
    for part in owner.path.removeprefix(f"{owner.name}.").split(".")[:-1]:
        module = getattr(module, "_modules", {}).get(part)
        if module is None:
            return
        name = f"{name}.{part}"
        yield name, module


def _within(name: str, module: Any, t: Tensor) -> Owner | None:
    for path, parameter in module.named_parameters(remove_duplicate=False):
        if parameter is t:
            return Owner(name, module, f"{name}.{path}", True)
    for path, value in unregistered(module):
        if value is t:
            return Owner(name, module, f"{name}.{path}", False)
    return None


def unregistered(module: Any) -> Iterator[tuple[str, Tensor]]:
    """Tensors that a module has in plain attributes, lists and dicts, where `parameters()` does not look."""
    from whygrad.nn.module import Module

    for prefix, inner in module.named_modules():
        base = f"{prefix}." if prefix else ""
        for name, value in list(vars(inner).items()):
            if name.startswith("_"):
                continue
            for path, item in _flat(name, value):
                if isinstance(item, Module):
                    yield from ((f"{base}{path}.{n}", p) for n, p in item.named_parameters())
                elif isinstance(item, Tensor):
                    yield f"{base}{path}", item


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield f"{name}[{key!r}]", item
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield f"{name}[{i}]", item
    else:
        yield name, value


def name_of(t: Tensor, read: Place | None, frame: FrameType | None) -> str:
    """What to call a tensor in an answer: as the program does, but a loop's `p` by its place in the model."""
    subject = subject_of(read)
    if subject and not isinstance(expression(subject), ast.Name):
        return subject
    owner = owner_of(t, variables(frame))
    if owner is not None:
        return owner.path
    return subject
