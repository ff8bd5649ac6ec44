"""Unique values and histograms. Most have no derivative; rows refuse to be differentiated where torch does."""

from whygrad.ops.table import NoGrad, op

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
