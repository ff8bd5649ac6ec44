"""Functions that reduce over dims."""

from __future__ import annotations

from typing import Any

from whygrad._apply import apply
from whygrad.functional.dims import normalize_dims
from whygrad.functional.run import public
from whygrad.ops.table import TABLE

_whygrad_internal_ = True


@public()
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Any:
    return apply(TABLE["sum"], input, axis=normalize_dims(dim, input._array.ndim), keepdims=keepdim)
