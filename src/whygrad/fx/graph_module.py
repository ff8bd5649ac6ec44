"""torch.fx.graph_module: a module whose forward is a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.functional.parameter import Parameter
from whygrad.fx.graph import Graph, PythonCode
from whygrad.fx.node import map_aggregate, map_arg
from whygrad.nn.module import Module

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_numbers = itertools.count()


def _compiled(code: PythonCode) -> Any:
    """The function `forward` of generated code, whose lines tracebacks show."""
    space = dict(code.globals)
    file = f"<eval_with_key>.{next(_numbers)}"
    linecache.cache[file] = (len(code.src), None, code.src.splitlines(keepends=True), file)
    exec(compile(code.src, file, "exec"), space)
    return space["forward"]


def _parent(module: Module, path: str, make: bool) -> tuple[Any, str]:
    """The module that has the last part of a dotted name, and this part."""
    *parts, last = path.split(".")
    for part in parts:
        if make and not hasattr(module, part):
            setattr(module, part, Module())
        module = getattr(module, part)
    return module, last


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Give a module the attribute of a dotted name that another one has."""
    source, last = _parent(from_module, target, make=False)
    _assign_attr(getattr(source, last), to_module, target)


def _assign_attr(from_obj: Any, to_module: Module, target: str) -> None:
    place, last = _parent(to_module, target, make=True)
    if place is None or (isinstance(getattr(place, last, None), Module) and not isinstance(from_obj, Module)):
        return
    if isinstance(from_obj, Tensor) and not isinstance(from_obj, Parameter):
        if last in vars(place):
            delattr(place, last)
        place.register_buffer(last, from_obj)
    else:
        setattr(place, last, from_obj)


class _CodeOnlyModule(Module):
    """Attributes of a GraphModule that is being rebuilt."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


class GraphModule(Module):
    """Each instance has a class of its own, whose `forward` is generated from the graph."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        base = next(kind for kind in cls.__mro__ if not kind.__qualname__.endswith("GraphModuleImpl"))
        return super().__new__(type("GraphModuleImpl", (base,), {"__qualname__": "GraphModule.__new__.<locals>.GraphModuleImpl"}))

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        targets = [str(node.target) for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            for target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for target in targets:
                if target not in root:
                    raise RuntimeError(f"Node referenced target {target} but that target was not provided in ``root``!")
            for target in sorted(targets, key=lambda target: target.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError("Unsupported type " + str(root) + " passed for root!")
        self.meta: dict[str, Any] = {}
        self.graph = graph

    @property
    def graph(self) -> Graph:
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(graph)}")
        self.__dict__["_graph"] = graph
        graph.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The generated source."""
        return self._code

    def recompile(self) -> PythonCode:
        """Generate `forward` again, after the graph was changed."""
        code = self._graph.python_code(root_module="self")
        self.__dict__["_code"] = code.src
        type(self).forward = _compiled(code)  # type: ignore[method-assign]
        return code

    def add_submodule(self, target: str, m: Module) -> bool:
        """Install a module under a dotted name, with the modules on the way to it."""
        place: Any = self
        *parts, last = target.split(".")
        for part in parts:
            inner = getattr(place, part, None)
            if inner is None:
                setattr(place, part, inner := Module())
            if not isinstance(inner, Module):
                return False
            place = inner
        place.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        try:
            place, last = _parent(self, target, make=False)
        except AttributeError:
            return False
        if not isinstance(getattr(place, last, None), Module):
            return False
        delattr(place, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the submodules that no node names."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = str(node.target).split(".")
                used.update(".".join(parts[:i]) for i in range(1, len(parts) + 1))
                if node.op == "call_module":
                    inner = self.get_submodule(str(node.target))
                    used.update(f"{node.target}.{name}" for name, _ in inner.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """The generated source as a class; also printed."""
        body = "\n".join(f"    {line}" for line in self._code.strip().splitlines())
        text = f"class {type(self).__name__}(torch.nn.Module):\n{body}"
        if print_output:
            print(text)
        return text

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> None:
        raise NotImplementedError("GraphModule.to_folder is not available in whygrad: save the code and the state dict")

    def __deepcopy__(self, memo: Any) -> GraphModule:
        members = {key: value for key, value in vars(self).items() if key not in ("_graph", "_code")}
        made = _rebuilt(copy.deepcopy(members, memo), copy.deepcopy(self._graph), _base(type(self)), type(self).__name__)
        memo[id(self)] = made
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, self._graph, type(self).__name__)
        made.meta = dict(self.meta)
        return made

    def __reduce__(self) -> Any:
        members = {key: value for key, value in vars(self).items() if key not in ("_graph", "_code")}
        nodes = [(n.op, n.target, _by_name(n.args), _by_name(n.kwargs), n.name, n.type) for n in self._graph.nodes]
        return _unpickled, (members, nodes, _base(type(self)), type(self).__name__)

    def __str__(self) -> str:
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__repr__(), self._code, hint])

    def __repr__(self) -> str:
        return str(self)


def _base(kind: type) -> type[GraphModule]:
    """The class in the program of a GraphModule's own class."""
    return next(base for base in kind.__mro__ if not base.__qualname__.endswith("GraphModuleImpl"))


def _rebuilt(members: dict[str, Any], graph: Graph, base: type[GraphModule], name: str) -> GraphModule:
    made = GraphModule.__new__(base)
    made.__dict__.update(members)
    type(made).__name__ = name
    made.graph = graph
    return made


class _Name(str):
    """The name of a node, in a pickle."""


def _by_name(value: Any) -> Any:
    return map_arg(value, lambda node: _Name(node.name))


def _unpickled(members: dict[str, Any], nodes: list[tuple[Any, ...]], base: type[GraphModule], name: str) -> GraphModule:
    graph = Graph()
    made: dict[str, Any] = {}
    for op, target, args, kwargs, node_name, kind in nodes:
        args, kwargs = (map_aggregate(x, lambda a: made[a] if isinstance(a, _Name) else a) for x in (args, kwargs))
        made[node_name] = graph.create_node(op, target, args, kwargs, node_name, kind)
    return _rebuilt(members, graph, base, name)
