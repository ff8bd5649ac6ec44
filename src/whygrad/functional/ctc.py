"""The CTC loss: arguments, checks and reduction around its row."""

from __future__ import annotations

from typing import Any

import numpy as np

from whygrad.core.record import apply
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional.arguments import invalid_combination, is_integer, not_implemented
from whygrad.functional.run import made_under_transforms, public, rows
from whygrad.ops.table import TABLE

CHECKING = "(while checking arguments for ctc_loss_allocate_outputs)"


@public(method=False, autocast="float32")
@made_under_transforms("looped")
def ctc_loss(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 0,
             zero_infinity: bool = False) -> Tensor:
    """Minus the log-likelihood of the label sequences `targets`; `reduction` is 0 (none), 1 (mean) or 2 (sum)."""
    both = (input_lengths, target_lengths)
    in_tensors = all(isinstance(values, Tensor) for values in both)
    in_lists = all(isinstance(values, (tuple, list)) and all(map(is_integer, values)) for values in both)
    if not (isinstance(log_probs, Tensor) and isinstance(targets, Tensor) and (in_tensors or in_lists)):
        raise invalid_combination("ctc_loss", log_probs, targets, *both, blank, reduction, zero_infinity)
    steps, lengths = _numbers("input", input_lengths), _numbers("target", target_lengths)
    x: Any = log_probs
    if not x._array.size:
        raise RuntimeError("log_probs tensor must not be empty")
    batched = x._array.ndim == 3
    if not batched:
        x = x.unsqueeze(1)
    if x._array.dtype not in (np.float32, np.float64):
        raise not_implemented("ctc_loss_cpu", x.dtype)
    if x._array.ndim != 3:
        raise RuntimeError(f"Expected 3-dimensional tensor, but got {x._array.ndim}-dimensional tensor for argument #1 "
                           f"'log_probs' {CHECKING}")
    _check_lengths(x._array.shape, steps, lengths, blank)
    labels = wrap(_padded(targets._array, lengths))
    if labels._array.size and not 0 <= labels._array.min() <= labels._array.max() < x._array.shape[2]:
        raise RuntimeError(f"targets must be between 0 and {x._array.shape[2] - 1}")
    losses, _ = apply(TABLE["ctc_loss"], x, labels, steps=steps, lengths=lengths, blank=blank,
                      zero_infinity=zero_infinity)
    return _reduced(losses, lengths, reduction, zero_infinity, batched)


def _reduced(losses: Any, lengths: tuple[int, ...], reduction: int, zero_infinity: bool, batched: bool) -> Any:
    if zero_infinity:
        zero = wrap(np.zeros((), losses._array.dtype))
        losses = rows.where(wrap(losses._array == np.inf), zero, losses)
    if reduction == 1:
        return (losses / wrap(np.maximum(np.array(lengths, np.int64), 1))).mean()
    if reduction == 2:
        return losses.sum()
    return losses if batched else losses.squeeze(0)


def _numbers(name: str, lengths: Any) -> tuple[int, ...]:
    if not isinstance(lengths, Tensor):
        return tuple([int(n) for n in lengths])
    if lengths._array.dtype.kind not in "iu":
        raise RuntimeError(f"{name}_lengths must be integral")
    return tuple(lengths._array.reshape(-1).tolist())


def _check_lengths(shape: tuple[int, ...], steps: tuple[int, ...], lengths: tuple[int, ...], blank: int) -> None:
    if not 0 <= blank < shape[2]:
        raise RuntimeError("blank must be in label range")
    for name, values in (("input", steps), ("target", lengths)):
        if len(values) != shape[1]:
            raise RuntimeError(f"{name}_lengths must be of size batch_size")
    for name, values in (("input", steps), ("target", lengths)):
        if min(values) < 0:
            raise RuntimeError(f"Expected {name}_lengths to have value at least 0, but got value {min(values)} {CHECKING}")
    if max(steps) > shape[0]:
        raise RuntimeError(f"Expected input_lengths to have value at most {shape[0]}, but got value {max(steps)} "
                           f"{CHECKING}")


def _padded(targets: np.ndarray, lengths: tuple[int, ...]) -> np.ndarray:
    """Label sequences as (batch, longest), with zeros behind the shorter ones."""
    longest = max(lengths)
    where = f"for argument #2 'targets' {CHECKING}"
    wanted = np.arange(longest) < np.array(lengths)[:, None]
    padded = np.zeros(wanted.shape, np.int64)
    if targets.ndim == 1:
        if len(targets) != sum(lengths):
            raise RuntimeError(f"Expected tensor to have size {sum(lengths)} at dimension 0, but got size {len(targets)} "
                               f"{where}")
        padded[wanted] = targets
        return padded
    if targets.ndim != 2:
        raise RuntimeError(f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor {where}")
    if len(targets) != len(lengths):
        raise RuntimeError(f"Expected tensor to have size {len(lengths)} at dimension 0, but got size {len(targets)} {where}")
    if targets.shape[1] < longest:
        raise RuntimeError(f"Expected tensor to have size at least {longest} at dimension 1, but got size "
                           f"{targets.shape[1]} {where}")
    padded[wanted] = targets[:, :longest][wanted]
    return padded
