"""Module hooks: the global registries, and a module call that runs hooks."""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from whygrad.autograd.function import Function
from whygrad.autograd.hooks import RemovableHandle
from whygrad.base.errors import warn
from whygrad.core.modes import grad_state
from whygrad.core.tensor import Tensor
from whygrad.why import record as why

if TYPE_CHECKING:
    from whygrad.nn.module import Module

Registry = OrderedDict[int, Any]


class GlobalHooks:
    """Hooks common to all modules. `on` is the one flag that a module call checks."""

    def __init__(self) -> None:
        self.forward_pre: Registry = OrderedDict()
        self.forward: Registry = OrderedDict()
        self.forward_with_kwargs: Registry = OrderedDict()
        self.forward_always: Registry = OrderedDict()
        self.backward_pre: Registry = OrderedDict()
        self.backward: Registry = OrderedDict()
        # Whether `backward` holds full hooks; None while none is registered.
        self.backward_is_full: bool | None = None
        self.parameter_registration: Registry = OrderedDict()
        self.buffer_registration: Registry = OrderedDict()
        self.module_registration: Registry = OrderedDict()
        # The ids of the hooks that a call runs.
        self.on: Registry = OrderedDict()


everywhere = GlobalHooks()


def add_hook(registry: Registry, hook: Any, *flags: tuple[Registry, bool], prepend: bool = False) -> RemovableHandle:
    """Register a hook; each flag is a registry that remembers the hook's id if the flag is set."""
    handle = RemovableHandle(registry, extra_dict=[flagged for flagged, _ in flags])
    registry[handle.id] = hook
    if why.watching is not None:
        why.watching.hook_registered(hook)
    for flagged, is_set in flags:
        if is_set:
            flagged[handle.id] = True
    if prepend:
        registry.move_to_end(handle.id, last=False)
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, args)` before every module's forward."""
    return add_hook(everywhere.forward_pre, hook, (everywhere.on, True))


def register_module_forward_hook(hook: Callable[..., Any], *, with_kwargs: bool = False,
                                 always_call: bool = False) -> RemovableHandle:
    """`hook(module, args, output)` after every module's forward."""
    return add_hook(everywhere.forward, hook, (everywhere.forward_with_kwargs, with_kwargs),
                    (everywhere.forward_always, always_call), (everywhere.on, True))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, grad_output)` before every module's backward."""
    return add_hook(everywhere.backward_pre, hook, (everywhere.on, True))


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, grad_input, grad_output)` after every module's backward."""
    return _add_backward_hook(hook, full=True)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """The older kind of backward hook: it sees the last node of the module only."""
    return _add_backward_hook(hook, full=False)


def _add_backward_hook(hook: Callable[..., Any], full: bool) -> RemovableHandle:
    if everywhere.backward_is_full is (not full):
        raise RuntimeError("Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
                           "Please use only one of them.")
    everywhere.backward_is_full = full
    return add_hook(everywhere.backward, hook, (everywhere.on, True))


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, name, parameter)` whenever a parameter is registered; it may return another one."""
    return add_hook(everywhere.parameter_registration, hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, name, buffer)` whenever a buffer is registered; it may return another one."""
    return add_hook(everywhere.buffer_registration, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """`hook(module, name, submodule)` whenever a submodule is registered; it may return another one."""
    return add_hook(everywhere.module_registration, hook)


def on_registration(hooks: Registry, module: Module, name: str, value: Any) -> Any:
    """The value after the registration hooks, each of which may replace it."""
    for hook in hooks.values():
        replaced = hook(module, name, value)
        if replaced is not None:
            value = replaced
    return value


class _WrappedHook:
    """A hook bound to its module by a weak reference, so that the module does not keep itself alive."""

    def __init__(self, hook: Callable[..., Any], module: Module) -> None:
        functools.update_wrapper(self, hook)
        self.hook = hook
        self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        return {"hook": self.hook, "module": self.module()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state["module"] is None:
            raise RuntimeError("You are trying to revive the hook of a dead Module!")
        self.__init__(state["hook"], state["module"])  # type: ignore[misc]


class HookedCall:
    """One call of a module with all its hooks, in torch's order."""

    def __init__(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.module = module
        self.args = args
        self.kwargs = kwargs
        self.result: Any = None
        # Hooks with always_call=True that need not be called again if something fails later.
        self.called: set[int] = set()

    def run(self) -> Any:
        try:
            return self._run()
        except Exception:
            self._after_failure()
            raise

    def _run(self) -> Any:
        full, plain = backward_hooks(self.module)
        pre = [*everywhere.backward_pre.values(), *self.module._backward_pre_hooks.values()]
        self._before_forward()
        border = BackwardBorder(self.module, full, pre) if full or pre else None
        if border is not None:
            self.args = border.enter(self.args)
        self.result = self.module.forward(*self.args, **self.kwargs)
        self._after_forward()
        if border is not None:
            if not isinstance(self.result, (Tensor, tuple)):
                warn("For backward hooks to be called, module output should be a Tensor or a tuple of Tensors "
                     f"but received {type(self.result)}")
            self.result = border.leave(self.result)
        if plain:
            hook_last_node(self.module, plain, self.args, self.result)
        return self.result

    def _before_forward(self) -> None:
        module = self.module
        for key, hook in (*everywhere.forward_pre.items(), *module._forward_pre_hooks.items()):
            if key in module._forward_pre_hooks_with_kwargs:
                changed = hook(module, self.args, self.kwargs)
                if changed is None:
                    continue
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError("forward pre-hook must return None or a tuple of (new_args, new_kwargs), but "
                                       f"got {changed}.")
                self.args, self.kwargs = changed
            else:
                changed = hook(module, self.args)
                if changed is not None:
                    self.args = changed if isinstance(changed, tuple) else (changed,)

    def _after_forward(self) -> None:
        module = self.module
        for key, hook in (*everywhere.forward.items(), *module._forward_hooks.items()):
            if key in module._forward_hooks_always_called or key in everywhere.forward_always:
                self.called.add(key)
            self._call_forward_hook(key, hook)

    def _call_forward_hook(self, key: int, hook: Callable[..., Any]) -> None:
        module = self.module
        if key in module._forward_hooks_with_kwargs or key in everywhere.forward_with_kwargs:
            changed = hook(module, self.args, self.kwargs, self.result)
        else:
            changed = hook(module, self.args, self.result)
        if changed is not None:
            self.result = changed

    def _after_failure(self) -> None:
        own = self.module._forward_hooks, self.module._forward_hooks_always_called, "module"
        for registry, flagged, whose in ((everywhere.forward, everywhere.forward_always, "global module"), own):
            for key, hook in registry.items():
                if key not in flagged or key in self.called:
                    continue
                try:
                    self._call_forward_hook(key, hook)
                except Exception as error:
                    warn(f"{whose} forward hook with ``always_call=True`` raised an exception that was "
                         "silenced as another error was raised in forward: "
                         f"{error}")


def backward_hooks(module: Module) -> tuple[list[Any], list[Any]]:
    """The module's full backward hooks, and those of the older kind; global ones first."""
    full: list[Any] = []
    plain: list[Any] = []
    for registry, is_full in ((everywhere.backward, everywhere.backward_is_full),
                              (module._backward_hooks, module._is_full_backward_hook)):
        if is_full is not None:
            (full if is_full else plain).extend(registry.values())
    return full, plain


def hook_last_node(module: Module, hooks: Iterable[Any], args: Any, result: Any) -> None:
    """Register hooks of the older kind on the node that computed the (first) result."""
    first = result
    while not isinstance(first, Tensor):
        first = next(v for v in first.values() if isinstance(v, Tensor)) if isinstance(first, dict) else first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(_WrappedHook(hook, module))
    problem = _partial_view(args, result, node)
    if problem:
        warn(problem, FutureWarning)


def _partial_view(args: Any, result: Any, node: Any) -> str | None:
    """torch's warning about what a hook on the last node alone does not see."""
    results = (result,) if isinstance(result, Tensor) else result
    if not (isinstance(results, tuple) and all(isinstance(r, Tensor) for r in results)):
        return ("Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors "
                "is deprecated and will be removed in future versions. This hook will be missing some of the "
                "grad_output. Please use register_full_backward_hook to get the documented behavior.")
    if not all(isinstance(x, Tensor) for x in args):
        return ("Using non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of "
                "Tensors is deprecated and will be removed in future versions. This hook will be missing some of the "
                "grad_input. Please use register_full_backward_hook to get the documented behavior.")
    nodes = {r.grad_fn for r in results if r.grad_fn is not None}
    if not nodes or (len(nodes) == 1 and node not in nodes):
        return ("Using a non-full backward hook when outputs are nested in python data structure is deprecated and "
                "will be removed in future versions. This hook will be missing some grad_output.")
    if len(nodes) > 1:
        return ("Using a non-full backward hook when outputs are generated by different autograd Nodes is deprecated "
                "and will be removed in future versions. This hook will be missing some grad_output. Please use "
                "register_full_backward_hook to get the documented behavior.")
    if {x.grad_fn for x in args if x.grad_fn is not None} != {following for following, _ in node.next_functions}:
        return ("Using a non-full backward hook when the forward contains multiple autograd Nodes is deprecated and "
                "will be removed in future versions. This hook will be missing some grad_input. Please use "
                "register_full_backward_hook to get the documented behavior.")
    return None


class BackwardBorder:
    """Full backward hooks: identity nodes around the inputs and the outputs see the gradients that pass.

    The node at the outputs runs first in backward: it keeps the output gradients and calls the pre-hooks. The node at
    the inputs then has both sides, and calls the hooks.
    """

    def __init__(self, module: Module, hooks: Sequence[Any], pre_hooks: Sequence[Any]) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        # Which arguments and results are tensors; None if no gradient passes there.
        self.input_positions: list[int] | None = None
        self.output_positions: list[int] | None = None
        self.input_count = self.output_count = 0

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.input_count = len(args)
        args, self.input_positions = _through_identity(args, self._at_inputs)
        return args

    def leave(self, result: Any) -> Any:
        results = result if isinstance(result, tuple) else (result,)
        self.output_count = len(results)
        results, self.output_positions = _through_identity(results, self._at_outputs)
        return results if isinstance(result, tuple) else results[0]

    def _at_outputs(self, _: Any, grad_output: tuple[Any, ...]) -> Any:
        assert self.output_positions is not None
        self.grad_outputs = _spread(self.output_positions, grad_output, self.output_count)
        for hook in self.pre_hooks:
            changed = hook(self.module, self.grad_outputs)
            if changed is None:
                continue
            if len(changed) != self.output_count:
                raise RuntimeError(f"Backward pre hook returned an invalid number of grad_output, got {len(changed)}, "
                                   f"but expected {self.output_count}")
            self.grad_outputs = changed
        passed_on = self.grad_outputs
        if self.input_positions is None:
            self._without_inputs()
        return tuple([passed_on[i] for i in self.output_positions]) if passed_on is not None else None

    def _without_inputs(self) -> None:
        """No input requires grad, so the node at the inputs does not exist."""
        warn("Full backward hook is firing when gradients are computed with respect to module outputs since "
             "no inputs require gradients. See "
             "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module."
             "register_full_backward_hook for more details.")
        for hook in self.hooks:
            changed = hook(self.module, (None,) * self.input_count, self.grad_outputs)
            if changed is not None and not (isinstance(changed, tuple) and all(g is None for g in changed)):
                raise RuntimeError("Backward hook for Modules where no input requires gradient should always return "
                                   "None or None for all gradients.")
        self.grad_outputs = None

    def _at_inputs(self, grad_input: tuple[Any, ...], _: Any) -> Any:
        if self.grad_outputs is None:
            return None  # the results were not part of this backward
        assert self.input_positions is not None
        grads: Any = _spread(self.input_positions, grad_input, self.input_count)
        for hook in self.hooks:
            changed = hook(self.module, grads, self.grad_outputs)
            if changed is None:
                continue
            if len(changed) != len(grads):
                raise RuntimeError(f"Backward hook returned an invalid number of grad_input, got {len(changed)}, but "
                                   f"expected {len(grads)}")
            grads = changed
        self.grad_outputs = None
        return tuple([grads[i] for i in self.input_positions])


def _spread(positions: Sequence[int], values: Sequence[Any], count: int) -> tuple[Any, ...]:
    """`values` at their positions among `count`, None elsewhere."""
    result = [None] * count
    for position, value in zip(positions, values, strict=True):
        result[position] = value
    return tuple(result)


def _through_identity(values: tuple[Any, ...], hook: Callable[..., Any]) -> tuple[tuple[Any, ...], list[int] | None]:
    """Pass the tensors among `values` through one identity node that calls `hook` in backward."""
    positions = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not grad_state.grad or not any(values[i].requires_grad for i in positions):
        return values, None
    outputs = identity_function().apply(*[values[i] for i in positions])
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    next(t.grad_fn for t in outputs if t.grad_fn is not None).register_hook(hook)
    replaced = list(values)
    for position, output in zip(positions, outputs, strict=True):
        replaced[position] = output
    # The constructor of a named tuple takes its fields as arguments.
    return (tuple(replaced) if type(values) is tuple else type(values)(*replaced)), positions


@functools.cache
def identity_function() -> Any:
    """The autograd Function behind full backward hooks, under torch's name."""
    class BackwardHookFunction(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            ctx.mark_non_differentiable(*[x for x in args if not x.requires_grad])
            return args

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads

    return BackwardHookFunction
