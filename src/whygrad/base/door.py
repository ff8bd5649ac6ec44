"""The function door: every public function, method and property of tensors is called through it.

A handler observes, changes or replaces such calls: an object with `handle(spec, args, kwargs, next)`, a `place` in ORDER, and
`wants(spec)`. Between `add` and `remove` it is installed at the functions it wants. See README.md.
"""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

from whygrad.base.devices import OnMeta
from whygrad.base.errors import out_of_memory

Function = Callable[..., Any]
Next = Callable[[tuple[Any, ...], dict[str, Any]], Any]

# The order in which handlers are called.
ORDER = ("watch", "profiler", "autocast", "sparse", "overrides")


class Spec:
    """The door's record of one public name.

    `handlers` are the installed handlers, in order; it is usually (), and then the implementation is called directly.
    """

    __slots__ = ("_past_handlers", "autocast", "function", "handlers", "implementation", "is_method", "name", "short")

    def __init__(self, name: str, implementation: Function, autocast: Any = None) -> None:
        # The public name: "torch.add", "Tensor.add", "torch.nn.functional.relu", "Tensor.grad.__get__".
        self.name = name
        self.implementation = implementation
        self.is_method = name.startswith("Tensor.")
        # Makes the short way, if there is one.
        self.short: Callable[[Spec], Function] | None = None
        self._past_handlers: Function | None = None
        # What autocast does with its arguments (see amp/casting.py).
        self.autocast = autocast
        # The public function object, which handlers pass to `__torch_function__` and the like.
        self.function: Any = None
        self.handlers: tuple[Handler, ...] = ()
        SPECS[name] = self
        for handler, specs in _wanted.items():
            if handler.wants(self):
                specs.append(self)
                self.handlers += (handler,) if handler in active else ()

    @property
    def past_handlers(self) -> Function:
        """What the last handler calls: the implementation, or the short way to it, made for a copy without handlers."""
        if self._past_handlers is None:
            copy: Spec = object.__new__(Spec)
            copy.name, copy.implementation, copy.is_method, copy.function = self.name, self.implementation, self.is_method, None
            copy.autocast, copy.short, copy.handlers = self.autocast, None, ()
            self._past_handlers = self.implementation if self.short is None else self.short(copy)
        return self._past_handlers

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
    """The autocast policy of a function to which autocast applies only in some calls."""

    name: str
    concerns: Callable[[dict[str, Any]], bool]


class Handler(Protocol):
    place: str

    def wants(self, spec: Spec) -> bool: ...

    def handle(self, spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any], next: Next) -> Any: ...


SPECS: dict[str, Spec] = {}
# All installed handlers, in order.
active: tuple[Handler, ...] = ()
# The functions that each handler wants, also while it is not installed.
_wanted: weakref.WeakKeyDictionary[Handler, list[Spec]] = weakref.WeakKeyDictionary()
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
        changes: dict[tuple[Handler, ...], tuple[Handler, ...]] = {}  # hundreds of functions, and few different tuples
        for spec in _wanted[handler]:
            before = spec.handlers
            if before not in changes:
                changes[before] = _changed(before, handler, present)
            spec.handlers = changes[before]


def _changed(handlers: tuple[Handler, ...], handler: Handler, present: bool) -> tuple[Handler, ...]:
    others = [h for h in handlers if h is not handler]
    return tuple(sorted([*others, handler], key=lambda h: ORDER.index(h.place)) if present else others)


def is_idle() -> bool:
    """Whether no handler at the door applies to calls on plain tensors: those for sparse tensors and for subclasses stay
    installed once there has been one."""
    return all(getattr(handler, "is_idle", bool)() for handler in active)


def dispatch(spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Pass a call through the installed handlers, and then to the implementation."""
    return _pass_on(spec, spec.handlers, args, kwargs)


def _pass_on(spec: Spec, handlers: tuple[Handler, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not handlers:
        return enter(spec, args, kwargs)
    return handlers[0].handle(spec, args, kwargs, partial(_pass_on, spec, handlers[1:]))


def enter(spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the implementation; if it rejects an argument, raise an error that names the function the user called."""
    try:
        return spec.past_handlers(*args, **kwargs)
    except REFUSALS as error:
        return refuse(error, spec, args, kwargs)


def call(spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The door's slow path, for functions that have a fast path of their own, which does not apply."""
    for x in args:
        if x is MISSING:
            args = tuple([x for x in args if x is not MISSING])
            break
    if spec.handlers:
        return dispatch(spec, args, kwargs)
    try:
        return spec.implementation(*args, **kwargs)
    except REFUSALS as error:
        return refuse(error, spec, args, kwargs)


# The default of an omitted parameter in fast paths, which pass all arguments by position.
MISSING: Any = object()


def function(name: str, implementation: Function, autocast: Any = None, short: Callable[[Spec], Function] | None = None) -> Any:
    """The public function of this name. `short` creates it for functions with a fast path, which saves a call."""
    known = getattr(implementation, "spec", None)
    if known is not None:  # another name of an existing public function
        implementation, autocast = known.implementation, autocast or known.autocast
    spec = Spec(name, implementation, autocast)
    made: Any = short(spec) if short is not None else _door(spec)
    spec.short = short
    # What functools.update_wrapper does, but for annotations: for 1,500 functions these would take 5 ms.
    implementation = spec.implementation
    made.__dict__.update(vars(implementation))
    made.__doc__, made.__wrapped__ = implementation.__doc__, implementation
    space, _, made.__name__ = name.rpartition(".")
    made.__qualname__ = made.__name__
    # Where pickle finds it: many implementations are generated, and have no name in their module.
    made.__module__ = space.replace("torch", "whygrad", 1) if space.startswith("torch") else implementation.__module__
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

    def door_of_self(self: Any) -> Any:  # twice as fast as *args, **kwargs; no argument can be given by keyword
        if spec.handlers:
            return dispatch(spec, (self,), {})
        try:
            return implementation(self)
        except REFUSALS as error:
            return refuse(error, spec, (self,), {})

    def door_of_index(self: Any, index: Any) -> Any:
        if spec.handlers:
            return dispatch(spec, (self, index), {})
        try:
            return implementation(self, index)
        except MemoryError as error:
            raise out_of_memory(error) from None

    if spec.is_method and _takes_one(implementation):
        return door_of_self
    return door_of_index if spec.name == "Tensor.__getitem__" else door


def _takes_one(implementation: Any) -> bool:
    code = getattr(implementation, "__code__", None)
    return code is not None and code.co_argcount == 1 and not code.co_kwonlyargcount and not code.co_flags & VARIADIC


VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def doored_property(name: str, plain: property) -> property:
    """A property of Tensor whose accesses go through the door."""
    get, put, drop = ((_accessor(f"Tensor.{name}.__{kind}__", f)) for kind, f in (
        ("get", plain.fget), ("set", plain.fset), ("delete", plain.fdel)))
    made = property(get, put, drop, plain.__doc__)
    for kind in ("get", "set", "delete"):
        spec = SPECS.get(f"Tensor.{name}.__{kind}__")
        if spec is not None:
            spec.function = getattr(made, f"__{kind}__")
    return made


def _accessor(name: str, plain: Any) -> Any:
    if plain is None or name in SPECS:  # then the function goes through the door itself
        return plain
    spec = Spec(name, plain)

    def read(t: Any) -> Any:
        return dispatch(spec, (t,), {}) if spec.handlers else plain(t)

    def write(t: Any, value: Any) -> Any:
        return dispatch(spec, (t, value), {}) if spec.handlers else plain(t, value)

    return write if name.endswith("set__") else read


class Instead(NamedTuple):
    """The result of `__torch_function__` of a foreign argument, for a call that the implementation rejected."""

    result: Any


# Calls `__torch_function__` of arguments of foreign classes (see functional/overriding.py).
ask_foreign: Callable[[Spec, tuple[Any, ...], dict[str, Any]], Instead | None] = lambda spec, args, kwargs: None  # noqa: E731
# Repeats a call with numbers by position where they are keywords today (see functional/old_order.py).
in_old_order: Callable[[Spec, tuple[Any, ...], dict[str, Any]], Any] = lambda spec, args, kwargs: None  # noqa: E731
# Makes a tensor on the meta device, in the place of the factory that was called (see functional/meta.py).
make_on_meta: Callable[[Spec, tuple[Any, ...], dict[str, Any]], Any] = lambda spec, args, kwargs: None  # noqa: E731

# The argument of the wrong type in a call that failed inside (see functional/wrong_arguments.py).
wrong_argument: Callable[[Exception, Spec, tuple[Any, ...], dict[str, Any]], TypeError | None] = lambda *call: None  # noqa: E731


def refuse(error: Exception, spec: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """After a failure: the result of a foreign argument's `__torch_function__`, or the error that names the user's function."""
    if isinstance(error, MemoryError):
        raise out_of_memory(error) from None
    if isinstance(error, OnMeta):
        return make_on_meta(spec, args, kwargs)
    if (instead := ask_foreign(spec, args, kwargs)) is not None:
        return instead.result
    if type(error) is TypeError and len(args) > len(spec.parameters) and hasattr(spec.plain, "takes_old_order"):
        try:
            return in_old_order(spec, args, kwargs)
        except Exception as wrong:
            raise wrong from None
    if "refusal" not in vars(error) and (named := wrong_argument(error, spec, args, kwargs)) is not None:
        error = named
    refusal = vars(error).get("refusal")
    own = getattr(spec.implementation, "__name__", "")
    name = spec.name.rpartition(".")[2] if spec.name.count(".") == 1 else own
    if refusal is None:
        if own != name and type(error) is TypeError and str(error).startswith(f"{own}() "):
            error.args = (str(error).replace(own, name, 1),)  # Python's own message, about an alias
    elif refusal.function is None:
        error.args = (spec.name + refusal.text,)
    elif own.strip("_") == refusal.function.strip("_"):
        given = len(args) + len(kwargs) - spec.is_method
        error.args = (refusal.text(Call(name, spec.is_method, spec.parameters, tuple(kwargs), given)),)
    try:
        raise error
    finally:
        del error  # its traceback holds this frame: a cycle would keep the arguments, and their graph, alive


# The errors by which an implementation rejects an argument, and NumPy's, which is not torch's.
REFUSALS = TypeError, AttributeError, NotImplementedError, MemoryError


class Call(NamedTuple):
    """A call by the user: the name of the function, whether it is a method of a tensor, and the arguments."""

    name: str
    is_method: bool = False
    # Names of the parameters, and of those that were given by keyword.
    parameters: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    # The number of arguments given, if it is known.
    given: int | None = None


class Refusal(NamedTuple):
    """The function whose argument is rejected, and the composer of the message; or the text after any function's name."""

    function: str | None
    text: Any


def bad_argument(function: str, text: Callable[..., str], *facts: Any) -> TypeError:
    """A TypeError whose message the door replaces by `text(*facts, call)`. Facts are plain values, so it can be pickled."""
    words = partial(text, *facts)
    error = TypeError(words(Call(function)))
    vars(error)["refusal"] = Refusal(function, words)
    return error


def not_implemented(words: str) -> NotImplementedError:
    """The error for a kind of argument that most functions reject. The door puts the user's function before the text."""
    error = NotImplementedError("this operation" + words)
    vars(error)["refusal"] = Refusal(None, words)
    return error
