"""Custom Functions under transforms: by their own `jvp` and `vmap`, or by a vmap generated from forward and backward."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whygrad.autograd.dual import DualLevel
from whygrad.autograd.function import Function
from whygrad.autograd.function_node import FunctionCtx
from whygrad.backends import tensor as xp
from whygrad.base.pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten
from whygrad.core.door import concerned, with_levels
from whygrad.core.modes import grad_state
from whygrad.core.tensor import Tensor, wrap
from whygrad.func.batched import BatchLevel, batched, spread
from whygrad.func.vmap import mapped, moved

MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


NOT_IN_PLACE = ("An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an "
                "input inplace, then the jvp function must modify the corresponding gradient inplace.")


class VmapInfo(NamedTuple):
    """The argument `info` of a Function's `vmap`."""

    batch_size: int
    randomness: str


def apply_under_transforms(function: type[Function], args: tuple[Any, ...]) -> Any:
    levels = grad_state.levels
    depth = concerned(tree_flatten(args)[0])
    if depth is None:
        return with_levels((), lambda: function._recorded(args)[0])
    return with_levels(levels[:depth], levels[depth].apply_function, function, args)


def refuse_keyword_only(kwargs: dict[str, Any]) -> None:
    """Raise for keyword-only arguments; torch's message depends on the innermost transform."""
    levels = grad_state.levels
    derivative_is_inside = bool(grad_state.derivatives) and grad_state.derivatives[-1].depth == len(levels)
    if not levels or derivative_is_inside or not isinstance(levels[-1], BatchLevel):
        raise TypeError(f"custom_function_call_grad() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if any(isinstance(x, Tensor) for x in kwargs.values()):
        raise NotImplementedError("Run vmap on autograd.Function with kwarg-only Tensor args. Please do not pass kwarg-only "
                                  f"Tensors to autograd.Function. Got: {kwargs}")


def _below(function: type[Function], args: tuple[Any, ...]) -> Any:
    """Apply the Function under the remaining outer levels."""
    return apply_under_transforms(function, args) if grad_state.levels else function._recorded(args)[0]


class _CtxProxy:
    """A proxy of a ctx: attributes other than those in `own` are read, written and deleted there."""

    def __init__(self, ctx: Any, **own: Any) -> None:
        self.__dict__.update(own, _ctx=ctx)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._ctx, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._ctx, name)


def _with_saved(ctx: Any, saved: tuple[Any, ...]) -> _CtxProxy:
    return _CtxProxy(ctx, saved_tensors=saved)


def apply_dual(level: DualLevel, function: type[Function], args: tuple[Any, ...]) -> Any:
    """Apply a Function in forward mode, by its `jvp`."""
    tangents = [level.tangent(a) for a in args]
    results, ctx = _with_ctx(function, args, tuple([t is not None for t in tangents]))
    given = [_zeros(a) if t is None and isinstance(a, Tensor) and ctx.materialize_grads and a._array.dtype.kind in "fc" else t
             for a, t in zip(args, tangents, strict=True)]
    versions = [None if t is None else t._version_counter.value for t in given]
    changes = function.jvp(_with_saved(ctx, tuple(ctx.saved_for_forward or ())), *given)
    changes = changes if isinstance(changes, tuple) else (changes,)
    outs = results if isinstance(results, tuple) else (results,)
    if len(changes) != len(outs):
        raise RuntimeError(f"{function.__name__}.jvp returned an incorrect number of tangents (expected {len(outs)}, got "
                           f"{len(changes)})")
    dirty, fixed = getattr(ctx, "_marks", None) or ((False,) * len(outs),) * 2
    for i, (out, change) in enumerate(zip(outs, changes, strict=True)):
        if change is None:
            continue
        if fixed[i] or not isinstance(out, Tensor) or out._array.dtype.kind not in "fcV":
            raise RuntimeError(f"Function's jvp returned a gradient at position {i}, but  the corresponding forward output is "
                               "not a differentiable Tensor.You should return None at that position instead.")
        _check_memory(out, change, dirty[i], args, given, versions)
        level.attach(out, change)
    return results


def _check_memory(out: Tensor, change: Tensor, is_dirty: bool, args: tuple[Any, ...], tangents: list[Any],
                  versions: list[Any]) -> None:
    """Raise unless the jvp treats the tangent as the forward treats the input: written in place, or returned as a view."""
    if is_dirty:
        if not any(change is t and t._version_counter.value != before for t, before in zip(tangents, versions, strict=True)):
            raise RuntimeError(NOT_IN_PLACE)
        return
    position = None if out._view is None else next(
        (i for i, a in enumerate(args) if isinstance(a, Tensor) and _base_of(a) is _base_of(out)), None)
    if position is None:
        return
    if change._view is None:
        raise RuntimeError("A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a "
                           "view.")
    given = tangents[position]
    if given is not None and _base_of(change) is not _base_of(given):
        whose = "the given grad input." if given._view is None else "the same base as the given grad input."
        raise RuntimeError(f"A custom Function is returning a view but the jvp is not returning a view of {whose}")


def _base_of(t: Tensor) -> Tensor:
    return t if t._view is None else t._view.base


def _with_ctx(function: type[Function], args: tuple[Any, ...], needs_input_grad: tuple[bool, ...]) -> tuple[Any, Any]:
    """The results, and a ctx with the arguments of this level."""
    if concerned(args) is None:
        return with_levels((), function._recorded, args)  # type: ignore[no-any-return]
    results = apply_under_transforms(function, args)
    ctx = _OwnCtx()
    ctx.needs_input_grad = needs_input_grad
    function.setup_context(ctx, args, results)
    return results, ctx


class _OwnCtx(FunctionCtx):
    """A ctx that belongs to no node."""

    materialize_grads = True
    saved_for_forward: Any = None
    needs_input_grad: tuple[bool, ...] = ()


def _zeros(a: Tensor) -> Tensor:
    return wrap(np.zeros(a._array.shape, a._array.dtype))


def apply_batched(level: BatchLevel, function: type[Function], args: tuple[Any, ...]) -> Any:
    """Apply a Function to batched tensors, by its `vmap` or by a generated one."""
    has_own = function.vmap is not Function.vmap
    if function.generate_vmap_rule and has_own:
        raise RuntimeError(f"You tried to vmap over {function.__name__}, but it has both generate_vmap_rule=True and an "
                           "overridden vmap staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap "
                           f"staticmethod to avoid ambiguity. {MORE}")
    if not function.generate_vmap_rule and not has_own:
        raise RuntimeError(f"You tried to vmap over {function.__name__}, but it does not have vmap support. Please override "
                           f"and implement the vmap staticmethod or set generate_vmap_rule=True. {MORE}")
    if function.generate_vmap_rule:
        opened, has_batch = level.opened(args)
        dims = tuple([0 if has else None for has in has_batch])
        generated = _generated(function, level, dims)
        results = _below(generated, tuple(opened))
        has_batches = generated.out_dims  # type: ignore[attr-defined]
        results = results if isinstance(results, tuple) else (results,)
        wrapped = tuple([batched(t, level) if has else t for t, has in zip(results, has_batches, strict=True)])
        return wrapped if generated.several else wrapped[0]  # type: ignore[attr-defined]
    given, structure = tree_flatten(args)
    opened, has_batch = level.opened(given)
    batch_dims = [x._dim if has else None for x, has in zip(given, has_batch, strict=True)]
    opened = [moved(x, 0, dim) if dim else x for x, dim in zip(opened, batch_dims, strict=True)]
    in_dims = tree_unflatten(batch_dims, structure)
    returned = function.vmap(VmapInfo(level.size, level.randomness), in_dims, *tree_unflatten(opened, structure))
    text = ("Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with "
            "the output. ")
    if not isinstance(returned, tuple):
        raise RuntimeError(f"{text}Got a {type(returned)} instead")
    if len(returned) != 2:
        raise RuntimeError(f"{text}Got {len(returned)} returns instead")
    outputs, out_dims = returned
    leaves, spec = tree_flatten(outputs)
    flat_dims = _broadcast_to_and_flatten(out_dims, spec)
    if flat_dims is None:
        raise RuntimeError("The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. "
                           f"Expected out_dims={out_dims} to be compatible with the structure of `output`. out_dims has "
                           f"structure {tree_flatten(out_dims)[1]} but output has structure {spec}. {MORE}")
    own = {id(x): a for x, a in zip(opened, given, strict=True) if isinstance(x, Tensor)}
    wrapped_leaves = [t if not isinstance(t, Tensor) else own[id(t)] if id(t) in own else t if dim is None
                      else batched(moved(t, dim % t._array.ndim, 0), level) for t, dim in zip(leaves, flat_dims, strict=True)]
    return tree_unflatten(wrapped_leaves, spec)


class _SavingCtx(_CtxProxy):
    """A ctx for `setup_context` on batched tensors, which saves their wholes."""

    def save_for_backward(self, *tensors: Any) -> None:
        self._ctx.save_for_backward(*self._opened(tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        self._ctx.save_for_forward(*self._opened(tensors))

    def _opened(self, tensors: tuple[Any, ...]) -> list[Any]:
        opened, self._ctx.saved_have_batch = self._level.opened(tensors)
        return opened


def _dims(has_batch: Any) -> list[int | None]:
    return [0 if has else None for has in has_batch]


def _generated(function: type[Function], level: BatchLevel, dims: tuple[int | None, ...]) -> type[Function]:
    """The Function on wholes that corresponds to `function` on elements."""

    class Generated(Function):
        generate_vmap_rule = True
        out_dims: tuple[bool, ...] = ()
        several = False

        @staticmethod
        def forward(*wholes: Any) -> Any:
            def run(*elements: Any) -> Any:
                results = function.forward(*elements)
                Generated.several = isinstance(results, tuple)
                return results

            found = mapped(run, level, list(dims), list(wholes))
            Generated.out_dims = tuple([has for _, has in found])
            return tuple([t for t, _ in found]) if Generated.several else found[0][0]

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            outputs = output if Generated.several else (output,)
            ctx.shapes = [x._array.shape[1:] if has is not None else x._array.shape if isinstance(x, Tensor) else None
                          for x, has in zip(inputs, dims, strict=True)]
            ctx.out_have_batch = Generated.out_dims

            def run(*elements: Any) -> None:
                given, returned = elements[:len(inputs)], elements[len(inputs):]
                inner = grad_state.levels[-1]
                function.setup_context(_SavingCtx(ctx, _level=inner), given, returned if Generated.several else returned[0])

            mapped(run, level, [*dims, *_dims(Generated.out_dims)], [*inputs, *outputs])

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            saved = ctx.saved_tensors

            def run(*elements: Any) -> Any:
                return function._user_backward()(_with_saved(ctx, elements[:len(saved)]), *elements[len(saved):])

            given_dims = [None if g is None else 0 if has else None for g, has in
                          zip(gradients, ctx.out_have_batch, strict=True)]
            saved_dims = _dims(getattr(ctx, "saved_have_batch", ()))
            found = mapped(run, level, [*saved_dims, *given_dims], [*saved, *gradients])
            return tuple([None if g is None else _fitted(g, has, dim, shape, level.size)
                          for (g, has), dim, shape in zip(found, dims, ctx.shapes, strict=True)])

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            saved = ctx.saved_tensors

            def run(*elements: Any) -> Any:
                return function.jvp(_with_saved(ctx, elements[:len(saved)]), *elements[len(saved):])

            saved_dims = _dims(getattr(ctx, "saved_have_batch", ()))
            given_dims = [None if t is None else dim for t, dim in zip(tangents, dims, strict=True)]
            found = mapped(run, level, [*saved_dims, *given_dims], [*saved, *tangents])
            changes = [t if t is None or has == wanted else spread(t, level.size) for (t, has), wanted in
                       zip(found, ctx.out_have_batch, strict=True)]
            return tuple(changes) if Generated.several else changes[0]

    Generated.__name__ = Generated.__qualname__ = f"Vmapped{function.__name__}"
    return Generated


def _fitted(g: Tensor, has: bool, dim: int | None, shape: tuple[int, ...], size: int) -> Tensor:
    """The gradient of an argument; summed over the batch if all elements share the argument."""
    if dim is None:
        return xp.sum(g, axis=(0,)) if has else g  # type: ignore[no-any-return]
    g = g if has else spread(g, size)
    extra = g._array.ndim - 1 - len(shape)
    summed = xp.sum_to(g, shape=(size, *(1,) * extra, *shape))
    return xp.reshape(summed, shape=(size, *shape))  # type: ignore[no-any-return]
