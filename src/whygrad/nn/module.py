"""Module: a tree of parameters, buffers and submodules with a forward."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from whygrad.autograd.hooks import RemovableHandle
from whygrad.base import dtypes
from whygrad.base.errors import warn
from whygrad.base.meta_array import NO_DATA
from whygrad.base.on_demand import on_demand
from whygrad.base.torch_homes import torch_home
from whygrad.core.tensor import Tensor
from whygrad.functional.outside_rows import outside_rows
from whygrad.functional.parameter import Buffer, Parameter
from whygrad.nn.conversion import convert_parameter
from whygrad.nn.hooks import HookedCall, add_hook, everywhere, on_registration
from whygrad.nn.state import StateDictMethods
from whygrad.why import record as why

# Every registry that holds hooks of one module.
HOOK_REGISTRIES = ("_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
                   "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs",
                   "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
                   "_load_state_dict_post_hooks")


def forward_unimplemented(self: Module, *input: Any) -> Any:
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Module(StateDictMethods):
    """Base of all models: assign parameters and modules as attributes, define `forward`."""

    dump_patches: bool = False
    call_super_init: bool = False
    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Module | None]
    _is_full_backward_hook: bool | None

    forward: Callable[..., Any] = forward_unimplemented

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument "
                                f"'{next(iter(kwargs))}'")
            if args:
                raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} "
                                "were given")
        # `__setattr__` would need these registries.
        self.__dict__.update({name: OrderedDict() for name in HOOK_REGISTRIES}, training=True, _parameters={},
                             _buffers={}, _non_persistent_buffers_set=set(), _is_full_backward_hook=None, _modules={})
        why.tell("module_made", self)
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks
                or everywhere.on):
            return HookedCall(self, args, kwargs).run()
        return self.forward(*args, **kwargs)

    _call_impl = _wrapped_call_impl = __call__  # to be called by programs; what they assign here is not called

    def __getattr__(self, name: str) -> Any:
        members = self.__dict__
        for registry in ("_parameters", "_buffers", "_modules"):
            registered = members.get(registry)
            if registered and name in registered:
                return registered[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "requires_grad" and why.watching is not None:
            why.watching.module_flagged(self, value)
        members = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in members:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, members, self._buffers, self._modules)
            self.register_parameter(name, value)
        elif name in members.get("_parameters", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None "
                                "expected)")
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            if "_modules" not in members:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, members, self._parameters, self._buffers)
            self._modules[name] = on_registration(everywhere.module_registration, self, name, value)
        elif name in members.get("_modules", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None "
                                "expected)")
            self._modules[name] = on_registration(everywhere.module_registration, self, name, None)
        elif isinstance(value, Buffer) or name in members.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor "
                                "or None expected)")
            persistent = getattr(value, "persistent", name not in members.get("_non_persistent_buffers_set", ()))
            self.register_buffer(name, value, persistent)
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name: str, *registries: dict[str, Any]) -> None:
        """A name is in one registry only."""
        for registry in registries:
            registry.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for registry in (self._parameters, self._buffers, self._modules):
            if name in registry:
                del registry[name]  # type: ignore[attr-defined]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def _check_name(self, name: Any, kind: str, registry: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in registry and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register `param` as a parameter; None reserves the name."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name(name, "parameter", self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter "
                                "or None required)")
            if param.grad_fn is not None:
                raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                                 f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                                 "the value in the forward() method.")
            param = on_registration(everywhere.parameter_registration, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register `tensor` as state that is not a parameter."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name(name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None "
                            "required)")
        self._buffers[name] = on_registration(everywhere.buffer_registration, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Make `module` a child of this one."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        if isinstance(name, str) and "." in name and not hasattr(self, name):
            raise KeyError(f'module name can\'t contain ".", got: {name}')
        self._check_name(name, "module", self._modules)
        self._modules[name] = on_registration(everywhere.module_registration, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Alias of `add_module`."""
        self.add_module(name, module)

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted path; the empty path is this one."""
        module: Any = self
        for name in target.split(".") if target else ():
            module = module._member(name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        found: Module = module
        return found

    def _member(self, name: str) -> Any:
        if not hasattr(self, name):
            raise AttributeError(f"{self._get_name()} has no attribute `{name}`")
        return getattr(self, name)

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put `module` at a dotted path; with `strict` only in place of another one."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if (strict or hasattr(parent, name)) and not isinstance(parent._member(name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path."""
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._member(name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found: Tensor = module._member(name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _named_members(self, get_members_fn: Callable[[Module], Any], prefix: str = "", recurse: bool = True,
                       remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(self, prefix: str = "", recurse: bool = True,
                         remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """(dotted name, parameter) of this module and of those below it."""
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix: str = "", recurse: bool = True,
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """(dotted name, buffer) of this module and of those below it."""
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) of the immediate children, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        for _, module in self.named_children():
            yield module

    def named_modules(self, memo: set[Module] | None = None, prefix: str = "",
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """(dotted name, module) of this module and all below it, parents first."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def train(self, mode: bool = True) -> Any:
        """Switch this module and all below it to training (or evaluation) behaviour."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        why.tell("mode_set", self, mode)
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Any:
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Switch all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)  # type: ignore[attr-defined]
        return self

    @outside_rows
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        why.tell("zeroed", self)
        for parameter in self.parameters():
            grad: Any = parameter.grad
            if grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    def apply(self, fn: Callable[[Module], Any]) -> Any:
        """Call `fn` on every module below this one, then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
        """Replace the data of all parameters, their gradients and all buffers by `fn` of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                convert_parameter(self, name, parameter, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _convert_floating(self, dtype: dtypes.dtype) -> Any:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self) -> Any:
        return self._convert_floating(dtypes.float32)

    def double(self) -> Any:
        return self._convert_floating(dtypes.float64)

    def half(self) -> Any:
        return self._convert_floating(dtypes.float16)

    def bfloat16(self) -> Any:
        return self._convert_floating(dtypes.bfloat16)

    def type(self, dst_type: Any) -> Any:
        return self._apply(lambda t: t.type(dst_type))

    def cpu(self) -> Any:
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Any:
        return self._apply(lambda t: t.cuda(device))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Any:
        return self._apply(lambda t: t.new_empty(t.shape, device=device), recurse)

    def share_memory(self) -> Any:
        return self._apply(lambda t: t.share_memory_())

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Convert floating-point parameters and buffers: `to(device, dtype)`, either of them, or `to(tensor)`."""
        if "copy" in kwargs or [isinstance(x, bool) for x in args[-2:]] == [True, True]:
            raise RuntimeError(".to() does not accept copy argument")
        named = [x for x in (*args, kwargs.get("dtype")) if isinstance(x, (dtypes.dtype, Tensor))]
        dtype = None if not named else named[0].dtype if isinstance(named[0], Tensor) else named[0]
        if dtype is not None:
            why.tell("converted", self)
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError("nn.Module.to only accepts floating point or complex dtypes, but got desired "
                                f"dtype={dtype}")
            if dtype.is_complex:
                warn("Complex modules are a new feature under active development whose design may change, and "
                     "some modules might not work as expected when using complex tensors as parameters or "
                     "buffers. Please file an issue at "
                     "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex "
                     "module does not work as expected.")
        # Integer tensors keep their dtype.
        only_device = [None if isinstance(x, dtypes.dtype) else x.device if isinstance(x, Tensor) else x for x in args]
        device = kwargs.get("device", next((x for x in only_device if x is not None and not isinstance(x, bool)), None))
        memory_format = kwargs.pop("memory_format", None)

        def converted(t: Any) -> Any:
            # A channels-last format applies to ranks 4 and 5 only.
            layout = {"memory_format": memory_format} if memory_format is not None and t.ndim in (4, 5) else {}
            try:
                if t.is_floating_point() or t.is_complex():
                    return t.to(*args, **kwargs, **layout)
                return t.to(device, **layout)
            except NotImplementedError as error:
                if str(error) != NO_DATA:
                    raise
                raise NotImplementedError(f"{NO_DATA} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when "
                                          "moving module from meta to a different device.") from None

        return self._apply(converted)

    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = False,
                                  with_kwargs: bool = False) -> RemovableHandle:
        """`hook(module, args)` (or `hook(module, args, kwargs)`) before forward; it may return other arguments."""
        return add_hook(self._forward_pre_hooks, hook, (self._forward_pre_hooks_with_kwargs, with_kwargs),
                        prepend=prepend)

    def register_forward_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False,
                              always_call: bool = False) -> RemovableHandle:
        """`hook(module, args, output)` after forward; it may return another output."""
        return add_hook(self._forward_hooks, hook, (self._forward_hooks_with_kwargs, with_kwargs),
                        (self._forward_hooks_always_called, always_call), prepend=prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """`hook(module, grad_output)` before the module's backward; it may return other gradients."""
        return add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """`hook(module, grad_input, grad_output)` after the module's backward; it may return other input gradients."""
        self._set_backward_hook_kind(full=True)
        return add_hook(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The older kind of backward hook: it sees the last node of the module only."""
        self._set_backward_hook_kind(full=False)
        return add_hook(self._backward_hooks, hook)

    def _set_backward_hook_kind(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. "
                               "Please use only one of them.")
        self._is_full_backward_hook = full

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The text between the brackets of the repr, before the children."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        return with_lines(self._get_name(), extra_lines, child_lines)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted([name for name in names if not name[0].isdigit()])

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A pickle made by an older version may lack the newer registries.
        self.__dict__.update({name: OrderedDict() for name in HOOK_REGISTRIES if name not in state}, **state)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the forward of this module, which stays the object that it is."""
        self.forward = on_demand.load_compiler().method(self.forward, *args, **kwargs)


def indented(text: str) -> str:
    """All but the first line two spaces in; blank lines stay empty."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"  {line}" if line.strip() else "" for line in rest)])


def with_lines(name: str, extra_lines: list[str], child_lines: list[str]) -> str:
    """`name(extra)` on one line if that is all there is, else one line for each."""
    if len(extra_lines) == 1 and not child_lines:
        return f"{name}({extra_lines[0]})"
    lines = extra_lines + child_lines
    return f"{name}(\n  " + "\n  ".join(lines) + "\n)" if lines else f"{name}()"


def typename(value: Any) -> str:
    """How torch names the type of a value in its messages."""
    if isinstance(value, Tensor):
        name: str = value.type()  # type: ignore[attr-defined]
        return name
    named = value if hasattr(value, "__qualname__") else type(value)
    module = named.__module__
    if module in (None, "builtins"):
        return str(named.__qualname__)
    return f"{torch_home(named) or module}.{named.__qualname__}"


def parameter_of(module: Module, name: str) -> Any:
    """`module.name` for hot modules: a registry lookup takes a fifth of the time of a failed attribute lookup and `__getattr__`.

    One that was replaced (by weight_norm, a parametrization, a plain tensor) is not in the registry.
    """
    parameters = module._parameters
    return parameters[name] if name in parameters else getattr(module, name)
