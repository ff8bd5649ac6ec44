"""Tensor: an array with a gradient, a place in the graph and a version.

This file holds the state and what touches it directly. The operations (`t.sum()`, `t + u`, `t.to(...)`) are functions
of `whygrad.functional`; `whygrad.functional.methods` hangs them onto the class.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from whygrad.base import dtypes, errors
from whygrad.base.linked import Steps, in_order
from whygrad.base.size import Size
from whygrad.base.version import InferenceVersion, Version, unwritten
from whygrad.core.modes import count_backwards, grad_state
from whygrad.core.node import LAST, AccumulateGrad, DeadEnd, Node, extra
from whygrad.core.registered import registered
from whygrad.why import record as why

if TYPE_CHECKING:
    from whygrad.why.answers import Explanation
    from whygrad.why.record import Causes


# Classes of views whose numbers are computed from their memory when they are read, and what rows with such a result do to its
# class: filled by functional/conj_neg.py.
TURNED: set[type] = set()
TURNING: dict[str, Callable[[Any], None]] = {}


class View:
    """What makes a tensor a view: its base, and the rows that lead from the base to it.

    `steps` is linked from the last row to the first, so that a view of a view takes the same time however many there were:
    (the steps before it or None, row, statics, which of several outputs or None, shape it was applied to).
    `version` is the value of the version for which `node` is right; a later in-place change of the base through another
    tensor makes `node` outdated, and `source` builds it anew. `creation` says why an in-place change of this view may be
    forbidden: "no_grad", "inference", "multi", "custom" or "" (allowed).
    """

    __slots__ = ("base", "creation", "node", "requires_grad", "steps", "version")

    def __init__(self, base: Tensor, steps: Steps, creation: str = "") -> None:
        self.base = base
        self.steps = steps
        self.creation = creation
        self.node: Node | None = None
        self.requires_grad = False
        self.version = 0

    def turn_back(self, turns: list[tuple[int, Any]]) -> None:
        """The base has become another view of its memory: lead from there to what it was."""
        for version, step in turns:
            if version > self.version >= 0:
                if step is None:
                    raise NotImplementedError("a view of a tensor that has been changed by as_strided_()")
                for _, row, statics, index, shape in in_order(self.steps):
                    step = (step, row, statics, index, shape)
                self.steps = step


NO_NODE: weakref.ref[Any] = weakref.ref(DeadEnd())  # refers to nothing


class Meta:
    """What only a few tensors have."""

    __slots__ = ("accumulator", "grad_dtype", "grad_log", "hooks", "post_accumulate_hooks", "reached_by",
                 "retains_grad", "switched_at", "tangents", "turns", "watched", "watched_version")

    def __init__(self) -> None:
        self.hooks: dict[int, Any] = {}
        self.post_accumulate_hooks: dict[int, Any] = {}
        # The node to which the edges of this leaf lead, while a graph does.
        self.accumulator = NO_NODE
        self.retains_grad = False
        # The last backward that delivered a gradient here.
        self.reached_by: Any = None
        self.grad_dtype: Any = ...
        # The in-place views taken of this base (`t_()` ...): the version after each, and the step back.
        self.turns: list[tuple[int, Any]] = []
        # For explanations: who wrote `.grad`, and where `requires_grad` was switched.
        self.grad_log: list[Any] = []
        self.switched_at: tuple[bool, why.Site] | None = None
        # Forward mode: the tangent for each level (see autograd/dual.py).
        self.tangents: dict[Any, Any] | None = None
        # What the watch of `whygrad run` knows of this leaf's gradient, and the version at its first gradient.
        self.watched: Any = None
        self.watched_version = 0

    def note_grad(self, what: str, where: why.Site | None = None) -> None:
        """Remember the latest hand on `.grad`, and how many backwards had run by then."""
        self.grad_log = grad_note(what, where or why.site())


def grad_note(what: str, where: why.Site) -> list[Any]:
    """An entry of `Meta.grad_log`: an assignment to `.grad`, for example. It is never changed, so leaves may share it."""
    return [(what, where, count_backwards())]


class Tensor:
    """A multi-dimensional array that remembers how it was computed."""

    __slots__ = ("__dict__", "__weakref__", "_array", "_cause", "_grad", "_indirect", "_lazy_version", "_meta", "_node", "_view")

    _array: np.ndarray
    # The array under a second name: what lies in memory, where a view is turned when it is read (see functional/conj_neg.py).
    _memory: np.ndarray
    # The node that computed this tensor. None for a leaf, and for a view, whose node is in `_view`.
    _node: Any
    # True if `_node` alone does not tell where a gradient goes: a leaf that requires grad, or a view.
    _indirect: bool
    _grad: Tensor | None
    # The version of the memory, if it was needed so far; `_version_counter` is it in any case.
    _lazy_version: Version | None
    _view: View | None
    _meta: Meta | None
    # Why there is no history (a tuple of causes).
    _cause: Causes

    # Properties: see functional/tensor_properties.py.
    _numbers: np.ndarray
    _version: int
    _with_numbers: Any
    data: Any
    device: Any
    dtype: dtypes.dtype
    grad: Any
    grad_fn: Any
    is_inference: Any
    is_leaf: bool
    ndim: int
    requires_grad: bool
    shape: Size

    # NumPy must leave `array * tensor` to us.
    __array_priority__ = 1000
    __hash__ = object.__hash__

    @property
    def _version_counter(self) -> Version:
        """The version of the memory. Tensors that share the memory have it as their `_lazy_version`."""
        version = self._lazy_version
        if version is None:
            version = self._lazy_version = unwritten()
        return version

    @property
    def meta(self) -> Meta:
        if self._meta is None:
            self._meta = Meta()
        return self._meta

    @property
    def retains_grad(self) -> bool:
        return self._meta is not None and self._meta.retains_grad

    if TYPE_CHECKING:
        def why(self, *, loss: Tensor | None = None) -> Explanation: ...


Tensor._memory = Tensor._array


def wrap(array: np.ndarray) -> Tensor:
    """A fresh tensor over an array, without history."""
    t = object.__new__(Tensor)
    t._array = array
    t._node = t._grad = t._view = t._meta = t._lazy_version = None
    t._indirect = False
    t._cause = ()
    return t


def grad_fn(t: Tensor) -> Any:
    """The node (or port of a node) that computed `t`, brought up to date if `t` is a view; None for a leaf."""
    view = t._view
    if view is None:
        return t._node
    base = view.base
    if view.node is None and not base.requires_grad:
        return None
    version = t._version_counter.value
    if view.version != version and int(view.version) != int(version):
        if view.creation:
            raise registered.errors.forbidden_view_write(t, indirect=True)
        if base._meta is not None and base._meta.turns:
            view.turn_back(base._meta.turns)
        old, view.node = view.node, registered.views.history_of_view(view)
        if old is not None and old.extra is not None and old.extra.retained is not None:
            # retain_grad() follows the tensor to its newest value.
            extra(view.node).retained, old.extra.retained = old.extra.retained, None
        view.version = t._version_counter.value
    return view.node


def requires_grad(t: Tensor) -> bool:
    view = t._view
    if view is None:
        return t._node is not None or t._indirect
    return view.requires_grad or view.node is not None or view.base.requires_grad


def source(t: Tensor) -> Any:
    """Where the gradient of `t` goes: the node that computed it, the one that accumulates it if `t` is a leaf, or None."""
    if t._view is None:
        if t._node is not None or not t._indirect:
            return t._node
    else:
        node = grad_fn(t)
        if node is not None or not requires_grad(t):
            return node
        if not t._view.requires_grad:
            # A view made under no_grad requires grad if its base does, but there is no way back to the base.
            return DeadEnd()
    meta = t._meta
    node = None if meta is None else meta.accumulator()
    return accumulator_of(t) if node is None else node


def accumulator_of(leaf: Tensor) -> AccumulateGrad:
    """The node that accumulates the gradient of this tensor, always the same one while it lives."""
    meta = leaf.meta
    while True:
        reference = meta.accumulator
        node = reference()
        if node is not None:
            return node  # type: ignore[no-any-return]
        node = AccumulateGrad()
        node.leaf, node.extra, node.seq = leaf, None, LAST
        if meta.hooks:
            extra(node).tensor_hooks = meta.hooks
        made = weakref.ref(node)
        if meta.accumulator is reference:  # else another thread was first; nothing is called here, so none can intervene
            meta.accumulator = made
            return node


def known_source(t: Tensor) -> Any:
    """`source` for the records: a leaf itself; of a view that must not be used any more, what is known; never an error."""
    view = t._view
    if view is None:
        return t if t._node is None and t._indirect else t._node
    return view.node if view.node is not None else known_source(view.base)


def set_requires_grad(t: Tensor, value: bool) -> None:
    """Switch a leaf."""
    if value and isinstance(t._lazy_version, InferenceVersion) and not grad_state.inference:
        raise errors.noted(RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."),
                           "inference_tensor", t._lazy_version.entered)
    if value and t._array.dtype.kind not in "fcV":
        raise errors.noted(RuntimeError("only Tensors of floating point dtype can require gradients"), "integers_require_grad",
                           t.dtype)
    if value == requires_grad(t):
        if t._view is not None:
            t._view.requires_grad = value  # of its own, not only because its base does
        return
    if t._view is None:
        t._indirect = value
    else:
        t._view.requires_grad = value
    where = why.site()
    t.meta.switched_at = (value, where)
    if not value:
        t._cause = (why.Cause("frozen", where),)


def cut(t: Tensor, kind: str, detail: str = "") -> why.Causes:
    """The causes of a value that was taken out of the graph on purpose."""
    node = known_source(t)
    if node is None:
        return t._cause
    return (why.Cause(kind, why.site(3), detail, (node,)),)
