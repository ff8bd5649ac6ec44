"""`t_`, `transpose_`, `squeeze_` ...: the tensor itself turns into a view of what it was. No value changes."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

from whygrad.base import errors
from whygrad.base.version import InferenceVersion
from whygrad.core.door import is_batched
from whygrad.core.modes import grad_state, process_state
from whygrad.core.tensor import Tensor
from whygrad.core.write import bump, check_inplace, rebase
from whygrad.functional import memory, shape
from whygrad.functional.arguments import read_tensor
from whygrad.functional.run import public
from whygrad.ops.table import TABLE

# The names that torch gives to the node when a tensor itself turns into its view.
_INPLACE_NODES = {"TBackward0": "TBackward1", "TransposeBackward0": "TransposeBackward1",
                  "UnsqueezeBackward0": "UnsqueezeBackward1", "AsStridedBackward0": "AsStridedBackward1",
                  "SqueezeBackward0": "SqueezeBackward3", "SqueezeBackward1": "SqueezeBackward4",
                  "SqueezeBackward2": "SqueezeBackward5"}


def _become(self: Tensor, result: Tensor) -> Tensor:
    """Let the tensor itself turn into `result`, a view of it."""
    if process_state.derivatives and grad_state.derivatives and result._view is not None:
        grad_state.derivatives[-1].before_write(result._view.steps[1].name, self, (), {})
    if process_state.any_mode_active and grad_state.levels and _become_under_levels(self, result):
        return self
    self._memory = result._memory
    made, ours = result._view, self._view
    node = None if made is None else made.node
    if node is not None:
        layout = type(node).layout  # type: ignore[attr-defined]
        node.__class__ = layout.node_class(_INPLACE_NODES[type(node).__name__])
    if ours is not None and made is not None:
        made.creation = ours.creation
        self._view = made
        bump(self)
        made.version = self._version_counter.value
        if node is None:  # not recorded: it finds its way back when it is asked for it
            made.node, made.version = ours.node, -1
        return self
    bump(self)
    # References: the tensor's, the result's, and the argument of getrefcount. If there are more, it may have views: they
    # led to it as it was, and must turn back first.
    if made is not None and getrefcount(self._lazy_version) > 3:
        self.meta.turns.append((self._version_counter.value, _back(made.steps, self._array.shape)))
    if node is not None:
        rebase(self, node)
    return self


def _become_under_levels(self: Any, result: Any) -> bool:
    """Replace what levels know of the tensor by what they know of its view; True if nothing else is to be done."""
    if result._meta is not None and result._meta.tangents:
        for level, tangent in result._meta.tangents.items():
            level.attach(self, tangent)
    if not is_batched(self) or not is_batched(result):
        return False
    self._array, self._whole = result._array, result._whole
    return True


def _back(step: Any, shape: tuple[int, ...]) -> Any:
    """The step that undoes a step, from a tensor of this shape; None if there is none."""
    _, row, statics, _, before = step
    if row.name in ("t", "transpose"):
        return None, row, statics, None, shape
    return (None, TABLE["view"], {"shape": before}, None, shape) if row.name in ("squeeze", "unsqueeze") else None


def _inplace_view(name: str) -> None:
    of = getattr(memory if name == "as_strided" else shape, name)

    def inplace(input: Any, *args: Any, **kwargs: Any) -> Tensor:
        if type(read_tensor(f"{name}_", input)._lazy_version) is InferenceVersion and not grad_state.inference:
            raise RuntimeError(errors.INFERENCE_INPLACE)
        check_inplace(input, (input,))
        if name == "t":
            shape.check_at_most_2d("t_", input)
        return _become(input, of(input, *args, **kwargs))

    public(name=f"{name}_", doc=f"In-place version of {name}: the tensor itself becomes the view.", function=False)(inplace)


for _name in ("t", "transpose", "swapaxes", "swapdims", "squeeze", "unsqueeze", "as_strided"):
    _inplace_view(_name)
