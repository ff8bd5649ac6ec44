"""The protocol of why/engine.py on whygrad's own tensors and nodes."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from whygrad import random
from whygrad.autograd.function import Function
from whygrad.autograd.grad_mode import no_grad
from whygrad.base.own_version import own_version
from whygrad.base.refusing import RefusingArray
from whygrad.core import engine
from whygrad.core.modes import count_backwards, grad_state, process_state
from whygrad.core.node import Node, leaf_or_node, next_sequence_number, row_node
from whygrad.core.tensor import Meta, Tensor, grad_fn, known_source, source, wrap
from whygrad.for_whygrad.instrumentation import CallListener, instrument
from whygrad.for_whygrad.observation import Observation
from whygrad.functional.parameter import Parameter
from whygrad.nn import hooks
from whygrad.nn.module import Module
from whygrad.optim import optimizer
from whygrad.optim.optimizer import OPTIMIZERS
from whygrad.why import record
from whygrad.why.engine import Observing, Undo, step_for
from whygrad.why.record import Causes, Site

# The notes of tensors that have none.
NO_NOTES = Meta()


class WhygradEngine:
    name = "whygrad"
    records_always = True
    _calls: CallListener | None = None
    tensor_class, node_class, parameter_class, module_class, function_class = Tensor, Node, Parameter, Module, Function
    hooks = SimpleNamespace(**{name: value for part in (hooks, optimizer) for name, value in vars(part).items()
                               if name.startswith("register_")})

    # Of a tensor.

    source_of = staticmethod(known_source)
    node_of = staticmethod(grad_fn)

    def grad_of(self, t: Tensor) -> Tensor | None:
        return t._grad

    def is_near(self, t: Tensor) -> bool:
        return True

    def total_later(self, tensors: tuple[Tensor, ...]) -> float:
        is_scalar = len(tensors) == 1 and tensors[0]._array.size == 1
        return float(tensors[0]._array.item() if is_scalar else sum(t._array.sum() for t in tensors))

    def glance(self, parameters: list[Tensor], measures: bool) -> tuple[int, Callable[[], str | None]]:
        return sum(p._grad is not None for p in parameters), lambda: ""

    def finish_reading(self) -> None:
        pass

    def is_known_finite(self, t: Tensor) -> bool | None:
        return None

    def norms_of(self, tensors: list[Any]) -> list[float | None]:
        return [None] * len(tensors)  # nothing is saved by computing them together

    def copies_of(self, tensors: list[Tensor]) -> list[Any]:
        return [t._array.copy() for t in tensors]

    def distances_of(self, tensors: list[Tensor], copies: list[Any]) -> list[float | None]:
        return [None] * len(tensors)

    def samples_of(self, tensors: list[Tensor], size: int) -> list[np.ndarray]:
        return [(flat := t._array.reshape(-1))[::step_for(flat.size, size)].copy() for t in tensors]

    def first_rows(self, t: Tensor, count: int) -> np.ndarray:
        return t._array[:count]  # type: ignore[no-any-return]

    def causes_of(self, t: Tensor) -> Causes:
        return t._cause

    def notes_of(self, t: Tensor) -> Meta:
        return t._meta or NO_NOTES

    def own_notes_of(self, t: Tensor) -> Meta:
        return t.meta

    def version_of(self, t: Tensor) -> Any:
        return t._version_counter

    def array_of(self, x: Any) -> np.ndarray:
        array = x if isinstance(x, RefusingArray) else getattr(x, "_array", x)
        return np.asarray(vars(array).get("values", ()) if isinstance(array, RefusingArray) else array)

    def is_sparse(self, x: Any) -> bool:
        return isinstance(getattr(x, "_array", x), RefusingArray)

    def shape_of(self, t: Tensor) -> tuple[int, ...]:
        return t._array.shape

    def kind_of(self, t: Tensor) -> str:
        return t._array.dtype.kind

    def address_of(self, t: Tensor) -> int:
        return t._array.ctypes.data

    def base_of(self, t: Tensor) -> Tensor | None:
        return None if t._view is None else t._view.base

    # Of a node.

    def end_of(self, edge: Any) -> Any:
        return leaf_or_node(row_node(edge)[0] if isinstance(edge, Node) else edge)

    def name_of(self, node: Node) -> str:
        return _name_of(type(node))  # type: ignore[arg-type]

    def row_of(self, node: Node) -> Any:
        layout = getattr(type(node), "layout", None)
        return None if layout is None else layout.row

    def argument_names(self, node: Node) -> tuple[str, ...]:
        row = self.row_of(node)
        if row is None:
            return ()
        return tuple([f"{row.inputs[0]}[{i}]" for i in range(len(node.edges))]) if row.variadic else row.inputs

    def is_view(self, node: Node) -> bool:
        row = self.row_of(node)
        return row is not None and row.view

    def has_derivative(self, node: Node, position: int) -> bool:
        layout = getattr(type(node), "layout", None)
        return layout is None or layout.row.variadic or layout.row.inputs[position] in layout.rules

    def argument_kinds(self, node: Node) -> str:
        layout = getattr(type(node), "layout", None)
        return "" if layout is None else layout.kinds

    def function_of(self, node: Node) -> Any:
        ctx = getattr(node, "ctx", None)
        return None if ctx is None else ctx._forward_cls

    def options_of(self, node: Node) -> dict[str, Any]:
        layout = getattr(type(node), "layout", None)
        return {} if layout is None else dict(zip(layout.static, getattr(node, "static", ()) or (), strict=False))

    def saved_of(self, node: Node) -> dict[str, Any]:
        layout = getattr(type(node), "layout", None)
        if layout is None or type(node.saved) is not tuple or not node.saved:
            return {}
        return dict(zip(layout.saved, node.saved[::3], strict=False))

    def versions_saved_by(self, node: Node) -> Iterable[Any]:
        return node.saved[1::3] if type(node.saved) is tuple else ()

    def output_of(self, node: Node) -> Any:
        layout = getattr(type(node), "layout", None)
        saved = self.saved_of(node)
        if layout is None or layout.row.variadic or not layout.one_output:
            return None
        if isinstance(saved.get("out"), np.ndarray):
            return saved["out"]
        row = layout.row
        if not all(saved.get(name) is not None for name in row.inputs):
            return None
        statics = {name: x for name, x in self.options_of(node).items() if name in row.statics}
        if set(row.statics) - set(statics) - set(row.static_defaults):
            return None
        try:
            with np.errstate(all="ignore"):
                return layout.forward(*[saved[name] for name in row.inputs], **{**row.static_defaults, **statics})
        except Exception:  # a row whose forward cannot be called like this
            return None

    def was_seen(self, node: Node) -> bool:
        return True

    def run_again(self, node: Node, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        return node.raw(g, edges)

    def run_in_double(self, node: Node, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        saved = node.saved
        if type(saved) is not tuple:
            return ()
        wide = [x.astype(np.float64) if i % 3 == 0 and isinstance(x, np.ndarray) and x.dtype == np.float32 else x
                for i, x in enumerate(saved)]
        try:
            node.saved = tuple(wide)
            return node.raw(g.astype(np.float64), edges)
        finally:
            node.saved = saved

    # Of the program.

    def description(self) -> dict[str, str]:
        return {"name": self.name, "version": own_version(), "device": "cpu"}

    def optimizers(self) -> list[Any]:
        return list(OPTIMIZERS)

    def made_at(self, optimizer: Any) -> Site | None:
        return vars(optimizer).get("_site")

    def last_backward(self) -> Any:
        return process_state.last_backward

    def running_backward(self) -> Any:
        return grad_state.running

    count_backwards = staticmethod(count_backwards)
    next_sequence_number = staticmethod(next_sequence_number)

    def group_size(self) -> int:
        group = sys.modules.get("whygrad.distributed")  # not loaded by a program of one process
        return group.get_world_size() if group is not None and group.is_initialized() else 1

    def is_grad_enabled(self) -> bool:
        return grad_state.grad

    def is_inference_mode_enabled(self) -> bool:
        return grad_state.inference

    # To act.

    wrap = staticmethod(wrap)

    def without_grad(self) -> AbstractContextManager[Any]:
        return no_grad()

    @contextmanager
    def repeatable(self, seed: int = 0) -> Iterator[None]:
        with random.fork_rng():
            random.manual_seed(seed)
            yield

    def gradients_of_leaves(self, loss: Tensor, leaves: dict[Any, Any], watch: Any) -> None:
        before, record.watching = record.watching, watch
        latest = process_state.last_backward
        try:
            captures: dict[Node, Any] = {source(leaf): None for leaf in leaves}
            engine.run([(source(loss), loss._array * 0 + 1)], keep=True, create_graph=False, captures=captures)
            leaves.update({node.leaf: g for node, g in captures.items()})  # type: ignore[attr-defined]
        finally:
            record.watching = before
            process_state.last_backward = latest

    # To listen.

    def instrument(self, watch: Any) -> list[Undo]:
        undo, self._calls = instrument(watch)
        return [self._fall_silent, *undo]

    def _fall_silent(self) -> None:
        """The last to be called when a watch ends: from then on `listen` must not switch the listener on again."""
        self._calls = None

    def listen(self, calls: bool, records: bool) -> None:
        if self._calls is not None:
            self._calls.switch(calls)  # what is recorded of every call costs next to nothing

    def observing(self, on_call: Callable[[Any], None], on_module: Callable[[Any], None]) -> Observing:
        return Observation(on_call, on_module)


ENGINE = WhygradEngine()


@functools.cache
def _name_of(kind: type[Node]) -> str:
    layout = getattr(kind, "layout", None)
    if layout is None:
        return kind.__name__.partition("Backward")[0]
    if layout.row.name.startswith("sampled"):
        return kind.__name__.partition("Backward")[0].lower()
    return str(layout.row.traits.called)
