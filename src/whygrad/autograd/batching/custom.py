"""Custom Functions under vmap: by their own `vmap`, or by one generated from forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from whygrad.autograd.batched import BatchLevel, batched, moved, spread
from whygrad.autograd.function import Function
from whygrad.autograd.function_forward_mode import CtxProxy, with_saved
from whygrad.autograd.function_levels import apply_under_transforms
from whygrad.backends import tensor as xp
from whygrad.base.pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten
from whygrad.core.door import entered
from whygrad.core.modes import grad_state
from whygrad.core.tensor import Tensor

MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """The argument `info` of a Function's `vmap`."""

    batch_size: int
    randomness: str


def _below(function: type[Function], args: tuple[Any, ...]) -> Any:
    """Apply the Function under the remaining outer levels."""
    return apply_under_transforms(function, args) if grad_state.levels else function._recorded(args)[0]


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


def _mapped(func: Callable[..., Any], level: BatchLevel, dims: list[int | None], args: list[Any]) -> list[tuple[Any, bool]]:
    """Call `func` on elements: (result with the batch as first axis, whether it has one) for each."""
    fronts = [x if dim is None else moved(x, dim, 0) for x, dim in zip(args, dims, strict=True)]
    inner = type(level)(level.size, level.randomness)
    with entered(inner):
        results = func(*[x if dim is None else batched(x, inner) for x, dim in zip(fronts, dims, strict=True)])
        several = results if isinstance(results, tuple) else (results,)
    return [(t._whole, True) if isinstance(t, Tensor) and inner.holds(t) else (t, False) for t in several]  # type: ignore[attr-defined]


class _SavingCtx(CtxProxy):
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

            found = _mapped(run, level, list(dims), list(wholes))
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

            _mapped(run, level, [*dims, *_dims(Generated.out_dims)], [*inputs, *outputs])

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            saved = ctx.saved_tensors

            def run(*elements: Any) -> Any:
                return function._user_backward()(with_saved(ctx, elements[:len(saved)]), *elements[len(saved):])

            given_dims = [None if g is None else 0 if has else None for g, has in
                          zip(gradients, ctx.out_have_batch, strict=True)]
            saved_dims = _dims(getattr(ctx, "saved_have_batch", ()))
            found = _mapped(run, level, [*saved_dims, *given_dims], [*saved, *gradients])
            return tuple([None if g is None else _fitted(g, has, dim, shape, level.size)
                          for (g, has), dim, shape in zip(found, dims, ctx.shapes, strict=True)])

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            saved = ctx.saved_tensors

            def run(*elements: Any) -> Any:
                return function.jvp(with_saved(ctx, elements[:len(saved)]), *elements[len(saved):])

            saved_dims = _dims(getattr(ctx, "saved_have_batch", ()))
            given_dims = [None if t is None else dim for t, dim in zip(tangents, dims, strict=True)]
            found = _mapped(run, level, [*saved_dims, *given_dims], [*saved, *tangents])
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
