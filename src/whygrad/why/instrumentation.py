"""What the watch hears of a program while it runs: it stands at the function door, and hears of every optimizer's steps.

Modules, optimizers and gradient scalers tell it by themselves what no function tells (`record.watching`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from whygrad.base import door
from whygrad.base.door import Next, Spec
from whygrad.base.frames import is_internal
from whygrad.core.tensor import Tensor, known_source
from whygrad.optim import optimizer
from whygrad.why import record
from whygrad.why.audit.observation import Call
from whygrad.why.run_facts import DataCounter, ValueCopy, behind

Undo = Callable[[], None]

# What is read of a tensor.
READ = {f"Tensor.{name}.__get__": name for name in ("grad", "requires_grad", "grad_fn")}
# What copies a tensor's value out, and how it is told.
COPYING = {"Tensor.item": ".item()", "Tensor.tolist": ".tolist()", "Tensor.numpy": ".numpy()", "Tensor.__float__": "float()",
           "Tensor.__int__": "int()", "Tensor.__array__": "a NumPy array"}
CLIPPING = frozenset({"torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_value_"})
# What compares a prediction with a target, and what the audit hears of in every round beside it.
LOSSES = frozenset({f"torch.nn.functional.{name}" for name in (
    "cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss", "smooth_l1_loss",
    "huber_loss", "kl_div", "poisson_nll_loss", "gaussian_nll_loss", "hinge_embedding_loss", "multilabel_soft_margin_loss",
    "multi_margin_loss", "soft_margin_loss", "cosine_embedding_loss", "margin_ranking_loss", "triplet_margin_loss", "ctc_loss")})
DROPOUTS = frozenset({"torch.nn.functional.dropout", "torch.nn.functional.dropout2d", "torch.nn.functional.alpha_dropout"})
PREDICTING = frozenset({"Tensor.argmax", "torch.argmax"})
DATA = frozenset({"Tensor.data.__get__", "Tensor.data.__set__"})


EVENTS = {**dict.fromkeys(LOSSES, "loss_called"), **dict.fromkeys(DROPOUTS, "dropout_called"),
          **dict.fromkeys(PREDICTING, "argmax_called")}


def instrument(watch: Any) -> list[Undo]:
    """Let a watch listen, until what is returned is called."""
    before = optimizer.register_optimizer_step_pre_hook(lambda stepping, args, kwargs: watch.before_step(stepping))
    after = optimizer.register_optimizer_step_post_hook(lambda stepped, args, kwargs: watch.after_step(stepped))
    listener = Listener(watch)
    door.add(listener)
    return [before.remove, after.remove, lambda: door.remove(listener)]


class Listener:
    """Stands at the door for a watch."""

    place = "watch"

    def __init__(self, watch: Any) -> None:
        self.watch = watch

    def wants(self, spec: Spec) -> bool:
        return any(spec.name in names for names in (READ, COPYING, CLIPPING, DATA, EVENTS))

    def handle(self, spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any], next: Next) -> Any:
        if spec.name in CLIPPING:
            return self._clip(spec, args, kwargs, next)
        value = next(args, kwargs)
        if spec.name in EVENTS:
            self.watch.audit.tell(EVENTS[spec.name], Call(spec.name, args, kwargs, value, record.site()))
        elif spec.name in READ:
            frame = _caller(READ[spec.name])
            if not is_internal(frame):
                self.watch.read(args[0], READ[spec.name], value, frame)
        elif spec.name in COPYING:
            self._copied(args[0], COPYING[spec.name])
        elif spec.name == "Tensor.data.__set__":
            self.watch.data_written(args[0]._version_counter)
            self.watch.data_replaced(*args)
        elif type(value._version_counter) is list:
            # What `.data` gives counts its versions apart: a write through it is told to the watch.
            value._version_counter = DataCounter(args[0]._version_counter, self.watch.data_written)
        return value

    def _clip(self, spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any], next: Next) -> Any:
        parameters = args[0] if args else kwargs.pop("parameters")
        if not isinstance(parameters, (Tensor, list, tuple)):
            parameters = list(parameters)  # a generator, which can be used only once
        self.watch.clipping(parameters)
        result = next((parameters, *args[1:]), kwargs)
        self.watch.clipped(spec.name, parameters, (args[1:] or tuple(kwargs.values()))[0], result)
        return result

    def _copied(self, t: Tensor, how: str) -> None:
        source = known_source(t)
        site = record.site()
        if (source is not None or t._cause) and self.watch.wants_copies_of(site):
            self.watch.copied(ValueCopy(site, how, behind(t, () if source is None else (source,))))


def _caller(name: str) -> FrameType:
    """Who reads a property: the frame below the door, and below the property itself."""
    frame: Any = sys._getframe(2)
    while frame.f_globals is vars(door):
        frame = frame.f_back
    if frame.f_code is getattr(vars(Tensor)[name].fget, "__code__", None):
        frame = frame.f_back
    return frame  # type: ignore[no-any-return]
