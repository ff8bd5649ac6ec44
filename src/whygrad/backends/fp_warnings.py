"""Running NumPy without its floating-point warnings: like torch, inf and nan are answers, not events.

NumPy's own switch is global for the caller as well, and its context manager costs more than the arithmetic on a small
array. Setting the variable behind it costs a fifth of that.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj  # type: ignore[attr-defined]

    _silent = _make_extobj(all="ignore")

    def silence() -> Any:
        """Switch warnings off; give the token back to `restore`."""
        return _extobj_contextvar.set(_silent)

    restore = _extobj_contextvar.reset
except ImportError:  # an older or newer NumPy: the official way

    def silence() -> Any:
        return np.seterr(all="ignore")

    def restore(token: Any) -> None:
        np.seterr(**token)


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function without floating-point warnings: for ops that meet 0, inf or nan in ordinary use."""

    def quietly(*args: Any, **kwargs: Any) -> Any:
        token = silence()
        try:
            return function(*args, **kwargs)
        finally:
            restore(token)

    quietly.__name__ = quietly.__qualname__ = getattr(function, "__name__", "quietly")
    if hasattr(function, "into"):  # the same in place
        quietly.into = quiet(function.into)  # type: ignore[attr-defined]
    return quietly


# Rows that warn of inf - inf, 0 * inf and overflow as NumPy does: silencing them costs a tenth of what they cost, and they
# are what programs are made of. (The backward pass is silenced as a whole.)
BARE = frozenset({"add", "sub", "rsub", "mul", "mm", "mv", "vm", "dot", "outer", "linear", "linear_folded", "matmul_folded",
                  "matmul_vector", "sum", "sum_all", "sum_to", "mean", "mean_all"})
# What they warn of is not shown, unless a program asks for all there is.
warnings.filterwarnings("ignore", ".* encountered in ", RuntimeWarning, r"whygrad\.")

# Rows that would warn because they are made of such, and are silenced as they are looked up.
SILENCED = frozenset({
    "add_scaled", "addbmm", "addcmul", "addmm", "addmv", "addr", "baddbmm", "batch_norm", "cholesky_inverse", "col2im",
    "contract", "cross", "cumsum", "dist", "embedding_bag", "fractional_max_pool", "glu", "group_norm", "hardswish",
    "index_add", "index_put", "layer_norm", "ldexp", "logit", "mish", "multi_margin_loss", "multilabel_margin_loss", "nansum",
    "nll_loss", "polar", "prelu", "put", "recurrent_layer", "renorm", "restride", "rrelu", "scale_inside", "scatter",
    "scatter_add", "scatter_reduce", "softshrink", "std_mean", "sub_scaled", "trilinear", "var_mean", "vdot",
    "weight_norm_interface"})
