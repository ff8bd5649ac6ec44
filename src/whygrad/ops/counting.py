"""Counting: different values, and how often they occur. Most of it has no derivative; what torch refuses, we refuse."""

from whygrad.ops.table import NoGrad, op

COUNTS = NoGrad("counts and indices are integers")


def no_derivative(name):
    """For results that torch connects to the graph and cannot differentiate."""
    def rule(g):
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return rule


def refused(name):
    def rule(g):
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return rule


@op(batch="refused", node="Unique2Backward0", outputs=("values", COUNTS, COUNTS), x=no_derivative("_unique2"))
def unique(xp, x):
    return xp.unique(x)


@op(batch="refused", outputs=("values", COUNTS, COUNTS), x=no_derivative("unique_dim"))
def unique_dim(xp, x, *, axis):
    return xp.unique_dim(x, axis=axis)


@op(batch="refused", outputs=("values", COUNTS, COUNTS), x=no_derivative("unique_consecutive"))
def unique_consecutive(xp, x, *, axis):
    return xp.unique_consecutive(x, axis=axis)


@op(batch="looped", node="NotImplemented", x=NoGrad("counted values are integers"), weights=refused("bincount"))
def bincount(xp, x, weights, *, length):
    return xp.bincount(x, weights, length=length)


@op(batch="looped", node="NotImplemented", outputs="list", x=refused("histogram"), weight=refused("histogram"))
def histogram(xp, x, weight, *, limits, density):
    """Counts of points (the last axis of `x`) in the boxes between `limits`, and the limits themselves."""
    return xp.histogram(x, weight, limits=limits, density=density)
