"""`explain(t)` and `explain(model)` for tensors and modules of PyTorch."""

from __future__ import annotations

from typing import Any, overload

import torch

from whygrad.for_torch.recording import on_torch
from whygrad.for_torch.tensor_facts import quietly
from whygrad.why.answers import Explanation
from whygrad.why.explain import explain as explain_on_engine
from whygrad.why.parameters import ParameterTable


@overload
def explain(t: torch.Tensor, loss: torch.Tensor | None = None) -> Explanation: ...


@overload
def explain(t: torch.nn.Module, loss: torch.Tensor | None = None) -> ParameterTable: ...


def explain(t: Any, loss: Any = None) -> Any:
    """Explain why `t.grad` is what it is after the backward of `loss`, by default after the last backward that was recorded.

    For a module: one table with all its parameters. What happened while nothing was recorded is not known, and not guessed.
    """
    with on_torch(), quietly():
        return explain_on_engine(t, loss=loss)
