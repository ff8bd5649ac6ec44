"""Gradient descent: with momentum (SGD), with averaged parameters (ASGD), by the sign of the gradient (Rprop)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from whygrad.core.tensor import Tensor, wrap
from whygrad.optim.elementwise import Elementwise, Numbers, on_arrays, on_rows
from whygrad.optim.options import as_number, check_fused, check_options


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

    def advance_all(self, states: list[dict[str, Any]], numbers: Numbers) -> Numbers:
        return {**numbers, "first": False} if states else numbers

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


class Rprop(Elementwise):
    """Each element has a step size of its own: it grows while the gradient keeps its sign and shrinks when the sign changes."""

    names = ("prev", "step_size")

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False) -> None:
        check_options(lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable})

    def first_value(self, name: str, group: dict[str, Any]) -> Any:
        return group["lr"] if name == "step_size" else 0.0

    @staticmethod
    def update(xp: Any, p: Any, g: Any, numbers: Numbers, *buffers: Any) -> None:
        prev, step_size = buffers
        shrink, grow = numbers["etas"]
        agreement = g * prev
        sign_changed = agreement < 0
        changed = xp.where(sign_changed, step_size * shrink, xp.where(agreement > 0, step_size * grow, step_size))
        step_size[...] = xp.clip(changed, *numbers["step_sizes"])
        # Where the sign changed, this step is skipped and the sign is reset for the next one.
        g = xp.where(sign_changed, 0.0, g)
        p -= xp.sign(g) * step_size
        prev[...] = g
