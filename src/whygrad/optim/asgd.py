"""ASGD: gradient descent that also averages the parameters over the steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.optim.elementwise import Elementwise, Numbers
from whygrad.optim.options import as_number, check_options


class ASGD(Elementwise):
    """Descent with a decaying step `eta`; the average of the parameters after step `t0` is in `state[p]["ax"]`."""

    names = ("ax",)
    scalars = {"step": 0.0, "eta": 0.0, "mu": 1.0}
    capturable_tensors = "params, mus, etas, and state_steps"

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
                 t0: float = 1e6, weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:
        check_options(lr=lr, weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def first_value(self, name: str, group: dict[str, Any]) -> Any:
        return group["lr"] if name == "eta" else super().first_value(name, group)

    def advance(self, p: Tensor, state: dict[str, Any], numbers: Numbers) -> Numbers:
        eta, mu = state["eta"]._array, state["mu"]._array
        numbers = {**super().advance(p, state, numbers), "eta": float(eta), "mu": float(mu)}
        step, lr = numbers["step"], as_number(numbers["lr"])
        eta[...] = lr / (1 + numbers["lambd"] * lr * step) ** numbers["alpha"]
        mu[...] = 1 / max(1, step - numbers["t0"])
        return numbers

    @staticmethod
    def update(xp: Any, p: Any, g: Any, numbers: Numbers, *buffers: Any) -> None:
        ax, = buffers
        eta, mu = numbers["eta"], numbers["mu"]
        p *= 1 - numbers["lambd"] * eta
        p -= eta * g
        if mu != 1:
            ax += (p - ax) * mu
        else:
            ax[...] = p
