"""The computation of nn.CrossMapLRN2d."""

from __future__ import annotations

from typing import Any

import whygrad as torch
from whygrad.autograd.function import Function


class CrossMapLRN2d(Function):
    """torch's implementation, with its two flaws: the backward uses another window of channels than the forward, and the
    first channel stays in every later window of the forward."""

    @staticmethod
    def forward(ctx: Any, input: Any, size: int, alpha: float, beta: float, k: float) -> Any:
        if input.ndim != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.ndim}D instead.")
        channel = torch.arange(input.shape[1])
        distance = channel[:, None] - channel
        before = (size - 1) // 2 + 1
        window = (distance.abs() < before) | ((distance >= before) & (channel == 0))
        scale = torch.einsum("cd,ndhw->nchw", window.to(input.dtype), input * input) * (alpha / size) + k
        output = scale ** -beta * input
        ctx.save_for_backward(input, output)
        ctx.scale, ctx.size, ctx.alpha, ctx.beta = scale, size, alpha, beta
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        input, output = ctx.saved_tensors
        channel = torch.arange(input.shape[1])
        last = ctx.size - 1 - int(ctx.size - (ctx.size - 1) / 2)
        ahead = channel - channel[:, None]
        window = (ahead <= last) & (ahead > last - ctx.size)
        ratio = torch.einsum("cd,ndhw->nchw", window.to(input.dtype), grad_output * output / ctx.scale)
        factor = 2 * ctx.alpha * ctx.beta / ctx.size
        return ctx.scale ** -ctx.beta * grad_output - factor * input * ratio, None, None, None, None
