"""repr of sparse tensors as in torch: indices and values, then size, nnz and layout."""

from __future__ import annotations

from typing import Any

from whygrad.base import dtypes, printing
from whygrad.core.node import row_node
from whygrad.core.tensor import grad_fn

PARTS = {"coo": ("indices",), "csr": ("crow_indices", "col_indices"), "csc": ("ccol_indices", "row_indices")}


def shown(t: Any) -> str:
    x, indent = t._array, len("tensor(")
    parts = [_part(name, array, indent) for name, array in zip((*PARTS[x.layout], "values"), (*x.indices, x.values), strict=True)]
    notes = [f"size={x.shape}", f"nnz={x.nnz}"]
    if t.dtype not in (dtypes.get_default_dtype(), dtypes.get_default_complex_dtype(), dtypes.int64, dtypes.bool_):
        notes.append(f"dtype={t.dtype}")
    notes.append(f"layout={t.layout}")
    node, _ = row_node(grad_fn(t))
    if node is not None:
        notes.append(f"grad_fn=<{type(node).__name__}>")
    elif t.requires_grad:
        notes.append("requires_grad=True")
    text = f",\n{' ' * indent}".join(parts)
    prefix = "Parameter containing:\n" if getattr(t, "_is_param", False) else ""
    return f"{prefix}tensor({printing.append_notes(text, notes, indent, new_line=x.layout == 'coo')})"


def _part(name: str, array: Any, indent: int) -> str:
    opening = f"{name}=tensor("
    body = printing.body(array, indent + len(opening))
    size = f", size={array.shape}" if array.size == 0 else ""
    return f"{opening}{body}{size})"
