"""A compiled forward run again on Tensors, row by row, so that its derivatives have derivatives."""

from __future__ import annotations

from typing import Any

from whygrad.autograd.grad_mode import enable_grad
from whygrad.backends.numpy_convert import cast_values
from whygrad.compilation.program import Call, RowCall, Value
from whygrad.core.record import apply, lift
from whygrad.core.tensor import Tensor, source, wrap
from whygrad.functional.promotion import cast
from whygrad.ops.table import TABLE


def again(compiled: Any, tensors: tuple[Tensor, ...], saved: tuple[Any, ...]) -> tuple[list[Tensor], list[Tensor]]:
    """The tensors to differentiate by, and the differentiable results. The tensors have the values and the history that the
    function's own had, but are new, so that a derivative by one does not pass through another."""
    env: dict[Value, Any] = {}
    inputs = {}
    with enable_grad():
        for v, array in zip(compiled.saved, saved, strict=True):
            if v in compiled.drawn:
                env[v] = wrap(array)
        for outer in compiled.guards.tensors:
            t = tensors[outer.number]
            own = inputs[outer.number] = lift(t._array, source(t), t._version_counter)
            if t.requires_grad:
                own = inputs[outer.number] = apply(TABLE["alias"], own)
            if outer.value is not None:
                env[outer.value] = own
        for i in compiled.original:
            _run(i, env)
    roots = [(o.root, o.value) for o in compiled.outputs if o.root is not None]
    return [inputs[t.number] for t in compiled.inputs], [env[value] for _, value in sorted(roots, key=lambda pair: pair[0])]


def _run(i: Any, env: dict[Value, Any]) -> None:
    def lifted(x: Any) -> Any:
        if isinstance(x, Value):
            if x not in env:
                env[x] = wrap(x.array)
            return env[x]
        if type(x) in (tuple, list):
            return type(x)([lifted(part) for part in x])
        return x

    if isinstance(i, RowCall):
        args, statics = i.args
        given = [x if had or not isinstance(x, Tensor) else wrap(x._array)
                 for x, had in zip(lifted(list(args)), i.history, strict=False)]
        statics = {name: _arrays(lifted(x)) for name, x in statics.items()}
        results = apply(i.spec.row, *given, **statics)
        for v, t in zip(i.outputs, [results] if i.spec.one_output else results, strict=True):
            env[v] = t if i.history[-1] else wrap(t._array)
    elif isinstance(i, Call) and i.function is cast_values:
        env[i.outputs[0]] = cast(lifted(i.args[0][0]), i.args[0][1])
    elif not (isinstance(i, Call) and all(v in env for v in i.outputs)):
        raise NotImplementedError(f"a second derivative through {i.name} in a compiled function")


def _arrays(x: Any) -> Any:
    """Statics have arrays, not tensors."""
    if isinstance(x, Tensor):
        return x._array
    return type(x)(map(_arrays, x)) if type(x) in (tuple, list) else x
