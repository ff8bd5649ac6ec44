"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from whygrad.core.tensor import Tensor, wrap
from whygrad.optim.elementwise import Elementwise, Numbers, on_arrays, on_rows
from whygrad.optim.options import check_fused, check_options


class SGD(Elementwise):
    """`p -= lr * g`, where `g` may be a decaying sum of all gradients so far (`momentum`)."""

    scalars: dict[str, float] = {}

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-3, momentum: float = 0, dampening: float = 0,
                 weight_decay: float | Tensor = 0, nesterov: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None) -> None:
        check_options(True, lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused})
        check_fused(fused, foreach, differentiable)

    def buffers(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] != 0 else ()

    def initialize(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """The buffer is created later, because a checkpoint may hold None for it."""

    def advance(self, p: Tensor, state: dict[str, Any], numbers: Numbers) -> Numbers:
        if numbers["momentum"] == 0:
            return numbers
        first = state.get("momentum_buffer") is None
        if first:
            state["momentum_buffer"] = wrap(np.zeros_like(p._array))
        return {**numbers, "first": first}

    def step_sparse(self, p: Tensor, grad: Any, numbers: Numbers, buffers: list[Tensor]) -> None:
        if numbers["weight_decay"]:
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        if buffers:  # momentum also moves elements that are absent from this gradient
            on_arrays(self.update, p, grad.to_dense(), numbers, buffers)
        else:
            on_rows(self.update, p, grad, numbers, buffers)

    @staticmethod
    def update(xp: Any, p: Any, g: Any, numbers: Numbers, *buffers: Any) -> None:
        momentum = numbers["momentum"]
        if momentum != 0:
            buffer, = buffers
            if numbers["first"]:
                buffer += xp.detach(g)
            else:
                buffer *= momentum
                buffer += (1 - numbers["dampening"]) * g
            g = g + momentum * buffer if numbers["nesterov"] else buffer
        p -= numbers["lr"] * g
