"""Batching rules: for each row of the table what it does to a batch of its arguments.

Rows that broadcast need none of their own. The others are listed here by family; what is in no list is applied to one
element after the other, with a warning.
"""

from __future__ import annotations

from typing import Any

from whygrad.core.record import layout_of
from whygrad.core.tensor import Tensor
from whygrad.core.write import check_inplace, perform
from whygrad.func.batched import BatchedTensor, BatchLevel
from whygrad.func.batching import conv, index, layout, linear, nn
from whygrad.func.batching.families import (
    BatchRule,
    aligned,
    broadcast_shifted,
    by,
    elementwise,
    leading,
    looped,
    shifted,
)
from whygrad.ops.table import Row

__all__ = ["RULES", "looped", "rule_for", "write"]

# Moved by one axis: reductions, views, and rows along an axis; also rows that take any leading axes as they are.
SHIFTED = """
    sum nansum mean var var_complex std var_mean std_mean amax amin aminmax max min max_along min_along median_along
    nanmedian_along all any count_nonzero logsumexp vector_norm hash_tensor
    cumsum scan product_before cumprod product_of_others cummax cummin logcumsumexp sort topk kthvalue mode
    alias view reshape_alias reshape view_as_real view_as_complex clone transpose unsqueeze select select_backward slice
    slice_backward diagonal diagonal_backward diag_embed unfold unfold_backward stack split split_with_sizes unsafe_split
    unsafe_split_with_sizes unbind flip rot90 tril triu zeros_like conj conj_view neg_view frexp
    fft_c2c fft_r2c fft_c2r scale_inside
"""
# Matrices in batches: any leading axes.
LEADING = """
    cholesky_ex cholesky_inverse ldl_factor_ex ldl_solve lu lu_factor_ex lu_unpack householder_product geqrf
    inv_ex det cofactors cofactors_change slogdet pinv matrix_exp svd svdvals eigh eigvalsh eig eigvals cdist signs_towards
    signs_apart no_phase
    max_pool_values avg_pool avg_pool_backward max_pool fractional_max_pool pool_scatter pool_gather max_unpool upsample
    upsample_backward im2col col2im pixel_shuffle pixel_unshuffle
"""
# Those that broadcast, but not in all of their arguments, or not in their backend.
BROADCAST = """
    shares solve_triangular cholesky_solve silu_backward gelu_backward standard_gamma_grad dirichlet_grad copy fill
"""


def _flattened(name: str, **statics: Any) -> BatchRule:
    """A row over all elements, if its axis is None, by a row along one."""
    own = shifted

    def definition(xp: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
        found = getattr(xp, name)(xp.reshape(x, shape=(-1,)), **statics)
        found = found if isinstance(found, Tensor) else found[0]
        return xp.reshape(found, shape=(1,) * x._array.ndim) if keepdims else found

    def rule(level: BatchLevel, row: Row, inputs: tuple[Any, ...], statics: dict[str, Any]) -> Any:
        return (own if statics.get("axis") is not None else by(definition))(level, row, inputs, statics)

    return rule


RULES: dict[str, BatchRule] = {
    **dict.fromkeys(SHIFTED.split(), shifted),
    **dict.fromkeys(LEADING.split(), leading),
    **dict.fromkeys(BROADCAST.split(), broadcast_shifted),
    **{name: _flattened(name, axis=0, keepdims=False) for name in ("argmax", "argmin")},
    **{name: _flattened(f"{name}_along", axis=0, keepdims=False) for name in ("median", "nanmedian")},
    "prod": _flattened("prod", axis=(0,), keepdims=False),
    **layout.RULES, **linear.RULES, **conv.RULES, **index.RULES, **nn.RULES,
}


def rule_for(row: Row) -> BatchRule:
    found = RULES.get(row.name)
    return found if found is not None else elementwise if row.broadcasts else looped


def write(level: BatchLevel, row: Row, target: Tensor, position: int, inputs: tuple[Any, ...], statics: dict[str, Any]) -> None:
    """Apply a row in place to a batched tensor."""
    if not (isinstance(target, BatchedTensor) and target._level is level):
        raise RuntimeError(_more_elements(row, target, level.size))
    whole = target._whole
    check_inplace(whole, tuple([x._whole if isinstance(x, BatchedTensor) else x for x in inputs]))
    if row.broadcasts or row.name == "overwrite":
        opened = aligned(level, inputs)
        kinds = "".join(["t" if isinstance(x, Tensor) else "s" for x in opened])
        perform(layout_of(row, kinds), whole, position, tuple(opened), statics)
        return
    if whole.requires_grad:
        # The rule may want the old value, which is about to be overwritten.
        kept = level.closed(whole.clone())  # type: ignore[attr-defined]
        inputs = (*inputs[:position], kept, *inputs[position + 1:])
    whole.copy_(rule_for(row)(level, row, inputs, statics)._whole)  # type: ignore[attr-defined]


def _more_elements(row: Row, target: Tensor, size: int) -> str:
    if row.name in ("add", "sub", "add_scaled", "sub_scaled"):
        shape = list(target._array.shape)
        return f"output with shape {shape} doesn't match the broadcast shape {[size, *shape]}"
    return more_elements("inplace arithmetic" if row.name in ("mul", "div", "copy", "masked_fill") else f"{row.name}_")


def more_elements(what: str) -> str:
    return (f"vmap: {what}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
            "elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. "
            f"Please try to use out-of-place operators instead of {what}. If said operator is being called inside the PyTorch "
            "framework, please file a bug report instead.")
