"""The Transformer: encoder and decoder layers, stacks of layers, and the complete model."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar

import whygrad as torch
from whygrad.autograd.grad_mode import is_grad_enabled
from whygrad.base.errors import warn
from whygrad.nn import functional as F
from whygrad.nn.activation import GELU, ReLU
from whygrad.nn.containers import ModuleList
from whygrad.nn.dropout import Dropout
from whygrad.nn.functional import attention
from whygrad.nn.init import xavier_uniform_
from whygrad.nn.linear import Linear
from whygrad.nn.module import Module
from whygrad.nn.multihead_attention import MultiheadAttention
from whygrad.nn.normalization import LayerNorm

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"]

Activation = str | Callable[[Any], Any]


def _generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
    """The causal mask: -inf above the diagonal."""
    return torch.triu(torch.full((sz, sz), float("-inf"), dtype=dtype, device=device), diagonal=1)


def _detect_is_causal_mask(mask: Any, is_causal: bool | None, size: int) -> bool:
    """The hint if one is given, else whether `mask` is the causal mask."""
    if is_causal is not None or mask is None:
        return is_causal is True
    causal = _generate_square_subsequent_mask(size, dtype=mask.dtype)
    return mask.shape == causal.shape and bool((mask == causal).all())


def _get_seq_len(src: Any, batch_first: bool) -> int:
    length: int = src.shape[1 if batch_first and src.dim() == 3 else 0]
    return length


def _get_clones(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _get_activation_fn(activation: Activation) -> Callable[[Any], Any]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    function: Callable[[Any], Any] = getattr(F, activation)
    return function


class _Layer(Module):
    """Base of encoder and decoder layers: residual blocks with layer norm before or after."""

    attentions: ClassVar[tuple[str, ...]]  # one block each; the last block is the feed-forward network

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        for name in self.attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **factory))
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **factory)
        self.norm_first = norm_first
        blocks = range(1, len(self.attentions) + 2)
        for i in blocks:
            setattr(self, f"norm{i}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory))
        for i in blocks:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self._set_activation(_get_activation_fn(activation))

    def _set_activation(self, activation: Callable[[Any], Any]) -> None:
        self.activation = activation

    def _residual(self, x: Any, norm: Module, block: Callable[[Any], Any]) -> Any:
        return x + block(norm(x)) if self.norm_first else norm(x + block(x))

    def _attend(self, attn: Module, dropout: Module, x: Any, memory: Any, attn_mask: Any, key_padding_mask: Any,
                is_causal: bool) -> Any:
        result, _ = attn(x, memory, memory, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False,
                         is_causal=is_causal)
        return dropout(result)

    def _sa_block(self, x: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Any:
        return self._attend(self.self_attn, self.dropout1, x, x, attn_mask, key_padding_mask, is_causal)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"activation": F.relu, **state})


class TransformerEncoderLayer(_Layer):
    """Self-attention, then a feed-forward network."""

    attentions = ("self_attn",)

    def _set_activation(self, activation: Callable[[Any], Any]) -> None:
        super()._set_activation(activation)
        is_relu = activation is F.relu or isinstance(activation, ReLU)
        is_gelu = activation is F.gelu or isinstance(activation, GELU)
        self.activation_relu_or_gelu = 1 if is_relu else 2 if is_gelu else 0

    def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False) -> Any:
        src_key_padding_mask = attention._canonical_mask(src_key_padding_mask, "src_key_padding_mask",
                                                         attention._none_or_dtype(src_mask), "src_mask", src.dtype)
        src_mask = attention._canonical_mask(src_mask, "src_mask", None, "", src.dtype, check_other=False)
        x = self._residual(src, self.norm1, lambda x: self._sa_block(x, src_mask, src_key_padding_mask, is_causal))
        return self._residual(x, self.norm2, self._ff_block)

    def _ff_block(self, x: Any) -> Any:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(_Layer):
    """Self-attention, cross-attention to the encoder's output, then a feed-forward network."""

    attentions = ("self_attn", "multihead_attn")

    def forward(self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
                memory_key_padding_mask: Any = None, tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Any:
        x = self._residual(tgt, self.norm1, lambda x: self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal))
        x = self._residual(x, self.norm2, lambda x: self._mha_block(x, memory, memory_mask, memory_key_padding_mask,
                                                               memory_is_causal))
        return self._residual(x, self.norm3, self._ff_block)

    def _mha_block(self, x: Any, mem: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Any:
        return self._attend(self.multihead_attn, self.dropout2, x, mem, attn_mask, key_padding_mask, is_causal)

    def _ff_block(self, x: Any) -> Any:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoder(Module):
    """A stack of copies of an encoder layer."""

    norm: Any

    def __init__(self, encoder_layer: Any, num_layers: int, norm: Module | None = None,
                 enable_nested_tensor: bool = True, mask_check: bool = True) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        why_not = _why_not_nested(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and not why_not
        if enable_nested_tensor and why_not:
            warn("enable_nested_tensor is True, but self.use_nested_tensor is False because encoder_layer"
                 f"{why_not}")

    def forward(self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None) -> Any:
        padding = attention._canonical_mask(src_key_padding_mask, "src_key_padding_mask", attention._none_or_dtype(mask),
                                            "mask", src.dtype)
        mask = attention._canonical_mask(mask, "mask", None, "", src.dtype, check_other=False)
        is_causal = _detect_is_causal_mask(mask, is_causal, _get_seq_len(src, self.layers[0].self_attn.batch_first))
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=is_causal, src_key_padding_mask=padding)
        if self._drops_padding(src, mask, padding):
            output = output.masked_fill((padding != 0).unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)

    def _drops_padding(self, src: Any, mask: Any, padding: Any) -> bool:
        """Whether torch would use a nested tensor without the padded positions, which are 0 in the result."""
        if padding is None or mask is not None or src.dim() != 3 or not self.use_nested_tensor or self.layers[0].training:
            return False
        left_aligned = not ((padding != 0)[:, :-1] & (padding == 0)[:, 1:]).any()
        if self.mask_check and not left_aligned:
            return False
        return not (is_grad_enabled() and any(t.requires_grad for t in (src, *self.layers[0].parameters())))


def _why_not_nested(layer: Any) -> str:
    """Why torch would not use a nested tensor for this layer, as the end of its warning; empty if it would."""
    if not isinstance(layer, TransformerEncoderLayer):
        return " was not TransformerEncoderLayer"
    attn = layer.self_attn
    reasons = [
        (layer.norm_first, ".norm_first was True"),
        (not attn.batch_first, ".self_attn.batch_first was not True(use batch_first for better inference performance)"),
        (not attn._qkv_same_embed_dim, ".self_attn._qkv_same_embed_dim was not True"),
        (attn.in_proj_bias is None, ".self_attn was passed bias=False"),
        (not layer.activation_relu_or_gelu, ".activation_relu_or_gelu was not True"),
        (layer.norm1.eps != layer.norm2.eps, ".norm1.eps was not equal to encoder_layer.norm2.eps"),
        (attn.num_heads % 2 == 1, ".self_attn.num_heads is odd"),
    ]
    return next((reason for holds, reason in reasons if holds), "")


class TransformerDecoder(Module):
    """A stack of copies of a decoder layer."""

    norm: Any

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
                memory_key_padding_mask: Any = None, tgt_is_causal: bool | None = None,
                memory_is_causal: bool = False) -> Any:
        length = _get_seq_len(tgt, self.layers[0].self_attn.batch_first)
        tgt_is_causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal, length)
        output = tgt
        for layer in self.layers:
            output = layer(output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                           tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask,
                           tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """An encoder of `src`, and a decoder of `tgt` with cross-attention to the encoder's output."""

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
                 dim_feedforward: int = 2048, dropout: float = 0.1, activation: Activation = F.relu,
                 custom_encoder: Any = None, custom_decoder: Any = None, layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        self.encoder = custom_encoder
        if custom_encoder is None:
            self.encoder = TransformerEncoder(TransformerEncoderLayer(*options, **factory), num_encoder_layers,
                                              LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory))
        self.decoder = custom_decoder
        if custom_decoder is None:
            self.decoder = TransformerDecoder(TransformerDecoderLayer(*options, **factory), num_decoder_layers,
                                              LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory))
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None,
                src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
                src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Any:
        batch_dim = 0 if self.batch_first else 1
        if src.size(batch_dim) != tgt.size(batch_dim) and src.dim() == 3:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                            tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask,
                            tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
        """The causal mask: -inf above the diagonal."""
        return _generate_square_subsequent_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                xavier_uniform_(parameter)
