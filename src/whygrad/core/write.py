"""In-place operations: the same rows, written into an existing tensor whose history is then rewritten."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.autograd.views import CopySlices
from whygrad.backends.numpy_convert import cast_values
from whygrad.base import acceleration, dtypes, errors
from whygrad.base.broadcasting import broadcast_shapes
from whygrad.core.conj_neg import TURNED
from whygrad.core.modes import modes, special
from whygrad.core.node import Cast, Node, extra
from whygrad.core.promotion import promote, result_dtype
from whygrad.core.record import FLOAT32, Layout, layout_of, make_node, tracked_nodes
from whygrad.core.tensor import InferenceCounter, Tensor, grad_fn, source, wrap
from whygrad.ops.table import TABLE
from whygrad.why import record as why

OVERLAP = ("unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
           "location. Please clone() the tensor before performing the operation.")
SHARED = ("unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
          "Please clone() the tensor before performing the operation.")

# From the common dtype of the inputs and the dtype of the target: the dtype to compute in, or an error.
ComputesIn = Callable[[dtypes.dtype, dtypes.dtype], dtypes.dtype]


def run_inplace(row_name: str, target: Tensor, *inputs: Any, computes_in: ComputesIn | None = None,
                **statics: Any) -> Tensor:
    """Apply a row and write the result into `target`, which stands among the inputs.

    `computes_in` is for rows that do not take every dtype, or do not compute in the common dtype of their inputs.
    """
    row = TABLE[row_name]
    layout = layout_of(row, kinds_of(inputs))
    if not row.broadcasts:
        if has_no_history(target) and _none_has_history(inputs) and _recorded() is not None:
            layout.compute([x._array if isinstance(x, Tensor) else x for x in inputs], target._array,
                           {**row.static_defaults, **statics}, next(i for i, x in enumerate(inputs) if x is target))
            bump(target)
            _take_causes(target, inputs)
            return target
    elif computes_in is None:
        recorded = _recorded()
        if recorded is not None and layout.plain_write(recorded, *inputs, **statics):
            return target
    return _promote_and_perform(layout, target, inputs, computes_in, statics)


def _none_has_history(inputs: tuple[Any, ...]) -> bool:
    """Whether a node could not be recorded for them: plain tensors, integers, masks."""
    for x in inputs:
        if isinstance(x, Tensor) and (x._node is not None or x._lookup) and x._array.dtype.kind not in "biu":
            return False
    return True


def writer(row_name: str, kinds: str) -> Callable[..., Tensor]:
    """`run_inplace` for a row and kinds of inputs that are known beforehand: `write(target, *others)`."""
    plain_write: Callable[..., bool] | None = None

    def write(target: Tensor, *others: Any) -> Tensor:
        nonlocal plain_write
        if plain_write is None:  # compiled when it is first needed
            plain_write = layout_of(TABLE[row_name], kinds).plain_write
        recorded = _recorded()
        if recorded is not None and plain_write(recorded, target, *others):
            return target
        return _promote_and_perform(layout_of(TABLE[row_name], kinds), target, (target, *others), None, {})

    return write


def _promote_and_perform(layout: Layout, target: Tensor, inputs: tuple[Any, ...], computes_in: ComputesIn | None,
                         statics: dict[str, Any]) -> Tensor:
    row = layout.row
    check_inplace(target, inputs)
    promoted = list(inputs)
    if row.broadcasts:
        # torch's order: memory, then shapes, then dtypes.
        check_overlap(target._array, inputs)
        check_shape(target._array, inputs)
        if computes_in is not None or not _fits_as_it_is(target._array.dtype, inputs):
            dtype = result_dtype(*inputs)
            if computes_in is not None:
                dtype = computes_in(dtype, target.dtype)
            else:
                check_castable(dtype, target.dtype)
            promoted = promote(row.name, *inputs, dtype=dtype)
            if dtype is not target.dtype:
                promoted = [_with_own_gradient_dtype(x) for x in promoted]
    position = next(i for i, x in enumerate(inputs) if x is target)
    return perform(layout, target, position, tuple(promoted), {**row.static_defaults, **statics})


def _recorded() -> bool | None:
    """Whether operations are recorded; None if there is more to a write than that."""
    if special.derivatives:
        return None
    if special.on or special.listening:
        if modes.levels or modes.inference or modes.mutation is not None or special.anomaly or special.listening:
            return None
        return modes.grad
    return True


def _take_causes(target: Tensor, inputs: tuple[Any, ...]) -> None:
    """What has no history after a write lacks it for every reason that the inputs had."""
    if target._node is None and not target._lookup:
        for x in inputs:
            if x is not target and isinstance(x, Tensor):
                target._cause = why.merge(target._cause, x._cause)


def _fits_as_it_is(dtype: np.dtype, inputs: tuple[Any, ...]) -> bool:
    """Whether promotion would change nothing."""
    for x in inputs:
        if isinstance(x, Tensor):
            if x._array.dtype is not dtype:
                return False
        elif x is not None and not ((type(x) is float or type(x) is int) and dtype.kind in "fc"):
            return False
    return True


def _with_own_gradient_dtype(x: Any) -> Any:
    """Where the result is cast down to the target's dtype, so is the incoming gradient: cast it up again for `x`."""
    edge = tracked_nodes((x,))[0]
    if edge is None or isinstance(edge, Cast):
        return x
    result = wrap(x._array)
    result._counter, result._cause = x._counter, x._cause
    result._node = Cast(edge, x._array.dtype)
    return result


def kinds_of(inputs: tuple[Any, ...]) -> str:
    return "".join(["t" if isinstance(x, Tensor) else "s" for x in inputs])


def write(layout: Layout, target: Tensor, position: int, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Tensor:
    """The same for inputs that are in the target's dtype already."""
    check_inplace(target, inputs)
    if layout.row.broadcasts:
        check_overlap(target._array, inputs)
        check_shape(target._array, inputs)
    return perform(layout, target, position, inputs, statics)


def perform(layout: Layout, target: Tensor, position: int, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Tensor:
    """Compute, write, count the version up and rewrite the history."""
    row = layout.row
    if special.derivatives and modes.derivatives and len(modes.levels) == modes.entered:
        from whygrad.func.captured import refuse_captured
        refuse_captured(row.name, target, inputs, statics)
    if special.on and modes.levels:
        from whygrad.core.levels import interpret_write
        return interpret_write(row, target, position, inputs, statics)
    turned = type(target) is not Tensor and type(target) in TURNED
    array = target._array.copy("K") if turned else target._array
    arrays = [x._array if isinstance(x, Tensor) else x for x in inputs]
    node = None
    if special.on and modes.mutation is not None:
        modes.mutation.before_write(target)
    if not special.on or (modes.grad and not modes.inference):
        recorded = list(arrays)
        promoted = inputs[position]
        if row.inputs[position] in layout.saved:
            # The rule wants the old value, and it is about to be overwritten.
            recorded[position] = arrays[position].copy()
        if special.on or layout.row.variadic:
            node = make_node(layout, inputs, recorded, statics, (array,), [target._counter])
        else:
            node = layout.write(inputs, recorded, statics, target, array)
        if node is not None and node.saved:
            _fix_versions(layout, node, position, copied=recorded[position] is not promoted._array)
    if layout.has_written_kernel and position == 0 and arrays[0] is array and array.dtype is FLOAT32:
        layout.into(*arrays, *[statics[name] for name in row.statics], array)
    else:
        layout.compute(arrays, array, statics, position)
    if turned:
        target.put(array)  # type: ignore[attr-defined]
    bump(target, node)
    if node is not None:
        rebase(target, node, position)
        if node.saved and modes.saved_hooks:
            from whygrad.autograd.saved_hooks import pack
            pack(node, inputs, [target])
    else:
        _take_causes(target, inputs)
    return target


def _fix_versions(layout: Layout, node: Node, position: int, copied: bool) -> None:
    """The node was made before the write: the result is one version on, a copied old value has no version to watch."""
    saved = list(node.saved)
    for i, name in enumerate(layout.saved):
        if name == "out" and saved[3 * i] is not None:
            saved[3 * i + 2] += 1
        elif copied and name == layout.row.inputs[position]:
            saved[3 * i + 1], saved[3 * i + 2] = [0], 0
    node.saved = tuple(saved)


def bump(target: Tensor, node: Node | None = None, site: Any = None) -> None:
    """Count one in-place write, and remember where it was; its node knows that already, or the caller."""
    counter = target._counter
    if type(counter) is not InferenceCounter:
        if len(counter) == 1:
            counter = _written(target)
        counter[0] += 1
        counter[1] = (site or why.site()) if node is None else node.site


def _written(target: Tensor) -> list[Any]:
    """The counter of what is being written: version, where it was written last, the node of that write, the dtype."""
    counter = target._counter
    if len(counter) == 1:
        counter += (None, None, target._array.dtype)
    return counter


def rebase(target: Tensor, node: Node, position: int = 0) -> None:
    """Make `node` the history of `target`; of its base, if it is a view."""
    view = target._view
    if view is None:
        old = target._node
        target._node = node
        target._lookup = False
        target._cause = ()
        _written(target)[2] = weakref.ref(node)
        if target._meta is not None and target._meta.retains_grad:
            # retain_grad() follows the tensor to its newest value.
            extra(node).retained = extra(old).retained
            extra(old).retained = None
        return
    base = view.base
    rebase(base, CopySlices(source(base), base._array, view.steps, node, position))
    view.version = -1  # whatever it was: its way leads to the base as it is now
    grad_fn(target)


def check_inplace(target: Tensor, inputs: tuple[Any, ...]) -> None:
    if type(target._counter) is InferenceCounter:
        if not modes.inference:
            if modes.grad and target._lookup and target._view is None:
                raise errors.leaf_inplace(target, view=False)
            raise errors.noted(RuntimeError(errors.INFERENCE_INPLACE), "inference_tensor", target._counter.entered)
        return
    if special.on and (not modes.grad or modes.inference):
        return
    for x in inputs:
        if isinstance(x, Tensor) and x.requires_grad:
            break
    else:
        return
    if type(target._array) is not np.ndarray:  # it stands for a batch, which is looked at when it is written to
        return
    view = target._view
    if view is not None:
        if view.creation:
            raise errors.forbidden_view_write(target)
        if target.requires_grad and grad_fn(view.base) is None:
            raise errors.leaf_inplace(target, view=True)
    if target.requires_grad and grad_fn(target) is None:
        raise errors.leaf_inplace(target, view=False)


def check_castable(result: dtypes.dtype, wanted: dtypes.dtype) -> None:
    if not dtypes.can_cast(result, wanted):
        raise RuntimeError(f"result type {result.scalar_name} can't be cast to the desired output type {wanted.scalar_name}")


def check_shape(array: np.ndarray, inputs: tuple[Any, ...]) -> None:
    shapes = [x._array.shape for x in inputs if isinstance(x, Tensor) and x._array.shape != array.shape]
    if not shapes:
        return
    broadcast = broadcast_shapes(array.shape, *shapes)
    if broadcast != array.shape:
        raise RuntimeError(f"output with shape {list(array.shape)} doesn't match the broadcast shape {list(broadcast)}")


def is_expanded(array: np.ndarray) -> bool:
    """True if several elements lie in one place."""
    return (0 in array.strides and array.size > 1
            and any(stride == 0 and n > 1 for stride, n in zip(array.strides, array.shape, strict=True)))


def check_overlap(array: np.ndarray, inputs: tuple[Any, ...], *, may_be_expanded: bool = False) -> None:
    if not may_be_expanded and is_expanded(array):
        raise RuntimeError(SHARED)
    for x in inputs:
        if not isinstance(x, Tensor) or x._array is array:
            continue
        other = x._array
        if np.may_share_memory(array, other) and _is_dense(array) and _is_dense(other) and not same_memory(array, other):
            raise RuntimeError(OVERLAP)


def _is_dense(array: np.ndarray) -> bool:
    """Every element of a block of memory exactly once, in some order of the axes."""
    expected = array.itemsize
    for stride, n in sorted(zip(array.strides, array.shape, strict=True)):
        if n == 1:
            continue
        if stride != expected:
            return False
        expected *= n
    return True


def same_memory(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and a.strides == b.strides and acceleration.address(a) == acceleration.address(b)


def has_no_history(target: Tensor) -> bool:
    """Whether a write needs no check and no node: no leaf that requires grad, no result, no view of one, nothing unusual."""
    return (type(target._counter) is list and target._node is None and not target._lookup
            and (type(target) is Tensor or type(target) not in TURNED))


def write_values(target: Tensor, values: Any, name: str, *, constant: bool = False) -> Tensor:
    """Overwrite `target` with values that have no gradient; `name` is torch's node for it, such as "NormalBackward0".

    A `constant` may be written into expanded memory: every element gets the same.
    """
    if has_no_history(target) and (constant or 0 not in target._array.strides) and _recorded() is not None:
        array = target._array
        if not constant:
            array[...] = values
        else:
            array.fill(values)
        bump(target)
        return target
    check_inplace(target, (target,))
    if not constant:
        check_overlap(target._array, ())
    return perform(layout_of(TABLE["overwrite"], "t"), target, 0, (target,), {"values": values, "node": name})


def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Copy the elements of `other` into this tensor, in its dtype and shape."""
    if not isinstance(other, Tensor):
        from whygrad.functional.arguments import is_number, wrong_type
        if not is_number(other):
            raise wrong_type("copy_", "other", 2, "Tensor", other)
        other = wrap(np.asarray(other, dtypes.result_dtype([other]).numpy))
    recorded = _recorded()
    if recorded is not None and layout_of(TABLE["copy"], "tt").plain_write(recorded, self, other):
        return self
    if other is self:  # even if it is expanded
        check_inplace(self, (self,))
        return perform(layout_of(TABLE["copy"], "tt"), self, 0, (self, self), {})
    if other._array.dtype is not self._array.dtype:
        if self._array.dtype.kind in "fcV":
            check_inplace(self, (self, other))  # before the cast looks at the history of `other`
        _, other = promote("copy", self, other, dtype=self.dtype)
    return write(layout_of(TABLE["copy"], "tt"), self, 0, (self, other), {})


def fill_(self: Tensor, value: Any) -> Tensor:
    """Set every element to `value` (a number or a 0-dim tensor)."""
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError("fill_ only supports 0-dimension value tensor but got tensor with "
                               f"{value._array.ndim} dimensions.")
        _, promoted = promote("fill", self, value, dtype=self.dtype)
        check_inplace(self, (self, promoted))
        check_overlap(self._array, ())  # with the value memory may be shared: that is read before it is overwritten
        return perform(layout_of(TABLE["fill"], "tt"), self, 0, (self, promoted), {})
    if not (type(value) is float and isinstance(self, Tensor) and self._array.dtype.kind == "f"
            and -65504 <= value <= 65504):
        from whygrad.functional.arguments import check_range, invalid_combination, is_number
        if not isinstance(self, Tensor) or not is_number(value):
            raise invalid_combination("fill_", self, value)
        check_inplace(self, (self,))
        check_range(value, self.dtype)
    return write_values(self, value, "FillBackward2", constant=True)


def zero_(self: Tensor) -> Tensor:
    if not isinstance(self, Tensor):
        from whygrad.functional.arguments import wrong_type
        raise wrong_type("zero_", "input", 1, "Tensor", self)
    return write_values(self, 0, "ZeroBackward0", constant=True)


RESIZED_QUIETLY = frozenset({"addbmm", "bernoulli", "log_sigmoid", "multinomial", "narrow_copy"})


def with_out(name: str, result: Any, out: Any, *inputs: Any) -> Any:
    """Put a result into `out`, as torch does for `out=`; give the result itself if there is none."""
    if out is None:
        return result
    if not isinstance(out, Tensor):
        from whygrad.functional.arguments import wrong_type
        raise wrong_type(name, "out", None, "Tensor", out)
    if special.on and modes.levels:
        from whygrad.core.levels import refuse_out
        refuse_out(name, result, out)
    if modes.grad and result._array.dtype.kind in "fVc" and (
            out.requires_grad or any(isinstance(x, Tensor) and x.requires_grad for x in inputs)):
        raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                           "arguments requires grad.")
    if type(out._counter) is InferenceCounter and not modes.inference:
        raise RuntimeError(errors.INFERENCE_INPLACE)
    if special.on and modes.mutation is not None:
        modes.mutation.before_write(out)
    check_overlap(out._array, inputs if name in TABLE and TABLE[name].broadcasts else ())
    if result.dtype is not out.dtype:
        from whygrad.functional.outs import check_out_dtype
        check_out_dtype(name, result.dtype, out.dtype)
    if out._array.shape != result._array.shape:
        if out._array.size and name not in RESIZED_QUIETLY:
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out._array.shape)}, which does not "
                f"match the required output shape {list(result._array.shape)}. This behavior is deprecated, and in a future "
                "PyTorch release outputs will not be resized unless they have zero elements. You can explicitly reuse an out "
                "tensor t by resizing it, inplace, to zero elements with t.resize_(0).", UserWarning,
                stacklevel=errors.user_stacklevel())
        follows = name in ("fft_ifft", "fft_ihfft") or (name in TABLE and TABLE[name].broadcasts)
        order: Any = "K" if follows else "C"
        out._array = np.empty_like(result._array, out._array.dtype, order)
    values = cast_values(result._array, out._array.dtype) if result.dtype is not out.dtype else result._array
    if type(out) in TURNED:
        out.put(values)  # type: ignore[attr-defined]
    else:
        out._array[...] = values
    bump(out)
    return out
