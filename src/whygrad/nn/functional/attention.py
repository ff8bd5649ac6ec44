"""Scaled dot product attention, and multi-head attention."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

import whygrad as torch
from whygrad.base.dtypes import CPP_NAMES
from whygrad.base.errors import warn
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional.arguments import read_tensor
from whygrad.functional.run import nn_function
from whygrad.nn import functional as F
from whygrad.nn.functional.regularization import dropout
from whygrad.ops.table import TABLE


class Kernels(NamedTuple):
    """The allowed implementations: the fused kernel, the composition of ops. Set by `torch.nn.attention.sdpa_kernel`."""

    fused: bool
    composed: bool


kernels = Kernels(True, True)


@nn_function(autocast="lower")
def scaled_dot_product_attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False) -> Any:
    """softmax(query @ key.T * scale + mask) @ value over the last two dims.

    A boolean `attn_mask` is True where attention is allowed; another one is added. `is_causal` lets a position see
    itself and what comes before. With `enable_gqa`, several heads of the query share one of key and value.
    """
    if not (type(query) is type(key) is type(value) is Tensor and attn_mask is None
            and query._array.dtype is key._array.dtype is value._array.dtype and query._array.ndim == 4):
        _check_attention(query, key, value, attn_mask)
    if scale is None:
        scale = 1.0 / math.sqrt(query._array.shape[-1]) if query._array.shape[-1] else 1.0
    if kernels.fused and _can_use_fused(query, key, value, attn_mask, dropout_p, enable_gqa):
        masks = () if attn_mask is None else (attn_mask.detach(),)
        return apply(TABLE["scaled_dot_product_flash_attention_for_cpu"], query, key, value, *masks, scale=scale,
                     causal=is_causal)[0]
    if enable_gqa:
        key, value = [_shared_heads(query, x) for x in (key, value)]
    if not kernels.composed:
        raise RuntimeError("No available kernel.  Aborting execution." if kernels.fused else
                           "No viable backend for scaled_dot_product_attention was found. This is likely due to turning "
                           "off both the math kernel and the fused kernels.")
    return _attend_composed(query, key, value, attn_mask, dropout_p, is_causal, scale)


def _check_attention(query: Any, key: Any, value: Any, attn_mask: Any) -> None:
    for i, (name, x) in enumerate((("query", query), ("key", key), ("value", value)), 1):
        read_tensor("scaled_dot_product_attention", x, name, i)
    if not query.dtype == key.dtype == value.dtype:
        q, k, v = [CPP_NAMES[x.dtype.name] for x in (query, key, value)]
        raise RuntimeError("Expected query, key, and value to have the same dtype, but got query.dtype: "
                           f"{q} key.dtype: {k} and value.dtype: {v} instead.")
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError("Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
                           f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead.")
    if attn_mask is None:
        return
    if attn_mask.dtype.name not in ("bool", "float32", query.dtype.name):
        raise RuntimeError("Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                           f"attn_mask.dtype: {CPP_NAMES[attn_mask.dtype.name]} and  query.dtype: "
                           f"{CPP_NAMES[query.dtype.name]} instead.")


def _shared_heads(query: Any, x: Any) -> Any:
    heads, own = query._array.shape[-3], x._array.shape[-3]
    if heads % own:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
    return x if heads == own else x.repeat_interleave(heads // own, -3)


def _can_use_fused(query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float, enable_gqa: bool) -> bool:
    """Whether torch would use its fused kernel."""
    q, k, v = query._array, key._array, value._array
    if not q.ndim == k.ndim == v.ndim == 4 or dropout_p or q.dtype.kind not in "fV":
        return False
    if k.shape != v.shape or q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        return False
    if not (q.size and k.size) or not q.strides[3] == k.strides[3] == v.strides[3] == q.itemsize:
        return False
    if q.shape[1] != k.shape[1] and (not enable_gqa or q.shape[1] % k.shape[1]):
        return False
    if attn_mask is None:
        return True
    scores = (*q.shape[:3], k.shape[2])
    given = attn_mask._array.shape
    if len(given) < 2 and not attn_mask.requires_grad:  # only the fused kernel does not broadcast it
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got -2)" if given else
                         "Dimension specified as -2 but tensor has no dimensions")
    return (not attn_mask.requires_grad and len(given) in (2, 4)
            and all(n in (1, m) for n, m in zip(given[::-1], scores[::-1], strict=False)))


def _attend_composed(query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float, is_causal: bool,
                         scale: float) -> Any:
    if not (query._array.size and key._array.size and value._array.size):
        shape = np.broadcast_shapes(query._array.shape[:-1], (*key._array.shape[:-2], 1))
        nothing = (query.sum() + key.sum() + value.sum()) * 0
        return torch.zeros((*shape, value._array.shape[-1]), dtype=query.dtype) + nothing
    if query._array.dtype.kind not in "fVc":
        raise RuntimeError(f"expected scalar type Float but found {query.dtype.scalar_name}")
    if is_causal:
        if attn_mask is not None:
            raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
        attn_mask = wrap(np.tri(query._array.shape[-2], key._array.shape[-2], dtype=np.bool_))
    origin = query.dtype
    if origin.name in ("float16", "bfloat16"):
        query, key, value = query.float(), key.float(), value.float()
    # The square root of the scale on each side keeps the product of large numbers finite.
    side = math.sqrt(abs(scale))
    weights = (query * side) @ (key * (side if scale >= 0 else -side)).transpose(-2, -1)
    if attn_mask is not None:
        if attn_mask.dtype.name == "bool":
            attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill_(~attn_mask, float("-inf"))
        weights = weights + attn_mask
    weights = apply(TABLE["safe_softmax"], weights, axis=(weights.ndim - 1,))
    if dropout_p > 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    if dropout_p > 0:
        weights = dropout(weights, dropout_p)
    return (weights @ value).to(origin)


def _canonical_mask(mask: Any, mask_name: str, other_type: Any, other_name: str, target_type: Any,
                    check_other: bool = True) -> Any:
    """A mask to be added to the scores: a boolean one becomes -inf where it is True."""
    if mask is None:
        return None
    if mask.dtype.name != "bool" and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.")
    if mask.is_floating_point():
        return mask
    return torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _none_or_dtype(input: Any) -> Any:
    return None if input is None else input.dtype


def _check_dims(query: Any, key: Any, value: Any, key_padding_mask: Any, attn_mask: Any, num_heads: int) -> bool:
    """Check the ranks; True if the input is batched."""
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    kind = f"For {'batched (3-D)' if dims == 3 else 'unbatched (2-D)'} `query`, expected "
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(f"{kind}`key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D tensors "
                             "respectively")
    if key_padding_mask is not None and key_padding_mask.dim() != dims - 1:
        raise AssertionError(f"{kind}`key_padding_mask` to be `None` or {dims - 1}-D but found {key_padding_mask.dim()}-D "
                             "tensor instead")
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(f"{kind}`attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead")
        expected = (num_heads, query.shape[0], key.shape[0])
        if dims == 2 and attn_mask.dim() == 3 and attn_mask.shape != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return dims == 3


def _project_packed(q: Any, k: Any, v: Any, weight: Any, bias: Any) -> tuple[Any, ...]:
    """The projections with one stacked weight; identical arguments share one product."""
    size = q.size(-1)
    if k is not v:
        parts = [None] * 3 if bias is None else bias.chunk(3)
        return tuple([F.linear(x, w, b) for x, w, b in zip((q, k, v), weight.chunk(3), parts, strict=True)])
    if q is k:
        return _split_projection(F.linear(q, weight, bias), 3, size)
    w_q, w_kv = weight.split([size, size * 2])
    b_q, b_kv = (None, None) if bias is None else bias.split([size, size * 2])
    return (F.linear(q, w_q, b_q), *_split_projection(F.linear(k, w_kv, b_kv), 2, size))


def _split_projection(projected: Any, count: int, size: int) -> tuple[Any, ...]:
    """Split the last dim into contiguous parts."""
    stacked = projected.unflatten(-1, (count, size)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
    return tuple([stacked[i] for i in range(count)])


def _project_separately(tensors: tuple[Any, ...], weights: tuple[Any, ...], bias: Any) -> tuple[Any, ...]:
    size = tensors[0].size(-1)
    parts = [None] * 3 if bias is None else bias.chunk(3)
    for name, x, w in zip(("query", "key", "value"), tensors, weights, strict=True):
        if w.shape != (size, x.size(-1)):
            raise AssertionError(f"expecting {name} weights shape of {(size, x.size(-1))}, but got {w.shape}")
    for name, b in zip(("query", "key", "value"), parts, strict=True):
        if b is not None and b.shape != (size,):
            raise AssertionError(f"expecting {name} bias shape of {(size,)}, but got {b.shape}")
    return tuple([F.linear(x, w, b) for x, w, b in zip(tensors, weights, parts, strict=True)])


@nn_function()
def multi_head_attention_forward(
        query: Any, key: Any, value: Any, embed_dim_to_check: int, num_heads: int, in_proj_weight: Any, in_proj_bias: Any,
        bias_k: Any, bias_v: Any, add_zero_attn: bool, dropout_p: float, out_proj_weight: Any, out_proj_bias: Any,
        training: bool = True, key_padding_mask: Any = None, need_weights: bool = True, attn_mask: Any = None,
        use_separate_proj_weight: bool = False, q_proj_weight: Any = None, k_proj_weight: Any = None,
        v_proj_weight: Any = None, static_k: Any = None, static_v: Any = None, average_attn_weights: bool = True,
        is_causal: bool = False) -> tuple[Any, Any]:
    """(result, weights or None) of (time, batch, features): project, attend with each head, project back.

    Boolean masks are True where attention is not allowed; other masks are added to the scores.
    """
    is_batched = _check_dims(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not is_batched:
        query, key, value = [x.unsqueeze(1) for x in (query, key, value)]
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    tgt_len, bsz, embed_dim = query.shape
    src_len = key.shape[0]
    key_padding_mask = _canonical_mask(key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask",
                                       query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                           "`generate_square_subsequent_mask` to create this mask.")
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        is_causal = is_causal and key_padding_mask is None
    if embed_dim != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}")
    head_dim = embed_dim // num_heads
    if head_dim * num_heads != embed_dim:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")

    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        for name, weight in zip("qkv", weights, strict=True):
            if weight is None:
                raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
        q, k, v = _project_separately((query, key, value), weights, in_proj_bias)
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _project_packed(query, key, value, in_proj_weight, in_proj_bias)

    if attn_mask is not None:
        dims = attn_mask.dim()
        correct = (tgt_len, src_len) if dims == 2 else (bsz * num_heads, tgt_len, src_len)
        if attn_mask.shape != correct:
            raise RuntimeError(f"The shape of the {dims}D attn_mask is {attn_mask.shape}, but should be {correct}.")
        if dims == 2:
            attn_mask = attn_mask.unsqueeze(0)

    if bias_k is not None and bias_v is not None:
        for given, name in ((static_k, "key"), (static_v, "value")):
            if given is not None:
                raise AssertionError(f"bias cannot be added to static {name}.")
        k, v = torch.cat([k, bias_k.repeat(1, bsz, 1)]), torch.cat([v, bias_v.repeat(1, bsz, 1)])
        attn_mask, key_padding_mask = _extend_mask(attn_mask), _extend_mask(key_padding_mask)
    elif bias_k is not None or bias_v is not None:
        given, missing = ("bias_k", "bias_v") if bias_v is None else ("bias_v", "bias_k")
        raise AssertionError(f"{given} is set but {missing} is None")

    q = q.view(tgt_len, bsz * num_heads, head_dim).transpose(0, 1)
    k = _split_heads(k, static_k, "static_k", bsz * num_heads, head_dim)
    v = _split_heads(v, static_v, "static_v", bsz * num_heads, head_dim)
    if add_zero_attn:
        zeros = torch.zeros((bsz * num_heads, 1, head_dim), dtype=k.dtype)
        k, v = torch.cat([k, zeros], 1), torch.cat([v, zeros], 1)
        attn_mask, key_padding_mask = _extend_mask(attn_mask), _extend_mask(key_padding_mask)
    src_len = k.size(1)
    if key_padding_mask is not None:
        for i, n in enumerate((bsz, src_len)):
            if key_padding_mask.shape[i] != n:
                raise AssertionError(f"Expected key_padded_mask.shape[{i}] to be {n}, but got {key_padding_mask.shape[i]}")
        key_padding_mask = key_padding_mask.view(bsz, 1, 1, src_len).expand(-1, num_heads, -1, -1)
        key_padding_mask = key_padding_mask.reshape(bsz * num_heads, 1, src_len)
        attn_mask = key_padding_mask if attn_mask is None else attn_mask + key_padding_mask

    if not training:
        dropout_p = 0.0
    weights_of_heads: Any = None
    if need_weights:
        result, weights_of_heads = _attend_with_weights(q, k, v, attn_mask, dropout_p, is_causal)
        result = result.transpose(0, 1).reshape(tgt_len * bsz, embed_dim)
    else:
        if attn_mask is not None:
            attn_mask = (attn_mask.unsqueeze(0) if attn_mask.size(0) == 1 and attn_mask.dim() == 3 else
                         attn_mask.view(bsz, num_heads, -1, src_len))
        q = q.view(bsz, num_heads, tgt_len, head_dim)
        k, v = [x.view(bsz, num_heads, src_len, head_dim) for x in (k, v)]
        result = F.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
        result = result.permute(2, 0, 1, 3).reshape(bsz * tgt_len, embed_dim)
    projected: Any = F.linear(result, out_proj_weight, out_proj_bias)
    projected = projected.view(tgt_len, bsz, projected.size(1))
    if need_weights:
        weights_of_heads = weights_of_heads.view(bsz, num_heads, tgt_len, src_len)
        if average_attn_weights:
            weights_of_heads = weights_of_heads.mean(dim=1)
    if is_batched:
        return projected, weights_of_heads
    return projected.squeeze(1), weights_of_heads.squeeze(0) if need_weights else None


def _extend_mask(mask: Any) -> Any:
    """An added position may be attended to."""
    return None if mask is None else F.pad(mask, (0, 1))


def _split_heads(x: Any, static: Any, name: str, heads: int, head_dim: int) -> Any:
    """Reshape to (batch * heads, time, head_dim)."""
    if static is None:
        return x.view(x.shape[0], heads, head_dim).transpose(0, 1)
    for dim, wanted in ((0, heads), (2, head_dim)):
        if static.size(dim) != wanted:
            raise AssertionError(f"expecting {name}.size({dim}) of {wanted}, but got {static.size(dim)}")
    return static


def _attend_with_weights(q: Any, k: Any, v: Any, attn_mask: Any, dropout_p: float, is_causal: bool) -> tuple[Any, Any]:
    if is_causal and attn_mask is None:
        raise AssertionError("FIXME: is_causal not implemented for need_weights")  # torch's message
    q = q * math.sqrt(1.0 / float(q.shape[2]))
    transposed = k.transpose(-2, -1)
    weights = F.softmax(torch.bmm(q, transposed) if attn_mask is None else torch.baddbmm(attn_mask, q, transposed), dim=-1)
    if dropout_p > 0.0:
        weights = F.dropout(weights, p=dropout_p)
    return torch.bmm(weights, v), weights
