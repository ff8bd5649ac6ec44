"""torch.fx.proxy: the stand-in for a value, which records what is done with it."""

from __future__ import annotations

import dis
import enum
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import whygrad
from whygrad.base import dtypes, layouts
from whygrad.base.devices import device
from whygrad.core.tensor import Tensor
from whygrad.functional.overriding import expect
from whygrad.fx.graph import BINARY, OPERATORS, Graph
from whygrad.fx.node import Node, Target, map_aggregate
from whygrad.random import Generator

_UNPACK_SEQUENCE = dis.opmap["UNPACK_SEQUENCE"]


class TraceError(ValueError):
    """A program that cannot be traced."""


_PLAIN = (str, int, float, bool, complex, type(None), type(...), range, dtypes.dtype, device, layouts.layout,
          layouts.memory_format, Generator, enum.Enum)


class TracerBase:
    """Makes nodes of calls on proxies."""

    graph: Graph
    trace_asserts = False
    record_stack_traces = False

    def create_node(self, kind: str, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None,
                    type_expr: Any = None) -> Node:
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        return Proxy(node, self)

    def create_proxy(self, kind: str, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None,
                     type_expr: Any = None, proxy_factory_fn: Callable[[Node], Proxy] | None = None) -> Any:
        """Record a step, and return the stand-in for its result."""
        made_args, made_kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, made_args, made_kwargs, name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Any:
        """What a node has for an argument: the nodes of proxies, and values that code can be written for."""
        return map_aggregate(a, self._create_leaf)

    def _create_leaf(self, a: Any) -> Any:
        if isinstance(a, Proxy):
            return a.node
        if hasattr(type(a), "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, (*_PLAIN, Node, type)) or callable(a):
            return a
        if isinstance(a, np.generic):
            return a.item()
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Only unpacking of a known number of values can be traced: `a, b = x`."""
        frame = sys._getframe(2)
        code, at = frame.f_code.co_code, frame.f_lasti
        if code[at] == _UNPACK_SEQUENCE:
            return (operator.getitem(obj, i) for i in range(code[at + 1]))  # type: ignore[call-overload]
        raise TraceError("Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args "
                         "or **kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of "
                         "what types of control flow can be traced, and check out the Proxy docstring for help troubleshooting "
                         "Proxy iteration errors")

    def keys(self, obj: Proxy) -> Any:
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Records into a given graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


class Proxy:
    """Stands for the result of a node."""

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        expect(type(self))
        self.node = node
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Attribute(self, name)

    def __deepcopy__(self, memo: Any) -> Proxy:
        return type(self)(self.node, self.tracer)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please "
                           "call torch.fx.wrap('len') at module scope")

    def keys(self) -> Any:
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = None, kwargs: Any = None) -> Any:
        args, kwargs = args or (), kwargs or {}
        found: list[Proxy] = []
        map_aggregate((args, kwargs), lambda x: found.append(x) if isinstance(x, cls) else x)
        tracer = found[0].tracer
        if whygrad.overrides.is_tensor_method_or_property(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


class Attribute(Proxy):
    """An attribute of a proxy: a method if it is called, otherwise its value, recorded when it is used."""

    def __init__(self, root: Proxy, attr: str) -> None:
        expect(type(self))
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter whose shape is taken as fixed."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Tensor) -> None:
        super().__init__(node, tracer)
        self.param, self.name = param, name

    @property
    def shape(self) -> Any:
        return self.param.shape

    def size(self, *dims: int) -> Any:
        return self.param.size(*dims)  # type: ignore[attr-defined]

    def dim(self) -> int:
        return self.param.dim()  # type: ignore[attr-defined, no-any-return]

    @property
    def ndim(self) -> int:
        return self.param.ndim

    def numel(self) -> int:
        return self.param.numel()  # type: ignore[attr-defined, no-any-return]


def _operator_method(function: Any, reflected: bool) -> Callable[..., Any]:
    def method(self: Proxy, *others: Any) -> Any:
        return self.tracer.create_proxy("call_function", function, (*others, self) if reflected else (self, *others), {})

    return method


for _function in (*OPERATORS, operator.abs):
    _name = _function.__name__.strip("_")
    setattr(Proxy, f"__{_name}__", _operator_method(_function, reflected=False))
for _function in BINARY:
    setattr(Proxy, f"__r{_function.__name__.strip('_')}__", _operator_method(_function, reflected=True))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]
