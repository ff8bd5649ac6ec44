"""Adadelta: gradient steps scaled by the ratio of running RMS values of updates and gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.optim.elementwise import Elementwise, Numbers
from whygrad.optim.options import check_options


class Adadelta(Elementwise):
    """`p -= lr * g * rms(recent steps) / rms(recent gradients)`."""

    names = ("square_avg", "acc_delta")
    capturable_devices = ("cuda", "xpu", "hpu", "privateuseone")

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6,
                 weight_decay: float = 0, foreach: bool | None = None, *, capturable: bool = False,
                 maximize: bool = False, differentiable: bool = False) -> None:
        check_options(lr=lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_options(eps=eps, weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable})

    @staticmethod
    def update(xp: Any, p: Any, g: Any, numbers: Numbers, *buffers: Any) -> None:
        square_avg, acc_delta = buffers
        rho, eps = numbers["rho"], numbers["eps"]
        square_avg *= rho
        square_avg += (1 - rho) * g * g
        delta = xp.sqrt(acc_delta + eps) / xp.sqrt(square_avg + eps) * g
        acc_delta *= rho
        acc_delta += (1 - rho) * delta * delta
        p -= numbers["lr"] * delta
