"""Makes `import torch` load whygrad, in this process and in those it starts through multiprocessing.

The modules are the same objects under a second name. A module of torch that whygrad lacks can be imported and raises when
it is used; inside a `try` block the import itself fails, so that the program can take its alternative.
"""

from __future__ import annotations

import multiprocessing.spawn
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import whygrad
from whygrad.base.frames import is_internal
from whygrad.base.torch_modules import SecondName, is_second_name, resolve
from whygrad.base.unsupported import MissingModule, absent_from, is_missing_module, is_prepared
from whygrad.compat import identity, torch_backends, version

# A directory with a package `torch`, for new interpreters started by multiprocessing.
_SHIM = str(Path(__file__).parent / "_shim")


_NAMES = ("torch", "functorch")

_modules_with_getattr: set[str] = set()


class _Loader(SecondName):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = super().create_module(spec)
        if "__getattr__" not in vars(module) and not isinstance(module, MissingModule):
            module.__getattr__ = absent_from(spec.name)  # type: ignore[method-assign]
            _modules_with_getattr.add(spec.name)
        _name_hidden_submodules(module, spec.name)
        return module


def _name_hidden_submodules(package: ModuleType, name: str) -> None:
    """Give submodules that a function of the same name hides (nn.utils.weight_norm) their second name at once.

    Importing them later by that name would put the module in the function's place.
    """
    if not hasattr(package, "__path__"):
        return
    for child, value in list(vars(package).items()):
        module = sys.modules.get(f"{package.__name__}.{child}", value)
        if module is not value:
            sys.modules[f"{name}.{child}"] = module


class _Finder(MetaPathFinder):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        if fullname.startswith("whygrad."):
            return None if is_second_name(fullname) else identity.carrying_spec(fullname, path)
        if fullname.partition(".")[0] not in _NAMES:
            return None
        if fullname not in torch_backends.MODULES:
            try:
                resolve(fullname)
            except ModuleNotFoundError:
                if not is_missing_module(fullname) or is_prepared(_importing_frame()):
                    if PathFinder.find_spec(fullname, path) is None:
                        return None
                    raise  # a file of ours that is no module of torch
        return ModuleSpec(fullname, _Loader(), is_package=True)  # type: ignore[arg-type]


def _importing_frame() -> FrameType | None:
    """The frame of the import statement."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename.startswith("<frozen importlib") or
                                 is_internal(frame)):
        frame = frame.f_back
    return frame


_finder = _Finder()
_distributions = identity.TorchDistribution()
_before: dict[str, Any] = {}


def own_version() -> str:
    return str(_before.get("version", whygrad.__version__))


def install() -> None:
    """Make `import torch` and imports of its submodules load whygrad."""
    if _finder in sys.meta_path:
        return
    if "torch" in sys.modules:
        raise RuntimeError("whygrad.alias.install() comes too late: torch has been imported already")
    _before["version"] = vars(whygrad).get("__version__")
    _before["preparation"] = multiprocessing.spawn.get_preparation_data
    whygrad.__version__ = version.__version__  # type: ignore[attr-defined]
    multiprocessing.spawn.get_preparation_data = _preparation_data
    sys.meta_path.insert(0, _finder)
    sys.meta_path.append(_distributions)
    whygrad.__name__ = "torch"
    ours = {name: module for name, module in sys.modules.items() if name.startswith("whygrad")}
    identity.carry_torch_modules(ours.values())
    identity.import_carried(name for name in ours if name.count(".") == 1)


def uninstall() -> None:
    """Undo install(). Names that a program has bound stay bound to whygrad."""
    if _finder not in sys.meta_path:
        return
    sys.meta_path.remove(_finder)
    sys.meta_path.remove(_distributions)
    whygrad.__name__ = "whygrad"
    identity.carry_own_modules()
    for name in [name for name in sys.modules if name.partition(".")[0] in _NAMES]:
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
