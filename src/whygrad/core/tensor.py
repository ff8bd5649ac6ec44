"""Tensor: an array with a gradient, a place in the graph and a version.

This file holds the state and what touches it directly. The operations (`t.sum()`, `t + u`, `t.to(...)`) are functions
of `whygrad.functional`; `whygrad.functional.methods` hangs them onto the class.
"""

from __future__ import annotations

import weakref
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from whygrad.base import dtypes, errors
from whygrad.base.devices import CPU, device
from whygrad.base.door import Spec, dispatch
from whygrad.core.modes import modes, special
from whygrad.core.node import AccumulateGrad, DeadEnd, Node, extra, next_sequence_number, row_node, shown
from whygrad.why import record as why

if TYPE_CHECKING:
    from whygrad.ops.table import Row


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple that prints as torch.Size and can count elements."""

    __slots__ = ()

    def numel(self) -> int:
        count = 1
        for n in self:
            count *= n
        return count

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Any:
        return Size(tuple.__add__(self, tuple(other))) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, count: Any) -> Any:
        return Size(tuple.__mul__(self, count))

    __rmul__ = __mul__

    def __reduce__(self) -> Any:
        return Size, (tuple(self),)


class InferenceCounter(list[int]):
    """Stands where a version counter would be: a tensor made in inference mode has none, so it cannot be saved."""

    __slots__ = ("entered",)

    def __init__(self) -> None:
        # Where the mode was entered.
        self.entered = modes.off_site

    def __getitem__(self, index: Any) -> Any:
        raise errors.noted(RuntimeError(errors.INFERENCE_SAVED), "inference_tensor", self.entered)


class Swapped(int):
    """A version that equals none but itself: since it was set, `x.data = other` has given a tensor other values.

    Like torch's, a node that saved the tensor takes the values it has now; to find them it must notice first, and it does
    when it compares versions. To users it is the number it always was. Weak references lead from old arrays to new ones.
    """

    newer: list[tuple[weakref.ref[np.ndarray], np.ndarray]]

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = int.__hash__

    def newest(self, array: Any) -> Any:
        return next((new for old, new in self.newer if old() is array), array)


def swapped(version: int, old: np.ndarray, new: np.ndarray) -> Swapped:
    """The version of a tensor whose array was `old` until now."""
    result = Swapped(version)
    earlier = version.newer if isinstance(version, Swapped) else []
    result.newer = [(ref, new if array is old else array) for ref, array in earlier if ref() is not None]
    result.newer.append((weakref.ref(old), new))
    return result


class View:
    """What makes a tensor a view: its base, and the rows that lead from the base to it.

    `version` is the counter's value for which `node` is right; a later in-place change of the base through another
    tensor makes `node` outdated, and `source` builds it anew. `creation` says why an in-place change of this view may be
    forbidden: "no_grad", "inference", "multi", "custom" or "" (allowed).
    """

    __slots__ = ("base", "creation", "node", "requires_grad", "steps", "version")

    def __init__(self, base: Tensor, steps: tuple[tuple[Row, dict[str, Any], int | None, tuple[int, ...]], ...],
                 creation: str = "") -> None:
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
                self.steps = (step, *self.steps)


class Meta:
    """What only a few tensors have."""

    __slots__ = ("accumulator", "grad_dtype", "grad_log", "hooks", "post_accumulate_hooks", "reached_by",
                 "retains_grad", "set_at", "switched_at", "tangents", "turns", "watched", "watched_version")

    def __init__(self) -> None:
        self.hooks: dict[int, Any] = {}
        self.post_accumulate_hooks: dict[int, Any] = {}
        # The node that stands for this leaf in `next_functions`, while anybody looks at it.
        self.accumulator: weakref.ref[AccumulateGrad] | None = None
        self.retains_grad = False
        # Nodes with a lower number lead to the leaf that this one was before set_().
        self.set_at = 0
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
    """What `Meta.grad_log` remembers of a hand on `.grad`. Nobody changes it, so many leaves may share one."""
    from whygrad.core.engine import count_backwards

    return [(what, where, count_backwards())]


class Tensor:
    """A multi-dimensional array that remembers how it was computed."""

    __slots__ = ("__dict__", "__weakref__", "_array", "_cause", "_counter", "_grad", "_lookup", "_meta", "_node",
                 "_view")

    _array: np.ndarray
    # The array under a second name: what lies in memory, where a view is turned when it is read (see turned.py).
    _memory: np.ndarray
    # The node that computed this tensor. None for a leaf, and for a view, whose node is in `_view`.
    _node: Any
    # True if `_node` alone does not tell where a gradient goes: a leaf that requires grad, or a view.
    _lookup: bool
    _grad: Tensor | None
    # [version, site of the last in-place write, node of the last recorded one (weak)]: shared by all tensors on the same
    # storage, and no longer than needed.
    _counter: list[Any]
    _view: View | None
    _meta: Meta | None
    # Why there is no history (a tuple of causes).
    _cause: why.Causes

    # NumPy must leave `array * tensor` to us.
    __array_priority__ = 1000
    __hash__ = object.__hash__

    @property
    def meta(self) -> Meta:
        if self._meta is None:
            self._meta = Meta()
        return self._meta

    @property
    def requires_grad(self) -> bool:
        if REQUIRES_GRAD.handlers:
            return dispatch(REQUIRES_GRAD, (self,), {})  # type: ignore[no-any-return]
        if self._node is not None:
            return True
        return self._lookup and requires_grad(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        if grad_fn(self) is not None:
            raise errors.noted(RuntimeError(errors.CHANGE_NON_LEAF_TRUE if value else errors.CHANGE_NON_LEAF),
                               "flag_of_non_leaf", self, value)
        if value and self._array.dtype.kind not in "fcV":
            raise errors.noted(RuntimeError("only Tensors of floating point and complex dtype can require gradients"),
                               "integers_require_grad", self.dtype)
        set_requires_grad(self, value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool")

    @property
    def is_leaf(self) -> bool:
        return grad_fn(self) is None

    @property
    def grad_fn(self) -> Any:
        node = row_node(grad_fn(self))[0]
        if node is not None:
            # For whoever asks the node next: it does not keep its result.
            node.output = self._array.shape, self._array.dtype
        return shown(node)

    @property
    def _grad_fn(self) -> Any:
        return self.grad_fn

    @_grad_fn.deleter
    def _grad_fn(self) -> None:
        raise RuntimeError("Deletion of _grad_fn not allowed. Detach tensor instead!")

    @property
    def output_nr(self) -> int:
        return row_node(grad_fn(self))[1]

    @property
    def grad(self) -> Tensor | None:
        if GRAD.handlers:
            return dispatch(GRAD, (self,), {})  # type: ignore[no-any-return]
        if self._grad is None and (self._node is not None or self._view is not None):
            return read_grad(self)
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        check_assigned_grad(self, value)
        if type(value) is not Tensor and value is not None:
            from whygrad.core.conj_neg import resolved
            value = resolved(value)  # to those who add to it, it must be its own memory
        self._grad = value
        self.meta.note_grad("assigned" if value is not None else "cleared")

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def _backward_hooks(self) -> dict[int, Any] | None:
        """The hooks registered on this tensor."""
        node = grad_fn(self)
        if node is None:
            hooks = None if self._meta is None else self._meta.hooks
        else:
            hooks = None if node.extra is None else node.extra.tensor_hooks
        return hooks if hooks or type(hooks) is not dict else None

    @_backward_hooks.setter
    def _backward_hooks(self, hooks: dict[int, Any]) -> None:
        node = grad_fn(self)
        if node is None:
            self.meta.hooks = hooks
        else:
            extra(node).tensor_hooks = hooks

    @_backward_hooks.deleter
    def _backward_hooks(self) -> None:
        raise RuntimeError("Deletion of _backwards_hooks not allowed!")

    @property
    def retains_grad(self) -> bool:
        return self._meta is not None and self._meta.retains_grad

    @property
    def _version(self) -> int:
        if type(self._counter) is InferenceCounter:
            raise RuntimeError("Inference tensors do not track version counter.")
        return int(self._counter[0])

    @property
    def _base(self) -> Tensor | None:
        return None if self._view is None else self._view.base

    def _is_view(self) -> bool:
        return self._view is not None

    def is_inference(self) -> bool:
        return type(self._counter) is InferenceCounter

    @property
    def data(self) -> Tensor:
        result = wrap(self._array)
        result._cause = cut(self, "detach", ".data")
        return result

    @data.setter
    def data(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self.requires_grad and value._array.dtype.kind not in "fcV":
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        if value.layout is not self.layout:  # type: ignore[attr-defined]
            raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible "
                               "tensor type.")
        old = self._array
        self._array = value._array
        # References: `old` and the argument. If there are more, it may have been saved for backward.
        if (getrefcount(old) > 2 or old.shape != self._array.shape) and type(self._counter) is not InferenceCounter:
            self._counter[0] = swapped(self._counter[0], old, self._array)

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    @property
    def shape(self) -> Size:
        if SHAPE.handlers:
            return dispatch(SHAPE, (self,), {})  # type: ignore[no-any-return]
        return Size(self._array.shape)

    @property
    def dtype(self) -> dtypes.dtype:
        if DTYPE.handlers:
            return dispatch(DTYPE, (self,), {})  # type: ignore[no-any-return]
        return dtypes.FROM_NUMPY[self._array.dtype]

    @property
    def _numbers(self) -> np.ndarray:
        """All numbers behind this tensor: more than its shape says, if it stands for a batch (see func/batched.py)."""
        return self._array

    def _with_numbers(self, array: np.ndarray) -> Tensor:
        """A constant with other numbers, made from `_numbers`; a change of this tensor is still noticed."""
        result = wrap(array)
        result._counter = self._counter
        return result

    @property
    def device(self) -> device:
        return CPU

    @property
    def ndim(self) -> int:
        if NDIM.handlers:
            return dispatch(NDIM, (self,), {})  # type: ignore[no-any-return]
        return self._array.ndim


Tensor._memory = Tensor._array


def read_grad(t: Tensor) -> Tensor | None:
    """`.grad`, with torch's warning if there will never be one."""
    if t._grad is None:
        node = t._node if t._view is None else t._view.node
        if node is not None and not t.retains_grad:
            errors.warn_non_leaf_grad()
    return t._grad


def wrap(array: np.ndarray) -> Tensor:
    """A fresh tensor over an array, without history."""
    t = object.__new__(Tensor)
    t._array = array
    t._node = t._grad = t._view = t._meta = None
    t._lookup = False
    t._counter = [0]
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
    if view.version != t._counter[0] and int(view.version) != int(t._counter[0]):
        if view.creation:
            raise errors.forbidden_view_write(t, indirect=True)
        if base._meta is not None and base._meta.turns:
            view.turn_back(base._meta.turns)
        old, view.node = view.node, history_of_view(view)
        if old is not None and old.extra is not None and old.extra.retained is not None:
            # retain_grad() follows the tensor to its newest value.
            extra(view.node).retained, old.extra.retained = old.extra.retained, None
        view.version = t._counter[0]
    return view.node


def history_of_view(view: View) -> Any:
    """A new node that leads from a view to its base as it is now."""
    if special.replay_views:
        from whygrad.autograd.views import replayed_history

        return replayed_history(view)
    return AsStrided(source(view.base), view.steps)


def requires_grad(t: Tensor) -> bool:
    view = t._view
    if view is None:
        return t._node is not None or t._lookup
    return view.requires_grad or view.node is not None or view.base.requires_grad


def source(t: Tensor) -> Any:
    """Where the gradient of `t` goes: its node, `t` itself if it is a leaf that requires grad, or None."""
    view = t._view
    if view is None:
        return t if t._node is None and t._lookup else t._node
    node = grad_fn(t)
    if node is None and requires_grad(t):
        # A view made under no_grad requires grad if its base does, but there is no way back to the base.
        return t if view.requires_grad else DeadEnd()
    return node


def known_source(t: Tensor) -> Any:
    """`source` for the records: of a view that must not be used any more, what is known of it; never an error."""
    view = t._view
    if view is None:
        return t if t._node is None and t._lookup else t._node
    return view.node if view.node is not None else known_source(view.base)


# The properties that are read all the time look themselves whether somebody stands at their door (see base/door.py).
REQUIRES_GRAD = Spec("Tensor.requires_grad.__get__", requires_grad)
GRAD = Spec("Tensor.grad.__get__", read_grad)
SHAPE = Spec("Tensor.shape.__get__", lambda t: Size(t._array.shape))
DTYPE = Spec("Tensor.dtype.__get__", lambda t: dtypes.FROM_NUMPY[t._array.dtype])
NDIM = Spec("Tensor.ndim.__get__", lambda t: t._array.ndim)


def set_requires_grad(t: Tensor, value: bool) -> None:
    """Switch a leaf."""
    if value and type(t._counter) is InferenceCounter and not modes.inference:
        raise errors.noted(RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."),
                           "inference_tensor", t._counter.entered)
    if value and t._array.dtype.kind not in "fcV":
        raise errors.noted(RuntimeError("only Tensors of floating point dtype can require gradients"), "integers_require_grad",
                           t.dtype)
    if value == requires_grad(t):
        if t._view is not None:
            t._view.requires_grad = value  # of its own, not only because its base does
        return
    if t._view is None:
        t._lookup = value
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
    return (why.Cause(kind, why.site(), detail, (node,)),)


def check_assigned_grad(t: Tensor, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is t:
        raise RuntimeError("can't assign Variable as its own grad")
    wanted = t.dtype if t._meta is None or t._meta.grad_dtype is ... else t._meta.grad_dtype
    if wanted is not None and value.dtype is not wanted:
        raise errors.noted(RuntimeError(errors.grad_dtype_mismatch(value.dtype, wanted)), "assigned_gradient", t)
    if value._array.shape != t._array.shape:
        raise errors.noted(RuntimeError(
            f"attempting to assign a gradient of size '{list(value._array.shape)}' to a tensor of size '{list(t._array.shape)}'. "
            "Please ensure that the gradient and the tensor are the same size"), "assigned_gradient", t)


class AsStrided(Node):
    """Leads from the current value of a base to one of its views, after the base was changed through another tensor.

    The gradient is brought back through the rules of the view's own steps, last step first.
    """

    __slots__ = ("steps",)

    def __init__(self, edge: Any, steps: Any) -> None:
        self.edges = (edge,)
        self.saved = ()
        self.shapes = self.cuts = self.extra = None
        self.seq = next_sequence_number()
        self.site_code, self.lasti = why.site()
        self.steps = steps

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        from whygrad.autograd.views import gradient_of_steps
        from whygrad.backends import raw

        return (gradient_of_steps(self.steps, g, raw),)

    def graph(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        from whygrad.autograd.views import gradient_of_steps
        from whygrad.backends import tensor

        return (gradient_of_steps(self.steps, g, tensor),)


AsStrided.__name__ = AsStrided.__qualname__ = "AsStridedBackward0"
