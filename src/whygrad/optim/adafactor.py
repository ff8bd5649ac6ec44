"""Adafactor: Adam with a second moment factored into one row and one column per matrix."""

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
            if not state:
                state["step"] = scalar(0.0)
                if g.ndim > 1:
                    state["row_var"] = wrap(np.zeros_like(g, shape=(*g.shape[:-1], 1)))
                    state["col_var"] = wrap(np.zeros_like(g, shape=(*g.shape[:-2], 1, g.shape[-1])))
                else:
                    state["variance"] = wrap(np.zeros_like(g))
            update(p._array, -g if group["maximize"] else g, state, group, p.dtype.numpy)
            bump(p)


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
