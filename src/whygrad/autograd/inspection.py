"""What a hook may ask about the backward that calls it: which node runs, which will run, and in which order."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

from whygrad.autograd.accumulate_grad import AccumulateGrad, accumulator_of
from whygrad.core.engine import Backward, count_dependencies
from whygrad.core.node import Node, NodeInterface
from whygrad.core.tensor import Tensor


def shown_target(target: Any) -> Any:
    """A node as users see it; a leaf as the node that accumulates into it."""
    return accumulator_of(target) if isinstance(target, Tensor) else None if target is None else target.shown()


def will_execute(this: Backward, node: NodeInterface) -> bool:
    """Whether the running backward reaches a node."""
    if isinstance(node, AccumulateGrad):
        found = this.reaches(node.variable)
        if found and this.only_captures:
            raise RuntimeError("A leaf node was passed to _will_engine_execute_node but we are currently running "
                               "autograd.grad(). This is currently not supported.")
        return found
    itself = node._itself()
    ports = [found() for found in getattr(itself, "ports", {}).values()]
    return this.reaches(itself) or any(port is not None and this.reaches(port) for port in ports)


def execution_order(this: Backward) -> list[Any]:
    """The nodes that the backward runs, in its order."""
    counts = count_dependencies(this.roots, set(this.targets))
    ready: list[tuple[int, Node]] = []
    order: list[Any] = []

    def reached(target: Any) -> None:
        if isinstance(target, Tensor):
            order.append(target)
        else:
            heappush(ready, (-target.seq, target))

    for root in this.roots:
        if not counts[root]:
            reached(root)
    while ready:
        node = heappop(ready)[1]
        order.append(node)
        for target in node.edges:
            if target in counts:
                counts[target] -= 1
                if not counts[target]:
                    reached(target)
    return [shown_target(target) for target in order if isinstance(target, Tensor) or target.visible]
