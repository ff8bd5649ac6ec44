"""torch.jit as with the environment variable PYTORCH_JIT=0: scripted and traced functions run as plain Python.

Saving and loading TorchScript archives raises NotImplementedError.
"""

from __future__ import annotations

from typing import Any
from typing import Final as Final

from whygrad.base.futures import Future
from whygrad.base.unsupported import answer, missing
from whygrad.compat import tracing
from whygrad.compat.compiler import _unchanged


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """Returns `obj` itself."""
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Returns `func` itself: unlike a trace, it still branches on the values of its arguments."""
    return func


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    return mod


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    return drop if callable(drop) else _unchanged


def fork(func: Any, *args: Any, **kwargs: Any) -> Future[Any]:
    """Calls the function at once, and returns its result as a future that is done."""
    future: Future[Any] = Future()
    try:
        future.set_result(func(*args, **kwargs))
    except Exception as error:
        future.set_exception(error)
    return future


def wait(future: Future[Any]) -> Any:
    return future.wait()


def annotate(the_type: Any, the_value: Any) -> Any:
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    import builtins

    return builtins.isinstance(obj, target_type)


def is_tracing() -> bool:
    """Whether `_get_trace_graph` is at work. `trace` calls nothing."""
    return tracing.running() is not None


unused = export = script_method = interface = script_if_tracing = _script_if_tracing = _unchanged
_overload = _overload_method = _unchanged
is_scripting = answer("is_scripting", False)
Attribute = annotate
_get_trace_graph = tracing.get_trace_graph


class Error(RuntimeError):
    """What a scripted function raises; never raised here."""


class TracerWarning(Warning):
    """The category of warnings about traces, for filters; never issued here."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Does nothing: there are no such warnings."""


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.jit' has no attribute {name!r}")
    return missing(f"torch.jit.{name}")
