"""What `xp` has besides rows, for every reader. Defaults are definitions; a vocabulary overrides what it can do better."""

from typing import Any


class Vocabulary:
    def fused(self, definition: Any, *arrays: Any, **statics: Any) -> Any:
        """`definition(xp, *arrays, **statics)`: part of a row or rule that a vocabulary may compute in fewer passes."""
        return definition(self, *arrays, **statics)

    def in_one_pass(self, function: Any, *args: Any) -> Any:
        """`function(xp, *args)`, which is elementwise, so that it can become one kernel."""
        return function(self, *args)

    def kept(self, values: Any, again: Any) -> Any:
        """By-products of a forward that its rule uses. Where rules are recorded, they are computed again, with a history."""
        return values

    def joined(self: Any, *gradients: Any, axis: int) -> Any:
        """`cat`, for a caller that only reads the result."""
        return self.cat(*gradients, axis=axis)
