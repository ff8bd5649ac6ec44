"""The function door: every public function, method and property of tensors is called through it.

Whoever wants to see, change or replace such calls is a handler: an object with `handle(spec, args, kwargs, next)`, a `place`
in ORDER, and `wants(spec)`. A handler stands at the functions it wants while it is `add`ed. README.md tells more.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any, NamedTuple, Protocol

Function = Callable[..., Any]
Next = Callable[[tuple[Any, ...], dict[str, Any]], Any]

# Who is asked first.
ORDER = ("watch", "profiler", "autocast", "sparse", "overrides")


class Spec:
    """What the door knows of one public name.

    `handlers` are those who stand there, in their order; () almost always, and then the implementation is called at once.
    """

    __slots__ = ("autocast", "function", "handlers", "implementation", "is_method", "name")

    def __init__(self, name: str, implementation: Function, autocast: Any = None) -> None:
        # As the user writes it: "torch.add", "Tensor.add", "torch.nn.functional.relu", "Tensor.grad.__get__".
        self.name = name
        self.implementation = implementation
        self.is_method = name.startswith("Tensor.")
        # What autocast does with its arguments (see amp/casting.py).
        self.autocast = autocast
        # What the user calls: functions that ask which one was called are given this.
        self.function: Any = None
        self.handlers: tuple[Handler, ...] = ()
        SPECS[name] = self
        for handler, specs in _wanted.items():
            if handler.wants(self):
                specs.append(self)
                self.handlers += (handler,) if handler in active else ()

    @property
    def plain(self) -> Any:
        """The implementation without its decorators."""
        return inspect.unwrap(self.implementation)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters that may be given by position."""
        code = getattr(self.plain, "__code__", None)
        return () if code is None else code.co_varnames[:code.co_argcount]


class Policy(NamedTuple):
    """What autocast does with a function of which only some calls are concerned."""

    name: str
    concerns: Callable[[dict[str, Any]], bool]


class Handler(Protocol):
    place: str

    def wants(self, spec: Spec) -> bool: ...

    def handle(self, spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any], next: Next) -> Any: ...


SPECS: dict[str, Spec] = {}
# All who stand anywhere, in their order.
active: tuple[Handler, ...] = ()
# Where each handler that ever stood somewhere wants to stand.
_wanted: dict[Handler, list[Spec]] = {}
_changing = threading.RLock()


def add(handler: Handler) -> None:
    _stand(handler, True)


def remove(handler: Handler) -> None:
    _stand(handler, False)


def _stand(handler: Handler, present: bool) -> None:
    global active
    with _changing:
        if handler not in _wanted:
            _wanted[handler] = [spec for spec in SPECS.values() if handler.wants(spec)]
        active = _changed(active, handler, present)
        for spec in _wanted[handler]:
            spec.handlers = _changed(spec.handlers, handler, present)


def _changed(handlers: tuple[Handler, ...], handler: Handler, present: bool) -> tuple[Handler, ...]:
    if not handlers:
        return (handler,) if present else ()
    others = [h for h in handlers if h is not handler]
    return tuple(sorted([*others, handler], key=lambda h: ORDER.index(h.place)) if present else others)


def dispatch(spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Pass a call on to those who stand at the door, one after the other, and then to the implementation."""
    return _pass_on(spec, spec.handlers, args, kwargs)


def _pass_on(spec: Spec, handlers: tuple[Handler, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not handlers:
        return enter(spec, args, kwargs)
    return handlers[0].handle(spec, args, kwargs, partial(_pass_on, spec, handlers[1:]))


def enter(spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the implementation, and word its refusal, if it refuses an argument, for what the user called."""
    try:
        return spec.implementation(*args, **kwargs)
    except REFUSALS as error:
        return refuse(error, spec, args, kwargs)


def call(spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the door does, for functions that have a short path of their own before it."""
    for x in args:
        if x is MISSING:
            args = tuple([x for x in args if x is not MISSING])
            break
    return _pass_on(spec, spec.handlers, args, kwargs)


# The default of a parameter that may be given by keyword too, where a short path has to take it by position.
MISSING: Any = object()


def function(name: str, implementation: Function, autocast: Any = None, short: Callable[[Spec], Function] | None = None) -> Any:
    """What the user calls under this name. `short` makes it for functions that do the usual case at once, to save a call."""
    known = getattr(implementation, "spec", None)
    if known is not None:  # another name for what the user calls already
        implementation, autocast = known.implementation, autocast or known.autocast
    spec = Spec(name, implementation, autocast)
    made = short(spec) if short is not None else _door(spec)
    update_wrapper(made, spec.implementation)
    made.__name__ = made.__qualname__ = name.rpartition(".")[2]
    made.spec = spec
    spec.function = made
    return made


def _door(spec: Spec) -> Function:
    implementation = spec.implementation

    def door(*args: Any, **kwargs: Any) -> Any:
        if spec.handlers:
            return dispatch(spec, args, kwargs)
        try:
            if kwargs:
                return implementation(*args, **kwargs)
            return implementation(*args)
        except REFUSALS as error:
            return refuse(error, spec, args, kwargs)

    def door_of_self(self: Any) -> Any:  # takes half the time, and there is nothing that could be given by keyword
        if spec.handlers:
            return dispatch(spec, (self,), {})
        try:
            return implementation(self)
        except REFUSALS as error:
            return refuse(error, spec, (self,), {})

    def door_of_index(self: Any, index: Any) -> Any:
        if spec.handlers:
            return dispatch(spec, (self, index), {})
        return implementation(self, index)

    if spec.is_method and _takes_one(implementation):
        return door_of_self
    return door_of_index if spec.name == "Tensor.__getitem__" else door


def _takes_one(implementation: Any) -> bool:
    code = getattr(implementation, "__code__", None)
    return code is not None and code.co_argcount == 1 and not code.co_kwonlyargcount and not code.co_flags & VARIADIC


VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def doored_property(name: str, plain: property) -> property:
    """A property of Tensor behind the door."""
    get, put, drop = ((_accessor(f"Tensor.{name}.__{kind}__", f)) for kind, f in (
        ("get", plain.fget), ("set", plain.fset), ("delete", plain.fdel)))
    made = property(get, put, drop, plain.__doc__)
    for kind in ("get", "set", "delete"):
        spec = SPECS.get(f"Tensor.{name}.__{kind}__")
        if spec is not None:
            spec.function = getattr(made, f"__{kind}__")
    return made


def _accessor(name: str, plain: Any) -> Any:
    if plain is None or name in SPECS:  # in which case it looks itself who stands there
        return plain
    spec = Spec(name, plain)

    def read(t: Any) -> Any:
        return dispatch(spec, (t,), {}) if spec.handlers else plain(t)

    def write(t: Any, value: Any) -> Any:
        return dispatch(spec, (t, value), {}) if spec.handlers else plain(t, value)

    return write if name.endswith("set__") else read


class Instead(NamedTuple):
    """What an argument of a foreign class made of a call that the implementation refused."""

    result: Any


# Asks arguments of foreign classes that have `__torch_function__` (see functional/overriding.py).
ask_foreign: Callable[[Spec, tuple[Any, ...], dict[str, Any]], Instead | None] = lambda spec, args, kwargs: None  # noqa: E731


def refuse(error: Exception, spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """After a failure: what an argument of a foreign class makes of the call, or the error, worded for what the user called."""
    if (instead := ask_foreign(spec, args, kwargs)) is not None:
        return instead.result
    refusal = vars(error).get("refusal")
    own = getattr(spec.implementation, "__name__", "")
    name = spec.name.rpartition(".")[2] if spec.name.count(".") == 1 else own
    if refusal is None:
        if own != name and type(error) is TypeError and str(error).startswith(f"{own}() "):
            error.args = (str(error).replace(own, name, 1),)  # Python's own, about an alias
    elif refusal.function is None:
        error.args = (spec.name + refusal.text,)
    elif own.strip("_") == refusal.function.strip("_"):
        given = len(args) + len(kwargs) - spec.is_method
        error.args = (refusal.text(Call(name, spec.is_method, spec.parameters, tuple(kwargs), given)),)
    raise error


# What an implementation raises when it refuses an argument.
REFUSALS = TypeError, AttributeError, NotImplementedError


class Call(NamedTuple):
    """How the user called a function: under which name, whether as a method of a tensor, and with which arguments."""

    name: str
    is_method: bool = False
    # Names of the parameters, and of those that were given by keyword.
    parameters: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    # How many arguments were given, if that is known.
    given: int | None = None


class Refusal(NamedTuple):
    """Whose argument is refused, and how that is told; or, whatever the function, what is said behind its name."""

    function: str | None
    text: Any


def bad_argument(function: str, text: Callable[..., str], *facts: Any) -> TypeError:
    """A TypeError that the door words anew: `text(*facts, call)`. Facts are plain values, so that the error can be pickled."""
    words = partial(text, *facts)
    error = TypeError(words(Call(function)))
    vars(error)["refusal"] = Refusal(function, words)
    return error


def not_implemented(words: str) -> NotImplementedError:
    """For a kind of argument that no function but some takes. The door puts the user's function before the words."""
    error = NotImplementedError("this operation" + words)
    vars(error)["refusal"] = Refusal(None, words)
    return error
