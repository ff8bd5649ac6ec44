"""Rows whose kernels are written by hand, because they are more than one pass over the elements.

A maker gets the NumPy function and returns one that takes the same arguments: it computes what it was written for (contiguous
float32 arrays) and hands everything else to the NumPy function.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

# row -> the module of this package that has a maker of the row's name
KERNELS: dict[str, str] = {
    **dict.fromkeys(("softmax", "softmax_backward", "log_softmax", "log_softmax_backward"), "softmax"),
    **dict.fromkeys(("layer_norm", "layer_norm_input", "layer_norm_weight", "standardized", "standardized_backward",
                     "channel_moments", "batch_norm", "batch_norm_input", "batch_norm_weight"), "normalize"),
    "layer_norm_backward": "norm_gradients",
    **dict.fromkeys(("recurrent_layer", "mkldnn_rnn_layer", "recurrent_layer_backward"), "recurrent"),
    **dict.fromkeys(("embedding", "embedding_backward", "index", "index_backward", "index_select", "index_select_backward"),
                    "indexing"),
    "gather": "gather_scatter",
    **dict.fromkeys(("cat", "stack", "clone"), "concat"),
    "topk": "topk",
    **dict.fromkeys(("cdist", "signs_towards", "signs_apart"), "distances"),
    **dict.fromkeys(("grid_sampler", "grid_sampler_backward"), "sampling"),
    **dict.fromkeys(("cumsum", "cumprod", "product_before", "scan", "cummax", "cummin"), "scans"),
    **dict.fromkeys(("scaled_dot_product_flash_attention_for_cpu", "scaled_dot_product_flash_attention_for_cpu_backward"),
                    "attention"),
    "vector_norm": "norms",
    **dict.fromkeys(("upsample", "upsample_backward"), "resampling"),
    **dict.fromkeys(("nll_loss", "nll_loss_backward"), "nll_loss"),
    **dict.fromkeys(("solve_triangular", "lu_factor_ex"), "triangles"),
    **dict.fromkeys(("sum", "sum_all", "mean", "mean_all", "sum_to"), "reduce"),
    **dict.fromkeys(("prod", "amax", "amin", "max", "min"), "extremes"),
    **dict.fromkeys(("mm", "bmm", "matmul", "matmul_folded", "linear", "linear_folded", "linear_backward", "addmm",
                     "contract"), "gemm"),
    **dict.fromkeys(("convolution", "convolution_transpose", "convolution_weight"), "conv"),
    **dict.fromkeys(("avg_pool", "avg_pool_backward", "max_pool", "max_pool_values", "pool_scatter"), "pooling"),
}

# Calls after which a kernel is compiled, where NumPy's version is a loop in Python.
SLOW_IN_NUMPY = dict.fromkeys(("solve_triangular", "lu_factor_ex"), 20)


def make(name: str, numpy: Callable[..., Any]) -> Callable[..., Any]:
    from whygrad.kernels.pool import pool

    pool()
    maker: Callable[[Callable[..., Any]], Callable[..., Any]] = getattr(import_module(f"whygrad.kernels.{KERNELS[name]}"), name)
    return maker(numpy)
