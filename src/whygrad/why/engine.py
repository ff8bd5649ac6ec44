"""The protocol by which `why` reads an engine. whygrad's own engine implements it in for_whygrad/, real PyTorch in for_torch/.

Rules, texts, edits and reports know nothing else of an engine. A fact that an engine cannot give is None or empty, and a
rule that needs it stays silent.

A *node* is an object of the engine with these attributes:

    edges      for each argument None, or where its gradient goes: `end_of` gives the node or leaf there
    cuts       for each argument the causes of its having no history; None if all have one
    site       where the program made it; `site_code` and `lasti` are its two parts
    seq        its sequence number
    shapes     the arguments' shapes if they were broadcast, else None
    visible    False for nodes that only route a gradient
    freed      the backward that freed what it saved, or None

A *backward* is one pass: `number`, `site`, `root()`, `create_graph`, `keep`,
`only_captures` (of autograd.grad), `depth`. The events that an engine tells a watch are the methods of
`event_log.EventLog` and `watch.Watch`; those of the audit are listed in audit/README.md.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeAlias, TypeGuard, cast

import numpy as np

from whygrad.base.torch_homes import own_module
from whygrad.why import record
from whygrad.why.record import Causes, Site

# Objects of the engine. Only the engine looks into them.
Tensor: TypeAlias = Any
Node: TypeAlias = Any
Parameter: TypeAlias = Any
Module: TypeAlias = Any

Undo = Callable[[], None]


class Notes(Protocol):
    """What is known of a tensor that only a few have."""

    # The last backward that delivered a gradient here, and the latest hand on `.grad`: [("cleared" or "assigned", site, number
    # of backward passes by then)].
    reached_by: Any
    grad_log: list[tuple[str, Site, int]]
    # What `requires_grad` was last switched to, and where.
    switched_at: tuple[bool, Site] | None
    # What the watch knows of a leaf's gradient (run_facts.GradLedger), and the version at its first gradient.
    watched: Any
    watched_version: int


class VersionRecord(Protocol):
    """How often the memory of a tensor was written, and where last."""

    value: int
    site: Site | None


class Observing(Protocol):
    """Listens to calls of functions and modules, while it is on."""

    is_on: bool

    def switch(self, on: bool) -> None: ...


class Engine(Protocol):
    # "whygrad" or "torch".
    name: str
    # True if the facts of every tensor are recorded, at next to no cost; False if only those of tensors made under a watch are,
    # and that dearly: then only some rounds of a long run are recorded.
    records_always: bool
    # Classes of the engine.
    tensor_class: type
    node_class: type
    parameter_class: type
    module_class: type
    function_class: type

    # Of a tensor.

    def source_of(self, t: Tensor) -> Any:
        """Where the gradient of `t` goes: its node, `t` itself if it is a leaf that requires grad, or None. Never an error."""
    def node_of(self, t: Tensor) -> Any:
        """The node that computed `t`; None for a leaf."""
    def grad_of(self, t: Tensor) -> Any:
        """`t.grad`, without the program's notice."""
    def causes_of(self, t: Tensor) -> Causes:
        """Why a tensor has no history."""
    def notes_of(self, t: Tensor) -> Notes:
        """To be read only: tensors without notes share one object."""
    def own_notes_of(self, t: Tensor) -> Notes:
        """The notes of this tensor alone, to be written."""
    def version_of(self, t: Tensor) -> VersionRecord: ...
    def array_of(self, x: Any) -> np.ndarray:
        """The numbers of a tensor, or of a gradient as the engine hands it to a watch; the stored ones of a sparse one."""
    def is_sparse(self, x: Any) -> bool: ...
    def shape_of(self, t: Tensor) -> tuple[int, ...]: ...
    def kind_of(self, t: Tensor) -> str:
        """The kind of its numbers as NumPy's `dtype.kind` has it: "f", "c", "i", "u", "b", and "V" for bfloat16."""
    def address_of(self, t: Tensor) -> int:
        """Where its memory begins."""
    def is_near(self, t: Tensor) -> bool:
        """True if its numbers can be read without waiting for a device."""
    def total_later(self, tensors: tuple[Tensor, ...]) -> float | Callable[[], float | None]:
        """The sum of all elements, or a function that gives it, or None while a device has not come so far. Nothing waits."""
        ...
    def glance(self, parameters: list[Tensor], measures: bool) -> tuple[int, Callable[[], str | None]]:
        """How many have a gradient; and, if it `measures`, a function that gives "zero" or "bad" if one of the gradients is all
        zeros or not finite, else "", or None while a device has not come so far."""
    def finish_reading(self) -> None:
        """At the end of a run: wait until all that was asked of a device can be read."""
    def is_known_finite(self, t: Tensor) -> bool | None:
        """Whether all numbers are finite, where that is known or can be found out on a device; else None."""
    def norms_of(self, tensors: list[Tensor]) -> list[float | None]:
        """The Euclidean norms, computed together where the tensors are; None for those that the caller must compute."""
    def copies_of(self, tensors: list[Tensor]) -> list[Any]:
        """Copies of the values, where the tensors are: for `distances_of`, and `array_of`."""
    def distances_of(self, tensors: list[Tensor], copies: list[Any]) -> list[float | None]:
        """The norms of the differences between tensors and copies of the same shape; None as for `norms_of`."""
    def samples_of(self, tensors: list[Tensor], size: int) -> list[np.ndarray]:
        """At most `size` elements of each, evenly spread."""
    def first_rows(self, t: Tensor, count: int) -> np.ndarray:
        """The numbers of the first rows."""
    def base_of(self, t: Tensor) -> Any:
        """The tensor of which `t` is a view, or None."""

    # Of a node.

    def end_of(self, edge: Any) -> Any:
        """The node or leaf at the end of an edge, past nodes that only route the gradient."""
    def name_of(self, node: Node) -> str: ...
    def row_of(self, node: Node) -> Any:
        """The row of `whygrad.ops` whose derivative the node computes, or None."""
    def argument_names(self, node: Node) -> tuple[str, ...]:
        """The names that the row has for the arguments at the node's edges."""
    def is_view(self, node: Node) -> bool:
        """True if the node's result is a view of its argument."""
    def has_derivative(self, node: Node, position: int) -> bool:
        """False for an argument without a derivative, such as a mask or an index."""
    def argument_kinds(self, node: Node) -> str:
        """One letter for each argument: "s" for a plain number."""
    def function_of(self, node: Node) -> Any:
        """The custom Function that a node belongs to, or None."""
    def options_of(self, node: Node) -> dict[str, Any]:
        """Shapes and options that a node has kept, by the names of its row."""
    def saved_of(self, node: Node) -> dict[str, Any]:
        """The arrays that a node has saved, by the names of its row; empty if they are freed, or packed by hooks."""
    def versions_saved_by(self, node: Node) -> Iterable[Any]:
        """The version records of the tensors that a node has saved."""
    def output_of(self, node: Node) -> Any:
        """A node's result: saved, or computed again from the saved arguments; None if neither is possible."""
    def was_seen(self, node: Node) -> bool:
        """False if the call that made the node was not recorded: of arguments without history nothing is known."""
    def run_again(self, node: Node, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        """The gradients of a node's arguments for another incoming gradient, while its saved values are alive."""
    def run_in_double(self, node: Node, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        """`run_again` in double precision; empty if the engine cannot do that."""

    # Of the program.

    def description(self) -> dict[str, str]:
        """What the program runs on, for reports: name, version and device."""
    def optimizers(self) -> list[Any]:
        """Those that are alive."""
    def made_at(self, optimizer: Any) -> Site | None: ...
    def last_backward(self) -> Any: ...
    def running_backward(self) -> Any: ...
    def count_backwards(self) -> int: ...
    def next_sequence_number(self) -> int: ...
    def is_grad_enabled(self) -> bool: ...
    def is_inference_mode_enabled(self) -> bool: ...
    def group_size(self) -> int:
        """How many processes train together, as far as this one has joined them; 1 if it is alone."""

    # To act.

    def wrap(self, array: np.ndarray) -> Tensor:
        """A tensor over an array, without history."""
    def without_grad(self) -> AbstractContextManager[Any]: ...
    def repeatable(self, seed: int = 0) -> AbstractContextManager[Any]:
        """Inside, random numbers are those of a seed, the same each time, and the engine writes no file; afterwards they go on as
        if nothing had been drawn."""
    def gradients_of_leaves(self, loss: Tensor, leaves: dict[Any, Any], watch: Any) -> None:
        """Run a backward that writes no `.grad` and keeps the graph: fill in the gradient of each leaf, and tell `watch` of each
        node. Afterwards `last_backward` is what it was."""

    # To listen. `instrument` lets a watch listen until what it returns is called. `listen` says whether it wants to hear of
    # losses, reads and copied values, and whether the facts of every call are to be recorded. `hooks` has the functions
    # register_module_forward_hook, register_optimizer_step_post_hook ... of torch.nn and torch.optim.

    hooks: Any

    def instrument(self, watch: Any) -> list[Undo]: ...
    def listen(self, calls: bool, records: bool) -> None: ...
    def observing(self, on_call: Callable[[Any], None], on_module: Callable[[Any], None]) -> Observing: ...


class _NotChosen:
    """Stands in for the engine until the first question: then whygrad's own is chosen."""

    def __getattr__(self, name: str) -> Any:
        choose("whygrad")
        return getattr(current, name)


# The engine whose tensors are explained.
current: Engine = cast(Engine, _NotChosen())


def choose(name: str) -> None:
    """Explain the tensors of this engine from now on."""
    global current
    current = importlib.import_module(f"whygrad.for_{name}.engine").ENGINE


@contextmanager
def of_owner(x: Any) -> Iterator[None]:
    """Inside, the engine is whygrad's own if `x` is of whygrad: another one may be recorded at the same time, whose watch knows
    nothing of `x`."""
    global current
    outer, watching = current, record.watching
    if any(own_module(base).partition(".")[0] == "whygrad" for base in type(x).__mro__):
        choose("whygrad")
        if current is not outer and not isinstance(outer, _NotChosen):
            record.watching = None
    try:
        yield
    finally:
        current, record.watching = outer, watching


def is_tensor(x: Any) -> TypeGuard[Tensor]:
    # By its type: `isinstance` also asks for `x.__class__`, which is code of the program in proxies.
    return issubclass(type(x), current.tensor_class)


def is_node(x: Any) -> TypeGuard[Node]:
    return issubclass(type(x), current.node_class)


def is_parameter(x: Any) -> TypeGuard[Parameter]:
    return isinstance(x, current.parameter_class)


def is_module(x: Any) -> TypeGuard[Module]:
    return issubclass(type(x), current.module_class)


def __getattr__(name: str) -> Any:
    """Each method of `Engine` as a function, which asks the engine that is the current one at the time."""
    if not callable(getattr(Engine, name, None)):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def ask(*args: Any) -> Any:
        return getattr(current, name)(*args)

    ask.__name__, ask.__doc__ = name, getattr(Engine, name).__doc__
    globals()[name] = ask
    return ask


# Those that every recorded step asks a hundred times, without the detour.


def array_of(x: Any) -> np.ndarray:
    return current.array_of(x)


def shape_of(t: Tensor) -> tuple[int, ...]:
    return current.shape_of(t)


def kind_of(t: Tensor) -> str:
    return current.kind_of(t)


def grad_of(t: Tensor) -> Any:
    return current.grad_of(t)


def notes_of(t: Tensor) -> Notes:
    return current.notes_of(t)


def version_of(t: Tensor) -> VersionRecord:
    return current.version_of(t)


def source_of(t: Tensor) -> Any:
    return current.source_of(t)


def size_of(t: Tensor) -> int:
    size = 1
    for length in current.shape_of(t):
        size *= length
    return size


@functools.cache
def step_for(length: int, size: int) -> int:
    """The step by which at most `size` elements of so many are taken: a prime, so that they are not all of one column."""
    step = max(1, -(-length // size))
    while step > 1 and any(step % i == 0 for i in range(2, math.isqrt(step) + 1)):
        step += 1
    return step
