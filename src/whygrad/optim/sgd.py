"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whygrad._tensor import Tensor
from whygrad.optim.elementwise import Elementwise, Numbers, as_number, check_fused, check_lr, check_nonnegative

_whygrad_internal_ = True


class SGD(Elementwise):
    """`p -= lr * g`, where `g` may be a decaying sum of all gradients so far (`momentum`)."""

    scalars: dict[str, float] = {}

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-3, momentum: float = 0, dampening: float = 0,
                 weight_decay: float | Tensor = 0, nesterov: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None) -> None:
        # Unlike the others, SGD lets NaN pass.
        if as_number(lr) == as_number(lr):
            check_lr(lr)
        check_nonnegative(momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused})
        check_fused(fused, foreach, differentiable)

    def buffers(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] != 0 else ()
