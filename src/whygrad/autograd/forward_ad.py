"""Forward-mode derivatives for users: dual levels, and tensors with a tangent in them."""

from __future__ import annotations

from typing import Any, NamedTuple

from whygrad.autograd.dual import DualLevel, tangent_like
from whygrad.autograd.grad_mode import DecoratorContextManager
from whygrad.core.door import entered, is_batched, with_levels
from whygrad.core.modes import grad_state
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor
from whygrad.ops.table import TABLE

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class _Entered(NamedTuple):
    level: DualLevel
    context: Any


# The levels that users have entered: at most one, as in torch. torch.func nests levels of its own.
_entered: list[_Entered] = []


def enter_dual_level() -> int:
    """Begin a level, in which tensors can have a tangent."""
    if _entered:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    level = DualLevel()
    context = entered(level)
    context.__enter__()
    _entered.append(_Entered(level, context))
    return 0


def __getattr__(name: str) -> Any:
    if name == "_current_level":  # torch's module has it as a variable: -1 outside of any level
        return len(_entered) - 1
    raise AttributeError(f"module 'torch.autograd.forward_ad' has no attribute {name!r}")


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: all its tangents are gone."""
    current = len(_entered) - 1
    if level is not None and level != current:
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not "
                           "supported.")
    if current < 0:
        raise RuntimeError("Dual level must be a positive number.")
    last = _entered.pop()
    last.context.__exit__(None, None, None)
    last.level.clear()


def _innermost() -> DualLevel | None:
    """The level that make_dual and unpack_dual are about."""
    return next((level for level in reversed(grad_state.levels) if isinstance(level, DualLevel)), None)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of `tensor` that moves in the direction of `tangent`."""
    current = _innermost()
    if current is None or (level is not None and level < 0):
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to "
                           "enter_dual_level() first.")
    for name, t in (("primal", tensor), ("tangent", tangent)):
        if t._array.dtype.kind not in "fcV":
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    for t in (tensor, tangent):
        if is_batched(t) and t._level.randomness != "refused":  # type: ignore[attr-defined]  # torch._vmap_internals may
            raise RuntimeError("Batching rule not implemented for aten::_make_dual; the fallback path doesn't work on out= or "
                               "view ops.")
    return attach_tangent(current, tensor, tangent)


def attach_tangent(level: DualLevel, tensor: Tensor, tangent: Tensor) -> Tensor:
    if tensor._array.shape != tangent._array.shape:
        raise RuntimeError("Trying to set a forward gradient that has a different size than that of the original Tensor, this "
                           f"is not supported. Tensor is of size {list(tensor._array.shape)} while the given forward gradient "
                           f"is of size {list(tangent._array.shape)}.")
    if level.tangent(tensor) is not None:
        raise RuntimeError("Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is "
                           "not supported.")
    if level.tangent(tangent) is not None:
        raise RuntimeError("Setting a forward grad that itself has a forward gradient at the same level0 is not supported.")
    dual: Tensor = _below(level, apply, TABLE["alias"], tensor)
    if tangent.requires_grad and grad_state.grad:
        tangent = _below(level, level.through_gate, tangent)
    level.attach(dual, _below(level, tangent_like, dual, tangent))
    return dual


def _below(level: DualLevel, function: Any, *args: Any) -> Any:
    """Call a function that does not see the level, nor those inside it."""
    return with_levels(grad_state.levels[:grad_state.levels.index(level)], function, *args)


class UnpackedDualTensor(NamedTuple):
    """A primal and its tangent, which is None if it does not move."""

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent of a dual tensor."""
    current = _innermost()
    if current is None or (level is not None and level < 0):
        return UnpackedDualTensor(tensor, None)
    tangent = current.tangent(tensor)
    given = None if tangent is None else tangent.__dict__.get("_given_as", lambda: None)()
    primal = _below(current, apply, TABLE["alias"], tensor)
    if primal._view is not None and current.holds(primal._view.base):
        # A view of what moves would move along: the primal keeps the memory and the history, but is no view.
        primal._node, primal._view, primal._indirect = primal._view.node, None, False
    return UnpackedDualTensor(primal, tangent if given is None else given)


class dual_level(DecoratorContextManager):
    """`with dual_level():` is a level."""

    def __enter__(self) -> int:  # type: ignore[override]
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()


def _is_fwd_grad_enabled() -> bool:
    """False inside the forward of a custom Function as well: there nothing is recorded."""
    return grad_state.forward_ad and (grad_state.grad or not grad_state.off_name.endswith(".forward"))


class _set_fwd_grad_enabled(DecoratorContextManager):
    """Switch forward mode off or on, from the moment it is constructed."""

    def __init__(self, mode: bool) -> None:
        self.prev = grad_state.forward_ad
        grad_state.forward_ad = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        grad_state.forward_ad = self.prev
