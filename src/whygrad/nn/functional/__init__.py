"""torch.nn.functional: layers and losses as functions."""

import whygrad as torch
from whygrad.base.unsupported import absent_from as _absent_from
from whygrad.functional.activation import (
    celu,
    celu_,
    elu,
    elu_,
    gelu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    relu_,
    selu,
    selu_,
    silu,
    softplus,
    softsign,
    tanhshrink,
    threshold,
    threshold_,
)
from whygrad.functional.distance import cosine_similarity, pairwise_distance
from whygrad.functional.linalg import linear
from whygrad.functional.pairwise import pdist
from whygrad.functional.rearrange import pad
from whygrad.nn.functional.activation import glu, rrelu, rrelu_, sigmoid, softshrink, tanh
from whygrad.nn.functional.attention import multi_head_attention_forward, scaled_dot_product_attention
from whygrad.nn.functional.bags import embedding_bag
from whygrad.nn.functional.bilinear import bilinear
from whygrad.nn.functional.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_tbc,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from whygrad.nn.functional.ctc import ctc_loss
from whygrad.nn.functional.linear_cross_entropy import linear_cross_entropy
from whygrad.nn.functional.losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cross_entropy,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    nll_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from whygrad.nn.functional.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    rms_norm,
)
from whygrad.nn.functional.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from whygrad.nn.functional.regularization import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    embedding,
    feature_alpha_dropout,
    one_hot,
)
from whygrad.nn.functional.resampling import (
    affine_grid,
    channel_shuffle,
    fold,
    grid_sample,
    interpolate,
    pixel_shuffle,
    pixel_unshuffle,
    unfold,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)
from whygrad.nn.functional.softmax import gumbel_softmax, log_softmax, softmax, softmin
from whygrad.nn.modules.utils import _pair, _single, _triple

__getattr__ = _absent_from("torch.nn.functional")

# The functions; not the files they are written in.
__all__ = [name for name, value in list(globals().items()) if callable(value) and not name.startswith("_")]
