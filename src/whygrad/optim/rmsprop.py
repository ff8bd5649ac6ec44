"""RMSprop: steps divided by the root of a running average of squared gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.optim.elementwise import Elementwise, Numbers, lerp_
from whygrad.optim.options import check_options


class RMSprop(Elementwise):
    """`p -= lr * g / (rms(recent gradients) + eps)`; `centered` uses their standard deviation instead."""

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
                 weight_decay: float = 0, momentum: float = 0, centered: bool = False, capturable: bool = False,
                 foreach: bool | None = None, maximize: bool = False, differentiable: bool = False) -> None:
        check_options(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable})

    def buffers(self, group: dict[str, Any]) -> tuple[str, ...]:
        momentum = ("momentum_buffer",) if group["momentum"] > 0 else ()
        return ("square_avg", *momentum, "grad_avg") if group["centered"] else ("square_avg", *momentum)

    @staticmethod
    def update(xp: Any, p: Any, g: Any, numbers: Numbers, *buffers: Any) -> None:
        square_avg, *others = buffers
        alpha, momentum = numbers["alpha"], numbers["momentum"]
        square_avg *= alpha
        square_avg += (1 - alpha) * g * g
        variance = square_avg
        if numbers["centered"]:
            grad_avg = others[-1]
            lerp_(grad_avg, g, 1 - alpha)
            variance = square_avg - grad_avg * grad_avg
        denominator = xp.sqrt(variance) + numbers["eps"]
        if momentum > 0:
            momentum_buffer = others[0]
            momentum_buffer *= momentum
            momentum_buffer += g / denominator
            p -= numbers["lr"] * momentum_buffer
        else:
            p -= numbers["lr"] * g / denominator
