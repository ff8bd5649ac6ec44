"""Reading and writing by index tensors and masks.

Indices have been checked, and are non-negative int64. If `axes` names several axes of `x`, `index` is one array whose first
axis counts them. The adjoint of a read accumulates into zeros, because an index may occur twice.
"""

from whygrad.ops.table import NoGrad, along_axes, op

POSITIONS = NoGrad("positions are integers and have no derivative")
MASK = NoGrad("a boolean mask has no derivative")


@op(batch="own", kernel="indexing", curve="masking picking", linear="x",
    memory="own",
    x=lambda xp, g, x_shape, index, axes: xp.index_backward(g, index, shape=x_shape, axes=axes),
    index=POSITIONS)
def index(xp, x, index, *, axes): ...


@op(batch="own", kernel="indexing", linear="x",
    x=lambda xp, g, index, axes: xp.index(g, index, axes=axes),
    index=POSITIONS)
def index_backward(xp, x, index, *, shape, axes): ...


@op(batch="own", linear="x+values", memory="own",
    x=lambda xp, g, index, axes, accumulate:
    g if accumulate else xp.index_put(g, 0, index, axes=axes, accumulate=False),
    values=lambda xp, g, values_shape, index, axes: xp.sum_to(xp.index(g, index, axes=axes), shape=values_shape),
    index=POSITIONS)
def index_put(xp, x, values, index, *, axes, accumulate): ...


@along_axes(kernel="gather_scatter", curve="picking", linear="x",
            x=lambda xp, g, x, index, axis: xp.gather_backward(g, index, shape=x.shape, axis=axis),
            index=POSITIONS)
def gather(xp, x, index, *, axis): ...


@along_axes(linear="x",
            x=lambda xp, g, index, axis: xp.gather(g, index, axis=axis),
            index=POSITIONS)
def gather_backward(xp, x, index, *, shape, axis): ...


def _scatter_node(kinds, statics):
    if statics["reduce"] is not None:
        return "NotImplemented"
    return "ScatterBackward0" if kinds[2] == "t" else "ScatterBackward1"


def _overwritten(xp, g, index, axis, reduce):
    """The gradient of `scatter`'s input: zero at the overwritten elements."""
    _no_derivative_of_reduce(reduce)
    return xp.scatter(g, index, 0, axis=axis, reduce=None)


def _written(xp, g, index, src_shape, axis, reduce, node="ScatterBackward0"):
    _no_derivative_of_reduce(reduce)
    g = xp.gather(g, index, axis=axis)
    if g.shape != src_shape:
        raise RuntimeError(f"Function {node} returned an invalid gradient at index 1 - got {list(g.shape)} but "
                           f"expected shape compatible with {list(src_shape)}")
    return g


def _no_derivative_of_reduce(reduce):
    if reduce is not None:
        raise RuntimeError("derivative for aten::scatter is not implemented")


@along_axes(node=_scatter_node,
            x=lambda xp, g, index, axis, reduce: _overwritten(xp, g, index, axis, reduce),
            index=POSITIONS,
            src=lambda xp, g, index, src_shape, axis, reduce: _written(xp, g, index, src_shape, axis, reduce))
def scatter(xp, x, index, src, *, axis, reduce):
    """`src` is an array or a number; `reduce` is None, "add" or "multiply"."""


@along_axes(linear="x+src",
            x=lambda g: g,
            index=POSITIONS,
            src=lambda xp, g, index, src_shape, axis: _written(xp, g, index, src_shape, axis, None, "ScatterAddBackward0"))
def scatter_add(xp, x, index, src, *, axis): ...


@op(batch="own", kernel="indexing", linear="x",
    x=lambda xp, g, x_shape, index, axis: xp.index_select_backward(g, index, shape=x_shape, axis=axis),
    index=POSITIONS)
def index_select(xp, x, index, *, axis): ...


@op(batch="own", kernel="indexing", linear="x",
    x=lambda xp, g, index, axis: xp.index_select(g, index, axis=axis),
    index=POSITIONS)
def index_select_backward(xp, x, index, *, shape, axis): ...


@op(batch="own", linear="x+src",
    x=lambda g: g,
    index=POSITIONS,
    src=lambda xp, g, index, src, axis, alpha:
    xp.reshape(xp.index_select(g, index, axis=axis), shape=src.shape) * alpha)
def index_add(xp, x, index, src, *, axis, alpha=1): ...


@op(batch="own", linear="x+src",
    x=lambda xp, g, index, axis: xp.index_fill(g, index, 0, axis=axis),
    index=POSITIONS,
    src=lambda xp, g, index, src, axis: xp.reshape(xp.index_select(g, index, axis=axis), shape=src.shape))
def index_copy(xp, x, index, src, *, axis): ...


@op(batch="own",
    memory="own", node=lambda kinds, statics: "IndexFillBackward1" if kinds[2] == "t" else "IndexFillBackward0",
    x=lambda xp, g, index, axis: xp.index_fill(g, index, 0, axis=axis),
    index=POSITIONS,
    value=lambda xp, g, index, axis: xp.sum(xp.index_select(g, index, axis=axis), axis=None, keepdims=False))
def index_fill(xp, x, index, value, *, axis): ...


@op(batch="own", curve="masking",
    node=lambda kinds, statics: "MaskedFillBackward1" if kinds[2] == "t" else "MaskedFillBackward0",
    x=lambda xp, g, mask: xp.masked_fill(g, mask, 0),
    mask=MASK,
    value=lambda xp, g, mask: xp.sum(xp.masked_select(g, mask), axis=None, keepdims=False))
def masked_fill(xp, x, mask, value):
    """The mask broadcasts to the shape of `x`, not the other way round."""


@op(batch="own", curve="masking", linear="x",
    x=lambda xp, g, x, mask: xp.masked_select_backward(g, mask, shape=x.shape),
    mask=MASK)
def masked_select(xp, x, mask): ...


@op(batch="own", linear="x",
    x=lambda xp, g, mask: xp.masked_select(g, mask),
    mask=MASK)
def masked_select_backward(xp, x, mask, *, shape): ...


@op(batch="own", linear="x+src",
    x=lambda xp, g, mask: xp.masked_fill(g, mask, 0),
    mask=MASK,
    src=lambda xp, g, mask, src_shape: xp.masked_scatter_backward(g, mask, shape=src_shape))
def masked_scatter(xp, x, mask, src):
    """`x` with the elements where the mask is true replaced by those of `src` in order."""


@op(batch="own", linear="x",
    x=lambda xp, g, x_shape, mask: xp.masked_place(g, mask, shape=x_shape),
    mask=MASK)
def masked_scatter_backward(xp, x, mask, *, shape):
    """The elements selected by the mask, filled up with zeros to an array of `shape`."""


@op(batch="own", linear="x",
    x=lambda xp, g, x_shape, mask: xp.masked_scatter_backward(g, mask, shape=x_shape),
    mask=MASK)
def masked_place(xp, x, mask, *, shape):
    """Zeros of `shape`, with the elements of `x` in order where the mask is true."""


@op(batch="own", linear="x",
    x=lambda xp, g, x, index: xp.take_backward(g, index, shape=x.shape),
    index=POSITIONS)
def take(xp, x, index):
    """Elements of the flattened `x`."""


@op(batch="own", linear="x",
    x=lambda xp, g, index: xp.take(g, index),
    index=POSITIONS)
def take_backward(xp, x, index, *, shape): ...


@op(batch="refused", memory="own", x=NoGrad("positions of nonzero elements are integers and have no derivative"))
def nonzero(xp, x):
    """One row for each nonzero element, with its index along each axis."""
