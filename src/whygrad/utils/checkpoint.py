"""torch.utils.checkpoint: recompute the values that backward needs instead of saving them.

The non-reentrant variant runs the function under saved_tensors_hooks, which save a `_Holder` in place of each value. The
first holder that backward unpacks runs the function again, under hooks that pass every value to the holder of the same
position; when the last one is filled the recomputation stops. The re-entrant variant is a custom Function whose backward runs the
function again and a backward of its own.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Generator, Iterable
from typing import Any, Self

import whygrad
from whygrad.autograd import Function, calls
from whygrad.autograd.grad_mode import enable_grad, is_grad_enabled, no_grad
from whygrad.autograd.saved_hooks import SavedTensor, save_alone, saved_tensors_hooks
from whygrad.base.errors import warn
from whygrad.core.modes import grad_state
from whygrad.core.tensor import Tensor
from whygrad.random import fork_rng, get_rng_state, set_rng_state
from whygrad.utils import checkpoint_texts as texts
from whygrad.utils.checkpoint_logs import Logs

__all__ = ["CheckpointError", "CheckpointFunction", "DefaultDeviceType", "GraphExecGroup", "check_backward_validity",
           "checkpoint", "checkpoint_sequential", "detach_variable", "get_device_states", "noop_context_fn",
           "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states"]

Contexts = tuple[contextlib.AbstractContextManager[Any], contextlib.AbstractContextManager[Any]]


class CheckpointError(RuntimeError):
    """The recomputation differs from the original forward pass."""


class _StopRecomputation(Exception):
    """Raised when all values have been recomputed, to stop early."""


class _Setting:
    """A context manager that overrides an argument of `checkpoint`."""

    def __init__(self) -> None:
        self.value: bool | None = None

    @contextlib.contextmanager
    def __call__(self, value: bool | None) -> Generator[None, None, None]:
        outer, self.value = self.value, value
        try:
            yield
        finally:
            self.value = outer

    def or_else(self, argument: bool) -> bool:
        return argument if self.value is None else self.value


set_checkpoint_early_stop = _Setting()
set_checkpoint_debug_enabled = _Setting()


def noop_context_fn() -> Contexts:
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
               context_fn: Callable[[], Contexts] = noop_context_fn, determinism_check: str = "default",
               debug: bool = False, early_stop: bool = True, **kwargs: Any) -> Any:
    """`function(*args, **kwargs)`, saving only the arguments for backward."""
    if use_reentrant is None:
        warn(texts.CHOOSE)
        use_reentrant = True
    preserve_rng_state = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    on_error = None
    if set_checkpoint_debug_enabled.or_else(debug):
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")

        logs = Logs()
        context_fn, on_error = logs.contexts, logs.explain
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of {['default', 'none']}, but got {determinism_check}")
    in_forward, in_recomputation = context_fn()
    rerun = _Rerun(function, kwargs, preserve_rng_state, in_recomputation)
    if not is_grad_enabled():
        return function(*args, **kwargs)
    frame = _Frame(rerun, args, set_checkpoint_early_stop.or_else(early_stop), determinism_check == "default", on_error)
    finished = False
    with _KeepHolders(frame), in_forward:
        result = function(*args, **kwargs)
        finished = True
    if not finished:
        raise RuntimeError(texts.SUPPRESSED)
    frame.forward_completed = True
    return result


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None,
                          **kwargs: Any) -> Any:
    """The functions (or the children of a Sequential) one after the other; all segments but the last are checkpointed."""
    if use_reentrant is None:
        warn(texts.CHOOSE_SEQUENTIAL)
        use_reentrant = True
    preserve_rng_state = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if isinstance(functions, whygrad.nn.Sequential):
        functions = list(functions.children())

    def run(part: Any) -> Callable[[Any], Any]:
        def forward(x: Any) -> Any:
            for function in part:
                x = function(x)
            return x

        return forward

    size = len(functions) // segments
    done = size * (segments - 1)
    for start in range(0, done, size or 1):
        input = checkpoint(run(functions[start:start + size]), input, use_reentrant=use_reentrant,
                           preserve_rng_state=preserve_rng_state)
    return run(functions[done:])(input)


class _Rerun:
    """Runs a function again with the RNG and autocast state of its first run."""

    def __init__(self, function: Callable[..., Any], kwargs: dict[str, Any], preserve_rng_state: bool,
                 context: contextlib.AbstractContextManager[Any]) -> None:
        self.function, self.kwargs, self.context = function, kwargs, context
        self.rng_state = get_rng_state() if preserve_rng_state else None
        self.autocast = (whygrad.get_autocast_dtype("cpu") if whygrad.is_autocast_enabled("cpu") else None)

    def __call__(self, *args: Any) -> Any:
        with fork_rng(devices=[], enabled=self.rng_state is not None), self._autocast(), self.context:
            if self.rng_state is not None:
                set_rng_state(self.rng_state)
            return self.function(*args, **self.kwargs)

    def _autocast(self) -> contextlib.AbstractContextManager[Any]:
        if self.autocast is None:
            return contextlib.nullcontext()
        return whygrad.autocast("cpu", dtype=self.autocast)  # type: ignore[no-any-return]


class GraphExecGroup:
    """A context in which several backward calls share one recomputation; no two of them may need the same value."""

    _current = threading.local()

    def __enter__(self) -> Self:
        if self._get_current_group() is not None:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {self._get_current_group()}")
        self._current.group = self
        return self

    def __exit__(self, *exc: object) -> None:
        self._current.group = None

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return getattr(cls._current, "group", None)


class _Holder:
    """The placeholder of one saved value. `values` are the recomputed ones, by backward; each can be read once."""

    __slots__ = ("__weakref__", "values")

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}


_GIVEN_OUT = object()


class _Frame:
    """One call of `checkpoint`: how to run it again, and the holders to fill.

    The graph owns the holders and, through its hooks, the frame; the frame references the holders weakly.
    """

    def __init__(self, rerun: _Rerun, args: tuple[Any, ...], early_stop: bool, checks: bool,
                 on_error: Callable[[CheckpointError], None] | None) -> None:
        self.rerun = rerun
        # Saved through the outer hooks, so that in a nested checkpoint the arguments are recomputed too.
        self.args = [save_alone(x, False) if isinstance(x, Tensor) else x for x in args]
        self.early_stop = early_stop
        self.checks = checks
        self.on_error = on_error
        self.holders: list[weakref.ref[_Holder]] = []
        self.metadata: list[Any] = []
        self.saved_again: dict[Any, list[Any]] = {}
        self.forward_completed = False
        self.may_differ = False

    def describe(self, x: Tensor) -> Any:
        return {"shape": x.shape, "dtype": x.dtype, "device": x.device} if self.checks else None

    def recompute(self, backward: Any) -> None:
        """Fill the holders for one backward."""
        found: list[Any] = []
        args = [x.unpack() if isinstance(x, SavedTensor) else x for x in self.args]
        with contextlib.suppress(_StopRecomputation), _FillHolders(self, backward, found), enable_grad():
            self.rerun(*args)
        self.saved_again[backward] = found
        if not self.may_differ:
            self._check(found)

    def _check(self, found: list[Any]) -> None:
        if len(found) != len(self.holders):
            raise CheckpointError(texts.DIFFERENT_NUMBER.format(before=len(self.holders), now=len(found)) + texts.TIP)
        different = [texts.AT_POSITION.format(i=i, before=self.metadata[i], now=now) for i, now in enumerate(found)
                     if self.holders[i]() is not None and now != self.metadata[i]]
        if different:
            raise CheckpointError(texts.DIFFERENT_METADATA.format(tensors="".join(different)) + texts.TIP)


class _KeepHolders(saved_tensors_hooks):
    """Hooks of the first run: save a holder in place of each value."""

    def __init__(self, frame: _Frame) -> None:
        def pack(x: Tensor) -> _Holder:
            holder = _Holder()
            frame.holders.append(weakref.ref(holder))
            frame.metadata.append(frame.describe(x))
            return holder

        def unpack(holder: _Holder) -> Tensor:
            try:
                return _open(frame, holder)
            except CheckpointError as error:
                if frame.on_error is not None:
                    frame.on_error(error)
                raise

        super().__init__(pack, unpack)


def _open(frame: _Frame, holder: _Holder) -> Any:
    backward: Any = GraphExecGroup._get_current_group()
    shared = backward is not None
    if backward is None:
        # Outside of backward (a read of `grad_fn._saved_self`) every access recomputes.
        backward = object() if grad_state.running is None else grad_state.running.number
    if backward not in frame.saved_again:
        frame.recompute(backward)
    value = holder.values[backward]
    if value is _GIVEN_OUT:
        raise CheckpointError(texts.OPENED_TWICE.format(extra=texts.OVERLAP if shared else ""))
    holder.values[backward] = _GIVEN_OUT
    return value


class _FillHolders(saved_tensors_hooks):
    """Hooks of the recomputation: pass each saved value to the holder of its position."""

    def __init__(self, frame: _Frame, backward: Any, found: list[Any]) -> None:
        def pack(x: Tensor) -> Tensor:
            x = x.detach() if x.requires_grad else x  # type: ignore[attr-defined]
            i = len(found)
            found.append(frame.describe(x))
            if i >= len(frame.holders):
                if not frame.forward_completed:
                    frame.may_differ = True  # the first forward has not finished, so the counts cannot be compared
                    return x
                raise CheckpointError(texts.TOO_MANY + texts.TIP)
            holder = frame.holders[i]()
            if holder is not None:
                holder.values[backward] = x
            if frame.early_stop and len(found) == len(frame.holders):
                raise _StopRecomputation
            return x

        super().__init__(pack, lambda x: x)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values as leaves of a new graph."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple([x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs])  # type: ignore[attr-defined]


def check_backward_validity(inputs: Iterable[Any]) -> None:
    if not any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        warn("None of the inputs have requires_grad=True. Gradients will be None")


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The devices of the arguments and their RNG states, without the CPU, whose state is saved separately."""
    return [], []


def set_device_states(devices: Iterable[int], states: Iterable[Tensor], *, device_type: str | None = None) -> None:
    """Restore the states that get_device_states returned."""
    if list(devices):
        raise RuntimeError(f"whygrad has no devices but the CPU, and cannot set the states of {list(devices)}")


class DefaultDeviceType:
    """The device type whose RNG state is saved if the arguments do not determine one."""

    _default_device_type = "cpu"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        return DefaultDeviceType._default_device_type


class CheckpointFunction(Function):
    """The re-entrant variant."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.rerun = _Rerun(run_function, {}, preserve_rng_state, contextlib.nullcontext())
        ctx.others = [None if isinstance(x, Tensor) else x for x in args]
        ctx.positions = [i for i, x in enumerate(args) if isinstance(x, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.positions])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if grad_state.running.limited:
            raise RuntimeError(texts.ONLY_BACKWARD)
        inputs = list(ctx.others)
        for i, x in zip(ctx.positions, ctx.saved_tensors, strict=True):
            inputs[i] = x
        detached = detach_variable(tuple(inputs))
        with enable_grad():
            outputs = ctx.rerun(*detached)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [(out, g) for out, g in zip(outputs, grads, strict=True) if isinstance(out, Tensor) and out.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        calls.backward([out for out, _ in pairs], [g for _, g in pairs])
        return (None, None, *[x.grad if isinstance(x, Tensor) else None for x in detached])
