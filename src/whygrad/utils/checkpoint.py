"""torch.utils.checkpoint. Results and gradients are torch's; memory is not saved, for nothing is computed twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from whygrad._tensor import Tensor
from whygrad.autograd.modes import modes, refresh
from whygrad.functional.fresh import warn
from whygrad.why import record as why

_whygrad_internal_ = True

_CHOOSE = ("torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
           "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but "
           "if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for "
           "more details on the differences between the two variants.")


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, context_fn: Any = None,
               determinism_check: str = "default", debug: bool = False, early_stop: bool = True,
               preserve_rng_state: bool = True, **kwargs: Any) -> Any:
    """`function(*args, **kwargs)`."""
    if use_reentrant is None:
        warn(_CHOOSE)
    if use_reentrant is not False and kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant is not False and not any(isinstance(a, Tensor) and a.requires_grad for a in args):
        return _without_history(function, args)
    return function(*args, **kwargs)


def _without_history(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The reentrant variant is a custom Function of `args`: if none of these requires grad, neither does the result."""
    warn("None of the inputs have requires_grad=True. Gradients will be None")
    outer = modes.grad, modes.off_name, modes.off_site
    modes.grad, modes.off_name, modes.off_site = False, "checkpoint(use_reentrant=True)", why.site()
    refresh()
    try:
        return function(*args)
    finally:
        modes.grad, modes.off_name, modes.off_site = outer
        refresh()


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None,
                          **kwargs: Any) -> Any:
    """The functions (or the children of a Sequential) one after the other."""
    children: Sequence[Any] = list(functions.children()) if hasattr(functions, "children") else list(functions)
    for function in children:
        input = function(input)
    return input
