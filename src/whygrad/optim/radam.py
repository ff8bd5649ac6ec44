"""RAdam: Adam with a rectified variance of the adaptive learning rate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.optim.elementwise import Elementwise, Numbers, lerp_
from whygrad.optim.options import check_options


class RAdam(Elementwise):
    """Momentum alone for the first few steps, then Adam with a rectified step size."""

    names = ("exp_avg", "exp_avg_sq")

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable})

    @staticmethod
    def update(xp: Any, p: Any, g: Any, numbers: Numbers, *buffers: Any) -> None:
        exp_avg, exp_avg_sq = buffers
        beta1, beta2 = numbers["betas"]
        step = numbers["step"]
        lerp_(exp_avg, g, 1 - beta1)
        exp_avg_sq *= beta2
        exp_avg_sq += (1 - beta2) * g * g
        correction2 = 1 - beta2**step
        move = exp_avg / (1 - beta1**step) * numbers["lr"]
        # The length of the approximated simple moving average: its limit, and the value at this step.
        rho_inf = 2 / (1 - beta2) - 1
        rho = rho_inf - 2 * step * beta2**step / correction2
        if rho > 5.0:
            rectification = ((rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho)) ** 0.5
            move = move * (correction2**0.5 / (xp.sqrt(exp_avg_sq) + numbers["eps"])) * rectification
        p -= move
