"""Values saved for backward as torch shows them, and hooks that may keep them in another form until they are needed."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from whygrad.autograd.grad_mode import no_grad
from whygrad.autograd.node_errors import stale_value
from whygrad.base import errors
from whygrad.base.version import InferenceVersion, unwritten
from whygrad.core.modes import grad_state, refresh
from whygrad.core.node import AccumulateGrad, Node, extra, leaf_or_node, port_of, row_node
from whygrad.core.registered import registered
from whygrad.core.tensor import Tensor, known_source, source, wrap


class saved_tensors_hooks:
    """Inside, every tensor saved for backward goes through `pack_hook`, and through `unpack_hook` when it is read."""

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if grad_state.saved_hooks_disabled is not None:
            raise RuntimeError(grad_state.saved_hooks_disabled)
        grad_state.saved_hooks = (*grad_state.saved_hooks, (self.pack_hook, self.unpack_hook))
        refresh()

    def __exit__(self, *exc: object) -> None:
        grad_state.saved_hooks = grad_state.saved_hooks[:-1]
        refresh()


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in main memory: where they are anyway. `pin_memory` keeps copies of them."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda t: (t.device, wrap(t._array.copy()) if pin_memory else t), lambda packed: packed[1])


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Generator[None, None, None]:
    """Inside, entering saved_tensors_hooks raises `error_message`."""
    outer = grad_state.saved_hooks_disabled
    grad_state.saved_hooks_disabled = error_message
    try:
        if grad_state.saved_hooks:
            raise RuntimeError(error_message)
        yield
    finally:
        grad_state.saved_hooks_disabled = outer


class SavedTensor:
    """One tensor that a node keeps for its backward.

    An argument of a custom Function is kept as it is; of an output, and of everything that a row saves, only the array
    is kept, and a tensor with the same place in the graph is made when it is read. Behind hooks only what the pack hook
    gave is kept.
    """

    __slots__ = ("_array", "_edge", "_hooks", "_node", "_original", "_output", "_packed", "_version", "_version_counter")

    _array: Any
    _version_counter: Any
    _version: Any
    _node: weakref.ref[Node]
    # Where its gradient goes, or which output of the node it is.
    _edge: Any
    _output: int | None
    _original: Tensor | None
    _hooks: tuple[Callable[[Tensor], Any], Callable[[Any], Tensor]] | None
    _packed: Any

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    @property
    def data(self) -> Any:
        """What is kept: the tensor, or what the pack hook made of it."""
        return self._packed if self._hooks is not None else self.shown()

    @property
    def unpack_hook(self) -> Any:
        return None if self._hooks is None else self._hooks[1]

    def register_hooks(self, *hooks: Any) -> None:
        """Put this one saved tensor behind a pair of hooks: how to pack, and how to unpack."""
        if len(hooks) != 2 or not all(callable(hook) for hook in hooks):
            raise TypeError("register_hooks(): incompatible function arguments. The following argument types are "
                            "supported:\n    1. (self: torch._C._autograd.SavedTensor, arg0: collections.abc.Callable, "
                            "arg1: collections.abc.Callable) -> None\n\n"
                            f"Invoked with: {', '.join(map(repr, (self, *hooks)))}")
        node = self._node()
        if node is None or node.saved is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the "
                "graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need "
                "to backward through the graph a second time or if you need to access saved variables after calling "
                "backward.")
        if self._hooks is not None:
            raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only "
                               "one pair of hooks is allowed at a time.")
        if self._array is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        tensor = wrap(self._array)
        tensor._lazy_version = self._version_counter
        self.pack(tensor, *hooks)

    def pack(self, tensor: Tensor, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        version = tensor._version_counter.value
        with no_grad():
            packed = pack_hook(tensor)
        if tensor._version_counter.value != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
                "cannot be modified by in-place operations as this can lead to unexpected side-effects. Please open an "
                "issue if you need to perform in-place operations on the input to a pack hook.")
        self._hooks = pack_hook, unpack_hook
        self._packed = packed
        self._array = self._original = None

    def plain(self, recorded: bool) -> tuple[Any, Any, Any]:
        """Value, version counter and version, as a row's gradient functions want them."""
        if self._hooks is None:
            return self._array, self._version_counter, self._version
        tensor = self.unpack()
        # What a hook returns is a new array: its version is not checked.
        return tensor if recorded else tensor._array, unwritten(), 0

    def unpack(self) -> Any:
        """The tensor, with its place in the graph; checked that nobody has written into it since."""
        if self._hooks is not None:
            tensor = self._hooks[1](self._packed)
            if not isinstance(tensor, Tensor):
                raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                                f"{type(tensor).__name__}")
            return self._linked(tensor)
        if self._original is not None:
            self._check_version()
            return self._original
        if self._array is None:
            return None
        self._check_version()
        tensor = wrap(self._array)
        if self._version_counter is not None:
            tensor._lazy_version = self._version_counter
        return self._linked(tensor)

    def shown(self) -> Any:
        """The tensor for users who look at it: the very object that was saved, if it still exists.

        A node keeps only the array; whose it is, the garbage collector knows.
        """
        if self._hooks is None and self._original is None and self._output is None and self._array is not None:
            for t in gc.get_referrers(self._array):
                if isinstance(t, Tensor) and t._array is self._array and known_source(t) is leaf_or_node(self._edge):
                    self._check_version()
                    return t
        return self.unpack()

    def _check_version(self) -> None:
        if self._version_counter is None or int(self._version_counter.value) == int(self._version):
            return
        node = self._node()
        producer, number = (node, self._output) if self._output is not None else row_node(
            self._edge if self._original is None else source(self._original))
        raise stale_value(node, self._array, self._version_counter, self._version, producer, number)

    def _linked(self, tensor: Tensor) -> Tensor:
        edge = self._edge
        if self._output is not None:
            node = self._node()
            if node is None:
                raise RuntimeError("No grad_fn for non-leaf saved tensor")
            edge = port_of(node, self._output) if type(node.shapes) is list else node
        if edge is None and not tensor.requires_grad:
            return tensor
        if type(edge) is AccumulateGrad and edge.leaf._array is tensor._array:
            return edge.leaf  # type: ignore[no-any-return]
        result = wrap(tensor._array)
        result._lazy_version = tensor._version_counter
        if type(edge) is AccumulateGrad:  # other values of the leaf: the gradient goes where it did
            result._indirect, result.meta.accumulator = True, weakref.ref(edge)
        else:
            result._node = edge
        return result


def _new(node: Node, array: Any, counter: Any, version: Any, edge: Any, output: int | None) -> SavedTensor:
    saved = object.__new__(SavedTensor)
    saved._node = weakref.ref(node)
    saved._array, saved._version_counter, saved._version = array, counter, version
    saved._edge, saved._output = edge, output
    saved._original = saved._hooks = saved._packed = None
    return saved


def nothing_saved(node: Node) -> SavedTensor:
    return _new(node, None, None, None, None, None)


class _Nobody(Node):
    """Owns a saved tensor that belongs to no node of the graph."""

    __slots__ = ()

    def __init__(self) -> None:
        self.saved = (None,)


def save_alone(tensor: Tensor, is_output: bool) -> SavedTensor:
    """Save a tensor as a node would."""
    owner = _Nobody()
    saved = save(tensor, owner, None)
    saved._node = lambda: owner  # type: ignore[assignment]
    if is_output:
        saved._original = None
    return saved


def save(tensor: Tensor, node: Node, output: int | None) -> SavedTensor:
    """Save a tensor for a custom Function; `output` says which of the node's outputs it is."""
    if isinstance(tensor._lazy_version, InferenceVersion):
        raise errors.noted(RuntimeError(errors.INFERENCE_SAVED), "inference_tensor", tensor._lazy_version.entered)
    edge = None if output is not None else source(tensor)
    saved = _new(node, tensor._array, tensor._version_counter, tensor._version_counter.value, edge, output)
    if grad_state.saved_hooks:
        saved.pack(tensor, *grad_state.saved_hooks[-1])
    elif output is None:
        saved._original = tensor
    return saved


# What torch calls the values that our rows name otherwise; a row's trait `saved` has what is true of it alone.
_NAMES = {"a": "self", "x": "self", "b": "other", "out": "result", "out0": "result0", "out1": "result1", "axis": "dim",
          "axes": "dims", "axis0": "dim0", "axis1": "dim1", "axis2": "dim2", "keepdims": "keepdim", "low": "min", "high": "max",
          "slope": "negative_slope", "stop": "end"}


def torch_name(row: Any, name: str) -> str:
    if name.endswith("_shape"):
        return torch_name(row, name.removesuffix("_shape")) + "_sym_sizes"
    return row.traits.saved.get(name) or _NAMES.get(name, name)


def hook_order(node: Node) -> list[int]:
    """The order in which torch packs and unpacks: arguments by their name, then results."""
    layout = type(node).layout
    results = layout.row.output_names
    return sorted(range(len(layout.saved)),
                  key=lambda k: (layout.saved[k] in results, torch_name(layout.row, layout.saved[k])))


class Packed:
    """Stands in `node.saved` when a saved value is behind hooks, or was looked at as a SavedTensor.

    One part for each saved name: a SavedTensor, a list of them for a row with any number of arguments, or the plain
    triple (value, counter, version).
    """

    __slots__ = ("parts",)

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def unpack(self, node: Node) -> tuple[Any, ...]:
        if grad_state.running is not None:
            grad_state.running.node = node
        flat: list[Any] = [None] * (3 * len(self.parts))
        for k in hook_order(node):
            flat[3 * k:3 * k + 3] = _plain(self.parts[k])
        return tuple(flat)


def _plain(part: Any) -> tuple[Any, Any, Any]:
    """One part as (value, counter, version)."""
    if isinstance(part, SavedTensor):
        return part.plain(grad_state.grad)
    if isinstance(part, list):
        triples = [saved.plain(grad_state.grad) for saved in part]
        watched = [(c, v) for _, c, v in triples if c is not None]
        return tuple([x for x, _, _ in triples]), [c for c, _ in watched], [v for _, v in watched]
    value, counter, version = part
    return value, counter, version


def pack(node: Node, inputs: tuple[Any, ...], results: list[Tensor]) -> None:
    """Put everything that a row saved behind the innermost pair of hooks."""
    hooks = grad_state.saved_hooks[-1]
    tensors = [t for t in (*results, *inputs) if isinstance(t, Tensor)]
    packed = as_saved_tensors(node)
    for k in hook_order(node):
        part = packed.parts[k]
        for saved in part if isinstance(part, list) else [part]:
            if isinstance(saved, SavedTensor):
                array = saved._array
                found = next((t for t in tensors if t._array is array), None)
                saved.pack(saved.unpack() if found is None else found, *hooks)
    node.saved = packed
    extra(node)  # an unpack hook may register a hook on the node, so the engine must look again after it ran


def as_saved_tensors(node: Node) -> Packed:
    """The saved values of a row's node, each as a SavedTensor."""
    if isinstance(node.saved, Packed):
        return node.saved
    layout = type(node).layout  # type: ignore[attr-defined]
    parts: list[Any] = []
    for k, name in enumerate(layout.saved):
        value, counter, version = node.saved[3 * k:3 * k + 3]
        if name in layout.row.output_names:
            is_output = not isinstance(value, np.ndarray) or value.dtype.kind in "fcV"  # positions have no history
            part: Any = _new(node, value, counter, version, None, layout.row.output_names.index(name) if is_output else None)
        elif layout.row.variadic:
            part = [_new(node, x, c, v, edge, None)
                    for x, c, v, edge in zip(value, counter, version, node.edges, strict=True)]
        else:
            part = _new(node, value, counter, version, node.edges[layout.row.inputs.index(name)], None)
        parts.append(part if isinstance(value, (np.ndarray, tuple)) else (value, counter, version))
    return Packed(parts)


registered.saved_hooks = sys.modules[__name__]
