"""whygrad: PyTorch's autograd on NumPy, which can always tell you why."""

from math import e, inf, nan, pi

import whygrad.autograd.calls
from whygrad import _protocol, dtypes, layouts, legacy, linalg, random, return_types
from whygrad._lazy import attribute as __getattr__
from whygrad._methods import install
from whygrad._tensor import Size, Tensor
from whygrad.autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from whygrad.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from whygrad.devices import device
from whygrad.dtypes import dtype, finfo, iinfo
from whygrad.functional.run import FUNCTIONS
from whygrad.layouts import layout, memory_format
from whygrad.parameter import Buffer, Parameter
from whygrad.random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

# While whygrad stands in for torch (see alias.py), torch's version is told instead.
__version__ = "0.1.0"
newaxis = None

install()
_protocol.install()
legacy.install()
globals().update({**dtypes.BY_NAME, **layouts.BY_NAME, **legacy.TYPES})
globals().update(FUNCTIONS)
