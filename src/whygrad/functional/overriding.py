"""`__torch_function__`: classes and modes that override torch's functions, methods and properties.

A handler of the function door. It is installed once something can override: when an instance of a subclass of Tensor is made,
when an argument of a foreign class is met, and while a mode is entered.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import weakref
from collections.abc import Iterable
from types import CodeType
from typing import Any

import numpy as np

from whygrad.base import door
from whygrad.base.door import Instead, Next, Spec, enter
from whygrad.base.errors import warn
from whygrad.base.frames import is_internal, is_internal_name
from whygrad.base.torch_homes import is_in_python, own_module
from whygrad.core.tensor import Tensor
from whygrad.functional.fresh import fresh


class State(threading.local):
    """The modes and switches of one thread."""

    def __init__(self) -> None:
        # The entered modes, innermost last. While a mode is being called, it is not among them.
        self.modes: list[Any] = []
        # Whether subclasses, or subclasses and modes, are not called.
        self.subclasses_off = self.all_off = False
        # The next call goes to the implementation (see `redispatch_function`).
        self.skips_one = False


state = State()


class _Disabled:
    """The `__torch_function__` of a class that never overrides, such as Parameter."""

    def __call__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    def __repr__(self) -> str:
        return "<built-in method _disabled_torch_function_impl>"


disabled_torch_function_impl = _Disabled()
_kinds: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()
# Frequent classes that never override.
_PLAIN: frozenset[type] = frozenset({Tensor, int, float, bool, str, slice, type(None)})


def is_overriding(kind: type) -> bool:
    """Whether a class overrides. Our own subclasses of Tensor do not, but for those that define it themselves, nor do PyTorch's
    tensors, which are data here."""
    found = _kinds.get(kind)
    if found is None:
        method = getattr(kind, "__torch_function__", None)
        of_pytorch = any((own_module(base), base.__name__) == ("torch", "Tensor") for base in kind.__mro__)
        found = _kinds[kind] = (method is not None and method is not disabled_torch_function_impl and not of_pytorch
                                and not (issubclass(kind, Tensor) and is_internal_name(own_module(kind))
                                         and (kind is Tensor or "__torch_function__" not in vars(kind))))
    return found


def overloaded(values: Iterable[Any], plain: bool = False) -> list[Any]:
    """One argument of each class that overrides, in torch's order: from left to right, but subclasses first.

    Where torch checks in Python (`plain`), Tensor itself is among these classes.
    """
    found: list[Any] = []
    for x in values:
        kind = type(x)
        if kind in _PLAIN and not plain:
            continue
        if (not plain if kind is Tensor else not is_overriding(kind)) or any(type(known) is kind for known in found):
            continue
        place = next((i for i, known in enumerate(found) if issubclass(kind, type(known))), len(found))
        found.insert(place, x)
    return found


def _each(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterable[Any]:
    """The arguments, and those inside of lists."""
    values = (*args, *kwargs.values()) if kwargs else args
    if not any(type(value) in (list, tuple) for value in values):
        return values
    return [x for value in values for x in (value if type(value) in (list, tuple) else (value,))]


def call_overrides(function: Any, name: str, found: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
    """Call `__torch_function__` of the innermost mode, then of the arguments, until one returns a result.

    If `kwargs` is None, they are not passed at all, as by torch's C++ functions.
    """
    types = tuple(map(type, found))
    given = (function, types, args) if kwargs is None else (function, types, args, kwargs)
    modes, asked = state.modes, []
    if modes and not state.all_off:
        mode = modes.pop()
        try:
            result = mode.__torch_function__(*given)
        finally:
            modes.append(mode)
        if result is not NotImplemented:
            return result
        asked.append(f"mode object {mode}")
    for x in found:
        method = x.__torch_function__
        if getattr(method, "__self__", None) is x:
            warn("Defining your `__torch_function__ as a plain method is deprecated and will be an error in future, "
                 "please define it as a classmethod.", DeprecationWarning)
        result = method(*given)
        if result is not NotImplemented:
            return result
        asked.append(f"tensor subclass {type(x)}")
    if name.count(".") > 1:
        raise TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: {list(types)}")
    shown = name if name.startswith("torch.") else f"torch.{name}"
    raise TypeError(f"Multiple dispatch failed for '{shown}'; all __torch_function__ handlers returned NotImplemented:\n\n"
                    + "".join([f"  - {who}\n" for who in asked])
                    + "\nFor more information, try re-running with TORCH_LOGS=not_implemented")


def _ask(spec: Spec, found: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Let a call of a public function be overridden, with the classes and arguments that torch passes on."""
    if is_in_python(spec.name):
        if not state.subclasses_off:
            found = overloaded(_each(args, kwargs), plain=True)
        return call_overrides(spec.function, spec.name, found, *_spelled_out(spec, args, kwargs))
    if not found and spec.is_method and not state.subclasses_off and (
            spec.name.endswith(".__set__") or len(_signature(spec).parameters) == 1):
        found = [x for x in args[:1] if type(x) is Tensor]  # of methods without arguments torch names the class of `self`
    return call_overrides(spec.function, spec.name, found, args, kwargs or None)


# Parameters that torch does not pass on: those that its methods do not have, and a few more.
_NOT_PASSED_BY_METHODS = ("alpha", "function", "out")
_NOT_PASSED = {"Tensor.__array__": ("copy",), "torch.chain_matmul": ("out",), "torch.nn.functional.l1_loss": ("weight",)}


@functools.cache
def _signature(spec: Spec) -> inspect.Signature:
    found = inspect.signature(spec.plain)
    dropped = _NOT_PASSED.get(spec.name, _NOT_PASSED_BY_METHODS if spec.is_method else ())
    return found.replace(parameters=[p for p in found.parameters.values() if p.name not in dropped])


def _spelled_out(spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments as torch's Python functions pass them on: required ones by position, the others by keyword."""
    try:
        bound = _signature(spec).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return args, kwargs
    bound.apply_defaults()
    by_position: list[Any] = []
    by_keyword: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        parameter = bound.signature.parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            listed = spec.name == "torch.einsum" and len(value) == 2 and isinstance(value[1], (list, tuple))  # its operands
            by_position += (value[0], *value[1]) if listed else value
        elif parameter.kind is parameter.VAR_KEYWORD:
            by_keyword |= value
        elif parameter.default is parameter.empty:
            by_position.append(value)
        else:
            by_keyword[name] = value
    return tuple(by_position), by_keyword


# Functions that nothing overrides.
IGNORED = frozenset({
    "torch.is_tensor", "torch.is_storage", "torch.typename", "torch.get_default_dtype", "torch.set_default_dtype",
    "torch.can_cast", "torch.promote_types", "Tensor.as_subclass", "Tensor.__dir__", "Tensor.__iter__", "Tensor.why"})
# Functions whose arguments are data: only modes override them.
OF_DATA = frozenset({"torch.as_tensor", "torch.tensor"})


class Overrides:
    place = "overrides"

    def wants(self, spec: Spec) -> bool:
        return spec.name.startswith(("torch.", "Tensor.")) and spec.name not in IGNORED and (
            not spec.name.startswith("torch.nn.utils."))

    def is_idle(self) -> bool:
        return not _entered

    def handle(self, spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any], next: Next) -> Any:
        if not _entered and not kwargs:
            for x in args:
                if type(x) not in _PLAIN:
                    break
            else:
                return enter(spec, args, kwargs)  # the usual call; this handler is the last one
        if state.skips_one:
            state.skips_one = False
            with DisableTorchFunction():
                return next(args, kwargs)
        if state.all_off:
            return next(args, kwargs)
        found = [] if state.subclasses_off or spec.name in OF_DATA else overloaded(_each(args, kwargs))
        if not found and not state.modes:
            return next(args, kwargs)
        return _ask(spec, found, args, kwargs)


overrides = Overrides()
_ALONE = (overrides,)


def is_plain_call(spec: Spec, self: Any, other: Any = None) -> bool:
    """For operators and properties with a handler: it is this one alone, and neither a mode nor an operand overrides."""
    return not _entered and type(self) is Tensor and type(other) in _PLAIN and spec.handlers == _ALONE


_counting = threading.Lock()
_entered = 0
_for_good = False


def _count(more: int) -> None:
    """Count the modes that are entered, in all threads."""
    global _entered
    with _counting:
        _entered += more
        if not _for_good and _entered == max(more, 0):
            (door.add if _entered else door.remove)(overrides)


def push_mode(mode: Any) -> None:
    state.modes.append(mode)
    _count(1)


def pop_mode() -> Any:
    _count(-1)
    return state.modes.pop()


def remove_mode(mode: Any) -> None:
    """Take away a mode that need not be the innermost one."""
    state.modes.remove(mode)
    _count(-1)


def expect(kind: type) -> None:
    """An instance of this class is being made: if the class overrides, install the handler, which then stays."""
    global _for_good
    if not _for_good and is_overriding(kind):
        with _counting:
            _for_good = True
            door.add(overrides)


# The descriptors of Tensor's slots, past properties by which a subclass replaces them.
_SLOTS = [vars(Tensor)[name] for name in Tensor.__slots__ if not name.startswith("__")]


def as_instance(kind: type, made: Tensor) -> Any:
    """A tensor that was just made, and is not referenced elsewhere, as an instance of a subclass."""
    expect(kind)
    result: Any = object.__new__(kind)
    for slot in _SLOTS:
        slot.__set__(result, slot.__get__(made))
    return result


def rebuild(kind: type[Tensor], array: np.ndarray, requires_grad: bool, attributes: dict[str, Any]) -> Tensor:
    """A tensor out of a pickle or a shallow copy."""
    result = fresh(array, requires_grad)
    if kind is not Tensor:
        result = as_instance(kind, result)
    result.__dict__.update(attributes)
    return result


def ask_foreign(spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Instead | None:
    """After a function rejected an argument: call `__torch_function__` of its class, if the user called this function."""
    if overrides in door.active or not overrides.wants(spec):
        return None
    found = overloaded(_each(args, kwargs))
    if not found or not _is_called_by_user():
        return None
    expect(type(found[0]))
    return Instead(_ask(spec, found, args, kwargs))


def _is_called_by_user() -> bool:
    """Whether there is one public function between here and the user's frame."""
    frame: Any = sys._getframe(2)
    entries = 0
    while frame is not None and is_internal(frame):
        entries += frame.f_code in _entry_codes()
        frame = frame.f_back
    return entries == 1


def _entry_codes() -> set[CodeType]:
    return {spec.function.__code__ for spec in door.SPECS.values() if hasattr(spec.function, "__code__")} | {
        vars(Tensor)[name].__code__ for name in vars(Tensor) if name.startswith("__") and hasattr(vars(Tensor)[name], "__code__")}


door.ask_foreign = ask_foreign


class DisableTorchFunctionSubclass:
    """A block in which subclasses do not override; modes do."""

    def __enter__(self) -> None:
        self._before = state.subclasses_off
        state.subclasses_off = True

    def __exit__(self, *error: object) -> None:
        state.subclasses_off = self._before


class DisableTorchFunction:
    """A block in which neither subclasses nor modes override."""

    def __enter__(self) -> None:
        self._before = state.all_off
        state.all_off = True

    def __exit__(self, *error: object) -> None:
        state.all_off = self._before


# Reading them twice gives the same object, which is not converted to the subclass.
NOT_CONVERTED = ("Tensor.grad.__get__", "Tensor._base.__get__")


def __torch_function__(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The default of subclasses of Tensor: call the function, and convert the results to the subclass."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        return result if func in [door.SPECS[name].function for name in NOT_CONVERTED] else _converted(result, cls)


def _converted(result: Any, cls: type) -> Any:
    if cls is Tensor:
        return result
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)  # type: ignore[attr-defined]
    if isinstance(result, (tuple, list)):
        made = [_converted(x, cls) for x in result]
        return type(result)(*made) if hasattr(result, "_fields") else type(result)(made)
    return result


def _make_subclass(cls: type, data: Any, require_grad: bool = False) -> Any:
    """An instance of a subclass, on the memory of a tensor."""
    return data.detach().as_subclass(cls).requires_grad_(require_grad)


def refuse_dispatch(kind: type) -> None:
    """A class that defines `__torch_dispatch__`, which would never be called here, raises when it is instantiated."""

    def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{kind.__name__}.__torch_dispatch__ is not available in whygrad: there is no dispatcher below "
                                  "the functions. Define __torch_function__, or use torch.autograd.Function or hooks")

    kind.__new__ = staticmethod(__new__)  # type: ignore[method-assign, assignment]
