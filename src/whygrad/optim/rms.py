"""Steps scaled by the size of earlier gradients: Adagrad, Adadelta and RMSprop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.optim.elementwise import Elementwise, Numbers, lerp_
from whygrad.optim.options import check_fused, check_options


class Adagrad(Elementwise):
    """`p -= lr * g / (sqrt(sum of g * g) + eps)`."""

    names = ("sum",)
    takes_sparse = "rows"

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
                 initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
                 maximize: bool = False, differentiable: bool = False, fused: bool | None = None) -> None:
        check_options(lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value,
                      eps=eps)
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused})
        check_fused(fused, foreach, differentiable)
        # Unlike the other optimizers, Adagrad has its state before the first step.
        for group in self.param_groups:
            for p in group["params"]:
                self.initialize(p, self.state[p], group)

    def first_value(self, name: str, group: dict[str, Any]) -> Any:
        return self.defaults["initial_accumulator_value"] if name == "sum" else 0.0

    def share_memory(self) -> None:
        for state in self.state.values():
            state["sum"].share_memory_()

    @staticmethod
    def update(xp: Any, p: Any, g: Any, numbers: Numbers, *buffers: Any) -> None:
        total, = buffers
        total += g * g
        lr = numbers["lr"] / (1 + (numbers["step"] - 1) * numbers["lr_decay"])
        p -= lr * g / (xp.sqrt(total) + numbers["eps"])


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
