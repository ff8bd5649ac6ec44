"""torch.nn.modules: the same classes under the names of the files where torch has them.

Programs write `from torch.nn.modules.batchnorm import _BatchNorm`; such a name is mapped to our file(s).
"""

import sys
from importlib import import_module
from types import ModuleType

from whygrad.nn.hooks import everywhere
from whygrad.nn.module import Module

# torch's file -> ours
HOMES = {
    "activation": ("activation", "multihead_attention"), "adaptive": ("adaptive_softmax",), "_functions": ("cross_map",),
    "batchnorm": ("normalization",), "channelshuffle": ("images",), "container": ("containers",), "conv": ("conv",),
    "distance": ("shape",), "dropout": ("dropout",), "flatten": ("shape",), "fold": ("images",),
    "instancenorm": ("normalization",), "lazy": ("lazy",), "linear": ("linear",), "loss": ("loss",),
    "module": ("module", "hooks", "state"), "normalization": ("normalization",), "padding": ("padding",),
    "pixelshuffle": ("images",), "pooling": ("pooling",), "rnn": ("rnn",), "sparse": ("embedding",),
    "transformer": ("transformer",), "upsampling": ("images",),
}

_here = vars(sys.modules[__name__])
for _name, _files in HOMES.items():
    _home = ModuleType(f"{__name__}.{_name}")
    for _file in _files:
        _module = import_module(f"whygrad.nn.{_file}")
        _home.__doc__ = _home.__doc__ or _module.__doc__
        _members = {key: value for key, value in vars(_module).items() if not key.startswith("__")}
        vars(_home).update(_members)
        _here.update({key: value for key, value in _members.items() if isinstance(value, type) and issubclass(value, Module)})
    sys.modules[_home.__name__] = _here[_name] = _home

vars(sys.modules[f"{__name__}.module"]).update({f"_global_{_kind}": getattr(everywhere, _ours) for _kind, _ours in {
    "forward_pre_hooks": "forward_pre", "forward_hooks": "forward", "forward_hooks_with_kwargs": "forward_with_kwargs",
    "forward_hooks_always_called": "forward_always", "backward_pre_hooks": "backward_pre", "backward_hooks": "backward",
    "parameter_registration_hooks": "parameter_registration", "buffer_registration_hooks": "buffer_registration",
    "module_registration_hooks": "module_registration"}.items()})
