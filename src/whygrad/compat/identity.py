"""What tells a program that it has torch: the installed distribution, and the modules that classes say they are of.

While whygrad is imported as torch (see alias.py), `importlib.metadata` answers for "torch" where no PyTorch is installed, and
the public classes carry torch's `__module__`: libraries choose their code by both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader, SourcelessFileLoader
from importlib.util import spec_from_file_location
from types import ModuleType
from typing import Any

from whygrad.base import devices, dtypes, layouts, size
from whygrad.base.torch_homes import carried, torch_home
from whygrad.core.tensor import Tensor
from whygrad.functional.run import FUNCTIONS
from whygrad.random import Generator

# Our packages that have classes of torch's.
_PACKAGES = frozenset({"amp", "autograd", "distributions", "func", "functional", "fx", "nn", "optim", "profiler", "sparse",
                       "testing", "utils"})
# Classes whose `__module__` is not the module where torch's files have them.
_IN_TORCH: dict[type, str] = {
    **dict.fromkeys((Tensor, devices.device, dtypes.dtype, dtypes.finfo, dtypes.iinfo), "torch"),
    **dict.fromkeys((layouts.layout, layouts.memory_format, size.Size), "torch"), Generator: "torch._C"}


def _carried_module(kind: type) -> str | None:
    """The `__module__` of torch's class of this name; None for a class that is not one of torch's."""
    if kind in _IN_TORCH:
        return _IN_TORCH[kind]
    home = torch_home(kind)
    if home is None or kind.__name__.startswith("_") or kind.__module__.split(".")[1] not in _PACKAGES:
        return None
    if home == "torch" and FUNCTIONS.get(kind.__name__) is not kind:
        return None  # a part of our functions' implementation
    return home


def carry_torch_modules(modules: Iterable[ModuleType]) -> None:
    """Give the public classes of these modules of ours torch's `__module__`."""
    for module in modules:
        for value in list(vars(module).values()):
            if isinstance(value, type) and str(value.__module__).startswith("whygrad.") and (home := _carried_module(value)):
                carried[value], value.__module__ = value.__module__, home


def import_carried(packages: Iterable[str]) -> None:
    """Import torch's modules of these packages that classes carry: readers of annotations look there for their names."""
    for package in packages:
        own = f"torch.{package.removeprefix('whygrad.')}."
        for home in {kind.__module__ for kind in list(carried) if kind.__module__.startswith(own)}:
            with suppress(ImportError):
                import_module(home)


def carry_own_modules() -> None:
    """Undo carry_torch_modules."""
    for kind, module in carried.items():
        kind.__module__ = module
    carried.clear()


class CarryingLoader(Loader):
    """Loads a module of ours as usual; then its classes carry torch's `__module__`."""

    def __init__(self, loader: SourceFileLoader | SourcelessFileLoader) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        carry_torch_modules([module])
        if module.__name__.count(".") == 1:
            import_carried([module.__name__])


def carrying_spec(fullname: str, path: Any) -> Any:
    """The spec of a module of ours with a CarryingLoader; None if it has no classes of torch's, or is no file of Python's."""
    if fullname.split(".")[1] not in _PACKAGES:
        return None
    found = PathFinder.find_spec(fullname, path)
    if found is None or not isinstance(found.loader, (SourceFileLoader, SourcelessFileLoader)):
        return None
    return spec_from_file_location(fullname, found.origin, loader=CarryingLoader(found.loader),
                                   submodule_search_locations=found.submodule_search_locations)


class TorchDistribution:
    """Finds the distribution "torch", where no other finder on sys.meta_path does."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        return None

    def find_distributions(self, context: Any = None) -> Iterator[Any]:
        from whygrad.compat import torch_distribution  # importlib.metadata is slow to load

        return torch_distribution.find(self, context)
