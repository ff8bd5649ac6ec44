"""Adagrad: steps that shrink with the sum of all squared gradients so far."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.optim.elementwise import Elementwise, Numbers
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
