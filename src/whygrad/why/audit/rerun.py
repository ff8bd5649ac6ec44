"""Rerun: at the end of a run, a copy of a module is called again with changed inputs, and each call inside is compared."""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from whygrad.base.frames import is_of_package
from whygrad.why import engine
from whygrad.why.audit.observation import ModuleCall
from whygrad.why.engine import array_of, is_near, is_tensor, kind_of, size_of, source_of
from whygrad.why.gradient_flow import leaves_from
from whygrad.why.record import Site

# WebAssembly, which has no threads, has no clock of one.
thread_time = getattr(time, "thread_time", time.process_time)

# Elements of a module's parameters and of its inputs up to which it is copied.
MAX_PARAMETERS, MAX_INPUTS = 20_000_000, 4_000_000
# Calls of a forward, and elements of one result, that are compared.
MAX_CALLS, MAX_RESULT = 2000, 4_000_000
# Rounding: a difference counts from this share of the largest number on.
ROUNDING = 1e-4


class Result(NamedTuple):
    """What one call inside of a forward gave."""

    name: str
    site: Site
    array: np.ndarray
    is_real: bool = True


class Example(NamedTuple):
    """The arguments of one call of a module in training, copied."""

    module: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    site: Site

    def arrays(self) -> list[np.ndarray]:
        """Its tensors, those in lists and tuples as well, in order."""
        return [x for x in _flat((self.args, self.kwargs)) if isinstance(x, np.ndarray)]

    def changed(self, arrays: list[np.ndarray]) -> Example:
        """The same call with other arrays."""
        rest = iter(arrays)
        args, kwargs = _mapped((self.args, self.kwargs), lambda _: next(rest))
        return self._replace(args=args, kwargs=kwargs)


def example_of(call: ModuleCall) -> Example | None:
    """A copy of a call's arguments; None if they are too large, or need a gradient themselves."""
    total = 0

    def copied(x: Any) -> Any:
        nonlocal total
        if is_tensor(x):
            total += size_of(x)
            if total > MAX_INPUTS or not is_near(x) or x.requires_grad or kind_of(x) not in "fiub":
                raise ValueError
            return array_of(x).copy()
        if type(x) in (list, tuple):
            return type(x)(map(copied, x))
        if type(x) is dict:
            return {key: copied(value) for key, value in x.items()}
        if x is None or isinstance(x, (int, float, str, bool)):
            return x
        raise ValueError

    try:
        return Example(call.module, copied(call.args), copied(call.kwargs), call.site)
    except ValueError:
        return None


class Deaf:
    """Takes the place of a watch, and hears of nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


class Confinement(threading.local):
    """Whether this thread runs a copy of the program's module, which must leave no trace outside of this process."""

    is_on = False


confinement = Confinement()
# Audit events of Python (sys.addaudithook) that such a module must not cause; nor may it open files for writing.
REFUSED = frozenset({"os.system", "os.exec", "os.fork", "os.posix_spawn", "os.kill", "os.remove", "os.rename", "os.mkdir",
                     "os.rmdir", "os.truncate", "subprocess.Popen", "socket.connect", "socket.sendto"})
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def _refuse(event: str, args: tuple[Any, ...], confinement: Confinement = confinement) -> None:
    # A default argument: the names of the module are gone at the end of the process, while events still come.
    if confinement.is_on and (event in REFUSED or (event == "open" and isinstance(args[2], int) and args[2] & WRITING)):
        raise PermissionError(f"{event} while a module is called again, which must have no effect")


@functools.cache
def _install_refusal() -> None:
    sys.addaudithook(_refuse)  # for good: Python cannot take it back


@contextlib.contextmanager
def _confined() -> Iterator[None]:
    """What a module prints is lost; it writes no file, starts no process and sends nothing."""
    _install_refusal()
    confinement.is_on = True
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        confinement.is_on = False


class Rerun:
    """Calls copies of modules. Nobody hears of these calls but `run`, and they have no effect outside of the process."""

    def __init__(self, audit: Any, seconds: float) -> None:
        self._audit = audit
        self._until = thread_time() + seconds  # of the processor: others may work beside us
        self._copies: dict[int, Any] = {}

    @property
    def is_over(self) -> bool:
        return thread_time() > self._until

    def run(self, example: Example, training: bool = False, seed: int = 0) -> list[Result]:
        """The results of the calls in a forward, by default in evaluation mode, the module's own last (named "output", and "" for
        the first); empty if it cannot be run again."""
        results: list[Result] = []

        def heard(event: str, *facts: Any) -> None:
            if event not in ("called", "module_called") or len(results) >= MAX_CALLS:
                return
            call = facts[0]
            is_module = isinstance(call, ModuleCall)
            name = type(call.module).__name__ if is_module else call.name.rpartition(".")[2]
            result = next(_flat(call.output if is_module else call.result), None)
            if is_tensor(result) and kind_of(result) in "fiub" and size_of(result) <= MAX_RESULT:
                results.append(Result(name, call.site, array_of(result).astype(float), kind_of(result) == "f"))

        if self.is_over:
            return []
        try:
            module = self._copy_of(example.module).train(training)
            with self._audit.listening(heard), engine.current.repeatable(seed), engine.without_grad(), _confined():
                args, kwargs = _mapped((example.args, example.kwargs), lambda array: engine.wrap(array.copy()))
                output = module(*args, **kwargs)
        except Exception:  # whatever the program raises: then nothing is known
            return []
        outputs = [array_of(x).copy() for x in _flat(output) if is_tensor(x) and kind_of(x) == "f"]
        if not outputs or not np.isfinite(outputs[0]).all():
            return []
        return [*results, *(Result("output", example.site, x) for x in outputs[1:]), Result("", example.site, outputs[0])]

    def is_repeatable(self, example: Example) -> bool:
        """Whether a module gives the same twice: it keeps nothing from call to call."""
        first, second = self.run(example), self.run(example)
        return bool(first and second) and not differ(first[-1].array, second[-1].array)

    def draws(self, example: Example) -> bool:
        """Whether a module draws random numbers in evaluation mode too."""
        first, second = self.run(example), self.run(example, seed=1)
        return not first or not second or differ(first[-1].array, second[-1].array)

    @contextlib.contextmanager
    def with_noise(self, example: Example, name: str) -> Iterator[None]:
        """Inside, a parameter of the copy has other values of the same size."""
        p = dict(self._copy_of(example.module).named_parameters())[name]
        before = array_of(p).copy()
        noise = np.random.default_rng(0).standard_normal(before.shape) * (before.std() + np.abs(before).mean() + 0.5)
        try:
            with engine.without_grad():
                p.copy_(engine.wrap((before + noise).astype(before.dtype)))
            yield
        finally:
            with engine.without_grad():
                p.copy_(engine.wrap(before))

    def gradients(self, example: Example) -> dict[str, float]:
        """By name of a parameter: the norm of the gradient that a loss of the module's first output would give it."""
        try:
            module = self._copy_of(example.module).eval()
            with self._audit.listening(lambda *_: None), engine.current.repeatable(), _confined():
                args, kwargs = _mapped((example.args, example.kwargs), lambda array: engine.wrap(array.copy()))
                output = next(x for x in _flat(module(*args, **kwargs)) if is_tensor(x) and kind_of(x) == "f")
                weights = np.random.default_rng(0).standard_normal(array_of(output).shape).astype(array_of(output).dtype)
                found = {id(leaf) for leaf in leaves_from([source_of(output)])}
                named = {name: p for name, p in module.named_parameters() if id(p) in found}
                leaves = dict.fromkeys(named.values())
                engine.gradients_of_leaves((output * engine.wrap(weights)).sum(), leaves, Deaf())
            return {name: float(np.linalg.norm(g)) for name, p in named.items() if (g := leaves[p]) is not None}
        except Exception:  # as in `run`; or a sparse gradient
            return {}

    def _copy_of(self, module: Any) -> Any:
        if id(module) not in self._copies:
            if sum(map(size_of, module.parameters())) > MAX_PARAMETERS or getattr(module, "_trainer", None) is not None:
                raise ValueError
            with engine.without_grad(), _confined():
                copied = copy.deepcopy(module)
            for inner in copied.modules():  # hooks of the program may write what is not copied
                for hooks in (inner._forward_hooks, inner._forward_pre_hooks):
                    for key in [key for key, hook in hooks.items() if not is_of_package(vars(type(hook)).get("__call__"))]:
                        del hooks[key]
            self._copies[id(module)] = copied
        return self._copies[id(module)]


def differ(a: np.ndarray, b: np.ndarray, share: float = ROUNDING) -> bool:
    """Whether two results differ by more than rounding, or than another share of the largest number."""
    if a.shape != b.shape:
        return True
    with np.errstate(all="ignore"):
        return bool((np.abs(a - b) > share * max(float(np.abs(a).max(initial=0)), 1e-12)).any())


def aligned(first: list[Result], second: list[Result]) -> Iterator[tuple[Result, Result]]:
    """The results of the calls inside of two reruns, pair by pair, as long as they took the same way."""
    for a, b in zip(first, second, strict=False):
        if a.name == "output":
            continue
        if (a.name, a.site) != (b.name, b.site):
            return
        yield a, b


def _flat(x: Any) -> Iterator[Any]:
    if isinstance(x, (list, tuple)):
        for inner in x:
            yield from _flat(inner)
    elif isinstance(x, dict):
        yield from _flat(list(x.values()))
    else:
        yield x


def _mapped(x: Any, change: Any) -> Any:
    """A copy of nested arguments in which each array is replaced by `change` of it."""
    if isinstance(x, np.ndarray):
        return change(x)
    if type(x) in (list, tuple):
        return type(x)(_mapped(inner, change) for inner in x)
    if type(x) is dict:
        return {key: _mapped(value, change) for key, value in x.items()}
    return x
