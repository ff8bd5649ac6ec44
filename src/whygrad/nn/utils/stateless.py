"""The old names of what calls a module with other parameters and buffers than its own."""

from __future__ import annotations

import warnings
from typing import Any

from whygrad.base import errors
from whygrad.func.stateless import _functional_call
from whygrad.func.stateless import _reparametrize_module as _reparametrize_module

__all__ = ["functional_call"]


def functional_call(module: Any, parameters_and_buffers: dict[str, Any], args: Any = None,
                    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:
    """The old name of `torch.func.functional_call`."""
    warnings.warn("`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
                  "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
                  FutureWarning, stacklevel=errors.user_stacklevel())
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
