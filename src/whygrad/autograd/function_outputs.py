"""What a custom Function's `forward` returned, on its way to the user: in place, views, inputs, without gradient."""

from __future__ import annotations

from typing import Any

from whygrad.autograd.function_node import CustomNode
from whygrad.autograd.node_errors import forbidden_view_write
from whygrad.base.errors import warn
from whygrad.core.modes import grad_state
from whygrad.core.node import Node, port_of
from whygrad.core.record import attach, make_view
from whygrad.core.tensor import Tensor, cut, grad_fn, wrap
from whygrad.core.write import bump, check_inplace, rebase
from whygrad.ops.table import TABLE
from whygrad.why import record as why


class Outputs:
    """What `forward` returned, on its way to the user: with history, and never the very object of an input."""

    def __init__(self, node: CustomNode, args: tuple[Any, ...]) -> None:
        self.node = node
        self.ctx = node.ctx
        self.tensors = [a for a in args if isinstance(a, Tensor)]
        # By id, what a `setup_context` saved: it saw the inputs themselves, not what the user gets in their place.
        self.saved: set[int] = set()

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
        if ctx._forward_cls._separate_context():
            self.saved = {id(t) for t in (*(ctx.to_save or ()), *(ctx.saved_for_forward or ()))}
        results = tuple([t if output is None else self._one(t, i, id(t) in dirty, output[2])
                         for i, (t, output) in enumerate(zip(raw, node.outputs, strict=True))])
        if not dirty <= {id(t) for t in raw}:
            raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. "
                               "The inputs that are modified inplace must all be outputs of the Function.")
        self._forbid_writing_views(raw, results, dirty)
        if node.recorded:
            node.save(results)
        # For forward mode, which checks what `jvp` returns.
        ctx._marks = [id(t) in dirty for t in raw], [id(t) in fixed for t in raw]
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
            t = self._view_of_itself(t)
        t._cause = ()
        t._indirect = t._view is not None
        attach(t, place)
        if t._view is not None:
            t._view.version = t._version_counter.value
        return t

    def _without_history(self, t: Tensor, is_input: bool, modified: bool) -> Tensor:
        if is_input:
            if t.requires_grad:
                if grad_state.entered or grad_state.derivatives:  # a transform calls the Function with what does not
                    self._refuse_saved(t)
                result = wrap(t._array)
                result._lazy_version = t._version_counter
                result._cause = self._cause_of_cut(t)
                return result
            return t if modified else self._view_of_itself(t)
        if self.node.recorded:
            if t.requires_grad and t._view is None:
                t._node = None
                t._indirect = False
            t._cause = self._cause_of_cut(t)
        return t

    def _view_of_itself(self, t: Tensor) -> Tensor:
        """What is returned for an input."""
        self._refuse_saved(t)
        result = wrap(t._array.view())
        make_view(result, t, TABLE["alias"], {})
        result._cause = t._cause
        return result

    def _refuse_saved(self, t: Tensor) -> None:
        if id(t) in self.saved:
            raise RuntimeError(SAVED_AND_RETURNED)

    def _cause_of_cut(self, t: Tensor) -> why.Causes:
        if not self.node.recorded:
            return cut(t, "grad-mode-off", grad_state.off_name)
        name = self.ctx._forward_cls.__name__
        reason = (f"{name} marked this output as non-differentiable" if t._array.dtype.kind in "fcV" else
                  f"this output of {name} is not of a floating point dtype")
        return (why.Cause("non-differentiable-op", self.node.site, reason, (self.node,)),)

    def _rebase(self, t: Tensor, is_input: bool, place: Node) -> None:
        """The history of an input that was changed in place starts here."""
        if is_input and t._view is not None and t._view.creation:
            raise forbidden_view_write(t)
        if t.requires_grad and grad_fn(t) is None:
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if not is_input:
            if t._view is not None:
                raise RuntimeError(NOT_AN_INPUT)
            warn(NOT_AN_INPUT)
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
            elif id(given) not in dirty:
                result._view.creation = "" if self.ctx._is_pure_view else "custom"


NOT_AN_INPUT = ("ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be "
                "passed to ctx.mark_dirty().")

IN_PLACE_ON_VIEW = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
    "than one Tensor. This is not supported by the current autograd engine. You should either make sure the input is "
    "not a view (using .clone() for example) or make your Function only return one Tensor (potentially splitting it "
    "into two Functions: one doing the inplace that returns a single Tensor and a second one that does the other "
    "operations). You can ask on the forum https://discuss.pytorch.org/ if you need help to do this change.")


SAVED_AND_RETURNED = (
    "An input that has been returned as-is as output is being saved for backward. This is not supported if you "
    "override setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) or setup "
    "ctx inside the forward function itself.")
