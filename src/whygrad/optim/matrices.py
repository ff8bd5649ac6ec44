"""Optimizers that treat a parameter as a matrix: Adafactor and Muon."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from whygrad.base.layouts import strided
from whygrad.core.tensor import Tensor, wrap
from whygrad.core.write import bump
from whygrad.optim.elementwise import Stepping, lerp_, no_sparse, scalar
from whygrad.optim.options import as_number


class Adafactor(Stepping):
    """`p -= alpha * g / sqrt(row * column)`, clipped, where `alpha` is relative to the size of `p`."""

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-2, beta2_decay: float = -0.8,
                 eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
                 foreach: bool | None = None, maximize: bool = False) -> None:
        if isinstance(lr, Tensor) and lr._array.size != 1:
            raise ValueError("Tensor lr must be 1-element")
        for wrong, text in ((not as_number(lr) >= 0.0, f"Learning rate should be >= 0 but is: {lr}"),
                            (not beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}"),
                            (eps[0] is not None and not eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}"),
                            (not eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}"),
                            (not d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}"),
                            (not weight_decay >= 0.0, f"weight_decay should be >= 0 but is: {weight_decay}")):
            if wrong:
                raise ValueError(text)
        super().__init__(params, {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize})

    def step_group(self, group: dict[str, Any]) -> None:
        for p in group["params"]:
            if p.grad is None:
                continue
            if p.dtype.is_complex:
                raise RuntimeError("Adafactor does not support complex parameters")
            if p.grad.layout is not strided:
                raise no_sparse(self)
            state = self.state[p]
            g = p.grad._array
            if not isinstance(state.get("step", ""), (str, Tensor)):
                state["step"] = scalar(state["step"])  # a plain number in older checkpoints
            if not state:
                state["step"] = scalar(0.0)
                if g.ndim > 1:
                    state["row_var"] = wrap(np.zeros_like(g, shape=(*g.shape[:-1], 1)))
                    state["col_var"] = wrap(np.zeros_like(g, shape=(*g.shape[:-2], 1, g.shape[-1])))
                else:
                    state["variance"] = wrap(np.zeros_like(g))
            update(p._array, -g if group["maximize"] else g, state, group, p.dtype.numpy)
            bump(p)
            p._version_counter.value += group["weight_decay"] != 0


def update(p: np.ndarray, g: np.ndarray, state: dict[str, Tensor], group: dict[str, Any], dtype: np.dtype) -> None:
    lr, d, (eps1, eps2) = as_number(group["lr"]), group["d"], group["eps"]
    if eps1 is None:
        eps1 = float(np.finfo(dtype).eps) if dtype.kind == "f" else 2.0**-7
    step = state["step"]._array
    step += 1
    weight = float(step) ** group["beta2_decay"]
    alpha = max(eps2, rms(p)) * min(lr, 1 / float(step) ** 0.5)
    if group["weight_decay"] != 0:
        p *= 1 - lr * group["weight_decay"]
    if g.ndim > 1:
        row, column = state["row_var"]._array, state["col_var"]._array
        lerp_(row, np.square(g).mean(-1, keepdims=True), weight)
        lerp_(column, np.square(g).mean(-2, keepdims=True), weight)
        variance = row @ column / np.maximum(row.mean(-2, keepdims=True), eps1)
    else:
        variance = state["variance"]._array
        lerp_(variance, g * g, weight)
    move = g / np.sqrt(np.maximum(variance, eps1 * eps1))
    p -= alpha / max(1.0, rms(move) / d) * move


def rms(x: np.ndarray) -> float:
    return float(np.linalg.norm(x.reshape(-1).astype(np.float32, copy=False) if x.itemsize == 2 else x.reshape(-1))
                 ) / math.sqrt(x.size)


class Muon(Stepping):
    """`p -= lr * orthogonal(momentum)`, for parameters that are matrices."""

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95,
                 nesterov: bool = True, ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
                 eps: float = 1e-7, ns_steps: int = 5, adjust_lr_fn: str | None = None) -> None:
        if isinstance(lr, Tensor) and lr._array.size != 1:
            raise ValueError("Tensor lr must be 1-element")
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not as_number(value) >= 0.0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn})
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError("Muon only supports 2D parameters whereas we found a parameter with size: "
                                     f"{p.shape}")

    def step_group(self, group: dict[str, Any]) -> None:
        lr, momentum = as_number(group["lr"]), group["momentum"]
        for p in group["params"]:
            if p.grad is None:
                continue
            if p.dtype.is_complex:
                raise RuntimeError("Muon does not support complex parameters")
            if p.grad.layout is not strided:
                raise no_sparse(self)
            g = p.grad._array
            state = self.state[p]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = wrap(np.zeros_like(g))
            update = state["momentum_buffer"]._array
            lerp_(update, g, 1 - momentum)
            if group["nesterov"]:
                ahead = g.copy()
                lerp_(ahead, update, momentum)
                update = ahead
            update = orthogonalized(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
            p._array *= 1 - lr * group["weight_decay"]
            p._array -= (lr * ratio(group["adjust_lr_fn"], p._array.shape) * update).astype(p._array.dtype)
            bump(p)


def ratio(adjustment: str | None, shape: tuple[int, ...]) -> float:
    """The factor of the learning rate for a matrix of this shape."""
    rows, columns = shape
    return 0.2 * math.sqrt(max(rows, columns)) if adjustment == "match_rms_adamw" else math.sqrt(max(1, rows / columns))


def orthogonalized(matrix: np.ndarray, coefficients: tuple[float, ...], steps: int, eps: float) -> np.ndarray:
    """An approximation of the nearest orthogonal matrix, by Newton-Schulz iteration in bfloat16 precision."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = to_bfloat16(matrix.T if tall else matrix)
    x = to_bfloat16(x / max(float(to_bfloat16(np.linalg.norm(x))), eps))
    for _ in range(steps):
        gram = to_bfloat16(x @ x.T)
        x = to_bfloat16(a * x + to_bfloat16(b * gram + c * (gram @ gram)) @ x)
    return x.T if tall else x


def to_bfloat16(values: Any) -> np.ndarray:
    """float32 values rounded to bfloat16 precision: the upper half of the bits, to nearest, ties to even."""
    bits = np.array(values, np.float32).view(np.uint32)
    bits += 0x7FFF + (bits >> 16 & 1)
    bits &= 0xFFFF0000
    return bits.view(np.float32)
