"""torch.overrides: classes and modes that override torch's functions, and which functions they can (functional/overriding.py)."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import whygrad
from whygrad.base.door import SPECS
from whygrad.base.errors import warn
from whygrad.base.torch_homes import is_in_python
from whygrad.base.unsupported import absent_from
from whygrad.compat.ignored_functions import IGNORED
from whygrad.core.tensor import Tensor
from whygrad.functional.overriding import NOT_CONVERTED, call_overrides, overloaded, pop_mode, push_mode, state
from whygrad.functional.overriding import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from whygrad.functional.run import FUNCTIONS

__getattr__ = absent_from("torch.overrides")

Function = Callable[..., Any]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode or one of the arguments overrides."""
    if not isinstance(relevant_args, Iterable):
        raise TypeError("expected a sequence")
    if state.all_off or state.skips_one:
        state.skips_one = False
        return False
    return bool(state.modes) or (not state.subclasses_off and bool(overloaded(relevant_args)))


def has_torch_function_unary(tensor: Any) -> bool:
    return has_torch_function((tensor,))


def has_torch_function_variadic(*tensors: Any) -> bool:
    return has_torch_function(tensors)


def handle_torch_function(public_api: Function, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Let a mode or the arguments override a function of the user's."""
    found = [] if state.subclasses_off else overloaded(relevant_args, plain=True)
    return call_overrides(public_api, f"{public_api.__module__}.{public_api.__name__}", found, args, kwargs)


def wrap_torch_function(dispatcher: Function) -> Callable[[Function], Function]:
    """Let a function of the user's be overridden by the arguments that `dispatcher` returns."""

    def inner(func: Function) -> Function:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant_args = dispatcher(*args, **kwargs)
            if has_torch_function(relevant_args):
                return handle_torch_function(wrapped, relevant_args, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return inner


def is_tensor_like(inp: Any) -> bool:
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def _spaces() -> dict[str, Any]:
    """The modules and the class whose functions can be overridden, in torch's order."""
    from whygrad import fft, linalg, nn, special
    from whygrad.nn.functional import native_norms, recurrent, torch_names  # noqa: F401 (functions of the torch namespace)

    return {"torch": whygrad, "torch.nn.functional": nn.functional, "torch.nn.init": nn.init, "torch.Tensor": Tensor,
            "torch.linalg": linalg, "torch.fft": fft, "torch.special": special}


# Members of our Tensor that torch's has not.
_OUR_OWN = frozenset({"_numbers", "_with_numbers", "meta", "why"})


def _members(space: str, owner: Any) -> Iterator[tuple[str, Any]]:
    """The functions, methods and properties in a space, by name."""
    names: Iterable[str] = dir(owner)
    if owner is whygrad:  # many of its functions are loaded on first access
        names = sorted({*FUNCTIONS, *[name.removeprefix("torch.") for name in SPECS if name.startswith("torch.")
                                      and name.count(".") == 1]})
    for name in names:
        member = inspect.getattr_static(owner, name) if owner is Tensor else getattr(owner, name)
        is_function = hasattr(member, "spec") or (owner is Tensor and inspect.isfunction(member))
        if (is_function or isinstance(member, property)) and name not in _OUR_OWN:
            yield name, member


@functools.cache
def _index() -> dict[Any, str]:
    """The name of each function. Like torch's, a function of several names has the last one."""
    found: dict[Any, str] = {}
    for space, owner in _spaces().items():
        for name, member in _members(space, owner):
            if isinstance(member, property):
                found |= {member.__get__: f"{space}.{name}.__get__", member.__set__: f"{space}.{name}.__set__"}
            else:
                found[member] = f"{space}.{'functional.' * (space == 'torch' and is_in_python(f'torch.{name}'))}{name}"
    return found


def resolve_name(f: Any) -> str | None:
    """What a user would write to get this function."""
    return _index().get(f)


@functools.cache
def get_ignored_functions() -> set[Function]:
    """Public functions that cannot be overridden."""
    spaces = _spaces()
    return {getattr(spaces[space], name) for space, names in IGNORED.items() for name in names.split()}


def get_default_nowrap_functions() -> set[Function]:
    """Those whose results `Tensor.__torch_function__` does not make instances of the subclass."""
    return {SPECS[name].function for name in NOT_CONVERTED}


@functools.cache
def get_overridable_functions() -> dict[Any, list[Function]]:
    """By namespace (a module, the class Tensor, or a property of it), the functions that can be overridden."""
    ignored = get_ignored_functions()
    found: dict[Any, list[Function]] = {}
    for space, owner in _spaces().items():
        for name, member in _members(space, owner):
            if owner is not Tensor and (name.startswith("_") or name.endswith("_")):
                continue
            if isinstance(member, property):
                found[member] = [member.__get__]
            elif member not in ignored:
                found.setdefault(owner, []).append(member)
    return found


def get_testing_overrides() -> dict[Function, Function]:
    """For each function that can be overridden, one of the same signature that returns -1."""
    return {f: _testing_override(f) for functions in get_overridable_functions().values() for f in functions}


def _testing_override(function: Function) -> Function:
    def override(*args: Any, **kwargs: Any) -> int:
        return -1

    try:
        override.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    except ValueError:  # an accessor of a property
        override.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)])
    return override


def is_tensor_method_or_property(func: Function) -> bool:
    name = resolve_name(func)
    return (name is not None and name.startswith("torch.Tensor.")) or func.__name__ == "__get__"


class TorchFunctionMode:
    """Overrides every call in its block, before subclasses do. What it calls itself is passed to the enclosing mode."""

    inner: TorchFunctionMode

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        push_mode(self)
        return self

    def __exit__(self, *error: object) -> None:
        pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`")
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """The mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> Any:
    return state.modes[-1] if state.modes else None


def _get_current_function_mode_stack() -> list[Any]:
    return list(state.modes)


_push_mode, _pop_mode = push_mode, pop_mode


@contextlib.contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    mode = state.modes.pop()
    try:
        yield mode
    finally:
        state.modes.append(mode)


@contextlib.contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Does nothing: the function door can always be entered again."""
    yield


def redispatch_function(func: Function, types: Any, args: Any, kwargs: Any) -> Any:
    """Call the function itself, without overriding; what it calls in turn can be overridden."""
    before, state.skips_one = state.skips_one, True
    try:
        return func(*args, **(kwargs or {}))
    finally:
        state.skips_one = before


__all__ = ["BaseTorchFunctionMode", "DisableTorchFunctionSubclass", "TorchFunctionMode", "enable_reentrant_dispatch",
           "get_default_nowrap_functions", "get_ignored_functions", "get_overridable_functions", "get_testing_overrides",
           "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic",
           "is_tensor_like", "is_tensor_method_or_property", "redispatch_function", "resolve_name", "wrap_torch_function"]
