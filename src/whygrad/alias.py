"""Makes `import torch` load whygrad, in this process and in those it starts through multiprocessing.

The modules are the same objects under a second name. A module of torch that whygrad lacks can be imported and raises when
it is used; inside a `try` block the import itself fails, so that the program can take its alternative.
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
from whygrad._absent import absent_from
from whygrad._missing import MissingModule, is_missing_module, is_prepared

_whygrad_internal_ = True

# The version of torch whose behavior is followed, as programs see it.
TORCH_VERSION = "2.13.0"

# Modules of torch that have another name in whygrad.
_RENAMED = {
    "torch": "whygrad",
    "torch.__config__": "whygrad.config",
    "torch._C": "whygrad._C",
    "torch._C._autograd": "whygrad._C._autograd",
    "torch._C._functions": "whygrad._C._functions",
    "torch._C._nn": "whygrad._C._nn",
    "torch._tensor": "whygrad._tensor",
    "torch._vmap_internals": "whygrad.func.legacy",
    "torch.autograd._functions": "whygrad.autograd._functions",
    "torch.cpu.amp.autocast_mode": "whygrad.cpu.amp",
    "torch.cpu.amp.grad_scaler": "whygrad.cpu.amp",
    "torch.cuda.amp.autocast_mode": "whygrad.cuda.amp",
    "torch.cuda.amp.grad_scaler": "whygrad.cuda.amp",
    "torch.jit.annotations": "whygrad.jit",
    "torch.optim.adamw": "whygrad.optim.adam",
    "torch.optim.sparse_adam": "whygrad.optim.adam",
    "torch.serialization": "whygrad.io",
    "torch.utils.data._utils": "whygrad.utils.data",
    "torch.utils.data._utils.collate": "whygrad.utils.data.collate",
    "torch.utils.data._utils.fetch": "whygrad.utils.data.fetch",
    "torch.utils.data._utils.worker": "whygrad.utils.data.worker",
    "torch.utils._pytree": "whygrad.utils._pytree",
    "torch.utils.hooks": "whygrad.autograd.hooks",
}

# A directory with a package `torch`, for new interpreters started by multiprocessing.
_SHIM = str(Path(__file__).parent / "_shim")


def resolve(name: str) -> str:
    """The name of whygrad's module for a module of torch; raises ModuleNotFoundError if there is none."""
    found = _RENAMED.get(name)
    if found is None and name.startswith("torch.nn.modules."):
        importlib.import_module("whygrad.nn.modules")  # it creates its submodules
        found = name.replace("torch", "whygrad")
    if found is None and "._" not in name:
        found = "whygrad" + name.removeprefix("torch")
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
    """The module that `import <name>` loads, for a name that starts with torch."""
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
_modules_with_getattr: set[str] = set()


class _Loader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = load_module(spec.name)
        self.spec = module.__spec__
        if "__getattr__" not in vars(module) and not isinstance(module, MissingModule):
            module.__getattr__ = absent_from(spec.name)  # type: ignore[method-assign]
            _modules_with_getattr.add(spec.name)
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has set it to torch's


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


_finder = _Finder()
_before: dict[str, Any] = {}


def install() -> None:
    """Make `import torch` and imports of its submodules load whygrad."""
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
    """Undo install(). Names that a program has bound stay bound to whygrad."""
    if _finder not in sys.meta_path:
        return
    sys.meta_path.remove(_finder)
    for name in [name for name in sys.modules if name == "torch" or name.startswith("torch.")]:
        if name in _modules_with_getattr:
            del sys.modules[name].__getattr__  # type: ignore[attr-defined]
            _modules_with_getattr.remove(name)
        del sys.modules[name]
    multiprocessing.spawn.get_preparation_data = _before["preparation"]
    if _before["version"] is None:
        del whygrad.__version__
    else:
        whygrad.__version__ = _before["version"]


def _preparation_data(name: str) -> dict[str, Any]:
    """Put the shim directory first in the sys.path of a spawned process, which imports the program again."""
    data: dict[str, Any] = _before["preparation"](name)
    data["sys_path"] = [_SHIM, *data.get("sys_path", sys.path)]
    return data
