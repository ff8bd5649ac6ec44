"""The doors of the watch: the places of Tensor, Module and the optimizers at which it listens while a program runs.

Everything here is put in place by `open_doors` and taken away again by what it returns; outside of a watched run none of it
exists.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from whygrad.base.frames import is_internal
from whygrad.core.tensor import Tensor, known_source
from whygrad.why import record
from whygrad.why.facts import Copy, DataCounter, behind

Undo = Callable[[], None]


def open_doors(watch: Any) -> list[Undo]:
    from whygrad.amp.grad_scaler import GradScaler
    from whygrad.nn import utils as nn_utils
    from whygrad.nn.module import Module
    from whygrad.optim import optimizer
    from whygrad.optim.optimizer import Optimizer

    before = optimizer.register_optimizer_step_pre_hook(lambda stepping, args, kwargs: watch.before_step(stepping))
    after = optimizer.register_optimizer_step_post_hook(lambda stepped, args, kwargs: watch.after_step(stepped))
    undo: list[Undo] = [before.remove, after.remove]
    undo += [_watch_property(watch, name) for name in ("grad", "requires_grad", "grad_fn")]
    undo.append(_watch_data(watch))
    undo += [_watch_copy(watch, name, how) for name, how in COPYING.items() if hasattr(Tensor, name)]
    undo.append(_watch_module(watch, Module))
    undo.append(_put(Optimizer, "__del__", lambda optimizer: watch.leaving(optimizer)))
    undo.append(_wrap(Module, "load_state_dict", watch.loading))
    undo.append(_wrap(GradScaler, "scale", watch.scaling))
    undo += [_wrap(GradScaler, name, watch.unscaling) for name in ("unscale_", "step")]
    undo += [_watch_clipping(watch, nn_utils, name) for name in ("clip_grad_norm_", "clip_grad_value_")]
    return undo


# What copies a tensor's value out, and how it is told.
COPYING = {"item": ".item()", "tolist": ".tolist()", "numpy": ".numpy()", "__float__": "float()", "__int__": "int()",
           "__array__": "a NumPy array"}


def _put(owner: Any, name: str, new: Any) -> Undo:
    inherited = name not in vars(owner)
    old = None if inherited else vars(owner)[name]
    setattr(owner, name, new)
    return lambda: delattr(owner, name) if inherited else setattr(owner, name, old)


def _wrap(owner: Any, name: str, tell: Callable[..., None]) -> Undo:
    """Tell the watch before a function is called from the program."""
    plain = getattr(owner, name)

    def watched(*args: Any, **kwargs: Any) -> Any:
        if not is_internal(sys._getframe(1)):
            tell(*args)
        return plain(*args, **kwargs)

    for attribute in ("__name__", "__qualname__", "__doc__"):
        setattr(watched, attribute, getattr(plain, attribute, None))
    return _put(owner, name, watched)


def _watch_clipping(watch: Any, owner: Any, name: str) -> Undo:
    plain = getattr(owner, name)

    def watched(parameters: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(parameters, (Tensor, list, tuple)):
            parameters = list(parameters)  # a generator, which can be used only once
        watch.clipping(parameters)
        return plain(parameters, *args, **kwargs)

    watched.__name__, watched.__doc__ = name, plain.__doc__
    return _put(owner, name, watched)


def _watch_property(watch: Any, name: str) -> Undo:
    plain: property = Tensor.__dict__[name]
    assert plain.fget is not None
    get = plain.fget

    def watched(t: Tensor) -> Any:
        value = get(t)
        frame = sys._getframe(1)
        if not is_internal(frame):
            watch.read(t, name, value, frame)
        return value

    return _put(Tensor, name, property(watched, plain.fset, plain.fdel, plain.__doc__))


def _watch_data(watch: Any) -> Undo:
    """What `.data` gives counts its versions apart: a write through it is told to the watch."""
    plain: property = Tensor.__dict__["data"]
    assert plain.fget is not None
    assert plain.fset is not None
    get, put = plain.fget, plain.fset

    def read(t: Tensor) -> Any:
        alias = get(t)
        if type(alias._version_counter) is list:
            alias._version_counter = DataCounter(t._version_counter, watch.data_written)
        return alias

    def write(t: Tensor, value: Any) -> None:
        put(t, value)
        watch.data_written(t._version_counter)
        watch.data_replaced(t, value)

    return _put(Tensor, "data", property(read, write, plain.fdel, plain.__doc__))


def _watch_copy(watch: Any, name: str, how: str) -> Undo:
    plain = getattr(Tensor, name)

    def watched(t: Tensor, *args: Any, **kwargs: Any) -> Any:
        value = plain(t, *args, **kwargs)
        source = known_source(t)
        site = record.site()
        if (source is not None or t._cause) and watch.wants_copies_of(site):
            watch.copied(Copy(site, how, behind(t, () if source is None else (source,))))
        return value

    watched.__name__ = name
    watched.__doc__ = plain.__doc__
    return _put(Tensor, name, watched)


def _watch_module(watch: Any, module_class: Any) -> Undo:
    plain = module_class.__setattr__

    def watched(module: Any, name: str, value: Any) -> None:
        if name == "requires_grad":
            watch.module_flagged(module, value)
        plain(module, name, value)

    return _put(module_class, "__setattr__", watched)
