"""Backward passes: backward() and autograd.grad() both go through torch's `_engine_run_backward`."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from whygrad.for_torch import errors, figures
from whygrad.for_torch.arrays import array_of, has_numbers, numbers_of
from whygrad.for_torch.lean import ring, sequence_number
from whygrad.for_torch.modes import modes
from whygrad.for_torch.nodes import NOWHERE, Node, grad_fn_of, leaf_of, node_for, source_of
from whygrad.for_torch.recorder import is_transforming
from whygrad.for_torch.tensor_facts import facts_of, own_notes_of, quietly
from whygrad.why import record
from whygrad.why.far_array import FarArray
from whygrad.why.gradient_flow import FLAT, forget_known, gradient_state, known_shares, known_squares, known_states, row_name
from whygrad.why.record import Cause, Site

_next_number = itertools.count(1).__next__
_last: Backward | None = None
# Passes that were not traced, to tell which of them freed a graph.
_untraced: deque[Backward] = deque(maxlen=256)


class Backward:
    """One pass."""

    # The sequence number of the root's node, where the graph was not looked at.
    root_number = -1

    def __init__(self, root: Any, site: Site, create_graph: bool = False, keep: bool = False,
                 only_captures: bool = False) -> None:
        self.number = _next_number()
        self.site = site
        self.create_graph = create_graph
        self.keep = keep
        # True for `autograd.grad`: gradients are handed out, no leaf is written.
        self.only_captures = only_captures
        self.depth = 0
        self.root: Callable[[], Any] = _nothing if root is None else record.Reference(root)
        # The node of a custom Function, while it runs.
        self.at: Node | None = None

    @cached_property
    def causes(self) -> tuple[Cause, ...]:
        """Why the gradients that it computes have no history."""
        return (Cause("no-create-graph", self.site),)


def _nothing() -> None:
    return None


def last_backward() -> Backward | None:
    return _last


def set_last_backward(backward: Backward | None) -> None:
    global _last
    _last = backward


def count_backwards() -> int:
    return 0 if _last is None else _last.number


def listening(watch: Any, plain: Any, recording: Callable[[], Any], on_end: Callable[[], None]) -> Any:
    """`_engine_run_backward`, of which the watch hears. Hooks and custom backwards are the program's own code: they run inside
    of `recording()`."""

    def run_backward(outputs: Any, *args: Any, **kwargs: Any) -> Any:
        if is_transforming():
            return plain(outputs, *args, **kwargs)
        _, keep_graph, create_graph, inputs = args[:4]
        with quietly():
            begun = watch.guarded_call("begin", _begin, watch, outputs, inputs, bool(create_graph),
                                       kwargs.get("accumulate_grad", False), bool(keep_graph))
        if begun is not None:
            outer = modes.enter(begun.backward)
            begun.backward.depth = 0 if outer is None else outer.depth + 1
        since = sequence_number()
        try:
            with recording():
                results = plain(outputs, *args, **kwargs)
        except Exception as error:
            with quietly():
                if begun is not None and not begun.nodes:
                    watch.guarded_call("post mortem", begun.look_back, outputs)
                watch.guarded_call("explain_backward", errors.explain_backward, watch, error, begun, outputs, inputs or ())
            raise
        finally:
            if begun is not None:
                modes.leave(begun.backward, outer)
                begun.detach()
        if begun is not None and not watch.traces:
            if create_graph:
                ring.add(since, sequence_number(), begun.backward.site)
            on_end()
        elif begun is not None:
            with quietly():
                watch.guarded_call("ended", begun.finish, watch, results, bool(keep_graph or create_graph))
        return results

    return run_backward


def _begin(watch: Any, outputs: Any, inputs: Any, create_graph: bool, accumulates: bool, keeps: bool) -> Pass | None:
    global _last
    for t in outputs:
        if not isinstance(t, Tensor) or not has_numbers(t):
            return None  # a GradientEdge, or what only stands for numbers
    site = record.site()
    if accumulates:
        watch.differentiated(tuple(outputs), keeps)
    for t in outputs:
        if not t.requires_grad:
            return None  # torch raises
    if not watch.traces:
        backward = _last = Backward(None, site, create_graph, keeps, not accumulates)
        fn = grad_fn_of(outputs[0])
        backward.root_number = -1 if fn is None else fn._sequence_nr()
        _untraced.append(backward)
        return Pass(backward)
    backward = _last = Backward(source_of(outputs[0]), site, create_graph, keeps, not accumulates)
    captures = {source: None for t in inputs if (source := source_of(t)) is not None} if inputs else None
    watch.begin(backward, captures, accumulates)
    running = Pass(backward)
    running.attach(watch, [fn for t in outputs if (fn := grad_fn_of(t)) is not None])
    for t in outputs:  # a leaf that is its own loss
        if t.is_leaf and accumulates:
            running.leaves.append(t)
            own_notes_of(t).reached_by = backward
    return running


class Sent(NamedTuple):
    """A gradient on its way to a node or leaf: how to recognize it there, and what is known of it."""

    address: int
    version: int
    shape: Any
    state: str
    # The square of its norm, and its numbers if they are on the CPU.
    square: float | None
    array: Any


class Pass:
    """The hooks of a running backward: they tell the watch of each node and leaf."""

    def __init__(self, backward: Backward) -> None:
        self.backward = backward
        self.nodes: list[Node] = []
        self.leaves: list[Tensor] = []
        # By the node or leaf that a gradient is on its way to.
        self._on_the_way: dict[Any, Sent] = {}
        # What has come to each leaf, by its id.
        self._deposited: dict[int, Sent] = {}
        # In anomaly mode: the node that has run last, and the one at which gradients stopped being finite.
        self.latest: Node | None = None
        self.infinite: Node | None = None
        self._handles: list[Any] = []
        # torch's nodes of the passes inside of which this one runs.
        self._outer: dict[Node, Any] = {}

    def attach(self, watch: Any, roots: list[Any]) -> None:
        seen: set[Any] = set()
        pending = list(roots)
        while pending:
            fn = pending.pop()
            if fn in seen:
                continue
            seen.add(fn)
            leaf = leaf_of(fn)
            if leaf is not None:
                self.leaves.append(leaf)
                self._handles.append(fn.register_prehook(partial(self._depositing, watch, leaf)))
                continue
            node = node_for(fn, NOWHERE)
            if node.fn is not None:
                self._outer[node] = node.fn
            node.fn = fn
            self.nodes.append(node)
            if node.function is not None or node.kind.is_missing:  # it may raise, or run hooks
                self._handles.append(fn.register_prehook(partial(self._reached, node)))
            self._handles.append(fn.register_hook(partial(self._ran, watch, node)))
            pending += [behind for behind, _ in fn.next_functions if behind is not None]

    def look_back(self, outputs: Any) -> None:
        """A pass that was not traced has raised: see what its graph still tells."""
        pending = [fn for t in outputs if (fn := grad_fn_of(t)) is not None]
        seen: set[Any] = set()
        while pending:
            fn = pending.pop()
            if fn in seen or leaf_of(fn) is not None:
                continue
            seen.add(fn)
            node = node_for(fn, NOWHERE)
            if node.fn is not None:
                self._outer[node] = node.fn
            node.fn = fn
            if node.freed is None and node.is_freed():
                node.freed = self._freed_by(fn._sequence_nr())
            self.nodes.append(node)
            pending += [behind for behind, _ in fn.next_functions if behind is not None]

    def _freed_by(self, number: int) -> Backward | None:
        """The untraced pass that freed the node with this number, if only passes of one line can have done it."""
        able = [b for b in _untraced if b is not self.backward and b.root_number >= number and not b.keep]
        return able[-1] if able and all(b.site == able[0].site for b in able) else None

    def detach(self) -> None:
        for handle in self._handles:
            handle.remove()
        for node in self.nodes:
            node.fn = self._outer.get(node)

    def finish(self, watch: Any, results: Any, keeps_graph: bool) -> None:
        """The backward has run without an error."""
        given = [g for g in results if isinstance(g, Tensor)] if isinstance(results, tuple) else []
        if not keeps_graph:
            for node in self.nodes:
                node.freed = self.backward
        if not self.backward.create_graph:
            for leaf in self.leaves:
                g = leaf.grad
                if g is not None and not g.requires_grad:
                    given.append(g)
                    sent = self._deposited.get(id(leaf))
                    if sent is not None and sent.square is not None and _is_still(sent, g) and not _is_distributed():
                        facts_of(g).norm = math.sqrt(sent.square), sent.version
            for g in given:
                facts_of(g).causes = self.backward.causes
        else:
            for g in given:
                fn = grad_fn_of(g)
                if fn is not None:
                    node_for(fn, self.backward.site)
        if watch.traces:
            watch.ended(self.backward)

    # The hooks. They return nothing, and never raise.

    def _reached(self, node: Node, grads: Any) -> None:
        self.backward.at = node
        if node.function is not None and not self.backward.create_graph:
            with quietly():
                for g in grads:
                    if g is not None:
                        facts_of(g).causes = self.backward.causes

    def _ran(self, watch: Any, node: Node, grad_inputs: Any, grad_outputs: Any) -> None:
        self.backward.at, self.latest = None, node
        try:
            with quietly():
                is_near = True
                for some in (grad_outputs, grad_inputs):
                    for g in some:
                        if g is not None:
                            if not has_numbers(g):
                                return
                            is_near = is_near and g.is_cpu
                if not is_near and self._measured(watch, node, grad_inputs, grad_outputs):
                    return
                try:
                    self._tell(watch, node, grad_inputs, grad_outputs)
                finally:
                    forget_known()
                if node.function is not None:
                    watch.function_ran(node, tuple([g if g is None else g.detach() for g in grad_outputs]), grad_inputs)
        except Exception as error:
            watch.failed_in("ran", error)

    def _tell(self, watch: Any, node: Node, grad_inputs: Any, grad_outputs: Any) -> None:
        if len(grad_outputs) == 1 and grad_outputs[0] is not None:
            came = self._arrived(node, grad_outputs[0])
        else:
            came = [array_of(g) for g in grad_outputs if g is not None] or None
            came = came[0] if came is not None and len(came) == 1 else came
        edges = node.edges
        left: list[Any] = []
        for i, g in enumerate(grad_inputs):
            array = None if g is None else numbers_of(g)
            left.append(array)
            if g is not None and i < len(edges) and edges[i] is not None:
                self._send(edges[i], g, array)
        if torch.is_anomaly_enabled() and all(map(_is_finite, came if isinstance(came, list) else (came,))):
            self.infinite = None if all(map(_is_finite, left)) else node
        watch.ran(self.backward, node, came, edges, tuple(left))

    def _measured(self, watch: Any, node: Node, grad_inputs: Any, grad_outputs: Any) -> bool:
        """Tell of a node whose gradients are on a device, without their numbers. False if those are needed: of custom Functions,
        of single numbers, and where a gradient has become zero or infinite."""
        given = [g for g in (*grad_outputs, *grad_inputs) if g is not None]
        if node.function is not None or len(grad_outputs) != 1 or grad_outputs[0] is None or torch.is_anomaly_enabled() or any(
                g.layout is not torch.strided or not g.is_floating_point() or g.numel() < 2 or g.device != given[0].device
                for g in given):
            return False
        g, came = grad_outputs[0], far_array(grad_outputs[0])
        sent = self._recognize(node, g)
        unknown = [x for x in grad_inputs if x is not None]
        if sent is None:
            unknown.insert(0, g)
        found = figures.figures_of(unknown) if unknown else []
        known_states[id(came)], known_squares[id(came)] = found.pop(0) if sent is None else (sent.state, sent.square or 0.0)
        is_uniform = row_name(node) == "softmax" and figures.is_uniform(g, node.options.get("axis"))  # see why/zero_origin.py
        if is_uniform or known_states[id(came)] != "fine" or any(figure.state != "fine" for figure in found):
            forget_known()
            return False
        try:
            left: list[Any] = []
            for x in grad_inputs:
                if x is None:
                    left.append(None)
                    continue
                array, figure = far_array(x), found.pop(0)
                left.append(array)
                known_states[id(array)], known_squares[id(array)] = figure
                edge = node.edges[len(left) - 1] if len(left) <= len(node.edges) else None
                if edge is not None:
                    self._on_the_way[edge] = Sent(x.data_ptr(), x._version, x.shape, figure.state, figure.square, None)
            first = next((x for x in grad_inputs if x is not None), None)
            if first is not None and first.numel() and row_name(node) in FLAT:
                known_shares[id(came)] = figures.share_stopped(g, first)
            watch.ran(self.backward, node, came, node.edges, tuple(left))
        finally:
            forget_known()
        return True

    def _recognize(self, target: Any, g: Tensor) -> Sent | None:
        """A gradient that left one node comes to the next as it is, unless others are added or a hook changes it. The engine
        holds it in between, so that no other can have its memory: its state need not be computed again."""
        sent = self._on_the_way.pop(target, None)
        return sent if sent is not None and _is_still(sent, g) else None

    def _arrived(self, target: Any, g: Tensor) -> Any:
        """The array of a gradient on the CPU that has come to a node or leaf."""
        sent = self._recognize(target, g)
        if sent is None or sent.array is None:
            return numbers_of(g)
        known_states[id(sent.array)] = sent.state
        if sent.square is not None:
            known_squares[id(sent.array)] = sent.square
        return sent.array

    def _send(self, target: Any, g: Tensor, array: Any) -> None:
        # One pass gives the state, except of tiny and huge numbers, and the norm.
        square = None
        if array.dtype.char in "fd":
            flat = array.ravel("K")
            square = known_squares[id(array)] = float(np.vdot(flat, flat))
        state = known_states[id(array)] = "fine" if square is not None and 0 < square < math.inf else gradient_state(array)
        if g.layout is torch.strided:
            self._on_the_way[target] = Sent(g.data_ptr(), g._version, g.shape, state, square, array)

    def _depositing(self, watch: Any, leaf: Tensor, grads: Any) -> None:
        g = grads[0]
        if g is None:
            return
        try:
            with quietly():
                if not has_numbers(g):
                    return
                sent = self._on_the_way.get(leaf)
                if sent is not None:
                    self._deposited[id(leaf)] = sent._replace(array=None)
                array = self._arrived(leaf, g) if g.is_cpu else self._arrived_far(leaf, g)
                try:
                    watch.depositing(leaf, self.backward, array)
                finally:
                    forget_known()
                own_notes_of(leaf).reached_by = self.backward
        except Exception as error:
            watch.failed_in("depositing", error)

    def _arrived_far(self, target: Any, g: Tensor) -> Any:
        """The same of one on a device: its numbers are copied only if its state is not known."""
        sent = self._recognize(target, g)
        if sent is None:
            return array_of(g)
        far = far_array(g)
        known_states[id(far)] = sent.state
        if sent.square is not None:
            known_squares[id(far)] = sent.square
        return far


def _is_still(sent: Sent, g: Tensor) -> bool:
    return g.layout is torch.strided and sent.address == g.data_ptr() and sent.version == g._version and sent.shape == g.shape


def _is_distributed() -> bool:
    """Then gradients may be averaged between processes, of which a version counter does not know."""
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def far_array(g: Tensor) -> FarArray:
    return FarArray(tuple(g.shape), partial(array_of, g))


def _is_finite(g: Any) -> bool:
    return g is None or bool(np.isfinite(g).all())


def gradients_of_leaves(loss: Tensor, leaves: dict[Any, Any], watch: Any) -> None:
    """See why/engine.py."""
    latest = _last
    tensors = list(leaves)
    running = Pass(Backward(source_of(loss), record.site()))
    fn = grad_fn_of(loss)
    with quietly():
        running.attach(watch, [] if fn is None else [fn])
        try:
            grads = torch.autograd.grad(loss, tensors, torch.ones_like(loss), retain_graph=True, allow_unused=True)
        finally:
            running.detach()
            set_last_backward(latest)
    leaves.update(zip(tensors, [None if g is None else array_of(g) for g in grads], strict=True))
