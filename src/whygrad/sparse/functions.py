"""The sparse implementations of torch's functions, by torch's names; dispatch.py calls them."""

from __future__ import annotations

from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.functional.run import FUNCTIONS as DENSE
from whygrad.sparse.arithmetic import ON_VALUES, add, div, mul, neg, on_values, pow, sub
from whygrad.sparse.conversions import clone, coalesce, sparse_mask, to, to_dense, to_sparse, to_sparse_csc, to_sparse_csr, values
from whygrad.sparse.inplace import add_, copy_, div_, mul_, neg_, sparse_resize_, sub_, zero_
from whygrad.sparse.products import addmm, matmul, mm, mv
from whygrad.sparse.reductions import any_of, norm, sum, zeros_like
from whygrad.sparse.shapes import cat, getitem, index_select, permute, select, t, transpose, unsqueeze
from whygrad.sparse.tensor import SparseTensor

# torch's name -> implementation, for functions that accept a sparse tensor among their first arguments.
FUNCTIONS: dict[str, Any] = {
    **{name: on_values(name, node) for name, node in ON_VALUES.items() if name in DENSE},
    "add": add, "addmm": addmm, "any": any_of, "cat": cat, "concat": cat, "clone": clone, "div": div, "divide": div,
    "dsmm": mm, "empty_like": zeros_like, "index_select": index_select, "matmul": matmul, "mm": mm, "mul": mul, "multiply": mul,
    "mv": mv, "neg": neg, "negative": neg, "norm": norm, "permute": permute, "pow": pow, "select": select, "spmm": mm, "sub": sub,
    "subtract": sub, "sum": sum, "swapaxes": transpose, "swapdims": transpose, "t": t, "transpose": transpose,
    "true_divide": div, "unsqueeze": unsqueeze, "zeros_like": zeros_like,
    "detach": SparseTensor.detach,
}
# Methods only.
METHODS: dict[str, Any] = {
    "__getitem__": getitem, "__iter__": lambda self: iter([select(self, 0, i) for i in range(len(self))]),
    "add_": add_, "coalesce": coalesce, "copy_": copy_, "div_": div_, "mul_": mul_, "neg_": neg_, "sparse_mask": sparse_mask,
    "sparse_resize_": sparse_resize_, "sub_": sub_, "to": to, "to_dense": to_dense, "to_sparse": to_sparse,
    "to_sparse_coo": to_sparse, "to_sparse_csc": to_sparse_csc, "to_sparse_csr": to_sparse_csr, "values": values, "zero_": zero_,
    "__add__": add, "__radd__": lambda a, b: add(b, a) if isinstance(b, Tensor) else add(a, b), "__sub__": sub,
    "__rsub__": lambda a, b: sub(b, a) if isinstance(b, Tensor) else sub(a, b),
    "__mul__": mul, "__rmul__": mul, "__truediv__": div, "__rtruediv__": lambda a, b: div(b, a), "__neg__": neg, "__pow__": pow,
    "__matmul__": matmul, "__rmatmul__": lambda a, b: matmul(b, a), "__abs__": lambda self: FUNCTIONS["abs"](self),
    "__iadd__": add_, "__isub__": sub_, "__imul__": mul_, "__itruediv__": div_,
}
