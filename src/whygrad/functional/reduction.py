"""Functions that reduce over dims, and running totals."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.base import dtypes
from whygrad.base.door import SPECS, Call, bad_argument
from whygrad.base.dtypes import c_name
from whygrad.base.errors import warn
from whygrad.base.overlap import check_overlap
from whygrad.core.modes import grad_state
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional import arguments, return_types
from whygrad.functional.dims import normalize_dim, normalize_dims
from whygrad.functional.dispatch import short_along_dim
from whygrad.functional.outs import with_outs
from whygrad.functional.promotion import cast, cast_values
from whygrad.functional.run import FUNCTIONS, lazily_compiled, linalg_function, public, run, with_out, write
from whygrad.functional.writes import write_values
from whygrad.ops import TABLE

Dims = int | tuple[int, ...] | list[int] | None

_NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}


def numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function take NumPy's `axis` and `keepdims` for `dim` and `keepdim`, as torch does."""
    positional = function.__code__.co_varnames[:function.__code__.co_argcount]
    checked = "keepdim" in positional and not function.__name__.endswith("norm")
    place = positional.index("keepdim") if checked else len(positional)

    @functools.wraps(function)
    def renaming(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            kwargs = {_NUMPY_NAMES.get(name, name): value for name, value in kwargs.items()}
            if checked and "keepdim" in kwargs:
                arguments.read_flag(function.__name__, "keepdim", place + 1, kwargs["keepdim"])
        if checked and len(args) > place:
            arguments.read_flag(function.__name__, "keepdim", place + 1, args[place])
        return function(*args, **kwargs)

    return renaming


def check_asked_dtype(dtype: Any, out: Any) -> None:
    """The `dtype` that was asked for must be that of `out`."""
    if isinstance(out, Tensor) and isinstance(dtype, dtypes.dtype) and out.dtype is not dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {c_name(dtype)}, but got {c_name(out.dtype)} instead")


def row(name: str) -> Callable[..., Any]:
    """A row to be applied to one tensor."""
    return lazily_compiled(name, "t")


def refused_dim(function: str, input: Tensor, dim: Any, wanted: str, tells: bool) -> TypeError:
    """If more was given than `dim`, torch knows which signature was meant, and `tells` of some functions what it wants."""
    return bad_argument(function, _refused_dim, arguments.type_name(input), arguments.type_name(dim), wanted, tells)


def _refused_dim(input: str, dim: str, wanted: str, tells: bool, call: Call) -> str:
    alone = call.given is not None and call.given + call.is_method == 2
    if not alone and tells:
        return arguments.told_wrong_type("dim", 2, wanted, f", not {dim}", call)
    return arguments.told_invalid_combination((input, dim), {}, call)


def read_overloaded(function: str, input: Any) -> Tensor:
    """A tensor as the first argument of a function with several signatures."""
    if not isinstance(input, Tensor):
        raise arguments.invalid_combination(function, input)
    return input


def read_axes(function: str, input: Tensor, dim: Any, position: int = 2) -> tuple[int, ...] | None:
    """None only if no dim was given: an empty tuple, which means all dims too, has another node in torch's graph."""
    if dim is None:
        return None
    ndim = input._array.ndim
    if type(dim) is int:
        return (dim,) if 0 <= dim < ndim else normalize_dims(dim, ndim)
    if arguments.is_integer(dim):
        return normalize_dims(arguments.read_int(function, "dim", position, dim), ndim)
    # torch refuses a wrong `dim` in other words where a function has several signatures.
    if not (isinstance(dim, (tuple, list)) and (not dim or arguments.is_integer(dim[0]))) and (
            function in TABLE and "overloaded" in TABLE[function].traits.public):
        raise refused_dim(function, input, dim, "tuple of ints", function in ("sum", "mean"))
    axes = normalize_dims(arguments.read_sizes(function, dim, "dim", position), ndim)
    return tuple(range(ndim)) if axes is None else axes


def read_axis(function: str, input: Tensor, dim: Any, position: int = 2) -> int:
    return normalize_dim(dim if type(dim) is int else arguments.read_int(function, "dim", position, dim), input._array.ndim)


def in_dtype(function: str, input: Any, dtype: Any) -> Tensor:
    """The input in the dtype to be computed in, if one was asked for."""
    input = arguments.read_tensor(function, input)
    return input if dtype is None else cast(input, arguments.read_dtype(function, dtype, input.dtype).numpy)


def widened(function: str, input: Any, dtype: Any) -> Tensor:
    """As `in_dtype`; without a dtype, integers and bools are totalled in int64."""
    tracked = dtype is not None and isinstance(input, Tensor) and input.requires_grad and grad_state.grad
    if tracked and (wanted := arguments.read_dtype(function, dtype, input.dtype)).category < 2:
        raise RuntimeError(f"Autograd not support dtype: {wanted.scalar_name}")
    input = in_dtype(function, input, dtype)
    return cast(input, dtypes.int64.numpy) if dtype is None and input._array.dtype.kind in "biu" else input


_sum, _sum_all, _mean, _mean_all, _nansum, _prod, _aminmax, _count_nonzero, _logsumexp, _vector_norm = [
    lazily_compiled(name, "t", globals()) for name in (
        "sum", "sum_all", "mean", "mean_all", "nansum", "prod", "aminmax", "count_nonzero", "logsumexp", "vector_norm")]


# The two that every program spends time in take NumPy's names without a wrapper.

@public(short=short_along_dim("sum", "fcb", "sum_all"))
def sum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None,
        axis: Dims = None, keepdims: bool = False) -> Tensor:
    """The sum of all elements, or over the given dims."""
    if axis is not None:
        dim = axis
    elif out is not None and dim is None and not keepdim:
        raise arguments.invalid_combination("sum", input, out=out)
    ready = dtype is None and isinstance(input, Tensor) and input._array.dtype.kind in "fcb"
    if out is not None and dtype is None and isinstance(out, Tensor):
        ready, dtype = False, out.dtype
    elif out is not None and dtype is not None:
        check_asked_dtype(dtype, out)
    x = input if ready else widened("sum", input, dtype)
    if keepdim is not False or keepdims is not False:
        keepdim = keepdims if keepdim is False else keepdim
        if dim is None and type(keepdim) is not bool:
            raise arguments.invalid_combination("sum", input, keepdim=keepdim)
        arguments.read_flag("sum", "keepdim", 3, keepdim)
    result = _sum_all(x) if dim is None and not keepdim else _sum(x, axis=read_axes("sum", x, dim), keepdims=keepdim)
    if dtype is dtypes.bool_:
        result = result != 0  # type: ignore[assignment]  # booleans are added as booleans
    return result if out is None else with_out("sum", result, out, input)


@public()
@numpy_names
def nansum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Tensor:
    """The sum without the NaNs."""
    x = widened("nansum", input, dtype)
    if dtype is not None and isinstance(out, Tensor) and out.dtype is not dtype:
        raise RuntimeError("nansum: provided dtype must match dtype of result. "
                           f"Got {out.dtype.scalar_name} and {dtype.scalar_name}.")
    if x._array.dtype.kind == "c":
        raise RuntimeError("nansum on CPU does not support complex inputs")
    result = _nansum(x, axis=read_axes("nansum", x, dim), keepdims=keepdim)
    return with_out("nansum", result, out, input)


@public(short=short_along_dim("mean", "fVc", "mean_all"))
def mean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None,
         axis: Dims = None, keepdims: bool = False) -> Tensor:
    """The mean of all elements, or over the given dims."""
    if axis is not None:
        dim = axis
    if out is not None:
        check_asked_dtype(dtype, out)
    x = input if dtype is None and isinstance(input, Tensor) else in_dtype("mean", input, dtype)
    if keepdim is not False or keepdims is not False:
        keepdim = arguments.read_flag("mean", "keepdim", 3, keepdims if keepdim is False else keepdim)
    if x._array.dtype.kind in "biu":
        which = "Input" if dtype is None else "Optional"
        raise RuntimeError(f"mean(): could not infer output dtype. {which} dtype must be either a floating point or "
                           f"complex dtype. Got: {x.dtype.scalar_name}")
    result = _mean_all(x) if dim is None and not keepdim else _mean(x, axis=read_axes("mean", x, dim), keepdims=keepdim)
    return result if out is None else with_out("mean", result, out, input)


@public()
@numpy_names
def nanmean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Tensor:
    """The mean of the elements that are not NaN."""
    x = arguments.read_tensor("nanmean", input)
    if x._array.dtype.kind in "biu":
        raise RuntimeError("nanmean(): expected input to have floating point or complex dtype but got "
                           f"{x.dtype.scalar_name}")
    if dtype is not None and arguments.read_dtype("nanmean", dtype, x.dtype).category < 2:
        raise RuntimeError("nanmean(): could not infer output dtype. Optional dtype must be either a floating point or "
                           f"complex dtype. Got: {arguments.read_dtype('nanmean', dtype, x.dtype).scalar_name}")
    numbers = sum(run("eq", x, x), dim, keepdim)
    return with_out("nanmean", run("div", nansum(x, dim, keepdim, dtype=dtype), numbers), out, input)


@public(autocast="float32")
@numpy_names
def prod(input: Tensor, dim: Any = ..., keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Tensor:
    """The product of all elements, or along one dim."""
    check_asked_dtype(dtype, out)
    x = widened("prod", input, dtype if dtype is not None or not isinstance(out, Tensor) else out.dtype)
    if dim is ...:
        if keepdim:
            raise arguments.invalid_combination("prod", input, keepdim=keepdim)
        if out is not None:
            raise arguments.invalid_combination("prod", input, out=out)
        return _prod(x)
    if not arguments.is_integer(dim):
        raise refused_dim("prod", input, dim, "int", True)
    return with_out("prod", _prod(x, axis=read_axes("prod", x, dim), keepdims=keepdim), out, input)


_FREEDOM = ("(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
            "divided by output numel).")


def _spread(name: str) -> Callable[..., Any]:
    """var, std, var_mean or std_mean."""
    of_reals = row(name)

    def spread(input: Tensor, dim: Any = None, unbiased: Any = ..., keepdim: bool = False, *,
               correction: float | None = None, out: Any = None) -> Any:
        x = read_overloaded(name, input)
        if out is not None and ("mean" in name or (dim is None and unbiased is not ...)):
            raise arguments.invalid_combination(name, input, out=out)
        if isinstance(dim, bool) and unbiased is ...:
            dim, unbiased = None, dim
        if unbiased is not ... and (correction is not None or not isinstance(unbiased, bool)):
            raise arguments.invalid_combination(name, input, *(() if dim is None else (dim,)), unbiased=unbiased,
                                                **({} if correction is None else {"correction": correction}))
        if x._array.dtype.kind in "biu":
            raise RuntimeError(f"{name} only support floating point and complex dtypes" if "mean" in name else
                               "std and var only support floating point and complex dtypes")
        if correction is None:
            correction = 1 if unbiased is ... else int(unbiased)
        axes = read_axes(name, x, dim)
        reduced = math.prod([x._array.shape[axis] for axis in (range(x._array.ndim) if axes is None else axes)])
        if reduced <= correction:
            warn(name + _FREEDOM)
        statics = {"axis": axes, "keepdims": keepdim, "correction": correction}
        if x._array.dtype.kind == "c":
            return with_out(name, _complex_spread(name, x, statics), out, input)
        result = of_reals(x, **statics)
        return tuple(result) if "mean" in name else with_out(name, result, out, input)

    return spread


def _complex_spread(name: str, x: Tensor, statics: dict[str, Any]) -> Any:
    total = row("std_complex" if name.startswith("std") else "var_complex")(x, **statics)
    return (total, _mean(x, axis=statics["axis"], keepdims=statics["keepdims"])) if "mean" in name else total


def _publish(name: str, generated: Callable[..., Any], doc: str, **options: Any) -> Callable[..., Any]:
    generated.__name__ = generated.__qualname__ = name
    generated.__doc__ = doc
    published: Callable[..., Any] = public(**options)(numpy_names(generated))
    return published


var = _publish("var", _spread("var"), "The variance of all elements, or over the given dims.")
std = _publish("std", _spread("std"), "The standard deviation of all elements, or over the given dims.")
var_mean = _publish("var_mean", _spread("var_mean"), "The variance and the mean.", method=False)
std_mean = _publish("std_mean", _spread("std_mean"), "The standard deviation and the mean.", method=False)


def check_ordered(x: Tensor, kernel: str) -> None:
    """Complex numbers have no order, and torch has no kernels for the wider unsigned integers."""
    dtype = x._array.dtype
    if dtype.kind == "c" or (dtype.kind == "u" and dtype.itemsize > 1):
        raise arguments.not_implemented(kernel, x.dtype)


def check_not_empty(function: str, x: Tensor, axes: tuple[int, ...]) -> None:
    """An extreme of nothing does not exist."""
    for axis in axes:
        if x._array.ndim and not x._array.shape[axis]:
            raise IndexError(f"{function} Expected reduction dim {axis} to have non-zero size.")


def _specify_dim(function: str) -> RuntimeError:
    return RuntimeError(f"{function}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                        "reduction dim with the 'dim' argument.")


def _extreme(name: str, binary: str) -> Callable[..., Any]:
    """max or min in their three forms."""
    of_all, along = row(name), row(f"{name}_along")
    result_type = getattr(return_types, name)

    def extreme(input: Tensor, dim: Any = ..., keepdim: bool | None = None, *, other: Any = None,
                out: Any = None) -> Any:
        x = arguments.read_tensor(name, input)
        if isinstance(dim, Tensor) and other is None:
            dim, other = ..., dim
        if other is not None and dim is ... and keepdim is None:
            return FUNCTIONS[binary](x, other, out=out)
        if dim is not ... and other is None and not arguments.is_integer(dim):
            raise refused_dim(name, input, dim, "int", name in ("max", "min"))
        if other is not None or (dim is ... and keepdim is not None):
            given = [v for v in (dim, keepdim, other) if v is not None and v is not ...]
            raise arguments.invalid_combination(name, input, *given)
        if dim is ...:
            check_ordered(x, f"{name}_all")
            if not x._array.size:
                raise _specify_dim(name)
            # Of all elements there is one, which is cast to what is given; along a dim the dtypes must agree.
            loose = isinstance(out, Tensor) and out.dtype is not x.dtype
            return with_out(f"{name}_all" if loose else name, of_all(x), out, input)
        axis = read_axis(name, x, dim)
        check_ordered(x, f"{name}_cpu")
        check_not_empty(f"{name}():", x, (axis,))
        return with_outs(name, result_type(*along(x, axis=axis, keepdims=bool(keepdim))), out, input)

    return extreme


max = _publish("max", _extreme("max", "maximum"), "The largest element; along a dim, with indices; or of two tensors.")
min = _publish("min", _extreme("min", "minimum"), "The smallest element; along a dim, with indices; or of two tensors.")


def _extreme_over_dims(name: str) -> Callable[..., Any]:
    over = row(name)

    def extreme(input: Tensor, dim: Dims = (), keepdim: bool = False, *, out: Any = None) -> Tensor:
        x = arguments.read_tensor(name, input)
        axes = None if isinstance(dim, (tuple, list)) and not dim else read_axes(name, x, dim)
        check_ordered(x, f"{name[1:]}_values_cpu")
        if axes is not None:
            check_not_empty(f"{name}():", x, axes)
        elif not x._array.size:
            raise _specify_dim(name)
        return with_out(name, over(x, axis=axes, keepdims=keepdim), out, input)

    return extreme


amax = _publish("amax", _extreme_over_dims("amax"), "The largest element over the given dims; ties share the gradient.")
amin = _publish("amin", _extreme_over_dims("amin"),
                "The smallest element over the given dims; ties share the gradient.")


@public()
@numpy_names
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False, out: Any = None) -> Any:
    """The smallest and the largest element."""
    x = arguments.read_tensor("aminmax", input)
    if isinstance(out, Tensor):
        raise arguments.wrong_type("aminmax", "out", None, "tuple of Tensors", out)
    check_ordered(x, "aminmax_cpu")
    axes = None if dim is None else read_axes("aminmax", x, arguments.read_int("aminmax", "dim", 2, dim))
    if axes is not None:
        check_not_empty("aminmax:", x, axes)
    elif not x._array.size:
        raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
                           "identity.")
    results = _aminmax(x, axis=axes, keepdims=keepdim)
    for result, target in zip(results, out or (), strict=False):
        if isinstance(target, Tensor) and target.dtype is not result.dtype:
            raise RuntimeError(f"Expected out tensor to have dtype {c_name(result.dtype)}, but got "
                               f"{c_name(target.dtype)} instead")
    return with_outs("aminmax", return_types.aminmax(*results), out, input)


def _position(name: str) -> Callable[..., Any]:
    position = row(name)

    def position_of(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Tensor:
        x = arguments.read_tensor(name, input)
        if x._array.dtype.kind in "bc":
            kind = "bool" if x._array.dtype.kind == "b" else "complex"
            raise RuntimeError(f"{name}(): does not support {kind} input")
        axis = None if dim is None else read_axis(name, x, dim)
        check_ordered(x, f"{name}_cpu")
        if axis is not None:
            check_not_empty(f"{name}():", x, (axis,))
        elif not x._array.size:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        return with_out(name, position(x, axis=axis, keepdims=keepdim), out, input)

    return position_of


argmax = _publish("argmax", _position("argmax"), "Where the largest element is; the first one of several.")
argmin = _publish("argmin", _position("argmin"), "Where the smallest element is; the first one of several.")


def _median(name: str) -> Callable[..., Any]:
    of_all, along = row(name), row(f"{name}_along")
    result_type = getattr(return_types, name)

    def median(input: Tensor, dim: Any = ..., keepdim: bool = False, *, out: Any = None) -> Any:
        x = arguments.read_tensor(name, input)
        if dim is ... and out is not None:
            raise TypeError(f'{name}() missing 1 required positional arguments: "dim"')
        axis = None if dim is ... else read_axis(name, x, dim)
        if axis is None and not x._array.size and x._array.dtype.kind not in "fV":
            return wrap(cast_values(np.array(math.nan), x._array.dtype))
        if x._array.dtype.kind in "bc":
            kernel = "median_cpu" if dim is ... else "median_out"
            raise arguments.not_implemented(kernel, x.dtype)
        if axis is None:
            return of_all(x)
        check_not_empty("median():", x, (axis,))
        return with_outs(name, result_type(*along(x, axis=axis, keepdims=keepdim)), out, input)

    return median


median = _publish("median", _median("median"), "The middle element (the lower one of two); NaN if there is one.")
nanmedian = _publish("nanmedian", _median("nanmedian"), "The middle one of the elements that are not NaN.")


def _test(name: str) -> Callable[..., Any]:
    test = row(name)

    def over_dims(input: Tensor, dim: Dims = None, keepdim: bool = False, *, out: Any = None) -> Tensor:
        x = read_overloaded(name, input)
        # Unlike elsewhere, an empty tuple means no dim at all.
        axes = () if isinstance(dim, (tuple, list)) and not dim else read_axes(name, x, dim)
        result = test(x, axis=axes, keepdims=keepdim)
        if out is not None and isinstance(out, Tensor) and out.dtype not in (dtypes.bool_, dtypes.uint8):
            raise RuntimeError(f"{name} only supports bool tensor for result, got: {out.dtype.scalar_name}")
        return with_out(name, result, out, input)

    return over_dims


all = _publish("all", _test("all"), "Whether all elements are true.")
any = _publish("any", _test("any"), "Whether any element is true.")


def _test_of_truths(name: str, test: Callable[..., Any]) -> None:
    """torch's private names for the same, which take no other dtype."""
    def function(input: Tensor) -> Tensor:
        if arguments.read_tensor(name, input).dtype is not dtypes.bool_:
            raise RuntimeError(f"{name}(): expected a tensor of bool, got {input.dtype.scalar_name}")
        return test(input)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    public()(function)


_test_of_truths("_is_all_true", all)
_test_of_truths("_is_any_true", any)


@public()
@numpy_names
def count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """How many elements are not zero."""
    x = arguments.read_tensor("count_nonzero", input)
    axes = read_axes("count_nonzero", x, dim)
    return _count_nonzero(x, axis=axes, keepdims=False)


@public()
@numpy_names
def logsumexp(input: Tensor, dim: Dims, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """log(sum(exp(x))), without overflow."""
    x = arguments.read_tensor("logsumexp", input)
    if dim is None or not (arguments.is_integer(dim) or isinstance(dim, (tuple, list))):
        raise arguments.wrong_type("logsumexp", "dim", 2, "tuple of ints", dim)
    if x._array.dtype.kind in "biu":
        x = cast(x, dtypes.get_default_dtype().numpy)
    return with_out("logsumexp", _logsumexp(x, axis=read_axes("logsumexp", x, dim), keepdims=keepdim), out, input)


def _running(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """cumsum or cumprod, and its in-place version."""
    along = row(name)

    def running(input: Tensor, dim: int, *, dtype: Any = None, out: Any = None) -> Tensor:
        wanted = dtype if dtype is not None or not isinstance(out, Tensor) else out.dtype
        check_asked_dtype(wanted, out)
        x = widened(name, input, wanted)
        if wanted is dtypes.bool_:
            raise arguments.not_implemented(f"{name}_out_cpu", wanted)
        return with_out(name, along(x, axis=read_axis(name, x, dim)), out, input)

    def running_inplace(self: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
        wanted = arguments.read_dtype(name, dtype, self.dtype)
        if wanted is not self.dtype:
            raise RuntimeError(f"Bad in-place call: input tensor dtype {c_name(self.dtype)} and output tensor dtype "
                               f"{c_name(wanted)} should match")
        if wanted is dtypes.bool_:
            if not self._array.ndim or not self._array.size:
                return write_values(self, self._array, "")  # torch has nothing to compute
            raise arguments.not_implemented(f"{name}_out_cpu", wanted)
        check_overlap(self._array, ())
        return write(name, self, self, axis=read_axis(name, self, dim))

    return running, running_inplace


for _name, _doc in {"cumsum": "The sum of all elements up to each one, along a dim.",
                    "cumprod": "The product of all elements up to each one, along a dim."}.items():
    _function, _inplace = _running(_name)
    _publish(_name, _function, _doc)
    _publish(f"{_name}_", _inplace, _doc + " In place.", function=False)


@linalg_function()
@numpy_names
def vector_norm(x: Any = None, ord: float = 2, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None,
                out: Any = None, input: Any = None) -> Tensor:
    """`sum(abs(x) ** ord) ** (1 / ord)`; the largest or smallest absolute value if `ord` is inf or -inf."""
    input = arguments.read_tensor("linalg_vector_norm", x if input is None else input)
    ord = _order("linalg_vector_norm", "ord", 2, ord)
    arguments.read_flag("linalg_vector_norm", "keepdim", 4, keepdim)
    if dim is not None and not arguments.is_integer(dim) and not isinstance(dim, (tuple, list)):
        raise arguments.wrong_type("linalg_vector_norm", "dim", 3, "tuple of ints", dim)
    if input._array.dtype.kind in "biu":
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{input.dtype.scalar_name}")
    if dtype is not None:
        _check_norm_dtype(input.dtype, arguments.read_dtype("linalg_vector_norm", dtype, input.dtype))
    axes = read_axes("linalg_vector_norm", input, dim, 3)
    if ord < 0 or ord == math.inf:
        _check_norm_of_nothing(input._array.shape, ord, axes)
    computed = in_dtype("linalg_vector_norm", input, dtype)
    if computed._array.dtype.kind == "c":
        computed = FUNCTIONS["abs"](computed)
    result = _vector_norm(computed, ord=ord, axis=axes, keepdims=keepdim)
    return with_out("linalg_vector_norm", result, out, input)


def _order(function: str, argument: str, position: int, ord: Any) -> Any:
    ord = arguments.read_number(function, argument, position, ord)
    if isinstance(ord, complex):
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    return ord


def _check_norm_dtype(given: dtypes.dtype, wanted: dtypes.dtype) -> None:
    if wanted.category < 2:
        raise RuntimeError("linalg.vector_norm: dtype should be floating point or complex, but got "
                           f"{wanted.scalar_name}")
    if given.is_complex != wanted.is_complex:
        kind = "complex" if given.is_complex else "real"
        raise RuntimeError(f"linalg.vector_norm: dtype should be {kind} for {kind} inputs, but got "
                           f"{wanted.scalar_name}")
    if dtypes.promote_types(given, wanted) is not wanted:
        raise RuntimeError(f"linalg.vector_norm: the dtype of the input ({given.scalar_name}) should be convertible "
                           f"without narrowing to the specified dtype ({wanted.scalar_name})")


def _check_norm_of_nothing(shape: tuple[int, ...], ord: float, axes: tuple[int, ...] | None) -> None:
    if axes is None:
        if 0 in shape:
            raise RuntimeError(f"linalg.vector_norm cannot compute the {ord:g} norm on an empty tensor because the "
                               "operation does not have an identity")
        return
    for axis in axes:
        if shape and not shape[axis]:
            raise RuntimeError(f"linalg.vector_norm cannot compute the {ord:g} norm on the dimension {axis}because "
                               "this dimension is empty and the operation does not have an identity")


@public()
@numpy_names
def norm(input: Tensor, p: Any = "fro", dim: Dims = None, keepdim: bool = False, out: Any = None,
         dtype: Any = None) -> Tensor:
    """The norm of a vector, or of all elements of a tensor."""
    dims = [dim] if isinstance(dim, int) else dim
    if not isinstance(p, str):
        return vector_norm(input, 2 if p is None else p, dims, keepdim, dtype=dtype, out=out)
    if p == "fro" and (dims is None or len(dims) <= 2):
        return vector_norm(input, 2, dims, keepdim, dtype=dtype, out=out)
    dims = list(range(input.ndim)) if dims is None else dims
    if len(dims) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dims))}")
    if p == "nuc":
        return SPECS["torch.linalg.matrix_norm"].function(input, p, dims, keepdim, dtype=dtype, out=out)  # type: ignore[no-any-return]
    raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")


@public()
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The norm of the difference."""
    arguments.check_tensors("dist", input=input, other=other)
    ord = _order("dist", "p", 3, p)
    kinds = {input._array.dtype.kind, other._array.dtype.kind}
    if "b" in kinds or not kinds & set("fVc"):
        return norm(input - other, ord)  # type: ignore[operator]
    if "c" in (input._array.dtype.kind, other._array.dtype.kind):
        return vector_norm(input - other, ord)  # type: ignore[operator]
    return run("dist", input, other, ord=ord)
