"""torch.fx.graph: the graph, and the Python code it is written as."""

from __future__ import annotations

import builtins
import copy
import keyword
import operator
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, NamedTuple

import whygrad
from whygrad.base.devices import device
from whygrad.base.torch_homes import torch_home
from whygrad.core.tensor import Tensor
from whygrad.fx.node import Node, Target, map_arg, qualified_name

BINARY: dict[Any, str] = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.floordiv: "//", operator.truediv: "/", operator.mod: "%",
    operator.pow: "**", operator.lshift: "<<", operator.rshift: ">>", operator.and_: "&", operator.or_: "|", operator.xor: "^",
    operator.matmul: "@"}
COMPARISONS: dict[Any, str] = {operator.eq: "==", operator.ne: "!=", operator.lt: "<", operator.gt: ">", operator.le: "<=",
                               operator.ge: ">="}
OPERATORS: dict[Any, str] = {
    **{function: f"{{}} {sign} {{}}" for function, sign in (BINARY | COMPARISONS).items()},
    operator.getitem: "{}[{}]", operator.neg: "-{}", operator.pos: "+{}", operator.invert: "~{}"}
IN_PLACE: dict[Any, str] = {getattr(operator, f"i{function.__name__.strip('_')}"): f"{{}} {sign}= {{}}"
                            for function, sign in BINARY.items()}
# Names that generated code can use without further ado.
_KNOWN = {"torch": whygrad, "device": device, "inf": float("inf"), "nan": float("nan"), "NoneType": type(None), "fx_pytree": None,
          "pytree": None}


class PythonCode(NamedTuple):
    src: str
    globals: dict[str, Any]


class _Namespace:
    """Gives names that are not taken, and are neither keywords nor Python's own."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def create_name(self, candidate: str, obj: Any) -> str:
        candidate = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        numbered = re.fullmatch(r"(.*)_(\d+)", candidate)
        base, number = (numbered.group(1), int(numbered.group(2))) if numbered else (candidate, 0)
        while candidate in self.used or self._is_illegal(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self.used.add(candidate)
        return candidate

    @staticmethod
    def _is_illegal(name: str, obj: Any) -> bool:
        known = {**vars(builtins), **_KNOWN}
        return keyword.iskeyword(name) or (name in known and known[name] is not obj)


class _Nodes:
    """The nodes of a graph in their order; may be changed while it is iterated over."""

    def __init__(self, graph: Graph, step: str = "_next") -> None:
        self.graph, self.step = graph, step

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Node]:
        node = getattr(self.graph._root, self.step)
        while node is not self.graph._root:
            if not node._erased:
                yield node
            node = getattr(node, self.step)

    def __reversed__(self) -> _Nodes:
        return _Nodes(self.graph, "_prev")


class Graph:
    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras

    @property
    def owning_module(self) -> Any:
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: Any) -> None:
        self._owning_module = module

    @property
    def nodes(self) -> _Nodes:
        return _Nodes(self)

    def output_node(self) -> Node:
        return next(node for node in reversed(self.nodes) if node.op == "output")

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def create_node(self, op: str, target: Target, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
                    name: str | None = None, type_expr: Any = None) -> Node:
        """Add a node at the place of insertion, which is the end unless one is chosen."""
        hint = name if name is not None else self._target_to_str(target)
        node = Node(self, "", op, target, args or (), kwargs or {}, type_expr)
        node.name = self._graph_namespace.create_name(hint, node)
        self._insert(node)
        return node

    def _target_to_str(self, target: Target) -> str:
        if callable(target):
            return _snake_case(target.__name__.strip("_") if _is_magic(target.__name__) else target.__name__)
        return _snake_case(target.strip("_") if _is_magic(target) else target)

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        return self.create_node("placeholder", name, () if default_value is ... else (default_value,), type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function: Any, args: Any = None, kwargs: Any = None, type_expr: Any = None,
                      name: str | None = None) -> Node:
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def erase_node(self, to_erase: Node) -> None:
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                               f"{to_erase.users}!")
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if not to_erase._erased:
            to_erase._unlink()
            to_erase._erased = True
            to_erase._set((), {})

    @contextmanager
    def _inserting(self, insert: Callable[[Node], None]) -> Iterator[None]:
        before, self._insert = self._insert, insert
        try:
            yield
        finally:
            self._insert = before

    def inserting_before(self, n: Node | None = None) -> Any:
        """A context in which nodes are added before `n`; before the first one if it is None."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return self._inserting(n.prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """A context in which nodes are added behind `n`; behind the last one if it is None."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        following = n._next
        return self._inserting(following.prepend)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """Add a copy of a node of another graph; the function gives this graph's node for each of its arguments."""
        made = self.create_node(node.op, node.target, map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform),
                                node.name, node.type)
        made.meta = dict(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Add the nodes of another graph, and return what its output gives."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], lambda n: val_map[n])
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: Any = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls)
        result = made.graph_copy(self, val_map={}, return_output_node=True)
        if result is not None:
            value, old = result
            made.output(value, type_expr=old.type).meta = copy.copy(old.meta)
        return made

    def lint(self) -> None:
        """Raise if a node is used before it is made, a name is double, or a module or attribute is not there."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for used in node.all_input_nodes:
                if used.graph is not self:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' does not belong to this Graph, but was used as an "
                                       "argument! If you are copying nodes from another graph, make sure to use "
                                       f"``arg_transform`` on node_copy() to remap values\n{self}")
                if used not in seen:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' was used before it has been defined! Please check "
                                       f"that Nodes in the graph are topologically ordered\n{self}")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                _follow(self.owning_module, node)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove the nodes that nothing uses; whether there were any."""
        self.lint()
        impure = is_impure_node or (lambda node: node.is_impure())
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
                changed = True
        return changed

    def __str__(self) -> str:
        lines = ["graph():", *[f"    {node.format_node()}" for node in self.nodes]]
        return "\n".join(lines)

    def print_tabular(self) -> None:
        head = ["opcode", "name", "target", "args", "kwargs"]
        rows = [[n.op, n.name, str(n.target), str(n.args), str(n.kwargs)] for n in self.nodes]
        widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
        for row in (head, ["-" * width for width in widths], *rows):
            print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())

    def python_code(self, root_module: str, **options: Any) -> PythonCode:
        """The graph as the source of `forward`, and the global names it needs."""
        return _Writer(self, root_module).write()


def _is_magic(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _snake_case(text: str) -> str:
    """`BatchNorm2d` -> `batch_norm2d`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).lower().replace(".", "_")


def _follow(module: Any, node: Node) -> Any:
    """The attribute that a node names."""
    value = module
    for part in str(node.target).split("."):
        if not hasattr(value, part):
            raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {part} of {value}")
        value = getattr(value, part)
    return value


class _Writer:
    """Writes a graph as Python. A variable is set to None in the line that uses it last, so that its memory is free."""

    def __init__(self, graph: Graph, root: str) -> None:
        self.graph, self.root = graph, root
        self.globals: dict[str, Any] = {"torch": whygrad}
        self.names = _Namespace()
        self.names.used |= graph._graph_namespace.used
        self.wrapped: list[str] = []
        last_use: dict[Node, Node] = {}
        self.ends: dict[Node, list[Node]] = {}
        for node in reversed(graph.nodes):
            for used in node.all_input_nodes:
                if used not in last_use:
                    last_use[used] = node
                    self.ends.setdefault(node, []).append(used)

    def add_global(self, hint: str, value: Any) -> str:
        for name, present in self.globals.items():
            if present is value:
                return name
        known = value is not None and _KNOWN.get(hint) is value
        name = hint if known else self.names.create_name(hint.replace(".", "_"), value)
        self.globals[name] = value
        return name

    def function_name(self, function: Any) -> str:
        full = qualified_name(function)
        if "." not in full:
            return full
        root, *path = full.split(".")
        if root == "operator":
            return self.add_global(f"_{full}", function)
        value: Any = whygrad if root == "torch" else None
        for part in path:
            value = getattr(value, part, None)
        if value is function:
            return full
        return self.add_global(full, function)

    def shown(self, value: Any) -> str:
        """An argument as Python."""
        if isinstance(value, Node):
            return value.name
        if isinstance(value, tuple):
            inside = [self.shown(x) for x in value]
            if hasattr(value, "_fields"):
                return f"{self.add_global(type(value).__name__, type(value))}({', '.join(inside)})"
            return f"({', '.join(inside)}{',' if len(inside) == 1 else ''})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.shown, value))}]"
        if isinstance(value, dict):
            return f"{{{', '.join(f'{key!r}: {self.shown(x)}' for key, x in value.items())}}}"
        if isinstance(value, slice):
            return f"slice({self.shown(value.start)}, {self.shown(value.stop)}, {self.shown(value.step)})"
        if isinstance(value, Enum):
            return f"{self.add_global(type(value).__name__, type(value))}.{value.name}"
        if isinstance(value, device):
            return f"{self.add_global('device', device)}{repr(value).removeprefix('device')}"
        if isinstance(value, float) and repr(value) in ("inf", "nan"):
            return self.add_global(repr(value), value)
        if isinstance(value, type) or callable(value):
            return self.type_name(value) if isinstance(value, type) else self.function_name(value)
        return repr(value)

    def type_name(self, kind: Any) -> str:
        if isinstance(kind, type):
            if kind.__module__ == "builtins":
                return kind.__name__ if kind is not type(None) else "None"
            if kind is Tensor:
                return "torch.Tensor"
            return self.add_global(f"{torch_home(kind) or kind.__module__}.{kind.__qualname__}", kind)
        return self.add_global(repr(kind), kind)

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        return ", ".join([*map(self.shown, args), *[f"{key} = {self.shown(x)}" for key, x in kwargs.items()]])

    def attribute(self, path: str) -> str:
        text = self.root
        for part in path.split("."):
            text = f"{text}.{part}" if part.isidentifier() else f'getattr({text}, "{part}")'
        return text

    def freed(self, node: Node) -> str:
        ended = list(self.ends.get(node, []))
        if not node.users:
            ended.append(node)
        return f";  {' = '.join([n.name for n in ended])} = None" if ended else ""

    def statement(self, node: Node) -> str:
        args, kwargs = node.args, node.kwargs
        kind = f" : {self.type_name(node.type)}" if node.type is not None else ""
        if node.op == "call_method":
            return f"{node.name}{kind} = {_in_brackets(self.shown(args[0]))}.{node.target}({self.call(args[1:], kwargs)})"
        if node.op == "call_module":
            return f"{node.name}{kind} = {self.attribute(str(node.target))}({self.call(args, kwargs)})"
        if node.op == "get_attr":
            return f"{node.name}{kind} = {self.attribute(str(node.target))}"
        function: Any = node.target
        if function in OPERATORS and not kwargs:
            return f"{node.name}{kind} = {OPERATORS[function].format(*map(self.shown, args))}"
        if function in IN_PLACE and not kwargs:
            return f"{IN_PLACE[function].format(*map(self.shown, args))};  {node.name}{kind} = {self.shown(args[0])}"
        if function is getattr and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier():
            return f"{node.name}{kind} = {_in_brackets(self.shown(args[0]))}.{args[1]}"
        name = self.function_name(function)
        if getattr(function, "_fx_wrapped", None) is not None and name not in self.wrapped:
            self.wrapped.append(name)
        return f"{node.name}{kind} = {name}({self.call(args, kwargs)})"

    def write(self) -> PythonCode:
        inputs: list[str] = []
        lines: list[str] = []
        returned = ""
        for node in self.graph.nodes:
            if node.op == "placeholder":
                kind = f" : {self.type_name(node.type)}" if node.type is not None else ""
                default = f" = {self.shown(node.args[0])}" if node.args else ""
                inputs.append(f"{node.target}{kind}{default}")
                raw = str(node.target).replace("*", "")
                if raw != node.name:
                    lines.append(f"{node.name} = {raw}")
            elif node.op == "output":
                returned = f" -> {self.type_name(node.type)}" if node.type is not None else ""
                lines.append(f"return {self.shown(node.args[0])}")
            else:
                lines.append(self.statement(node) + self.freed(node))
        if not lines:
            lines.append("pass")
        head = "\n".join(f"torch.fx.wrap({name!r})" for name in self.wrapped)
        body = "".join(f"    {line}\n" for line in lines)
        signature = ", ".join([self.root, *inputs])
        return PythonCode(f"\n{head}\n\ndef forward({signature}){returned}:\n{body}    ", self.globals)


def _in_brackets(text: str) -> str:
    """A number has to stand in brackets before a dot."""
    return f"({text})" if text[:1].isdigit() or text[:1] == "-" else text
