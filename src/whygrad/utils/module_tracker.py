"""torch.utils.module_tracker: which modules are running, in forward and in backward."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Self

from whygrad.autograd.graph import register_multi_grad_hook
from whygrad.autograd.nested import queue_callback
from whygrad.base.pytree import tree_flatten
from whygrad.core.modes import grad_state
from whygrad.core.tensor import Tensor
from whygrad.nn.hooks import register_module_forward_hook, register_module_forward_pre_hook
from whygrad.nn.module import Module

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """While it is entered, `parents` holds the names of the modules that run, and "Global"."""

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._resets = False

    @property
    def is_bw(self) -> bool:
        """Whether a backward is running."""
        return grad_state.running is not None

    def __enter__(self) -> Self:
        self._handles = [register_module_forward_pre_hook(self._entering), register_module_forward_hook(self._leaving)]
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()

    def name_of(self, module: Module) -> str:
        """The class of a module that the program calls, and the names by which it has its parts."""
        if module not in self._names:
            self._names[module] = type(module).__name__
        name = self._names[module]
        for part, child in module.named_children():
            self._names.setdefault(child, f"{name}.{part}")
        return name

    def _entering(self, module: Module, args: Any) -> None:
        name = self.name_of(module)
        self.parents.add(name)
        self._when_reached(args, lambda *_: self.parents.discard(name), "all")

    def _leaving(self, module: Module, args: Any, output: Any) -> None:
        name = self.name_of(module)
        self.parents.discard(name)
        self._when_reached(output, lambda *_: self._running_back(name), "any")

    def _when_reached(self, values: Any, call: Callable[..., None], mode: str) -> None:
        tensors = [x for x in tree_flatten(values)[0] if isinstance(x, Tensor) and x.requires_grad]
        if tensors and grad_state.grad:
            register_multi_grad_hook(tensors, call, mode=mode)

    def _running_back(self, name: str) -> None:
        self.parents.add(name)
        if not self._resets:  # the modules whose inputs need no gradient are left when the backward ends
            self._resets = True
            queue_callback(self._reset)

    def _reset(self) -> None:
        self.parents = {"Global"}
        self._resets = False
