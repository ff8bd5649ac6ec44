"""The mapping of torch's module names to our modules, and the import hooks that apply it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from whygrad.base import unsupported
from whygrad.base.unsupported import MissingModule, is_missing_module

# torch's module -> ours, where the paths differ; submodules follow their parent.
HOMES = {
    "functorch": "whygrad.compat.functorch",
    "torch": "whygrad",
    "torch.__config__": "whygrad.compat.config",
    "torch.__future__": "whygrad.nn.conversion",
    "torch._C": "whygrad.compat._C",
    "torch._C._autograd": "whygrad.compat._C._autograd",
    "torch._C._functions": "whygrad.compat._C._functions",
    "torch._C._functorch": "whygrad.compat._C._functorch",
    "torch._C._nn": "whygrad.compat._C._nn",
    "torch._dynamo": "whygrad.compat.dynamo",
    "torch._dynamo.config": "whygrad.compilation.config",
    "torch._dynamo.eval_frame": "whygrad.compat.dynamo",
    "torch._dynamo.exc": "whygrad.compilation.exc",
    "torch._logging": "whygrad.compilation.logs",
    "torch._functorch.make_functional": "whygrad.func.make_functional",
    "torch._tensor": "whygrad.core.tensor",
    "torch._tensor_str": "whygrad.compat.tensor_str",
    "torch._utils": "whygrad.compat.torch_utils",
    "torch._vmap_internals": "whygrad.autograd.legacy_vmap",
    "torch.backends": "whygrad.compat.torch_backends",
    "torch.autograd._functions": "whygrad.autograd._functions",
    "torch.compiler": "whygrad.compat.compiler",
    "torch.cpu": "whygrad.compat.cpu",
    "torch.cpu.amp.autocast_mode": "whygrad.compat.cpu.amp",
    "torch.cpu.amp.grad_scaler": "whygrad.compat.cpu.amp",
    "torch.cuda": "whygrad.compat.cuda",
    "torch.cuda.amp.autocast_mode": "whygrad.compat.cuda.amp",
    "torch.cuda.amp.grad_scaler": "whygrad.compat.cuda.amp",
    "torch.distributed.distributed_c10d": "whygrad.distributed",
    "torch.futures": "whygrad.base.futures",
    "torch.fx._symbolic_trace": "whygrad.fx._symbolic_trace",
    "torch.hub": "whygrad.compat.hub",
    "torch.jit": "whygrad.compat.jit",
    "torch.jit.annotations": "whygrad.compat.jit",
    "torch.library": "whygrad.compat.library",
    "torch.nested": "whygrad.compat.nested",
    "torch.nn.parallel.data_parallel": "whygrad.nn.parallel",
    "torch.nn.parallel.distributed": "whygrad.distributed.data_parallel",
    "torch.ops": "whygrad.compat.torch_ops",
    **{f"torch.optim.{name}": "whygrad.optim.adam" for name in ("adamax", "adamw", "nadam", "radam", "sparse_adam")},
    **{f"torch.optim.{name}": "whygrad.optim.rms" for name in ("adadelta", "adagrad", "rmsprop")},
    **{f"torch.optim.{name}": "whygrad.optim.sgd" for name in ("asgd", "rprop")},
    "torch.nn.utils._named_member_accessor": "whygrad.nn.utils._named_member_accessor",
    "torch.profiler.profiler": "whygrad.profiler",
    "torch.quasirandom": "whygrad.compat.quasirandom",
    "torch.return_types": "whygrad.functional.return_types",
    "torch.serialization": "whygrad.io",
    "torch.storage": "whygrad.functional.storage",
    "torch.torch_version": "whygrad.compat.torch_version",
    "torch.types": "whygrad.compat.types",
    "torch.utils._contextlib": "whygrad.utils._contextlib",
    "torch.utils._foreach_utils": "whygrad.utils._foreach_utils",
    "torch.utils.deterministic": "whygrad.functional.determinism",
    "torch.utils._pytree": "whygrad.base.pytree",
    "torch.utils._python_dispatch": "whygrad.compat.python_dispatch",
    "torch.utils.data._utils": "whygrad.utils.data",
    "torch.utils.data._utils.collate": "whygrad.utils.data.collate",
    "torch.utils.data._utils.fetch": "whygrad.utils.data.fetch",
    "torch.utils.data._utils.worker": "whygrad.utils.data.worker",
    "torch.utils.data.datapipes.datapipe": "whygrad.utils.data.datapipes",
    "torch.utils.hooks": "whygrad.autograd.hooks",
    "torch.utils.tensorboard.writer": "whygrad.utils.tensorboard",
    "torch.utils.model_zoo": "whygrad.compat.hub",
    "torch.version": "whygrad.compat.version",
}

# Parts of the engine: torch has no modules of these names.
_OUR_OWN = frozenset(f"torch.{name}" for name in (
    "alias", "base", "cli", "compat", "compilation", "core", "for_torch", "for_whygrad", "io", "kernels", "on_demand", "why"))


def home_of(name: str) -> str | None:
    """The name of our module, existing or not, for a module of torch; None for private modules."""
    found = HOMES.get(name)
    if found is not None or "._" in name or ".".join(name.split(".")[:2]) in _OUR_OWN:
        return found
    parent, _, last = name.rpartition(".")
    above = home_of(parent)
    return None if above is None else f"{above}.{last}"


def resolve(name: str) -> str:
    """The name of our module for a module of torch; raises ModuleNotFoundError if there is none."""
    found = home_of(name)
    if name.startswith("torch.nn.modules."):
        importlib.import_module("whygrad.nn.modules")  # creates its submodules
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
    """The module that `import <name>` loads, for a name that begins with torch."""
    if name.startswith("torch.backends."):
        try:
            return getattr(importlib.import_module(HOMES["torch.backends"]), name.rpartition(".")[2])  # type: ignore[no-any-return]
        except AttributeError:
            pass
    try:
        return importlib.import_module(resolve(name))
    except ModuleNotFoundError:
        if not is_missing_module(name):
            raise
        return _missing_modules.setdefault(name, MissingModule(name))


_missing_modules: dict[str, ModuleType] = {}
unsupported.module_loader = load_module


# Importing the base classes of loaders and finders, importlib.abc, would take 10 ms.

class SecondName:
    """Loads a module that exists under another name: the same object under both."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = load_module(spec.name.replace("whygrad", "torch", 1))
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has replaced it with the spec of the second name


# Packages of ours whose names mean something else in torch.
_PACKAGES = ("whygrad.backends", "whygrad.ops")


def is_second_name(fullname: str) -> bool:
    """Whether a module of ours has this name only because torch's has it: `whygrad.hub`, which is `whygrad.compat.hub`."""
    if not fullname.startswith("whygrad.") or fullname.startswith(_PACKAGES):
        return False
    return home_of(f"torch{fullname[7:]}") not in (None, fullname)


class _Finder:
    """`import whygrad.hub` and the like, for programs in which "torch" was replaced by "whygrad"."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, SecondName(), is_package=True) if is_second_name(fullname) else None  # type: ignore[arg-type]


sys.meta_path.insert(0, _Finder())
