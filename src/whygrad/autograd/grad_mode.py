"""Switching gradients off and on: context managers that also decorate functions and generators.

Like torch, a decorated `async def` is only *called* in the mode; its body runs in the mode of whoever awaits it.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Any

from whygrad.base.errors import warn
from whygrad.core.modes import grad_state, process_state, refresh
from whygrad.core.tensor import Tensor
from whygrad.why import record as why


def is_grad_enabled() -> bool:
    """True if operations on tensors that require grad are being recorded in this thread."""
    return grad_state.grad


def is_inference_mode_enabled() -> bool:
    """True inside `inference_mode()`."""
    return grad_state.inference


class DecoratorContextManager:
    """A context manager that can decorate functions and generators: each call (each resume) enters a fresh clone."""

    # Where a decorator stands in the source; a `with` block is where it is entered.
    where: why.Site | None = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isclass(function):
            warn("Decorating classes is deprecated and will be disabled in future versions. You should only "
                 "decorate functions or methods. To preserve the current behavior of class decoration, you "
                 "can directly decorate the `__init__` method and nothing else.", FutureWarning)
            cls = function

            def function(*args: Any, **kwargs: Any) -> Any:
                return cls(*args, **kwargs)

        where = why.site()

        def entered() -> DecoratorContextManager:
            clone = self.clone()
            clone.where = where
            return clone

        if inspect.isgeneratorfunction(function):
            return _decorated_generator(entered, function)

        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with entered():
                return function(*args, **kwargs)

        return decorated

    def clone(self) -> DecoratorContextManager:
        return type(self)()

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError


def _decorated_generator(entered: Callable[[], Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Set the mode around every resume of the generator, and give the caller's mode back at every yield."""

    @functools.wraps(function)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        generator = function(*args, **kwargs)
        try:
            with entered():
                response = generator.send(None)
            while True:
                try:
                    request = yield response
                except GeneratorExit:
                    with entered():
                        generator.close()
                    raise
                except BaseException:
                    with entered():
                        response = generator.throw(sys.exc_info()[1])
                else:
                    with entered():
                        response = generator.send(request)
        except StopIteration as stop:
            return stop.value

    return decorated


class WithoutParentheses(DecoratorContextManager):
    """`@no_grad` means `@no_grad()`."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        if function is None:
            return super().__new__(cls)
        return cls()(function)


def _set_grad(enabled: bool, name: str = "", where: why.Site | None = None) -> None:
    """Switch this thread; `name` and `where` say who switched gradients off."""
    grad_state.grad = enabled
    if not enabled:
        grad_state.off_name = name
        grad_state.off_site = where
    refresh()


class _GradMode(DecoratorContextManager):
    """What no_grad, enable_grad and set_grad_enabled share: remember the mode and who set it, put both back."""

    prev: bool

    def _remember(self) -> None:
        self.prev = grad_state.grad
        self._off = grad_state.off_name, grad_state.off_site

    def _switch(self, enabled: bool) -> None:
        _set_grad(enabled, type(self).__name__, self.where or why.site())

    def __exit__(self, *exc: object) -> None:
        _set_grad(self.prev, *self._off)


class no_grad(_GradMode, WithoutParentheses):
    """Operations are not recorded: results do not require grad."""

    def __init__(self) -> None:
        self.prev = False

    def __enter__(self) -> None:
        self._remember()
        self._switch(False)


class enable_grad(_GradMode, WithoutParentheses):
    """Operations are recorded again, inside `no_grad`."""

    def __enter__(self) -> None:
        self._remember()
        self._switch(True)


class set_grad_enabled(_GradMode):
    """Switch recording on or off; takes effect at once, also without `with`."""

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError("set_grad_enabled(): argument 'enabled' (position 1) must be bool, not "
                            f"{type(mode).__name__}")
        self._remember()
        self.mode = mode
        self._switch(mode)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        # It decorates: what the constructor did was not meant.
        _set_grad(self.prev, *self._off)
        return super().__call__(function)

    def __enter__(self) -> None:
        self._switch(self.mode)

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    def clone(self) -> set_grad_enabled:
        return type(self)(self.mode)


class inference_mode(DecoratorContextManager):
    """`no_grad` that also gives up version counting and views: tensors made inside can never be used for gradients."""

    def __new__(cls, mode: Any = True) -> Any:
        if isinstance(mode, bool):
            return super().__new__(cls)
        return cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self._outer = grad_state.inference
        self._outer_grad = grad_state.grad, grad_state.off_name, grad_state.off_site
        grad_state.inference = self.mode
        _set_grad(not self.mode, "inference_mode", self.where or why.site())

    def __exit__(self, *exc: object) -> None:
        grad_state.inference = self._outer
        _set_grad(*self._outer_grad)

    def clone(self) -> inference_mode:
        return type(self)(self.mode)


class _Policy(DecoratorContextManager):
    """A switch of the whole process: it takes effect when constructed, and is put back at the end of a `with` block."""

    flag: str

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self.prev = getattr(process_state, self.flag)
        setattr(process_state, self.flag, mode)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        setattr(process_state, self.flag, self.prev)
        return super().__call__(function)

    def __enter__(self) -> None:
        setattr(process_state, self.flag, self.mode)

    def __exit__(self, *exc: object) -> None:
        setattr(process_state, self.flag, self.prev)

    def clone(self) -> _Policy:
        return type(self)(self.mode)


class set_multithreading_enabled(_Policy):
    """Kept for programs that ask: one backward walk never uses more than one Python thread."""

    flag = "multithreading"


class _force_original_view_tracking(_Policy):
    """On: a view whose base was written to finds back through its own ops, not through one AsStridedBackward0."""

    flag = "replay_views"

    def __init__(self, mode: bool) -> None:
        super().__init__(mode)


def is_view_replay_enabled() -> bool:
    return process_state.replay_views


class enforce_grad_layout_policy(_Policy):
    """Off: `.grad` may keep the memory layout that backward produced, instead of the leaf's."""

    flag = "grad_follows_leaf"

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)


def is_multithreading_enabled() -> bool:
    return process_state.multithreading


class _unsafe_preserve_version_counter(DecoratorContextManager):
    """Put the version counters of tensors back at the end, as if nothing had been written in place."""

    def __init__(self, tensors: Tensor | tuple[Tensor, ...]) -> None:
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tensors
        if not isinstance(self.tensors, tuple):
            raise AssertionError("Expected tensors to be a tuple")
        self.prev_versions = tuple([t._version for t in self.tensors])

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        set_versions(self.tensors, self.prev_versions)


def set_versions(tensors: Iterable[Tensor], versions: Iterable[int]) -> None:
    for t, version in zip(tensors, versions, strict=True):
        if version < 0:
            raise RuntimeError(f"Cannot set a version_counter to a value below 0: {version}")
        t._version_counter.value = version
