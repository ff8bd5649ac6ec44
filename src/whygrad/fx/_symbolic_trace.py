"""torch.fx._symbolic_trace: running a module with proxies for its inputs."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FunctionType, ModuleType
from typing import Any

from whygrad.base.frames import is_of_package
from whygrad.base.torch_homes import torch_home
from whygrad.compat import checks
from whygrad.core.tensor import Tensor
from whygrad.functional.parameter import Parameter
from whygrad.fx.graph import Graph
from whygrad.fx.graph_module import GraphModule
from whygrad.fx.node import Node
from whygrad.fx.proxy import ParameterProxy, Proxy, TracerBase
from whygrad.nn.containers import Sequential
from whygrad.nn.module import Module

# (globals of a module, name) of functions that are recorded as they are called.
_wrapped: list[tuple[dict[str, Any], str]] = []


def wrap(fn_or_name: Any) -> Any:
    """Record calls of a function of this module as one step. At module scope, by its name or as a decorator."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame: Any = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped.append((frame.f_globals, name))
    return fn_or_name


def _proxy_in(values: Any) -> Proxy | None:
    """A proxy among these values."""
    if isinstance(values, Proxy):
        return values
    inside = values.values() if isinstance(values, dict) else values if isinstance(values, (tuple, list)) else ()
    return next((found for found in map(_proxy_in, inside) if found is not None), None)


def _recording(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which is recorded if a proxy is among its arguments."""
    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        proxy = _proxy_in((args, kwargs))
        if proxy is None:
            return function(*args, **kwargs)
        return proxy.tracer.create_proxy("call_function", function, args, kwargs)

    return recorded


def _annotations(function: Any) -> dict[str, Any]:
    """The annotations of a program's function; ours have some where torch's have none."""
    found = {} if is_of_package(function) else dict(getattr(function, "__annotations__", {}))
    if any(p.kind is p.KEYWORD_ONLY for p in inspect.signature(function).parameters.values()):
        found.pop("return", None)  # torch does not keep it of these
    return found


class _Traced(dict):
    """The parameters of a module that is being traced: reading one gives its proxy."""

    def __init__(self, tensors: Any, give: Callable[[str, Any], Any]) -> None:
        super().__init__(tensors)
        self.give = give

    def __getitem__(self, name: str) -> Any:
        return self.give(name, super().__getitem__(name))


class Tracer(TracerBase):
    def __init__(self, autowrap_modules: tuple[ModuleType, ...] = (), autowrap_functions: tuple[Callable[..., Any], ...] = (),
                 param_shapes_constant: bool = False) -> None:
        super().__init__()
        self._autowrapped = {value for module in autowrap_modules for value in vars(module).values() if callable(value)}
        self._autowrapped.update(autowrap_functions)
        self.param_shapes_constant = param_shapes_constant
        self.proxy_buffer_attributes = False

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a call of the module is one step: by default of torch's modules, but for Sequential."""
        home = torch_home(type(m)) or type(m).__module__
        return home.startswith(("torch.nn", "torch.ao.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        for name, module in self.root.named_modules(remove_duplicate=False):
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record the call of a module, or run it and record what it does."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What a traced module gives for its attribute: proxies for parameters."""
        named = self.root.named_parameters() if isinstance(attr_val, Parameter) else (
            self.root.named_buffers() if self.proxy_buffer_attributes and isinstance(attr_val, Tensor) else ())
        for name, tensor in named:
            if tensor is attr_val:
                if name not in parameter_proxy_cache:
                    made = self.create_proxy("get_attr", name, (), {})
                    parameter_proxy_cache[name] = (ParameterProxy(self, made.node, name, attr_val)
                                                   if self.param_shapes_constant else made)
                return parameter_proxy_cache[name]
        return attr_val

    def _create_leaf(self, a: Any) -> Any:
        if isinstance(a, Parameter):
            for name, tensor in self.root.named_parameters():
                if tensor is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            for name, tensor in self.root.named_buffers():
                if tensor is a:
                    return self.create_node("get_attr", name, (), {})
            return self.create_node("get_attr", self._constant_name(a), (), {})
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        return super()._create_leaf(a)

    def _constant_name(self, tensor: Tensor) -> str:
        """The attribute of the root that holds a tensor of the program."""
        name = self.tensor_attrs.get(id(tensor))
        if name is None:
            number = 0
            while hasattr(self.root, f"_tensor_constant{number}"):
                number += 1
            name = self.tensor_attrs[id(tensor)] = f"_tensor_constant{number}"
            setattr(self.root, name, tensor)
        return name

    def create_args_for_root(self, root_fn: Any, is_module: bool, concrete_args: dict[str, Any] | None = None
                             ) -> tuple[Any, list[Any]]:
        """The function to run, and a proxy for each of its inputs."""
        parameters = list(inspect.signature(root_fn).parameters.values())
        args: list[Any] = []
        if is_module:
            if not parameters:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            args.append(self.root)
            parameters = parameters[1:]
        specialized = 0
        for parameter in parameters:
            name = parameter.name
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise NotImplementedError(f"whygrad's torch.fx does not trace functions with *{name} or **{name}")
            if concrete_args and name in concrete_args:
                specialized += 1
                args.append(self._specialized(name, concrete_args[name], specialized, parameter))
                continue
            default = () if parameter.default is parameter.empty else (parameter.default,)
            args.append(self.create_proxy("placeholder", name, default, {}, type_expr=_annotations(root_fn).get(name)))

        def call(*values: Any) -> Any:
            """The function, with each value in the place of its parameter."""
            shift = len(values) - len(parameters)
            positional, named = list(values[:shift]), {}
            for parameter, value in zip(parameters, values[shift:], strict=True):
                if parameter.kind is parameter.KEYWORD_ONLY:
                    named[parameter.name] = value
                else:
                    positional.append(value)
            return root_fn(*positional, **named)

        return call, args

    def _specialized(self, name: str, value: Any, count: int, parameter: inspect.Parameter) -> Any:
        """An input with a fixed value, which the graph checks."""
        if isinstance(value, (tuple, list, dict)):
            raise NotImplementedError("concrete_args with tuples, lists or dicts are not available in whygrad")
        default = () if parameter.default is parameter.empty else (parameter.default,)
        given = self.create_proxy("placeholder", f"{name}_{count}", default, {})
        if isinstance(value, (bool, int, float)):
            same = given == value
            self.create_proxy("call_function", checks._assert,
                              (same, f"{name} has been specialized to have value {value} but got another value"), {})
        return value

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module or a function."""
        is_module = isinstance(root, Module)
        if is_module:
            fn = type(root).forward
            self.root = root
        else:
            fn = root
            self.root = Module()
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs: dict[int, str] = {}
        for path, module in self.root.named_modules():
            for name, value in vars(module).items():
                if isinstance(value, Tensor):
                    self.tensor_attrs[id(value)] = f"{path}.{name}" if path else name
        call, args = self.create_args_for_root(fn, is_module, concrete_args)
        with ExitStack() as stack:
            stack.enter_context(self._tracing_modules())
            stack.enter_context(self._tracing_functions(fn))
            result = call(*args)
        self.create_node("output", "output", (self.create_arg(result),), {},
                         type_expr=_annotations(fn).get("return"))
        return self.graph

    @contextmanager
    def _tracing_modules(self) -> Iterator[None]:
        """Inside, the submodules of the root hand their calls and parameters to this tracer."""
        cache: dict[str, Any] = {}
        modules = list(self.root.modules())
        try:
            for module in modules:
                members = vars(module)
                members["_parameters"] = _Traced(members["_parameters"], lambda name, p: self.getattr(name, p, cache))
                members["_buffers"] = _Traced(members["_buffers"], lambda name, b: self.getattr(name, b, cache))
                if module is not self.root:
                    members["forward"] = functools.partial(self._call, module, module.forward)
            yield
        finally:
            for module in modules:
                members = vars(module)
                members["_parameters"], members["_buffers"] = dict(members["_parameters"]), dict(members["_buffers"])
                forward = members.get("forward")
                if isinstance(forward, functools.partial) and forward.func == self._call:
                    before = forward.args[1]
                    del members["forward"]
                    if getattr(before, "__func__", None) is not type(module).forward:
                        members["forward"] = before  # an instance with a forward of its own

    def _call(self, module: Module, forward: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self.call_module(module, forward, args, kwargs)

    @contextmanager
    def _tracing_functions(self, fn: Any) -> Iterator[None]:
        """Inside, wrapped functions are recorded."""
        replaced: list[tuple[dict[str, Any], str, Any]] = []
        names = list(_wrapped)
        if isinstance(fn, FunctionType):
            names += [(fn.__globals__, name) for name, value in fn.__globals__.items()
                      if isinstance(value, FunctionType) and value in self._autowrapped]
        try:
            for space, name in names:
                if name in space:
                    function, was_there = space[name], True
                else:  # a built-in function, such as len
                    function, was_there = getattr(__import__("builtins"), name), False
                replaced.append((space, name, function if was_there else None))
                space[name] = _recording(function)
            yield
        finally:
            for space, name, function in reversed(replaced):
                if function is None:
                    del space[name]
                else:
                    space[name] = function


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """Record what a module or a function does with its inputs, as a module that does the same."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


__all__ = ["Node", "Tracer", "symbolic_trace", "wrap"]
