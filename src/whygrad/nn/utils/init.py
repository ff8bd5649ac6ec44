"""Modules whose parameters are not initialised."""

from __future__ import annotations

import inspect
from typing import Any

from whygrad.nn.module import Module


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """A module with uninitialised parameters: it is made on the meta device, and memory is allocated afterwards."""
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    final = kwargs.pop("device", "cpu")
    made: Module = module_cls(*args, **{**kwargs, "device": "meta"}).to_empty(device=final)
    return made
