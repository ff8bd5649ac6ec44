"""Programs one after the other in one process, as if each had its own: for a page in a browser, where a new one takes seconds."""

from __future__ import annotations

import gc
import linecache
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

from whygrad import random
from whygrad.base import dtypes, printing
from whygrad.core import modes
from whygrad.nn import hooks
from whygrad.optim import optimizer
from whygrad.why import record


@contextmanager
def fresh_start() -> Iterator[None]:
    """Within it runs one program: what it imports, sets and registers is undone at its end, and what it made is freed."""
    modules, path, arguments, folder = set(sys.modules), list(sys.path), list(sys.argv), os.getcwd()
    environment, main, hook = dict(os.environ), sys.modules["__main__"], sys.excepthook
    linecache.clearcache()
    random.seed()
    try:
        with warnings.catch_warnings(), redirect_stdout(sys.stdout), redirect_stderr(sys.stderr), printing.printoptions():
            yield
    finally:
        sys.modules["__main__"] = main
        for name in set(sys.modules) - modules:
            if not _is_shared(name):
                del sys.modules[name]
        sys.path[:], sys.argv[:], sys.excepthook = path, arguments, hook
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        _reset()
        gc.collect()


def _is_shared(name: str) -> bool:
    """Whether a module is imported once: ours, NumPy's and Python's."""
    top = name.partition(".")[0]
    return top in sys.stdlib_module_names or top in ("whygrad", "torch", "functorch", "numpy")


def _reset() -> None:
    """Set the engine's switches as in a new process."""
    vars(modes.grad_state).clear()
    modes.process_state.anomaly, modes.process_state.last_backward = False, None
    modes.refresh()
    dtypes.set_default_dtype(dtypes.float32)
    record.search_budget = record.SEARCH_BUDGET
    of_modules = [registry for registry in vars(hooks.everywhere).values() if isinstance(registry, dict)]
    for registry in (*of_modules, optimizer._global_optimizer_pre_hooks, optimizer._global_optimizer_post_hooks):
        registry.clear()
    hooks.everywhere.backward_is_full = None
    optimizer.OPTIMIZERS.clear()
    _unhook(optimizer.Optimizer)


def _unhook(kind: type[optimizer.Optimizer]) -> None:
    """The first optimizer of a class lets its step call hooks; a class derived from it would then call them twice in a step."""
    for derived in kind.__subclasses__():
        step = vars(derived).get("step")
        if getattr(step, "hooked", False):
            derived.step = step.unhooked  # type: ignore
        _unhook(derived)
