"""Adamax: Adam with the infinity norm in place of the second moment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.optim.elementwise import Elementwise, Numbers, lerp_
from whygrad.optim.options import check_options


class Adamax(Elementwise):
    """`p -= lr * m / u`, where `m` averages the gradient and `u` is a decaying maximum of its magnitude."""

    names = ("exp_avg", "exp_inf")

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    @staticmethod
    def update(xp: Any, p: Any, g: Any, numbers: Numbers, *buffers: Any) -> None:
        exp_avg, exp_inf = buffers
        beta1, beta2 = numbers["betas"]
        lerp_(exp_avg, g, 1 - beta1)
        exp_inf[...] = xp.maximum(exp_inf * beta2, xp.abs(g) + numbers["eps"])
        p -= numbers["lr"] / (1 - beta1 ** numbers["step"]) * exp_avg / exp_inf
