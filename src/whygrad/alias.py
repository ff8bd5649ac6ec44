"""`import torch` that gives whygrad: in this process, and in the processes it starts through multiprocessing.

The modules are the same objects under a second name. What torch has and whygrad has not can be imported and raises when
used, unless the import stands in a `try` block: then it fails there, and the program goes its other way.
"""

from __future__ import annotations

import importlib
import importlib.util
import multiprocessing.spawn
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import whygrad
from whygrad import _backends_flags
from whygrad._missing import MissingModule, is_import_from, is_missing_module, is_prepared, missing

_whygrad_internal_ = True

# The version that programs see, and whose behaviour is followed.
TORCH_VERSION = "2.13.0"

# Where a module of torch has another place or name here.
_RENAMED = {
    "torch": "whygrad",
    "torch._C": "whygrad._C",
    "torch._C._autograd": "whygrad._C._autograd",
    "torch._C._functions": "whygrad._C._functions",
    "torch._tensor": "whygrad._tensor",
    "torch.autograd._functions": "whygrad.autograd._functions",
    "torch.amp.autocast_mode": "whygrad.amp",
    "torch.amp.grad_scaler": "whygrad.amp",
    "torch.cuda.amp.autocast_mode": "whygrad.cuda.amp",
    "torch.cuda.amp.grad_scaler": "whygrad.cuda.amp",
    "torch.nn.modules": "whygrad.nn",
    "torch.nn.parameter": "whygrad.parameter",
    "torch.serialization": "whygrad.io",
    "torch.utils.data._utils": "whygrad.utils.data",
    "torch.utils.hooks": "whygrad.autograd.hooks",
}

# A folder that holds a package `torch`, for processes that begin with an empty interpreter.
_SHIM = str(Path(__file__).parent / "_shim")


def resolve(name: str) -> str:
    """The name of the module of ours that stands for a module of torch; ModuleNotFoundError if there is none."""
    found = _RENAMED.get(name)
    if found is None and name.startswith("torch.nn.modules."):
        found = "whygrad.nn." + name.rpartition(".")[2]
        if not _exists(found):
            found = "whygrad.nn"
    if found is None and "._" not in name:
        found = "whygrad" + name.removeprefix("torch")
    if found is None or not _exists(found):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return found


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ModuleNotFoundError, ValueError):
        return False


def load_module(name: str) -> ModuleType:
    """What `import <name>` gives, for a name that begins with torch."""
    flags = _backends_flags.MODULES.get(name)
    if flags is not None:
        return flags
    try:
        return importlib.import_module(resolve(name))
    except ModuleNotFoundError:
        if not is_missing_module(name):
            raise
        return _missing_modules.setdefault(name, MissingModule(name))


_missing_modules: dict[str, ModuleType] = {}


class _Loader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = load_module(spec.name)
        self.spec = module.__spec__
        if "__getattr__" not in vars(module) and not isinstance(module, MissingModule):
            module.__getattr__ = _attribute_of(spec.name)  # type: ignore[method-assign]
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has put torch's in its place


class _Finder(MetaPathFinder):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        if fullname != "torch" and not fullname.startswith("torch."):
            return None
        if fullname not in _backends_flags.MODULES:
            try:
                resolve(fullname)
            except ModuleNotFoundError:
                if not is_missing_module(fullname) or is_prepared(_importing_frame()):
                    raise
        return ModuleSpec(fullname, _Loader(), is_package=True)


def _importing_frame() -> FrameType | None:
    """The frame of the import statement."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename.startswith("<frozen importlib") or
                                 "_whygrad_internal_" in frame.f_globals):
        frame = frame.f_back
    return frame


def _attribute_of(name: str) -> Any:
    """A module's `__getattr__` that knows which module of torch it stands for."""

    def __getattr__(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        child = f"{name}.{attribute}"
        if child in _backends_flags.MODULES or is_missing_module(child):
            return load_module(child)
        frame = sys._getframe(1)
        if is_import_from(frame) and not is_prepared(frame):
            return missing(child)
        raise AttributeError(f"module {name!r} has no attribute {attribute!r}: whygrad does not have it")

    return __getattr__


_finder = _Finder()
_before: dict[str, Any] = {}


def install() -> None:
    """From now on `import torch` and the import of its submodules give whygrad."""
    if _finder in sys.meta_path:
        return
    if "torch" in sys.modules:
        raise RuntimeError("whygrad.alias.install() comes too late: torch has been imported already")
    _before["version"] = vars(whygrad).get("__version__")
    _before["preparation"] = multiprocessing.spawn.get_preparation_data
    whygrad.__version__ = f"{TORCH_VERSION}+whygrad"  # type: ignore[attr-defined]
    multiprocessing.spawn.get_preparation_data = _preparation_data
    sys.meta_path.insert(0, _finder)


def uninstall() -> None:
    """`import torch` means PyTorch again. Names that a program has bound keep their meaning."""
    if _finder not in sys.meta_path:
        return
    sys.meta_path.remove(_finder)
    for name in [name for name in sys.modules if name == "torch" or name.startswith("torch.")]:
        getter = vars(sys.modules[name]).get("__getattr__")
        if getattr(getter, "__qualname__", "").startswith("_attribute_of."):
            del sys.modules[name].__getattr__  # type: ignore[attr-defined]
        del sys.modules[name]
    multiprocessing.spawn.get_preparation_data = _before["preparation"]
    if _before["version"] is None:
        del whygrad.__version__
    else:
        whygrad.__version__ = _before["version"]


def _preparation_data(name: str) -> dict[str, Any]:
    """A process that is started afresh imports the program again, and finds `torch` in our folder first."""
    data: dict[str, Any] = _before["preparation"](name)
    data["sys_path"] = [_SHIM, *data.get("sys_path", sys.path)]
    return data
