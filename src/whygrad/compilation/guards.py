"""Guards: everything that a captured run may have read, checked before its program runs again.

After a run, all objects are visited that can be reached from its arguments and from the globals, closures and defaults of the
code that ran, through attributes whose names occur in that code. What is found there is written as a Python function: it looks at
the same places again, and gives the tensors it finds there, or the number of the check that failed. What cannot be checked raises
`Break`. That a run changes nothing of what it reads shows in the same way: its own guards hold when it has ended.
"""

from __future__ import annotations

import dis
import enum
import functools
import math
import sys
import types
from typing import Any, NamedTuple

import numpy as np

from whygrad.base import dtypes
from whygrad.base.devices import device
from whygrad.base.frames import is_internal_name, is_of_package
from whygrad.base.layouts import strided
from whygrad.base.size import Size
from whygrad.base.version import InferenceVersion
from whygrad.compilation.program import OuterTensor
from whygrad.compilation.split import unread_arguments
from whygrad.core.tensor import Tensor
from whygrad.functional.parameter import Buffer, Parameter
from whygrad.nn.module import HOOK_REGISTRIES, Module
from whygrad.optim.optimizer import Optimizer
from whygrad.random import Generator


class NamedField(NamedTuple):
    """The field of a named tuple is of a type that has no public name."""

    name: Any


class Break(Exception):
    """Why a function cannot be compiled."""


MAX_CHECKS = 20000
PLAIN = (int, float, bool, str, bytes, complex, type(None), type(...), dtypes.dtype, device, Size, type(strided), range, slice)
# Objects of which programs use methods only that they call again; what they hold is not guarded.
OPAQUE = (Optimizer, Generator)
# Modules whose functions depend on their arguments alone.
PURE_MODULES = frozenset({"math", "operator", "functools", "itertools", "typing", "collections", "collections.abc", "contextlib",
                          "dataclasses", "abc", "enum", "numbers", "copy", "warnings", "numpy"})
FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
             types.MethodWrapperType, types.ClassMethodDescriptorType, np.ufunc)


class Executed:
    """What code ran: code objects of the user's with their globals, and all names that occur in any code that ran."""

    def __init__(self) -> None:
        self.codes: dict[types.CodeType, dict[str, Any]] = {}
        self.names: set[str] = set()
        self.own_names: set[str] = set()  # those in the user's code
        self.reads_gradients = False
        # Whether attributes were read by computed names: then every attribute is guarded.
        self.by_name = False


class Guards:
    """The checks for one run. `tensors` are those found, in the order in which `check` gives them."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], function: Any, executed: Executed) -> None:
        self.executed = executed
        self.scope: dict[str, Any] = {"__name__": __name__, "same": _same, "ndarray": np.ndarray,
                                      "InferenceVersion": InferenceVersion}
        self.lines: list[str] = []
        self.texts: list[str] = []
        self.tensors: list[OuterTensor] = []
        self.known: dict[int, str] = {}  # id of what was visited -> the variable that holds it
        self.kept: list[Any] = []
        self.by_array: dict[int, OuterTensor] = {}
        self.closures: set[types.CodeType] = set()
        self.layers: dict[type[Module], None] = {}  # classes of modules that are this package's
        self._pending: list[tuple[Any, str, str]] = []
        self._visit_all(args, kwargs, function)
        names = "".join(f"{t.name}, " for t in self.tensors)
        text = "\n        ".join(["def check(args, kwargs):\n    try:", *self.lines, f"return ({names})"])
        gone = "AttributeError, KeyError, IndexError, TypeError, ValueError"
        text += f"\n    except ({gone}): return {len(self.texts)}\n"
        self.texts.append("an object that was read is gone")
        exec(compile(text, "<whygrad guards>", "exec"), self.scope)
        self.check = self.scope["check"]
        self.text = text

    def release(self) -> None:
        """Let go of the objects that were visited; those to compare with stay in `scope`."""
        self.kept, self.known, self.by_array = [], {}, {}
        for t in self.tensors:
            t.tensor = None

    def failing(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        found = self.check(args, kwargs)
        return self.texts[found] if type(found) is int else None

    # Visiting. A stack instead of recursion; each entry is (object, expression, name for people).

    def _visit_all(self, args: tuple[Any, ...], kwargs: dict[str, Any], function: Any) -> None:
        self._require(f"len(args) == {len(args)}", "the number of arguments")
        self._require(f"list(kwargs) == {list(kwargs)!r}", "the keyword arguments")
        unread, parameters = unread_arguments(function)
        for i, x in enumerate(args):
            if i >= len(parameters) or parameters[i] not in unread:
                self._visit(x, f"args[{i}]", f"argument {i}")
        for name, x in kwargs.items():
            if name not in unread:
                self._visit(x, f"kwargs[{name!r}]", f"argument {name}")
        self._visit(function, self._bind(function), getattr(function, "__qualname__", "the function"))
        self._drain()
        for code, namespace in list(self.executed.codes.items()):
            space = self._bind(namespace)
            for name in _globals_read(code):
                if name in namespace:
                    self._visit(namespace[name], f"{space}[{name!r}]", f"the global {name}")
                else:
                    self._require(f"{name!r} not in {space}", f"the global {name}")
        self._drain()
        self._look_at_methods()
        inner = {part for code in self.executed.codes for part in code.co_consts if isinstance(part, types.CodeType)}
        for code in self.executed.codes:
            if code.co_freevars and code not in self.closures and code not in inner:
                raise Break(f"the closure of {code.co_qualname} is not to be found")

    def _bind(self, x: Any) -> str:
        name = f"c{len(self.kept)}"
        self.kept.append(x)
        self.scope[name] = x
        return name

    def _require(self, condition: str, text: str) -> None:
        if len(self.texts) > MAX_CHECKS:
            raise Break("there is too much to guard")
        self.lines.append(f"if not ({condition}): return {len(self.texts)}")
        self.texts.append(text)

    def _visit(self, x: Any, expression: str, text: str) -> None:
        self._pending.append((x, expression, text))

    def _drain(self) -> None:
        while self._pending:
            self._look_at(*self._pending.pop())

    def _hold(self, x: Any, expression: str, text: str) -> str | None:
        """Read a place once; None if the same object was visited before."""
        before = self.known.get(id(x))
        if before is not None:
            self._require(f"{expression} is {before}", text)
            return None
        name = self.known[id(x)] = f"v{len(self.known)}"
        self.kept.append(x)
        self.lines.append(f"{name} = {expression}")
        return name

    def _look_at(self, x: Any, expression: str, text: str) -> None:
        kind = type(x)
        if kind in PLAIN or isinstance(x, enum.Enum) or (kind.__module__ == "numpy" and isinstance(x, (np.generic, np.dtype))):
            if isinstance(x, float) and math.isnan(x):
                raise Break(f"{text} is NaN")
            constant = self._bind(x)
            self._require(f"(x := {expression}) is {constant} or same(x, {constant})", text)
        elif isinstance(x, Tensor):
            self._look_at_tensor(x, expression, text)
        elif isinstance(x, OPAQUE):
            if read := self.executed.own_names & {"param_groups", "state", "defaults", "state_dict"}:
                raise Break(f"{sorted(read)[0]} of {text} is read")
            self._require(f"{expression} is {self._bind(x)}", text)
        elif isinstance(x, types.ModuleType):
            self._look_at_module(x, expression, text)
        elif isinstance(x, type):
            self._look_at_class(x, expression, text)
        elif isinstance(x, FUNCTIONS):
            self._look_at_function(x, expression, text)
        elif isinstance(x, types.MethodType):
            if (name := self._hold(x, expression, text)) is not None:
                self._visit(x.__func__, f"{name}.__func__", text)
                self._visit(x.__self__, f"{name}.__self__", f"{text}'s object")
        elif isinstance(x, functools.partial):
            if (name := self._hold(x, expression, text)) is not None:
                for part in ("func", "args", "keywords"):
                    self._visit(getattr(x, part), f"{name}.{part}", f"{text}.{part}")
        elif isinstance(x, (list, tuple)):
            self._look_at_sequence(x, expression, text)
        elif isinstance(x, (dict, types.MappingProxyType)):
            self._look_at_dict(x, expression, text)
        elif isinstance(x, (set, frozenset)):
            if not all(isinstance(part, PLAIN) for part in x):
                raise Break(f"{text} is a set of objects")
            self._require(f"type({expression}) is {self._bind(kind)} and {expression} == {self._bind(kind(x))}", text)
        elif isinstance(x, np.ndarray):
            if x.nbytes > 1024 or x.dtype.hasobject:
                raise Break(f"{text} is a NumPy array, whose values cannot be guarded")
            name = self._hold(x, expression, text)
            if name is not None:
                self._require(f"type({name}) is ndarray and {name}.dtype == {self._bind(x.dtype)} and {name}.shape == {x.shape} "
                              f"and {name}.tobytes() == {x.tobytes()!r}", text)
        elif isinstance(x, (property, staticmethod, classmethod, functools.cached_property, type(NamedField.name))):
            self._require(f"{expression} is {self._bind(x)}", text)
        elif isinstance(x, functools._lru_cache_wrapper):
            if (name := self._hold(x, expression, text)) is not None:
                self._visit(x.__wrapped__, f"{name}.__wrapped__", text)
        elif kind.__module__ == "typing" or isinstance(x, (types.GenericAlias, types.UnionType)):
            self._require(f"{expression} is {self._bind(x)}", text)
        elif kind.__flags__ & (1 << 9) or isinstance(x, types.SimpleNamespace):  # made by a class statement
            self._look_at_object(x, expression, text)
        else:
            raise Break(f"{text} is a {kind.__qualname__}, which cannot be guarded")

    def _look_at_tensor(self, x: Tensor, expression: str, text: str) -> None:
        if type(x) not in (Tensor, Parameter, Buffer):
            raise Break(f"{text} is of a subclass of Tensor")
        if type(x._array) is not np.ndarray:
            raise Break(f"{text} has no values, or is sparse")
        name = self._hold(x, expression, text)
        if name is None:
            return
        a = x._array
        outer = OuterTensor(len(self.tensors), x)
        self.lines.append(f"{outer.name} = {name}")
        self.tensors.append(outer)
        self.by_array[id(a)] = outer
        view = f"{name}._view is None"
        if x._view is not None:
            view = f"{name}._view is not None and {name}.requires_grad is {x.requires_grad}"
        if isinstance(x._lazy_version, InferenceVersion):
            raise Break(f"{text} was made in inference mode")
        ordinary = f"type({name}._lazy_version) is not InferenceVersion"
        if x._meta is not None and (x._meta.hooks or x._meta.post_accumulate_hooks):
            raise Break(f"{text} has a hook")
        hooks = ""
        if x.requires_grad:
            hooks = f" and ((m := {name}._meta) is None or not (m.hooks or m.post_accumulate_hooks))"
        usual = ""
        if type(x) is Parameter:  # the same one, with the same memory: its shape is the same too
            usual = (f"{name} is {self._bind(x)} and {name}._array is {self._bind(a)} "
                     f"and {name}._indirect is {x._indirect}{hooks} or ")
        condition = (f"type({name}) is {self._bind(type(x))} and (a := {name}._array).__class__ is ndarray "
                     f"and a.shape == {a.shape} and a.strides == {a.strides} and a.dtype == {self._bind(a.dtype)}")
        flags = (f"{name}._indirect is {x._indirect} and ({name}._node is None) is {x._node is None} and {view}{hooks} "
                 f"and {ordinary}")
        self._require(f"{usual}{condition} and {flags}", f"shape, strides, dtype or requires_grad of {text}")

    def _look_at_module(self, x: types.ModuleType, expression: str, text: str) -> None:
        name = self._hold(x, expression, text)
        if name is None:
            return
        self._require(f"{name} is {self._bind(x)}", text)
        root = x.__name__.partition(".")[0]
        if root == "numpy" and (x.__name__ != "numpy" or "random" in self.executed.own_names):
            raise Break(f"{text} is {x.__name__}, of which random numbers may come")
        if is_internal_name(x.__name__):
            self._look_at_package(x, text)
        if is_internal_name(x.__name__) or x.__name__ in PURE_MODULES or root == "numpy":
            return
        if root in sys.stdlib_module_names:
            return  # what their functions do is seen when they are called
        space = self._bind(vars(x))
        for attribute, value in self._wanted(vars(x)):
            self._visit(value, f"{space}[{attribute!r}]", f"{x.__name__}.{attribute}")

    def _look_at_package(self, x: types.ModuleType, text: str) -> None:
        """Functions of this package that the program calls by name: they may be replaced."""
        space = self._bind(vars(x))
        for name in sorted(self.executed.own_names & vars(x).keys()):
            value = vars(x)[name]
            if isinstance(value, types.ModuleType):
                self._visit(value, f"{space}[{name!r}]", f"{x.__name__}.{name}")
            elif isinstance(value, (type, *FUNCTIONS)):
                self._require(f"{space}[{name!r}] is {self._bind(value)}", f"{text}.{name}")

    def _look_at_methods(self) -> None:
        """The same for methods: of tensors those that the program names, and forward of layers."""
        tensor = self._bind(Tensor)
        for name in sorted(self.executed.own_names & vars(Tensor).keys()):
            if isinstance(method := vars(Tensor)[name], types.FunctionType):
                self._require(f"{tensor}.{name} is {self._bind(method)}", f"Tensor.{name}")
        self._require(f"{self._bind(Module)}.__call__ is {self._bind(Module.__call__)}", "Module.__call__")
        for layer in self.layers:
            self._require(f"{self._bind(layer)}.forward is {self._bind(layer.forward)}", f"{layer.__qualname__}.forward")

    def _look_at_class(self, x: type, expression: str, text: str) -> None:
        name = self._hold(x, expression, text)
        if name is None:
            return
        self._require(f"{name} is {self._bind(x)}", text)
        for base in x.__mro__:
            if base.__module__ == "builtins" or is_internal_name(base.__module__) or (base.__module__.partition(".")[0] in (
                    *sys.stdlib_module_names, "numpy") and base.__module__ != "__main__"):
                continue
            space = self._bind(vars(base))
            self._require(f"len({space}) == {len(vars(base))}", f"the attributes of {base.__qualname__}")
            for attribute, value in self._wanted(vars(base)):
                if not attribute.startswith("__"):
                    self._visit(value, f"{space}[{attribute!r}]", f"{base.__qualname__}.{attribute}")

    def _look_at_function(self, x: Any, expression: str, text: str) -> None:
        name = self._hold(x, expression, text)
        if name is None:
            return
        if not isinstance(x, types.FunctionType) or is_of_package(x):
            self._require(f"{name} is {self._bind(x)}", text)
            return
        self._require(f"{name}.__code__ is {self._bind(x.__code__)}", text)
        if x.__code__ not in self.executed.codes:
            return
        for part in ("__defaults__", "__kwdefaults__"):
            self._visit(getattr(x, part), f"{name}.{part}", f"the defaults of {text}")
        self.closures.add(x.__code__)
        for i, (variable, cell) in enumerate(zip(x.__code__.co_freevars, x.__closure__ or (), strict=True)):
            try:
                content = cell.cell_contents
            except ValueError:
                raise Break(f"{variable} of {text} has no value yet") from None
            self._visit(content, f"{name}.__closure__[{i}].cell_contents", f"{variable} of {text}")
        if vars(x):
            self._visit(vars(x).get("__wrapped__"), f"{name}.__dict__.get('__wrapped__')", f"{text}.__wrapped__")

    def _look_at_sequence(self, x: Any, expression: str, text: str) -> None:
        name = self._hold(x, expression, text) if x or type(x) is not tuple else f"({expression})"
        if name is None:
            return
        self._require(f"type({name}) is {self._bind(type(x))} and len({name}) == {len(x)}", f"the length of {text}")
        if x and all(type(part) in (int, str, bool, type(None)) for part in x):
            constant = self._bind(type(x)(x) if type(x) in (list, tuple) else x)
            self._require(f"{name} is {constant} or same({name}, {constant})", text)
            return
        for i, part in enumerate(x):
            self._visit(part, f"{name}[{i}]", f"{text}[{i}]")
        if vars_of := getattr(x, "__dict__", None):
            self._visit(vars_of, f"{name}.__dict__", text)

    def _look_at_dict(self, x: Any, expression: str, text: str) -> None:
        if not x:
            self._require(f"not {expression}", f"the keys of {text}")
            return
        name = self._hold(x, expression, text)
        if name is None:
            return
        if not all(isinstance(key, (*PLAIN, enum.Enum, tuple)) for key in x):
            raise Break(f"{text} is a dict with objects as keys")
        keys = list(x)
        self._require(f"type({name}) is {self._bind(type(x))} and list({name}) == {self._bind(keys)}", f"the keys of {text}")
        for key in keys:
            self._visit(x[key], f"{name}[{self._bind(key)}]", f"{text}[{key!r}]")

    def _look_at_object(self, x: Any, expression: str, text: str) -> None:
        kind = type(x)
        name = self._hold(x, expression, text)
        if name is None:
            return
        self._require(f"type({name}) is {self._bind(kind)}", text)
        if id(kind) not in self.known:
            self._visit(kind, self._bind(kind), kind.__qualname__)
        is_module = isinstance(x, Module)
        if is_module and is_internal_name(kind.__module__):
            self.layers[kind] = None
        if hasattr(x, "__dict__"):
            members = f"{name}_d"
            self.lines.append(f"{members} = {name}.__dict__")
            self._require(f"len({members}) == {len(vars(x))}", f"the attributes of {text}")
            for attribute, value in self._wanted(vars(x), is_module):
                if is_module and attribute in HOOK_REGISTRIES and value and "backward" in attribute:
                    raise Break(f"{text} has backward hooks")
                self._visit(value, f"{members}[{attribute!r}]", f"{text}.{attribute}")
        for base in kind.__mro__:
            slots = vars(base).get("__slots__", ())
            for attribute in (slots,) if isinstance(slots, str) else slots:
                if self._is_read(attribute) and hasattr(x, attribute) and attribute not in ("__dict__", "__weakref__"):
                    self._visit(getattr(x, attribute), f"{name}.{attribute}", f"{text}.{attribute}")

    def _is_read(self, attribute: str) -> bool:
        return self.executed.by_name or attribute in self.executed.names

    def _wanted(self, members: Any, all_modules: bool = False) -> list[tuple[str, Any]]:
        always = MODULE_MEMBERS if all_modules else ()
        return [(name, value) for name, value in list(members.items())
                if (self._is_read(name) or name in always) and name not in NEVER]


MODULE_MEMBERS = frozenset({"training", "_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks",
                            "_backward_hooks", "_backward_pre_hooks"})
NEVER = frozenset({"__dict__", "__weakref__", "__builtins__", "_site"})


def _same(a: Any, b: Any) -> bool:
    """Equal, of the same type, also in their parts; 0.0 is not -0.0."""
    if type(a) is not type(b) or a != b:
        return False
    if type(a) is float:
        return a != 0 or math.copysign(1, a) == math.copysign(1, b)
    if type(a) in (list, tuple):
        return all(map(_same, a, b))
    return type(a) is not complex or repr(a) == repr(b)


@functools.cache
def _globals_read(code: types.CodeType) -> tuple[str, ...]:
    """The names of globals that a code object reads. Raises Break if it writes some, or imports."""
    found: dict[str, None] = {}
    for i in dis.get_instructions(code):
        if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            found[i.argval] = None
        elif i.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            raise Break(f"{code.co_qualname} writes the global {i.argval}")
        elif i.opname == "IMPORT_NAME" and not (is_internal_name(i.argval) or i.argval in PURE_MODULES or i.argval == "torch"):
            raise Break(f"{code.co_qualname} imports {i.argval}")
    return tuple(found)
