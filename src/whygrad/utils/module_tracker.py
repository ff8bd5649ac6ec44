"""torch.utils.module_tracker: the names of the modules that are running, also during backward."""

from __future__ import annotations

import weakref
from typing import Any, Self

from whygrad.autograd.graph import register_multi_grad_hook
from whygrad.autograd.hooks import RemovableHandle
from whygrad.base.pytree import tree_leaves
from whygrad.core.tensor import Tensor
from whygrad.nn.hooks import register_module_forward_hook, register_module_forward_pre_hook
from whygrad.nn.module import Module

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """As a context manager: `parents` holds the names of the modules whose forward or backward is running, and "Global"."""

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._handles: list[RemovableHandle] = []
        self._backward_hooks: list[RemovableHandle] = []
        self.is_bw = False

    def __enter__(self) -> Self:
        self._handles = [register_module_forward_pre_hook(self._begin),
                         register_module_forward_hook(self._end, always_call=True)]
        return self

    def __exit__(self, *exc: object) -> None:
        for handle in (*self._handles, *self._backward_hooks):
            handle.remove()
        self._handles, self._backward_hooks = [], []
        self.parents = {"Global"}

    def get_known_fqn(self, mod: Module) -> str | None:
        """The name of a module that has been seen."""
        return self._names.get(mod)

    def _name(self, module: Module) -> str:
        if module not in self._names:
            for path, part in module.named_modules():
                kind = type(module).__name__
                self._names.setdefault(part, f"{kind}.{path}" if path else kind)
        return self._names[module]

    def _watch(self, tensors: Any, enters: bool, name: str) -> None:
        """Enter or leave the module in backward, when the gradients of these tensors are known."""
        def noted(*grads: Any) -> None:
            self.is_bw = True
            (self.parents.add if enters else self.parents.discard)(name)

        watched = [t for t in tree_leaves(tensors) if isinstance(t, Tensor) and t.requires_grad]
        if watched:
            self._backward_hooks.append(register_multi_grad_hook(watched, noted))

    def _begin(self, module: Module, args: Any) -> None:
        name = self._name(module)
        self.is_bw = False
        self.parents.add(name)
        self._watch(args, enters=False, name=name)

    def _end(self, module: Module, args: Any, output: Any) -> None:
        name = self._name(module)
        self.parents.discard(name)
        self._watch(output, enters=True, name=name)
