"""The CTC loss with a reduction by name."""

from __future__ import annotations

from typing import Any

from whygrad.functional.ctc import ctc_loss as torch_ctc_loss
from whygrad.functional.run import nn_function
from whygrad.nn.functional.reduction import reduction_of


@nn_function(autocast="float32")
def ctc_loss(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0,
             reduction: str = "mean", zero_infinity: bool = False) -> Any:
    """Minus the log-likelihood of the label sequences `targets` under log-probabilities (steps, batch, classes)."""
    code = ("none", "mean", "sum").index(reduction_of(reduction))
    return torch_ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, code, zero_infinity)
