"""Adam and AdamW: steps scaled by running averages of the gradient and of its square."""

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
