"""Custom functions with a derivative of their own: `class Exp(Function)` with `forward` and `backward`.

One application has two objects. The ctx, on which the user keeps what he likes under any name, is what `grad_fn` shows.
The `CustomNode` is its place in the graph: it owns the ctx, while the ctx refers to it weakly, so there is no cycle.
"""

from __future__ import annotations

import functools
import inspect
import warnings
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from whygrad import backends, errors
from whygrad._apply import attach, make_view
from whygrad._inplace import bump, check_inplace, rebase
from whygrad._tensor import Tensor, cut, grad_fn, set_requires_grad, source, wrap
from whygrad.autograd.hooks import from_user, to_user
from whygrad.autograd.modes import modes, refresh, special
from whygrad.autograd.node import Node, NodeInterface, OutputMetadata, next_sequence_number, port_of
from whygrad.autograd.saved_hooks import SavedTensor, save
from whygrad.ops.table import TABLE
from whygrad.why import record as why

_whygrad_internal_ = True


class FunctionCtx:
    """What `forward`, `setup_context` and `backward` get as `ctx`."""

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors (or None) for backward: versions are checked, and outputs make no reference cycle."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        for tensor in tensors:
            if not (isinstance(tensor, Tensor) or tensor is None):
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
        warnings.warn("`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. "
                      "Note that calls to `set_()` are not tracked", FutureWarning, stacklevel=errors.user_stacklevel())


class BackwardCFunction(NodeInterface, FunctionCtx):
    """The ctx of one application; `<Class>Backward` is a subclass of it."""

    __slots__ = ("__dict__", "__weakref__", "_node", "_saved", "needs_input_grad")

    _forward_cls: ClassVar[Any]
    # What `forward` may set. `apply` takes it off again when it has acted on it.
    to_save: Any = None
    saved_for_forward: Any = None
    dirty_tensors: Any = None
    non_differentiable: Any = None
    materialize_grads = True
    _materialize_non_diff_grads = True
    _is_pure_view = False
    _cleared = False

    def __init__(self, node: CustomNode, needs_input_grad: tuple[bool, ...]) -> None:
        self._node = weakref.ref(node)
        self._saved: tuple[SavedTensor | None, ...] | None = ()
        self.needs_input_grad = needs_input_grad

    def _itself(self) -> CustomNode:
        node = self._node()
        if node is None:
            raise RuntimeError(f"{self.name()}: the graph this ctx belonged to is gone")
        return node

    @property
    def _input_metadata(self) -> tuple[OutputMetadata, ...]:
        return tuple([OutputMetadata(*output[:2]) for output in self._itself().outputs if output is not None])

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What was given to `save_for_backward`."""
        if self._saved is None:
            if self._cleared:
                raise RuntimeError("saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is "
                                   "set on the autograd.Function. Either access saved_tensors only once, or set "
                                   "clear_saved_tensors_on_access=False.")
            raise errors.graph_freed(self._itself())
        tensors = tuple([None if saved is None else saved.unpack() for saved in self._saved])
        if self._forward_cls.clear_saved_tensors_on_access and self._saved:
            self._saved = None
            self._cleared = True
        return tensors

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning,
                      stacklevel=errors.user_stacklevel())
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor | None, ...]:
        if self._saved is None:
            raise errors.graph_freed(self._itself())
        return self._saved

    def _user_backward(self) -> Callable[..., Any]:
        backward, vjp = self._forward_cls.backward, self._forward_cls.vjp
        if backward is not Function.backward and vjp is not Function.vjp:
            raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                               "should only implement one of them.")
        chosen: Callable[..., Any] = backward if vjp is Function.vjp else vjp
        return chosen

    def apply(self, *gradients: Any) -> Any:
        """Call the user's backward."""
        if self._forward_cls.boxed_grads_call:
            gradients = (list(gradients),)
        return self._user_backward()(self, *gradients)


class CustomNode(Node):
    """The place of one application in the graph.

    `outputs`    (shape, dtype, differentiable) of each output, None for one that is not a Tensor
    `arguments`  the position among the edges of each argument, None for one that is not a Tensor
    `inputs`     (shape, dtype) at each edge; None for the dtype if any will do
    `recorded`   False if nobody can want a gradient: then the node is only there for the ctx, and dies with `apply`
    """

    __slots__ = ("arguments", "ctx", "inputs", "outputs", "ports", "recorded")
    # Missing gradients become zeros: backward runs in any case.
    takes_none = True

    ctx: BackwardCFunction
    outputs: list[Any]
    ports: dict[int, Any]

    def __init__(self, function: type[Function], args: tuple[Any, ...]) -> None:
        edges: list[Any] = []
        inputs: list[Any] = []
        arguments: list[int | None] = []
        needed = []
        for a in args:
            if isinstance(a, Tensor):
                edge = source(a) if a._node is None and a._lookup else a._node
                arguments.append(len(edges))
                edges.append(edge)
                inputs.append((a._array.shape, a._array.dtype if a._meta is None else _wanted_dtype(a)))
                needed.append(edge is not None)
            else:
                arguments.append(None)
                needed.append(False)
        self.recorded = modes.grad and not modes.inference and True in needed
        self.edges = tuple(edges) if self.recorded else ()
        self.inputs, self.arguments = inputs, arguments
        self.outputs = []
        self.ctx = function._backward_cls(self, tuple(needed))
        self.cuts = None if None not in edges else tuple([a._cause for a in args if isinstance(a, Tensor)])
        self.shapes = self.extra = None
        self.seq = next_sequence_number()
        self.site_code, self.lasti = why.site()

    def shown(self) -> NodeInterface:
        return self.ctx

    @property
    def saved(self) -> Any:
        return self.ctx._saved

    @saved.setter
    def saved(self, value: Any) -> None:
        self.ctx._saved = value

    def save(self, results: tuple[Any, ...]) -> None:
        """Keep what was given to `save_for_backward`, now that the outputs are known."""
        kept: list[SavedTensor | None] = []
        for i, t in enumerate(self.ctx.to_save or ()):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type "
                                f"{type(t).__name__}")
            output = next((k for k, result in enumerate(results) if result is t and self.outputs[k][2]), None)
            kept.append(None if t is None else save(t, self, output))
        self.ctx._saved = tuple(kept)
        self.ctx.__dict__.pop("to_save", None)

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        return self._run(g, edges, False)

    def graph(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        return self._run(g, edges, True)

    def output_count(self) -> int:
        return len(self.outputs)

    def _run(self, g: Any, edges: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
        seen = self._materialized(g) if g is None or type(g) is list else (to_user(g),)
        results = self.ctx.apply(*seen)
        if type(results) is not tuple:
            results = (results,)
        count = len(self.arguments)
        if len(results) > count and all(result is None for result in results[count:]):
            results = results[:count]
        if len(results) != count:
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients (expected {count}, "
                               f"got {len(results)})")
        grads: list[Any] = [None] * len(edges)
        for i, (position, result) in enumerate(zip(self.arguments, results, strict=True), 1):
            if result is None:
                continue
            if position is None:
                raise RuntimeError(f"function {self.name()} returned a gradient different than None at position {i}, "
                                   "but the corresponding forward input was not a Variable")
            if not isinstance(result, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(result).__name__})")
            if edges[position] is not None:
                grads[position] = self._fitted(result, position, create_graph)
            elif self.extra is not None:  # hooks see all that was returned
                grads[position] = from_user(result, create_graph)
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
            raise RuntimeError(f"Function {self.name()} returned an invalid gradient at index {index} - got "
                               f"{list(given)} but expected shape compatible with {list(shape)}")
        if dtype is None:
            dtype = result._array.dtype
        if result._array.dtype.kind == "c" and dtype.kind != "c":
            raise RuntimeError("Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) "
                               "to be true, but got false.  (Could this error message be improved?  If so, please "
                               "report an enhancement request to PyTorch.)")
        g = from_user(result, create_graph)
        if given != shape:
            vocabulary: Any = backends.tensor if create_graph else backends.raw
            g = vocabulary.sum_to(g, shape=shape)
        if result._array.dtype != dtype:
            g = g.to(dtype) if create_graph else g.astype(dtype)
        return g


def _wanted_dtype(t: Tensor) -> np.dtype | None:
    """The dtype for a gradient of `t`; None if any will do."""
    wanted = ... if t._meta is None else t._meta.grad_dtype
    return t._array.dtype if wanted is ... else None if wanted is None else wanted.numpy


def _expandable(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """True if an array of `shape` broadcasts to the shape `to`."""
    return len(shape) <= len(to) and all(m in (1, n) for m, n in zip(reversed(shape), reversed(to), strict=False))


class FunctionMeta(type):
    """Makes the classes of ctx and node that go with a Function; both are called `<Class>Backward`."""

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        super().__init__(name, bases, attrs)
        members = {"__slots__": (), "__module__": "torch.autograd.function"}
        cls._backward_cls: Any = type(f"{name}Backward", (BackwardCFunction,), {**members, "_forward_cls": cls})
        cls._node_cls: Any = type(f"{name}Backward", (CustomNode,), members)


class Function(FunctionCtx, metaclass=FunctionMeta):
    """Base of functions with a derivative written by hand: define static `forward` and `backward`, call `apply`."""

    generate_vmap_rule = False
    clear_saved_tensors_on_access = False
    boxed_grads_call = False

    _backward_cls: Any
    _node_cls: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you "
                      "should invoke them on the class itself. Instantiating an autograd function will raise an error "
                      "in a future version of PyTorch.", DeprecationWarning, stacklevel=errors.user_stacklevel())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Legacy autograd function with non-static forward method is deprecated. Please use "
                           "new-style autograd function with static forward method. (Example: "
                           "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)")

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError("You must implement either the backward or vjp method for your custom "
                                  "autograd.Function to use it with backward mode AD.")

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with "
                                  "forward mode AD.")

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap staticmethod "
                                  "or set generate_vmap_rule=True.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the function and record it."""
        separate = cls.setup_context is not Function.setup_context
        if separate:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if kwargs:
            args = _as_positional(cls.forward, args, kwargs, 0 if separate else 1)
        node = cls._node_cls(cls, args)
        ctx = node.ctx
        if special.anomaly and node.recorded:
            from whygrad.autograd.anomaly import keep_trace
            keep_trace(node)
        outer = modes.grad, modes.off_name, modes.off_site
        if outer[0]:
            # Explanations should name the Function as the reason why values made inside have no history.
            modes.grad, modes.off_name, modes.off_site = False, f"{cls.__name__}.forward", node.site
            refresh()
        try:
            if separate:
                raw = cls.forward(*args)
                cls.setup_context(ctx, args, raw)
            else:
                raw = cls.forward(ctx, *args)
        finally:
            if outer[0]:
                modes.grad, modes.off_name, modes.off_site = outer
                refresh()
        if type(raw) is Tensor and node.recorded and raw._view is None and _is_ordinary(ctx, raw, args):
            # The usual case, and `_Outputs` in a few lines: one fresh result.
            array = raw._array
            node.outputs = [(array.shape, array.dtype, True)]
            raw._node = node
            raw._lookup = False
            raw._cause = ()
            if ctx.to_save is not None:
                node.save((raw,))
            return raw
        several = isinstance(raw, tuple)
        results = _Outputs(node, args).with_history(raw if several else (raw,))
        return results if several else results[0]


def _is_ordinary(ctx: BackwardCFunction, raw: Tensor, args: tuple[Any, ...]) -> bool:
    """True for a fresh floating point result of which nothing special was said."""
    return (raw._array.dtype.kind == "f" and ctx.dirty_tensors is None and ctx.non_differentiable is None
            and not ctx._is_pure_view and not any(raw is a for a in args))


def _as_positional(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
                   skip: int) -> tuple[Any, ...]:
    """Arguments by position: backward returns a gradient for each position. `skip` is 1 if ctx comes first."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in inspect.signature(forward).parameters.values() if p.kind in kinds][skip:]
    for name in kwargs:
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if name in names[:len(args)]:
            raise TypeError(f"forward() got multiple values for argument '{name}'")
    last = max([names.index(name) for name in kwargs])
    for position, name in enumerate(names[len(args):last + 1], len(args)):
        if name not in kwargs:
            raise TypeError(f"forward() missing required argument: '{name}' (position {position})")
    return (*args, *[kwargs[name] for name in names[len(args):last + 1]])


class _Outputs:
    """What `forward` returned, on its way to the user: with history, and never the very object of an input."""

    def __init__(self, node: CustomNode, args: tuple[Any, ...]) -> None:
        self.node = node
        self.ctx = node.ctx
        self.tensors = [a for a in args if isinstance(a, Tensor)]

    def with_history(self, raw: tuple[Any, ...]) -> tuple[Any, ...]:
        ctx, node = self.ctx, self.node
        dirty = self._dirty_ids()
        fixed = self._non_differentiable_ids()
        node.outputs = [(t._array.shape, t._array.dtype,
                         node.recorded and id(t) not in fixed and t._array.dtype.kind in "fcV")
                        if isinstance(t, Tensor) else None for t in raw]
        if len(raw) > 1:
            node.shapes = node.outputs
            node.ports = {}
        if ctx._is_pure_view and (len(self.tensors) != 1 or len(raw) != 1):
            raise RuntimeError("Pure view custom Function can only have one input Tensor and one output Tensor. Open "
                               "an issue if you need to support more.")
        results = tuple([t if output is None else self._one(t, i, id(t) in dirty, output[2])
                         for i, (t, output) in enumerate(zip(raw, node.outputs, strict=True))])
        if not dirty <= {id(t) for t in raw}:
            raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. "
                               "The inputs that are modified inplace must all be outputs of the Function.")
        self._forbid_writing_views(raw, results, dirty)
        if node.recorded:
            node.save(results)
        for name in ("to_save", "dirty_tensors", "non_differentiable"):
            ctx.__dict__.pop(name, None)
        return results

    def _dirty_ids(self) -> set[int]:
        for t in self.ctx.dirty_tensors or ():
            if not isinstance(t, Tensor):
                raise RuntimeError("mark_dirty can only accept variables, but argument ")
            bump(t)
        return {id(t) for t in self.ctx.dirty_tensors or ()}

    def _non_differentiable_ids(self) -> set[int]:
        for t in self.ctx.non_differentiable or ():
            if not isinstance(t, Tensor):
                raise RuntimeError("mark_non_differentiable only accepts variable arguments, but got ")
        return {id(t) for t in self.ctx.non_differentiable or ()}

    def _one(self, t: Tensor, index: int, modified: bool, differentiable: bool) -> Tensor:
        is_input = any(t is x for x in self.tensors)
        if not differentiable:
            return self._without_history(t, is_input, modified)
        place = port_of(self.node, index) if self.node.shapes is not None else self.node
        if modified:
            self._rebase(t, is_input, place)
            return t
        if is_input:
            t = _view_of_itself(t)
        t._cause = ()
        t._lookup = t._view is not None
        attach(t, place)
        if t._view is not None:
            t._view.version = t._counter[0]
        return t

    def _without_history(self, t: Tensor, is_input: bool, modified: bool) -> Tensor:
        if is_input:
            if t.requires_grad:
                result = wrap(t._array)
                result._counter = t._counter
                result._cause = self._cause_of_cut(t)
                return result
            return t if modified else _view_of_itself(t)
        if self.node.recorded:
            if t.requires_grad and t._view is None:
                t._node = None
                t._lookup = False
            t._cause = self._cause_of_cut(t)
        return t

    def _cause_of_cut(self, t: Tensor) -> why.Causes:
        if not self.node.recorded:
            return cut(t, "grad-mode-off", modes.off_name)
        name = self.ctx._forward_cls.__name__
        reason = (f"{name} marked this output as non-differentiable" if t._array.dtype.kind in "fcV" else
                  f"this output of {name} is not of a floating point dtype")
        return (why.Cause("non-differentiable-op", self.node.site, reason, (self.node,)),)

    def _rebase(self, t: Tensor, is_input: bool, place: Node) -> None:
        """The history of an input that was changed in place starts here."""
        if t.requires_grad and grad_fn(t) is None:
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if not is_input:
            warnings.warn("ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been "
                          "mutated should be passed to ctx.mark_dirty(). (Triggered internally at "
                          "/__w/pytorch/pytorch/torch/csrc/autograd/custom_function.cpp:320.)", UserWarning,
                          stacklevel=errors.user_stacklevel())
        position = next((i for i, x in enumerate(self.tensors) if x is t), 0)
        if t._view is not None:
            if len(self.node.outputs) > 1:
                raise RuntimeError(IN_PLACE_ON_VIEW)
            check_inplace(t, tuple(self.tensors))
        rebase(t, place, position)

    def _forbid_writing_views(self, raw: tuple[Any, ...], results: tuple[Any, ...], dirty: set[int]) -> None:
        """An in-place write into a view that a Function returned would bypass its backward."""
        several = sum([output is not None and output[2] for output in self.node.outputs]) > 1
        for given, result in zip(raw, results, strict=True):
            if not isinstance(result, Tensor) or result._view is None:
                continue
            if several:
                result._view.creation = "multi"
            elif id(given) not in dirty and not self.ctx._is_pure_view:
                result._view.creation = "custom"


IN_PLACE_ON_VIEW = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
    "than one Tensor. This is not supported by the current autograd engine. You should either make sure the input is "
    "not a view (using .clone() for example) or make your Function only return one Tensor (potentially splitting it "
    "into two Functions: one doing the inplace that returns a single Tensor and a second one that does the other "
    "operations). You can ask on the forum https://discuss.pytorch.org/ if you need help to do this change.")


def _view_of_itself(t: Tensor) -> Tensor:
    result = wrap(t._array.view())
    make_view(result, t, TABLE["alias"], {})
    result._cause = t._cause
    return result


class Error(Node):
    """Stands where a second derivative would be, and refuses to compute it."""

    __slots__ = ("ports", "text")

    ports: dict[int, Any]

    def __init__(self, text: str, edges: tuple[Any, ...], shapes: list[Any] | None) -> None:
        self.edges = edges
        self.saved = ()
        self.text = text
        self.shapes = shapes
        self.ports = {}
        self.cuts = self.extra = None
        self.seq = next_sequence_number()
        self.site_code, self.lasti = why.site()

    def raw(self, g: Any, edges: tuple[Any, ...]) -> tuple[Any, ...]:
        raise RuntimeError(self.text)

    graph = raw


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """For a `backward` that cannot be differentiated again: it runs unrecorded, and a second derivative raises."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        from whygrad.autograd.grad_mode import no_grad

        with no_grad():
            outputs = fn(ctx, *args, **kwargs)
        if not modes.grad or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        results = _not_differentiable_again(several)
        return results if len(results) > 1 else results[0]

    return wrapper


def _not_differentiable_again(outputs: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
    def leaf(t: Tensor | None) -> Tensor | None:
        if t is None:
            return None
        result = wrap(t._array)
        set_requires_grad(result, True)
        return result

    shapes = [None if t is None else (t._array.shape, t._array.dtype) for t in outputs]
    error = Error("trying to differentiate twice a function that was marked with @once_differentiable",
                  tuple([leaf(t) for t in outputs]), shapes if len(outputs) > 1 else None)
    results: list[Tensor | None] = []
    for i, t in enumerate(outputs):
        result = None if t is None else wrap(t._array)
        if result is not None:
            result._node = port_of(error, i) if len(outputs) > 1 else error
        results.append(result)
    return tuple(results)


class InplaceFunction(Function):
    """Kept for old programs; use Function."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
