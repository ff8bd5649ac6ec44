"""What the watch hears of a program while it runs: it stands at the function door, and hears of every optimizer's steps.

Modules, optimizers and gradient scalers tell it by themselves what no function tells (`record.watching`).
"""

from __future__ import annotations

import functools
import sys
from types import FrameType
from typing import Any

from whygrad.base import door
from whygrad.base.door import Next, Spec
from whygrad.base.frames import is_internal
from whygrad.base.version import Version
from whygrad.core.tensor import Tensor, known_source
from whygrad.nn.functional import losses
from whygrad.optim import optimizer
from whygrad.why import record
from whygrad.why.audit.observation import Call
from whygrad.why.engine import Undo
from whygrad.why.run_facts import ValueCopy, behind

# What is read of a tensor.
READ = {f"Tensor.{name}.__get__": name for name in ("grad", "requires_grad", "grad_fn")}
GRAD = "Tensor.grad.__get__"
# What copies a tensor's value out, and how it is told.
COPYING = {"Tensor.item": ".item()", "Tensor.tolist": ".tolist()", "Tensor.numpy": ".numpy()", "Tensor.__float__": "float()",
           "Tensor.__int__": "int()", "Tensor.__array__": "a NumPy array"}
CLIPPING = frozenset({"torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_value_"})
DATA = frozenset({"Tensor.data.__get__", "Tensor.data.__set__"})


def event_of(spec: Spec) -> str:
    """The event of the audit that a call of this function is, or ""."""
    if getattr(spec.plain, "__module__", "") == losses.__name__:
        return "loss_called"
    name = spec.name.rpartition(".")[2]
    return "dropout_called" if "dropout" in name else "argmax_called" if name == "argmax" else ""


def instrument(watch: Any) -> tuple[list[Undo], CallListener]:
    """Let a watch listen, until what is returned is called. The second listener can be switched off meanwhile."""
    before = optimizer.register_optimizer_step_pre_hook(
        lambda stepping, args, kwargs: None if watch.audit.is_resting else watch.before_step(stepping))
    after = optimizer.register_optimizer_step_post_hook(lambda stepped, args, kwargs: watch.after_step(stepped))
    listener, calls = Listener(watch), CallListener(watch)
    door.add(listener)
    calls.switch(True)
    return [before.remove, after.remove, lambda: door.remove(listener), lambda: calls.switch(False)], calls


class DataVersion(Version):
    """The version of the alias that `.data` returns: separate from the tensor's own, it reports writes to the watch."""

    __slots__ = ("counted", "note", "of")

    def __init__(self, of: Version, note: Any) -> None:
        self.site = None
        self.counted = 0
        self.of = of
        self.note = note

    @property
    def value(self) -> int:  # type: ignore[override]
        return self.counted

    @value.setter
    def value(self, value: int) -> None:
        self.counted = value
        self.note(self.of)


class Listener:
    """Stands at the door for a watch: hears of reads of gradients, of clipping and of `.data`."""

    place = "watch"

    def __init__(self, watch: Any) -> None:
        self.watch = watch

    def wants(self, spec: Spec) -> bool:
        return spec.name == GRAD or spec.name in CLIPPING or spec.name in DATA

    def handle(self, spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any], next: Next) -> Any:
        if spec.name == GRAD:
            value = next(args, kwargs)
            _tell_read(self.watch, spec, args[0], value)
            return value
        if spec.name in CLIPPING:
            return self._clip(spec, args, kwargs, next)
        value = next(args, kwargs)
        if spec.name == "Tensor.data.__set__":
            self.watch.data_written(args[0]._version_counter)
            self.watch.data_replaced(*args)
        elif type(value._version_counter) is Version:
            # What `.data` gives counts its versions apart: a write through it is told to the watch.
            value._lazy_version = DataVersion(args[0]._version_counter, self.watch.data_written)
        return value

    def _clip(self, spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any], next: Next) -> Any:
        parameters = args[0] if args else kwargs.pop("parameters")
        if not isinstance(parameters, (Tensor, list, tuple)):
            parameters = list(parameters)  # a generator, which can be used only once
        self.watch.clipping(parameters)
        result = next((parameters, *args[1:]), kwargs)
        limit = args[1] if len(args) > 1 else kwargs.get("max_norm", kwargs.get("clip_value"))
        self.watch.clipped(spec.name, parameters, limit, result)
        return result


class CallListener:
    """Hears of other reads, of values that are copied out, and of calls that the audit looks at."""

    place = "watch"

    def __init__(self, watch: Any) -> None:
        self.watch = watch
        self._is_on = False
        # The event that a call of each function is.
        self._events: dict[str, str] = {}

    def switch(self, on: bool) -> None:
        if on != self._is_on:
            self._is_on = on
            (door.add if on else door.remove)(self)

    def wants(self, spec: Spec) -> bool:
        event = event_of(spec)
        if event:
            self._events[spec.name] = event
        return bool(event) or spec.name in COPYING or (spec.name in READ and spec.name != GRAD)

    def handle(self, spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any], next: Next) -> Any:
        value = next(args, kwargs)
        if spec.name in self._events:
            self.watch.audit.tell(self._events[spec.name], Call(spec.name, args, kwargs, value, record.site()))
        elif spec.name in READ:
            _tell_read(self.watch, spec, args[0], value)
        else:
            self._copied(args[0], COPYING[spec.name])
        return value

    def _copied(self, t: Tensor, how: str) -> None:
        source = known_source(t)
        site = record.site()
        if (source is not None or t._cause) and self.watch.wants_copies_of(site):
            self.watch.copied(ValueCopy(site, how, behind(t, () if source is None else (source,))))


def _tell_read(watch: Any, spec: Spec, t: Tensor, value: Any) -> None:
    frame = _caller(READ[spec.name])
    if not is_internal(frame):
        watch.read(t, READ[spec.name], value, frame)


def _caller(name: str) -> FrameType:
    """Who reads a property: the frame below the door, and below the property itself."""
    frame: Any = sys._getframe(3)
    while frame.f_globals is _DOOR:
        frame = frame.f_back
    if frame.f_code is _getter(name):
        frame = frame.f_back
    return frame  # type: ignore[no-any-return]


_DOOR = vars(door)


@functools.cache
def _getter(name: str) -> Any:
    return getattr(vars(Tensor)[name].fget, "__code__", None)
