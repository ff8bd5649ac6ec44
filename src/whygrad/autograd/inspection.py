"""What a hook may ask about the backward that calls it: which node runs, which will run, and in which order."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

from whygrad.core.engine import Backward, count_dependencies
from whygrad.core.modes import grad_state
from whygrad.core.node import AccumulateGrad, Node, NodeInterface


def is_checkpoint_valid() -> bool:
    """Whether a backward may run inside of the one that runs: not if that one is for some inputs only."""
    return grad_state.running is None or not grad_state.running.limited


def will_execute(this: Backward, node: NodeInterface) -> bool:
    """Whether the running backward reaches a node."""
    if isinstance(node, AccumulateGrad):
        found = this.reaches(node)
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
    order: list[Node] = []
    for root in this.roots:
        if not counts[root]:
            heappush(ready, (-root.seq, root))
    while ready:
        node = heappop(ready)[1]
        order.append(node)
        for target in node.edges:
            if target in counts:
                counts[target] -= 1
                if not counts[target]:
                    heappush(ready, (-target.seq, target))
    return [node.shown() for node in order if node.visible]
