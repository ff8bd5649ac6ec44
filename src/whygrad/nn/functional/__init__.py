"""torch.nn.functional: layers and losses as functions."""

import whygrad as torch
from whygrad.base.unsupported import absent_from as _absent_from
from whygrad.functional.activation import *  # noqa: F403
from whygrad.functional.distance import cosine_similarity, pairwise_distance
from whygrad.functional.linalg import linear
from whygrad.functional.pairwise import pdist
from whygrad.functional.rearrange import pad
from whygrad.nn import grad
from whygrad.nn.functional.activation import *  # noqa: F403
from whygrad.nn.functional.attention import multi_head_attention_forward, scaled_dot_product_attention
from whygrad.nn.functional.bags import embedding_bag
from whygrad.nn.functional.bilinear import bilinear
from whygrad.nn.functional.convolution import *  # noqa: F403
from whygrad.nn.functional.linear_cross_entropy import linear_cross_entropy
from whygrad.nn.functional.losses import *  # noqa: F403
from whygrad.nn.functional.normalization import *  # noqa: F403
from whygrad.nn.functional.pooling import *  # noqa: F403
from whygrad.nn.functional.regularization import *  # noqa: F403
from whygrad.nn.functional.resampling import *  # noqa: F403
from whygrad.nn.modules.utils import _pair, _single, _triple

__getattr__ = _absent_from("torch.nn.functional")

# The functions; not the files they are written in.
__all__ = [name for name, value in list(globals().items()) if callable(value) and not name.startswith("_")]
