"""torch.nn.modules: the same classes under the names of the files where torch has them.

Programs write `from torch.nn.modules.batchnorm import _BatchNorm`; such a name is mapped to our file(s).
"""

from __future__ import annotations

import sys
from types import ModuleType

from whygrad.nn import activation as _activation
from whygrad.nn import (
    adaptive_softmax,
    containers,
    conv,
    cross_map,
    dropout,
    embedding,
    fold,
    hooks,
    lazy,
    linear,
    loss,
    module,
    multihead_attention,
    normalization,
    padding,
    pooling,
    rnn,
    shape,
    shuffle,
    transformer,
    upsampling,
)
from whygrad.nn.module import Module

HOMES: dict[str, tuple[ModuleType, ...]] = {
    "activation": (_activation, multihead_attention),
    "adaptive": (adaptive_softmax,),
    "_functions": (cross_map,),
    "batchnorm": (normalization,),
    "channelshuffle": (shuffle,),
    "container": (containers,),
    "conv": (conv,),
    "distance": (shape,),
    "dropout": (dropout,),
    "flatten": (shape,),
    "fold": (fold,),
    "instancenorm": (normalization,),
    "lazy": (lazy,),
    "linear": (linear,),
    "loss": (loss,),
    "module": (module, hooks),
    "normalization": (normalization,),
    "padding": (padding,),
    "pixelshuffle": (shuffle,),
    "pooling": (pooling,),
    "rnn": (rnn,),
    "sparse": (embedding,),
    "transformer": (transformer,),
    "upsampling": (upsampling,),
}

for _name, _files in HOMES.items():
    _home = ModuleType(f"{__name__}.{_name}", _files[0].__doc__)
    for _file in _files:
        _members = {key: value for key, value in vars(_file).items() if not key.startswith("__")}
        vars(_home).update(_members)
        vars(sys.modules[__name__]).update(
            {key: value for key, value in _members.items() if isinstance(value, type) and issubclass(value, Module)})
    sys.modules[_home.__name__] = vars(sys.modules[__name__])[_name] = _home
