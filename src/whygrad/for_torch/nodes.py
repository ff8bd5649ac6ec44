"""Nodes of torch's graph, as `why` reads them.

A `Node` lies in `grad_fn.metadata`: it lives as long as torch's own node, and holds no reference to it. Only while a backward
passes by has it `fn`, and can tell what torch's node has saved.
"""

from __future__ import annotations

import itertools
import re
from typing import Any, ClassVar

import torch
from torch import Tensor

from whygrad.for_torch.arrays import array_of
from whygrad.for_torch.lean import ring
from whygrad.for_torch.tensor_facts import Version, causes_of, quietly
from whygrad.ops import TABLE
from whygrad.ops.table import NoGrad
from whygrad.why.record import Causes, Site

next_sequence_number = itertools.count().__next__

KEY = "whygrad"
_saved_tensors_hooks = torch._C._autograd._top_saved_tensors_default_hooks
# False of a torch whose saved tensors do not tell whether they have hooks.
TELLS_HOOKS = hasattr(torch._C._autograd.SavedTensor, "unpack_hook")
AccumulateGrad: Any = torch._C._functions.AccumulateGrad  # type: ignore[attr-defined]
# The site of a node that nobody has seen being made.
NOWHERE = (None, 0)

# torch's names of ops that the table has under another name.
NAMES = {"native_layer_norm": "layer_norm", "native_batch_norm": "batch_norm", "cudnn_batch_norm": "batch_norm",
         "miopen_batch_norm": "batch_norm", "mkldnn_convolution": "convolution", "cudnn_convolution": "convolution",
         "linalg_vector_norm": "norm", "unsafe_view": "view", "nll_loss2d": "nll_loss", "max_pool2d_with_indices": "max_pool2d",
         "native_dropout": "dropout"}
# Options that a rule asks for, by the names of the table, and torch's name of each.
OPTIONS = {"softmax": {"axis": "dim"}, "log_softmax": {"axis": "dim"}, "nll_loss": {"ignore_index": "ignore_index"},
           "embedding": {"padding_idx": "padding_idx"}}


class NodeKind:
    """What all nodes of one class have in common: the op's name, its row if the table has one, and the arguments' names."""

    def __init__(self, name: str, function: Any, edges: int) -> None:
        # The custom Function, or None.
        self.function = function
        self.name = plain_name(name) if function is None else name.partition("Backward")[0]
        self.row = TABLE.get(self.name) if function is None else None
        inputs = [] if self.row is None else [i for i in self.row.inputs if not isinstance(self.row.rules.get(i), NoGrad)]
        self.arguments = tuple([*inputs, *[f"argument {i}" for i in range(len(inputs), edges)]][:edges])
        self.is_view = self.name == "reshape" or (self.row is not None and self.row.view)
        self.options = OPTIONS.get(self.name, {})
        # True of what torch has no derivative for.
        self.is_missing = "NotImplemented" in name

    def saved_name(self, name: str) -> str:
        """The table's name of a value that torch saves."""
        if name == "result":
            return "out"
        if self.row is None or name in self.row.inputs:
            return name
        position = {"self": 0, "input": 0, "mat1": 0, "other": 1, "mat2": 1, "target": 1, "weight": 1, "exponent": 1}.get(name)
        if position is None or position >= len(self.row.inputs):
            return name
        return self.row.inputs[position]


def plain_name(name: str) -> str:
    """`LogSoftmaxBackward0` -> log_softmax."""
    base = re.sub(r"Backward\d*$", "", name.rpartition("::")[2])
    base = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", base).lower()
    return NAMES.get(base, base)


class Node:
    """See why/engine.py. Its classes have the names of torch's nodes."""

    __slots__ = ("__weakref__", "cuts", "edges", "fn", "freed", "function", "had_hooks", "lasti", "nonfinite",
                 "operands", "options", "recorded", "seq", "shapes", "site_code", "takes_number", "was_seen")

    kind: ClassVar[NodeKind]
    visible = True

    def __init__(self, site: Site | tuple[None, int], was_seen: bool) -> None:
        # False if the call that made it was not recorded: of its arguments nothing is known.
        self.was_seen = was_seen
        self.site_code: Any = site[0]
        self.lasti = site[1]
        self.seq = next_sequence_number()
        self.edges: tuple[Any, ...] = ()
        self.cuts: tuple[Causes, ...] | None = None
        # The shapes of two arguments that were broadcast.
        self.shapes: Any = None
        # torch's node, while a backward passes by; the backward that freed its saved values.
        self.fn: Any = None
        self.freed: Any = None
        # The custom Function, and whether its application was recorded.
        self.function: Any = None
        self.recorded = True
        self.options: dict[str, Any] = {}
        # (version record, its value, address of the memory) of each argument and of the result when the op ran.
        self.operands: tuple[tuple[Version, int, int], ...] = ()
        # True if one of two arguments was a plain number.
        self.takes_number = False
        # Whether saved_tensors_hooks of the program were in force when it was first seen.
        self.had_hooks = _saved_tensors_hooks(True) is not None
        # "nan" or "inf" if the result was not finite, "" if it was; None if that was not looked at.
        self.nonfinite: str | None = None

    @property
    def site(self) -> Any:
        return self.site_code, self.lasti

    def readable(self) -> list[str]:
        """torch's names of what its node has saved, without what hooks of the program have packed: to look would call them."""
        if self.fn is None or (self.had_hooks and not TELLS_HOOKS):
            return []
        return [name for name in saved_names(type(self.fn)) if not _has_hook(self.fn, f"_raw_saved_{name}")]

    def is_packed(self) -> bool:
        """True if to run it again would call hooks of the program."""
        raw = [f"_raw_saved_{name}" for name in saved_names(type(self.fn))] if self.function is None else ["_raw_saved_tensors"]
        return (self.had_hooks and not TELLS_HOOKS) or any(_has_hook(self.fn, name) for name in raw)

    def saved(self) -> dict[str, Any]:
        """The tensors that torch's node has saved, by the table's names."""
        found: dict[str, Any] = {}
        for name in self.readable():
            try:
                value = getattr(self.fn, f"_saved_{name}")
            except RuntimeError:  # freed, or written since
                continue
            if isinstance(value, Tensor):
                found[self.kind.saved_name(name)] = value
        return found

    def is_freed(self) -> bool:
        for name in self.readable():
            try:
                getattr(self.fn, f"_saved_{name}")
            except RuntimeError as error:
                return "already been freed" in str(error)
        return False

    def saved_arrays(self) -> dict[str, Any]:
        return {name: array_of(value) for name, value in self.saved().items()}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} as it was recorded>"


def _has_hook(fn: Any, name: str) -> bool:
    """Whether a saved tensor, or one of several, will be unpacked by the program."""
    try:
        raw = getattr(fn, name, None)
    except RuntimeError:  # freed
        return False
    return any(getattr(one, "unpack_hook", None) is not None for one in (raw if isinstance(raw, tuple) else (raw,)))


_saved_names: dict[type, list[str]] = {}


def saved_names(kind: type) -> list[str]:
    found = _saved_names.get(kind)
    if found is None:
        found = _saved_names[kind] = [name.removeprefix("_saved_") for name in dir(kind) if name.startswith("_saved_")]
    return found


_classes: dict[Any, type[Node]] = {}


def _class_of(fn: Any, count: int) -> type[Node]:
    found = _classes.get((type(fn), count))
    if found is None:
        name = fn.name().rpartition("::")[2]
        kind = NodeKind(name, getattr(type(fn), "_forward_cls", None), count)
        found = _classes[type(fn), count] = type(name, (Node,), {"__slots__": (), "kind": kind})
    return found


def leaf_of(fn: Any) -> Tensor | None:
    """The leaf to whose gradient torch's node adds, or None."""
    return fn.variable if type(fn) is AccumulateGrad else None


def node_for(fn: Any, site: Site | tuple[None, int], since: int = 0) -> Node:
    """The node of a `grad_fn`. If it has none yet, it and all behind it get one, with this site; those whose sequence number is
    below `since` were made by earlier calls, which nobody has recorded."""
    metadata = fn.metadata
    known: Node | None = metadata.get(KEY)
    if known is not None:
        return known
    behind = fn.next_functions
    first = _make(fn, len(behind), metadata, site, since)
    pending = [(first, behind)]
    while pending:
        node, functions = pending.pop()
        edges: list[Any] = []
        for fn, _ in functions:
            if fn is None or type(fn) is AccumulateGrad:
                edges.append(None if fn is None else fn.variable)
                continue
            metadata = fn.metadata
            known = metadata.get(KEY)
            if known is None:
                behind = fn.next_functions
                known = _make(fn, len(behind), metadata, site, since)
                pending.append((known, behind))
            edges.append(known)
        node.edges = tuple(edges)
    return first


def _make(fn: Any, count: int, metadata: dict[str, Any], site: Site | tuple[None, int], since: int) -> Node:
    was_seen = site is not NOWHERE and (not since or fn._sequence_nr() >= since)
    node = _class_of(fn, count)(site if was_seen else ring.site_of(fn._sequence_nr()) or NOWHERE, was_seen)
    kind = node.kind
    for name, theirs in kind.options.items():
        value = _signed(getattr(fn, f"_saved_{theirs}", None))
        node.options[name] = (value,) if name == "axis" else value
    node.function = kind.function
    metadata[KEY] = node
    return node


def _signed(x: Any) -> Any:
    """torch shows a negative option as an unsigned number."""
    return x - 2**64 if isinstance(x, int) and x >= 2**63 else x


def grad_fn_of(t: Tensor) -> Any:
    """`t.grad_fn`, or None where torch raises: of a view made under no_grad whose base was written since."""
    with quietly():
        try:
            return t.grad_fn
        except RuntimeError:
            return None


def node_of(t: Tensor) -> Node | None:
    fn = grad_fn_of(t)
    return None if fn is None else node_for(fn, NOWHERE)


def source_of(t: Tensor) -> Any:
    """Where the gradient of `t` goes: its node, itself if it is a leaf that requires grad, or None."""
    fn = grad_fn_of(t)
    if fn is not None:
        return node_for(fn, NOWHERE)
    with quietly():
        # A view made under no_grad says that it requires grad, and has no way back to its base.
        is_leaf = t.requires_grad and not (t._is_view() and any(cause.kind == "grad-mode-off" for cause in causes_of(t)))
    return t if is_leaf else None
