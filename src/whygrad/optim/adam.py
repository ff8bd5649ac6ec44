"""Adam and its relatives: steps scaled by running averages of the gradient and of its square."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.optim.elementwise import Elementwise, Numbers, lerp_
from whygrad.optim.options import as_number, check_fused, check_options, to_scalar

Number = float | Tensor


class Adam(Elementwise):
    """`p -= lr * m / (sqrt(v) + eps)`; `m` and `v` average the gradient and its square, with bias correction."""

    def __init__(self, params: Iterable[Any], lr: Number = 1e-3, betas: tuple[Number, Number] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None,
                 maximize: bool = False, capturable: bool = False, differentiable: bool = False,
                 fused: bool | None = None, decoupled_weight_decay: bool = False) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        if not any(isinstance(betas[0], kind) and isinstance(betas[1], kind) for kind in (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if isinstance(beta, Tensor) and foreach and not capturable:
                raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
        super().__init__(params, {
            "lr": lr, "betas": tuple([to_scalar(beta) for beta in betas]), "eps": eps, "weight_decay": weight_decay,
            "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable, "fused": fused, "decoupled_weight_decay": decoupled_weight_decay})
        check_fused(fused, foreach, differentiable)

    def buffers(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")

    @staticmethod
    def update(xp: Any, p: Any, g: Any, numbers: Numbers, *buffers: Any) -> None:
        exp_avg, exp_avg_sq, *max_exp_avg_sq = buffers
        beta1, beta2 = numbers["betas"]
        step = numbers["step"]
        lerp_(exp_avg, g, 1 - beta1)
        exp_avg_sq *= beta2
        exp_avg_sq += (1 - beta2) * g * g
        if max_exp_avg_sq:
            largest, = max_exp_avg_sq
            largest[...] = xp.maximum(largest, exp_avg_sq)
            exp_avg_sq = largest
        denominator = xp.sqrt(exp_avg_sq) / (1 - beta2**step) ** 0.5 + numbers["eps"]
        p -= numbers["lr"] / (1 - beta1**step) * exp_avg / denominator


class AdamW(Adam):
    """Adam with decoupled weight decay."""

    def __init__(self, params: Iterable[Any], lr: Number = 1e-3, betas: tuple[Number, Number] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
                 fused: bool | None = None) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
                         capturable=capturable, differentiable=differentiable, fused=fused, decoupled_weight_decay=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


class SparseAdam(Elementwise):
    """Adam for sparse gradients: updates only the elements present in the gradient, and their moments."""

    names = ("exp_avg", "exp_avg_sq")
    scalars: dict[str, float] = {}
    takes_sparse = "rows"

    def __init__(self, params: Iterable[Any], lr: Number = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, maximize: bool = False) -> None:
        check_options(lr=lr)
        for name, value in (("learning rate", lr), ("epsilon value", eps)):
            if not as_number(value) > 0.0:
                raise ValueError(f"Invalid {name}: {value}")
        check_options(betas=betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        complex_params = [[i, j] for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"])
                          if p.dtype.is_complex]
        if complex_params:
            raise ValueError(f"Complex params at indices {complex_params}: SparseAdam does not support complex "
                             "parameters")

    def step_group(self, group: dict[str, Any]) -> None:
        if any(p.grad is not None and not p.grad.is_sparse for p in group["params"]):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        super().step_group(group)

    def initialize(self, p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = 0  # a plain number, in torch too
        super().initialize(p, state, group)

    def advance(self, p: Tensor, state: dict[str, Any], numbers: Numbers) -> Numbers:
        state["step"] += 1
        return {**numbers, "step": state["step"]}

    @staticmethod
    def update(xp: Any, p: Any, g: Any, numbers: Numbers, *buffers: Any) -> None:
        exp_avg, exp_avg_sq = buffers
        beta1, beta2 = numbers["betas"]
        step = numbers["step"]
        exp_avg += (1 - beta1) * (g - exp_avg)
        exp_avg_sq += (1 - beta2) * (g * g - exp_avg_sq)
        p -= numbers["lr"] * (1 - beta2**step) ** 0.5 / (1 - beta1**step) * (exp_avg / (xp.sqrt(exp_avg_sq) + numbers["eps"]))


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
        product = state["mu_product"]
        if numbers["differentiable"]:
            product = product.mul_(mu).clone()
        else:
            product._array *= mu
            product = float(product._array)
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
