"""torch.utils._python_dispatch: modes that hear of every op, with torch's names for ops of aten.

An op is a row here, and a mode is told of it when it has run: `func` gives the result. So a mode can count, print and check, in
backward passes too; it cannot replace arguments or results. Products and convolutions have the arguments of aten, other ops their
tensors, and then what else they were told.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from whygrad.autograd.grad_mode import no_grad
from whygrad.base.unsupported import absent_from, answer
from whygrad.compat.torch_ops import AtenOp
from whygrad.core import door
from whygrad.core.record import RowSpecialization
from whygrad.core.tensor import Tensor
from whygrad.ops.aten import aten_name

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass"]
__getattr__ = absent_from("torch.utils._python_dispatch")

is_traceable_wrapper_subclass = answer("is_traceable_wrapper_subclass", False)


class _State(threading.local):
    def __init__(self) -> None:
        # The entered modes, innermost last. While one is being told, it and those inside of it are not among them.
        self.modes: tuple[TorchDispatchMode, ...] = ()
        self.depth = 0  # of rows that run inside of others


_state = _State()


class TorchDispatchMode:
    """While it is entered, `__torch_dispatch__(func, types, args, kwargs)` is called for every op of this thread.

    It is a listener of the row door. Factories, which apply no row, are not heard of.
    """

    hears_rules = True

    def __init__(self, _dispatch_key: Any = None) -> None:
        pass

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        _state.modes = (*_state.modes, self)
        door.start(self)
        return self

    def __exit__(self, *error: object) -> None:
        door.stop(self)
        _state.modes = _state.modes[:-1]

    def begin(self, name: str, inputs: tuple[Any, ...], run_with: tuple[Any, ...]) -> Any:
        if not run_with or not isinstance(run_with[0], RowSpecialization) or _get_current_dispatch_mode() is not self:
            return None
        _state.depth += 1
        return name, run_with[0], inputs, run_with[-1]

    def end(self, token: Any, result: Any) -> None:
        if token is None:
            return
        _state.depth -= 1
        if result is None or _state.depth:
            return
        modes = _state.modes
        name, spec, inputs, statics = token
        with no_grad(), _disable_current_modes():
            ops = list(_ops(name, spec, inputs, statics, result))
        for op, args, given in ops:
            AppliedOp(op, args, given, modes).tell()


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    return _state.modes[-1] if _state.modes else None


@contextmanager
def _disable_current_modes() -> Iterator[list[TorchDispatchMode]]:
    """A block of which no mode hears."""
    modes, _state.modes = _state.modes, ()
    try:
        yield list(modes)
    finally:
        _state.modes = modes


class AppliedOp(AtenOp):
    """An op that has run: calling it gives its result, after the modes outside have been told."""

    def __init__(self, name: str, args: tuple[Any, ...], result: Any, modes: tuple[TorchDispatchMode, ...]) -> None:
        packet, _, overload = name.partition(".")
        super().__init__(packet, self._again, overload or "default")
        self._given, self._result, self._modes = args, result, modes

    def _again(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != len(self._given) or any(a is not b for a, b in zip(args, self._given, strict=True)):
            raise NotImplementedError(f"{self}: a TorchDispatchMode cannot replace arguments in whygrad, where the op has run")
        return self.tell()

    def tell(self) -> Any:
        """Call the innermost of the modes."""
        if not self._modes:
            return self._result
        *outer, mode = self._modes
        before, _state.modes = _state.modes, tuple(outer)
        try:
            op = AppliedOp(self.__name__, self._given, self._result, tuple(outer))
            result = mode.__torch_dispatch__(op, (), self._given, {})
        finally:
            _state.modes = before
        if result is not self._result:
            raise NotImplementedError(f"{self}: a TorchDispatchMode cannot replace results in whygrad, where the op has run")
        return result


def _ops(name: str, spec: RowSpecialization, inputs: tuple[Any, ...], statics: dict[str, Any],
         result: Any) -> Iterator[tuple[str, tuple[Any, ...], Any]]:
    """The ops of aten that a row is: name, arguments, result."""
    row, named = spec.row.name, (*inputs, None, None)
    first: Any = named[0]
    second: Any = named[1]
    if row in ("linear", "linear_folded"):
        weight = second.t()
        yield "t", (second,), weight
        flat = first if first.ndim == 2 else first.reshape(-1, first.shape[-1])
        args = (flat, weight) if named[2] is None else (named[2], flat, weight)
        yield "mm" if named[2] is None else "addmm", args, result
    elif row in ("matmul", "matmul_folded"):
        if second.ndim == 2 or row == "matmul_folded":
            yield "mm", (first.reshape(-1, first.shape[-1]), second), result
        else:
            batch = result.shape[:-2]
            yield "bmm", tuple([x.expand(*batch, *x.shape[-2:]).reshape(-1, *x.shape[-2:]) for x in (first, second)]), result
    elif row == "contract":
        yield "bmm", _matrices(first, second, statics), result
    elif "window" in statics and row in ("convolution", "convolution_transpose"):
        window = statics["window"]
        yield "convolution", (first, second, named[2], [*window.stride], [*window.padding], [*window.dilation],
                              row == "convolution_transpose", [0] * (first.ndim - 2), window.groups), result
    else:
        called = aten_name(spec, inputs, statics, lambda x: isinstance(x, Tensor))
        packet, dot, overload = called.partition(".")
        told = [[*value] if isinstance(value, tuple) else value for value in statics.values() if "node" not in statics]
        given = (first, [second]) if row == "index" else inputs
        yield f"{packet}{'_' * (name.endswith('_') and not packet.endswith('_'))}{dot}{overload}", (*given, *told), result


def _matrices(a: Tensor, b: Tensor, statics: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of a contraction as two batches of matrices."""
    a_labels, b_labels, out = statics["a_labels"], statics["b_labels"], statics["out_labels"]
    batch = [x for x in a_labels if x in b_labels and x in out]
    summed = [x for x in a_labels if x in b_labels and x not in out]
    size = dict(zip((*a_labels, *b_labels), (*a.shape, *b.shape), strict=True))  # type: ignore[misc]

    def product(labels: list[Any]) -> int:
        found = 1
        for label in labels:
            found *= size[label]
        return found

    left, right = ([x for x in labels if x not in batch and x not in summed] for labels in (a_labels, b_labels))
    return (a.permute([a_labels.index(x) for x in (*batch, *left, *summed)]).reshape(  # type: ignore[attr-defined]
                product(batch), product(left), product(summed)),
            b.permute([b_labels.index(x) for x in (*batch, *summed, *right)]).reshape(  # type: ignore[attr-defined]
                product(batch), product(summed), product(right)))
