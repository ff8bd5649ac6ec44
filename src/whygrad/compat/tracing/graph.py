"""The graph of torch.jit._get_trace_graph: nodes, values and their types, with the methods of torch._C.Graph, Node and Value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whygrad.base.devices import device
from whygrad.base.dtypes import dtype
from whygrad.core.tensor import Tensor


class TensorType:
    """The type of a tensor whose shape is known."""

    def __init__(self, tensor: Tensor) -> None:
        array = tensor._array
        self._dtype, self._sizes = tensor.dtype, list(array.shape)
        self._strides = [stride // array.itemsize for stride in array.strides]
        self._requires_grad = tensor.requires_grad

    def __str__(self) -> str:
        return "Tensor"

    def kind(self) -> str:
        return "TensorType"

    def sizes(self) -> list[int]:
        return self._sizes

    def strides(self) -> list[int]:
        return self._strides

    def dim(self) -> int:
        return len(self._sizes)

    def scalarType(self) -> str:
        return self._dtype.scalar_name

    def dtype(self) -> dtype:
        return self._dtype

    def device(self) -> device:
        return device("cpu")

    def requires_grad(self) -> bool:
        return self._requires_grad

    def described(self) -> str:
        sizes = [*map(str, self._sizes), f"strides={self._strides}"] if self._sizes else []
        return f"{self.scalarType()}({', '.join([*sizes, f'requires_grad={self._requires_grad:d}', 'device=cpu'])})"


class PlainType:
    """The type of another value: int, List[Tensor], NoneType."""

    def __init__(self, kind: str, name: str) -> None:
        self._kind, self._name = kind, name

    def __str__(self) -> str:
        return self._name

    described = __str__

    def kind(self) -> str:
        return self._kind


_PLAIN: dict[type, tuple[str, str]] = {
    bool: ("BoolType", "bool"), int: ("IntType", "int"), float: ("FloatType", "float"), str: ("StringType", "str"),
    complex: ("ComplexType", "complex"), type(None): ("NoneType", "NoneType"), device: ("DeviceObjType", "Device"),
    dtype: ("IntType", "int")}


def type_of(x: Any) -> TensorType | PlainType:
    if isinstance(x, Tensor):
        return TensorType(x)
    if isinstance(x, (list, tuple)):
        items = [type_of(item) for item in x if item is not None]
        name = str(items[0]) if items else "int"
        return PlainType("ListType", f"List[{f'Optional[{name}]' if items and len(items) < len(x) else name}]")
    return PlainType(*_PLAIN.get(type(x), ("PyObjectType", "PyObject")))


class Value:
    """What a node gives, or an input of the graph."""

    def __init__(self, node: Node, x: Any) -> None:
        self._node, self._type, self._name = node, type_of(x), ""
        self._constant = None if isinstance(x, (Tensor, list, tuple)) else x

    def node(self) -> Node:
        return self._node

    def type(self) -> Any:
        return self._type

    def debugName(self) -> str:
        return self._name

    def isCompleteTensor(self) -> bool:
        return isinstance(self._type, TensorType)

    def requires_grad(self) -> bool:
        return isinstance(self._type, TensorType) and self._type.requires_grad()

    def toIValue(self) -> Any:
        """The value of a constant; None of others."""
        return self._constant if self._node.kind() == "prim::Constant" else None

    def __repr__(self) -> str:
        return f"{self._name} defined in ({self._node})"


# How a node calls an attribute of this type.
_ATTRIBUTES = {bool: "i", int: "i", float: "f", str: "s", complex: "c"}


class Node:
    """One step: an op of aten, a constant, or a list of values."""

    def __init__(self, kind: str, inputs: list[Value], results: list[Any], scope: str = "", attribute: Any = None) -> None:
        self._kind, self._inputs, self._scope, self._attribute = kind, inputs, scope, attribute
        self._outputs = [Value(self, result) for result in results]

    def kind(self) -> str:
        return self._kind

    def inputs(self) -> Iterator[Value]:
        return iter(self._inputs)

    def outputs(self) -> Iterator[Value]:
        return iter(self._outputs)

    def inputsSize(self) -> int:
        return len(self._inputs)

    def outputsSize(self) -> int:
        return len(self._outputs)

    def output(self) -> Value:
        (value,) = self._outputs
        return value

    def scopeName(self) -> str:
        return self._scope

    def attributeNames(self) -> list[str]:
        return [] if type(self._attribute) not in _ATTRIBUTES else ["value"]

    def hasAttribute(self, name: str) -> bool:
        return name in self.attributeNames()

    def kindOf(self, name: str) -> str:
        return _ATTRIBUTES[type(self._attribute)]

    def i(self, name: str) -> Any:
        """The value of an attribute, which is an int; `f`, `s` and `c` for others."""
        return int(self._attribute) if isinstance(self._attribute, bool) else self._attribute

    f = s = c = i

    def __str__(self) -> str:
        given = ", ".join([f"%{value.debugName()} : {value.type().described()}" for value in self._outputs])
        shown = f"[value={self.i('value')!r}]" if self.attributeNames() else ""
        return f"{given} = {self._kind}{shown}({', '.join([f'%{value.debugName()}' for value in self._inputs])})"

    __repr__ = __str__


class Graph:
    """The steps of a trace whose results matter, in order."""

    def __init__(self, nodes: list[Node], inputs: Node, output: Node) -> None:
        self._inputs, self._return = inputs, output
        self._nodes = _needed(nodes, output)
        values = [value for node in (inputs, *self._nodes) for value in node.outputs()]
        for number, value in enumerate(values):
            value._name = str(number)

    def nodes(self) -> Iterator[Node]:
        return iter(self._nodes)

    def inputs(self) -> Iterator[Value]:
        return self._inputs.outputs()

    def outputs(self) -> Iterator[Value]:
        return self._return.inputs()

    def param_node(self) -> Node:
        return self._inputs

    def return_node(self) -> Node:
        return self._return

    def findAllNodes(self, kind: str) -> list[Node]:
        return [node for node in self._nodes if node.kind() == kind]

    def __str__(self) -> str:
        given = ",\n      ".join([f"%{value.debugName()} : {value.type().described()}" for value in self.inputs()])
        steps = "".join([f"  {node}\n" for node in self._nodes])
        return f"graph({given}):\n{steps}  return ({', '.join([f'%{value.debugName()}' for value in self.outputs()])})\n"


def _needed(nodes: list[Node], output: Node) -> list[Node]:
    """The nodes that the output needs, and those that write in place."""
    wanted = set(output.inputs())
    kept = []
    for node in reversed(nodes):
        if node.kind().endswith("_") or not wanted.isdisjoint(node.outputs()):
            wanted.update(node.inputs())
            kept.append(node)
    return kept[::-1]
