"""Sorting, selection by rank, unique values and histograms. The gradient of a value goes to the element it came from; rows
refuse to be differentiated where torch does."""

from whygrad.ops.reduction import along_rule
from whygrad.ops.table import NoGrad, along_axes, op

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


COUNTS = NoGrad("counts and indices are integers")


def no_derivative(name):
    """The rule for results that torch connects to the graph but cannot differentiate."""
    def rule(g):
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return rule


def refused(name):
    def rule(g):
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return rule


@op(batch="refused", node="Unique2Backward0", outputs=("values", COUNTS, COUNTS), x=no_derivative("_unique2"))
def unique(xp, x): ...


@op(batch="refused", outputs=("values", COUNTS, COUNTS), x=no_derivative("unique_dim"))
def unique_dim(xp, x, *, axis): ...


@op(batch="refused", outputs=("values", COUNTS, COUNTS), x=no_derivative("unique_consecutive"))
def unique_consecutive(xp, x, *, axis): ...


@op(batch="looped", node="NotImplemented", x=NoGrad("counted values are integers"), weights=refused("bincount"))
def bincount(xp, x, weights, *, length): ...


@op(batch="looped", node="NotImplemented", outputs="list", x=refused("histogram"), weight=refused("histogram"))
def histogram(xp, x, weight, *, limits, density):
    """Numbers of points (the last axis of `x` holds their coordinates) in the bins with edges `limits`, and the edges."""
