"""The methods of `xp` besides rows, for every reader. A vocabulary overrides the defaults with faster versions."""

from typing import Any


class Vocabulary:
    def fused(self, definition: Any, *arrays: Any, **statics: Any) -> Any:
        """`definition(xp, *arrays, **statics)`: a part of a row or rule of which a vocabulary may have a fused version."""
        return definition(self, *arrays, **statics)

    def in_one_pass(self, function: Any, *args: Any) -> Any:
        """`function(xp, *args)`, which is elementwise, so that it can become one kernel."""
        return function(self, *args)

    def kept(self, values: Any, again: Any) -> Any:
        """By-products of a forward that its rule uses. Where rules are recorded, they are recomputed, with a history."""
        return values

    def joined(self: Any, *gradients: Any, axis: int) -> Any:
        """`cat`, for a caller that only reads the result."""
        return self.cat(*gradients, axis=axis)
