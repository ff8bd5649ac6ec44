"""torch.fx.node: one step of a graph."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from whygrad.base.torch_homes import python_functions, torch_home
from whygrad.compat import checks
from whygrad.core.tensor import Tensor
from whygrad.fx.immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from whygrad.fx.graph import Graph

Argument = Any
Target = Callable[..., Any] | str
BaseArgumentTypes = str | int | float | bool | complex | None

OPS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
_side_effects: set[Any] = {checks._assert, checks._assert_async, builtins.print}


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Keep calls of this function although nothing uses their results; also usable as a decorator."""
    _side_effects.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """Apply `fn` to what is inside of tuples, lists, dicts and slices; lists and dicts become immutable ones."""
    if isinstance(a, tuple):
        values = [map_aggregate(x, fn) for x in a]
        return type(a)(*values) if hasattr(a, "_fields") else tuple(values)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(x, fn) for key, x in a.items()})
    if isinstance(a, slice):
        return slice(*[map_aggregate(x, fn) for x in (a.start, a.stop, a.step)])
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """Apply `fn` to the nodes in an argument."""
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def qualified_name(function: Any) -> str:
    """The dotted name by which generated code calls a function: that of torch for ours."""
    name: str = function.__name__
    if getattr(builtins, name, None) is function:
        return name
    if getattr(operator, name, None) is function:
        return f"operator.{name}"
    home = torch_home(function) if hasattr(function, "__module__") else None
    if home is None:
        home = (function.__module__ or "").replace("_operator", "operator")
    elif home.startswith("torch.compat."):
        home = "torch"
    if home == "torch" and name in python_functions():
        home = "torch.functional"
    return f"{home}.{name}"


class Node:
    """A step: an input, a call, an attribute or the output. Nodes of a graph are a linked list in the order of execution."""

    def __init__(self, graph: Graph, name: str, op: str, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any],
                 return_type: Any = None) -> None:
        if op not in OPS:
            raise AssertionError(f"op must be in {OPS}, but got {op}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a "
                                 "Callable is expected")
        elif not isinstance(target, str):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a str is "
                             "expected")
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._prev = self._next = self
        self._erased = False
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._set(tuple(args), dict(kwargs))

    def _set(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for used in self._input_nodes:
            used.users.pop(self, None)
        self._input_nodes = {}

        def note(node: Node) -> Node:
            self._input_nodes[node] = None
            node.users[self] = None
            return node

        self._args, self._kwargs = map_arg(tuple(args), note), map_arg(dict(kwargs), note)

    @property
    def args(self) -> tuple[Any, ...]:
        return self._args

    @args.setter
    def args(self, args: tuple[Any, ...]) -> None:
        self._set(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Any]) -> None:
        self._set(self._args, kwargs)

    @property
    def next(self) -> Node:
        return self._next

    @property
    def prev(self) -> Node:
        return self._prev

    @property
    def all_input_nodes(self) -> list[Node]:
        return list(self._input_nodes)

    @property
    def stack_trace(self) -> str | None:
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def prepend(self, x: Node) -> None:
        """Move a node of the same graph to the place before this one."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._unlink()
        x._prev, x._next = self._prev, self
        self._prev._next = self._prev = x

    def append(self, x: Node) -> None:
        """Move a node of the same graph to the place behind this one."""
        self._next.prepend(x)

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def update_arg(self, idx: int, arg: Any) -> None:
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        def replaced(node: Node) -> Node:
            return new_input if node is old_input else node

        self._set(map_arg(self.args, replaced), map_arg(self.kwargs, replaced))

    def replace_all_uses_with(self, replace_with: Node, delete_user_cb: Callable[[Node], bool] = lambda user: True, *,
                              propagate_meta: bool = False) -> list[Node]:
        """Let the users of this node use another one; returns the users."""
        if propagate_meta:
            replace_with.meta.update(self.meta)
        users = list(self.users)
        changed = [user for user in users if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node has an effect beside its result."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return self.target in _side_effects
        if self.op == "call_module" and self.graph.owning_module is not None:
            module = self.graph.owning_module.get_submodule(str(self.target))
            return bool(getattr(module, "_is_impure", False))
        return False

    def _pretty_target(self) -> str:
        if isinstance(self.target, str):
            return self.target
        name = qualified_name(self.target)
        return f"builtins.{name}" if "." not in name else name

    def format_node(self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None, *,
                    include_tensor_metadata: bool = False) -> str:
        """The line of this node in the text of its graph."""
        users = f"[num_users={len(self.users)}]"
        kind = f"{_type_name(self.type)} " if self.type is not None else ""
        if self.op == "placeholder":
            default = f"(default={self.args[0]})" if self.args else ""
            return f"%{self.name} : {kind}{users} = placeholder[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"%{self.name} : {kind}{users} = get_attr[target={self.target}]"
        if self.op == "output":
            return f"return {self.args[0]}"
        return (f"%{self.name} : {kind}{users} = {self.op}[target={self._pretty_target()}](args = {_with_percent(self.args)}, "
                f"kwargs = {_with_percent(self.kwargs)})")

    def __repr__(self) -> str:
        return self.name

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"'{type(self).__name__}' object is not iterable")


def _with_percent(value: Any) -> str:
    """Arguments as the text of a graph shows them: nodes with a percent sign, texts without quotes."""
    if isinstance(value, list):
        return f"[{', '.join(map(_with_percent, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_with_percent, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_with_percent(x)}' for key, x in value.items())}}}"
    return f"%{value.name}" if isinstance(value, Node) else str(value)


def _type_name(kind: Any) -> str:
    if isinstance(kind, type):
        if kind.__module__ == "builtins":
            return kind.__name__
        return "torch.Tensor" if kind is Tensor else f"{torch_home(kind) or kind.__module__}.{kind.__name__}"
    return repr(kind)
