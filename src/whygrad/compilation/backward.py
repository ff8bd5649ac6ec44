"""Derivatives in programs: the rules that a node of the graph applies, as instructions."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

import numpy as np

from whygrad.autograd.function_node import CustomNode
from whygrad.backends.numpy_convert import cast_array
from whygrad.compilation.guards import Break
from whygrad.compilation.program import Add, Call, Instruction, RuleCall, SumTo, Value
from whygrad.core.node import AccumulateGrad, Node, Port
from whygrad.core.record import RowNode
from whygrad.functional.promotion import Cast

# Nodes whose derivative is a function of the user's, which applies rows.
FunctionLike = CustomNode


def node_gradients(capture: Any, node: Node, g: Any, edges: tuple[Any, ...]) -> list[Value | None]:
    """Instructions for the gradients of the arguments of a node, where there are edges. `g` is a value, or a list of them.

    It is what `gradient_source` of backends/row_text.py writes. A rule that gives None while a backward is derived has none.
    """
    def add(instruction: Instruction) -> list[Value | None]:
        capture.add(instruction)
        if capture.derives:
            try:
                instruction.compute()  # type: ignore[attr-defined]
            except Exception as error:
                raise Break(f"its derivative raises: {error}") from error
        return [v if v.array is not None or not capture.derives else None for v in instruction.outputs]

    if isinstance(node, Cast):
        out = capture.new(None)
        add(Call(cast_array, (g, node.dtype), {}, [out], node.site, several=False, pure=True))
        return [out]
    if not isinstance(node, RowNode):
        raise Break(f"the derivative of {type(node).__name__}")
    spec = type(node).layout
    row = spec.row
    if node.saved is None or (node.saved and type(node.saved) is not tuple):
        raise Break("hooks on saved tensors")
    known: dict[str, Any] = {}
    for k in range(len(spec.saved) if node.saved else 0):
        counters, versions = node.saved[3 * k + 1:3 * k + 3]
        pairs = zip(counters, versions, strict=True) if isinstance(counters, list) else [(counters, versions)]
        if any(counter is not None and int(counter.value) != int(version) for counter, version in pairs):
            raise Break("a saved value was changed in place")
    for k, name in enumerate(spec.saved):
        saved = node.saved[3 * k] if node.saved else None
        known[name] = saved if name in spec.numbers else capture.atoms(saved)
    for k, name in enumerate(spec.static):
        known[name] = capture.atoms(node.static[k])
    if spec.several and not row.partial:
        declared = () if row.outputs == "list" else row.outputs
        never = {i for i, out in enumerate(declared) if type(out).__name__ == "NoGrad"}
        g = [_zeros(capture, node.shapes[i]) if x is None and i not in never else x for i, x in enumerate(g)]
    known["g"] = g
    needed = [i for i, edge in enumerate(edges) if edge is not None]
    if row.at_once is not None and len(spec.rules) == len(row.inputs) == len(needed):
        outputs = [capture.new(None) for _ in row.inputs]
        return add(RuleCall(spec, "at once", _arguments(row.at_once, known), outputs, node.site))
    if row.variadic:
        outputs = [capture.new(None) for _ in edges]
        return add(RuleCall(spec, row.inputs[0], _arguments(spec.rules[row.inputs[0]], known), outputs, node.site))
    gradients: list[Value | None] = []
    summed: Value | None
    for i, name in enumerate(row.inputs):
        if i not in needed or name not in spec.rules:
            gradients.append(None)
            continue
        summed = out = add(RuleCall(spec, name, _arguments(spec.rules[name], known), [capture.new(None)], node.site))[0]
        if out is not None and row.broadcasts and len(row.inputs) > 1 and node.shapes is not None:
            summed = add(SumTo((out, tuple(node.shapes[i])), [capture.new(None)], node.site))[0]
        gradients.append(summed)
    return gradients


def _arguments(rule: Any, known: dict[str, Any]) -> list[Any]:
    return [known[name] for name in rule.names if name != "xp"]


def _zeros(capture: Any, shape_and_dtype: Any) -> Value:
    zeros = np.zeros(*shape_and_dtype)
    capture.constants.add(id(zeros))
    capture.kept.append(zeros)
    return capture.value(zeros)  # type: ignore[no-any-return]


def contributions_to(node: Any, pending: dict[Any, list[Value]], capture: Any) -> Any:
    """The gradient that has arrived at a node, added up in the order of arrival; None if none has."""
    if node.several and not isinstance(node, Port):
        arrived = {port.index: port for port in list(pending) if isinstance(port, Port) and port.edges[0] is node}
        return [_sum(pending.pop(arrived[i]), capture) if i in arrived else None for i in range(len(node.shapes))]
    return _sum(pending.pop(node, []), capture)


def _sum(values: list[Value], capture: Any) -> Value | None:
    if not values:
        return None
    total = values[0]
    for v in values[1:]:
        out = capture.new(None)
        instruction = Add((total, v), [out])
        capture.add(instruction)
        if capture.derives:
            instruction.compute()
        total = out
    return total


def derive(capture: Any, roots: list[tuple[Node, Value]], targets: dict[Any, int], first_number: int) -> dict[Any, Value | None]:
    """Instructions that bring gradients from the roots to the targets, as the engine would walk.

    Nodes older than `first_number` belong to somebody else's graph.
    """
    pending: dict[Any, list[Value]] = {}
    ready: list[tuple[int, int, Any]] = []
    seen: set[int] = set()

    def arrive(node: Any, v: Value) -> None:
        while isinstance(node, Port):
            pending.setdefault(node, []).append(v)
            node = node.edges[0]
            if id(node) not in seen:
                seen.add(id(node))
                heappush(ready, (-node.seq, id(node), node))
            return
        pending.setdefault(node, []).append(v)
        if node in targets:
            return
        if isinstance(node, AccumulateGrad) and any(node.leaf is t for t in capture.switched):
            return  # a leaf of the function's own, whose gradient nobody sees
        if isinstance(node, AccumulateGrad) or node.seq < first_number:
            raise Break("a graph that the function did not make and does not get as an argument")
        if id(node) not in seen:
            seen.add(id(node))
            heappush(ready, (-node.seq, id(node), node))

    for node, v in roots:
        arrive(node, v)
    leads = _leading(roots, targets)
    while ready:
        node = heappop(ready)[2]
        if node.extra is not None and (node.extra.tensor_hooks or node.extra.pre_hooks or node.extra.post_hooks
                                       or node.extra.retained is not None):
            raise Break("a hook on an intermediate result")
        g = contributions_to(node, pending, capture)
        edges = tuple([edge if edge is not None and edge in leads else None for edge in node.edges])
        for edge, gradient in zip(edges, node_gradients(capture, node, g, edges), strict=True):
            if edge is not None and gradient is not None:
                arrive(edge, gradient)
    return {target: contributions_to(target, pending, capture) for target in targets}


def _leading(roots: list[tuple[Node, Value]], targets: dict[Any, int]) -> set[Any]:
    """The nodes from which a target can be reached."""
    order, stack, seen = [], [node for node, _ in roots], set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        order.append(node)
        if node not in targets:
            stack += [edge for edge in node.edges if edge is not None]
    leads = set(targets)
    for node in sorted(order, key=lambda node: node.seq):
        if any(edge in leads for edge in node.edges if edge is not None):
            leads.add(node)
    return leads
