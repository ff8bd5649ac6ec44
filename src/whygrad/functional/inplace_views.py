"""`t_`, `transpose_`, `squeeze_` ...: the tensor itself turns into a view of what it was. No value changes."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

from whygrad._inplace import bump, check_inplace, rebase
from whygrad._tensor import Tensor
from whygrad.autograd.modes import modes, special
from whygrad.functional import memory, shape
from whygrad.functional.arguments import read_tensor
from whygrad.functional.run import METHODS

_whygrad_internal_ = True

# The names that torch gives to the node when a tensor itself turns into its view.
_INPLACE_NODES = {"TBackward0": "TBackward1", "TransposeBackward0": "TransposeBackward1",
                  "UnsqueezeBackward0": "UnsqueezeBackward1", "AsStridedBackward0": "AsStridedBackward1",
                  "SqueezeBackward0": "SqueezeBackward3", "SqueezeBackward1": "SqueezeBackward4",
                  "SqueezeBackward2": "SqueezeBackward5"}


def _become(self: Tensor, result: Tensor) -> Tensor:
    """Let the tensor itself turn into `result`, a view of it."""
    if special.on and modes.levels:
        from whygrad.func.batched import become_view
        if become_view(self, result):
            return self
    self._array = result._array
    made, ours = result._view, self._view
    node = None if made is None else made.node
    if node is not None:
        layout = type(node).layout  # type: ignore[attr-defined]
        node.__class__ = layout.node_class(_INPLACE_NODES[type(node).__name__])
    if ours is not None and made is not None:
        made.creation = ours.creation
        self._view = made
        bump(self)
        made.version = self._counter[0]
        return self
    # If others look at the version (views of the tensor, or nodes that saved it), they stay valid: no value changed.
    # References: the tensor's, the result's, and the argument of getrefcount.
    if getrefcount(self._counter) <= 3:
        bump(self)
    if node is not None:
        rebase(self, node)
    return self


def _inplace_view(name: str) -> None:
    of = getattr(memory if name == "as_strided" else shape, name)

    def inplace(self: Any, *args: Any, **kwargs: Any) -> Tensor:
        check_inplace(read_tensor(f"{name}_", self), (self,))
        if name == "t":
            shape.check_at_most_2d("t_", self)
        return _become(self, of(self, *args, **kwargs))

    inplace.__name__ = inplace.__qualname__ = f"{name}_"
    inplace.__doc__ = f"In-place version of {name}: the tensor itself becomes the view."
    METHODS[inplace.__name__] = inplace


for _name in ("t", "transpose", "swapaxes", "swapdims", "squeeze", "unsqueeze", "as_strided"):
    _inplace_view(_name)
