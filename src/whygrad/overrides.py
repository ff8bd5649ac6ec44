"""torch.overrides: the questions programs ask before they let a class of their own take over a function.

In whygrad nobody can take over: a Tensor subclass that defines `__torch_function__` can be defined, as packages do when
they are imported, and has no instances: so it is never passed over in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self

from whygrad.compat.absent import absent_from
from whygrad.core.tensor import Tensor

__getattr__ = absent_from("torch.overrides")

REFUSAL = ("{} is not available in whygrad: calls of torch functions cannot be intercepted. Write a function around the tensor, "
           "or use torch.autograd.Function, hooks or torch.autograd.graph.saved_tensors_hooks")


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments would take over."""
    return any(not isinstance(x, Tensor) and hasattr(type(x), "__torch_function__") for x in relevant_args)


def has_torch_function_unary(tensor: Any) -> bool:
    return has_torch_function((tensor,))


def has_torch_function_variadic(*tensors: Any) -> bool:
    return has_torch_function(tensors)


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Ask the arguments that would take over, first come first served."""
    asked = [x for x in relevant_args if has_torch_function_unary(x)]
    types = tuple(dict.fromkeys(type(x) for x in asked))
    for x in asked:
        result = x.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(f"no implementation found for '{public_api.__module__}.{public_api.__name__}' on types that implement "
                    f"__torch_function__: {list(types)}")


def is_tensor_like(inp: Any) -> bool:
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


class TorchFunctionMode:
    """Would see every call in its block. It can be named and derived from, not entered."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        raise NotImplementedError(REFUSAL.format(f"entering {type(self).__name__}"))

    def __exit__(self, *error: object) -> None:
        return None


class BaseTorchFunctionMode(TorchFunctionMode):
    """The mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))

    def __enter__(self) -> Self:
        return self if type(self) is BaseTorchFunctionMode else super().__enter__()


class DisableTorchFunctionSubclass:
    """A block in which subclasses do not take over: here that is every block."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        return None


def refuse_overrides(kind: type) -> None:
    """For a subclass of Tensor whose own `__torch_function__` or `__torch_dispatch__` would never be called."""
    from whygrad.compat.missing import Missing

    for name in ("__torch_function__", "__torch_dispatch__"):
        if name in vars(kind) and not isinstance(vars(kind)[name], Missing):
            kind.__new__ = _refusal(f"{kind.__name__}.{name}")  # type: ignore[method-assign]


def _refusal(name: str) -> Any:
    def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(REFUSAL.format(name))

    return staticmethod(__new__)


__all__ = ["BaseTorchFunctionMode", "DisableTorchFunctionSubclass", "TorchFunctionMode", "handle_torch_function",
           "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like"]
