"""Rprop: steps that depend only on the sign of the gradient."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whygrad.core.tensor import Tensor
from whygrad.optim.elementwise import Elementwise, Numbers
from whygrad.optim.options import check_options


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
