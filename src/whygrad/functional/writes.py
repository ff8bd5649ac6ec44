"""Writing values into a tensor: `copy_`, `fill_`, `zero_`, `out=`, and numbers that have no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends.numpy_convert import cast_values
from whygrad.base import dtypes, errors
from whygrad.base.errors import warn
from whygrad.base.overlap import check_overlap
from whygrad.base.version import InferenceVersion
from whygrad.core.door import concerned
from whygrad.core.modes import grad_state, process_state
from whygrad.core.record import specialization_of
from whygrad.core.tensor import TURNED, Tensor, wrap
from whygrad.core.write import bump, check_inplace, is_unwatched, perform, recorded_writes
from whygrad.functional.arguments import invalid_combination, is_number, read_fill, wrong_type
from whygrad.functional.inplace import write_watched
from whygrad.functional.out_dtypes import check_out_dtype
from whygrad.functional.promotion import as_number, promote
from whygrad.ops.table import TABLE, Rule

_COPY = specialization_of(TABLE["copy"], "tt")


def write_values(target: Tensor, values: Any, name: str, *, constant: bool = False) -> Tensor:
    """Overwrite `target` with values that have no gradient; `name` is torch's node for it, such as "NormalBackward0".

    A `constant` may be written into expanded memory: every element gets the same.
    """
    if is_unwatched(target) and (constant or 0 not in target._array.strides) and recorded_writes() is not None:
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
    return perform(specialization_of(TABLE["overwrite"], "t"), target, 0, (target,), {"values": values, "node": name})


def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Copy the elements of `other` into this tensor, in its dtype and shape."""
    if not isinstance(other, Tensor):
        if not is_number(other):
            raise wrong_type("copy_", "other", 2, "Tensor", other)
        other = wrap(np.asarray(other, dtypes.result_dtype([other]).numpy))
    recorded = recorded_writes() if process_state.writes else True
    if recorded is not None and _COPY.unwatched(recorded, self, other):
        return self
    if other is self:  # even if it is expanded
        check_inplace(self, (self,))
        return perform(_COPY, self, 0, (self, self), {})
    if other._array.dtype is not self._array.dtype:
        if self._array.dtype.kind in "fcV":
            check_inplace(self, (self, other))  # before the cast looks at the history of `other`
        _, other = promote("copy", self, other, dtype=self.dtype)
    return write_watched(_COPY, self, (self, other), {}, promotes=False)


def fill_(self: Tensor, value: Any) -> Tensor:
    """Set every element to `value` (a number or a 0-dim tensor)."""
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError("fill_ only supports 0-dimension value tensor but got tensor with "
                               f"{value._array.ndim} dimensions.")
        _, promoted = promote("fill", self, value, dtype=self.dtype)
        check_inplace(self, (self, promoted))
        check_overlap(self._array, ())  # with the value memory may be shared: that is read before it is overwritten
        return perform(specialization_of(TABLE["fill"], "tt"), self, 0, (self, promoted), {})
    if not (type(value) is float and isinstance(self, Tensor) and self._array.dtype.kind == "f"
            and -65504 <= value <= 65504):
        if not isinstance(self, Tensor) or not is_number(value):
            raise invalid_combination("fill_", self, value)
        check_inplace(self, (self,))
        value = read_fill(value, self.dtype, self._array.size)
        if self.dtype.category < 2:
            value = as_number(value, self.dtype, "fill_")
    return write_values(self, value, "FillBackward2", constant=True)


def zero_(self: Tensor) -> Tensor:
    if not isinstance(self, Tensor):
        raise wrong_type("zero_", "input", 1, "Tensor", self)
    return write_values(self, 0, "ZeroBackward0", constant=True)


def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What `Module.load_state_dict` puts in this tensor's place if tensors are swapped on conversion (torch.__future__)."""
    given: Any = other if assign else self.copy_(other)  # type: ignore[attr-defined]
    result: Tensor = given.detach()
    return result


# LAPACK's: an `out` that is resized holds its matrices column by column.
BY_COLUMNS = frozenset({"linalg_inv_ex", "_linalg_solve_ex", "linalg_cholesky_ex", "linalg_qr", "_linalg_svd", "_linalg_eigh",
                        "linalg_lu_factor_ex"})
RESIZED_QUIETLY = frozenset({"addbmm", "bernoulli", "log_sigmoid", "multinomial", "narrow_copy"})


def _is_differentiable(name: str) -> bool:
    return name in TABLE and any(isinstance(rule, Rule) for rule in TABLE[name].rules.values())


def with_out(name: str, result: Any, out: Any, *inputs: Any) -> Any:
    """Put a result into `out`, as torch does for `out=`; give the result itself if there is none."""
    if out is None:
        return result
    if not isinstance(out, Tensor):
        raise wrong_type(name, "out", None, "Tensor", out)
    if process_state.any_mode_active and grad_state.levels:
        place = concerned((result, out))
        if place is not None:  # `out=` is not for transforms
            raise grad_state.levels[place].no_out(name)
    if grad_state.grad and (result._array.dtype.kind in "fVc" or _is_differentiable(name)) and (
            out.requires_grad or any(isinstance(x, Tensor) and x.requires_grad for x in inputs)):
        raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                           "arguments requires grad.")
    if type(out._lazy_version) is InferenceVersion and not grad_state.inference:
        raise RuntimeError(errors.INFERENCE_INPLACE)
    if process_state.any_mode_active and grad_state.mutation is not None:
        grad_state.mutation.before_write(out)
    check_overlap(out._array, inputs if name in TABLE and TABLE[name].broadcasts else ())
    if result.dtype is not out.dtype:
        check_out_dtype(name, result.dtype, out.dtype)
    if out._array.shape != result._array.shape:
        if out._array.size and name not in RESIZED_QUIETLY:
            warn(
                f"An output with one or more elements was resized since it had shape {list(out._array.shape)}, which does not "
                f"match the required output shape {list(result._array.shape)}. This behavior is deprecated, and in a future "
                "PyTorch release outputs will not be resized unless they have zero elements. You can explicitly reuse an out "
                "tensor t by resizing it, inplace, to zero elements with t.resize_(0).")
        follows = name in ("fft_ifft", "fft_ihfft") or (name in TABLE and TABLE[name].broadcasts)
        if name in BY_COLUMNS and result._array.ndim > 1:
            out._array = np.empty_like(result._array.mT, out._array.dtype, "C").mT
        else:
            out._array = np.empty_like(result._array, out._array.dtype, "K" if follows else "C")
    values = cast_values(result._array, out._array.dtype) if result.dtype is not out.dtype else result._array
    if type(out) in TURNED:
        out.put(values)  # type: ignore[attr-defined]
    else:
        out._array[...] = values
    bump(out)
    return out
