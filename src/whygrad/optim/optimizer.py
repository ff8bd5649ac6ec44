"""Optimizer: parameter groups, state, hooks, state_dict and load_state_dict."""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from whygrad.autograd.hooks import RemovableHandle, register
from whygrad.base import errors
from whygrad.base.errors import warn
from whygrad.core.tensor import Tensor, grad_note, wrap
from whygrad.functional.conj_neg import Turned
from whygrad.functional.outside_rows import outside_rows
from whygrad.functional.promotion import cast_values
from whygrad.why import record as why

# All live optimizers, so that an explanation can name the optimizer of a parameter and where it was created.
OPTIMIZERS: weakref.WeakSet[Optimizer] = weakref.WeakSet()

_global_optimizer_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_global_optimizer_post_hooks: OrderedDict[int, Any] = OrderedDict()

_HOOKS = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks",
          "_optimizer_state_dict_pre_hooks", "_optimizer_state_dict_post_hooks",
          "_optimizer_load_state_dict_pre_hooks", "_optimizer_load_state_dict_post_hooks")

# Defaults of options that older checkpoints lack.
_LATE_OPTIONS = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False, "fused": None,
                 "nesterov": False, "amsgrad": False, "decoupled_weight_decay": False, "momentum": 0, "centered": False}


ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
params_t = _params_t = ParamsT
StateDict = dict[str, Any]


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before every step of every optimizer."""
    return register(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after every step of every optimizer."""
    return register(_global_optimizer_post_hooks, hook)


class Optimizer:
    """Base class of all optimizers: subclasses give `defaults` and `step`."""

    _optimizer_step_pre_hooks: OrderedDict[int, Any]
    _optimizer_step_post_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Any]

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._prepare()
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            + typename(params))
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if len(groups) == 0:
            raise errors.noted(ValueError("optimizer got an empty parameter list"), "empty_parameter_list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)
        why.tell("optimizer_constructed", self)

    def _prepare(self) -> None:
        """Create the attributes that are not pickled."""
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_site", why.site())
        OPTIMIZERS.add(self)
        self._patch_step_function()

    def _patch_step_function(self) -> None:
        """Let the step of this class call the hooks, if it does not yet."""
        step = type(self).step
        if not getattr(step, "hooked", False):
            type(self).step = with_step_hooks(step)  # type: ignore[method-assign]

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()
        for group in self.param_groups:
            for name, value in _LATE_OPTIONS.items():
                if name in self.defaults:
                    group.setdefault(name, value)

    def __del__(self) -> None:
        if why is not None and why.watching is not None:  # the interpreter may be taking its modules apart
            why.watching.leaving(self)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
            lines.append("")
        return "\n".join([*lines[:-1], ")"])

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before every step; it may return other `(args, kwargs)`."""
        return register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after every step."""
        return register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict()`."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` at the end of `state_dict()`; it may return another one."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; it may return another one."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` after loading."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def state_dict(self) -> dict[str, Any]:
        """The state and the groups, with parameters identified by their position."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        position: dict[int, int] = {}
        groups = []
        start = 0
        for group in self.param_groups:
            for i, p in enumerate(group["params"], start):
                position.setdefault(id(p), i)
            start += len(group["params"])
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [position[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {position[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        state_dict = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            result = hook(self, state_dict)
            if result is not None:
                state_dict = result
        return state_dict

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state and the options from a `state_dict()` of the same class of optimizer."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            result = hook(self, state_dict)
            if result is not None:
                state_dict = result
        groups = self.param_groups
        loaded_groups = deepcopy(state_dict["param_groups"])
        if len(groups) != len(loaded_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if [len(group["params"]) for group in groups] != [len(group["params"]) for group in loaded_groups]:
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's "
                             "group")
        state: defaultdict[Any, Any] = defaultdict(dict)
        loaded_state = state_dict["state"]
        ours = chain.from_iterable(group["params"] for group in groups)
        theirs = chain.from_iterable(group["params"] for group in loaded_groups)
        parameters = dict(zip(theirs, ours, strict=True))
        for key, value in loaded_state.items():
            if key in parameters:
                state[parameters[key]] = _in_dtype_of(parameters[key], value)
            else:
                state[key] = value
        for group, loaded in zip(groups, loaded_groups, strict=True):
            loaded["params"] = group["params"]
            if "param_names" in group:
                loaded.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": loaded_groups})
        why.tell("state_loaded", self)
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    @outside_rows
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None (or fill them with zeros)."""
        cleared = grad_note("cleared", why.site())
        why.tell("zeroed", self)
        for group in self.param_groups:
            for p in group["params"]:
                grad = p._grad
                if grad is None:
                    continue
                (p._meta or p.meta).grad_log = cleared
                if set_to_none:
                    p._grad = None
                    continue
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters; `closure`, if given, recomputes the loss and its gradients."""
        raise NotImplementedError

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters with its own options."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of "
                            "tensors in sets will change between runs. Please use a list instead.")
        entries = list(params)
        names = [entry[0] for entry in entries if isinstance(entry, tuple)]
        param_group["params"] = params = [entry[1] if isinstance(entry, tuple) else entry for entry in entries]
        if names:
            if len(names) != len(params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = names
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is " + typename(p))
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise errors.noted(ValueError("can't optimize a non-leaf Tensor"), "optimize_non_leaf", p)
            if isinstance(p, Turned):
                raise NotImplementedError("optimizers of a conjugated or negated view; give them p.resolve_conj().resolve_neg()")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause "
                 "an error; see github.com/pytorch/pytorch/issues/40967 for more information")
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                kind = "with names" if "param_names" in param_group else "without names"
                raise ValueError("all optimizer param groups should be with/without names. cannot add param group "
                                 f"{kind} to the optimizer")
        held = set(chain.from_iterable(group["params"] for group in self.param_groups))
        if not held.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)


def with_step_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step` with the global hooks and those of this optimizer."""

    @outside_rows
    @functools.wraps(step)
    def hooked(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        if not (self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks or _global_optimizer_pre_hooks
                or _global_optimizer_post_hooks):
            return step(*args, **kwargs)
        for hook in chain(_global_optimizer_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
            result = hook(self, args, kwargs)
            if result is not None:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
                                       f"{result}.")
                args, kwargs = result
        out = step(*args, **kwargs)
        for hook in chain(self._optimizer_step_post_hooks.values(), _global_optimizer_post_hooks.values()):
            hook(self, args, kwargs)
        return out

    hooked.hooked, hooked.unhooked = True, step  # type: ignore[attr-defined]
    return hooked


def typename(value: Any) -> str:
    """The name of a value's type in torch's messages."""
    if isinstance(value, Tensor):
        return value.dtype.tensor_type
    named = value if hasattr(value, "__qualname__") else type(value)
    module = named.__module__ or ""
    return named.__qualname__ if module in ("", "builtins") else f"{module}.{named.__qualname__}"


def _register(registry: OrderedDict[int, Any], hook: Callable[..., Any], prepend: bool) -> RemovableHandle:
    handle = register(registry, hook)
    if prepend:
        registry.move_to_end(handle.id, last=False)
    return handle


def _in_dtype_of(p: Tensor, value: Any, key: Any = None) -> Any:
    """Loaded state with its tensors cast to the dtype of the parameter; `step` keeps its dtype."""
    if isinstance(value, Tensor):
        wanted = p._array.dtype
        if key == "step" or wanted.kind == "c" or value._array.dtype == wanted:
            return value
        return wrap(cast_values(value._array, wanted))
    if isinstance(value, dict):
        return {k: _in_dtype_of(p, v, k) for k, v in value.items()}
    if isinstance(value, Iterable):
        return type(value)(_in_dtype_of(p, v) for v in value)  # type: ignore[call-arg]
    return value
