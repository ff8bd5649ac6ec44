"""The walk back through the graph.

One backward is one `run`. It counts how many contributions each node will get, then executes ready nodes, newest
first. All state of the walk is local to the call, so a failed backward leaves nothing behind, a hook may start another
backward, and several threads may walk at once. Nothing here is recursive.

The same loop serves both readers: bare arrays (`raw`), and Tensors when the gradients are to be differentiated again
(`graph`). An `AccumulateGrad` runs the moment its last contribution has arrived: its leaf's gradient is complete.
"""

from __future__ import annotations

import itertools
import operator
import weakref
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush, heappushpop
from typing import Any

import numpy as np

from whygrad.backends.fp_warnings import restore, silence
from whygrad.base import acceleration, errors
from whygrad.base.layouts import strided
from whygrad.core import door
from whygrad.core.modes import grad_state, process_state, refresh
from whygrad.core.node import AccumulateGrad, Node, leaf_or_node
from whygrad.core.registered import registered
from whygrad.why import record as why


class WalkReferences:
    """How many references to a gradient the walk has when it hands it to a leaf (see autograd/reference_counts.py).

    An array that has no more of them is nobody else's, and becomes `.grad` without a copy. One that comes `straight` from a
    rule is also held by the tuple it came in; one that has `waited` for a further contribution is not.
    """

    straight = waited = 0


references = WalkReferences()

add: Any = np.add
add_into: Any = np.add  # (a, b, out)
acceleration.bind_ufunc_write(globals(), "add_into", "add", np.add)
acceleration.bind_elementwise(globals(), "add", "add", np.add, operator.add, takes_vocabulary=False)

# A backward inside this many others gets a fresh Python stack.
DEEPEST = 40

_backward_number = itertools.count(1).__next__


class Backward:
    """One run, as the nodes it freed and the leaves it reached remember it."""

    __slots__ = ("callbacks", "causes", "create_graph", "depth", "keep", "limited", "node", "number", "only_captures",
                 "root", "roots", "site", "targets")

    def __init__(self, create_graph: bool, root: Node, keep: bool = False, only_captures: bool = False) -> None:
        self.number = _backward_number()
        self.site = why.site(3)  # `run` and who calls it are of this package
        self.create_graph = create_graph
        self.keep = keep
        # True for `autograd.grad`: gradients are handed out, no leaf is written.
        self.only_captures = only_captures
        # True if only what leads to some inputs is walked, here or in a backward that waits for this one.
        self.limited = only_captures
        # How many backwards in this one's thread wait for it: a hook or a custom backward may start another.
        self.depth = 0
        # Weak: to remember a backward must not keep its graph.
        self.root = weakref.ref(leaf_or_node(root))
        # Every gradient this pass computes without recording has this cause.
        self.causes = (why.Cause("no-create-graph", self.site),)
        # While it runs: where it began, every node that it will reach, and the one whose hooks or custom backward run now.
        self.roots: list[Node] = []
        self.targets: dict[Node, int] = {}
        self.node: Node | None = None
        # To be called at the end, if all goes well.
        self.callbacks: list[Callable[[], Any]] = []

    def reaches(self, node: Node) -> bool:
        return node in self.targets


def current() -> Backward:
    """The innermost backward that runs in this thread."""
    if grad_state.running is None:
        raise AssertionError("expected this hook to be called inside a backward call")
    this: Backward = grad_state.running
    return this


def run(roots: Sequence[tuple[Node, Any]], *, keep: bool, create_graph: bool, records: bool = True,
        captures: dict[Node, Any] | None = None, deposit_captured: bool = False) -> None:
    """Send the gradient of each root back.

    With `captures` (target -> None, filled in here) only what leads to those targets is walked, and no leaf is written
    unless `deposit_captured`. Gradients are arrays, or Tensors if `create_graph`; these are recorded unless `records` is
    False.
    """
    this = process_state.last_backward = Backward(create_graph, roots[0][0], keep, captures is not None and not deposit_captured)
    outer_mode = grad_state.grad
    outer_off = grad_state.off_name, grad_state.off_site
    outer, outer_hooks = grad_state.running, grad_state.saved_hooks
    this.limited = captures is not None
    if outer is not None:
        this.depth = outer.depth + 1
        this.limited = this.limited or outer.limited
    grad_state.running = this
    if outer_mode != (create_graph and records):
        # Hooks and custom backwards run in this mode.
        grad_state.grad = create_graph and records
        grad_state.off_name, grad_state.off_site = "backward", this.site
        refresh()
    if why.watching is not None:
        why.watching.begin(this, None if captures is None else dict.fromkeys(map(leaf_or_node, captures)), deposit_captured)
    token = silence()
    try:
        if this.depth < DEEPEST:
            _walk(this, roots, keep, captures, deposit_captured)
        else:
            registered.nested.in_a_new_thread(this, _walk, this, roots, keep, captures, deposit_captured)
        while this.callbacks:
            this.callbacks.pop(0)()
        if why.watching is not None and why.watching.traces:
            why.watching.ended(this)
    except RuntimeError as error:
        errors.without_derivative(error)
        raise
    except MemoryError as error:
        raise errors.out_of_memory(error) from None
    finally:
        restore(token)
        grad_state.running = outer
        this.targets, this.roots, this.node = {}, [], None
        if grad_state.saved_hooks is not outer_hooks:  # entered during the backward, and not left
            grad_state.saved_hooks = outer_hooks
            refresh()
        if grad_state.grad != outer_mode:
            grad_state.grad = outer_mode
            grad_state.off_name, grad_state.off_site = outer_off
            refresh()


def _walk(this: Backward, roots: Sequence[tuple[Node, Any]], keep: bool, captures: dict[Node, Any] | None,
          deposit_captured: bool) -> None:
    create_graph = this.create_graph
    targets = list(dict.fromkeys(target for target, _ in roots))
    dependencies = count_dependencies(targets)
    if captures is not None:
        wanted = _leading_to(captures, dependencies)
        if len(roots) == 1 and targets[0] not in wanted:
            registered.hooks.pass_by(*roots[0], create_graph)
        targets = [target for target in targets if target in wanted]
        dependencies = count_dependencies(targets, wanted)
    this.targets = dependencies
    this.roots = targets
    pending: dict[Node, Any] = {}
    owned: set[Node] = set()
    for target, g in roots:
        if target in dependencies:
            pending[target] = g if target not in pending else pending[target] + g

    add_to, ndarray, finish_leaf = add_into, np.ndarray, registered.accumulation.finish_leaf
    ready: list[tuple[int, Node]] = []
    for target in targets:
        if dependencies[target]:
            continue
        if type(target) is AccumulateGrad:
            finish_leaf(this, target, pending.pop(target), captures, deposit_captured, 0)
        else:
            heappush(ready, (-target.seq, target))
    if not ready:
        return
    node = heappop(ready)[1]
    ordinary = captures is None and not process_state.anomaly and not process_state.listeners and (
        why.watching is None or not why.watching.traces)
    while True:
        edges = node.edges
        g = pending.pop(node, None)
        if g.__class__ is not ndarray:
            g = _as_rules_expect(node, g)
        if ordinary and node.extra is None and g is not None:
            grads: Any = node.graph(g, edges) if create_graph else node.raw(g, edges)
            if not keep and node.saved:
                node.saved = None
                node.freed = this
        elif process_state.listeners and node.visible:
            edges, grads = door.tell(node.name(), tuple(g) if isinstance(g, list) else (g,), _run_watched, this, node, g, keep,
                                     captures, deposit_captured)
        else:
            edges, grads = _run_watched(this, node, g, keep, captures, deposit_captured)
        g = following = None
        for target, gradient in zip(edges, grads):  # noqa: B905 (the loop is hot, and rules are checked at import)
            if target is None:
                continue
            if gradient is not None:
                if target not in pending:
                    pending[target] = gradient
                elif target in owned:
                    buffer = pending[target]
                    add_to(buffer, gradient, buffer)
                    buffer = None
                else:
                    pending[target] = _combine(pending[target], gradient, target, owned, create_graph)
            left = dependencies[target] - 1
            if left:
                dependencies[target] = left
            elif type(target) is AccumulateGrad:
                total = pending.pop(target, None)
                held = references.straight if total is gradient else references.waited
                if process_state.listeners:  # the gradient has more references than the walk's own, so it is copied
                    door.tell(target.name(), (total,), finish_leaf, this, target, total, captures, deposit_captured, 0)
                else:
                    finish_leaf(this, target, total, captures, deposit_captured, held)
                total = None
            elif following is None:
                following = target
            else:
                heappush(ready, (-target.seq, target))
        # Nothing must hold the next gradient but `g`: its rule may write over it (see WalkReferences).
        grads = gradient = None
        if following is None:
            if not ready:
                return
            node = heappop(ready)[1]
        elif ready:
            node = heappushpop(ready, (-following.seq, following))[1]
        else:
            node = following


def _as_rules_expect(node: Node, g: Any) -> Any:
    """NumPy gives scalars for 0-dim results, where rules rely on arrays; a node with several outputs wants a list."""
    if isinstance(g, np.generic):
        return np.asarray(g)
    if type(g) is dict:
        return [g.get(i) for i in range(len(node.shapes))]
    if g is not None and g.layout is not strided and not node.takes_sparse:
        return g.to_dense()
    return g


def _run_watched(this: Backward, node: Node, g: Any, keep: bool, captures: dict[Node, Any] | None,
                 deposit_captured: bool = False) -> tuple[tuple[Node, ...], Any]:
    """Run a node that is observed: hooks, captured gradients, anomaly mode. Gives its live edges and gradients.

    As in torch, a captured node that leads on to another captured one is captured before its tensor hooks; one that
    does not is captured after them, and runs only for `backward(inputs=...)`, to no effect but on its hooks and saved
    values.
    """
    create_graph = this.create_graph
    this.node = node
    edges = node.edges
    runs = True
    if captures is not None:
        edges = tuple([target if target in this.targets else None for target in edges])
        runs = any(target is not None for target in edges)
        if runs and node in captures:
            captures[node] = g
    if node.extra is not None:
        if node.extra.detached:
            registered.hooks.check_detached(this, node)
        g = registered.hooks.on_output(node, g, create_graph)
    if not runs:
        assert captures is not None
        captures[node] = g
        if not deposit_captured:
            return (), ()
    has_post_hooks = False
    if node.extra is not None:
        g = registered.hooks.before_node(node, g, create_graph)
        has_post_hooks = bool(node.extra.post_hooks)
    kept = g  # one reference more: it is looked at again, so its rule must not write over it (see WalkReferences)
    if g is None and not node.takes_none:
        grads: tuple[Any, ...] = (None,) * len(edges)
    elif process_state.anomaly:
        grads = registered.anomaly.run_node(node, g, edges, create_graph)
    else:
        grads = node.graph(g, edges) if create_graph else node.raw(g, edges)
    if node.extra is not None:
        if captures is not None:
            grads = tuple([None if target is None else x for x, target in zip(grads, edges, strict=True)])
        grads = registered.hooks.after_node(node, grads, kept, create_graph, is_new=not has_post_hooks)
    if why.watching is not None and why.watching.traces:
        why.watching.ran(this, node, kept, tuple([leaf_or_node(edge) for edge in edges]), grads)
    if not keep and node.saved:
        node.saved = None
        node.freed = this
    return edges, grads


def count_dependencies(targets: list[Node], wanted: set[Node] | None = None) -> dict[Node, int]:
    """How many contributions each target will receive, besides what a root brings along."""
    counts: dict[Node, int] = dict.fromkeys(targets, 0)
    stack = list(targets)
    push, pop = stack.append, stack.pop
    while stack:
        for target in pop().edges:
            if target is None:
                continue
            if target in counts:
                counts[target] += 1
            elif wanted is None or target in wanted:
                counts[target] = 1
                if type(target) is not AccumulateGrad:
                    push(target)
    return counts


def _leading_to(captures: Iterable[Node], reachable: Iterable[Node]) -> set[Node]:
    """The reachable targets from which a captured one can be reached."""
    wanted = set(captures)
    # Older nodes first: a node's edges lead to nodes made before it.
    for node in sorted(reachable, key=lambda node: node.seq):
        if node not in wanted and any(target in wanted for target in node.edges):
            wanted.add(node)
    return wanted


def _combine(old: Any, new: Any, target: Node, owned: set[Node], create_graph: bool) -> Any:
    """Add a second contribution; from then on the buffer is ours and is added to in place."""
    if type(old) is dict:
        # Gradients by output, from the ports of a node with several; the dict is this walk's own.
        for index, g in new.items():
            old[index] = g if index not in old else old[index] + g
        return old
    if create_graph:
        if old.__class__ is not new.__class__ and old.layout is not strided:
            old, new = new, old  # a dense tensor can be added to, a sparse one cannot
        return old + new
    total = add(old, new) if old.__class__ is new.__class__ is np.ndarray else old + new
    if type(total) is np.ndarray:
        owned.add(target)
    return total
