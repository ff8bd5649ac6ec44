"""Names of tensors, from the variables of a frame."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any

from whygrad.why.engine import is_tensor

# Variables of a frame, and elements of a list or dict, that are searched.
MAX_VARIABLES, MAX_ELEMENTS = 2000, 200


def tensor_names(frame: FrameType) -> dict[int, str]:
    """id of each tensor -> its expression in this frame: `w`, `model.fc.weight`, `layers[2]`."""
    module_file = sys.modules.get("whygrad.nn.module")
    module_class: Any = getattr(module_file, "Module", ())
    names: dict[int, str] = {}
    frames = (frame.f_locals,) if frame.f_locals is frame.f_globals else (frame.f_locals, frame.f_globals)
    for variables in frames:
        for name, value in itertools.islice(list(variables.items()), MAX_VARIABLES):
            if not name.startswith("__"):
                _note(names, name, value, module_class, inside=False)
    return names


def _note(names: dict[int, str], name: str, value: Any, module_class: Any, inside: bool) -> None:
    if is_tensor(value):
        names.setdefault(id(value), name)
    elif isinstance(value, module_class):
        for inner, parameter in value.named_parameters():
            names.setdefault(id(parameter), f"{name}.{inner}")
        # Unregistered tensors, such as those of layers in a plain list, get a name as well.
        for attribute, held in list(vars(value).items()) if not inside else ():
            if not attribute.startswith("_"):
                _note(names, f"{name}.{attribute}", held, module_class, inside=type(held) not in (list, tuple, dict))
    elif not inside and type(value) in (list, tuple, dict):
        elements: Iterable[tuple[Any, Any]] = value.items() if type(value) is dict else enumerate(value)
        for key, element in itertools.islice(list(elements), MAX_ELEMENTS):
            if type(key) in (int, str):
                _note(names, f"{name}[{key!r}]", element, module_class, inside=True)
