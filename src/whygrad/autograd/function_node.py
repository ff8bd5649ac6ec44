"""One application of a custom Function: the ctx that the user sees, and its place in the graph.

On the ctx the user keeps what he likes, under any name; it is what `grad_fn` shows. The `CustomNode` owns the ctx,
while the ctx refers to it weakly, so there is no cycle.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from whygrad.autograd.hooks import from_user, to_user
from whygrad.autograd.node_methods import OutputMetadata
from whygrad.autograd.saved_hooks import SavedTensor, nothing_saved, save
from whygrad.backends import raw, tensor
from whygrad.base import errors
from whygrad.base.errors import warn
from whygrad.core.modes import grad_state
from whygrad.core.node import AccumulateGrad, Node, NodeInterface, next_sequence_number
from whygrad.core.tensor import Tensor, source, wrap
from whygrad.why import record as why

if TYPE_CHECKING:
    pass


class FunctionCtx:
    """What `forward`, `setup_context` and `backward` get as `ctx`."""

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors (or None) for backward: versions are checked, and outputs make no reference cycle."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        for t in tensors:
            if not (isinstance(t, Tensor) or t is None):
                raise AssertionError("save_for_forward expects all arguments to be tensors; you should save "
                                     "non-tensors as attributes on ctx.")
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which inputs `forward` changes in place. Each of them must be returned."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which outputs have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """False: an output that got no gradient gives `backward` None instead of zeros."""
        if not isinstance(value, bool):
            raise TypeError("set_materialize_grads received an invalid combination of arguments - got (), but expected "
                            "(bool)")
        self.materialize_grads = value

    def mark_shared_storage(self, *pairs: Any) -> None:
        warn("`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. "
             "Note that calls to `set_()` are not tracked", FutureWarning)


class BackwardCFunction(NodeInterface, FunctionCtx):
    """The ctx of one application; `<Class>Backward` is a subclass of it."""

    __slots__ = ("__dict__", "__weakref__", "_node", "_outputs", "_saved", "needs_input_grad")

    _forward_cls: ClassVar[Any]
    # What `forward` may set. `apply` takes it off again when it has acted on it.
    to_save: Any = None
    saved_for_forward: Any = None
    dirty_tensors: Any = None
    non_differentiable: Any = None
    # Which outputs were marked as dirty, and which as without a derivative.
    _marks: Any = None
    materialize_grads = True
    _materialize_non_diff_grads = True
    _is_pure_view = False
    _cleared = False

    def __init__(self, node: CustomNode, needs_input_grad: tuple[bool, ...]) -> None:
        self._node = weakref.ref(node)
        self._saved: tuple[SavedTensor | None, ...] | None = ()
        self._outputs: list[Any] = []
        self.needs_input_grad = needs_input_grad

    def _itself(self) -> CustomNode:
        node = self._node()
        if node is None:
            raise RuntimeError(f"{self.name()}: the graph this ctx belonged to is gone")
        return node

    @property
    def _input_metadata(self) -> tuple[OutputMetadata, ...]:
        return tuple([OutputMetadata(*output[:2]) for output in self._outputs if output is not None])

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What was given to `save_for_backward`."""
        if self._saved is None:
            if self._cleared:
                raise RuntimeError("saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is "
                                   "set on the autograd.Function. Either access saved_tensors only once, or set "
                                   "clear_saved_tensors_on_access=False.")
            raise errors.graph_freed(self._itself())
        if self._saved and self._node() is None:
            raise RuntimeError(errors.BACKWARD_TWICE)  # the graph is gone, and with it what was saved
        tensors = tuple([None if saved is None else saved.unpack() for saved in self._saved])
        if self._forward_cls.clear_saved_tensors_on_access and self._saved:
            self._saved = None
            self._cleared = True
        return tensors

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor | None, ...]:
        if self._saved is None:
            raise errors.graph_freed(self._itself())
        return tuple([nothing_saved(self._itself()) if saved is None else saved for saved in self._saved])

    def apply(self, *gradients: Any) -> Any:
        """Call the user's backward."""
        if self._forward_cls.boxed_grads_call:
            gradients = (list(gradients),)
        return self._forward_cls._user_backward()(self, *gradients)


class CustomNode(Node):
    """The place of one application in the graph.

    `outputs`    (shape, dtype, differentiable) of each output, None for one that is not a Tensor
    `arguments`  the position among the edges of each argument, None for one that is not a Tensor
    `inputs`     (shape, dtype) at each edge; None for the dtype if any will do
    `recorded`   False if nobody can want a gradient: then the node is only there for the ctx, and dies with `apply`
    """

    __slots__ = ("arguments", "ctx", "inputs", "ports", "recorded")
    # Missing gradients become zeros: backward runs in any case.
    takes_none = True
    takes_sparse = True

    ctx: BackwardCFunction
    ports: dict[int, Any]

    def __init__(self, ctx_class: type[BackwardCFunction], args: tuple[Any, ...]) -> None:
        edges: list[Any] = []
        inputs: list[Any] = []
        arguments: list[int | None] = []
        needed = []
        for a in args:
            if isinstance(a, Tensor):
                edge = source(a) if a._node is None and a._indirect else a._node
                arguments.append(len(edges))
                edges.append(edge)
                inputs.append((a._array.shape, a._array.dtype if a._meta is None else _wanted_dtype(a)))
                needed.append(edge is not None)
            else:
                arguments.append(None)
                needed.append(False)
        self.recorded = grad_state.grad and not grad_state.inference and True in needed
        self.edges = tuple(edges) if self.recorded else ()
        self.inputs, self.arguments = inputs, arguments
        self.ctx = ctx_class(self, tuple(needed))
        self.cuts = None if None not in edges else tuple([a._cause for a in args if isinstance(a, Tensor)])
        self.shapes = self.extra = None
        self.seq = next_sequence_number()
        self.site_code, self.lasti = why.site()

    def shown(self) -> NodeInterface:
        return self.ctx

    @property
    def outputs(self) -> list[Any]:
        return self.ctx._outputs

    @outputs.setter
    def outputs(self, value: list[Any]) -> None:
        self.ctx._outputs = value

    @property
    def saved(self) -> Any:
        return self.ctx._saved

    @saved.setter
    def saved(self, value: Any) -> None:
        self.ctx._saved = value

    def save(self, results: tuple[Any, ...]) -> None:
        """Keep what was given to `save_for_backward`, now that the outputs are known."""
        kept: list[SavedTensor | None] = []
        # Off the ctx first: if a pack hook raises, nothing must hold the outputs in a cycle.
        for i, t in enumerate(self.ctx.__dict__.pop("to_save", None) or ()):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type "
                                f"{type(t).__name__}")
            if t is None:
                kept.append(None)
                continue
            output = next((k for k, result in enumerate(results) if result is t and self.outputs[k][2]), None)
            kept.append(save(t, self, output))
        self.ctx._saved = tuple(kept)

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        return self._run(g, edges, False)

    def graph(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        return self._run(g, edges, True)

    def output_count(self) -> int:
        return len(self.outputs)

    def _run(self, g: Any, edges: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
        if grad_state.running is not None:
            grad_state.running.node = self
        seen = self._materialized(g) if g is None or type(g) is list else [to_user(g)]
        if self.ctx._forward_cls.boxed_grads_call:
            # The user takes them out of the list, and there are no other references.
            results = self.ctx._forward_cls._user_backward()(self.ctx, seen)
        else:
            results = self.ctx.apply(*seen)
        if type(results) is not tuple:
            results = (results,)
        if why.watching is not None:
            why.watching.function_ran(self, seen, results)
        count = len(self.arguments)
        if len(results) > count and all(result is None for result in results[count:]):
            results = results[:count]
        if len(results) != count:
            raise errors.noted(RuntimeError(f"function {self.name()} returned an incorrect number of gradients (expected "
                                            f"{count}, "
                                            f"got {len(results)})"), "custom_returns", self,
                               f"returned the wrong number of gradients: {len(results)} for {count} arguments of forward")
        grads: list[Any] = [None] * len(edges)
        for i, (position, result) in enumerate(zip(self.arguments, results, strict=True), 1):
            if result is None:
                continue
            if position is None:
                raise errors.noted(RuntimeError(f"function {self.name()} returned a gradient different than None at position "
                                                f"{i}, "
                                                "but the corresponding forward input was not a Variable"), "custom_returns", self,
                                   f"returned a gradient for argument {i} of forward, which is not a tensor")
            if not isinstance(result, Tensor):
                raise errors.noted(RuntimeError(f"expected Variable or None (got {type(result).__name__})"), "custom_returns",
                                   self, f"returned a {type(result).__name__} where a tensor or None is expected")
            if edges[position] is not None:
                grads[position] = self._fitted(result, position, create_graph)
            elif self.extra is not None:  # hooks see all that was returned
                grads[position] = from_user(result, create_graph)
        if not create_graph and len(grads) > 1:
            _part_leaves(grads, edges)
        return tuple(grads)

    def _materialized(self, g: Any) -> list[Any]:
        """The gradients of all outputs as the user gets them: missing ones are zeros, if he wants that."""
        ctx = self.ctx
        gradients = g if isinstance(g, list) else [None] * len(self.outputs) if g is None else [g]
        seen = []
        for gradient, output in zip(gradients, self.outputs, strict=True):
            if gradient is None and output is not None and ctx.materialize_grads and (
                    output[2] or ctx._materialize_non_diff_grads):
                seen.append(wrap(np.zeros(*output[:2])))
            else:
                seen.append(to_user(gradient))
        return seen

    def _fitted(self, result: Tensor, index: int, create_graph: bool) -> Any:
        """A gradient in the shape and dtype of its input."""
        shape, dtype = self.inputs[index]
        given = result._array.shape
        if given == shape and result._array.dtype is dtype:
            return from_user(result, create_graph)
        if given != shape and not _expandable(shape, given):
            raise errors.noted(RuntimeError(f"Function {self.name()} returned an invalid gradient at index {index} - got "
                                            f"{list(given)} but expected shape compatible with {list(shape)}"), "custom_returns",
                               self, f"returned a gradient of shape {list(given)} for an argument of shape {list(shape)}")
        if dtype is None:
            dtype = result._array.dtype
        if result._array.dtype.kind == "c" and dtype.kind != "c":
            raise RuntimeError("Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) "
                               "to be true, but got false.  (Could this error message be improved?  If so, please "
                               "report an enhancement request to PyTorch.)")
        g = from_user(result, create_graph)
        if given != shape:
            vocabulary: Any = tensor if create_graph else raw
            g = vocabulary.sum_to(g, shape=shape)
        if result._array.dtype != dtype:
            g = g.to(dtype) if create_graph else g.astype(dtype)
        return g


def _part_leaves(grads: list[Any], edges: tuple[Any, ...]) -> None:
    """If several leaves get the same array, all but the last get a copy; then each can keep what it gets."""
    for i, g in enumerate(grads[:-1]):
        if g is not None and type(edges[i]) is AccumulateGrad and any(g is later for later in grads[i + 1:]):
            grads[i] = g.copy()


def _wanted_dtype(t: Tensor) -> np.dtype | None:
    """The dtype for a gradient of `t`; None if any will do."""
    wanted = ... if t._meta is None else t._meta.grad_dtype
    return t._array.dtype if wanted is ... else None if wanted is None else wanted.numpy


def _expandable(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """True if an array of `shape` broadcasts to the shape `to`."""
    return len(shape) <= len(to) and all(m in (1, n) for m, n in zip(reversed(shape), reversed(to), strict=False))
