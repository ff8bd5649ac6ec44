"""An interpreter for the pickles in checkpoints, restricted to tensors and plain containers.

Python's own unpickler can be made to run any code. This one only ever calls the functions in `rebuilding.CALLS`,
changes only lists, dicts and sets that it made itself, and understands only the instructions that torch.save writes.
"""

from __future__ import annotations

import pickle
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

from whygrad.io import rebuilding

# Modules that are never allowed, even if the user trusts a function in them.
BLOCKED = ("sys", "os", "posix", "nt", "subprocess")

# Pickle's second protocol writes Python 2's names.
_RENAMED = {"__builtin__": "builtins", "torch.tensor": "torch._tensor"}


class Unpickler:
    """Reads one pickle. `load_storage` turns a persistent id into a storage."""

    def __init__(self, data: bytes, load_storage: Callable[[Any], Any], at: int = 0, encoding: str = "utf-8") -> None:
        self.data = data
        self.at = at
        self.encoding = encoding  # of the strings of Python 2; "bytes" leaves them as they are
        self.load_storage = load_storage
        self.stack: list[Any] = []
        self.marked: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.trusted = rebuilding.trusted_globals()
        self.made = 0
        self.outside = False  # while user code runs, exceptions are passed on unchanged

    def load(self) -> Any:
        try:
            while True:
                code = self.read(1)
                if code == pickle.STOP:
                    rebuilding.refuse_unless(len(self.stack) == 1 and not self.marked, "the pickle ends in the middle")
                    return self.stack[0]
                step = STEPS.get(code)
                if step is None:
                    raise UnpicklingError(f"Unsupported operand {code[0]}: not an instruction that torch.save writes")
                step(self)
        except (IndexError, KeyError, ValueError, TypeError, AttributeError, OverflowError, struct.error,
                RecursionError) as error:
            if self.outside:
                raise
            raise UnpicklingError(f"the pickle makes no sense at byte {self.at}: {type(error).__name__}: "
                                  f"{error}") from None

    def call_outside(self, function: Callable[..., Any], *args: Any) -> Any:
        self.outside = True
        result = function(*args)
        self.outside = False
        return result

    def read(self, count: int) -> bytes:
        start, self.at = self.at, self.at + count
        rebuilding.refuse_unless(self.at <= len(self.data), "the pickle ends in the middle")
        return self.data[start:self.at]

    def read_number(self, layout: str) -> Any:
        return struct.unpack(layout, self.read(struct.calcsize(layout)))[0]

    def read_line(self) -> str:
        end = self.data.find(b"\n", self.at)
        rebuilding.refuse_unless(end >= 0, "the pickle ends in the middle")
        start, self.at = self.at, end + 1
        return self.data[start:end].decode("utf-8")

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def mark(self) -> None:
        self.marked.append(self.stack)
        self.stack = []

    def pop_to_mark(self) -> list[Any]:
        items, self.stack = self.stack, self.marked.pop()
        return items

    def protocol(self) -> None:
        version = self.read(1)[0]
        rebuilding.refuse_unless(version == 2, f"pickle protocol {version}: torch.save writes protocol 2")

    def get_global(self) -> None:
        module, name = self.read_line(), self.read_line()
        module = _RENAMED.get(module, module)
        path = f"{module}.{name}"
        if module.partition(".")[0] in BLOCKED:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked.")
        if path in rebuilding.GLOBALS:
            self.push(rebuilding.GLOBALS[path])
        elif path in self.trusted:
            self.push(self.trusted[path])
        else:
            public = path.removeprefix("builtins.")
            raise UnpicklingError(
                f"Unsupported global: GLOBAL {public} was not an allowed global by default. Please use "
                f"`torch.serialization.add_safe_globals([{public}])` or the "
                f"`torch.serialization.safe_globals([{public}])` context manager to allowlist this global if you trust "
                "this class/function.")

    def is_trusted(self, value: Any) -> bool:
        return any(value is item for item in self.trusted.values())

    def reduce(self) -> None:
        args, function = self.stack.pop(), self.stack.pop()
        rebuilding.refuse_unless(type(args) is tuple, "a call without a tuple of arguments")
        if self.is_trusted(function):
            self.push(self.call_outside(function, *args))
            return
        call = rebuilding.CALLS.get(function) if callable(function) else None
        if call is None:
            raise UnpicklingError("Trying to call reduce for unrecognized function "
                                  f"{getattr(function, '__name__', rebuilding.shown(function))}")
        result = call(*args)
        if isinstance(result, (bytes, bytearray, set, dict, tuple)):
            # A pickle that repeatedly expands the same text is a decompression bomb.
            self.made += len(result)
            rebuilding.refuse_unless(self.made <= 2 * len(self.data), "the pickle makes far more data than it holds")
        self.push(result)

    def new_object(self) -> None:
        args, kind = self.stack.pop(), self.stack.pop()
        rebuilding.refuse_unless(self.is_trusted(kind) and type(args) is tuple,
                                 "Can only create new object for classes allowlisted via `add_safe_globals` but got "
                                 f"{getattr(kind, '__name__', rebuilding.shown(kind))}")
        self.push(self.call_outside(kind.__new__, kind, *args))

    def build(self) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        if type(target) is OrderedDict:
            rebuilding.set_attributes(target, state)
        elif self.is_trusted(type(target)):
            if not hasattr(target, "__setstate__"):
                for part in state if type(state) is tuple else (state,):
                    rebuilding.check_special_names(part if type(part) is dict else ())
            self.call_outside(_set_state, target, state)
        else:
            raise UnpicklingError("Can only build OrderedDict or types allowlisted via `add_safe_globals`, but got "
                                  f"{type(target)}")

    def extend(self, items: list[Any]) -> None:
        target = self.stack[-1]
        rebuilding.refuse_unless(type(target) is list, f"Can only append to lists, but got {type(target)}")
        target.extend(items)

    def set_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        rebuilding.refuse_unless(type(target) in (dict, OrderedDict, Counter),
                                 f"Can only set items of dicts, but got {type(target)}")
        rebuilding.refuse_unless(len(items) % 2 == 0, "a key without a value")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(key) is not str:
                rebuilding.check_key(key)
            target[key] = value

    def tuple_of(self, count: int) -> None:
        rebuilding.refuse_unless(len(self.stack) >= count, "the pickle makes no sense: a tuple of missing values")
        self.stack[-count:] = [tuple(self.stack[-count:])]

    def persistent(self) -> None:
        self.push(self.call_outside(self.load_storage, self.stack.pop()))

    def get(self, index: int) -> None:
        self.push(self.memo[index])

    def put(self, index: int) -> None:
        self.memo[index] = self.stack[-1]

    def push_text(self, length: int) -> None:
        self.push(str(self.read(length), "utf-8", "surrogatepass"))

    def push_string(self, length: int) -> None:
        data = self.read(length)
        self.push(data if self.encoding == "bytes" else str(data, self.encoding, "strict"))


def _set_state(target: Any, state: Any) -> None:
    """Restore the state of an object of a trusted class as pickle does."""
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    slots = None
    if type(state) is tuple and len(state) == 2:
        state, slots = state
    target.__dict__.update(state or {})
    for name, value in (slots or {}).items():
        setattr(target, name, value)


STEPS: dict[bytes, Callable[[Unpickler], None]] = {
    pickle.PROTO: Unpickler.protocol,
    pickle.GLOBAL: Unpickler.get_global,
    pickle.REDUCE: Unpickler.reduce,
    pickle.NEWOBJ: Unpickler.new_object,
    pickle.BUILD: Unpickler.build,
    pickle.BINPERSID: Unpickler.persistent,
    pickle.MARK: Unpickler.mark,
    pickle.NONE: lambda self: self.push(None),
    pickle.NEWTRUE: lambda self: self.push(True),
    pickle.NEWFALSE: lambda self: self.push(False),
    pickle.EMPTY_TUPLE: lambda self: self.push(()),
    pickle.EMPTY_LIST: lambda self: self.push([]),
    pickle.EMPTY_DICT: lambda self: self.push({}),
    pickle.EMPTY_SET: lambda self: self.push(set()),
    pickle.BININT: lambda self: self.push(self.read_number("<i")),
    pickle.BININT1: lambda self: self.push(self.read_number("<B")),
    pickle.BININT2: lambda self: self.push(self.read_number("<H")),
    pickle.BINFLOAT: lambda self: self.push(self.read_number(">d")),
    pickle.LONG1: lambda self: self.push(pickle.decode_long(self.read(self.read_number("<B")))),
    pickle.BINUNICODE: lambda self: self.push_text(self.read_number("<I")),
    pickle.SHORT_BINSTRING: lambda self: self.push_string(self.read_number("<B")),
    pickle.TUPLE: lambda self: self.push(tuple(self.pop_to_mark())),
    pickle.TUPLE1: lambda self: self.tuple_of(1),
    pickle.TUPLE2: lambda self: self.tuple_of(2),
    pickle.TUPLE3: lambda self: self.tuple_of(3),
    pickle.APPEND: lambda self: self.extend([self.stack.pop()]),
    pickle.APPENDS: lambda self: self.extend(self.pop_to_mark()),
    pickle.SETITEM: lambda self: self.set_items([self.stack.pop(-2), self.stack.pop()]),
    pickle.SETITEMS: lambda self: self.set_items(self.pop_to_mark()),
    pickle.BINGET: lambda self: self.get(self.read_number("<B")),
    pickle.LONG_BINGET: lambda self: self.get(self.read_number("<I")),
    pickle.BINPUT: lambda self: self.put(self.read_number("<B")),
    pickle.LONG_BINPUT: lambda self: self.put(self.read_number("<I")),
}
