"""Reductions, and their adjoints."""

from whygrad.ops.table import op


def unreduce(xp, g, shape, axis, keepdims):
    """Spread the gradient of a reduction back over the shape it was reduced from. `axis` is None or a tuple."""
    if axis is not None and not keepdims:
        kept = tuple([1 if i in axis else n for i, n in enumerate(shape)])
        g = xp.reshape(g, shape=kept)
    return xp.expand(g, shape=shape)


@op(node=lambda kinds, statics: "SumBackward0" if statics["axis"] is None else "SumBackward1",
    x=lambda xp, g, x_shape, axis, keepdims: unreduce(xp, g, x_shape, axis, keepdims))
def sum(xp, x, *, axis=None, keepdims=False):
    return xp.sum(x, axis=axis, keepdims=keepdims)


@op(x=lambda xp, g, x_shape: xp.expand(g, shape=x_shape))
def sum_to(xp, x, *, shape):
    """Sum over the axes along which `shape` was broadcast: the adjoint of `expand`."""
    extra = len(x.shape) - len(shape)
    axis = tuple(range(extra)) + tuple([extra + i for i, n in enumerate(shape) if n == 1 and x.shape[extra + i] != 1])
    total = xp.sum(x, axis=axis, keepdims=True) if axis else x
    return xp.reshape(total, shape=shape) if extra else total
