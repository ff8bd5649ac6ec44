"""whygrad: PyTorch's autograd on NumPy, which can always tell you why."""

from math import e, inf, nan, pi
from typing import TYPE_CHECKING

from whygrad.base import startup as _startup  # pauses the garbage collector

# isort: split
from whygrad import kernels as _kernels  # registers with base/acceleration.py, before others bind functions there

# isort: split
import whygrad.autograd
from whygrad import linalg, random
from whygrad import on_demand as _on_demand  # registers with base/on_demand.py
from whygrad.autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled
from whygrad.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from whygrad.base import dtypes, layouts
from whygrad.base.devices import device
from whygrad.base.dtypes import dtype, finfo, iinfo
from whygrad.base.layouts import layout, memory_format
from whygrad.compat import legacy, removed
from whygrad.compat.lazy import attribute as __getattr__
from whygrad.compat.lazy import names as __dir__
from whygrad.core.tensor import Size, Tensor
from whygrad.functional import protocol as _protocol
from whygrad.functional import return_types
from whygrad.functional.methods import install
from whygrad.functional.parameter import Buffer, Parameter
from whygrad.functional.run import FUNCTIONS
from whygrad.random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

if TYPE_CHECKING:  # loaded on first access (see compat/lazy.py)
    from whygrad.why.explain import Explanation as Explanation
    from whygrad.why.explain import explain as explain
    from whygrad.why.formulas import formula as formula
    from whygrad.why.plots import Flow as Flow
    from whygrad.why.plots import flow as flow
    from whygrad.why.plots import plot_flow as plot_flow
    from whygrad.why.svg import Drawing as Drawing
    from whygrad.why.svg import graph as graph

# While whygrad stands in for torch (see alias.py), torch's version is told instead.
__version__ = "0.1.0"
newaxis = None

install()
_protocol.install()
legacy.install()
globals().update({**dtypes.BY_NAME, **layouts.BY_NAME, **legacy.TYPES})
globals().update(FUNCTIONS)
_startup.finish()

# torch.backends and torch.ops are others (see base/torch_modules.py) than the packages of these names.
del backends, ops  # type: ignore[name-defined]  # noqa: F821
