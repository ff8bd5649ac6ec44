"""state_dict and load_state_dict: saving and loading a module's tensors by name."""

from __future__ import annotations

import sys
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from whygrad.autograd.grad_mode import no_grad
from whygrad.autograd.hooks import RemovableHandle
from whygrad.base.errors import warn
from whygrad.base.frames import is_internal
from whygrad.core.tensor import Tensor
from whygrad.functional.parameter import Parameter
from whygrad.nn.conversion import get_swap_module_params_on_conversion, load_by_swapping
from whygrad.nn.hooks import _WrappedHook, add_hook
from whygrad.nn.lazy import is_lazy
from whygrad.why import record as why

if TYPE_CHECKING:
    from whygrad.nn.module import Module

EXTRA_STATE = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):  # noqa: PYI024
    """The missing and the unexpected keys that `load_state_dict` found."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def _load(module: Module, state: Any, prefix: str, metadata: Any, assign: bool, keys: _IncompatibleKeys,
          problems: list[str]) -> None:
    """Load a module and those below it; appends to the keys and the problems."""
    local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local_metadata["assign_to_params_buffers"] = assign
    module._load_from_state_dict(state, prefix, local_metadata, True, keys.missing_keys, keys.unexpected_keys, problems)
    for name, child in module._modules.items():
        if child is not None:
            inner = f"{prefix}{name}."
            below = {key: value for key, value in state.items() if key.startswith(inner)}
            _load(child, below, inner, metadata, assign, keys, problems)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, keys) is not None:
            raise AssertionError("Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                                 "values, if incompatible_keys need to be modified, it should be done inplace.")


class StateDictMethods:
    """The part of Module that saves and loads. Tensors are shared with the module, not copied, as in torch."""

    _version: int = 1

    def state_dict(self: Any, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """All parameters and persistent buffers by dotted name."""
        if args:
            warn("Positional args are being deprecated, use kwargs instead. Refer to "
                 "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for "
                 "details.", FutureWarning)
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination = given["destination"] if destination is None else destination
            prefix = prefix or given.get("prefix", "")
            keep_vars = keep_vars or given.get("keep_vars", False)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, local_metadata)
            if changed is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = changed
        return destination

    def _save_to_state_dict(self: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, value in self._local_state().items():
            destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()
        if type(self).get_extra_state is not StateDictMethods.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _local_state(self: Any) -> dict[str, Any]:
        """This module's own tensors for the state dict."""
        buffers = {name: b for name, b in self._buffers.items() if name not in self._non_persistent_buffers_set}
        return {name: value for name, value in (*self._parameters.items(), *buffers.items()) if value is not None}

    def load_state_dict(self: Any, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy the values of `state_dict` into this module (or, with `assign`, take its tensors)."""
        if why.watching is not None and not is_internal(sys._getframe(1)):
            why.watching.loading(self, state_dict)
            why.tell("state_loaded", self)
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        problems: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        state: Any = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata

        _load(self, state, "", metadata, assign, _IncompatibleKeys(missing, unexpected), problems)
        if strict:
            for keys, kind in ((unexpected, "Unexpected"), (missing, "Missing")):
                if keys:
                    listed = ", ".join(f'"{key}"' for key in keys)
                    problems.insert(0, f"{kind} key(s) in state_dict: {listed}. ")
        if problems:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(problems))
        return _IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(self: Any, state_dict: Any, prefix: str, local_metadata: dict[str, Any], strict: bool,
                              missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str]) -> None:
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        local_state = self._local_state()
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, own in local_state.items():
            key = prefix + name
            if key in state_dict:
                problem = self._load_one(name, own, key, state_dict[key], assign)
                if problem:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        extra_key = prefix + EXTRA_STATE
        if type(self).set_extra_state is not StateDictMethods.set_extra_state:
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra_key:
                    first, dot, _ = key[len(prefix):].partition(".")
                    if first not in (self._modules if dot else local_state):
                        unexpected_keys.append(key)

    def _load_one(self: Any, name: str, own: Tensor, key: str, given: Any, assign: bool) -> str | None:
        """Load one tensor, or append an error message."""
        if not isinstance(given, Tensor):
            return (f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                    f"checkpoint but received {type(given)}")
        if not is_lazy(own):
            if own.ndim == 0 and given.shape == (1,):
                given = given[0]  # type: ignore[index]  # checkpoints of old had no 0-dim tensors
            if given.shape != own.shape:
                return (f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape "
                        f"in current model is {own.shape}.")
        if not assign and own.is_meta and not given.is_meta:  # type: ignore[attr-defined]
            warn(f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, "
                 "which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their "
                 "corresponding key in the module instead of copying them in place?)")
        swap = get_swap_module_params_on_conversion()
        try:
            with no_grad():
                if swap:
                    load_by_swapping(own, given, assign)
                    return None
                if not assign:
                    own.copy_(given)  # type: ignore[attr-defined]
                    return None
                if isinstance(own, Parameter):
                    if isinstance(given, Parameter):
                        given.requires_grad_(own.requires_grad)  # type: ignore[attr-defined]
                    else:
                        given = Parameter(given, requires_grad=own.requires_grad)
                setattr(self, name, given)
        except Exception as error:
            action = "swapping" if swap else "copying"
            return (f'While {action} the parameter named "{key}", whose dimensions in the model are {own.shape} and '
                    f"whose dimensions in the checkpoint are {given.shape}, an exception occurred : {error.args}.")
        return None

    def get_extra_state(self) -> Any:
        """Override to store additional values in the state dict."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called. Please file "
                           "an issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to "
                           "report this bug.")

    def set_extra_state(self, state: Any) -> None:
        """Override together with `get_extra_state`."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called. Please file "
                           "an issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to "
                           "report this bug.")

    def _register_state_dict_hook(self: Any, hook: Callable[..., Any]) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("Cannot register the same function as the state dict post hook that was previously "
                               "registered via register_state_dict_post_hook")
        return add_hook(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self: Any, hook: Any) -> RemovableHandle:
        """`hook(module, state_dict, prefix, local_metadata)` after `state_dict()`; it may change the dict in place."""
        hook._from_public_api = True
        return add_hook(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self: Any, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(module, prefix, keep_vars)` before `state_dict()`."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self: Any, hook: Callable[..., Any],
                                           with_module: bool = False) -> RemovableHandle:
        return add_hook(self._load_state_dict_pre_hooks, _WrappedHook(hook, self) if with_module else hook)

    def register_load_state_dict_pre_hook(self: Any, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(module, state_dict, prefix, metadata, strict, missing, unexpected, error_msgs)` before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self: Any, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(module, incompatible_keys)` after loading; it may change the keys in place."""
        return add_hook(self._load_state_dict_post_hooks, hook)
