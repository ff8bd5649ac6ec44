"""scatter_reduce and put, and the scatter forms of views (select_scatter ...), which overwrite a part of an array.

The gradient of overwritten elements is zero; it goes to the values that were written.
"""

from whygrad.ops.index import POSITIONS
from whygrad.ops.table import NoGrad, along_axes, elementwise, op

# The rules below come in pairs, for the array and for the source, which share their first steps.


def _count(xp, mask, like, index, axis):
    """The number of marked elements (`mask` is 0 or 1) scattered to each element, added to the counts in `like`."""
    return xp.scatter_add(like, index, mask, axis=axis)


def _as_numbers(xp, mask, like):
    zeros = xp.zeros_like(like)
    return xp.where(mask, zeros + 1, zeros)


def _shares_of_extreme(xp, g, x, index, src, out, axis):
    """The gradient shared equally among all elements that attain the extreme."""
    found = _as_numbers(xp, src == xp.gather(out, index, axis=axis), src)
    return g / _count(xp, found, _as_numbers(xp, x == out, x), index, axis)


def _divisor(xp, g, index, src, axis, include_self):
    start = xp.zeros_like(g) + 1 if include_self else xp.zeros_like(g)
    counts = _count(xp, xp.zeros_like(src) + 1, start, index, axis)
    return xp.where(counts == 0, 1.0, counts)


def _whole(xp, g, x, index, src, out, axis, reduce, include_self):
    if reduce == "prod":
        factor = xp.where(x == 0, 1.0, x)
        others = xp.scatter_reduce(factor, index, src, axis=axis, reduce=reduce, include_self=include_self) / factor
        g = g * others
    elif reduce == "mean":
        g = g / _divisor(xp, g, index, src, axis, include_self)
    elif reduce != "sum":
        g = xp.where(x == out, _shares_of_extreme(xp, g, x, index, src, out, axis), 0.0)
    return g if include_self else xp.scatter(g, index, 0, axis=axis, reduce=None)


def _part(xp, g, x, index, src, out, axis, reduce, include_self, function):
    if src.shape != index.shape:
        raise RuntimeError(f"Function ScatterReduceBackward0 returned an invalid gradient at index 1 - got "
                           f"{list(index.shape)} but expected shape compatible with {list(src.shape)}")
    if reduce == "prod":
        is_zero = src == 0
        zeros_here = xp.gather(_count(xp, _as_numbers(xp, is_zero, src), xp.zeros_like(x), index, axis), index, axis=axis)
        # If an element has a single zero factor, that factor's gradient is the product of the others; with two, all are 0.
        only_zero = is_zero & (zeros_here == 1)
        without = xp.scatter_reduce(x, index, xp.where(only_zero, 1.0, src), axis=axis, reduce=reduce,
                                    include_self=include_self)
        found = xp.where(only_zero, xp.gather(g * without, index, axis=axis),
                         xp.gather(g * out, index, axis=axis) / xp.where(is_zero, 1.0, src))
        return xp.flat_for_good(found, is_zero & (zeros_here > 1), function=function)
    if reduce == "mean":
        g = g / _divisor(xp, g, index, src, axis, include_self)
    elif reduce != "sum":
        shares = xp.gather(_shares_of_extreme(xp, g, x, index, src, out, axis), index, axis=axis)
        return xp.where(src == xp.gather(out, index, axis=axis), shares, 0.0)
    return xp.gather(g, index, axis=axis)


def _refused_where_flat(xp, g, flat, function):
    if bool(xp.any(flat, axis=None, keepdims=False)):
        name = "source" if function == "index_reduce" else "src"
        raise RuntimeError(f"{function}(): Double backward is unsupported for {name} when >1 zeros in {name} are scattered to "
                           "the same position in self")
    return g


@elementwise(x=_refused_where_flat,
             flat=NoGrad("a boolean mask has no derivative"))
def flat_for_good(xp, x, flat, *, function):
    """`x` with zeros where a product has several zero factors (`flat`); differentiating there raises, as in torch."""
    return xp.where(flat, 0.0, x)


@along_axes(node=lambda kinds, statics: statics["node"],
            x=_whole,
            index=POSITIONS,
            src=_part)
def scatter_reduce(xp, x, index, src, *, axis, reduce, include_self, node="ScatterReduceBackward0", function="scatter_reduce"):
    """Reduce the elements of `src` with equal index, by "sum", "prod", "mean", "amax" or "amin"."""


@op(batch="own", linear="x+src", memory="own",
    x=lambda xp, g, index, accumulate:
    g if accumulate else xp.put(g, index, xp.zeros_like(xp.take(g, index)), accumulate=False),
    index=POSITIONS,
    src=lambda xp, g, index, src: xp.reshape(xp.take(g, index), shape=src.shape))
def put(xp, x, index, src, *, accumulate):
    """Write `src` at `index` of the flattened `x`, or add it there."""


def _embedded(xp, g, embed, read, statics):
    """`g` with zeros at the overwritten part."""
    return embed(g, xp.zeros_like(read(g, **statics)), **statics)


@along_axes(linear="x+src",
            x=lambda xp, g, axis, index: _embedded(xp, g, xp.select_scatter, xp.select, {"axis": axis, "index": index}),
            src=lambda xp, g, axis, index: xp.select(g, axis=axis, index=index))
def select_scatter(xp, x, src, *, axis, index): ...


@along_axes(linear="x+src",
            x=lambda xp, g, axis, start, stop, step:
            _embedded(xp, g, xp.slice_scatter, xp.slice, {"axis": axis, "start": start, "stop": stop, "step": step}),
            src=lambda xp, g, axis, start, stop, step: xp.slice(g, axis=axis, start=start, stop=stop, step=step))
def slice_scatter(xp, x, src, *, axis, start, stop, step): ...


@along_axes(linear="x+src",
            x=lambda xp, g, offset, axis1, axis2:
            _embedded(xp, g, xp.diagonal_scatter, xp.diagonal, {"offset": offset, "axis1": axis1, "axis2": axis2}),
            src=lambda xp, g, offset, axis1, axis2: xp.diagonal(g, offset=offset, axis1=axis1, axis2=axis2))
def diagonal_scatter(xp, x, src, *, offset, axis1, axis2): ...


def _dense(shape):
    """The geometry of a contiguous array."""
    strides, width = [], 1
    for n in reversed(shape):
        strides.append(width)
        width *= max(n, 1)
    return shape, tuple(reversed(strides)), 0


def _seen_through(xp, g, geometry):
    return xp.restride(g, origin=_dense(g.shape), target=geometry, shared=_dense(g.shape))


# torch's bug, reproduced: `x` gets the gradient of the overwritten elements, and zero elsewhere.
@op(batch="own", linear="x+src",
    x=lambda xp, g, geometry: xp.as_strided_scatter(xp.zeros_like(g), _seen_through(xp, g, geometry), geometry=geometry),
    src=lambda xp, g, geometry: _seen_through(xp, g, geometry))
def as_strided_scatter(xp, x, src, *, geometry):
    """`geometry` is (shape, strides, offset) over the elements of a contiguous `x`."""
