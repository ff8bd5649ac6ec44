"""torch._C._functorch: the levels of transforms, by number, and what tensors are to them."""

from __future__ import annotations

from typing import Any

from whygrad.autograd.batched import BatchedTensor, batched, moved, spread
from whygrad.core.modes import grad_state
from whygrad.core.tensor import Tensor


def is_batchedtensor(t: Tensor) -> bool:
    return isinstance(t, BatchedTensor)


is_functorch_wrapped_tensor = is_batchedtensor


def is_gradtrackingtensor(t: Tensor) -> bool:
    """False: a transform of reverse mode does not wrap its tensors."""
    return False


def get_unwrapped(t: Tensor) -> Tensor:
    """The whole of a batched tensor, with the batch as its first dimension."""
    return t._whole if isinstance(t, BatchedTensor) else t


def maybe_current_level() -> int | None:
    """The number of the innermost transform; None outside of all."""
    return len(grad_state.levels) or None


def maybe_get_bdim(t: Tensor) -> int:
    return 0 if isinstance(t, BatchedTensor) else -1


def maybe_get_level(t: Tensor) -> int:
    """The number of the transform that a batched tensor belongs to, counted from 1 at the outermost; -1 for others."""
    return grad_state.levels.index(t._level) + 1 if isinstance(t, BatchedTensor) else -1


def _add_batch_dim(t: Tensor, dim: int, level: int) -> Tensor:
    """One element of `t` to the vmap of this number: `dim` is the batch."""
    dim %= t._array.ndim
    return batched(moved(t, dim, 0), grad_state.levels[level - 1], dim)


def _remove_batch_dim(t: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    whole = t._whole if isinstance(t, BatchedTensor) and maybe_get_level(t) == level else spread(t, batch_size)
    return moved(whole, 0, out_dim % whole._array.ndim)


def __getattr__(name: str) -> Any:
    from whygrad.base.unsupported import missing

    if name.startswith("__"):
        raise AttributeError(name)
    return missing(f"torch._C._functorch.{name}")
