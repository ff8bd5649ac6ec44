"""Embedding bags: the sum, mean or maximum of a table's rows over groups of indices.

`index` holds all indices, and `bag` the group of each of them, in ascending order.
"""

from whygrad.ops.arithmetic import underivable
from whygrad.ops.sorting import no_derivative
from whygrad.ops.table import NoGrad, op

INDEX = NoGrad("indices have no derivative")


@op(batch="looped",
    outputs=("out", NoGrad("sizes of bags, or which rows have won, are kept for the backward pass")),
    table=lambda xp, g, index, bag, weights, out1, table_shape, mode, padding_idx, by_frequency:
    xp.embedding_bag_backward(g, index, bag, weights, out1, rows=table_shape[0], mode=mode, padding_idx=padding_idx,
                              by_frequency=by_frequency),
    index=INDEX, bag=INDEX,
    weights=lambda xp, g, table, index, bag, padding_idx:
    xp.embedding_bag_weights_backward(g, table, index, bag, padding_idx=padding_idx))
def embedding_bag(xp, table, index, bag, weights, *, bags, mode, padding_idx, by_frequency): ...


@op(batch="looped", node="EmbeddingBagBackwardBackward0",
    grad=no_derivative("_embedding_bag_backward"), index=INDEX, bag=INDEX,
    weights=no_derivative("_embedding_bag_backward"), kept=INDEX)
def embedding_bag_backward(xp, grad, index, bag, weights, kept, *, rows, mode, padding_idx, by_frequency): ...


@op(batch="looped", half="float32", node="NotImplemented",
    grad=underivable("_embedding_bag_per_sample_weights_backward"),
    table=underivable("_embedding_bag_per_sample_weights_backward"), index=INDEX, bag=INDEX)
def embedding_bag_weights_backward(xp, grad, table, index, bag, *, padding_idx): ...
