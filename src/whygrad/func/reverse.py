"""Reverse-mode transforms: grad, vjp and jacrev."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from whygrad.autograd.batched import BatchedTensor, batched
from whygrad.autograd.dual import DualLevel
from whygrad.autograd.grad_mode import enable_grad, inference_mode
from whygrad.autograd.pull_back import pull_back, to_inside, variable
from whygrad.autograd.saved_hooks import disable_saved_tensors_hooks
from whygrad.backends import tensor as xp
from whygrad.base import errors
from whygrad.base.pytree import tree_flatten, tree_map, tree_unflatten, treespec_pprint
from whygrad.base.version import InferenceVersion, unwritten
from whygrad.core.modes import grad_state
from whygrad.core.node import AccumulateGrad
from whygrad.core.tensor import Tensor, source, wrap
from whygrad.func import arguments
from whygrad.func.transforming import Derivative, transforming
from whygrad.func.vmap import vmap


def grad(func: Callable[..., Any], argnums: arguments.Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of `func`, which returns a scalar, by the arguments at `argnums`.

    With `has_aux`, `func` returns (scalar, aux), and the result is (gradient, aux).
    """

    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = _grad_and_value(func, argnums, has_aux, args, kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def grad_and_value(func: Callable[..., Any], argnums: arguments.Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """As `grad`, but the function returns (gradient, value), or (gradient, (value, aux))."""

    @functools.wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return _grad_and_value(func, argnums, has_aux, args, kwargs)

    return wrapper


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(func(*primals), the function from cotangents of the output to gradients of the primals), and aux if `has_aux`."""
    run, output, aux = _run_for_vjp(func, primals, None, has_aux)
    return (output, run.pull, aux) if has_aux else (output, run.pull)


def recording() -> AbstractContextManager[None]:
    """Operations are recorded, also inside inference mode: the derivative is the transform's own."""
    return inference_mode(False) if grad_state.inference else enable_grad()


class _Run:
    """One evaluation of a function on variables, to be differentiated."""

    def __init__(self, args: tuple[Any, ...], argnums: arguments.Argnums | None) -> None:
        # Whether operations are recorded outside of this derivative, which may itself be differentiated.
        self.outer_grad = grad_state.grad
        given = args if argnums is None else arguments.chosen(args, arguments.wrapped_argnums(argnums, len(args)))
        leaves, self.spec = tree_flatten(given)
        self.variables = [self._variable(x) for x in leaves]
        self.leads_beyond = any(x.requires_grad for x in leaves)
        new = tree_unflatten(self.variables, self.spec)
        self.args = new if argnums is None else arguments.replaced(args, new, arguments.wrapped_argnums(argnums, len(args)))
        self.outputs: list[Tensor] = []
        self.output_spec: Any = None

    @contextmanager
    def transforming(self, func: Callable[..., Any], kwargs: dict[str, Any]) -> Iterator[None]:
        with disable_saved_tensors_hooks(errors.HOOKS_IN_TRANSFORM), transforming(Derivative(func, (self.args, kwargs))):
            yield

    def _variable(self, x: Any) -> Tensor:
        if not isinstance(x, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
        if x._array.dtype.kind not in "fcV":
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if isinstance(x._lazy_version, InferenceVersion) and type(x._array) is np.ndarray and not grad_state.derivatives:
            x = wrap(x._array)
            x._lazy_version = unwritten()  # an inference tensor could not be saved for the backward
        if self.outer_grad:
            return variable(x, connected=True)
        with recording():  # the vjp function may later be called where gradients are recorded
            return variable(x, connected=True)

    def finish(self, output: Any) -> None:
        self.outputs, self.output_spec = tree_flatten(output)
        self.leads_beyond = self.leads_beyond or leads_beyond(self.outputs, self.variables)
        for x in self.variables:
            # No other derivative can reach this variable.
            bottom(x).__dict__["_is_settled"] = True

    @property
    def connected(self) -> bool:
        """Whether the graph of the outputs leads to leaves other than the variables."""
        return self.outer_grad and self.leads_beyond

    def gradients(self, cotangents: list[Tensor], records: bool, keep: bool) -> list[Tensor]:
        """The gradients of the variables; zeros for a variable that the outputs do not depend on."""
        pairs = [(t, to_inside(g)) for t, g in zip(self.outputs, cotangents, strict=True) if t.requires_grad]
        found = pull_back([t for t, _ in pairs], self.variables, [g for _, g in pairs], records=records, keep=keep)
        return [wrap(np.zeros(x._array.shape, x._array.dtype)) if g is None else to_inside(g)
                for g, x in zip(found, self.variables, strict=True)]

    def released(self, results: Any) -> Any:
        """The function's results for the caller: without graph, if the graph leads to the variables only."""
        return results if self.connected else tree_map(lambda t: _cut(t) if isinstance(t, Tensor) else t, results)

    def pull(self, cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        flat, spec = tree_flatten(cotangents)
        if spec != self.output_spec:
            raise RuntimeError("Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                               f"function. cotangents: {treespec_pprint(spec)}, primal output: "
                               f"{treespec_pprint(self.output_spec)}")
        for i, (t, g) in enumerate(zip(self.outputs, flat, strict=True)):
            if g._array.shape != t._array.shape:
                raise errors.gradient_shape(i, g, t._array.shape)
        records = grad_state.grad if create_graph is None else create_graph
        records = records and (self.leads_beyond or any(g.requires_grad for g in flat))
        return tree_unflatten(self.gradients(flat, records, retain_graph), self.spec)


def leads_beyond(outputs: Iterable[Any], variables: list[Tensor]) -> bool:
    """Whether the graph of the outputs leads to leaves that are not among the variables."""
    own = {id(bottom(x)) for x in variables}
    pending: list[Any] = [source(bottom(t)) for t in outputs if isinstance(t, Tensor)]
    seen: set[int] = set()
    while pending:
        target = pending.pop()
        if target is None or id(target) in seen:
            continue
        seen.add(id(target))
        if type(target) is not AccumulateGrad:
            pending += target.edges
        elif id(target.leaf) not in own and "_is_settled" not in target.leaf.__dict__:
            return True
    return False


def bottom(t: Tensor) -> Tensor:
    while isinstance(t, BatchedTensor):
        t = t._whole
    return t


def _cut(t: Tensor) -> Tensor:
    """The same value, tangents and all, without its graph."""
    if not t.requires_grad:
        return t
    if isinstance(t, BatchedTensor):
        result: Tensor = batched(_cut(t._whole), t._level)
    else:
        result = wrap(t._array)
        result._lazy_version = t._version_counter
    for level in grad_state.levels:
        tangent = level.tangent(t) if isinstance(level, DualLevel) else None
        if tangent is not None:
            level.attach(result, _cut(tangent))
    return result


def _grad_and_value(func: Callable[..., Any], argnums: arguments.Argnums, has_aux: bool, args: tuple[Any, ...],
                    kwargs: dict[str, Any]) -> tuple[Any, Any]:
    call = "grad_and_value(f)(*args)"
    run = _Run(args, argnums)
    with run.transforming(func, kwargs), recording():
        output, aux = func(*run.args, **kwargs), None
        if has_aux:
            output, aux = arguments.split_aux(output, call)
        if not isinstance(output, Tensor):
            raise RuntimeError(f"{call}: Expected f(*args) to return a Tensor, got {type(output)}")
        if output._array.ndim:
            raise RuntimeError(f"{call}: Expected f(*args) to return a scalar Tensor, got tensor with {output._array.ndim} "
                               "dims. Maybe you wanted to use the vjp or jacrev APIs instead?")
        if output.requires_grad and not output.dtype.is_floating_point:
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {output.dtype}")
        run.finish(output)
    with recording():
        found = run.gradients([wrap(np.ones((), output._array.dtype))], run.connected, run.connected)
    gradient = tree_unflatten(found, run.spec)
    output = run.released(output)
    return gradient, (output, run.released(aux)) if has_aux else output


def _run_for_vjp(func: Callable[..., Any], args: tuple[Any, ...], argnums: arguments.Argnums | None,
                 has_aux: bool) -> tuple[_Run, Any, Any]:
    call = "vjp(f, *primals)"
    run = _Run(args, argnums)
    with run.transforming(func, {}), recording():
        output, aux = func(*run.args), None
        if has_aux:
            output, aux = arguments.split_aux(output, call)
        run.finish(output)
    arguments.check_outputs(run.outputs, call)
    for t in run.outputs:
        if t._array.dtype.kind not in "fcV":
            raise RuntimeError("vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                               f"{t.dtype}")
    return run, run.released(output), run.released(aux)


def jacrev(func: Callable[..., Any], argnums: arguments.Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None,
           _preallocate_and_copy: bool = False) -> Callable[..., Any]:
    """The function that computes the Jacobian of `func` in reverse mode: all rows at once, or `chunk_size` at a time."""
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func, updated=())
    def wrapper(*args: Any) -> Any:
        arguments.refuse_complex("jacrev", tree_flatten(args)[0], "inputs")
        run, output, aux = _run_for_vjp(func, args, argnums, has_aux)
        outputs, output_spec = tree_flatten(output)
        arguments.refuse_complex("jacrev", outputs, "outputs")

        def pull_one(basis: Any) -> Any:
            """The vjp for a batch of one, without vmap: so functions that vmap does not support can be differentiated."""
            found = run.pull(tree_map(lambda t: xp.select(t, axis=0, index=0), basis))
            return tree_map(lambda t: xp.unsqueeze(t, axis=0), found)

        sizes = [t._array.size for t in outputs]
        pull = pull_one if chunk_size == 1 else vmap(run.pull)
        parts = [tree_flatten(pull(tree_unflatten(basis, output_spec)))[0] for basis in bases(outputs, chunk_size)]
        columns = [column[0] if len(column) == 1 else xp.cat(*column, axis=0) for column in zip(*parts, strict=True)]
        shapes = [x._array.shape for x in run.variables]
        blocks = [[xp.reshape(part, shape=(*t._array.shape, *shape)) for part, t in
                   zip(xp.split(column, sizes=tuple(sizes), axis=0), outputs, strict=True)]
                  for column, shape in zip(columns, shapes, strict=True)]
        jacobian = tree_unflatten([tree_unflatten(row, run.spec) for row in zip(*blocks, strict=True)], output_spec)
        return (jacobian, aux) if has_aux else jacobian

    return wrapper


def bases(tensors: list[Tensor], chunk_size: int | None = None) -> Iterable[list[Tensor]]:
    """The unit vectors of all tensors together, as batches of tensors of their shapes; `chunk_size` vectors at a time."""
    total = sum([t._array.size for t in tensors])
    step = total if chunk_size is None else min(chunk_size, total)
    for start in range(0, total, step) if total else (0,):
        count = min(step, total - start)
        first = -start
        basis = []
        for t in tensors:
            basis.append(wrap(np.eye(count, t._array.size, -first, t._array.dtype).reshape(count, *t._array.shape)))
            first += t._array.size
        yield basis
