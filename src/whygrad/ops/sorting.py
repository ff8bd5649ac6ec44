"""Sorting and selection by rank. The gradient of a value goes to the element it came from."""

from whygrad.ops.reduction import along_rule
from whygrad.ops.table import NoGrad, along_axes

INDICES = NoGrad("indices are integers")


def _back_along(xp, g, out1, x_shape, axis):
    return xp.gather_backward(g, out1, shape=x_shape, axis=axis)


@along_axes(saved={"out1": "indices"},
            memory="own", node=lambda kinds, statics: "SortBackward0" if statics["stable"] is None else "SortBackward1",
            outputs=("values", INDICES),
            x=_back_along)
def sort(xp, x, *, axis, descending, stable):
    """Always stable, whatever `stable` is."""


@along_axes(kernel="topk", saved={"out1": "indices"}, outputs=("values", INDICES), x=_back_along)
def topk(xp, x, *, k, axis, largest): ...


@along_axes(saved={"out1": "indices"}, outputs=("values", INDICES), x=along_rule)
def kthvalue(xp, x, *, k, axis, keepdims): ...


@along_axes(saved={"out1": "indices"}, outputs=("values", INDICES), x=along_rule)
def mode(xp, x, *, axis, keepdims):
    """The most frequent value (the smallest of several), and the index of its last occurrence."""
