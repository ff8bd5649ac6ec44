"""NAdam: Adam with Nesterov's momentum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.optim.elementwise import Elementwise, Numbers, lerp_
from whygrad.optim.options import check_options


class NAdam(Elementwise):
    """Adam with Nesterov momentum: the step mixes the gradient and the updated first moment."""

    names = ("exp_avg", "exp_avg_sq")
    scalars = {"step": 0.0, "mu_product": 1.0}
    capturable_tensors = "params, mu_products and state_steps"

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
                 decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay, momentum_decay=momentum_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable})

    def advance(self, p: Tensor, state: dict[str, Any], numbers: Numbers) -> Numbers:
        numbers = super().advance(p, state, numbers)
        step = numbers["step"]
        mu, mu_next = [numbers["betas"][0] * (1.0 - 0.5 * 0.96 ** (n * numbers["momentum_decay"]))
                       for n in (step, step + 1)]
        mu_product = state["mu_product"]._array
        mu_product *= mu
        product = float(mu_product)
        return {**numbers, "share_of_gradient": (1.0 - mu) / (1.0 - product),
                "share_of_average": mu_next / (1.0 - product * mu_next)}

    @staticmethod
    def update(xp: Any, p: Any, g: Any, numbers: Numbers, *buffers: Any) -> None:
        exp_avg, exp_avg_sq = buffers
        lr = numbers["lr"]
        beta1, beta2 = numbers["betas"]
        lerp_(exp_avg, g, 1 - beta1)
        exp_avg_sq *= beta2
        exp_avg_sq += (1 - beta2) * g * g
        denominator = xp.sqrt(exp_avg_sq / (1 - beta2 ** numbers["step"])) + numbers["eps"]
        p -= lr * numbers["share_of_gradient"] * g / denominator
        p -= lr * numbers["share_of_average"] * exp_avg / denominator
