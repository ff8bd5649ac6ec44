"""functorch: the older names of torch.func, each of which warns that it is deprecated."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from whygrad import func
from whygrad.base.errors import warn
from whygrad.compat.version import __version__ as __version__
from whygrad.func import make_functional as _make_functional
from whygrad.func.make_functional import FunctionalModule as FunctionalModule
from whygrad.func.make_functional import FunctionalModuleWithBuffers as FunctionalModuleWithBuffers


def _deprecated(function: Callable[..., Any], successor: str) -> Callable[..., Any]:
    text = (f"We've integrated functorch into PyTorch. As the final step of the integration, `functorch.{function.__name__}` is "
            f"deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. Please use `{successor}` "
            "instead; see the PyTorch 2.0 release notes and/or the `torch.func` migration guide for more details "
            "https://pytorch.org/docs/main/func.migrating.html")

    @functools.wraps(function)
    def deprecated(*args: Any, **kwargs: Any) -> Any:
        warn(text, FutureWarning)
        return function(*args, **kwargs)

    return deprecated


vmap = _deprecated(func.vmap, "torch.vmap")
grad = _deprecated(func.grad, "torch.func.grad")
grad_and_value = _deprecated(func.grad_and_value, "torch.func.grad_and_value")
vjp = _deprecated(func.vjp, "torch.func.vjp")
jvp = _deprecated(func.jvp, "torch.func.jvp")
jacrev = _deprecated(func.jacrev, "torch.func.jacrev")
jacfwd = _deprecated(func.jacfwd, "torch.func.jacfwd")
hessian = _deprecated(func.hessian, "torch.func.hessian")
functionalize = _deprecated(func.functionalize, "torch.func.functionalize")
make_functional = _deprecated(_make_functional.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _deprecated(_make_functional.make_functional_with_buffers, "torch.func.functional_call")
combine_state_for_ensemble = _deprecated(_make_functional.combine_state_for_ensemble, "torch.func.stack_module_state")
