"""What runs while a function is captured: a profile function of Python's sees it, and notices what no program could repeat."""

from __future__ import annotations

import dis
import functools
import importlib
import sys
import types
from typing import Any

import numpy as np

from whygrad.autograd import calls
from whygrad.base.door import SPECS
from whygrad.base.frames import is_internal_name, is_of_standard_library
from whygrad.compilation.guards import PURE_MODULES
from whygrad.core.tensor import Tensor, set_requires_grad
from whygrad.core.write import bump
from whygrad.functional import fresh as fresh_module
from whygrad.functional import indexing, inplace_views, writes
from whygrad.functional.dispatch import number_as_tensor
from whygrad.functional.tensor_properties import TensorProperties
from whygrad.nn import rnn
from whygrad.nn.utils import clip_grad

# Public functions whose result, or whose way of working, depends on values.
READS = [
    "Tensor.item", "Tensor.tolist", "Tensor.numpy", "Tensor.__bool__", "Tensor.__float__", "Tensor.__int__",
    "Tensor.__index__", "Tensor.__complex__", "Tensor.__array__", "Tensor.__repr__", "Tensor.__format__",
    "Tensor.__contains__", "Tensor.__reduce_ex__", "Tensor.__deepcopy__", "Tensor.data_ptr", "torch.nonzero",
    "torch.equal", "torch.allclose", "torch.is_nonzero", "torch.masked_select", "torch.unique",
    "torch.unique_consecutive", "torch.argwhere", "torch.bincount", "torch.histc", "torch.repeat_interleave",
    "torch.multinomial", "Tensor.data.__set__", "Tensor.grad.__set__", "Tensor.register_hook", "Tensor.retain_grad",
    "Tensor.detach_", "Tensor.set_", "Tensor.resize_", "Tensor.share_memory_", "Tensor.storage", "Tensor.untyped_storage",
    "Tensor.__dlpack__", "torch.from_numpy", "torch.frombuffer"]
# In these modules: what loads names, and looks at a generator.
HARMLESS = frozenset({"attribute", "__getattr__", "stream", "Sparse.handle", "device", "<lambda>", "<genexpr>", "<listcomp>",
                      "<module>"})
# Methods of arrays that give away their values.
ARRAY_READS = frozenset({"item", "tolist", "any", "all", "max", "min", "sum", "mean", "prod", "nonzero", "tobytes", "argmax",
                         "argmin", "searchsorted", "reduce", "dot"})
PURE_BUILTINS = frozenset([
    "abs", "aiter", "all", "anext", "any", "__build_class__", "bin", "callable", "chr", "delattr", "dir", "divmod",
    "format", "getattr", "hasattr", "hash", "hex", "isinstance", "issubclass", "iter", "len", "max", "min", "next", "oct",
    "ord", "pow", "repr", "round", "setattr", "sorted", "sum", "vars"])
BY_NAME = frozenset({"getattr", "setattr", "hasattr", "vars", "delattr", "dir"})
# Ways to attributes that are not named in the code.
REFLECTING = frozenset({"__dict__", "__setattr__", "__getattribute__", "__delattr__", "attrgetter", "methodcaller"})
PURE_TYPES = (str, bytes, int, float, complex, list, tuple, dict, set, frozenset, range, types.MappingProxyType)
MUTATING = frozenset({"append", "extend", "insert", "update", "setdefault", "pop", "popitem", "add", "remove", "discard", "clear",
                      "sort", "reverse"})
PURE_C_MODULES = frozenset({"math", "_operator", "itertools", "_functools", "_collections", "_abc", "_contextvars"})
# Modules of the package in which tensors are made from arguments that are no tensors.
FACTORIES = frozenset({"whygrad.functional.creation", "whygrad.functional.ranges", "whygrad.functional.from_data",
                       "whygrad.functional.windows"})
# What these do is more than rows on arrays.
STATEFUL_MODULES = ("whygrad.random", "whygrad.io", "whygrad.utils", "whygrad.testing", "whygrad.why.explain", "whygrad.cli",
                    "whygrad.for_", "whygrad.sparse", "whygrad.compat", "whygrad.amp", "whygrad.autograd.profiler",
                    "whygrad.base.printing", "whygrad.jit", "whygrad.fx", "whygrad.distributed", "whygrad.nn.utils.prune",
                    "whygrad.nn.utils.parametrize")


class Observer:
    """Sees the code that runs while a function is captured."""

    def __init__(self, capture: Any) -> None:
        self.capture = capture
        self.importing = 0

    def __call__(self, frame: types.FrameType, event: str, arg: Any) -> None:
        try:
            self._see(frame, event, arg)
        except Exception as error:
            self.capture.broke(f"internal error: {type(error).__name__}: {error}")

    def _see(self, frame: types.FrameType, event: str, arg: Any) -> None:
        capture = self.capture
        if capture.depth:
            return
        if frame.f_code is FIND_AND_LOAD:
            self.importing += (event == "call") - (event == "return")
        if self.importing:
            return
        if event == "call":
            code, module = frame.f_code, frame.f_globals.get("__name__", "")
            executed = capture.executed
            if module in ("whygrad.compilation.capture", "whygrad.compilation.function", "whygrad.compilation.api"):
                return
            if is_internal_name(module):
                executed.names.update(code.co_names)
                self._package_code(frame, code, module)
            elif not _is_library(frame):
                executed.names.update(code.co_names)
                executed.own_names.update(code.co_names)
                executed.by_name |= not REFLECTING.isdisjoint(code.co_names)
                executed.codes[code] = frame.f_globals
                if capture.storing is None and code is not capture.code and _writes_objects(code):
                    capture.storing = capture.line_now()
                root = str(module).partition(".")[0]
                if root in sys.stdlib_module_names and root != "__main__" and module not in PURE_MODULES:
                    capture.broke(f"{code.co_qualname} of {module} is called, which a compiled program cannot repeat")
        elif event == "c_call":
            self._c_function(frame, arg)

    def _package_code(self, frame: types.FrameType, code: types.CodeType, module: str) -> None:
        if code is BUMP and (caller := frame.f_back) is not None and caller.f_code is BECOME:
            self.capture.turned.append(frame.f_locals["target"])
        elif code is BUMP and caller is not None and caller.f_globals.get("__name__") != clip_grad.__name__:
            self.capture.broke("a tensor is written in a way that was not seen")
        if code in READING_GRADIENTS:
            self.capture.executed.reads_gradients = True
        if code is SET_REQUIRES_GRAD and frame.f_locals["value"]:
            self.capture.switched.append(frame.f_locals["t"])
        elif code is SET_REQUIRES_GRAD:
            self.capture.broke("requires_grad is switched off")
        if module.startswith(STATEFUL_MODULES) and HARMLESS.isdisjoint((code.co_name, code.co_qualname)):
            self.capture.broke(f"{code.co_qualname} of {module}, which a compiled program cannot repeat")
        name = reading_codes().get(code)
        if name is not None:
            self.capture.broke(f"{name}, which a compiled program cannot repeat")
        elif code is FRESH:
            caller = frame.f_back
            if caller is not None and caller.f_code is DELIVER:
                caller = caller.f_back
            made_in = "" if caller is None else caller.f_globals.get("__name__")
            if made_in in FACTORIES:
                array = frame.f_locals["array"]
                if made_in != "whygrad.functional.from_data" or _from_numbers(caller):
                    self._constant(array)
        elif code is WRAP and (caller := frame.f_back) is not None and caller.f_code is RESULT:
            self.capture.copied(caller.f_locals["g"], frame.f_locals["array"])
        elif code is WRAP and (caller := frame.f_back) is not None and caller.f_code in MAKING_CONSTANTS:
            self._constant(frame.f_locals["array"])

    def _constant(self, array: Any) -> None:
        self.capture.constants.add(id(array))
        self.capture.kept.append(array)

    def _c_function(self, frame: types.FrameType, function: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        owner = getattr(function, "__self__", None)
        name = getattr(function, "__name__", "")
        if is_internal_name(module) or _is_library(frame):
            if name in ARRAY_READS and isinstance(owner, (np.ndarray, np.ufunc)) and module != "whygrad.autograd.calls":
                self.capture.broke(f"values are read ({name} of an array, in {module})")
            elif name in ("warn", "print"):
                self.capture.broke("a warning")
            return
        home = getattr(function, "__module__", None)
        if home == "builtins" and name in PURE_BUILTINS:
            self.capture.executed.by_name |= name in BY_NAME
            return
        if home in PURE_C_MODULES or name in ("setprofile", "getprofile", "_getframe"):
            return
        if isinstance(owner, (list, dict, set)) and name in MUTATING:
            self.capture.mutated.append((owner, self.capture.line_now()))
        if isinstance(owner, PURE_TYPES) or getattr(function, "__objclass__", None) in PURE_TYPES:
            return
        if (owner is not None and type(owner).__name__ in ("generator", "_lru_cache_wrapper", "object")) or (
                isinstance(owner, type) and name in ("__new__", "__init_subclass__", "fromkeys", "__subclasshook__", "mro")):
            return
        if isinstance(owner, (np.generic, np.dtype)):
            return
        full = f"{home + '.' if home else ''}{getattr(function, '__qualname__', name)}"
        self.capture.broke(f"the function {full} is called, which a compiled program cannot repeat")


@functools.cache
def _writes_objects(code: types.CodeType) -> bool:
    return any(i.opname in ("STORE_ATTR", "STORE_SUBSCR", "STORE_DEREF") for i in dis.get_instructions(code))


def _is_library(frame: Any) -> bool:
    """Whether code is of NumPy, or of Python's library and called by this package."""
    if str(frame.f_globals.get("__name__", "")).partition(".")[0] in ("numpy", "importlib"):
        return True
    while frame is not None and is_of_standard_library(frame):
        frame = frame.f_back
    return frame is not None and is_internal_name(frame.f_globals.get("__name__", ""))


def _from_numbers(caller: Any) -> bool:
    """Whether a tensor is made of Python numbers."""
    data = caller.f_locals.get("data")
    pending = [data]
    while pending:
        x = pending.pop()
        if isinstance(x, (list, tuple)):
            pending += x
        elif not isinstance(x, (bool, int, float)):
            return False
    return True


FIND_AND_LOAD = importlib._bootstrap._find_and_load.__code__  # type: ignore[attr-defined]
SET_REQUIRES_GRAD = set_requires_grad.__code__
READING_GRADIENTS = frozenset({TensorProperties.grad.fget.__code__, clip_grad._grads.__code__})  # type: ignore[attr-defined]
DELIVER = fresh_module.deliver.__code__
FRESH = fresh_module.fresh.__code__
WRAP = fresh_module.wrap.__code__
BUMP = bump.__code__
BECOME = inplace_views._become.__code__
RESULT = calls._result.__code__
# They wrap arrays of ones or zeros, or of a Python number.
MAKING_CONSTANTS = frozenset({calls._root_gradient.__code__, rnn._zeros_like.__code__, number_as_tensor.__code__,
                              indexing.as_value.__code__, writes.copy_.__code__})

_reading: dict[types.CodeType, str] = {}


def reading_codes() -> dict[types.CodeType, str]:
    """The code objects of functions that read values, and their names."""
    if not _reading:
        for name in READS:
            for found in (name, name.replace("torch.", "Tensor."), name.replace("Tensor.", "torch.")):
                spec = SPECS.get(found)
                code = getattr(spec.plain, "__code__", None) if spec is not None else None
                if code is not None:
                    _reading[code] = name
            if name.startswith("Tensor.") and name.count(".") == 1:
                code = getattr(getattr(Tensor, name[7:], None), "__code__", None)
                if code is not None and code.co_filename.find("door") < 0 and code.co_filename.find("dispatch") < 0:
                    _reading[code] = name
    return _reading
