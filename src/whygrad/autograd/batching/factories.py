"""Factory functions inside vmap: tensors created like a batched one (`zeros_like` ...), and random tensors.

A tensor created like a batched one has a batch of its own, so that it can be written to. Random functions raise, or draw the
same numbers for all elements, or different ones: then they draw for the whole batch at once, in torch's order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whygrad.autograd.batched import BatchedTensor, BatchLevel, spread, with_batches_of
from whygrad.autograd.batching.families import more_elements
from whygrad.backends import tensor as xp
from whygrad.base.errors import warn
from whygrad.base.pytree import tree_flatten, tree_unflatten
from whygrad.core.door import concerned, with_levels
from whygrad.core.modes import grad_state
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional.run import FUNCTIONS

Arguments = tuple[Any, ...]
Options = dict[str, Any]

ERROR = ("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
         "randomness flags on vmap or perform the randomness operation out of vmap")
NOT_YET = ("vmap: We do not yet support calling random operations inside of vmap. Please perform random operations outside of "
           "vmap as a workaround")
NO_OUT = ("vmap: We do not support calling out variants of random operations inside of vmap. Please use non-out variants as a "
          "workaround")
REFUSALS = {"error": ERROR, "refused": NOT_YET}
SAME_OF_BATCHED = ("Vmap does not currently support same randomness with a batched tensor input. Please file an issue with "
                   "functorch")
DIFFERENT_IN_UNBATCHED = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. If "
    "this is necessary for your usage, please file an issue with functorch.")


def like(function: Callable[..., Any], args: Arguments, kwargs: Options) -> Any:
    made = function(*args, **kwargs)
    return with_batches_of(args[0], made, laid_out_alike=function.__name__.endswith("_like"))


def _innermost() -> tuple[BatchLevel | None, tuple[Any, ...]]:
    """The innermost vmap, whose `randomness` applies, and the levels outside of it."""
    levels = grad_state.levels
    for depth in range(len(levels) - 1, -1, -1):
        if isinstance(levels[depth], BatchLevel):
            return levels[depth], levels[:depth]
    return None, ()


def drawn(function: Callable[..., Any], args: Arguments, kwargs: Options, whole: Callable[[BatchLevel], Any]) -> Any:
    """Random numbers under the innermost vmap: `whole` draws for the whole batch."""
    level, outer = _innermost()
    if level is None:
        return function(*args, **kwargs)
    if kwargs.get("out") is not None:
        raise RuntimeError(NO_OUT)
    if level.randomness in REFUSALS:
        raise RuntimeError(REFUSALS[level.randomness])
    if level.randomness == "same":
        return with_levels(outer, drawn, function, args, kwargs, whole)
    return level.closed(with_levels(outer, whole, level))


def sized(function: Callable[..., Any], args: Arguments, kwargs: Options) -> Any:
    """`rand(2, 3)`, `rand((2, 3))` or `rand(size=(2, 3))`."""
    sizes: Any = kwargs.get("size", args[0] if len(args) == 1 and not isinstance(args[0], int) else args)

    def whole(level: BatchLevel) -> Any:
        return sized(function, (), {**kwargs, "size": (level.size, *sizes)})

    return drawn(function, (), {**kwargs, "size": sizes}, whole)


def randint(function: Callable[..., Any], args: Arguments, kwargs: Options) -> Any:
    sizes, given = (kwargs["size"], args) if "size" in kwargs else (args[-1], args[:-1])
    rest = {name: value for name, value in kwargs.items() if name != "size"}
    return drawn(function, (*given, sizes), rest, lambda level: randint(function, (*given, (level.size, *sizes)), rest))


def randperm(function: Callable[..., Any], args: Arguments, kwargs: Options) -> Any:
    return drawn(function, args, kwargs, lambda level: xp.stack(
        *[randperm(function, args, kwargs) for _ in range(level.size)], axis=0))


def of_elements(function: Callable[..., Any], args: Arguments, kwargs: Options) -> Any:
    """Functions of tensors that draw one number for each of their elements."""
    level, _ = _innermost()
    is_same = level is not None and level.randomness == "same" and not function.__name__.endswith("_like")
    if is_same and any(isinstance(x, Tensor) and level.holds(x) for x in args):  # type: ignore[union-attr]
        raise RuntimeError(SAME_OF_BATCHED)

    def whole(level: BatchLevel) -> Any:
        opened, has_batch = level.opened(args)
        wholes = [spread(x, level.size) if isinstance(x, Tensor) and not has else x
                  for x, has in zip(opened, has_batch, strict=True)]
        if function.__name__ == "multinomial" and wholes[0]._array.ndim == 3:
            shape = wholes[0]._array.shape
            found = of_elements(function, (xp.reshape(wholes[0], shape=(-1, shape[-1])), *wholes[1:]), kwargs)
            return xp.reshape(found, shape=(*shape[:-1], -1))
        return of_elements(function, tuple(wholes), kwargs)

    return drawn(function, args, kwargs, whole)


def normal(function: Callable[..., Any], args: Arguments, kwargs: Options) -> Any:
    """torch.normal, of numbers and a size, or of tensors."""
    if any(isinstance(x, Tensor) for x in (*args, *kwargs.values())):
        return of_elements(function, args, kwargs)

    mean, std, *sizes = args
    sizes = sizes[0] if sizes else kwargs["size"]
    return drawn(function, (mean, std), {**kwargs, "size": sizes},
                 lambda level: normal(function, (mean, std), {**kwargs, "size": (level.size, *sizes)}))


def in_place(function: Callable[..., Any], args: Arguments, kwargs: Options) -> Any:
    target, *parameters = args
    level, outer = _innermost()
    if level is None:
        return function(*args, **kwargs)
    if level.randomness in REFUSALS:
        raise RuntimeError(REFUSALS[level.randomness])
    has_batch = level.holds(target)
    if any(isinstance(x, Tensor) and level.holds(x) for x in parameters):
        if level.randomness == "same":
            raise RuntimeError(SAME_OF_BATCHED)
        if not has_batch:
            raise RuntimeError(more_elements(f"inplace {function.__name__.removesuffix('_')}"))
    if level.randomness == "different":
        if not has_batch:
            raise RuntimeError(DIFFERENT_IN_UNBATCHED)
        wholes = level.opened(parameters)[0]
        with_levels(outer, lambda: getattr(target._whole, function.__name__)(*wholes, **kwargs))
        return target
    if not has_batch:
        return with_levels(outer, lambda: getattr(target, function.__name__)(*parameters, **kwargs))
    one = wrap(np.zeros(target._array.shape, target._array.dtype))
    with_levels(outer, lambda: getattr(one, function.__name__)(*parameters, **kwargs))
    return target.copy_(one)


def by_element(function: Callable[..., Any], args: Arguments, kwargs: Options) -> Any:
    """Noise for dropout: `function(input, p, by_channel, ...)` looks at the input's shape and dtype only."""
    input, p, by_channel, *rest = args

    def whole(level: BatchLevel) -> Any:
        if not by_channel:
            stand_in = input._whole if level.holds(input) else spread(input, level.size)
            return by_element(function, (stand_in, p, False, *rest), kwargs)
        found = [by_element(function, args, kwargs) for _ in range(level.size)]
        if isinstance(found[0], Tensor):
            return xp.stack(*found, axis=0)
        return tuple([xp.stack(*column, axis=0) for column in zip(*found, strict=True)])

    return drawn(function, args, kwargs, whole)


def looped(function: Callable[..., Any], args: Arguments, kwargs: Options) -> Any:
    """Call the function for one element after the other, because it reads values and has no batching rule."""
    leaves, spec = tree_flatten((args, kwargs))
    depth = concerned(leaves)
    if depth is None or not isinstance(grad_state.levels[depth], BatchLevel):
        return function(*args, **kwargs)
    level = grad_state.levels[depth]
    warn(f"There is a performance drop because we have not yet implemented the batching rule for aten::{function.__name__}. "
         "Please file us an issue on GitHub so that we can prioritize its implementation.")
    opened, has_batch = level.opened(leaves)

    def element(i: int) -> Any:
        values, options = tree_unflatten([xp.select(x, axis=0, index=i) if has else x
                                          for x, has in zip(opened, has_batch, strict=True)], spec)
        return looped(function, values, options)

    found = [tree_flatten(with_levels(grad_state.levels[:depth], element, i)) for i in range(level.size)]
    columns = zip(*[results for results, _ in found], strict=True)
    stacked = [level.closed(with_levels(grad_state.levels[:depth], FUNCTIONS["stack"], column)) if isinstance(column[0], Tensor)
               else column[0] for column in columns]
    return tree_unflatten(stacked, found[0][1])


NO_RULE = {
    "equal": "Batching rule not implemented for aten::equal. We could not generate a fallback.",
    "allclose": "vmap over torch.allclose isn't supported yet. Please file an issue at "
                "https://github.com/pytorch/pytorch/issues if you need this feature.",
}


def refused(function: Callable[..., Any], args: Arguments, kwargs: Options) -> Any:
    """Raise for a function that returns a Python number: it would differ between the elements."""
    if any(isinstance(x, BatchedTensor) for x in (*args, *kwargs.values())):
        raise RuntimeError(NO_RULE[function.__name__])
    return function(*args, **kwargs)


WAYS: dict[str, Callable[[Callable[..., Any], Arguments, Options], Any]] = {
    "like": like, "sized": sized, "randint": randint, "randperm": randperm, "random": of_elements, "normal": normal,
    "random_in_place": in_place, "random_by_element": by_element, "looped": looped, "refused": refused,
}
