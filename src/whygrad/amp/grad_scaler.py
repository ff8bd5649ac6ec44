"""torch.amp.GradScaler: scales the loss so that small gradients do not underflow in float16, and skips steps with overflow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

import numpy as np

import whygrad as torch
from whygrad.autograd.grad_mode import no_grad
from whygrad.base.dtypes import float16, float32, int32
from whygrad.base.errors import warn
from whygrad.base.unsupported import absent_from
from whygrad.core.tensor import Tensor
from whygrad.why import record as why

__getattr__ = absent_from("torch.amp.grad_scaler")

__all__ = ["GradScaler", "OptState"]

_NO_SCALE = ("Attempted {} but {} is None.  This may indicate your script did not use scaler.scale(loss or outputs) earlier in "
             "the iteration.")
_NEW_SCALE = ("new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
              "requires_grad=False.")


class OptState(Enum):
    """The stage of an optimizer in the current iteration."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


def _require(condition: bool, text: str) -> None:
    if not condition:
        raise AssertionError(text)


class GradScaler:
    """`scale(loss).backward()`, then `step(optimizer)`, then `update()`."""

    _scale: Tensor | None
    _growth_tracker: Tensor | None
    _per_optimizer_states: dict[int, dict[str, Any]]

    def __init__(self, device: str = "cuda", init_scale: float = 65536.0, growth_factor: float = 2.0,
                 backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda":
            warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
            self._enabled = False
        if not self._enabled:
            return
        _require(growth_factor > 1.0, "The growth factor must be > 1.0.")
        _require(backoff_factor < 1.0, "The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker = None
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _begun(self, function: str) -> tuple[Tensor, Tensor]:
        """The scale and the growth tracker, which exist after the first call of `scale`."""
        if self._scale is None:
            raise AssertionError(_NO_SCALE.format(function, "_scale"))
        if self._growth_tracker is None:
            raise AssertionError(_NO_SCALE.format(function, "_growth_tracker"))
        return self._scale, self._growth_tracker

    def scale(self, outputs: Any) -> Any:
        """Multiply a tensor, or each tensor of a nested list, by the scale."""
        if why.watching is not None:
            why.watching.scaling(self)
            why.tell("scaled", self)
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._scale = torch.full((), self._init_scale, dtype=float32)
                self._growth_tracker = torch.full((), self._init_growth_tracker, dtype=int32)
            return outputs * self._scale  # type: ignore[operator]
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled  # type: ignore[call-arg]
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the optimizer's gradients by the scale, and record whether one of them is not finite."""
        if why.watching is not None:
            why.watching.unscaling()
            why.tell("unscaled", self, optimizer)
        if not self._enabled:
            return
        scale, _ = self._begun("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        factor = float(np.float32(1.0 / float(scale._array)))
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if any(g.dtype is float16 for g in gradients):
            raise ValueError("Attempting to unscale FP16 gradients.")
        if gradients:
            parts = [g._values() if g.is_sparse else g for g in gradients]
            found = any(not bool(torch.isfinite(g).all()) for g in parts)
            with no_grad():
                for g in parts:
                    g.mul_(factor)
            state["found_inf_per_device"] = {scale.device: torch.full((), float(found), dtype=float32)}
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step()` on the unscaled gradients, skipped if one of them is not finite."""
        if why.watching is not None:
            why.watching.unscaling()
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._begun("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        found = state["found_inf_per_device"].values()
        _require(len(found) > 0, "No inf checks were recorded for this optimizer.")
        result = None if any(t.item() for t in found) else optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def update(self, new_scale: Any = None) -> None:
        """Reduce the scale after a skipped step, grow it after `growth_interval` good steps, or set the given one."""
        why.tell("scaler_updated", self)
        if not self._enabled:
            return
        scale, tracker = self._begun("update")
        if isinstance(new_scale, float):
            scale.fill_(new_scale)  # type: ignore[attr-defined]
        elif new_scale is not None:
            _require(new_scale.device.type == self._device and new_scale.numel() == 1 and not new_scale.requires_grad, _NEW_SCALE)
            scale.copy_(new_scale)  # type: ignore[attr-defined]
        else:
            found = [t for state in self._per_optimizer_states.values() for t in state["found_inf_per_device"].values()]
            _require(len(found) > 0, "No inf checks were recorded prior to update.")
            self._learn(scale, tracker, any(t.item() for t in found))
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _learn(self, scale: Any, tracker: Any, overflowed: bool) -> None:
        if overflowed:
            scale.mul_(self._backoff_factor)
            tracker.fill_(0)
        elif tracker.item() + 1 < self._growth_interval:
            tracker.add_(1)
        else:
            if np.isfinite(grown := np.float32(scale.item() * self._growth_factor)):
                scale.fill_(float(grown))
            tracker.fill_(0)

    def get_scale(self) -> float:
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()  # type: ignore[no-any-return, attr-defined]

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker._array)

    def is_enabled(self) -> bool:
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._get_growth_tracker()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("The source state dict is empty, possibly because it was saved from a disabled instance of "
                               "GradScaler.")
        self._init_scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None and self._growth_tracker is not None:
            self._scale.fill_(self._init_scale)  # type: ignore[attr-defined]
            self._growth_tracker.fill_(self._init_growth_tracker)  # type: ignore[attr-defined]

    def __getstate__(self) -> dict[str, Any]:
        kept = self.__dict__.copy()
        if self._enabled:
            _require(not self._per_optimizer_states, "A GradScaler instance may only be pickled at the beginning of an "
                     "iteration, or at the end after scaler.update().")
            kept.update(_init_scale=self.get_scale(), _init_growth_tracker=self._get_growth_tracker(), _scale=None,
                        _growth_tracker=None)
        return kept

    def _found_inf_per_device(self, optimizer: Any) -> dict[Any, Tensor]:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]  # type: ignore[no-any-return]
