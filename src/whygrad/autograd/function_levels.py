"""Custom Functions under transforms: each application is passed to the innermost level that holds one of its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whygrad.base.pytree import tree_flatten
from whygrad.core.door import Level, concerned, with_levels
from whygrad.core.modes import grad_state

if TYPE_CHECKING:
    from whygrad.autograd.function import Function


def apply_under_transforms(function: type[Function], args: tuple[Any, ...]) -> Any:
    levels = grad_state.levels
    depth = concerned(tree_flatten(args)[0])
    if depth is None:
        return with_levels((), lambda: function._recorded(args)[0])
    return with_levels(levels[:depth], levels[depth].apply_function, function, args)


class TransformLevel(Level):
    """A level that Function.apply can call."""

    dispatch_function = staticmethod(apply_under_transforms)
