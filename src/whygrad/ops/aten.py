"""What a row is called in torch's library of ops, aten, with its overload: for those who listen to single ops.

Rows that are not named here have their own name, or that of their node, and the overload "default".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whygrad.ops.plan import RowPlan

_NAMES = {
    **{name: f"{name}.Tensor" for name in ("add", "sub", "mul", "div", "index", "slice", "bitwise_and", "bitwise_or",
                                         "bitwise_xor")},
    **dict.fromkeys(("convolution_input", "convolution_weight"), "convolution_backward"),
    **{name: name for name in ("nll_loss_backward", "gelu_backward", "threshold_backward")},
    "rsub": "rsub.Scalar", "select": "select.int", "transpose": "transpose.int", "where": "where.self", "reshape": "_unsafe_view",
    "sum": "sum.dim_IntList", "sum_to": "sum.dim_IntList", "sum_all": "sum", "mean": "mean.dim", "mean_all": "mean",
    "pow": "pow.Tensor_Tensor", "pow_number": "pow.Tensor_Scalar", "pow_of_number": "pow.Scalar",
    "softmax": "_softmax", "log_softmax": "_log_softmax", "softmax_backward": "_softmax_backward_data",
    "log_softmax_backward": "_log_softmax_backward_data", "nll_loss": "nll_loss_forward",
    "layer_norm": "native_layer_norm", "batch_norm": "native_batch_norm", "group_norm": "native_group_norm",
    "scaled_dot_product_flash_attention_for_cpu": "_scaled_dot_product_flash_attention_for_cpu",
}
# The overload depends on the last argument.
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})


def aten_name(plan: RowPlan, inputs: tuple[Any, ...], statics: dict[str, Any], is_tensor: Callable[[Any], bool]) -> str:
    """"add.Tensor", for an application of a row."""
    row = plan.row.name
    if isinstance(statics.get("node"), str):  # a write by a function that has no row of its own
        name = statics["node"].partition("Backward")[0]
        return "".join([f"_{c.lower()}" if c.isupper() else c for c in name]).lstrip("_")
    if row in _COMPARISONS:
        return f"{row}.{'Tensor' if is_tensor(inputs[-1]) else 'Scalar'}"
    if row in ("max_pool", "max_pool_values", "pool_scatter"):
        dims = len(statics["axes"]) if "axes" in statics else statics["kind"].dims
        return f"max_pool{dims}d_with_indices{'_backward' * (row == 'pool_scatter')}"
    return _NAMES.get(row) or plan.aten_name.removeprefix("aten::")
