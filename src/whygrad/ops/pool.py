"""Pooling: the maximum or the mean of each window. Indices of maxima are those of the flattened image.

A `Sliding` or an `Adaptive` describes the windows along one axis; the rows take one of them for each spatial axis.
"""

from typing import NamedTuple

from whygrad.ops.table import NoGrad, last_axes


class Sliding(NamedTuple):
    """Windows of equal size and equal distance along an axis of `size` elements."""

    size: int
    kernel: int
    stride: int
    padding: int
    dilation: int
    out: int


class Adaptive(NamedTuple):
    """`out` windows that cover an axis of `size` elements as evenly as possible."""

    size: int
    out: int


class Kind(NamedTuple):
    """The name from which torch's node names are formed, and the number of spatial axes."""

    name: str
    dims: int


PLACES = NoGrad("places of maxima are integers")


def _node(kinds, statics):
    return f"{statics['kind'].name}Backward0"


def _second_node(kinds, statics):
    return f"{statics['kind'].name}BackwardBackward0"


@last_axes(kernel="pooling", words={"x": "g where the largest element of a window was, 0 elsewhere"},
           memory="channels", node=_node, outputs=("values", PLACES),
           x=lambda xp, g, x, out1, kind: xp.pool_scatter(g, out1, shape=tuple(x.shape), kind=kind))
def max_pool(xp, x, *, axes, kind): ...


@last_axes(kernel="pooling", memory="channels", x=NoGrad("used only where nobody asks for a gradient"))
def max_pool_values(xp, x, *, axes):
    """The maxima without their indices, which is faster."""


@last_axes(memory="own", node=_node, outputs=("values", PLACES),
           x=lambda xp, g, x, out1, kind: xp.pool_scatter(g, out1, shape=tuple(x.shape), kind=kind),
           samples=NoGrad("where the windows lie is drawn at random"))
def fractional_max_pool(xp, x, samples, *, kernel, size, kind): ...


@last_axes(kernel="pooling", linear="x",
           memory="own", node=_second_node,
           x=lambda xp, g, places, kind: xp.pool_gather(g, places, kind=kind),
           places=PLACES)
def pool_scatter(xp, x, places, *, shape, kind):
    """Zeros of `shape`, to which each element of `x` is added at its index."""


@last_axes(linear="x",
           memory="own", node=_second_node,
           x=lambda xp, g, x_shape, places, kind: xp.pool_scatter(g, places, shape=x_shape, kind=kind),
           places=PLACES)
def pool_gather(xp, x, places, *, kind): ...


@last_axes(linear="x",
           memory="own", node=_node,
           x=lambda xp, g, places, kind: xp.pool_gather(g, places, kind=kind),
           places=PLACES)
def max_unpool(xp, x, places, *, shape, kind):
    """As `pool_scatter`, but of repeated indices the last one overwrites the others."""


@last_axes(kernel="pooling", linear="x",
           memory="channels", node=_node,
           x=lambda xp, g, x, axes, count_pad, divisor, kind:
           xp.avg_pool_backward(g, axes=axes, count_pad=count_pad, divisor=divisor, kind=kind))
def avg_pool(xp, x, *, axes, count_pad, divisor, kind):
    """`count_pad`: padding counts as zeros. `divisor` replaces the number of elements in a window, if it is not None."""


@last_axes(kernel="pooling", linear="x",
           memory="own", node=_second_node,
           x=lambda xp, g, axes, count_pad, divisor, kind:
           xp.avg_pool(g, axes=axes, count_pad=count_pad, divisor=divisor, kind=kind))
def avg_pool_backward(xp, x, *, axes, count_pad, divisor, kind): ...
