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
from whygrad.base.frames import is_internal
from whygrad.compat import backends_flags as _backends_flags
from whygrad.compat.absent import absent_from
from whygrad.compat.missing import MissingModule, is_missing_module, is_prepared
from whygrad.compat.modules import home_of

# The version that programs see, and whose behaviour is followed.
TORCH_VERSION = "2.13.0"

# A folder that holds a package `torch`, for processes that begin with an empty interpreter.
_SHIM = str(Path(__file__).parent / "_shim")


def resolve(name: str) -> str:
    """The name of the module of ours that stands for a module of torch; ModuleNotFoundError if there is none."""
    found = home_of(name)
    if name.startswith("torch.nn.modules."):
        importlib.import_module("whygrad.nn.modules")  # it makes the modules below it
        found = name.replace("torch", "whygrad")
    if found is None or not _exists(found):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return found


def _exists(name: str) -> bool:
    if name in sys.modules:
        return True
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
_given_a_getter: set[str] = set()


class _Loader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = load_module(spec.name)
        self.spec = module.__spec__
        if "__getattr__" not in vars(module) and not isinstance(module, MissingModule):
            module.__getattr__ = absent_from(spec.name)  # type: ignore[method-assign]
            _given_a_getter.add(spec.name)
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
                                 is_internal(frame)):
        frame = frame.f_back
    return frame


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
        if name in _given_a_getter:
            del sys.modules[name].__getattr__  # type: ignore[attr-defined]
            _given_a_getter.remove(name)
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
