"""Along a dim: running extremes, differences, trapezoids, numerical gradients; slices held to a norm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.base.overlap import check_overlap
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor
from whygrad.functional import return_types
from whygrad.functional.arguments import check_kinds, invalid_combination, read_int, read_number, read_tensor
from whygrad.functional.dims import named_axis
from whygrad.functional.dispatch import default_float
from whygrad.functional.outs import with_outs
from whygrad.functional.promotion import cast
from whygrad.functional.reduction import check_ordered
from whygrad.functional.run import FUNCTIONS, public, with_out, write
from whygrad.functional.shape import dim_of, dims_of
from whygrad.ops.table import TABLE


def _running_extreme(name: str, doc: str) -> Callable[..., Any]:
    def extreme(input: Any, dim: int, *, out: Any = None) -> Any:
        x = read_tensor(name, input)
        axis = dim_of(name, x, dim)
        check_ordered(x, f"{name}_cpu")
        results = getattr(return_types, name)(*apply(TABLE[name], x, axis=axis))
        return with_outs(name, results, out, input)

    return public(name=name, doc=doc)(extreme)


cummax = _running_extreme("cummax", "The largest element so far along a dim, and its index.")
cummin = _running_extreme("cummin", "The smallest element so far along a dim, and its index.")


@public()
def logcumsumexp(input: Any, dim: Any = ..., *, axis: Any = ..., out: Any = None) -> Tensor:
    """log(cumsum(exp(x))) without overflow."""
    x = read_tensor("logcumsumexp", input)
    axis = dim_of("logcumsumexp", x, named_axis("logcumsumexp", axis) if dim is ... else dim)
    check_kinds("logcumsumexp_out_cpu", x, "fVc")
    return with_out("logcumsumexp", apply(TABLE["logcumsumexp"], x, axis=axis), out, input)


def _part(x: Any, axis: int, start: int | None, stop: int | None = None) -> Any:
    return x[(slice(None),) * axis + (slice(start, stop),)]


def _check_extension(x: Tensor, other: Any, axis: int) -> None:
    own, given = x._array.shape, other._array.shape
    if len(own) != len(given):
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for d, (m, n) in enumerate(zip(own, given, strict=True)):
        if d != axis and m != n:
            raise RuntimeError("diff expects the shape of tensor to prepend or append to match that of input except "
                               f"along the differencing dimension; input.size({d}) = {m}, but got tensor.size({d}) = {n}")


@public()
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None, *, out: Any = None) -> Tensor:
    """The differences of neighbours along a dim, taken `n` times."""
    x = read_tensor("diff", input)
    n = read_int("diff", "n", 2, n)
    if not x._array.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    axis = dim_of("diff", x, dim)
    for other in (prepend, append):
        if other is not None:
            _check_extension(x, other, axis)
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if not n:
        copy = FUNCTIONS["zeros_like"](x)
        return with_out("diff", copy.copy_(x), out, input)
    if prepend is not None or append is not None:
        x = FUNCTIONS["cat"]([t for t in (prepend, x, append) if t is not None], axis)
    difference = FUNCTIONS["logical_xor" if x._array.dtype.kind == "b" else "sub"]
    for _ in range(min(n, x._array.shape[axis] or 1)):
        x = difference(_part(x, axis, 1), _part(x, axis, None, -1))
    return with_out("diff", x, out, input)


def _widths(name: str, y: Tensor, x: Any, axis: int) -> Tensor:
    """The distances of the points `x`, shaped to go with `y`."""
    points, ndim = x._array.shape, y._array.ndim
    if len(points) == 1:
        if points[0] != y._array.shape[axis]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = x.reshape([points[0] if d == axis else 1 for d in range(ndim)])
    elif len(points) < ndim:
        x = x.reshape((1,) * (ndim - len(points)) + points)
    widths: Tensor = _part(x, axis, 1) - _part(x, axis, None, -1)
    return widths


def _by_number(operation: str, x: Tensor, number: float) -> Any:
    """As torch's C++ does it: the node is another one than that of `x * number`."""
    return apply(TABLE[f"{operation}_number"], cast(x, default_float(x.dtype).numpy), value=number)


def _trapezoids(name: str, total: Callable[[Any, int], Any], total_first: bool) -> Callable[..., Tensor]:
    """The trapezoid rule; `total` is a sum or a running sum. torch scales before a running sum, and after a sum."""

    def trapezoids(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Any:
        read_tensor(name, y, "y")
        if x is not None and dx is not None:
            raise invalid_combination(name, y, x, dx=dx)
        axis = dim_of(name, y, dim)
        if not y._array.ndim:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions" if total_first else
                             "slice() cannot be applied to a 0-dim tensor.")
        if total_first and not y._array.shape[axis]:
            return FUNCTIONS["zeros_like"](total(y.detach(), axis))  # type: ignore[attr-defined]
        kinds = [t._array.dtype.kind for t in (y, x) if t is not None]
        if "b" in kinds:
            which = "`y`" if x is None else "`x` or `y`"
            raise RuntimeError(f"{name}: received a bool input for {which}, but bool is not supported")
        width = 1 if dx is None else read_number(name, "dx", None, dx)
        if total_first and x is None:
            ends = FUNCTIONS["select"](y, axis, 0) + FUNCTIONS["select"](y, axis, -1)
            return _by_number("mul", total(y, axis) - _by_number("mul", ends, 0.5), width)
        heights = _part(y, axis, None, -1) + _part(y, axis, 1)
        if x is not None:
            return _by_number("div", total(heights * _widths(name, y, x, axis), axis), 2.0)
        return total(_by_number("mul", heights, width / 2.0), axis)

    doc = "The integral along a dim by the trapezoid rule, over points `x` or points `dx` apart."
    return public(method=False, name=name, doc=doc)(trapezoids)


trapezoid = _trapezoids("trapezoid", lambda t, axis: t.sum(axis), total_first=True)
cumulative_trapezoid = _trapezoids("cumulative_trapezoid", lambda t, axis: t.cumsum(axis), total_first=False)


@public(method=False)
def trapz(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """`trapezoid` by its older name."""
    return trapezoid(y, x, dx=dx, dim=dim)


@public(method=False)
def gradient(input: Any, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """Numerical derivatives along the dims, by central differences and one-sided ones at the ends."""
    x: Any = read_tensor("gradient", input)
    if x._array.dtype == np.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    ndim = x._array.ndim
    axes = tuple(range(ndim)) if dim is None else dims_of(x, [dim] if isinstance(dim, int) else dim)
    spacings = _spacings(x, spacing, dim, len(axes))
    for axis, distance in zip(axes, spacings, strict=True):
        _check_gradient_size(x, axis, distance, edge_order)
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    derivative = [_derivative_at_points if isinstance(d, Tensor) else _derivative for d in spacings]
    return tuple([f(x, axis, d, edge_order) for f, axis, d in zip(derivative, axes, spacings, strict=True)])


def _spacings(x: Tensor, spacing: Any, dim: Any, count: int) -> list[Any]:
    if isinstance(spacing, (tuple, list)):
        if len(spacing) != count:
            given = (f"equal to 'self.dim() = {x._array.ndim}', since dim argument was not given" if dim is None else
                     "equal to the number of dims")
            raise RuntimeError("torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
                               f"{given}, but got a list of length {len(spacing)}")
        return list(spacing)
    if isinstance(spacing, Tensor):
        spacing = spacing._array.item() if not spacing._array.ndim else spacing
    return [1.0 if spacing is None else spacing] * count


def _check_gradient_size(x: Tensor, axis: int, points: Any, edge_order: int) -> None:
    n = x._array.shape[axis]
    if isinstance(points, Tensor):
        if points._array.ndim != 1:
            raise RuntimeError("torch.gradient expected each element of spacing to have one dimension, but got an "
                               f"element with {points._array.ndim} dimensions!")
        if points._array.size != n:
            raise RuntimeError("torch.gradient expected the size of each tensor in spacing to match the size of the "
                               f"input along that dim, but got {points._array.size} and {n}")
    if edge_order in (1, 2) and n < edge_order + 1:
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")


def _derivative(x: Any, axis: int, distance: Any, edge_order: int) -> Tensor:
    def at(start: int, stop: int | None) -> Any:
        return _part(x, axis, start, stop)

    center = (at(2, None) - at(0, -2)) / distance / 2
    if edge_order == 1:
        first, last = at(1, 2) - at(0, 1), at(-1, None) - at(-2, -1)
    else:
        first = -1.5 * at(0, 1) + 2 * at(1, 2) - 0.5 * at(2, 3)
        last = 0.5 * at(-3, -2) - 2 * at(-2, -1) + 1.5 * at(-1, None)
    return FUNCTIONS["cat"]([first / distance, center, last / distance], axis)  # type: ignore[no-any-return]


def _derivative_at_points(x: Any, axis: int, points: Tensor, edge_order: int) -> Tensor:
    """The same where the points are not equally far apart: weights are those of the parabola through three points."""
    def at(start: int, stop: int | None) -> Any:
        return _part(x, axis, start, stop)

    gaps: Any = diff(points)
    left, right = gaps[:-1], gaps[1:]
    shape = [-1 if d == axis else 1 for d in range(x._array.ndim)]
    a, b, c = (w.reshape(shape) for w in (-right / (left * (left + right)), (right - left) / (left * right),
                                          left / (right * (left + right))))
    center = a * at(0, -2) + b * at(1, -1) + c * at(2, None)
    if edge_order == 1:
        first = (at(1, 2) - at(0, 1)) / gaps[0]
        last = (at(-1, None) - at(-2, -1)) / gaps[-1]
    else:
        u, v = gaps[0], gaps[1]
        first = (-(2 * u + v) / (u * (u + v)) * at(0, 1) + (u + v) / (u * v) * at(1, 2) - u / (v * (u + v)) * at(2, 3))
        u, v = gaps[-1], gaps[-2]
        last = (u / (v * (u + v)) * at(-3, -2) - (u + v) / (u * v) * at(-2, -1)
                + (2 * u + v) / (u * (u + v)) * at(-1, None))
    return FUNCTIONS["cat"]([first, center, last], axis)  # type: ignore[no-any-return]


def _renorm_statics(self: Tensor, p: Any, dim: Any, maxnorm: Any) -> dict[str, Any]:
    for position, (name, value) in ((2, ("p", p)), (4, ("maxnorm", maxnorm))):
        if isinstance(read_number("renorm", name, position, value), complex):
            raise RuntimeError(f"renorm: {name} must be real-valued")
    p, maxnorm = read_number("renorm", "p", 2, p), read_number("renorm", "maxnorm", 4, maxnorm)
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    ndim = self._array.ndim
    if ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {ndim} dimensions")
    axis = dim_of("renorm", self, dim, position=3)
    if self._array.dtype.kind in "biu":
        raise RuntimeError("linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
                           f"{self.dtype.scalar_name}")
    return {"ord": p, "axis": tuple([a for a in range(ndim) if a != axis]), "maxnorm": maxnorm}


def _renorm_complex(x: Any, statics: dict[str, Any]) -> Any:
    norm = apply(TABLE["vector_norm"], x.abs(), ord=statics["ord"], axis=statics["axis"], keepdims=True)
    return x * FUNCTIONS["where"](norm > statics["maxnorm"], statics["maxnorm"] / (norm + 1e-7), 1.0)


@public()
def renorm(input: Any, p: float, dim: int, maxnorm: float, *, out: Any = None) -> Tensor:
    """Every slice along a dim whose p-norm exceeds `maxnorm` scaled down to it."""
    statics = _renorm_statics(read_tensor("renorm", input), p, dim, maxnorm)
    if input._array.dtype.kind == "c":
        return with_out("renorm", _renorm_complex(input, statics), out, input)
    return with_out("renorm", apply(TABLE["renorm"], input, **statics), out, input)


@public(function=False)
def renorm_(self: Any, p: float, dim: int, maxnorm: float) -> Tensor:
    statics = _renorm_statics(self, p, dim, maxnorm)
    check_overlap(self._array, ())
    if self._array.dtype.kind == "c":
        return self.copy_(_renorm_complex(self.clone(), statics))  # type: ignore[no-any-return]
    return write("renorm", self, self, **statics)
