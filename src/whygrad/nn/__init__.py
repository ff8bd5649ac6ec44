"""torch.nn: modules, containers, layers and losses."""

from whygrad.base.unsupported import absent_from
from whygrad.functional.parameter import Buffer, Parameter
from whygrad.nn import functional, grad, init, modules, parallel, parameter, utils
from whygrad.nn.activation import *  # noqa: F403
from whygrad.nn.adaptive_softmax import AdaptiveLogSoftmaxWithLoss
from whygrad.nn.containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from whygrad.nn.conv import *  # noqa: F403
from whygrad.nn.dropout import AlphaDropout, Dropout, Dropout1d, Dropout2d, Dropout3d, FeatureAlphaDropout
from whygrad.nn.embedding import Embedding, EmbeddingBag
from whygrad.nn.functional.linear_cross_entropy import LinearCrossEntropyOptions
from whygrad.nn.images import *  # noqa: F403
from whygrad.nn.lazy import UninitializedBuffer, UninitializedParameter
from whygrad.nn.linear import Bilinear, Identity, LazyLinear, Linear
from whygrad.nn.loss import *  # noqa: F403
from whygrad.nn.module import Module
from whygrad.nn.multihead_attention import MultiheadAttention
from whygrad.nn.normalization import *  # noqa: F403
from whygrad.nn.padding import *  # noqa: F403
from whygrad.nn.parallel import DataParallel
from whygrad.nn.pooling import *  # noqa: F403
from whygrad.nn.rnn import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNBase, RNNCell, RNNCellBase
from whygrad.nn.shape import CosineSimilarity, Flatten, PairwiseDistance, Unflatten
from whygrad.nn.transformer import *  # noqa: F403

__getattr__ = absent_from("torch.nn")

# The classes, and the submodules that torch has as well; not the files they are written in.
__all__ = [*[name for name in dir() if name[0].isupper()], "functional", "init", "modules", "parallel", "parameter", "utils"]
