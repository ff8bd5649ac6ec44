"""The protocol of why/engine.py on real PyTorch."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.modules import module as torch_module
from torch.optim import optimizer as torch_optimizer

from whygrad.base.frames import add_internal_packages
from whygrad.for_torch import backward, figures, later, nodes, tensor_facts
from whygrad.for_torch.arrays import array_of, is_sparse, kind_of
from whygrad.for_torch.instrumentation import Instruments
from whygrad.for_torch.modes import modes
from whygrad.for_torch.nodes import Node
from whygrad.for_torch.observation import Observation
from whygrad.for_torch.patches import put
from whygrad.why.engine import Observing, Undo
from whygrad.why.record import Site


class TorchEngine:
    name = "torch"
    records_always = False
    tensor_class, node_class = Tensor, Node
    parameter_class, module_class, function_class = torch.nn.Parameter, torch.nn.Module, torch.autograd.Function
    hooks = SimpleNamespace(**{name: value for part in (torch_module, torch_optimizer) for name, value in vars(part).items()
                               if name.startswith("register_")})

    def __init__(self) -> None:
        self._optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._made_at: weakref.WeakKeyDictionary[Any, Site] = weakref.WeakKeyDictionary()
        self._instruments: Instruments | None = None

    # Of a tensor.

    source_of = staticmethod(nodes.source_of)
    node_of = staticmethod(nodes.node_of)
    causes_of = staticmethod(tensor_facts.causes_of)
    notes_of = staticmethod(tensor_facts.notes_of)
    own_notes_of = staticmethod(tensor_facts.own_notes_of)
    version_of = staticmethod(tensor_facts.version_of)
    array_of = staticmethod(array_of)
    is_sparse = staticmethod(is_sparse)
    kind_of = staticmethod(kind_of)

    is_near = staticmethod(later.is_near)
    total_later = staticmethod(later.total_later)
    glance = staticmethod(later.glance)
    finish_reading = staticmethod(later.finish_reading)
    is_known_finite = staticmethod(figures.is_known_finite)
    norms_of = staticmethod(figures.norms_of)
    copies_of = staticmethod(figures.copies_of)
    distances_of = staticmethod(figures.distances_of)
    samples_of = staticmethod(figures.samples_of)
    first_rows = staticmethod(figures.first_rows)

    def grad_of(self, t: Tensor) -> Tensor | None:
        with tensor_facts.quietly():
            return t.grad if t.is_leaf or t.retains_grad else None

    def shape_of(self, t: Tensor) -> tuple[int, ...]:
        return tuple(t.shape)

    def address_of(self, t: Tensor) -> int:
        return t.data_ptr()

    def base_of(self, t: Tensor) -> Tensor | None:
        return t._base

    # Of a node.

    def end_of(self, edge: Any) -> Any:
        return edge

    def name_of(self, node: Node) -> str:
        kind = node.kind
        return kind.name if kind.row is None else str(kind.row.traits.called)

    def row_of(self, node: Node) -> Any:
        return node.kind.row

    def argument_names(self, node: Node) -> tuple[str, ...]:
        return node.kind.arguments

    def has_derivative(self, node: Node, position: int) -> bool:
        return True  # torch's nodes have edges for arguments with a derivative only

    def argument_kinds(self, node: Node) -> str:
        return "ts" if node.takes_number else "t" * len(node.edges)

    def is_view(self, node: Node) -> bool:
        return node.kind.is_view

    def function_of(self, node: Node) -> Any:
        return node.function

    def options_of(self, node: Node) -> dict[str, Any]:
        return dict(node.options)

    def saved_of(self, node: Node) -> dict[str, Any]:
        found = node.saved_arrays()
        if "out" not in found and node.nonfinite:
            found["out"] = np.asarray([float(node.nonfinite)])
        return found

    def versions_saved_by(self, node: Node) -> Iterable[Any]:
        addresses = {t.untyped_storage().data_ptr() for t in node.saved().values() if not is_sparse(t)}
        return [version for version, _, address in node.operands if address in addresses]

    def output_of(self, node: Node) -> Any:
        return np.asarray([float(node.nonfinite)]) if node.nonfinite else None

    def was_seen(self, node: Node) -> bool:
        return node.was_seen

    def run_again(self, node: Node, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        if node.fn is None or node.is_packed():
            return ()
        with torch.no_grad():
            grads = node.fn(torch.from_numpy(np.ascontiguousarray(g)))
        return tuple([None if x is None else array_of(x) for x in (grads if isinstance(grads, tuple) else (grads,))])

    def run_in_double(self, node: Node, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        return ()  # torch's node keeps what it saved

    # Of the program.

    def description(self) -> dict[str, str]:
        device = torch.cuda.get_device_name() if torch.cuda.is_initialized() else "cpu"
        return {"name": self.name, "version": torch.__version__, "device": device}

    def optimizers(self) -> list[Any]:
        return list(self._optimizers)

    def made_at(self, optimizer: Any) -> Site | None:
        return self._made_at.get(optimizer)

    last_backward = staticmethod(backward.last_backward)
    count_backwards = staticmethod(backward.count_backwards)
    next_sequence_number = staticmethod(nodes.next_sequence_number)

    def running_backward(self) -> Any:
        return modes.running

    def group_size(self) -> int:
        group = torch.distributed
        return group.get_world_size() if group.is_available() and group.is_initialized() else 1

    is_grad_enabled = staticmethod(torch.is_grad_enabled)
    is_inference_mode_enabled = staticmethod(torch.is_inference_mode_enabled)

    # To act.

    def wrap(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.array(array))

    def without_grad(self) -> AbstractContextManager[Any]:
        return torch.no_grad()

    @contextmanager
    def repeatable(self, seed: int = 0) -> Iterator[None]:
        def refuse(*_: Any) -> None:
            raise PermissionError("torch.save while a module is called again, which must have no effect")

        undo = put(torch.serialization, "_open_zipfile_writer", refuse)  # it opens files without telling Python
        try:
            devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
            with torch.random.fork_rng(devices):
                torch.default_generator.manual_seed(seed)  # torch.manual_seed asks every kind of device, 1 ms
                if devices:
                    torch.cuda.manual_seed_all(seed)
                yield
        finally:
            undo()

    gradients_of_leaves = staticmethod(backward.gradients_of_leaves)

    # To listen.

    def instrument(self, watch: Any) -> list[Undo]:
        self._instruments = Instruments(watch, self._optimizers, self._made_at)
        return [self._fall_silent, *self._instruments.install()]

    def _fall_silent(self) -> None:
        """The last to be called when a watch ends: from then on `listen` must not switch the recorder on again."""
        self._instruments = None

    def listen(self, calls: bool, records: bool) -> None:
        if self._instruments is not None:
            self._instruments.listen(calls, records)

    def observing(self, on_call: Callable[[Any], None], on_module: Callable[[Any], None]) -> Observing:
        return Observation(on_call, on_module)


# Frames of torch, and of libraries that run the program's training loop, are not the program's own.
add_internal_packages("torch", "functorch", "lightning", "pytorch_lightning", "lightning_fabric", "accelerate",
                      "transformers.trainer", "ignite", "skorch")

ENGINE = TorchEngine()
