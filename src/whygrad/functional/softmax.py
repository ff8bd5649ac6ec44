"""softmax and log_softmax, as functions and methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.core.modes import grad_state
from whygrad.functional.arguments import not_implemented, read_int, wrong_type
from whygrad.functional.dims import named_axis, normalize_dim
from whygrad.functional.dispatch import short_along_dim
from whygrad.functional.run import lazily_compiled, public, with_out


def _make(name: str, what: str) -> Callable[..., Any]:
    row = lazily_compiled(name, "t")

    def function(input: Any, dim: Any = ..., dtype: Any = None, *, axis: Any = ..., out: Any = None) -> Any:
        if dim is ...:
            dim = named_axis(name, axis)
        if dtype is not None:
            input = input.to(dtype)
        try:
            array = input._array
        except AttributeError:
            raise wrong_type(name, "input", 1, "Tensor", input) from None
        ndim = array.ndim
        if type(dim) is not int or not 0 <= dim < ndim:
            dim = normalize_dim(read_int(name, "dim", 2, dim), ndim)
        if array.dtype.kind not in "fV":
            if input.dtype.is_complex and input.requires_grad and grad_state.grad:
                raise RuntimeError(f"_{name} does not support automatic differentiation for outputs with complex dtype.")
            if not array.size:  # torch has nothing to complain about then
                return with_out(name, input.clone(), out, input)
            kernel = f"{name}_lastdim_kernel_impl" if dim >= ndim - 1 else f"{name}_kernel_impl"
            raise not_implemented(kernel, input.dtype)
        result = row(input, axis=(dim,) if ndim else ())
        return result if out is None else with_out(name, result, out, input)

    public(name=name, doc=f"{what} along `dim`; computed in `dtype` if that is given.",
           short=short_along_dim(name, "fV"))(function)
    return function


softmax = _make("softmax", "exp(x) over its sum")
log_softmax = _make("log_softmax", "The logarithm of softmax, without its loss of digits,")
