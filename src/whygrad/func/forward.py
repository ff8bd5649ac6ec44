"""Forward-mode transforms: jvp, linearize, jacfwd, and hessian, which is forward over reverse."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.autograd.dual import DualLevel
from whygrad.autograd.forward_ad import _set_fwd_grad_enabled, attach_tangent
from whygrad.autograd.pull_back import pull_back, variable
from whygrad.backends import tensor as xp
from whygrad.base.pytree import tree_flatten, tree_unflatten
from whygrad.core.door import entered
from whygrad.core.tensor import Tensor, wrap
from whygrad.func import arguments
from whygrad.func.reverse import _run_for_vjp, bases, jacrev, recording
from whygrad.func.transforming import Derivative, transforming
from whygrad.func.vmap import moved, vmap

CALL = "jvp(f, primals, tangents)"


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """(func(*primals), its derivative in the direction of `tangents`), and aux if `has_aux`."""
    return _jvp(func, primals, tangents, None, strict, has_aux)


def _jvp(func: Callable[..., Any], primals: Any, tangents: Any, argnums: arguments.Argnums | None, strict: bool,
         has_aux: bool) -> Any:
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{CALL}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    given = primals if argnums is None else arguments.chosen(primals, arguments.wrapped_argnums(argnums, len(primals)))
    leaves, spec = tree_flatten(given)
    directions, directions_spec = tree_flatten(tangents)
    if spec != directions_spec:
        raise RuntimeError(f"{CALL}: Expected primals and tangents to have the same python structure. For example, if primals "
                           "is a tuple of 3 tensors, tangents also must be. Got primals with structure "
                           f"{spec} and tangents with structure {directions_spec}")
    arguments.check_tensors(leaves, CALL, "primals")
    arguments.check_tensors(directions, CALL, "tangents")
    level = DualLevel()
    try:
        with transforming(Derivative(func, primals)), entered(level), _set_fwd_grad_enabled(True):
            duals = tree_unflatten([attach_tangent(level, x, t) for x, t in zip(leaves, directions, strict=True)], spec)
            args = duals if argnums is None else arguments.replaced(
                primals, duals, arguments.wrapped_argnums(argnums, len(primals)))
            output, aux = func(*args), None
            if has_aux:
                output, aux = arguments.split_aux(output, CALL)
            outputs, output_spec = tree_flatten(output)
            arguments.check_outputs(outputs, CALL)
            changes = [_tangent_or_zeros(level, t, strict) for t in outputs]
    finally:
        level.clear()
    result = (tree_unflatten(outputs, output_spec), tree_unflatten(changes, output_spec))
    return (*result, aux) if has_aux else result


def _tangent_or_zeros(level: DualLevel, t: Tensor, strict: bool) -> Tensor:
    found = level.tangent(t)
    if found is not None:
        return found
    if strict:
        raise RuntimeError("jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                           "allowed with strict=True.")
    return wrap(np.zeros(t._array.shape, t._array.dtype))


def jacfwd(func: Callable[..., Any], argnums: arguments.Argnums = 0, has_aux: bool = False, *,
           randomness: str = "error") -> Callable[..., Any]:
    """The function that computes the Jacobian of `func` in forward mode, all columns at once."""

    @functools.wraps(func, updated=())
    def wrapper(*args: Any) -> Any:
        arguments.refuse_complex("jacfwd", tree_flatten(args)[0], "inputs")
        primals = args if argnums is None else arguments.chosen(args, arguments.wrapped_argnums(argnums, len(args)))
        leaves, spec = tree_flatten(primals)
        basis = tree_unflatten(next(iter(bases(leaves))), spec)

        def column(direction: Any) -> Any:
            output, change, *aux = _jvp(func, args, direction, argnums, False, has_aux)
            arguments.refuse_complex("jacfwd", tree_flatten(output)[0], "outputs")
            return (change, aux[0]) if has_aux else change

        results = vmap(column, randomness=randomness)(basis)
        aux = None
        if has_aux:
            results, aux = results
            aux_leaves, aux_spec = tree_flatten(aux)
            aux = tree_unflatten([t[0] for t in aux_leaves], aux_spec)
        columns, output_spec = tree_flatten(results)
        jacobian = tree_unflatten([tree_unflatten(_blocks(t, leaves), spec) for t in columns], output_spec)
        return (jacobian, aux) if has_aux else jacobian

    return wrapper


def _blocks(columns: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    """The Jacobian blocks of one output: its columns, split by inputs and reshaped to (output shape, input shape)."""
    last = moved(columns, 0, columns._array.ndim - 1)
    sizes = tuple([x._array.size for x in inputs])
    pieces = xp.split(last, sizes=sizes, axis=last._array.ndim - 1)
    return [xp.reshape(piece, shape=(*piece._array.shape[:-1], *x._array.shape)) for piece, x in zip(pieces, inputs, strict=True)]


def hessian(func: Callable[..., Any], argnums: arguments.Argnums = 0) -> Callable[..., Any]:
    """The function that computes the second derivatives of `func`."""
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """(func(*primals), its jvp at the primals as a function): `func` is evaluated once, however many tangents follow.

    The backward is linear in its incoming gradients: it is recorded, and a second backward through it gives the jvp.
    """
    run, output, _ = _run_for_vjp(func, primals, None, False)
    with recording():
        dummies = [variable(wrap(np.zeros(t._array.shape, t._array.dtype))) for t in run.outputs]
        tracked = [(t, g) for t, g in zip(run.outputs, dummies, strict=True) if t.requires_grad]
        pulled = pull_back([t for t, _ in tracked], run.variables, [g for _, g in tracked], records=True)

    def jvp_fn(*tangents: Any) -> Any:
        leaves, spec = tree_flatten(tangents)
        if spec != run.spec:
            raise RuntimeError(f"Expected the tangents {spec} to have the same argspec as the primals {run.spec}")
        for i, (t, x) in enumerate(zip(leaves, run.variables, strict=True)):
            for name in ("shape", "device", "dtype"):
                if getattr(t, name) != getattr(x, name):
                    raise RuntimeError(f"tangent:{i} with {name} {getattr(t, name)} in flattened pytree doesn't match the "
                                       f"{name} {getattr(x, name)} of the corresponding primal.")
        pairs = [(g, t) for g, t in zip(pulled, leaves, strict=True) if g is not None]
        found = pull_back([g for g, _ in pairs], dummies, [t for _, t in pairs], records=run.connected)
        changes = [wrap(np.zeros(t._array.shape, t._array.dtype)) if g is None else g
                   for g, t in zip(found, run.outputs, strict=True)]
        return tree_unflatten(changes, run.output_spec)

    return output, jvp_fn
