"""Lookups in a dense tensor with a sparse gradient: embedding(sparse=True), gather(sparse_grad=True)."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.backends import raw
from whygrad.backends.numpy_index import along
from whygrad.core.tensor import wrap
from whygrad.sparse import array as numbers
from whygrad.sparse import ops
from whygrad.sparse.op import sparse_op


def _rows(g: Any, table: Any, index: Any, padding_idx: int) -> Any:
    flat = index._array.reshape(-1)
    values = g.reshape(flat.size, g._array.shape[-1])
    if padding_idx >= 0:
        kept = np.flatnonzero(flat != padding_idx)
        flat, values = flat[kept], values[wrap(kept)]
    pattern = numbers.coo(flat.astype(np.int64).reshape(1, -1), values._array, table._array.shape)
    return ops.from_values(values, pattern=pattern)


@sparse_op("EmbeddingBackward0", table=_rows, index=lambda g: None)
def embedding(table: Any, index: Any, *, padding_idx: int) -> Any:
    return raw.embedding(table, index, padding_idx=padding_idx, by_frequency=False)  # type: ignore[attr-defined]


def _elements(g: Any, x: Any, index: Any, axis: int) -> Any:
    places = np.array(np.broadcast_arrays(*along(index._array, axis)), np.int64).reshape(x._array.ndim, -1)
    values = g.reshape(-1)
    return ops.from_values(values, pattern=numbers.coo(places, values._array, x._array.shape))


@sparse_op("GatherBackward0", x=_elements, index=lambda g: None)
def gather(x: Any, index: Any, *, axis: int) -> Any:
    return raw.gather(x, index, axis=axis)  # type: ignore[attr-defined]
